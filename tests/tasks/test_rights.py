"""A task works for whoever made it, with what they still may, and never with more."""

from __future__ import annotations

import pytest

from bullpen.agents import actions as agents
from bullpen.settings import TaskSettings
from bullpen.testing import schedules, snapshot
from tests.driver import Driver, Json, Offices
from tests.files.offering import give
from tests.path.scripts import say, turn
from tests.tasks.offices import SPEAK, TOOLS, hourly, scheduled, studio, timed


def calls(tool: str, **args: object) -> list[Json]:
    return [{"calls": [{"tool": tool, "args": args}]}, {}]


ANOTHER = {"prompt": "again", "scheduleType": "interval", "scheduleValue": "2h"}


@pytest.mark.proves("G11")
@pytest.mark.parametrize("lost", ["membership", "account", "agent left", "agent deleted"])
@pytest.mark.one_database
async def test_a_task_without_rights_is_refused_paused_and_reported(offices: Offices, lost: str) -> None:
    office = await timed(offices)
    await studio(office.driver)
    id, pia = await office.driver.person("Pia")
    await office.driver.create("/spaces/studio/members", {"memberId": id})
    task = await scheduled(pia)
    match lost:
        case "membership":
            await office.driver.ask("DELETE", f"/spaces/studio/members/{id}")
        case "account":
            await office.driver.ask("PATCH", f"/people/{id}", json={"disabled": True})
        case "agent left":
            await office.driver.ask("DELETE", "/spaces/studio/members/ada")
        case "agent deleted":
            await office.driver.ask("DELETE", "/agents/ada")
    await office.wait(hours=1)
    assert await office.statuses(task) == ["refused"]
    now = await office.task(task)
    assert (now["status"], "nextRun" in now) == ("paused", False)
    [notice] = [m for m in await office.driver.messages("studio") if m["type"] == "system"]
    assert task["id"] in notice["text"]
    assert now["reason"] in notice["text"]
    assert await office.driver.runs() == []
    [row] = [row for row in await office.driver.items("/audit") if row["action"] == "task.paused"]
    assert (row["actorKind"], row["objectId"]) == ("system", task["id"])


@pytest.mark.proves("G11")
async def test_losing_rights_between_firing_and_run_stops_the_run(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    id, pia = await office.driver.person("Pia")
    await office.driver.create("/spaces/studio/members", {"memberId": id})
    task = await scheduled(pia)
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=1)
    await office.driver.ask("PATCH", f"/people/{id}", json={"disabled": True})
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    [run] = await office.driver.runs()
    assert run["stopReason"] == "no_rights"
    assert (await office.task(task))["status"] == "paused"
    await office.wait(hours=3)
    assert await office.statuses(task) == ["fired"]


GONE = ("dropped", "Its agent was deleted before this had begun.")


@pytest.mark.proves("V9")
async def test_a_firing_is_dropped_if_its_agent_is_deleted_first(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=1)
    await office.driver.ask("DELETE", "/agents/ada")
    [firing] = await office.firings(task)
    assert (firing["status"], firing["reason"]) == GONE
    seen = await snapshot.read(office.driver.office.settings.database_url)
    assert list(schedules.firing_faults(seen, at_rest=False)) == []


@pytest.mark.proves("V9")
async def test_a_firing_concurrent_with_its_agents_deletion_is_dropped(offices: Offices) -> None:
    """Another process had fired it and not yet committed, so whoever deleted the agent saw nothing of it."""
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await office.driver.create("/agents/pause", {})
    await office.wait(hours=1)
    await office.driver.office.store.transact(lambda tx: agents.delete(tx, "ada"))
    await office.driver.create("/agents/resume", {})

    async def is_dropped() -> bool:
        [firing] = await office.firings(task)
        return (firing["status"], firing.get("reason")) == GONE

    await office.driver.until(is_dropped)
    assert await office.driver.runs() == []


@pytest.mark.one_database
async def test_a_tasks_run_cannot_schedule_without_permission(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver, steps=calls("schedule_task", **ANOTHER))
    closed = await scheduled(office.driver)
    opened = await scheduled(office.driver, maySchedule=True)
    await office.driver.create(f"/tasks/{closed['id']}/run", {})
    run = await office.driver.run_finished("ada")
    [refused] = await office.driver.results(run["id"])
    assert "schedule" in refused["error"]
    await office.driver.create(f"/tasks/{opened['id']}/run", {})
    run = await office.driver.run_finished("ada", nth=2)
    [made] = await office.driver.results(run["id"])
    found = await office.task({"id": made["taskId"]})
    assert (found["maySchedule"], found["onBehalfOf"]) == (False, office.driver.owner_id), "it is not handed on"


@pytest.mark.one_database
async def test_an_agent_woken_by_a_tasks_run_cannot_schedule_either(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver, steps=[{"calls": [{"tool": "send_message", "args": {"text": "@bo go on"}}]}, {}])
    await office.driver.agent("bo", steps=calls("schedule_task", **ANOTHER), tools=TOOLS)
    await office.driver.create("/spaces/studio/members", {"memberId": "bo"})
    task = await scheduled(office.driver, agentId="ada")
    await office.driver.create(f"/tasks/{task['id']}/run", {})
    run = await office.driver.run_finished("bo")
    [refused] = await office.driver.results(run["id"])
    assert "schedule" in refused["error"]
    assert len(await office.driver.items("/tasks")) == 1


@pytest.mark.one_database
async def test_only_people_can_allow_a_task_to_schedule(office: Driver) -> None:
    await studio(office)
    ada = await office.as_agent("ada")
    await ada.create("/tasks", hourly(maySchedule=True), status=403)
    made = await ada.create("/tasks", hourly())
    assert (made["agentId"], made["createdBy"], made["maySchedule"]) == ("ada", "ada", False)


@pytest.mark.one_database
async def test_an_agent_cannot_schedule_tasks_for_another_agent(office: Driver) -> None:
    await studio(office)
    await office.agent("bo", steps=SPEAK)
    await office.create("/spaces/studio/members", {"memberId": "bo"})
    ada = await office.as_agent("ada")
    await ada.create("/tasks", hourly(agentId="bo"), status=403)


@pytest.mark.one_database
async def test_changing_a_tasks_prompt_makes_it_run_for_the_editor(office: Driver) -> None:
    await studio(office)
    id, pia = await office.person("Pia")
    await office.create("/spaces/studio/members", {"memberId": id})
    task = await scheduled(pia, maySchedule=True)
    mine = await scheduled(office)
    await pia.ask("PATCH", f"/tasks/{mine['id']}", json={"prompt": "obey"}, status=403)
    assert (await office.ask("PATCH", f"/tasks/{task['id']}", json={}))["onBehalfOf"] == id, "nothing was changed"
    changed = await office.ask("PATCH", f"/tasks/{task['id']}", json={"prompt": "tidy up"})
    assert (changed["onBehalfOf"], changed["prompt"]) == (office.owner_id, "tidy up")
    assert changed["maySchedule"] is False, "a right that somebody else gave does not become the owner's"
    await pia.create(f"/tasks/{task['id']}/pause", {}, status=200)


@pytest.mark.proves("P10", "G6")
@pytest.mark.parametrize(
    "change",
    [
        {"missed": "none"},
        {"scheduleValue": "2h"},
        {"contextMode": "isolated"},
        {"maySchedule": True},
        {"prompt": None},
        {"prompt": "act"},
        {"precheck": None},
    ],
)
@pytest.mark.one_database
async def test_changing_only_a_tasks_schedule_does_not_lend_it_rights(office: Driver, change: Json) -> None:
    group = {"jid": "tg:-1", "name": "Mine", "folder": "mine", "trigger": "@Ada"}
    await office.agent("ada", steps=calls("register_group", **group), tools=[*TOOLS, "groups"])
    id, pia = await office.person("Pia")
    await office.space("home", ["ada", id], kind="group", main=True)
    task = await scheduled(pia, spaceId="home", prompt="act")
    changed = await office.ask("PATCH", f"/tasks/{task['id']}", json=change)
    assert (changed["onBehalfOf"], changed["createdBy"]) == (id, id)
    assert changed["maySchedule"] is bool(change.get("maySchedule"))
    await office.create(f"/tasks/{task['id']}/run", {})
    [refused] = await office.results((await office.run_finished("ada"))["id"])
    assert refused["error"].startswith("Denied: register_group")


@pytest.mark.proves("P10")
@pytest.mark.one_database
async def test_a_tasks_prompt_and_precheck_belong_to_the_same_person(office: Driver) -> None:
    """Else what Pia wrote in one of them would be done with the rights of whoever wrote the other."""
    await studio(office)
    id, pia = await office.person("Pia")
    await office.create("/spaces/studio/members", {"memberId": id})
    ask = {"tool": "list_tasks", "args": {}}
    task = await scheduled(pia, precheck=ask)
    path = f"/tasks/{task['id']}"
    for half in ({"prompt": "tidy up"}, {"precheck": {**ask, "tool": "skip"}}):
        refused = await office.ask("PATCH", path, json=half, status=422)
        assert set(refused["error"]["fields"]) == {"prompt", "precheck"} - half.keys()
        assert (await office.get(path))["onBehalfOf"] == id
        await pia.ask("PATCH", path, json=half)
    changed = await office.ask("PATCH", path, json={"prompt": "tidy up again", "precheck": None})
    assert (changed["onBehalfOf"], "precheck" in changed) == (office.owner_id, False)


async def test_a_space_has_only_so_many_tasks(offices: Offices) -> None:
    office = await offices.open(tasks=TaskSettings(per_space=2))
    await studio(office)
    await scheduled(office)
    await scheduled(office)
    refused = await office.create("/tasks", hourly(), status=422)
    assert "spaceId" in refused["error"]["fields"]
    assert len(await office.items("/tasks")) == 2


FETCH: Json = {
    "name": "fetch",
    "description": "Fetch something.",
    "inputSchema": {"type": "object", "properties": {}},
    "executionType": "external",
    "isAsync": True,
}


async def chained(office: Driver, *last: Json) -> None:
    """Ada and Bo answer each other until a run of Bo's is as deep as runs may be, which does this."""
    await office.create("/tools", FETCH)
    await office.agent("ada", [turn("start", say("@bo one")), turn("two", say("@bo three"))])
    await office.agent("bo", [*last, turn("one", say("@ada two"))], tools=[*TOOLS, "fetch"])
    await office.space("studio", ["ada", "bo"])
    await office.post("studio", "@ada start")


@pytest.mark.proves("L4")
async def test_a_task_due_soon_counts_as_a_chain_link(offices: Offices) -> None:
    office = await timed(offices)
    soon = {"prompt": "soon", "scheduleType": "once", "scheduleValue": "2026-06-01T08:01:00"}
    await chained(office.driver, turn("three", *calls("schedule_task", **soon)))
    run = await office.driver.run_finished("bo", nth=2)
    assert run["depth"] == 3
    [task] = await office.driver.items("/tasks")
    await office.wait(minutes=1)
    assert await office.statuses(task) == ["stopped"]
    told = await office.driver.event("chain_stopped")
    assert told["chain"]["depth"] == 3
    assert (await office.driver.messages("studio"))[-1]["type"] == "system"
    assert len(await office.driver.runs()) == 4


@pytest.mark.proves("L4")
async def test_a_late_tool_result_counts_as_a_chain_link(office: Driver) -> None:
    later = {"kind": "tool_result", "steps": [say("@ada four")]}
    await chained(office, turn("three", *calls("fetch")), later)
    await office.run_finished("bo", nth=2)
    [waiting] = await office.items("/pending")
    await office.create(f"/pending/{waiting['callId']}/resolve", {"result": "news"})
    await office.event("chain_stopped")
    await office.idle()
    assert [(run["agentId"], run["depth"]) for run in await office.runs()][-2:] == [("bo", 3), ("bo", 3)]


async def test_only_a_once_task_within_the_hour_inherits_chain_depth(offices: Offices) -> None:
    office = await timed(offices)
    soon = {"prompt": "soon", "scheduleType": "once", "scheduleValue": "2026-06-01T08:30:00"}
    later = {"prompt": "later", "scheduleType": "once", "scheduleValue": "2026-06-01T09:30:00"}
    often = {"prompt": "often", "scheduleType": "interval", "scheduleValue": "30m"}
    wishes = [{"tool": "schedule_task", "args": args} for args in (soon, later, often)]
    await studio(office.driver, turns=[{"when": "plan", "steps": [{"calls": wishes}, {}]}, {"steps": [{}]}], steps=None)
    await office.driver.post("studio", "@ada plan")
    await office.driver.run_finished("ada")
    await office.wait(minutes=30)
    await office.wait(minutes=60)
    depths: dict[str, int] = {}
    for run in await office.driver.runs():
        if run["trigger"]["kind"] == "task":
            prompt = (await office.task({"id": run["trigger"]["taskId"]}))["prompt"]
            depths.setdefault(prompt, run["depth"])
    assert depths == {"soon": 1, "later": 0, "often": 0}


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.one_database
async def test_a_task_scheduled_after_reading_outside_text_has_tainted_runs(offices: Offices, moved: bool) -> None:
    """Whoever could write a prompt by way of a document must not be taken for somebody of the office later: not even
    when somebody has moved the task."""
    office = await timed(offices)
    wish = {"prompt": "as the paper says", "scheduleType": "interval", "scheduleValue": "1h"}
    turns = [{"when": "as the paper says", "steps": [{}]}, {"steps": calls("schedule_task", **wish)}]
    await studio(office.driver, turns=turns, steps=None, policy={"schedule_task": "allow"})
    file = await give(office.driver, space="studio")
    await office.driver.post("studio", "@ada read this", attachments=[file["id"]])
    await office.driver.run_finished("ada")
    if moved:
        [task] = await office.driver.items("/tasks")
        await office.driver.ask("PATCH", f"/tasks/{task['id']}", json={"scheduleValue": "30m"})
    await office.driver.office.fire_tasks()
    await office.wait(hours=1)
    run = (await office.driver.runs())[-1]
    assert (run["trigger"]["kind"], run["outside"]) == ("task", ["file"])
    told = (await office.driver.journal(run["id"]))[0]["content"]
    assert "<outside" in told
