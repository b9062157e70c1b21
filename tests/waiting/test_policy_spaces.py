"""A policy for a space holds for calls from elsewhere that name the space, or something in it, and after leaving it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bullpen.storage import Transaction
from bullpen.toolbox import FAMILIES
from bullpen.tools import approvals, rows
from tests.driver import Driver
from tests.path.scripts import Json, call, step

SOON = {"scheduleType": "interval", "scheduleValue": "1h"}
SKILL = {"name": "standup", "description": "Stand up", "instructions": "Stand up."}
LATER: Json = {"prompt": "look", **SOON}


@dataclass(frozen=True)
class Case:
    """`args` get the ids of what lies in the other space. `first` are calls before it."""

    tool: str
    args: Callable[[Json], Json] = lambda ids: {}
    judged: str = "den"
    woken_in: str = "lab"
    first: tuple[Json, ...] = ()

    def __str__(self) -> str:
        steps = [*(made["tool"] for made in self.first), self.tool]
        return f"{'-'.join(steps)}-{'-'.join(self.args(dict.fromkeys(IDS, 'x')))}-{self.woken_in}"


IDS = ("message", "task", "dm", "file")
REGISTER: Json = {"jid": "tg:-1", "name": "New", "folder": "new-chat", "trigger": "@Andy"}
LEAVE = (call("leave_space"),)
MOVE = (call("enter_space", spaceId="lab"),)
CASES = [
    Case("send_message", lambda ids: {"text": "hi", "spaceId": "den"}),
    Case("send_message", lambda ids: {"text": "hi", "channelId": "den"}),
    Case("send_message", lambda ids: {"text": "hi", "spaceId": ids["dm"]}, judged="dm"),
    Case("react_to_message", lambda ids: {"messageId": ids["message"], "emoji": "👍"}),
    Case("read_messages", lambda ids: {"spaceId": "den"}),
    Case("read_messages", lambda ids: {"space_id": "den", "query": "planted"}),
    Case("read_file", lambda ids: {"file_id": ids["file"]}),
    Case("enter_space", lambda ids: {"spaceId": "den"}),
    Case("schedule_task", lambda ids: {**LATER, "targetGroup": "family"}, "family", "home"),
    Case("schedule_task", lambda ids: {**LATER, "targetGroup": "family-chat"}, "family", "home"),
    Case("pause_task", lambda ids: {"taskId": ids["task"]}, "family", "home"),
    Case("resume_task", lambda ids: {"taskId": ids["task"]}, "family", "home"),
    Case("cancel_task", lambda ids: {"taskId": ids["task"]}, "family", "home"),
    Case("list_tasks", judged="family", woken_in="home"),
    # What is the group's own stays so wherever the agent goes.
    Case("schedule_task", lambda ids: LATER, "home", "home", MOVE),
    Case("list_tasks", judged="home", woken_in="home", first=MOVE),
    Case("store_skill", lambda ids: SKILL, "home", "home", MOVE),
    Case("list_skills", judged="home", woken_in="home", first=MOVE),
    Case("delete_skill", lambda ids: {"name": "standup"}, "home", "home", MOVE),
    Case("register_group", lambda ids: REGISTER, "home", "home", MOVE),
    Case("list_groups", judged="home", woken_in="home", first=MOVE),
    Case("store_memory", lambda ids: {"content": "x"}, "family", "family", LEAVE),
    Case("update_memory", lambda ids: {"label": "a", "content": "x"}, "family", "family", LEAVE),
    Case("search_memory", lambda ids: {"query": "x"}, "family", "family", LEAVE),
    Case("pay", lambda ids: {"amount": 5}, "lab", "lab", LEAVE),
    Case("pay", lambda ids: {"amount": 5}, "lab", "lab", (call("enter_space", spaceId="den"),)),
]
# They act in the space the agent is in and have no way to name another.
HERE = {
    *("send_file", "write_file", "leave_space", "list_spaces", "do_nothing", "skip", "memory_save", "memory_search"),
    *("set_goals", "delete_goals", "set_memories", "delete_memories", "set_plans", "delete_plans", "get_plans"),
}
PAY: Json = {
    "name": "pay",
    "description": "Pay",
    "inputSchema": {"type": "object"},
    "executionType": "internal",
    "visible": False,
}


def test_every_shipped_tool_is_tried() -> None:
    shipped = {tool.name for tools in FAMILIES.values() for tool in tools}
    assert {case.tool for case in CASES} - {"pay"} | HERE == shipped


async def house(office: Driver) -> Json:
    """A channel, another, a DM, the main group and one more; Ada is in all of them. The ids of what lies in them."""
    await office.agent("ada", steps=[], tools=list(FAMILIES))
    await office.agent("bo", steps=[])
    await office.create("/tools", PAY)
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.space("den", ["ada"], wake={"people": "none", "agents": "none"})
    await office.space("home", ["ada"], kind="group", main=True, wake={"people": "all", "agents": "none"})
    await office.space("family", ["ada"], kind="group", folder="family-chat", wake={"people": "all", "agents": "none"})
    dm = await office.dm("ada", "bo")
    message = await office.post("den", "planted")
    task = await office.create("/tasks", {"agentId": "ada", "spaceId": "family", **LATER})
    turned = "dm-bo-ada" if dm["id"] == "dm-ada-bo" else "dm-ada-bo"
    planted = {"file": ("note.txt", b"planted")}
    file = await office.ask("POST", "/files", params={"spaceId": "den"}, files=planted)
    return {"message": message["id"], "task": task["id"], "dm": turned, "file": file["id"]}


async def decide(office: Driver, case: Case, decision: str, judged: str | None = None) -> None:
    space = judged or ("dm-ada-bo" if case.judged == "dm" else case.judged)
    body = {"agentId": "ada", "toolName": case.tool, "decision": decision, "spaceId": space}
    await office.ask("PUT", "/policies", json=body)


async def wake(office: Driver, case: Case, ids: Json) -> None:
    steps = [step(made) for made in (*case.first, call(case.tool, **case.args(ids)))]
    script = {"provider": "script", "turns": [{"steps": [*steps, step(text="")]}]}
    await office.ask("PATCH", "/agents/ada", json={"model": script, "tools": [*FAMILIES, "pay"]})
    await office.post(case.woken_in, "go")


@pytest.mark.proves("G10")
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.one_database
async def test_deny_for_a_space_holds_from_elsewhere(office: Driver, case: Case) -> None:
    ids = await house(office)
    await decide(office, case, "deny")
    await wake(office, case, ids)
    result = (await office.results((await office.run_finished("ada"))["id"]))[-1]
    assert f"may not use {case.tool}" in result["error"]


@pytest.mark.parametrize("case", [case for case in CASES if case.tool != "store_skill"], ids=str)
@pytest.mark.one_database
async def test_ask_for_a_space_holds_from_elsewhere(office: Driver, case: Case) -> None:
    ids = await house(office)
    await decide(office, case, "ask")
    await wake(office, case, ids)
    asked = (await office.event("tool.requires_action"))["call"]
    assert (asked["kind"], asked["toolName"]) == ("approval", case.tool)
    assert ("dm-ada-bo" if case.judged == "dm" else case.judged) in asked["metadata"]["spaces"]
    await office.create(f"/pending/{asked['callId']}/resolve", {"result": {"approved": True}}, status=200)
    result = (await office.results((await office.run_finished("ada"))["id"]))[-1]
    assert "may not use" not in str(result)
    assert await office.items("/pending") == []


async def approve(office: Driver, call_id: str, **more: Any) -> None:
    await office.create(f"/pending/{call_id}/resolve", {"result": {"approved": True, **more}}, status=200)


@pytest.mark.parametrize("case", CASES[:1], ids=str)
@pytest.mark.one_database
async def test_a_policy_elsewhere_does_not_reach_calls_here(office: Driver, case: Case) -> None:
    ids = await house(office)
    await decide(office, case, "deny")
    await decide(office, case, "deny", "family")
    await wake(office, Case("send_message", lambda ids: {"text": "hi"}), ids)
    result = (await office.results((await office.run_finished("ada"))["id"]))[-1]
    assert result["status"] == "sent"


async def test_the_strictest_of_two_spaces_counts(office: Driver) -> None:
    ids = await house(office)
    case = CASES[0]
    await decide(office, case, "allow", "den")
    await decide(office, case, "ask", "lab")
    await wake(office, case, ids)
    asked = (await office.event("tool.requires_action"))["call"]
    assert asked["metadata"]["spaces"] == ["den", "lab"]
    await decide(office, case, "deny", "den")
    await approve(office, asked["callId"])
    result = (await office.results((await office.run_finished("ada"))["id"]))[-1]
    assert "may not use send_message" in result["error"]


@pytest.mark.one_database
async def test_always_for_a_space_covers_all_that_the_call_touches(office: Driver) -> None:
    ids = await house(office)
    case = CASES[0]
    await decide(office, case, "ask")
    await wake(office, case, ids)
    asked = (await office.event("tool.requires_action"))["call"]
    await approve(office, asked["callId"], always="space")
    await office.run_finished("ada")
    await office.post("lab", "again")
    result = (await office.results((await office.run_finished("ada", nth=2))["id"]))[-1]
    assert result["status"] == "sent"


@pytest.mark.parametrize("name", ["a\u0000b", "dm-", "dm--", "x" * 100_000])
@pytest.mark.one_database
async def test_a_name_of_no_space_is_an_ordinary_error(office: Driver, name: str) -> None:
    ids = await house(office)
    case = Case("send_message", lambda ids: {"text": "hi", "spaceId": name})
    await decide(office, case, "ask", "den")
    await wake(office, case, ids)
    result = (await office.results((await office.run_finished("ada"))["id"]))[-1]
    assert "error" in result
    assert "failed inside" not in result["error"]


@pytest.mark.proves("G10")
async def test_an_approval_is_void_once_its_target_is_another_space(office: Driver) -> None:
    ids = await house(office)
    await office.space("work", ["ada"], kind="group", wake={"people": "all", "agents": "none"})
    case = Case("schedule_task", lambda ids: {**LATER, "targetGroup": "family-chat"}, "family", "home")
    await decide(office, case, "ask")
    await wake(office, case, ids)
    asked = (await office.event("tool.requires_action"))["call"]
    assert asked["metadata"]["spaces"] == ["family", "home"]
    await office.ask("PATCH", "/spaces/family", json={"folder": "old-chat"})
    await office.ask("PATCH", "/spaces/work", json={"folder": "family-chat"})
    before = await office.items("/tasks")
    await approve(office, asked["callId"])
    again = (await office.event("tool.requires_action", nth=2))["call"]
    assert again["metadata"]["spaces"] == ["home", "work"]
    assert again["hash"] != asked["hash"]
    assert await office.items("/tasks") == before
    await approve(office, again["callId"], hash=again["hash"])
    await office.run_finished("ada", nth=2)
    assert {task["spaceId"] for task in await office.items("/tasks")} == {"family", "work"}


@pytest.mark.one_database
async def test_changed_arguments_name_the_target_of_an_approved_call(office: Driver) -> None:
    ids = await house(office)
    case = CASES[0]
    await decide(office, case, "ask")
    await decide(office, case, "ask", "home")
    await wake(office, case, ids)
    asked = (await office.event("tool.requires_action"))["call"]
    await approve(office, asked["callId"], args={"text": "hi", "spaceId": "home"})
    await office.run_finished("ada")
    assert (await office.texts("home"), await office.texts("den")) == (["hi"], ["planted"])


async def test_an_approval_from_before_spaces_were_kept_is_asked_anew(office: Driver) -> None:
    ids = await house(office)
    await decide(office, CASES[0], "ask")
    await wake(office, CASES[0], ids)
    asked = (await office.event("tool.requires_action"))["call"]

    async def forget(tx: Transaction) -> None:
        waiting = await rows.lock_pending(tx, asked["callId"])
        assert waiting is not None
        old = replace(waiting, spaces=())
        await rows.move_pending(tx, waiting, replace(old, hash=approvals.hash_of("", old)))

    await office.office.store.transact(forget)
    await approve(office, asked["callId"])
    again = (await office.event("tool.requires_action", nth=2))["call"]
    assert again["metadata"]["spaces"] == ["den", "lab"]
    assert await office.texts("den") == ["planted"]
