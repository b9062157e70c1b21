"""What a run costs in a room that has lived long: the curve from its first hundred runs to its ten-thousandth.

One room and one agent that answers once and is silent four times, so that summaries are rare. A fresh room takes turns
with the old one, so that whatever else the machine does happens to both.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from bench import rooms
from bench.budgets import Figures
from bench.measure import folder, spent

RUNS = 10_000
QUICK_RUNS = 1_000
GROUP = 100  # runs between two rounds of measuring
ROUNDS = 20  # pairs of runs in a round

SPEAK: dict[str, Any] = {"calls": [{"tool": "send_message", "args": {"text": "I have noted that: {{trigger.text}}"}}]}
SILENT: dict[str, Any] = {"calls": [{"tool": "do_nothing", "args": {}}]}
STORY: dict[str, Any] = {
    "provider": "script",
    "turns": [{"when": "[05][.]$", "steps": [SPEAK]}, {"steps": [SILENT]}],
}


async def measure(*, quick: bool) -> Figures:
    count = QUICK_RUNS if quick else RUNS
    ratios: list[tuple[int, float]] = []
    with folder() as data:
        async with rooms.opened(data / "office", model=STORY) as made:
            [old] = await made.make("old", 1)
            for lived in range(GROUP, count + 1, GROUP):
                for _ in range(GROUP):
                    await made.answered([old])
                if lived in (GROUP, count) or lived % (count // 10) == 0:
                    ratios.append((lived, await _compare(made, old, lived)))
    for lived, ratio in ratios:
        print(f"  after {lived:>6,} runs: {ratio:.2f} × a run of a room that has had a hundred")
    return {"age.old_to_young": ratios[-1][1]}


async def _compare(made: rooms.Rooms, old: str, lived: int) -> float:
    """The middle of some pairs: a run of the old room, and one of a room with a hundred runs."""
    [young] = await made.make(f"young-{lived}", 1)
    for _ in range(GROUP):
        await made.answered([young])
    found = []
    for number in range(ROUNDS):
        cpu = {}
        for room in sorted((old, young), reverse=number % 2 == 1):
            with spent() as used:
                for _ in range(5):
                    await made.answered([room])
            cpu[room] = used.cpu
        found.append(cpu[old] / cpu[young])
    return median(found)
