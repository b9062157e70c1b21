"""What a run shows while it works: typing, messages and arguments as they grow. Live only, never stored.

Which call may be shown, when and where is decided in runs/writing.py.
"""

from __future__ import annotations

from typing import Any

import orjson
from pydantic_core import from_json

from bullpen import ids
from bullpen.events.feed import Feed
from bullpen.events.types import Audience
from bullpen.observe.redact import here
from bullpen.runs.types import OpenCall, Run
from bullpen.wire.events import AgentDone, AgentTyping, LiveEvent, MessageStreaming, StreamedCall, ToolStreaming


class Live:
    def __init__(self, feed: Feed, run: Run) -> None:
        self._feed = feed
        self._run = run
        # Messages that are shown somewhere and not there yet: the space and the place in the answer, by the call's id.
        self._growing: dict[str, tuple[str, int]] = {}

    @property
    def watched(self) -> bool:
        return self._feed.watched

    def typing(self) -> None:
        self._publish(AgentTyping(space_id=self._run.space_id, agent_id=self._run.agent_id, run_id=self._run.id))

    def done(self) -> None:
        """The run rests. What was shown of messages that were not sent is taken back."""
        for call_id in list(self._growing):
            self.take_back(call_id)
        self._publish(AgentDone(space_id=self._run.space_id, agent_id=self._run.agent_id, run_id=self._run.id))

    def show_arguments(self, call: OpenCall, step: int, index: int, arguments: str) -> None:
        run = self._run
        event = ToolStreaming(
            space_id=run.space_id if call.told_in is None else call.told_in,
            agent_id=run.agent_id,
            run_id=run.id,
            # The arguments are read from the text where the event is delivered: see events/feed.py.
            call=StreamedCall(call_id=call.call_id, tool_name=call.tool_name, index=index, run_step=step, args=None),
            text=growing(arguments),
        )
        self._publish(event, "owners" if call.told_in is None else "space", key=call.call_id)

    def show_message(self, call_id: str, space_id: str, index: int, text: str) -> None:
        self._growing[call_id] = (space_id, index)
        self._show_text(call_id, space_id, index, here().so_far(text))

    def take_back(self, call_id: str) -> None:
        """What was shown of a message will not be sent there."""
        if call_id in self._growing:
            self._show_text(call_id, *self._growing.pop(call_id), "")

    def sent(self, call_id: str) -> None:
        """The message itself is there now."""
        self._growing.pop(call_id, None)

    def _show_text(self, call_id: str, space_id: str, index: int, text: str) -> None:
        id = ids.message_for(call_id)
        event = MessageStreaming(
            space_id=space_id,
            agent_id=self._run.agent_id,
            run_id=self._run.id,
            message_id=id,
            index=index,
            text=text,
        )
        self._publish(event, key=id)

    def _publish(self, event: LiveEvent, audience: Audience = "space", *, key: str | None = None) -> None:
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
