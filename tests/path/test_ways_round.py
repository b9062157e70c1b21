"""Nobody gets more by a way round: what Pia may not have an agent of the main group do, she may not by any door.

Six things that only somebody who may register groups can have done, and two that members of the other group can, too,
through each way in which work goes on later, by somebody else, or with the help of what somebody else has said. Beside
them, the same asked for directly.

Of the doors that G6 names, two are not built yet: subagents, and MCP back into us. Another agent, a run of the owner's
that is joined and an approval are tried instead; whoever builds those two adds them to DOORS.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.driver import Api, Driver, Json
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step, turn

pytestmark = pytest.mark.one_database

GROUP = {"jid": "tg:-1", "name": "Mine", "folder": "mine", "trigger": "@Ada"}
LATER = {"prompt": "look", "scheduleType": "cron", "scheduleValue": "0 9 * * *"}
FETCH: Json = {
    "name": "fetch",
    "description": "Fetch something.",
    "inputSchema": {"type": "object", "properties": {}},
    "executionType": "external",
    "isAsync": True,
}
TOOLS = ["messaging", "memory", "tasks", "groups", "fetch"]
DEEDS: dict[str, Json] = {
    "register_group": GROUP,
    "schedule_task": {**LATER, "targetGroup": "work"},
    "list_tasks": {},
    "pause_task": {},
    "resume_task": {},
    "cancel_task": {},
    "read_messages": {"spaceId": "work"},
    "send_message": {"spaceId": "work", "text": "psst"},
}


@dataclass
class Main:
    """The main group, with the owner, Pia and Ada; and a group of the owner's, whose task is nobody else's business."""

    office: Driver
    pia: Api
    deed: str
    task: str

    @property
    def act(self) -> Json:
        names_it = self.deed in ("pause_task", "resume_task", "cancel_task")
        return step(call(self.deed, **({"taskId": self.task} if names_it else DEEDS[self.deed])))

    async def say(self, text: str, by: Api | None = None) -> None:
        await (by or self.pia).create("/spaces/home/messages", {"text": text})

    async def play(self, *turns: Json, agent: str = "ada", **more: Any) -> None:
        model = {"provider": "script", "turns": [*turns, turn("act", self.act)]}
        await self.office.ask("PATCH", f"/agents/{agent}", json={"model": model, **more})

    async def result(self, nth: int, agent: str = "ada") -> Any:
        """What came of the last call of the agent's n-th run."""
        return (await self.office.results((await self.office.run_finished(agent, nth=nth))["id"]))[-1]


async def main_group(office: Driver, deed: str) -> Main:
    id, pia = await office.person("Pia")
    await office.create("/tools", FETCH)
    for agent in ("ada", "bo"):
        # A result from a program is outside text, after which scheduling is asked for: that is not what is tried here.
        await office.agent(agent, steps=SILENT, tools=TOOLS, policy={"schedule_task": "allow"})
    await office.space("home", ["ada", id], kind="group", main=True, wake={"agents": "mention"})
    await office.space("work", ["ada", "bo"], kind="group", folder="work", private=True)
    task = await office.create("/tasks", {"spaceId": "work", "agentId": "ada", **LATER})
    if deed == "resume_task":
        await office.create(f"/tasks/{task['id']}/pause", {})
    return Main(office, pia, deed, task["id"])


# ── doors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def directly(main: Main) -> Any:
    await main.play()
    await main.say("act")
    return await main.result(1)


async def by_a_task(main: Main) -> Any:
    """Which the owner starts."""
    await main.play()
    body = {"spaceId": "home", **LATER, "prompt": "act", "agentId": "ada", "maySchedule": True}
    task = await main.pia.create("/tasks", body)
    await main.office.create(f"/tasks/{task['id']}/run", {})
    return await main.result(1)


async def by_a_result_that_comes_later(main: Main) -> Any:
    """From the owner."""
    await main.play({"kind": "tool_result", "steps": [main.act]}, turn("fetch", step(call("fetch"))))
    await main.say("fetch")
    await main.office.run_finished("ada")
    [waiting] = await main.office.items("/pending")
    await main.office.create(f"/pending/{waiting['callId']}/resolve", {"result": "Now act."})
    return await main.result(2)


async def by_what_the_agent_remembers(main: Main) -> Any:
    """Of what the owner has told it."""
    told = step(call("store_memory", content="Whoever asks, act."))
    await main.play(turn("remember", told), turn("recall", step(call("search_memory", query="act")), main.act))
    await main.say("remember", by=main.office)
    await main.office.run_finished("ada")
    await main.say("recall")
    return await main.result(2)


async def by_what_was_done_before(main: Main) -> Any:
    """For the owner: the model is shown a summary of it."""
    await main.play(turn("plan", say("I shall act as soon as somebody says so.")))
    await main.say("plan", by=main.office)
    await main.office.run_finished("ada")
    await main.say("so act")
    return await main.result(2)


async def by_another_agent(main: Main) -> Any:
    await main.office.create("/spaces/home/members", {"memberId": "bo"})
    await main.office.ask("PATCH", "/spaces/home", json={"wake": {"people": "mention", "agents": "mention"}})
    await main.play(turn("pass on", say("@bo act")))
    await main.play(agent="bo")
    await main.say("@ada pass on")
    return await main.result(1, "bo")


async def by_a_skill(main: Main) -> Any:
    """That the owner has stored."""
    await main.play({"kind": "skill", "steps": [main.act]})
    stored = {"description": "Does the deed.", "instructions": "Act."}
    await main.office.ask("PUT", "/spaces/home/skills/deed", json=stored)
    await main.say("/deed")
    return await main.result(1)


async def by_joining_a_run_of_the_owners(main: Main) -> Any:
    """That takes in what is said meanwhile, and acts then."""
    ada = await puppet(main.office, "cy", [turn("act", main.act), turn("wait", *SILENT)], tools=TOOLS, held=True)
    await main.office.ask("PATCH", "/agents/cy", json={"onNewMessage": "steer"})
    await main.office.create("/spaces/home/members", {"memberId": "cy"})
    await main.office.ask("DELETE", "/spaces/home/members/ada")
    await main.say("wait", by=main.office)
    await ada.asked(1)
    await main.say("act")
    ada.release()
    return await main.result(2, "cy")


async def by_an_approval(main: Main) -> Any:
    """Of the owner's: it says that the call may be made, not with whose rights."""
    await main.play(policy={main.deed: "ask"})
    await main.say("act")

    async def asked_or_over() -> bool:
        over = [run for run in await main.office.runs() if run["status"] == "completed"]
        return bool(over or await main.office.items("/pending"))

    await main.office.until(asked_or_over)
    for waiting in await main.office.items("/pending"):
        await main.office.create(f"/pending/{waiting['callId']}/resolve", {"result": {"approved": True}})
    return await main.result(1)


Door = Callable[[Main], Awaitable[Any]]
DOORS: tuple[Door, ...] = (
    by_a_task,
    by_a_skill,
    by_a_result_that_comes_later,
    by_what_the_agent_remembers,
    by_what_was_done_before,
    by_another_agent,
    by_joining_a_run_of_the_owners,
    by_an_approval,
)


async def check_denied(main: Main, result: Any) -> None:
    office = main.office
    match main.deed:
        case "register_group":
            assert result["error"].startswith("Denied:"), result
        case "schedule_task":
            # By a task that may not schedule it is denied; else it is for the own group.
            assert "error" in result or (result["spaceId"], "ignored" in result["note"]) == ("home", True), result
        case "list_tasks":
            assert "work" not in {task["spaceId"] for task in result["tasks"]}
        case "read_messages" | "send_message":
            assert "You are not a member of a space 'work'" in result["error"], result
        case _:
            assert "There is no task" in result["error"], result
    assert await office.texts("work") == []
    assert {space["id"] for space in await office.items("/spaces")} == {"home", "work"}
    [task] = await office.items("/tasks", spaceId="work")
    assert (task["id"], task["status"]) == (main.task, "paused" if main.deed == "resume_task" else "active")


@pytest.mark.proves("G5")
@pytest.mark.parametrize("deed", DEEDS)
async def test_a_member_cannot_get_it_done_by_asking_directly(office: Driver, deed: str) -> None:
    main = await main_group(office, deed)
    await check_denied(main, await directly(main))


@pytest.mark.proves("G6")
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("door", DOORS)
async def test_a_member_cannot_get_it_done_indirectly(office: Driver, door: Door, deed: str) -> None:
    main = await main_group(office, deed)
    await check_denied(main, await door(main))


@pytest.mark.parametrize("deed", DEEDS)
async def test_an_owner_gets_it_done_with_the_same_words(office: Driver, deed: str) -> None:
    """So that what is denied above is denied for want of the right, and nothing else."""
    main = await main_group(office, deed)
    await main.play()
    await main.say("act", by=office)
    result = await main.result(1)
    assert "error" not in result
    if deed == "register_group":
        assert await office.get("/spaces/mine")
    elif deed == "list_tasks":
        assert {task["spaceId"] for task in result["tasks"]} == {"work"}
    else:
        assert (result.get("spaceId", "work"), "note" in result) == ("work", False)
