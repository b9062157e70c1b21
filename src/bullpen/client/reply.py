"""Ask in a space and wait for the answer: `await bp.spaces("general").ask("@ada how was Q3?")`.

A question is an ordinary message. Which agents it woke and what their runs came to is what the server says about that
message (`why`), so nothing is guessed from the order of events: they only tell when to look again. A run that waits for
a person ends the wait, because the one who asks may be that person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from bullpen.client.connection import Connection, path
from bullpen.client.follow import Follow
from bullpen.wire import Message, Run
from bullpen.wire.nouns import PendingCall, Why, WhyAgent

ENDED = frozenset({"completed", "failed", "cancelled"})
# These are answered by a program: the run goes on by itself.
BY_PROGRAMS = frozenset({"external"})
LOOK_SECONDS = 5.0  # an event may be late or lost; this often the server is asked all the same
PAGE = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question.

    `messages` are what the agents said in that space, `run` is the run of the first agent that was woken, and `pending`
    are the calls that wait for a person: answer them with `bp.pending`.
    """

    message: Message
    messages: list[Message] = field(default_factory=list)
    run: Run | None = None
    pending: list[PendingCall] = field(default_factory=list)
    why: Why | None = None

    @property
    def text(self) -> str:
        """Everything that was said, as one text. Empty if nobody said anything: `reason` tells why."""
        return "\n\n".join(message.text for message in self.messages)

    @property
    def reason(self) -> str | None:
        """Why there is no message; None if there is one."""
        if self.messages:
            return None
        agents = self.why.agents if self.why is not None else []
        told = [f"{agent.name}: {_reason(agent)}" for agent in agents]
        return " ".join(told) or "There is no agent in this space."


class NoReply(TimeoutError):
    """The agents were not done in time. Nothing is lost: they go on. `reply` is what there is so far."""

    def __init__(self, reply: Reply, seconds: float) -> None:
        left = [agent.name for agent in _woken(reply.why) if not _is_over(agent)]
        super().__init__(f"{', '.join(left)} did not finish within {seconds:g} s and will go on. See `reply` for now.")
        self.reply = reply


def _reason(agent: WhyAgent) -> str:
    run = agent.run
    if run is None:
        return agent.reason
    if run.error:
        return run.error
    if run.outcome == "silent":
        return f"chose not to answer{f' ({run.silence_reason})' if run.silence_reason else ''}."
    return f"{run.status}, {run.outcome or run.stop_reason or 'nothing was said'}."


def _woken(why: Why | None) -> list[WhyAgent]:
    return [] if why is None else [agent for agent in why.agents if agent.woken]


def _is_over(agent: WhyAgent) -> bool:
    """Nothing more will come, unless somebody resumes the agent."""
    return agent.code == "paused" if agent.run is None else agent.run.status in ENDED


class Question:
    """One message that was posted, and what is known about the answers to it."""

    def __init__(self, connection: Connection, message: Message) -> None:
        self._connection = connection
        self._message = message

    async def wait(self, events: Follow, seconds: float) -> Reply:
        """Until every agent that was woken is done, or one of them waits for a person."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    why = await self._ask_why()
                    pending = await self._find_pending(why)
                    if pending or all(map(_is_over, _woken(why))):
                        return await self._collect(why, pending)
                    await self._hear(events)
        except TimeoutError:
            raise NoReply(await self._collect(await self._ask_why(), []), seconds) from None

    async def _hear(self, events: Follow) -> None:
        """Until a run of this space begins, waits or ends."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                async for event in events:
                    if event.type.startswith("run_") or event.type in ("tool.requires_action", "pending_resolved"):
                        return
        except TimeoutError:
            return

    async def _ask_why(self) -> Why:
        return Why.model_validate(await self._get("messages", self._message.id, "why"))

    async def _find_pending(self, why: Why) -> list[PendingCall]:
        """Calls of these runs that wait for a person."""
        waiting = {agent.run.run_id for agent in _woken(why) if agent.run is not None and agent.run.status == "waiting"}
        if not waiting:
            return []
        found = await self._get("pending", limit=PAGE)
        calls = [PendingCall.model_validate(item) for item in found["items"]]
        return [call for call in calls if call.run_id in waiting and call.kind not in BY_PROGRAMS]

    async def _collect(self, why: Why, pending: list[PendingCall]) -> Reply:
        runs = [agent.run for agent in _woken(why) if agent.run is not None]
        said = {id for run in runs for id in run.message_ids}
        query = {"after": self._message.seq, "limit": PAGE}
        found = await self._get("spaces", self._message.space_id, "messages", **query) if said else {"items": []}
        messages = [Message.model_validate(item) for item in found["items"] if item["id"] in said]
        first = Run.model_validate(await self._get("runs", runs[0].run_id)) if runs else None
        return Reply(self._message, messages, first, pending, why)

    async def _get(self, *parts: str, **query: int) -> Mapping[str, list[Mapping[str, str]]]:
        found: Mapping[str, list[Mapping[str, str]]] = await self._connection.request("GET", path(*parts), query=query)
        return found
