"""What a client knows: fetched whole, or kept up to date by events. The reducer is all that a client would need.

`apply` is pure, and may be given events that the snapshot has seen already: a client opens its stream first and fetches
then, so the two overlap. An event is believed only in what it tells of: `space_updated` says nothing of who joined, and
`message_updated` nothing of reactions, since those have events of their own which may come from another transaction.

Not followed, but fetched when it is opened: public spaces that one has not joined, and (but for owners) the list of
agents. Both are a directory, the same for everybody, and nothing in it is private.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from tests.driver import Api, Json

# What `space_updated` and `space_created` tell of. The rest is counted, or has events of its own.
SPACE_FIELDS = ("id", "kind", "name", "private", "wake", "main", "createdAt")
SPACE_OPTIONS = ("trigger", "folder", "provider", "model", "timezone", "bridge")


@dataclass(slots=True)
class Known:
    """One caller's view. `to_load`: spaces that came into view whole, which a client fetches when it is told."""

    me: Json
    spaces: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, Json] = field(default_factory=dict)
    agents: dict[str, Json] = field(default_factory=dict)
    runs: dict[str, Json] = field(default_factory=dict)
    calls: dict[str, Json] = field(default_factory=dict)  # those that wait for somebody
    tasks: dict[str, Json] = field(default_factory=dict)
    skills: dict[str, Json] = field(default_factory=dict)
    paused_at: str | None = None  # since when all agents are paused
    to_load: set[str] = field(default_factory=set)

    @property
    def is_owner(self) -> bool:
        return "owner" in self.me["grants"]

    def reads(self, space: Json) -> bool:
        """The rule of access: members; and owners, what is public or has no people."""
        if self.me["id"] in space["members"]:
            return True
        people = [member for member in space["memberDetails"] if member["kind"] == "person"]
        return self.is_owner and (not people or (not space["private"] and space["kind"] != "dm"))


# ── fetching ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def fetch(caller: Api) -> Known:
    known = Known(me=await caller.get("/me"))
    for space in await _all(caller, "/spaces"):
        if known.reads(space):
            known.spaces[space["id"]] = space
            await _fetch_messages(caller, known, space["id"])
    known.paused_at = (await caller.get("/agents")).get("pausedAt")
    for agent in await _all(caller, "/agents"):
        if known.is_owner or agent["id"] == known.me["id"]:
            known.agents[agent["id"]] = agent
    known.runs = {run["id"]: run for run in await _all(caller, "/runs")}
    await _fetch_calls(caller, known)
    known.tasks = {task["id"]: task for task in await _all(caller, "/tasks", status="all")}
    known.skills = {skill["id"]: skill for skill in await _all(caller, "/skills")}
    return known


async def load(caller: Api, known: Known) -> None:
    """Fetch what events only named."""
    for space_id in known.to_load:
        known.spaces[space_id] = await caller.get(f"/spaces/{space_id}")
        await _fetch_messages(caller, known, space_id)
        known.runs |= {run["id"]: run for run in await _all(caller, "/runs", spaceId=space_id)}
        await _fetch_calls(caller, known)
        known.tasks |= {task["id"]: task for task in await _all(caller, "/tasks", status="all", spaceId=space_id)}
        known.skills |= {skill["id"]: skill for skill in await _all(caller, "/skills", spaceId=space_id)}
    known.to_load.clear()


async def _fetch_calls(caller: Api, known: Known) -> None:
    known.calls |= {call["callId"]: call for call in await _all(caller, "/pending")}


async def _fetch_messages(caller: Api, known: Known, space_id: str) -> None:
    after = "0"
    while True:
        page = await caller.get(f"/spaces/{space_id}/messages", params={"after": after, "limit": 200})
        known.messages |= {message["id"]: message for message in page["items"]}
        if "next" not in page:
            return
        after = page["next"]


async def _all(caller: Api, path: str, **params: str) -> list[Json]:
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = await caller.get(path, params={"limit": 200, **params, **cursor})
        found += page["items"]
        if "next" not in page:
            return found
        cursor = {"cursor": page["next"]}


# ── following ───────────────────────────────────────────────────────────────────────────────────────────────────────


def apply(before: Known, events: list[Json]) -> Known:
    """What is known after these events. Live-only ones change nothing that can be fetched."""
    known = copy.deepcopy(before)
    for event in events:
        _apply_one(known, event)
    return known


def _apply_one(known: Known, event: Json) -> None:
    space_id: str = event.get("spaceId", "")
    match event["type"]:
        case "space_created":
            known.spaces.setdefault(space_id, {**event["space"], "members": [], "memberDetails": []})
        case "space_updated" if space_id in known.spaces:
            _update_space(known.spaces[space_id], event["space"])
        case "member_joined" if space_id in known.spaces:
            _seat(known.spaces[space_id], event["member"]["id"], [event["member"]])
        case "member_left" if space_id in known.spaces:
            _seat(known.spaces[space_id], event["member"]["id"], [])
        case "message_created" if space_id in known.spaces:
            known.messages[event["message"]["id"]] = event["message"]
            _count(known, known.spaces[space_id], event["message"])
        case "message_updated" | "message_deleted" if event["message"]["id"] in known.messages:
            _change_message(known.messages, event)
        case "reaction_added" | "reaction_removed" if event["reaction"]["messageId"] in known.messages:
            _react(known.messages[event["reaction"]["messageId"]], event)
        case "agent_created" | "agent_updated":
            known.agents[event["agentId"]] = event["agent"]
        case "agent_deleted":
            known.agents.pop(event["agentId"], None)
        case "agents_paused":
            known.paused_at = event["agents"]["pausedAt"]
        case "agents_resumed":
            known.paused_at = None
        case "run_started" | "run_waiting" | "run_paused" | "run_resumed" | "run_finished":
            known.runs[event["runId"]] = event["run"]
        case "task_created" | "task_updated" | "task_fired":
            known.tasks[event["task"]["id"]] = {name: v for name, v in event["task"].items() if name != "firing"}
        case "task_deleted":
            known.tasks.pop(event["task"]["id"], None)
        case "skill_created" | "skill_updated":
            known.skills[event["skill"]["id"]] = event["skill"]
        case "skill_deleted":
            known.skills.pop(event["skill"]["id"], None)
        case "tool.requires_action":
            known.calls[event["call"]["callId"]] = event["call"]
        case "pending_resolved":
            known.calls.pop(event["call"]["callId"], None)
        case _ if space_id and space_id not in known.spaces and event["type"] in _SAYS_READABLE:
            known.to_load.add(space_id)
    if space_id:
        _look(known, space_id, event)


_SAYS_READABLE = frozenset(
    {"space_updated", "member_joined", "message_created", "message_updated", "message_deleted", "member_left"}
)


def _look(known: Known, space_id: str, event: Json) -> None:
    """Out of a space: nothing of it is kept, but an agent still sees its own runs."""
    mine = known.me["id"]
    erased = event["type"] == "space_erased"
    left = erased or (event["type"] == "member_left" and event["member"]["id"] == mine)
    space = known.spaces.get(space_id)
    # Members join a new space one by one: only owners, who read without joining, can lose sight meanwhile.
    may_lose = left or (known.is_owner and event["type"] != "space_created")
    if may_lose and (erased or space is None or not known.reads(space)):
        known.spaces.pop(space_id, None)
        known.messages = {id: m for id, m in known.messages.items() if m["spaceId"] != space_id}
        known.runs = {id: r for id, r in known.runs.items() if r.get("spaceId") != space_id or r["agentId"] == mine}
        known.calls = {id: c for id, c in known.calls.items() if c.get("spaceId") != space_id or c["agentId"] == mine}
        known.tasks = {id: task for id, task in known.tasks.items() if task["spaceId"] != space_id}
        known.skills = {id: skill for id, skill in known.skills.items() if skill["spaceId"] != space_id}
    if left:
        known.to_load.discard(space_id)


def _update_space(space: Json, told: Json) -> None:
    space.update({name: told[name] for name in SPACE_FIELDS})
    for name in SPACE_OPTIONS:
        space.pop(name, None)
        if name in told:
            space[name] = told[name]
    names = {member["id"]: member["name"] for member in told["memberDetails"]}
    for member in space["memberDetails"]:
        member["name"] = names.get(member["id"], member["name"])


def _seat(space: Json, member_id: str, now: list[Json]) -> None:
    others = [member for member in space["memberDetails"] if member["id"] != member_id]
    space["memberDetails"] = sorted([*others, *now], key=lambda member: str(member["joinedAt"]))
    space["members"] = [member["id"] for member in space["memberDetails"]]


def _count(known: Known, space: Json, message: Json) -> None:
    space["lastSeq"] = max(space["lastSeq"], message["seq"])
    # Whoever posts has read up to there.
    if message["authorId"] == known.me["id"]:
        space["readSeq"] = max(space["readSeq"], message["seq"])


def _change_message(messages: dict[str, Json], event: Json) -> None:
    message = event["message"]
    reactions = [] if event["type"] == "message_deleted" else messages[message["id"]]["reactions"]
    messages[message["id"]] = {**message, "reactions": reactions}


def _react(message: Json, event: Json) -> None:
    emoji, member_id = event["reaction"]["emoji"], event["reaction"]["memberId"]
    by_emoji = {reaction["emoji"]: list(reaction["memberIds"]) for reaction in message["reactions"]}
    members = by_emoji.setdefault(emoji, [])
    if member_id in members:
        members.remove(member_id)
    if event["type"] == "reaction_added":
        members.append(member_id)
    message["reactions"] = [{"emoji": emoji, "memberIds": ids} for emoji, ids in by_emoji.items() if ids]


# ── comparing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def followed(known: Known) -> Json:
    """A view in which everything that can be derived has been derived, to be compared with a fetched one."""
    view = seen(known)
    for space in view["spaces"].values():
        space["unread"], space["mentions"] = _unread(known, space)
    busy = {run["agentId"] for run in known.runs.values() if not {"finishedAt", "pausedReason"} & set(run)}
    for agent in view["agents"].values():
        paused = known.paused_at or agent.get("pausedAt")
        held = "paused" if "pausedReason" in agent else "idle"
        agent["state"] = "paused" if paused else "running" if agent["id"] in busy else held
        agent["waitingFor"] = sorted(id for id, call in known.calls.items() if call["agentId"] == agent["id"])
    return view


def seen(known: Known) -> Json:
    """A view as it was fetched. Reactions are sets; everything else has its order."""
    view: Json = copy.deepcopy(
        {
            "spaces": known.spaces,
            "messages": known.messages,
            "agents": known.agents,
            "runs": known.runs,
            "calls": known.calls,
            "tasks": known.tasks,
            "skills": known.skills,
        }
    )
    view["switches"] = {"all agents": {"pausedAt": known.paused_at}}
    for message in view["messages"].values():
        message["reactions"] = sorted((r["emoji"], sorted(r["memberIds"])) for r in message["reactions"])
    return view


def _unread(known: Known, space: Json) -> tuple[int, int]:
    me: Any = next((member for member in space["memberDetails"] if member["id"] == known.me["id"]), None)
    if me is None:
        return 0, 0
    others = [
        message
        for message in known.messages.values()
        if message["spaceId"] == space["id"]
        and message["seq"] > space["readSeq"]
        and message["authorId"] != me["id"]
        and message["type"] != "system"
        and "deletedAt" not in message
    ]
    names = f"{re.escape(me['id'])}|{re.escape(me['name'])}"
    called = re.compile(rf"(?<![\w@])@({names})(?![\w-])", re.IGNORECASE)
    mine = {message["id"] for message in known.messages.values() if message["authorId"] == me["id"]}
    mentions = [m for m in others if called.search(m["text"]) is not None or m.get("replyTo") in mine]
    return len(others), len(mentions)
