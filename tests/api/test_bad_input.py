"""Bad input gets a clear answer in one shape, changes nothing, and crashes nothing."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.driver import Api, Driver

DEEP = b"[" * 100_000 + b"]" * 100_000


async def refused(api: Api, method: str, path: str, status: int, **more: Any) -> dict[str, Any]:
    """The error of an answer that has the one shape all errors have."""
    answer = await api.ask(method, path, status=status, **more)
    assert set(answer) == {"error"}
    error: dict[str, Any] = answer["error"]
    assert set(error) == {"code", "message", "fields"}
    assert error["message"]
    return error


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/agents/nobody"),
        ("PATCH", "/agents/nobody"),
        ("DELETE", "/agents/nobody"),
        ("GET", "/spaces/nowhere"),
        ("PATCH", "/spaces/nowhere"),
        ("GET", "/spaces/nowhere/messages"),
        ("GET", "/messages/msg_none"),
        ("DELETE", "/messages/msg_none"),
        ("GET", "/runs/run_none"),
        ("GET", "/runs/run_none/messages"),
        ("GET", "/runs/run_none/trace"),
        ("POST", "/runs/run_none/cancel"),
        ("DELETE", "/tokens/tok_none"),
        ("GET", "/no-such-path"),
    ],
)
async def test_unknown_ids_are_not_found(office: Driver, method: str, path: str) -> None:
    body: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
    assert (await refused(office, method, path, 404, **body))["code"] == "not_found"


async def test_what_is_private_to_others_is_not_found_by_outsiders(office: Driver) -> None:
    await office.agent("ada", steps=[{"calls": [{"tool": "send_message", "args": {"text": "secret"}}]}])
    await office.space("board", ["ada"], private=True, wake={"people": "all"})
    message = await office.post("board", "only for us")
    run = await office.run_finished("ada")
    _, guest = await office.person("Gus")
    for path in ("/spaces/board", "/spaces/board/messages", f"/messages/{message['id']}", f"/runs/{run['id']}"):
        await refused(guest, "GET", path, 404)
    await refused(guest, "POST", "/spaces/board/messages", 404, json={"text": "let me in"})
    await refused(guest, "POST", f"/messages/{message['id']}/reactions", 404, json={"emoji": "👀"})
    assert "board" not in [space["id"] for space in await guest.items("/spaces")]
    assert await guest.items("/runs") == []


async def test_a_public_space_is_seen_but_not_written_to_by_who_has_not_joined(office: Driver) -> None:
    await office.space("lobby")
    id, guest = await office.person("Gus")
    assert (await guest.get("/spaces/lobby"))["id"] == "lobby"
    await refused(guest, "POST", "/spaces/lobby/messages", 403, json={"text": "hi"})
    await guest.create("/spaces/lobby/members", {"memberId": id})
    await guest.create("/spaces/lobby/messages", {"text": "hi"}, status=201)


@pytest.mark.parametrize(
    "path, body, field",
    [
        ("/spaces/hall/messages", {}, "text"),
        ("/spaces/hall/messages", {"text": ""}, "text"),
        ("/spaces/hall/messages", {"text": 5}, "text"),
        ("/spaces/hall/messages", {"text": "x" * 32_769}, "text"),
        ("/spaces/hall/messages", {"text": "x", "colour": "red"}, "colour"),
        ("/spaces/hall/messages", {"text": "x", "replyTo": "msg_none"}, "replyTo"),
        ("/spaces/hall/messages", {"text": "nul \x00"}, "text"),
        ("/spaces", {"kind": "cupboard"}, "kind"),
        ("/spaces", {"id": "No Spaces"}, "id"),
        ("/spaces", {"id": "dm-a-b"}, "id"),
        ("/spaces", {"kind": "dm", "members": ["ada"]}, "members"),
        ("/spaces", {"members": ["nobody"]}, "members"),
        ("/agents", {"name": "X"}, "model"),
        ("/agents", {"name": "X", "model": "nonsense"}, "model"),
        ("/agents", {"name": "X", "model": "unknown:thing"}, "model"),
        ("/agents", {"name": "X", "model": "script:echo", "tools": ["fly"]}, "tools"),
        ("/agents", {"name": "X", "model": "script:echo", "limits": {"maxSteps": 0}}, "limits.maxSteps"),
        ("/agents", {"name": "X", "model": {"provider": "script", "turns": [{"when": "("}]}}, "model.turns.0.when"),
    ],
)
async def test_a_malformed_body_names_the_field_that_is_wrong(
    office: Driver, path: str, body: dict[str, Any], field: str
) -> None:
    await office.agent("ada")
    await office.space("hall")
    error = await refused(office, "POST", path, 422, json=body)
    assert field in error["fields"]
    assert await office.messages("hall") == []


async def test_an_id_that_is_taken_is_a_conflict(office: Driver) -> None:
    await office.agent("ada")
    await office.space("hall")
    assert (await refused(office, "POST", "/agents", 409, json={"id": "ada", "name": "A", "model": "script:echo"}))[
        "code"
    ] == "already_exists"
    await refused(office, "POST", "/spaces", 409, json={"id": "hall"})
    await refused(office, "POST", "/agents", 409, json={"id": office.owner_id, "name": "A", "model": "script:echo"})


@pytest.mark.proves("C13", "N4")
@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b'{"text": "\\ud800"}',
        b'{"text": "half \\udfff pair"}',
        b'{"text": NaN}',
        b'{"text": "\xff\xfe"}',
        b'{"text": ' + b"9" * 5_000 + b"}",
        b'{"text": "x", "attachments": ' + DEEP + b"}",
        DEEP,
        b"[]",
        b'"text"',
        b"",
    ],
    ids=lambda body: repr(body[:24]),
)
async def test_no_body_can_crash_the_parser(office: Driver, body: bytes) -> None:
    await office.space("hall")
    error = await refused(
        office,
        "POST",
        "/spaces/hall/messages",
        422,
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert error["code"] == "invalid"
    assert await office.messages("hall") == []
    assert (await office.post("hall", "still here"))["seq"] == 1


@pytest.mark.proves("N4")
@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦 😀", "שלום עולם", "\u202eabc", "a\tb\r\nc", "é" * 32_768, "\U0010ffff"])
async def test_any_text_that_is_text_is_kept_as_it_is(office: Driver, text: str) -> None:
    await office.space("hall")
    message = await office.post("hall", text)
    assert (await office.get(f"/messages/{message['id']}"))["text"] == text


async def test_a_body_over_the_cap_is_refused_and_one_at_the_cap_is_read(office: Driver) -> None:
    await office.space("hall")
    cap = office.office.settings.limits.body_bytes

    def body(size: int) -> bytes:
        head = orjson.dumps({"text": "x", "clientMessageId": "c"})[:-1] + b', "attachments": []'
        return head + b" " * (size - len(head) - 1) + b"}"

    headers = {"Content-Type": "application/json"}
    error = await refused(office, "POST", "/spaces/hall/messages", 413, content=body(cap + 1), headers=headers)
    assert error["code"] == "too_large"
    await office.ask("POST", "/spaces/hall/messages", status=201, content=body(cap), headers=headers)


@pytest.mark.proves("N1")
@pytest.mark.parametrize("value", ["a') OR 1=1--", "%", "_", "'", '"', "\\", "*", "🙂"])
async def test_filters_and_cursors_are_values_and_never_sql(office: Driver, value: str) -> None:
    await office.agent("ada", steps=[])
    await office.space("hall", ["ada"], wake={"people": "all"})
    await office.post("hall", "hello")
    await office.run_finished("ada")
    assert await office.items("/runs", agentId=value) == []
    assert await office.items("/runs", spaceId=value) == []
    await refused(office, "GET", "/runs", 422, params={"status": value})
    await office.items("/agents", cursor=value)
    await office.items("/spaces", cursor=value)
    assert await office.items("/agents/ada/passages", q=value) == []
    assert len(await office.messages("hall")) == 1


@pytest.mark.parametrize("limit, status", [("0", 422), ("1", 200), ("200", 200), ("201", 422), ("x", 422)])
async def test_lists_take_a_limit_from_one_to_two_hundred(office: Driver, limit: str, status: int) -> None:
    await office.space("hall")
    for path in ("/agents", "/spaces", "/runs", "/tokens", "/spaces/hall/messages"):
        await office.ask("GET", path, params={"limit": limit}, status=status)


async def test_lists_are_read_page_by_page_newest_first(office: Driver) -> None:
    made = [(await office.agent(f"agent{n}"))["id"] for n in range(7)]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page = await office.get("/agents", params={"limit": 3, **({"cursor": cursor} if cursor else {})})
        seen += [agent["id"] for agent in page["items"]]
        cursor = page.get("next")
        if cursor is None:
            break
    assert seen == made[::-1]


async def test_messages_rise_and_are_found_before_and_after_a_number(office: Driver) -> None:
    await office.space("hall")
    for n in range(1, 8):
        await office.post("hall", f"m{n}")

    async def numbers(**params: int) -> list[int]:
        return [m["seq"] for m in await office.items("/spaces/hall/messages", **params)]

    assert await numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert await numbers(limit=3) == [5, 6, 7]
    assert await numbers(limit=3, before=5) == [2, 3, 4]
    assert await numbers(limit=3, after=2) == [3, 4, 5]
    assert await numbers(after=7) == []


async def test_both_spellings_are_understood_and_one_is_answered(office: Driver) -> None:
    await office.space("hall")
    camel = await office.post("hall", "a", clientMessageId="one")
    snake = await office.create("/spaces/hall/messages", {"text": "b", "client_message_id": "two"})
    assert camel["clientMessageId"] == "one"
    assert snake["clientMessageId"] == "two"
    assert not [name for name in snake if "_" in name]
    assert snake["createdAt"].endswith("Z")


async def test_a_wrong_method_is_told_in_the_same_shape(office: Driver) -> None:
    assert (await refused(office, "PUT", "/agents", 405))["code"] == "method_not_allowed"
