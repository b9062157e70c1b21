"""The story that is told calmly once, and then again with a kill after each of its commits.

A cast, and a list of things a person does. Each waits until the office rests, so that what happens is the same every
time; within one of them agents work at the same time. Every deed may be repeated: a post by its clientMessageId, the
others by looking first whether they are done already, as a careful client does after a lost answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bullpen.client import Bullpen
from bullpen.wire import Message
from bullpen.wire.errors import ApiError

Deed = Callable[["Person"], Awaitable[None]]


@dataclass
class Person:
    """The owner, at the keyboard."""

    bp: Bullpen
    # Called while a deed waits for the office to get somewhere.
    wait: Callable[[], Awaitable[None]]

    async def me(self) -> str:
        members = (await self.bp.spaces("general").get()).members
        return next(id for id in members if id.startswith("psn_"))

    async def post(self, space: str, text: str, *, key: str, reply_to: str | None = None) -> Message:
        return await self.bp.spaces(space).send(text, client_message_id=key, reply_to=reply_to)

    async def message(self, space: str, text: str) -> Message | None:
        """The newest message in the space that says this."""
        messages = await self.bp.spaces(space).messages(limit=200)
        return next((message for message in reversed(messages.items) if message.text == text), None)


def say(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def raw(tool: str, args: str) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def script(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"provider": "script", "turns": list(turns)}


def turn(when: str, *steps: Any) -> dict[str, Any]:
    """A step is a list of calls, or a text that reaches nobody."""
    return {"when": when, "steps": [{"text": s} if isinstance(s, str) else {"calls": s} for s in steps]}


# ── the cast ────────────────────────────────────────────────────────────────────────────────────────────

AGENTS: list[dict[str, Any]] = [
    {
        "id": name,
        "name": name.title(),
        "model": script(
            turn("roll call", [say("send_message", text=f"{name} is here")]),
            turn("again", [say("send_message", text=f"{name} once more"), say("do_nothing")]),
        ),
    }
    for name in ("ada", "bo", "cy")
] + [
    {
        "id": "pip",
        "name": "Pip",
        "model": script(
            turn("start", [say("send_message", spaceId="dm-pip-pop", text="ping")]),
            turn("pong", [say("send_message", text="ping")]),
        ),
    },
    {"id": "pop", "name": "Pop", "model": script(turn("ping", [say("send_message", text="pong")]))},
    {
        "id": "tess",
        "name": "Tess",
        "tools": ["messaging", "memory"],
        "blocks": {"mood": "curious"},
        "model": script(
            turn(
                "experiment",
                [
                    say("search_memory", query="kettle"),
                    say("store_memory", content="The kettle is broken.", tags=["kitchen"]),
                    say("update_memory", label="mood", content="thirsty"),
                    say("react_to_message", messageId="{{trigger.messageId}}", emoji="👍"),
                    raw("send_message", '{"text": "half a JSON'),
                    say("no_such_tool", question="?"),
                    say("send_message", text=7),
                    say("send_message", text="one"),
                    say("send_message", text="two"),
                ],
                [
                    say("search_memory", query="KETTLE"),
                    say("store_memory", content="The kettle is broken."),
                    say("react_to_message", messageId="{{results[7].messageId}}", emoji="🫖"),
                ],
                [
                    say("send_message", text="found: {{results[9].passages[0].content}}"),
                    *[say("send_message", text=f"extra {n}") for n in (4, 5, 6)],
                ],
            ),
        ),
    },
    {
        "id": "sil",
        "name": "Sil",
        "model": script(
            turn("hush", [say("do_nothing")]),
            turn(
                "pass",
                [say("skip", reason="not for me"), say("send_message", text="never said"), say("do_nothing")],
            ),
        ),
    },
    {
        "id": "mum",
        "name": "Mum",
        "model": script(
            turn("forget", "I forgot to send this.", [say("send_message", text="Sorry: hello.")]),
            turn("never", "Nobody hears me.", "Still nobody."),
        ),
    },
    {
        "id": "dov",
        "name": "Dov",
        "onUnsentText": "deliver",
        "model": script(turn("", "Take my words.", "Take these words.")),
    },
    {
        "id": "mind",
        "name": "Mind",
        "scope": "agent",
        "model": script(
            turn(
                "wander",
                [
                    say("enter_space", spaceId="lab"),
                    say("send_message", text="Mind was in the lab."),
                    say("read_messages", limit=3),
                    say("leave_space"),
                    say("send_message", text="to nobody"),
                    say("send_message", text="From afar.", spaceId="general"),
                ],
            ),
            turn("return", [say("send_message", text="Back."), say("read_messages", query="afar", spaceId="general")]),
        ),
    },
    {
        "id": "slow",
        "name": "Slow",
        "model": script({"when": "think", "steps": [{"delayMs": 600_000, "text": "42"}]}),
    },
]

SPACES: list[dict[str, Any]] = [
    {"id": "general", "members": ["ada", "bo", "cy", "pip", "sil", "mind", "slow"]},
    {"id": "lab", "private": True, "members": ["tess", "mind"], "wake": {"people": "all"}},
    {"id": "bench", "private": True, "members": ["tess"], "wake": {"people": "all"}},
    {"id": "crew", "kind": "group", "trigger": "crew", "members": ["bo", "ada"]},
    {"kind": "dm", "members": ["pip", "pop"]},
]


# ── what the person does ────────────────────────────────────────────────────────────────────────────────


async def set_up_office(person: Person) -> None:
    await person.bp.apply(agents=AGENTS, spaces=SPACES)


def open_dm(agent: str) -> Deed:
    async def deed(person: Person) -> None:
        members = [agent, await person.me()]
        await person.bp.apply(agents=[], spaces=[{"kind": "dm", "members": members}])

    return deed


def post(space: str, text: str, key: str) -> Deed:
    async def deed(person: Person) -> None:
        await person.post(space, text, key=key)

    return deed


def post_dm(agent: str, text: str, key: str) -> Deed:
    async def deed(person: Person) -> None:
        await person.post(f"dm-{agent}-{await person.me()}", text, key=key)

    return deed


async def reply_to_bo(person: Person) -> None:
    """A reply counts as a mention."""
    said = await person.message("general", "bo is here")
    assert said is not None
    await person.post("general", "do it again", key="reply", reply_to=said.id)


async def edit(person: Person) -> None:
    if said := await person.message("general", "a tpyo"):
        await person.bp.messages(said.id).edit("a typo")


async def take_back(person: Person) -> None:
    if said := await person.message("general", "a typo"):
        await person.bp.messages(said.id).delete()


async def react(person: Person) -> None:
    said = await person.message("general", "ada is here")
    assert said is not None
    await person.bp.messages(said.id).react("👎")


async def regret(person: Person) -> None:
    said = await person.message("general", "ada is here")
    assert said is not None
    if said.reactions:
        await person.bp.messages(said.id).unreact("👎")


async def mark_read(person: Person) -> None:
    await person.bp.spaces("dm-pip-pop").get()
    await person.bp.spaces("general").mark_read(3)


async def post_and_cancel(person: Person) -> None:
    """Cancel a run that is thinking. It may have begun only after a restart, or be over already."""
    await person.post("general", "@slow think", key="think")
    while not (runs := list(await person.bp.runs.list(agent="slow"))):
        await person.wait()
    try:
        await person.bp.runs.cancel(runs[0].id)
    except ApiError as error:
        if error.status != 409:
            raise


def pause(agent: str) -> Deed:
    async def deed(person: Person) -> None:
        await person.bp.agents.pause(agent)

    return deed


def resume(agent: str) -> Deed:
    async def deed(person: Person) -> None:
        await person.bp.agents.resume(agent)

    return deed


async def pause_all(person: Person) -> None:
    await person.bp.agents.pause_all()


async def resume_all(person: Person) -> None:
    await person.bp.agents.resume_all()


async def post_and_pause(person: Person) -> None:
    """Wherever in its work the pause finds it, and on whichever side of a kill."""
    await person.post("bench", "another experiment, please", key="experiment 2")
    await person.bp.agents.pause("tess")


async def think_and_pause(person: Person) -> None:
    await person.post("general", "@slow think again", key="think again")
    while len(list(await person.bp.runs.list(agent="slow"))) < 2:
        await person.wait()
    await person.bp.agents.pause("slow")


async def cancel_what_is_put_aside(person: Person) -> None:
    run = next(iter(await person.bp.runs.list(agent="slow")))
    try:
        await person.bp.runs.cancel(run.id)
    except ApiError as error:
        if error.status != 409:
            raise


async def part_with_cy(person: Person) -> None:
    try:
        await person.bp.agents.delete("cy")
    except ApiError as error:
        if error.status != 404:
            raise


async def hire(person: Person) -> None:
    await person.bp.spaces("lab").add_member("bo")


# The office rests after each of these deeds. A chapter begins where the one before it has ended.
CHAPTERS: dict[str, list[Deed]] = {
    "the office is set up": [set_up_office],
    "three answer in turn": [post("general", "@ada @bo @cy roll call!", "roll")],
    "a reply wakes its author": [reply_to_bo],
    "a chain goes on to its limit": [post("general", "@pip start", "start")],
    "words are changed and taken back": [post("general", "a tpyo", "typo"), edit, take_back, react, regret],
    "a step has many calls": [post("lab", "an experiment, please", "experiment")],
    "two ways to be silent": [post("general", "@sil hush", "hush"), post("general", "@sil pass", "pass")],
    "text that nobody sent": [open_dm("mum"), post_dm("mum", "don't forget", "forget")],
    "text that nobody sends": [post_dm("mum", "never mind", "never"), open_dm("dov"), post_dm("dov", "speak", "dov")],
    "a mind wanders": [post("general", "@mind wander off", "wander"), post("general", "@mind return", "return")],
    "a group answers its trigger": [post("crew", "crew, roll call", "crew"), mark_read, hire],
    "a run is cancelled": [post_and_cancel],
    "one of two is paused": [pause("ada"), post("general", "@ada @bo roll call", "paused"), resume("ada")],
    "an agent is paused in the middle of its work": [post_and_pause, resume("tess")],
    "a run is cancelled while its agent is paused": [think_and_pause, cancel_what_is_put_aside, resume("slow")],
    "all are paused": [pause_all, post("general", "@bo @ada roll call", "all paused"), resume_all],
    "an agent goes": [part_with_cy, post("general", "@cy @ada roll call", "without cy")],
}
