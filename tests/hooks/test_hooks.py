"""Hooks: a secret address wakes one agent, as long as whoever made it may; wrong ones are not even read."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from sqlalchemy import select

from bullpen.settings import LimitSettings
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import metadata
from bullpen.testing import FakeClock
from bullpen.upkeep import retention
from tests.driver import Api, Driver, Json, Offices
from tests.hooks.calling import made, path_of, ring, ringing
from tests.path.puppets import puppet, told, untimed
from tests.path.scripts import call, step

STEPS = [step(call("do_nothing"))]
WRONG = "/hooks/bp_hook_" + "x" * 43


async def test_calling_a_hook_wakes_its_agent_with_text_as_data(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=STEPS)
    hook = await made(office)
    assert hook["url"].startswith(f"{office.office.url}/hooks/bp_hook_")
    answered = await ring(office, path_of(hook))
    assert answered.status_code == 202, answered.text
    run = await office.run_finished("ada")
    assert (run["trigger"], run["depth"]) == ({"kind": "trigger", "serviceName": "ci", "items": 1}, 0)
    mark = (await office.journal(run["id"]))[0]["id"]
    framed = f'<outside id="{mark}" source="hook:ci">the build is red</outside id="{mark}">'
    assert [untimed(text) for text in told(ada.shown[0])] == [
        f"New for you:\n[trigger] The service ci woke you: {framed}"
    ]
    assert run["outside"] == ["hook:ci"]
    assert answered.json()["itemId"].startswith("itm_")
    (listed,) = await office.items("/hooks")
    assert "url" not in listed
    assert listed["usedAt"] > listed["createdAt"]
    assert await office.items("/hooks", agentId="ada") == [listed]
    assert await office.items("/hooks", agentId="eve") == []


@pytest.mark.one_database
async def test_a_hook_call_needs_text_and_ignores_extra_fields(office: Driver) -> None:
    await office.agent("ada", steps=STEPS)
    http = ringing(office)
    path = path_of(await made(office))
    assert (await http.post(path, json={"text": "hi", "channel": "#ops", "attachments": [1]})).status_code == 202
    bad: list[Any] = [{}, {"text": ""}, {"text": 7}, {"text": None}, [], "hi", {"text": "x" * 32_769}]
    for body in bad:
        refused = await http.post(path, json=body)
        assert refused.status_code == 422, body
        assert set(refused.json()["error"]["fields"]) <= {"text", "body"}
    assert (await http.post(path, content=b"{", headers={"Content-Type": "application/json"})).status_code == 422
    assert (await http.post(path, content=b"text=hi", headers={"Content-Type": "text/plain"})).status_code == 415
    assert (await http.post(path)).status_code == 422
    big = b'{"text": "' + b"x" * 1_100_000 + b'"}'
    assert (await http.post(path, content=big, headers={"Content-Type": "application/json"})).status_code == 413
    assert (await http.get(path)).status_code == 405
    await office.idle()
    assert len(await office.runs()) == 1


@pytest.mark.parametrize("header", ["Idempotency_Key", "webhook_id"])
@pytest.mark.parametrize("scope", ["space", "agent"])
async def test_the_same_text_under_the_same_key_wakes_nobody_twice(office: Driver, header: str, scope: str) -> None:
    await office.agent("ada", steps=STEPS, scope=scope)
    first, second = await made(office), await made(office, name="other")
    path = path_of(first)
    answers = [await ring(office, path, **{header: "build 7"}) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["itemId"] for answer in answers}) == 1
    await office.idle()
    assert len(await office.runs()) == 1
    other = await ring(office, path, "another text", **{header: "build 7"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    for where, key in ((path, "build 8"), (path_of(second), "build 7")):
        again = await ring(office, where, **{header: key})
        assert again.json()["itemId"] != answers[0].json()["itemId"]
    await office.run_finished("ada", nth=2)
    assert (await ring(office, path, **{header: "k" * 256})).status_code == 422


async def test_keys_are_forgotten_after_some_days(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    await office.agent("ada", steps=STEPS)
    path = path_of(await made(office))
    await ring(office, path, Idempotency_Key="k")
    for days, expected in ((2.9, 1), (0.2, 2)):
        clock.advance(days * 86_400)
        await retention.forget(office.office.store, office.office.settings.retention)
        await ring(office, path, Idempotency_Key="k")
        await office.idle()
        assert len(await office.runs()) == expected


@pytest.mark.proves("K1")
@pytest.mark.one_database
async def test_an_unknown_hooks_request_body_is_never_read(office: Driver) -> None:
    await office.agent("ada", steps=STEPS)
    good = path_of(await made(office))
    pieces: list[str] = []

    async def body(name: str) -> Any:
        pieces.append(name)
        yield b'{"text": "hi"}'

    http = ringing(office)
    headers = {"Content-Type": "application/json"}
    for path in (WRONG, "/hooks/x", good + "x", good[:-1]):
        refused = await http.post(path, content=body(path), headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    assert pieces == []
    assert (await http.post(good, content=body("good"), headers=headers)).status_code == 202
    assert pieces == ["good"]


@pytest.mark.proves("A8")
@pytest.mark.one_database
async def test_after_ten_wrong_guesses_unproven_hooks_are_refused_before_lookup(offices: Offices) -> None:
    office = await offices.open(limits=LimitSettings())
    await office.agent("ada", steps=STEPS)
    known, fresh = path_of(await made(office)), path_of(await made(office, name="new"))
    assert (await ring(office, known)).status_code == 202
    statuses = [(await ring(office, f"{WRONG}{n}")).status_code for n in range(30)]
    assert statuses == [404] * 10 + [429] * 20
    refused = await ring(office, fresh)
    assert refused.status_code == 429, "one that never worked is looked up only later"
    assert int(refused.headers["Retry-After"]) > 0
    assert (await ring(office, known)).status_code == 202, "one that has worked is not shut out by somebody's guesses"
    unknown = await Api(office.office, "bp_guess").http.get("/me")
    assert unknown.status_code == 429, "it is one count for all secrets"


@pytest.mark.one_database
async def test_each_hook_has_the_same_rate_limit_as_a_token(offices: Offices) -> None:
    office = await offices.open(limits=LimitSettings(requests_per_minute=5))
    office.office.limits.requests.per_minute = 0
    await office.agent("ada", steps=STEPS)
    paths = [path_of(await made(office)) for _ in range(2)]
    office.office.limits.requests.per_minute = 5
    assert [(await ring(office, paths[0])).status_code for _ in range(7)] == [202] * 5 + [429] * 2
    assert (await ring(office, paths[1])).status_code == 202


# ── whose it is ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def admin(office: Driver) -> tuple[str, Api]:
    person = await office.create("/people", {"name": "Anna", "role": "admin"})
    token = await office.create("/tokens", {"name": "Anna", "personId": person["id"]})
    return person["id"], Api(office.office, token["token"])


async def test_a_revoked_hook_or_deleted_agents_hook_returns_404(office: Driver) -> None:
    await office.agent("ada", steps=STEPS)
    await office.agent("bo", steps=STEPS)
    first, second = await made(office), await made(office, "bo")
    assert (await ring(office, path_of(first))).status_code == 202
    await office.ask("DELETE", f"/hooks/{first['id']}", status=204)
    await office.ask("DELETE", f"/hooks/{first['id']}", status=404)
    await office.ask("DELETE", "/agents/bo", status=204)
    for hook in (first, second):
        assert (await ring(office, path_of(hook))).status_code == 404
    assert await office.items("/hooks") == []
    rows = [row["action"] for row in await office.items("/audit", objectId=first["id"])]
    assert rows == ["hook.revoked", "hook.created"]
    await office.create("/hooks", {"agentId": "nobody", "name": "ci"}, status=404)


@pytest.mark.parametrize("change", [{"role": "member"}, {"disabled": True}])
async def test_a_hook_works_only_while_its_maker_has_the_rights(office: Driver, change: Json) -> None:
    await office.agent("ada", steps=STEPS)
    anna_id, anna = await admin(office)
    hook = await anna.create("/hooks", {"agentId": "ada", "name": "hers"})
    assert (await ring(office, path_of(hook))).status_code == 202
    await office.run_finished("ada")
    await office.ask("PATCH", f"/people/{anna_id}", json=change)
    assert (await ring(office, path_of(hook))).status_code == 404
    back = {"role": "admin"} if "role" in change else {"disabled": False}
    await office.ask("PATCH", f"/people/{anna_id}", json=back)
    assert (await ring(office, path_of(hook))).status_code == 202
    await office.create(f"/people/{anna_id}/erase", {})
    assert (await ring(office, path_of(hook))).status_code == 404
    assert await office.items("/hooks") == []


async def test_a_hook_has_no_more_rights_than_its_creating_token(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("send_message", text="hello", spaceId="hall"))])
    await office.space("hall", ["ada"])
    limited = await office.create("/tokens", {"name": "hooks only", "scopes": ["manage_agents"]})
    hook = await Api(office.office, limited["token"]).create("/hooks", {"agentId": "ada", "name": "small"})
    assert (await ring(office, path_of(hook))).status_code == 202
    await office.run_finished("ada")
    assert await office.texts("hall") == []
    whole = await made(office)
    await ring(office, path_of(whole))
    await office.run_finished("ada", nth=2)
    assert await office.texts("hall") == ["hello"]


# ── silence ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_hooks_secret_appears_only_in_its_url(office: Driver) -> None:
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)  # without the redactor: it is not even said
    root = logging.getLogger("bullpen")
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        await office.agent("ada", steps=STEPS)
        hook = await made(office)
        await ring(office, path_of(hook))
        await ring(office, path_of(hook) + "x")
        await office.run_finished("ada")
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    secret = path_of(hook).rpartition("/")[2]
    assert "POST /hooks/{token}" in heard.getvalue()
    assert secret not in heard.getvalue()

    async def everything(tx: Transaction) -> str:
        return repr([list(map(tuple, await tx.all(Statement(select(table))))) for table in metadata.sorted_tables])

    assert secret not in await office.office.store.read(everything)
    metrics = (await office.http.get("http://office/metrics")).text
    assert 'route="/hooks/{token}"' in metrics
    assert secret not in metrics
