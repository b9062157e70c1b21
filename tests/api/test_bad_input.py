"""Bad input gets a clear answer in one shape, changes nothing, and crashes nothing. The same on both databases."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from bullpen.api.body import DEPTH
from bullpen.errors import Unavailable
from tests.driver import Driver, Offices
from tests.feed.worlds import World
from tests.refusals import refused

DEEP = b"[" * 100_000 + b"]" * 100_000
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def office(offices: Offices) -> Driver:
    """Nothing runs here: what is asked is answered, or not."""
    opened = await offices.open(drive=False, watch=False)
    await opened.agent("ada", steps=[])
    await opened.space("hall", ["ada"])
    return opened


# ── what is not there ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_unknown_ids_and_paths_are_not_found(office: Driver) -> None:
    for method, path in [
        ("GET", "/agents/nobody"),
        ("PATCH", "/agents/nobody"),
        ("DELETE", "/agents/nobody"),
        ("GET", "/agents/nobody/inbox"),
        ("GET", "/agents/nobody/blocks"),
        ("GET", "/agents/ada/blocks/none"),
        ("DELETE", "/agents/ada/blocks/none"),
        ("GET", "/agents/nobody/passages"),
        ("GET", "/spaces/nowhere"),
        ("PATCH", "/spaces/nowhere"),
        ("GET", "/spaces/nowhere/messages"),
        ("GET", "/spaces/dm-nobody-noone"),
        ("DELETE", "/spaces/hall/members/nobody"),
        ("GET", "/messages/msg_none"),
        ("DELETE", "/messages/msg_none"),
        ("DELETE", "/messages/msg_none/reactions/x"),
        ("GET", "/runs/run_none"),
        ("GET", "/runs/run_none/messages"),
        ("GET", "/runs/run_none/trace"),
        ("POST", "/runs/run_none/cancel"),
        ("DELETE", "/tokens/tok_none"),
        ("GET", "/events?spaceId=nowhere"),
        ("GET", "/no-such-path"),
        ("GET", "/agents/"),
        ("GET", "/../api"),
    ]:
        more: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
        assert (await refused(office, method, path, 404, **more))["code"] == "not_found"
    bodies: list[tuple[str, Any]] = [
        ("/spaces/nowhere/messages", {"text": "x"}),
        ("/spaces/nowhere/members", {"memberId": "ada"}),
        ("/spaces/hall/members", {"memberId": "nobody"}),
        ("/spaces/nowhere/read", {"seq": 1}),
        ("/messages/msg_none/reactions", {"emoji": "x"}),
        ("/agents/nobody/trigger", {"serviceName": "x"}),
        ("/tokens", {"name": "x", "agentId": "nobody"}),
        ("/tokens", {"name": "x", "personId": "nobody"}),
        ("/tokens", {"name": "x", "personId": "nobody", "tools": []}),
    ]
    for path, body in bodies:
        await refused(office, "POST", path, 404, json=body)


@pytest.mark.one_database
async def test_a_wrong_method_gets_405_with_the_allowed_methods(office: Driver) -> None:
    assert (await refused(office, "PUT", "/agents/ada", 405))["code"] == "method_not_allowed"
    response = await office.http.put("/spaces/hall")
    assert {"GET", "PATCH"} & {word.strip() for word in response.headers["allow"].split(",")}


@pytest.mark.one_database
async def test_what_is_private_to_others_is_not_found_by_outsiders(world: World) -> None:
    otto = world["otto"]
    message = world.messages["owner"]["id"]
    for path in ("/spaces/team", "/spaces/team/messages", f"/messages/{message}", f"/runs/{world.runs['team']}"):
        told = await refused(otto, "GET", path, 404)
        unknown = await refused(otto, "GET", path.replace("team", "taem").replace(message, "msg_none"), 404)
        assert told["code"] == unknown["code"]
    await refused(otto, "POST", "/spaces/team/messages", 404, json={"text": "let me in"})
    await refused(otto, "POST", "/spaces/team/members", 404, json={"memberId": "psn_otto"})
    await refused(otto, "POST", f"/messages/{message}/reactions", 404, json={"emoji": "👀"})
    await refused(otto, "POST", f"/runs/{world.runs['team']}/cancel", 404)
    assert {space["id"] for space in await otto.items("/spaces")} == {"lobby", "ring"}
    assert await otto.items("/runs") == []


@pytest.mark.one_database
async def test_non_members_see_a_public_space_but_cannot_use_it(world: World) -> None:
    otto = world["otto"]
    assert (await otto.get("/spaces/ring"))["id"] == "ring"
    await refused(otto, "POST", "/spaces/ring/messages", 403, json={"text": "hi"})
    await refused(otto, "GET", "/spaces/ring/messages", 403)
    await refused(otto, "POST", "/spaces/ring/members", 403, json={"memberId": "ada"})
    await otto.create("/spaces/ring/members", {"memberId": "psn_otto"}, status=201)
    await otto.create("/spaces/ring/messages", {"text": "hi"}, status=201)


# ── what contradicts ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_an_impossible_value_is_refused_naming_its_field(office: Driver) -> None:
    """Beyond what a schema can say, which test_fields.py tries."""
    agent = {"name": "X", "model": "script:echo"}
    for path, body, field in [
        ("/spaces/hall/messages", {"text": "x", "replyTo": "msg_none"}, "replyTo"),
        ("/spaces", {"id": "No Spaces"}, "id"),
        ("/spaces", {"id": "_x"}, "id"),
        ("/spaces", {"id": "a--b"}, "id"),
        ("/spaces", {"id": "x" * 65}, "id"),
        ("/spaces", {"id": "dm-a-b"}, "id"),
        ("/spaces", {"kind": "dm", "members": ["ada"]}, "members"),
        ("/spaces", {"kind": "dm", "members": ["ada", "ada"]}, "members"),
        ("/spaces", {"members": ["nobody"]}, "members"),
        ("/agents", {**agent, "id": "Ada Lovelace"}, "id"),
        ("/agents", {"name": "X", "model": "nonsense"}, "model"),
        ("/agents", {"name": "X", "model": "unknown:thing"}, "model"),
        ("/agents", {"name": "X", "model": {"provider": ["script"]}}, "model"),
        ("/agents", {**agent, "tools": ["fly"]}, "tools"),
        ("/agents", {**agent, "limits": {"maxStep": 3}}, "limits"),
        ("/agents", {"name": "X", "model": {"provider": "script", "turns": [{"when": "("}]}}, "model.turns.0.when"),
        ("/tokens", {"name": "x", "agentId": "ada", "personId": office.owner_id}, "agentId"),
    ]:
        assert field in (await refused(office, "POST", path, 422, json=body))["fields"], body
    assert await office.messages("hall") == []
    assert [agent["id"] for agent in await office.items("/agents")] == ["ada"]
    assert [space["id"] for space in await office.items("/spaces")] == ["hall"]


async def test_an_id_that_is_taken_is_a_conflict(office: Driver) -> None:
    agent = {"name": "A", "model": "script:echo"}
    for path, body in [
        ("/agents", {**agent, "id": "ada"}),
        ("/agents", {**agent, "id": office.owner_id}),
        ("/spaces", {"id": "hall"}),
    ]:
        error = await refused(office, "POST", path, 409, json=body)
        assert error["code"] == "already_exists"
        assert "id" in error["fields"]
    await office.dm("ada", office.owner_id)
    await refused(office, "POST", "/spaces", 409, json={"kind": "dm", "members": [office.owner_id, "ada"]})
    await office.ask("DELETE", "/agents/ada")
    await refused(office, "POST", "/agents", 409, json={**agent, "id": "ada"})  # messages still name it


async def test_reusing_a_client_message_id_for_another_message_conflicts(office: Driver) -> None:
    await office.space("other")
    first = await office.post("hall", "once", clientMessageId="c")
    assert await office.post("hall", "once", clientMessageId="c") == first
    for space_id, text in (("hall", "twice"), ("other", "once")):
        body = {"text": text, "clientMessageId": "c"}
        error = await refused(office, "POST", f"/spaces/{space_id}/messages", 409, json=body)
        assert "clientMessageId" in error["fields"]
    assert await office.texts("hall") == ["once"]


@pytest.mark.one_database
async def test_a_deleted_message_can_be_neither_changed_nor_reacted_to(office: Driver) -> None:
    id = (await office.post("hall", "oops"))["id"]
    await office.ask("DELETE", f"/messages/{id}")
    await refused(office, "PATCH", f"/messages/{id}", 409, json={"text": "again"})
    await refused(office, "DELETE", f"/messages/{id}", 409)
    await refused(office, "POST", f"/messages/{id}/reactions", 409, json={"emoji": "👍"})
    message = (await office.messages("hall"))[0]
    assert (message["text"], message["seq"], "deletedAt" in message) == ("", 1, True)


# ── bodies that are not what they should be ─────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("C13", "N4")
async def test_no_body_can_crash_the_parser(office: Driver) -> None:
    for body in [
        b"not json",
        b'{"text": "\\ud800"}',
        b'{"text": "half \\udfff pair"}',
        b'{"\\ud800": 1, "text": "x"}',
        b'{"text": NaN}',
        b'{"text": Infinity}',
        b'{"text": "\xff\xfe"}',
        b'{"text": ' + b"9" * 5_000 + b"}",
        b'{"text": "x", "attachments": ' + DEEP + b"}",
        DEEP,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"\xef\xbb\xbf{}",
        b"[]",
        b'"text"',
        b"null",
        b"1",
        b"",
        b"\x00",
        b'{"text": "x"} trailing',
    ]:
        error = await refused(office, "POST", "/spaces/hall/messages", 422, content=body, headers=JSON)
        assert error["code"] == "invalid"
        assert set(error["fields"]) <= {"body", "text"}, error
    big = b'{"seq": ' + b"9" * 5_000 + b"}"
    for body in (big, b'{"seq": 1e999}', b'{"seq": 9223372036854775808}', b'{"seq": -1}', b'{"seq": 1.5}'):
        await refused(office, "POST", "/spaces/hall/read", 422, content=body, headers=JSON)
    assert await office.messages("hall") == []
    assert (await office.post("hall", "still here"))["seq"] == 1


@pytest.mark.proves("C13")
async def test_nesting_up_to_the_limit_is_kept_and_deeper_refused(office: Driver) -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    for path, name, extra in [
        ("/agents/ada/trigger", "payload", {"serviceName": "x"}),
        ("/spaces", "model", {}),
        ("/agents", "model", {"name": "x"}),
    ]:
        body = {**extra, name: nested(DEPTH)}
        assert (await refused(office, "POST", path, 422, json=body))["fields"] == {"body": "nests too deep"}
    await office.create("/agents/ada/trigger", {"serviceName": "x", "payload": nested(DEPTH - 1)})
    await office.create("/spaces", {"id": "deep", "model": nested(DEPTH - 1)})
    assert (await office.items("/agents/ada/inbox"))[0]["payload"]["payload"] == nested(DEPTH - 1)
    assert (await office.get("/spaces/deep"))["model"] == nested(DEPTH - 1)
    wide = {"content": "x", "metadata": {"many": [{"a": [1]}] * 1_000}}
    await office.create("/agents/ada/passages", wide, status=201)


@pytest.mark.one_database
async def test_only_plain_uncompressed_json_bodies_are_accepted(office: Driver) -> None:
    body = b'{"text": "x"}'
    path = "/spaces/hall/messages"
    for headers in (
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/jsonx"},
        {"Content-Type": "text/json"},
        {**JSON, "Content-Encoding": "gzip"},
        {**JSON, "Content-Encoding": "br"},
    ):
        error = await refused(office, "POST", path, 415, content=body, headers=headers)
        assert error["code"] == "unsupported_media_type"
    bomb = gzip.compress(b'{"text": "' + b"x" * 5_000_000 + b'"}')
    await refused(office, "POST", path, 415, content=bomb, headers={**JSON, "Content-Encoding": "gzip"})
    await refused(office, "POST", path, 422, content=bomb, headers=JSON)
    assert await office.messages("hall") == []
    for kind in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.bullpen+json"):
        await office.ask("POST", path, status=201, content=body, headers={"Content-Type": kind})
    await office.ask("POST", path, status=201, content=body, headers={**JSON, "Content-Encoding": "identity"})


@pytest.mark.one_database
async def test_a_body_at_the_cap_is_read_and_above_refused(office: Driver) -> None:
    cap = office.office.settings.limits.body_bytes

    def body(size: int) -> bytes:
        head = orjson.dumps({"text": "x"})[:-1]
        return head + b" " * (size - len(head) - 1) + b"}"

    async def in_pieces(content: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(content), 65_536):
            yield content[start : start + 65_536]

    path = "/spaces/hall/messages"
    big: list[Any] = [body(cap + 1), in_pieces(body(cap + 1)), b"x" * 10_000_000, in_pieces(b"x" * 20_000_000)]
    for content in big:
        assert (await refused(office, "POST", path, 413, content=content, headers=JSON))["code"] == "too_large"
    await office.ask("POST", path, status=201, content=body(cap), headers=JSON)
    await office.ask("POST", path, status=201, content=in_pieces(body(cap)), headers=JSON)


# ── odd text ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("N4")
async def test_any_valid_text_is_stored_unchanged(office: Driver) -> None:
    for text in [
        "👩‍👩‍👧‍👦 😀",
        "שלום עולם",
        "\u202eabc",
        "a\tb\r\nc\x7f\x01",
        "é" * 32_768,
        "🎉" * 32_768,
        "e\u0301 \ufeff \uffff \U0010ffff \u2028",
        "'; DROP TABLE messages; --",
        "%s {0} {{trigger.text}} \\u0000 \\x00",
        " ",
    ]:
        message = await office.post("hall", text)
        assert (await office.get(f"/messages/{message['id']}"))["text"] == text
    odd = {"nul \x00 key": "nul \x00 value", "🎉": [1e-300, 2**63, -(2**63), 0.1]}
    passage = await office.create("/agents/ada/passages", {"content": "odd", "metadata": odd, "tags": ["🎉 %_"]})
    assert passage["metadata"] == odd
    assert (await office.items("/agents/ada/passages", q="odd"))[0] == {**passage, "score": 1.0}


@pytest.mark.proves("N4")
async def test_nul_is_refused_wherever_text_goes_in(office: Driver) -> None:
    """In bodies test_fields.py tries every field; here are addresses and headers."""
    for method, path in [
        ("GET", "/spaces/%00"),
        ("GET", "/agents/a%00"),
        ("GET", "/messages/%00"),
        ("GET", "/runs/%00"),
        ("DELETE", "/tokens/%00"),
        ("GET", "/spaces?cursor=%00"),
        ("GET", "/runs?agentId=%00"),
        ("GET", "/agents/ada/blocks/%00"),
    ]:
        response = await office.http.request(method, path)
        assert response.status_code in (404, 422), (path, response.text)
    await refused(office, "PUT", "/agents/ada/blocks/%00", 422, json={"content": "c"})
    await refused(office, "PUT", f"/agents/ada/blocks/{'x' * 201}", 422, json={"content": "c"})
    response = await office.http.get("/me", headers={b"Authorization": b"Bearer bp_\xff\xfe\x7f"})
    assert response.status_code == 401


@pytest.mark.proves("N1")
async def test_filters_and_cursors_are_values_and_never_sql(world: World) -> None:
    office = world.office
    for value in ("a') OR 1=1--", "%", "_", "'", '"', "\\", "*", "🙂", "ada' --", "ada\u0000"[:3] + ";"):
        assert await office.items("/runs", agentId=value) == []
        assert await office.items("/runs", spaceId=value) == []
        await refused(office, "GET", "/runs", 422, params={"status": value})
        await refused(office, "GET", "/spaces/team/messages", 422, params={"before": value})
        await refused(office, "GET", f"/runs/{world.runs['team']}/messages", 422, params={"cursor": value})
        for path in ("/agents", "/spaces", "/runs", "/tokens", "/agents/ada/inbox"):
            await office.items(path, cursor=value)
        assert await office.items("/agents/ada/passages", q=value) == []
        await refused(office, "GET", f"/agents/{value}", 404)
        # Names of parameters that do not exist are no way in either.
        assert await office.items("/runs", **{f"sort{value}": value}) == await office.items("/runs")
    for number in (-1, 2**62 + 1, 2**64, 10**30):
        await refused(office, "GET", "/spaces/team/messages", 422, params={"after": number})
    await refused(office, "GET", f"/runs/{world.runs['team']}/messages", 422, params={"cursor": 2**64})
    assert [space["id"] for space in await office.items("/spaces")] == ["dm-ping-pong", "ring", "team", "lobby"]


# ── our side ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_an_internal_error_uses_the_error_shape_and_hides_details(
    office: Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(body: Any) -> Any:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(office.office.store, "read", broken)
    error = await refused(office, "GET", "/spaces", 500)
    assert error["code"] == "internal"
    assert "secret" not in error["message"]
    assert "a secret detail" in caplog.text


@pytest.mark.one_database
async def test_an_unavailable_database_answers_503_with_a_retry_time(
    office: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(body: Any) -> Any:
        raise Unavailable("The database is away, so nothing was changed.")

    monkeypatch.setattr(office.office.store, "read", away)
    assert (await refused(office, "GET", "/spaces", 503))["code"] == "unavailable"
    assert int((await office.http.get("/spaces")).headers["retry-after"]) >= 1


@pytest.mark.one_database
async def test_a_slash_at_the_end_leads_nowhere(office: Driver) -> None:
    """A redirect would send people to whatever the Host header says."""
    response = await office.http.get("/agents/")
    assert (response.status_code, response.headers.get("location")) == (404, None)


@pytest.mark.one_database
async def test_a_malformed_host_header_gets_421(office: Driver) -> None:
    for host in ("[::1", "a b", "<script>alert(1)</script>", "\x7f", "x" * 5_000, "évil"):
        headers = {b"Host": host.encode()}
        for path in ("/no-such-path", "/agents/", "http://office/"):
            response = await office.http.get(path, headers=headers)
            assert (response.status_code, response.content) == (421, b"")
