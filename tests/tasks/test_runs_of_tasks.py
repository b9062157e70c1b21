"""What a run of a task sees, when it is needed at all, what it counts for, and what becomes of it when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bullpen.errors import ModelRefused
from bullpen.tools import ToolContext, tool
from tests.driver import Offices
from tests.path.puppets import Puppet, puppet, told
from tests.path.scripts import call, say, step
from tests.tasks.offices import TOOLS, Timed, scheduled, timed


async def played(offices: Offices, answers: Sequence[Exception] = (), **more: Any) -> tuple[Timed, Puppet]:
    office = await timed(offices, **more)
    ada = await puppet(office.driver, "ada", steps=[say("done"), {}], answers=answers, tools=TOOLS)
    await office.driver.space("studio", ["ada"])
    return office, ada


@pytest.mark.proves("S2-33")
async def test_only_a_task_in_group_mode_sees_the_groups_history(offices: Offices) -> None:
    office, ada = await played(offices)
    await office.driver.post("studio", "the cake is a secret")
    await scheduled(office.driver, prompt="with you")
    await office.wait(hours=1)
    first = "\n".join(told(ada.shown[0]))
    assert "the cake is a secret" in first
    assert "with you" in first
    assert "2026-06-01T09:00:00+00:00" in first, "it is told when it was due"
    [task] = await office.driver.items("/tasks")
    await office.driver.ask("PATCH", f"/tasks/{task['id']}", json={"contextMode": "isolated", "prompt": "alone"})
    asked = len(ada.shown)
    await office.wait(hours=1)
    alone = told(ada.shown[asked])
    assert len(alone) == 1, "nothing but what it is to do"
    assert "alone" in alone[0]
    assert await office.driver.texts("studio") == ["the cake is a secret", "done", "done"], (
        "it speaks there all the same"
    )
    one, two = await office.driver.runs()
    assert one["threadId"] != two["threadId"]


async def test_waiting_messages_and_a_waiting_task_get_separate_runs(offices: Offices) -> None:
    office, _ = await played(offices)
    task = await scheduled(office.driver, maySchedule=True)  # with all that the owner holds
    await office.driver.create("/agents/ada/pause", {})
    await office.driver.post("studio", "@ada one")
    await office.wait(hours=1)
    await office.driver.post("studio", "@ada two")
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    triggers = [(run["trigger"]["kind"], run["trigger"]["items"]) for run in await office.driver.runs()]
    assert triggers == [("message", 1), ("task", 1), ("message", 1)]
    assert (await office.firings(task))[0]["outcome"] == "spoke"


@pytest.mark.parametrize("failing", [4, 5])
async def test_a_failing_task_is_reported_and_paused_after_five_failures(offices: Offices, failing: int) -> None:
    office, _ = await played(offices, [ModelRefused("The provider says no.")] * failing)
    task = await scheduled(office.driver)
    for _ in range(failing):
        await office.wait(hours=1)
    system = [m["text"] for m in await office.driver.messages("studio") if m["type"] == "system"]
    now = await office.task(task)
    assert "failed: The provider says no." in system[0]
    assert now["failures"] == failing
    if failing == 5:
        assert (now["status"], len(system)) == ("paused", 2)
        assert "5 times in a row" in now["reason"]
        assert now["reason"] in system[1]
        resumed = await office.driver.create(f"/tasks/{task['id']}/resume", {})
        assert (resumed["failures"], resumed.get("reason")) == (0, None)
    await office.wait(hours=1)
    now = await office.task(task)
    assert (now["status"], now["failures"]) == ("active", 0), "it succeeded, and what was before is forgotten"


async def test_a_run_that_somebody_stops_is_no_failure(offices: Offices) -> None:
    office, ada = await played(offices)
    ada.hold()
    task = await scheduled(office.driver)
    office.clock.advance(3600)
    await office.driver.office.fire_tasks()
    await ada.asked(1)
    [run] = await office.driver.runs()
    await office.driver.create(f"/runs/{run['id']}/cancel", {})
    ada.release()
    await office.look()
    assert (await office.task(task))["failures"] == 0


# ── prechecks ───────────────────────────────────────────────────────────────────────────────────────────────────────


@tool(effect="pure")
async def new_mail(context: ToolContext, folder: str) -> Any:
    """Mail that came since yesterday."""
    return {"empty": [], "busy": ["from Bo"], "told": {"wake": False, "why": "night"}}[folder]


@pytest.mark.parametrize("folder, woken", [("empty", False), ("busy", True), ("told", False), ("broken", True)])
@pytest.mark.one_database
async def test_a_precheck_decides_whether_the_model_is_woken(offices: Offices, folder: str, woken: bool) -> None:
    office = await timed(offices, families={"mail": [new_mail]})
    ada = await puppet(office.driver, "ada", steps=[say("mail!"), {}], tools=["messaging", "mail"])
    await office.driver.space("studio", ["ada"])
    precheck = {"tool": "new_mail", "args": {"folder": folder}}
    task = await scheduled(office.driver, precheck=precheck)
    assert task["precheck"] == precheck
    await office.wait(hours=1)
    [run] = await office.driver.runs()
    assert (len(ada.shown) > 0) is woken
    journal = [entry["type"] for entry in await office.driver.journal(run["id"])]
    assert journal[:3] == ["user_message", "tool_call_message", "tool_return_message"]
    if woken:
        assert run["outcome"] == "spoke"
        assert any("Before you were woken, new_mail was asked" in text for text in told(ada.shown[0]))
    else:
        assert (run["stopReason"], run["outcome"], run["silenceReason"]) == ("not_needed", "silent", "precheck")
        assert run["usage"]["cost"] == 0
        assert await office.driver.texts("studio") == []
    assert await office.statuses(task) == ["fired"]


@pytest.mark.one_database
async def test_a_precheck_names_a_tool_that_the_agent_has(offices: Offices) -> None:
    """At the door and by the agent's own call; of one that the agent has lost since, the hour can still be changed."""
    office = await timed(offices, families={"mail": [new_mail]})
    driver, fly = office.driver, {"precheck": {"tool": "fly", "args": {}}}
    wish = {"prompt": "p", "scheduleType": "interval", "scheduleValue": "1h", **fly}
    await driver.agent("ada", steps=[step(call("schedule_task", **wish))], tools=["tasks", "mail"])
    await driver.space("studio", ["ada"])
    refused = await driver.create("/tasks", {"spaceId": "studio", **wish}, status=422)
    assert "fly" in refused["error"]["fields"]["precheck"]
    await driver.post("studio", "@ada schedule it")
    [told_so] = await driver.results((await driver.run_finished("ada"))["id"])
    assert "ada has no tool 'fly'" in told_so["error"]
    assert await driver.items("/tasks") == []
    task = await scheduled(driver, precheck={"tool": "new_mail", "args": {"folder": "empty"}})
    await driver.ask("PATCH", f"/tasks/{task['id']}", json=fly, status=422)
    await driver.ask("PATCH", "/agents/ada", json={"tools": ["tasks"]})
    moved = await driver.ask("PATCH", f"/tasks/{task['id']}", json={"scheduleValue": "2h"})
    assert (moved["scheduleValue"], moved["precheck"]["tool"]) == ("2h", "new_mail")


# ── money ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_tasks_cost_counts_for_the_task_and_its_creator(offices: Offices) -> None:
    office = await timed(offices)
    paid = [{**say("done"), "usage": {"cost": 0.4}}, {"usage": {"cost": 0.4}}]
    await office.driver.agent("ada", steps=paid)
    await office.driver.space("studio", ["ada"])
    task = await scheduled(office.driver)
    await office.driver.ask("PUT", "/budgets", json={"kind": "task", "subjectId": task["id"], "amount": 1})
    await office.wait(hours=1)
    [budget] = await office.driver.items("/budgets", kind="task")
    assert budget["spent"] == pytest.approx(0.8)
    [person] = [row for row in await office.driver.items("/usage", by="person") if row["id"] == office.driver.owner_id]
    assert person["cost"] == pytest.approx(0.8)
    await office.wait(hours=1)
    [budget] = await office.driver.items("/budgets", kind="task")
    assert (budget["reached"], budget["spent"] <= 1.21) == (True, True)
    await office.driver.post("studio", "@ada are you there?")
    await office.driver.event("run_finished", lambda e: e["run"]["trigger"]["kind"] == "message")
    assert (await office.driver.texts("studio"))[-1] == "done", "the budget of a task holds nobody else back"


async def test_costs_of_agents_woken_by_a_task_count_for_it(offices: Offices) -> None:
    office = await timed(offices)
    paid = [{**say("done"), "usage": {"cost": 0.4}}, {}]
    await office.driver.agent("ada", steps=[{**say("@bo please do it"), "usage": {"cost": 0.2}}, {}])
    await office.driver.agent("bo", steps=paid)
    await office.driver.space("studio", ["ada", "bo"])
    task = await scheduled(office.driver, agentId="ada")
    await office.driver.ask("PUT", "/budgets", json={"kind": "task", "subjectId": task["id"], "amount": 1})
    await office.wait(hours=1)
    await office.driver.run_finished("bo")
    [budget] = await office.driver.items("/budgets", kind="task")
    assert budget["spent"] == pytest.approx(0.6)
    await office.wait(hours=1)
    [budget] = await office.driver.items("/budgets", kind="task")
    assert (budget["reached"], budget["spent"]) == (True, pytest.approx(1.2))
    assert [run["status"] for run in await office.driver.runs(agentId="bo") if "pausedReason" in run] == ["thinking"]
    await office.driver.post("studio", "@bo and for me?")  # what the task has begun does not stand in others' way
    assert (await office.driver.run_finished("bo", nth=2))["stopReason"] == "max_cost"
    assert (await office.driver.run_finished("bo", nth=3))["outcome"] == "spoke"
    [budget] = await office.driver.items("/budgets", kind="task")
    assert budget["spent"] == pytest.approx(1.2)
