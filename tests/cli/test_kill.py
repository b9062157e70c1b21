"""kill -9 in the middle of a story, start again: nothing is lost, nothing happens twice."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.processes import Process, following, output, serving
from tests.cli.rooms import calm, inside

HAGGLE = [
    "Otto, the poster wants longer. Two more days?",
    "One day. The printer is booked for Friday.",
    "A day and a half, and I tell the client myself.",
    "Thirty hours, and you bring pastries.",
]


@pytest.mark.parametrize("events", [0, 3, 9, 18])
async def test_a_killed_demo_conversation_continues_without_loss_or_repeats(data: Path, events: int) -> None:
    """Killed after so many events. The follower lives through it and sees every event once."""
    with serving(data, "--demo", "office") as first, following(data, "--json") as follower:
        said = output(data, "send", "general", "can we move the deadline?")
        for _ in range(events):
            stored(follower)
        first.stop(signal.SIGKILL)
        with serving(data, "--demo", "office"):
            async with inside(data) as bp:
                await calm(bp)
                general = [message.text for message in await bp.spaces("general").messages()]
                haggle = list(await bp.spaces("dm-mira-otto").messages())
                runs = list(await bp.runs.list(limit=200))
            last = output(data, "send", "leads", "that was all")
            follower.wait_for(lambda line: last in line)
    assert general == ["can we move the deadline?", "Let me ask Otto. He guards the calendar."]
    assert [message.text for message in haggle if message.author_kind == "agent"] == HAGGLE
    assert [message.seq for message in haggle] == [1, 2, 3, 4, 5]
    assert {run.status for run in runs} == {"completed"}
    seen = [event for line in follower.out.seen if line.startswith("{") and "cursor" in (event := json.loads(line))]
    assert Counter(event["cursor"] for event in seen).most_common(1)[0][1] == 1
    told = [event["message"]["text"] for event in seen if event["type"] == "message_created"]
    assert said in {event["message"]["id"] for event in seen if event["type"] == "message_created"}
    assert [text for text in told if text in HAGGLE] == HAGGLE


def stored(follower: Process) -> None:
    follower.wait_for(lambda line: '"cursor"' in line)
