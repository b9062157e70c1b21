"""An archived space is there to be read; nobody writes in it and nothing fires."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.driver import Driver, Json
from tests.path.scripts import SILENT, call, say, step
from tests.refusals import refused

ARCHIVE: Json = {"archived": True}


async def lively(office: Driver) -> None:
    await office.agent("ada", steps=[say("here I am")], tools=["messaging"])
    await office.space("attic", ["ada"], wake={"people": "all", "agents": "none"}, topic="Old things")


async def archive(office: Driver, archived: bool = True) -> Json:
    changed: Json = await office.ask("PATCH", "/spaces/attic", json={"archived": archived})
    return changed


async def test_an_archived_space_is_read_but_not_written(office: Driver) -> None:
    await lively(office)
    said = await office.post("attic", "@ada hello")
    await office.idle()
    assert (await archive(office))["archivedAt"] is not None

    for method, path, body in (
        ("POST", "/spaces/attic/messages", {"text": "more"}),
        ("POST", f"/messages/{said['id']}/reactions", {"emoji": "👍"}),
        ("PATCH", f"/messages/{said['id']}", {"text": "other words"}),
    ):
        error = await refused(office, method, path, 409, json=body)
        assert error["code"] == "space_archived"
    (run,) = await office.runs()
    assert (await refused(office, "POST", f"/runs/{run['id']}/retry", 409))["code"] == "space_archived"
    seen = await office.messages("attic")
    assert [m["text"] for m in seen][:2] == ["@ada hello", "here I am"]
    assert "archived this space" in seen[-1]["text"]
    assert seen[-1]["type"] == "system"
    await office.ask("POST", "/spaces/attic/read", json={"seq": seen[-1]["seq"]})

    await archive(office, False)
    await office.post("attic", "@ada again")
    await office.idle()
    assert (await office.texts("attic"))[-1] == "here I am"


async def test_agents_cannot_write_into_an_archived_space(office: Driver) -> None:
    await lively(office)
    await archive(office)
    await office.agent("bo", steps=[say("hello?", spaceId="attic"), step(call("list_spaces")), *SILENT])
    await archive(office, False)
    await office.ask("POST", "/spaces/attic/members", json={"memberId": "bo"})
    await archive(office)
    await office.dm("bo", office.owner_id)
    await office.post(f"dm-{'-'.join(sorted(['bo', office.owner_id]))}", "go")
    run = await office.run_finished("bo")
    refusal, spaces, _ = await office.results(run["id"])
    assert "archived" in refusal["error"]
    assert "attic" not in {space["spaceId"] for space in spaces["spaces"]}
    assert "hello?" not in await office.texts("attic")


async def test_archiving_pauses_the_tasks_of_a_space(office: Driver) -> None:
    await lively(office)
    task = await office.create(
        "/tasks",
        {"spaceId": "attic", "agentId": "ada", "prompt": "tidy", "scheduleType": "cron", "scheduleValue": "0 9 * * *"},
    )
    await archive(office)
    paused = await office.get(f"/tasks/{task['id']}")
    assert (paused["status"], paused["reason"]) == ("paused", "Its space was archived.")
    error = await refused(office, "POST", f"/tasks/{task['id']}/resume", 409)
    assert error["code"] == "space_archived"
    new = {"spaceId": "attic", "agentId": "ada", "prompt": "x", "scheduleType": "interval", "scheduleValue": "3600000"}
    assert (await refused(office, "POST", "/tasks", 409, json=new))["code"] == "space_archived"
    await archive(office, False)
    assert (await office.ask("POST", f"/tasks/{task['id']}/resume"))["status"] == "active"


async def test_a_run_under_way_ends_when_its_space_is_archived(office: Driver) -> None:
    card: dict[str, Any] = {"type": "object", "properties": {}}
    tool = {"name": "wait_here", "description": "Ask.", "inputSchema": card, "executionType": "space"}
    await office.create("/tools", {**tool, "timeout": 600_000})
    await office.agent("ada", steps=[step(call("wait_here")), say("done")], tools=["messaging", "wait_here"])
    await office.space("attic", ["ada"], wake={"people": "all", "agents": "none"})
    await office.post("attic", "go")
    await office.event("tool.requires_action")
    await archive(office)
    run = await office.run_finished("ada")
    assert run["status"] == "cancelled"
    assert "done" not in await office.texts("attic")


async def test_dms_and_strangers_cannot_be_archived_by_mistake(office: Driver) -> None:
    await lively(office)
    dm = await office.dm("ada", office.owner_id)
    await refused(office, "PATCH", f"/spaces/{dm['id']}", 422, json=ARCHIVE)
    await office.space("den", private=True)
    _, stranger = await office.person("Stan")
    await refused(stranger, "PATCH", "/spaces/den", 404, json=ARCHIVE)
    await refused(stranger, "PATCH", "/spaces/attic", 403, json=ARCHIVE)


@pytest.mark.one_database
async def test_a_topic_is_set_changed_and_taken_away(office: Driver) -> None:
    await lively(office)
    assert (await office.get("/spaces/attic"))["topic"] == "Old things"
    changed = await office.ask("PATCH", "/spaces/attic", json={"topic": "New things", "name": "Loft"})
    assert (changed["topic"], changed["name"]) == ("New things", "Loft")
    assert "topic" not in await office.ask("PATCH", "/spaces/attic", json={"topic": None})
    await refused(office, "PATCH", "/spaces/attic", 422, json={"topic": "x" * 251})


async def test_an_owner_sees_what_goes_with_a_space(office: Driver) -> None:
    await lively(office)
    await office.post("attic", "@ada hello")
    await office.idle()
    found = await office.get("/spaces/attic/contents")
    assert {name: found[name] for name in ("members", "messages", "runs", "tasks", "files")} == {
        "members": 2,
        "messages": 2,
        "runs": 1,
        "tasks": 0,
        "files": 0,
    }
    _, member = await office.person("Mia")
    await office.ask("POST", "/spaces/attic/members", json={"memberId": "psn_mia"})
    await refused(member, "GET", "/spaces/attic/contents", 403)


async def test_posting_while_it_is_archived_is_all_or_nothing(office: Driver) -> None:
    await lively(office)
    answers = await asyncio.gather(
        *(office.http.post("/spaces/attic/messages", json={"text": f"n{n}"}) for n in range(5)),
        office.http.patch("/spaces/attic", json=ARCHIVE),
        *(office.http.post("/spaces/attic/messages", json={"text": f"m{n}"}) for n in range(5)),
    )
    kept = {answer.json()["text"] for answer in answers if answer.status_code == 201}
    assert {answer.status_code for answer in answers} <= {200, 201, 409}
    await office.idle()
    said = {m["text"] for m in await office.messages("attic") if m["authorKind"] == "person"}
    assert said == kept
