"""Whose tasks an agent sees and makes: those of its own group, and in the main group those of all."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.driver import Api, Driver, Json

CRON = {"prompt": "brief us", "scheduleType": "cron", "scheduleValue": "0 9 * * *"}
MADE = {"agentId": "ada", "prompt": "look", "scheduleType": "interval", "scheduleValue": "1h"}


class Groups:
    """Ada in a main group and in two others; she does what she is told as JSON."""

    def __init__(self, office: Driver, pia: Api) -> None:
        self.office = office
        self.pia = pia
        self._runs = 0

    async def ask(self, space: str, what: str, by: Api | None = None) -> Any:
        """What came of the one call that Ada makes when somebody says this word."""
        await (by or self.office).create(f"/spaces/{space}/messages", {"text": f"@ada {what}"})
        self._runs += 1
        run = await self.office.run_finished("ada", nth=self._runs)
        [result] = await self.office.results(run["id"])
        return result


@pytest.fixture
async def groups(office: Driver) -> Groups:
    id, pia = await office.person("Pia")
    turns: list[Json] = []
    await office.agent("ada", steps=[], tools=["messaging", "tasks"])
    for name, main in (("home", True), ("family", False), ("work", False)):
        await office.space(
            name, ["ada", id], kind="group", main=main, folder=f"{name}-chat", wake={"people": "all"}, private=True
        )
        task = await office.create("/tasks", {"spaceId": name, **MADE})
        for tool in ("pause_task", "resume_task", "cancel_task"):
            call = {"tool": tool, "args": {"taskId": task["id"]}}
            turns.append({"when": f"{tool} {name}", "steps": [{"calls": [call]}, {}]})
    for name, args in {"list_tasks": {}, "schedule_task": {**CRON, "targetGroup": "work-chat"}}.items():
        turns.append({"when": name, "steps": [{"calls": [{"tool": name, "args": args}]}, {}]})
    await office.ask("PATCH", "/agents/ada", json={"model": {"provider": "script", "turns": turns}})
    return Groups(office, pia)


@pytest.mark.proves("S2-06", "S2-34", "G2")
async def test_a_group_scheduling_for_another_gets_its_own_task_instead(groups: Groups) -> None:
    made = await groups.ask("family", "schedule_task")
    assert made["spaceId"] == "family"
    assert "ignored" in made["note"]


@pytest.mark.proves("S2-05", "S2-34")
async def test_the_main_group_schedules_for_others(groups: Groups) -> None:
    made = await groups.ask("home", "schedule_task")
    assert made["spaceId"] == "work"
    assert "note" not in made


@pytest.mark.proves("S2-05", "S2-06", "S2-36")
async def test_a_group_lists_its_tasks_and_the_main_group_all(groups: Groups) -> None:
    own = await groups.ask("family", "list_tasks")
    assert [task["spaceId"] for task in own["tasks"]] == ["family"]
    all_of_them = await groups.ask("home", "list_tasks")
    assert {task["spaceId"] for task in all_of_them["tasks"]} == {"home", "family", "work"}


async def test_a_list_that_is_cut_off_says_so(groups: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "more" not in await groups.ask("home", "list_tasks")
    monkeypatch.setattr(sys.modules["bullpen.toolbox.tasks.list_tasks"], "MOST", 2)
    cut = await groups.ask("home", "list_tasks")
    assert (len(cut["tasks"]), cut["more"]) == (2, True)


@pytest.mark.proves("S2-06", "G3")
@pytest.mark.parametrize("tool", ["pause_task", "resume_task", "cancel_task"])
@pytest.mark.one_database
async def test_another_groups_task_cannot_be_found(groups: Groups, tool: str) -> None:
    refused = await groups.ask("family", f"{tool} work")
    assert "There is no task" in refused["error"]
    assert {task["status"] for task in await groups.office.items("/tasks", limit=50)} == {"active"}


@pytest.mark.proves("S2-37", "S2-38", "S2-39")
async def test_a_group_manages_its_tasks_and_the_main_group_all(groups: Groups) -> None:
    for space, whose in (("family", "family"), ("home", "work")):
        assert (await groups.ask(space, f"pause_task {whose}"))["status"] == "paused"
        resumed = await groups.ask(space, f"resume_task {whose}")
        assert (resumed["status"], len(resumed["nextRuns"])) == ("active", 5)
        assert (await groups.ask(space, f"cancel_task {whose}"))["status"] == "cancelled"
        assert await groups.office.items("/tasks", spaceId=whose) == []


@pytest.mark.proves("G5")
async def test_a_member_in_the_main_group_manages_only_its_tasks(groups: Groups) -> None:
    made = await groups.ask("home", "schedule_task", by=groups.pia)
    assert (made["spaceId"], "ignored" in made["note"]) == ("home", True)
    found = await groups.ask("home", "list_tasks", by=groups.pia)
    assert {task["spaceId"] for task in found["tasks"]} == {"home"}
    assert "There is no task" in (await groups.ask("home", "cancel_task work", by=groups.pia))["error"]
