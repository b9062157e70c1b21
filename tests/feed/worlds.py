"""The office in which everything here and in tests/api happens: made once for each database, copied for each test.

Everybody is in `lobby`. `team` is private: the owner, Pia and Ada. `den` is Pia's and Ada's alone. `ring` is where
agents wake each other, and Pia made it. Otto is only in the lobby.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from bullpen.tools import ToolContext, tool
from tests.databases import Database, aside
from tests.driver import Api, Driver, Json, Offices


@tool(visible=True)
async def show_clock(context: ToolContext) -> dict[str, Any]:
    """Show a clock: shown when it starts, completed when it is done."""
    return {"hands": 2}


@tool(visible=True, effect="tx")
async def show_chart(context: ToolContext) -> dict[str, Any]:
    """Show a chart: over at once."""
    return {"bars": 3}


SHOWN = {"shown": (show_clock, show_chart)}


def call(name: str, **args: Any) -> Json:
    return {"tool": name, "args": args}


def turn(when: str, *calls: Json, **more: Any) -> Json:
    return {"when": when, "steps": [{"calls": list(calls), **more}]}


ADA = [
    turn("speak", call("send_message", text="I say @pia something"), call("send_message", text="twice")),
    turn("react", call("react_to_message", messageId="{{trigger.messageId}}", emoji="👀")),
    turn("be silent", call("do_nothing")),
    turn("skip this", call("skip", reason="not my concern")),
    turn(
        "use tools",
        call("store_memory", content="a fact"),
        call("update_memory", label="mood", content="calm"),
        call("search_memory", query="fact"),
        call("read_messages"),
    ),
    turn("err", call("no_such_tool"), {"tool": "send_message", "args": "{not json"}, call("send_message", text=5)),
    turn("show", call("show_clock"), call("show_chart")),
    turn("think long", delayMs=600_000),
    turn("be lengthy", call("send_message", text="word " * 1000)),
    {"when": "loose words", "steps": [{"text": "words outside a tool"}, {"text": "and again"}]},
    turn("call the desk", call("callDesk", line=4)),
    turn("ask us", call("askUs", what="Tea?")),
    {"kind": "trigger", "steps": [{"calls": [call("send_message", text="somebody rang", spaceId="team")]}]},
]
# Two tools that somebody else answers: a program, unseen; and a person in the room.
LINE = {"type": "object", "properties": {"line": {"type": "integer"}}}
WHAT = {"type": "object", "properties": {"what": {"type": "string"}}}
ANSWERED: list[Json] = [
    {"name": "callDesk", "description": "Call", "inputSchema": LINE, "executionType": "external", "visible": False},
    {"name": "askUs", "description": "Ask", "inputSchema": WHAT, "executionType": "space"},
]
ALWAYS = [{"steps": [{"calls": [call("send_message", text="and you?")]}]}]


@dataclass(slots=True)
class World:
    office: Driver
    people: dict[str, Api]
    messages: dict[str, Json]
    runs: dict[str, str]  # ids of Ada's runs so far: in `team`, in `den`, and in no space
    call_id: str  # a call of hers in `team` that waits for a person
    asked: set[str] = field(default_factory=set)  # the routes used, as "POST /api/…"

    def __getitem__(self, name: str) -> Api:
        return self.people[name]

    async def ask_ada(self, text: str, *, nth: int = 1) -> Json:
        """Let her do something in the team's space; the finished run."""
        await self.office.post("team", f"@ada {text}")
        return await self.office.run_finished("ada", nth=nth)

    async def open_call(self, text: str = "call the desk") -> Json:
        """Let her call a tool in the team's space that somebody else answers; the call, which is open."""
        known = [call["callId"] for call in await self["ada"].items("/pending")]

        async def new() -> list[Json]:
            return [call for call in await self["ada"].items("/pending") if call["callId"] not in known]

        async def is_there() -> bool:
            return bool(await new())

        await self.office.post("team", f"@ada {text}")
        await self.office.until(is_there)
        await self.office.idle()
        return (await new())[0]


@dataclass(frozen=True, slots=True)
class Made:
    """What a copy of the database cannot tell: tokens, and what was posted."""

    tokens: dict[str, str]
    messages: dict[str, Json]
    runs: dict[str, str]
    call_id: str


def make(database: Database) -> Made:
    async def build() -> Made:
        async with AsyncExitStack() as stack:
            return await _build(await Offices(database, stack).open(families=SHOWN))

    return aside(build)


async def _build(office: Driver) -> Made:
    for config in ANSWERED:
        await office.create("/tools", {**config, "isAsync": True})
    await office.agent("ada", ADA, tools=["messaging", "memory", "shown", "callDesk", "askUs"])
    await office.agent("ping", ALWAYS)
    await office.agent("pong", ALWAYS)
    people = {"ada": await office.as_agent("ada")}
    for name in ("Pia", "Otto"):
        _, people[name.lower()] = await office.person(name)
    await office.space("lobby", ["psn_pia", "psn_otto", "ada"])
    await office.space("team", ["psn_pia", "ada"], private=True)
    await people["pia"].create("/spaces", {"id": "den", "members": ["ada"], "private": True})
    ring = {"id": "ring", "members": [office.owner_id, "ping", "pong"], "wake": {"people": "mention", "agents": "all"}}
    await people["pia"].create("/spaces", ring)
    await office.dm("ping", "pong")
    messages = {
        "owner": await office.post("team", "the owner's own"),
        "pia": await people["pia"].create("/spaces/team/messages", {"text": "from Pia, for @Olga"}),
        "den": await people["pia"].create("/spaces/den/messages", {"text": "between us"}),
    }
    await office.create(f"/messages/{messages['pia']['id']}/reactions", {"emoji": "👍"})
    await office.post("team", "@ada be silent")
    await people["pia"].create("/spaces/den/messages", {"text": "@ada be silent, too"})
    await office.create("/agents/ada/trigger", {"serviceName": "bell", "payload": {"rings": 1}})
    await office.idle()
    runs = {run.get("spaceId", "nowhere"): run["id"] for run in await people["ada"].items("/runs")}
    await office.post("team", "@ada ask us")
    await office.idle()
    (open_call,) = await office.items("/pending")
    return Made({name: caller.token or "" for name, caller in people.items()}, messages, runs, open_call["callId"])


async def enter(offices: Offices, made: Made, **settings: Any) -> World:
    office = await offices.open(families=SHOWN, **settings)
    people: dict[str, Api] = {"owner": office}
    people |= {name: Api(office.office, token) for name, token in made.tokens.items()}
    return World(office, people, dict(made.messages), dict(made.runs), made.call_id)
