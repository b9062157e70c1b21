"""More chapters of the story: calls that somebody else answers, in time, too late, after their run is over, or never.

The cast has a room each. A deed looks for the call it is about, in whatever state an earlier life has left it, and
answers it again if it is not sure: a repeated answer is a duplicate, a repeated cancelling is told that it is over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bullpen.wire.errors import ApiError
from bullpen.wire.nouns import PendingCall, PendingStatus
from tests.durability.story import Deed, Person, say, script, turn

LONG = 600_000
HASTY = 120  # milliseconds: over before anybody answers
SOON = 3_000  # over in another life
STATUSES: tuple[PendingStatus, ...] = ("waiting", "pending", "resolved", "cancelled")
URL = "http://api.example.com/weather/{city}"


def tool(name: str, kind: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"what": {"type": "string"}, "city": {"type": "string"}}}
    described = {"name": name, "description": f"{name}.", "inputSchema": schema, "executionType": kind}
    return {**described, "visible": False, "timeout": LONG, "policy": "allow", **more}


TOOLS = [
    tool("lookUp", "external"),
    tool("lookUpFast", "external", timeout=HASTY),
    tool("lookUpSoon", "external", timeout=SOON),
    tool("lookUpInTime", "external", timeout=20 * SOON),
    tool("lookUpLater", "external", isAsync=True),
    tool("ask", "space", visible=True),
    tool("askLater", "space", visible=True, isAsync=True),
    tool("askFast", "space", visible=True, timeout=HASTY),
    tool("putWeather", "gateway", visible=True, execution={"url": URL, "method": "PUT"}),
    tool("postWeather", "gateway", visible=True, execution={"url": URL, "method": "POST"}),
    tool("showChart", "internal", visible=True, policy="ask"),
    tool("payOut", "gateway", visible=True, execution={"url": URL, "method": "PUT"}, policy="ask"),
]


def member(id: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """An agent that makes these calls in one step, says so, and says when something came later."""
    model = script(
        {"kind": "tool_result", "steps": [{"calls": [say("send_message", text="heard later")]}]},
        turn("", list(calls), [say("send_message", text="went on with {{results[0]}}")]),
    )
    tools = ["messaging", *{call["tool"]: None for call in calls}]
    return {"id": id, "name": id.title(), "tools": tools, "model": model}


CAST = [
    member("in-time", say("lookUp", what="the date")),
    member("too-late", say("lookUpFast", what="the date"), say("askFast", what="Are you there?")),
    member("later", say("lookUpLater", what="the weather")),
    member("asker", say("askLater", what="Book it?"), say("ask", what="Which one?")),
    member("gatekeeper", say("putWeather", city="Rome", what="rain")),
    member("charter", say("showChart", what="a pie"), say("payOut", city="Bonn", what="5")),
    member("stopped", say("lookUp", what="x"), say("ask", what="never asked")),
    member("stopped-card", say("ask", what="Shall I?")),
    member("in-hand", say("ask", what="Shall I?")),
    member("unanswered", say("lookUp", what="x"), say("askLater", what="Anybody?")),
    member("leaver", say("askLater", what="Now?"), say("ask", what="And now?")),
    member("heir", say("lookUpSoon", what="x")),
    member("patient", say("lookUpInTime", what="x")),
    member("poster", say("postWeather", city="Rome", what="rain")),
]
ROOMS = [{"id": f"{made['id']}-room", "members": [made["id"]], "wake": {"people": "all"}} for made in CAST]


async def set_up_callers(person: Person) -> None:
    await person.bp.apply(tools=TOOLS, agents=CAST, spaces=ROOMS)


# ── what people and programs do ─────────────────────────────────────────────────────────────────────────────────────


async def call_of(person: Person, agent: str, tool_name: str, but: str = "") -> PendingCall:
    """The call, once it is there and not (any more) `but`."""
    while True:
        for status in STATUSES:
            for call in await person.bp.pending.list(status=status, limit=200):
                if (call.agent_id, call.tool_name) == (agent, tool_name) and status != but:
                    return call
        await person.wait()


def go(agent: str, tool_name: str, but: str = "") -> Deed:
    """Speak to the agent, and wait until its call waits for somebody."""

    async def deed(person: Person) -> None:
        await person.post(f"{agent}-room", "go", key=f"go {agent}")
        await call_of(person, agent, tool_name, but)

    return deed


def speak(agent: str) -> Deed:
    async def deed(person: Person) -> None:
        await person.post(f"{agent}-room", "go", key=f"go {agent}")

    return deed


def answer(agent: str, tool_name: str, result: Any) -> Deed:
    """As the program behind a tool does, or a person with a card."""

    async def deed(person: Person) -> None:
        call = await call_of(person, agent, tool_name)
        if call.kind == "external":
            await person.bp.runs.submit_result(call.run_id, call.call_id, result)
        else:
            await person.bp.pending.resolve(call.call_id, result)

    return deed


def on_call(agent: str, tool_name: str, do: Callable[[Person, PendingCall], Awaitable[object]], over: int) -> Deed:
    """Do something with the call; `over` is what a server answers if that was done before."""

    async def deed(person: Person) -> None:
        call = await call_of(person, agent, tool_name)
        try:
            await do(person, call)
        except ApiError as error:
            if error.status != over:
                raise

    return deed


def cancel_run(agent: str, tool_name: str) -> Deed:
    return on_call(agent, tool_name, lambda person, call: person.bp.runs.cancel(call.run_id), 409)


def cancel_call(agent: str, tool_name: str) -> Deed:
    return on_call(agent, tool_name, lambda person, call: person.bp.pending.cancel(call.call_id), 410)


def paused(agent: str, *, go_on: bool = False) -> Deed:
    async def deed(person: Person) -> None:
        await (person.bp.agents.resume if go_on else person.bp.agents.pause)(agent)

    return deed


async def part_with_leaver(person: Person) -> None:
    try:
        await person.bp.agents.delete("leaver")
    except ApiError as error:
        if error.status != 404:
            raise


APPROVED = {"approved": True}
EDITED = {"approved": True, "args": {"city": "Bonn", "what": "4"}}

CHAPTERS: dict[str, list[Deed]] = {
    "others are part of the work": [set_up_callers],
    "a result comes in time": [go("in-time", "lookUp"), answer("in-time", "lookUp", {"date": "today", "n": [1, 2]})],
    "results come too late": [
        go("too-late", "askFast", but="waiting"),
        answer("too-late", "lookUpFast", "yesterday"),
        answer("too-late", "askFast", {"here": True}),
    ],
    "a result comes later": [go("later", "lookUpLater", but="waiting"), answer("later", "lookUpLater", ["sunny"])],
    "a person answers cards": [
        go("asker", "ask"),
        answer("asker", "askLater", {"confirmed": True}),
        answer("asker", "ask", "the red one"),
    ],
    "a gateway is asked": [speak("gatekeeper")],
    "calls are approved": [
        go("charter", "showChart"),
        answer("charter", "showChart", APPROVED),
        answer("charter", "payOut", EDITED),
    ],
    "a run that waits is cancelled": [
        go("stopped", "lookUp"),
        cancel_run("stopped", "lookUp"),
        answer("stopped", "lookUp", "after all"),
        go("stopped-card", "ask"),
        cancel_run("stopped-card", "ask"),
        answer("stopped-card", "ask", "you may"),
    ],
    "a run is cancelled with its result at hand": [
        go("in-hand", "ask"),
        paused("in-hand"),
        answer("in-hand", "ask", "you may"),
        cancel_run("in-hand", "ask"),
        paused("in-hand", go_on=True),
    ],
    "calls are cancelled": [
        go("unanswered", "lookUp"),
        cancel_call("unanswered", "lookUp"),
        go("unanswered", "askLater"),
        cancel_call("unanswered", "askLater"),
    ],
    "an agent goes while it waits": [go("leaver", "ask"), part_with_leaver],
}

# Told for themselves: what has more than one good end if somebody dies in it, and what does not end.
ASIDE: dict[str, list[Deed]] = {
    "something is posted": [speak("poster")],
    "a will is made": [go("heir", "lookUpSoon")],
    "it is carried out": [go("heir", "lookUpSoon", but="waiting")],
    "a little is waited for": [go("patient", "lookUpInTime")],
    "somebody is waited for": [go("in-time", "lookUp"), go("stopped-card", "ask")],
}
