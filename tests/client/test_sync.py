"""bullpen.client.sync: the same verbs, without async."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from bullpen.client import NotFound, tool
from bullpen.client.sync import Bullpen
from tests.path.scripts import call, say, step
from tests.waits import BOUND


def test_verbs_events_and_errors_are_the_same(door: tuple[str, str]) -> None:
    with Bullpen(*door) as bp:
        space = bp.spaces.create(id="foyer", name="Foyer")
        with bp.events(space="foyer") as events:
            sent = bp.spaces("foyer").send("hello")
            told = next(event for event in events if event.type == "message_created")
            assert events.cursor == told.cursor
        assert told["message"]["id"] == sent.id
        assert [message.text for message in bp.spaces("foyer").messages()] == ["hello"]
        assert bp.messages(sent.id).edit("hello!").text == "hello!"
        assert [line["type"] for line in bp.export("space", space.id)][-1] == "end"
        with pytest.raises(NotFound):
            bp.agents.get("nobody")
    bp.close()


def test_a_plain_program_serves_its_tools(door: tuple[str, str]) -> None:
    @tool(visible=False)
    def add(one: int, two: int) -> int:
        """Add."""
        return one + two

    ended: list[Any] = []

    def serve(backend: Bullpen) -> None:
        try:
            backend.serve_tools(add)
        except CancelledError as end:
            ended.append(end)

    with Bullpen(*door) as bp:
        steps = [step(call("add", one=1, two=2)), say("{{results[0]}}")]
        bp.agents.create(
            id="adder", name="Adder", model={"provider": "script", "turns": [{"steps": steps}]}, tools=[add]
        )
        bp.agents.update("adder", tools=["messaging", add])
        bp.spaces.create(id="sums", members=["adder"], wake={"people": "all"})
        backend = Bullpen(*door)
        thread = threading.Thread(target=serve, args=(backend,))
        thread.start()
        with bp.events(space="sums") as events:
            bp.spaces("sums").send("go")
            words = [event["message"]["text"] for event in _messages(events)]
        backend.close()
        thread.join(BOUND)
    assert words == ["go", "3"]
    assert not thread.is_alive()
    assert len(ended) == 1


def _messages(events: Any) -> Iterator[Any]:
    for event in events:
        if event.type == "message_created":
            yield event
        if event.type == "run_finished":
            return
