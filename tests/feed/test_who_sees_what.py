"""What is private to a space reaches no outsider by event: every type, every role, and memberships that change.

The roles: the owner, a member, a person who is not one, the agent itself, another agent, and a token that may only
answer tool calls.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack

import pytest

from bullpen.wire.events import AgentTyping
from tests import effort
from tests.driver import Api
from tests.feed.actions import ACTIONS
from tests.feed.streams import Stream, following
from tests.feed.worlds import World

# What each event may hold, in all; a field that is new has to be looked at here, too.
ENVELOPE = {"type", "at", "spaceId", "agentId", "runId"}
NOUN = {
    "message_created": "message",
    "message_updated": "message",
    "message_deleted": "message",
    "reaction_added": "reaction",
    "reaction_removed": "reaction",
    "message_pinned": "pin",
    "message_unpinned": "pin",
    "member_joined": "member",
    "member_left": "member",
    "space_created": "space",
    "space_updated": "space",
    "agent_created": "agent",
    "agent_updated": "agent",
    "agent_deleted": "",
    "agents_paused": "agents",
    "agents_resumed": "agents",
    "run_started": "run",
    "run_waiting": "run",
    "run_paused": "run",
    "run_resumed": "run",
    "run_finished": "run",
    "tool.started": "call",
    "tool.done": "call",
    "tool.error": "call",
    "tool.requires_action": "call",
    "pending_resolved": "call",
    "task_created": "task",
    "task_updated": "task",
    "task_deleted": "task",
    "task_fired": "task",
    "block_updated": "block",
    "passage_stored": "passage",
    "goal_updated": "goal",
    "plan_fired": "plan",
    "skill_created": "skill",
    "skill_updated": "skill",
    "skill_deleted": "skill",
    "chain_stopped": "chain",
    "budget_warned": "budget",
    "budget_reached": "budget",
    "space_erased": "",
    "access_changed": "access",
}
MESSAGE = (
    "id spaceId seq authorId authorKind type text status replyTo attachments reactions metadata clientMessageId runId "
    "depth createdAt editedAt deletedAt"
)
SPACE = (
    "id kind name private members memberDetails wake trigger main folder provider model timezone bridge lastSeq "
    "readSeq unread mentions createdBy createdAt"
)
AGENT = (
    "id name description instructions model tools scope autoEnter limits onUnsentText onNewMessage variables policy "
    "memory avatar state pausedAt pausedReason waitingFor costToday createdAt updatedAt"
)
RUN = (
    "id agentId threadId spaceId trigger depth status outcome stopReason silenceReason messageIds outside usage error "
    "retryAt pausedReason startedAt finishedAt"
)
CALL = (
    "callId toolName args result kind agentId runId spaceId status answeredBy deliveredVia createdAt expiresAt "
    "progress metadata"
)
BUDGET = (
    "id kind subjectId period unit amount extra spent reached warnedAt reachedAt origin createdBy createdAt updatedAt"
)
TASK = (
    "id spaceId agentId prompt scheduleType scheduleValue timezone contextMode missed precheck maySchedule status "
    "reason nextRun nextRuns lastRun failures onBehalfOf createdBy createdAt updatedAt firing"
)
SKILL = (
    "id spaceId name description instructions parameters agentId status writtenBy approvedBy hash outside proposal "
    "undoable createdAt updatedAt"
)
GOAL = "id agentId description status priority spaceId outside createdAt updatedAt deleted"
PLAN = (
    "id agentId name instruction scheduledAt cron timezone status reason nextRun nextRuns lastRun failures spaceId "
    "stays onBehalfOf createdBy outside createdAt updatedAt firing"
)
FIELDS = {
    "block": {"label", "version", "by", "deleted", "characters", "limit"},
    "passage": {"id", "spaceId", "supersedes"},
    "goal": set(GOAL.split()),
    "plan": set(PLAN.split()),
    "task": set(TASK.split()),
    "skill": set(SKILL.split()),
    "message": set(MESSAGE.split()),
    "reaction": {"messageId", "memberId", "emoji"},
    "pin": {"messageId", "memberId"},
    "member": {"id", "kind", "name", "joinedAt"},
    "space": set(SPACE.split()),
    "agent": set(AGENT.split()),
    "agents": {"pausedAt"},
    "run": set(RUN.split()),
    "call": set(CALL.split()),
    "chain": {"id", "depth", "messageId"},
    "budget": set(BUDGET.split()),
    "access": {"holderId", "credential", "butFor"},
}
SECRET = "quite secret"
RACES = 200


async def live_a_day(world: World) -> None:
    """Everything there is to tell, in `team`, in `ring`, and about agents. Each text that could leak says so."""
    office, pia = world.office, world["pia"]
    await office.ask("PATCH", "/spaces/team", json={"name": f"{SECRET} name", "trigger": f"{SECRET} trigger"})
    mine = await pia.create("/spaces/team/messages", {"text": f"{SECRET} text"})
    await pia.ask("PATCH", f"/messages/{mine['id']}", json={"text": f"{SECRET} edit"})
    await office.create(f"/messages/{mine['id']}/reactions", {"emoji": f"{SECRET} emoji"})
    await office.ask("DELETE", f"/messages/{mine['id']}/reactions/{SECRET} emoji")
    await pia.ask("PUT", f"/messages/{mine['id']}/pin")
    await pia.ask("DELETE", f"/messages/{mine['id']}/pin")
    await pia.ask("DELETE", f"/messages/{mine['id']}")
    await office.create("/spaces/team/members", {"memberId": "ping"})
    await office.ask("DELETE", "/spaces/team/members/ping")
    await office.create("/spaces", {"id": "vault", "name": f"{SECRET} vault", "private": True, "members": ["psn_pia"]})
    for number, what in enumerate(("speak", "use tools", "err", "show", "skip this"), 1):
        await world.ask_ada(f"{what}, it is {SECRET}", nth=number)
    for where in ({}, {"spaceId": "team"}):
        await office.ask("PUT", "/agents/ada/blocks/mood", params=where, json={"content": SECRET})
    asked, _ = await world.open_call(f"ask us, it is {SECRET}"), await world.open_call()
    await pia.create(f"/pending/{asked['callId']}/resolve", {"result": f"{SECRET} answer"}, status=200)
    hourly = {"spaceId": "team", "agentId": "ada", "prompt": SECRET, "scheduleType": "interval", "scheduleValue": "1h"}
    task = f"/tasks/{(await office.create('/tasks', hourly))['id']}"
    await office.create(f"{task}/run", {})
    await office.create(f"{task}/pause", {})
    await office.ask("DELETE", task)
    skill = {"description": SECRET, "instructions": SECRET, "parameters": SECRET}
    await office.ask("PUT", "/spaces/team/skills/standup", json=skill)
    await world["ada"].ask("PUT", "/spaces/team/skills/standup", json={**skill, "instructions": f"{SECRET} more"})
    await office.ask("DELETE", "/spaces/team/skills/standup")
    await office.agent("newt", steps=[], instructions=f"{SECRET} instructions", scope="agent")
    await office.ask("PUT", "/agents/newt/goals", json={"goals": [{"description": SECRET}]}, status=200)
    soon = {"name": SECRET, "instruction": SECRET, "runAfter": "1 second"}
    await office.ask("PUT", "/agents/newt/plans", json={"plans": [soon]}, status=200)
    await office.ask("PATCH", "/agents/newt", json={"instructions": f"{SECRET} indeed"})
    paid = [{"calls": [{"tool": "read_messages", "args": {}}], "usage": {"cost": 0.9}}] * 3
    await office.agent("payer", steps=paid, limits={"maxCostPerDay": 1})
    await office.create("/agents/payer/trigger", {"serviceName": SECRET, "payload": {}})
    await office.event("run_paused")
    await office.create("/agents/payer/resume", {})
    await office.agent("lost", steps=[{"awaySeconds": 3000}])
    await office.create("/agents/lost/trigger", {"serviceName": SECRET, "payload": {}})
    await office.event("run_waiting")
    await office.ask("DELETE", "/agents/lost")
    await office.ask("DELETE", "/agents/payer")
    await office.event("plan_fired")
    await office.ask("DELETE", "/agents/newt")
    await office.ask("POST", "/spaces", json={"id": "attic", "name": f"{SECRET} attic"})
    await office.ask("DELETE", "/spaces/attic")
    zoe, _ = await office.person("Zoe")
    await office.ask("PATCH", f"/people/{zoe}", json={"disabled": True})
    await office.create("/agents/pause", {})
    await office.create("/agents/resume", {})
    await office.post("ring", f"@ping {SECRET} round")
    await office.event("chain_stopped")
    await office.idle()


async def roles(world: World) -> dict[str, Api]:
    made = await world.office.create("/tokens", {"name": "sdk", "agentId": "ada", "tools": ["callDesk"]})
    owned = await world.office.create("/tokens", {"name": "sdk", "tools": ["callDesk"]})
    return {
        "owner": world.office,
        "member": world["pia"],
        "outsider": world["otto"],
        "the agent": world["ada"],
        "another agent": await world.office.as_agent("pong"),
        "a tools token of the agent": Api(world.office.office, made["token"]),
        "a tools token of the owner": Api(world.office.office, owned["token"]),
    }


def tally(stream: Stream) -> dict[str, set[str]]:
    """Where each type of event was seen from."""
    found = defaultdict(set)
    for event in stream.events:
        found[event["type"]].add(event.get("spaceId", "-"))
    return dict(found)


@pytest.mark.one_database
@pytest.mark.proves("M8", "I12")
async def test_events_tell_each_role_only_what_it_may_know(world: World) -> None:
    callers = await roles(world)
    async with AsyncExitStack() as stack:
        streams = {
            name: await stack.enter_async_context(following(world.office, caller)) for name, caller in callers.items()
        }
        await live_a_day(world)
        await world.office.post("lobby", "end")
        for name in ("owner", "member", "outsider", "the agent"):
            await streams[name].until_text("end")

        seen = {name: tally(stream) for name, stream in streams.items()}
        # Everybody hears that nobody is going to answer. Outsiders: that, the lobby, and nothing from anywhere else.
        everybody = {"agents_paused": {"-"}, "agents_resumed": {"-"}}
        assert seen["outsider"] == {"message_created": {"lobby"}, **everybody}
        for name in ("outsider", "a tools token of the agent", "a tools token of the owner"):
            assert SECRET.encode() not in streams[name].body, name
        for name in ("a tools token of the agent", "a tools token of the owner"):
            assert {event["call"]["toolName"] for event in streams[name].events} == {"callDesk"}, name
            assert set(seen[name]) == {"tool.started", "tool.requires_action"}  # nobody has answered it
        # Another agent: the ring it is in, its own DM, and its own calls.
        everywhere = {space_id for spaces in seen["another agent"].values() for space_id in spaces}
        assert everywhere <= {"ring", "dm-ping-pong", "-"}
        calls = [event for event in streams["another agent"].events if event["type"].startswith("tool.")]
        assert {event["agentId"] for event in calls} == {"pong"}
        # A member: everything of its spaces, but of calls only those that are visible.
        shown = [event["call"]["toolName"] for event in streams["member"].events if "call" in event]
        assert set(shown) == {"show_clock", "show_chart", "askUs"}
        hidden = {"agent_created", "agent_updated", "agent_deleted", "block_updated", "tool.error"}
        assert not hidden & set(seen["member"])
        assert {"team", "vault", "ring", "lobby", "-"} == set().union(*seen["member"].values())
        # The agent: its own calls, wherever it is; other agents' calls not.
        calls = [event for event in streams["the agent"].events if "call" in event]
        assert {event["agentId"] for event in calls} == {"ada"}
        assert {"send_message", "store_memory", "no_such_tool"} <= {event["call"]["toolName"] for event in calls}
        assert "vault" not in set().union(*seen["the agent"].values())
        # Its blocks: for itself and for owners, wherever they are kept.
        told = {name for name, types in seen.items() if "block_updated" in types}
        assert told == {"owner", "the agent"}
        assert seen["the agent"]["block_updated"] == seen["owner"]["block_updated"] == {"-", "team"}
        # The owner: all of it; every type that there is to tell.
        assert set(NOUN) <= set(seen["owner"])
        for stream in streams.values():
            check_fields(stream)


def check_fields(stream: Stream) -> None:
    for event in stream.stored:
        noun = NOUN[event["type"]]
        assert set(event) - ENVELOPE == ({noun} if noun else set()), event
        if noun:
            assert set(event[noun]) <= FIELDS[noun], event
        if noun == "space":
            told = event["space"]
            assert (told["readSeq"], told["unread"], told["mentions"]) == (0, 0, 0), "how far one has read is one's own"


@pytest.mark.one_database
@pytest.mark.proves("M8")
async def test_an_owner_hears_nothing_from_other_peoples_private_spaces(world: World) -> None:
    async with following(world.office) as owner, following(world.office, world["ada"]) as agent:
        await world["pia"].create("/spaces/den/messages", {"text": f"@ada speak, {SECRET}"})
        await agent.until_type("run_finished")
        await world["pia"].ask("PATCH", "/spaces/den", json={"name": f"{SECRET} den"})
        await agent.until_type("space_updated")
        await world["pia"].create("/spaces", {"kind": "dm", "members": ["psn_pia", "psn_otto"]})
        await world.office.post("lobby", "end")
        await owner.until_text("end")
        assert [event["type"] for event in owner.events] == ["message_created"]
        assert SECRET.encode() not in owner.body


# ── memberships that change under an open stream ────────────────────────────────────────────────────────────────────


def said(stream: Stream, space_id: str) -> list[str]:
    return [e["message"]["text"] for e in stream.stored if "message" in e and e["spaceId"] == space_id]


def changes(stream: Stream) -> list[tuple[str, str]]:
    return [(event["type"], event["member"]["id"]) for event in stream.stored if "member" in event]


@pytest.mark.proves("M8")
@pytest.mark.parametrize("name", ["pia", "ada"])
async def test_whoever_is_removed_hears_that_and_then_nothing_more(world: World, name: str) -> None:
    member_id = {"pia": "psn_pia", "ada": "ada"}[name]
    async with (
        following(world.office, world[name]) as stream,
        following(world.office, world[name], space_id="team") as only_there,
    ):
        await world.office.post("team", "while you are here")
        await world.office.ask("DELETE", f"/spaces/team/members/{member_id}")
        await world.office.post("team", "now that you are gone")
        await world.office.create("/spaces/team/members", {"memberId": "pong"})
        # What is only shown live is not stored, so it has no place before or after the removal until they hear of that.
        await stream.until_type("member_left")
        await only_there.until_type("member_left")
        feed = world.office.office.feed
        feed.publish(AgentTyping(space_id="team", agent_id="pong", run_id="run_x"))
        await world.office.post("lobby", "end")
        await stream.until_text("end")
        for each in (stream, only_there):
            assert said(each, "team") == ["while you are here"]
            assert changes(each) == [("member_left", member_id)]
            assert not [event for event in each.events if event["type"] == "agent_typing"]


@pytest.mark.proves("M8")
async def test_whoever_is_added_hears_what_follows(world: World) -> None:
    async with following(world.office, world["otto"]) as stream, following(world.office) as owner:
        await world.office.post("team", "without you")
        await owner.until_text("without you")
        await world.office.create("/spaces/team/members", {"memberId": "psn_otto"})
        await world.office.post("team", "with you")
        feed = world.office.office.feed
        await stream.until_text("with you")
        feed.publish(AgentTyping(space_id="team", agent_id="ada", run_id="run_x"))
        await stream.until_type("agent_typing")
        assert said(stream, "team") == ["with you"]
        assert changes(stream) == [("member_joined", "psn_otto")]


@pytest.mark.proves("M8")
async def test_a_member_removed_while_away_hears_only_of_the_removal(world: World) -> None:
    async with following(world.office, world["pia"]) as stream:
        cursor = (await stream.headers)["last-event-id"]
    await world.office.post("team", f"{SECRET} plan")
    await world.office.ask("DELETE", "/spaces/team/members/psn_pia")
    await world.office.post("team", f"{SECRET} party")
    async with following(world.office, world["pia"], last_id=cursor) as back:
        await world.office.post("lobby", "end")
        await back.until_text("end")
        assert changes(back) == [("member_left", "psn_pia")]
        assert SECRET.encode() not in back.body


@pytest.mark.proves("M8")
async def test_removal_while_a_stream_opens_lets_no_later_message_through(world: World) -> None:
    """However the two race: nothing said after the removal is heard."""
    for round in range(effort.count(RACES, sample=5)):
        stream = Stream(world["pia"], None, {})
        await asyncio.gather(stream.open(), world.office.ask("DELETE", "/spaces/team/members/psn_pia"))
        await world.office.post("team", f"after {round}")
        await world.office.post("lobby", f"end {round}")
        await stream.until_text(f"end {round}")
        assert said(stream, "team") == []
        await stream.close()
        await world.office.create("/spaces/team/members", {"memberId": "psn_pia"})


def test_every_event_that_is_told_has_its_fields_listed() -> None:
    told: set[str] = set().union(*(action.tells for action in ACTIONS))
    assert told == set(NOUN)
