"""What a run shows while it works: typing, messages and arguments as they grow. Live only, throttled, never stored.

A message is shown while it is written only where it is sure to end up: in the space the agent is in, once it has named
that space, or if it is a member of no other. Otherwise words meant for a DM would appear in a channel. The same holds
for a visible call: after one that moves the agent, nobody knows yet where it will show.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

import orjson
from pydantic_core import from_json

from bullpen.events.feed import Feed
from bullpen.events.types import Audience
from bullpen.llm.types import CallDelta, Delta, TextDelta
from bullpen.observe.redact import here
from bullpen.runs.types import Run
from bullpen.wire.events import AgentDone, AgentTyping, LiveEvent, MessageStreaming, StreamedCall, ToolStreaming

EVERY_SECONDS = 1 / 15
SPACE_NAMES = ("spaceId", "space_id", "channelId", "channel_id")
MOVES = frozenset({"enter_space", "leave_space"})


class Live:
    def __init__(self, feed: Feed, run: Run) -> None:
        self._feed = feed
        self._run = run
        self._step = run.step
        self._shown_at = 0.0
        # Where an unaddressed message will go, and whether the agent could send it anywhere else.
        self.space_id: str | None = None
        self.only_space = False
        self.speaks = True  # what it says is sure to be said: nobody has to approve it
        self.visible: frozenset[str] = frozenset()  # tools whose calls everybody in that space sees
        self._moves = False  # the answer that comes just now takes the agent elsewhere
        self._last: tuple[int, str] | None = None

    @property
    def watched(self) -> bool:
        return self._feed.watched

    def typing(self) -> None:
        self._publish(AgentTyping(space_id=self._run.space_id, agent_id=self._run.agent_id, run_id=self._run.id))

    def done(self) -> None:
        self._publish(AgentDone(space_id=self._run.space_id, agent_id=self._run.agent_id, run_id=self._run.id))

    def asked(self, step: int) -> None:
        """The model begins an answer, after so many steps."""
        self._step, self._moves = step, False

    def delta(self, delta: Delta) -> None:
        """Called for every piece a model streams; shows some of them."""
        if isinstance(delta, CallDelta) and delta.name in MOVES:
            self._moves = True
        now = monotonic()
        if now - self._shown_at < EVERY_SECONDS and self._same_call(delta):
            return
        self._shown_at = now
        if isinstance(delta, CallDelta):
            self._show_call(delta)

    def _same_call(self, delta: Delta) -> bool:
        mark = (-1, "") if isinstance(delta, TextDelta) else (delta.index, delta.name)
        same, self._last = mark == self._last, mark
        return same

    def _show_call(self, delta: CallDelta) -> None:
        run, key = self._run, f"{self._run.id}/{self._step}/{delta.index}"
        seen = delta.name in self.visible and self.space_id is not None and not self._moves
        # The arguments are read from the text where the event is delivered: see events/feed.py.
        tool_name = here().clean(delta.name)
        call = StreamedCall(tool_name=tool_name, index=delta.index, run_step=self._step + 1, args=None)
        event = ToolStreaming(
            space_id=self.space_id if seen else run.space_id,
            agent_id=run.agent_id,
            run_id=run.id,
            call=call,
            text=growing(delta.arguments),
        )
        self._publish(event, audience="space" if seen else "owners", key=key)
        if delta.name == "send_message" and self.space_id is not None and self.speaks:
            self._show_message(delta, self.space_id, key=f"{key}/text")

    def _show_message(self, delta: CallDelta, space_id: str, key: str) -> None:
        run, text = self._run, partial_text(delta.arguments, space_id, sure=self.only_space)
        if text:
            text = here().so_far(text)
            event = MessageStreaming(
                space_id=space_id, agent_id=run.agent_id, run_id=run.id, index=delta.index, text=text
            )
            self._publish(event, key=key)

    def _publish(self, event: LiveEvent, *, audience: Audience = "space", key: str | None = None) -> None:
        if self.watched:
            self._feed.publish(event, audience=audience, key=key)


def parsed(arguments: str) -> Any:
    """As much of unfinished arguments as can be read; None: nothing can."""
    try:
        return from_json(arguments, allow_partial="trailing-strings")
    except ValueError:
        return None


def growing(arguments: str) -> str:
    """Arguments as they grow, without secrets and without what may be the beginning of one."""
    if "\\" in arguments:
        found = parsed(arguments)
        # A model may escape what it likes, so only the texts themselves tell.
        if (shown := _growing(found, last=True)) != found:
            return orjson.dumps(shown).decode()
    return here().so_far(arguments)


def _growing(value: Any, *, last: bool) -> Any:
    """Only the last of all texts may still grow."""
    match value:
        case str():
            return here().so_far(value) if last else here().clean(value)
        case dict():
            end = next(reversed(value), None)
            return {here().clean(name): _growing(v, last=last and name == end) for name, v in value.items()}
        case list():
            return [_growing(inner, last=last and n == len(value)) for n, inner in enumerate(value, start=1)]
    return value


def partial_text(arguments: str, space_id: str, *, sure: bool) -> str:
    """The words of a message that is still being written, if they are certain to go to this space."""
    found = parsed(arguments)
    if not isinstance(found, dict):
        return ""
    named = [found[name] for name in SPACE_NAMES if name in found]
    if not (named == [space_id] or (sure and not named)):
        return ""
    text = found.get("text", found.get("content"))
    return text if isinstance(text, str) else ""
