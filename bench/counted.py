"""A program to be counted from outside. valgrind notes its count each time it calls `getppid`, which nothing else does.

`python -m bench.counted run ROUNDS [DATABASE_URL]` plays the story of a run and prints the CPU seconds between its
notes, `… prepare DATA` makes rooms to post into and prints a token, and `… serve …` is `bullpen serve`, which makes a
note when it gets a signal. `bench/instructions.py` also runs this file with the code of older commits.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import uvloop

from bench import rooms
from bench.measure import folder
from bullpen.cli import main as bullpen

ALONE, AT_ONCE, WAKING = 10, 20, 30
AN_HOUR = 3_600.0  # nobody renews a lease or sweeps meanwhile: under valgrind everything takes long


def note() -> float:
    os.getppid()
    return time.process_time()


async def run(data: Path, rounds: int, url: str) -> tuple[float, float]:
    """CPU seconds of a run, one at a time and many at once."""
    async with rooms.opened(data, url, lease_seconds=AN_HOUR) as made:
        alone, many = await made.make("short", ALONE), await made.make("many", AT_ONCE)
        await _play(made, alone, many, 1)  # to warm up
        return await _play(made, alone, many, rounds)


async def _play(made: rooms.Rooms, alone: list[str], many: list[str], rounds: int) -> tuple[float, float]:
    began = note()
    for room in alone * rounds:
        await made.answered([room])
    between = note()
    for _ in range(rounds):
        await made.answered(many)
    return (between - began) / (ALONE * rounds), (note() - between) / (AT_ONCE * rounds)


async def prepare(data: Path) -> str:
    """A room that wakes nobody, rooms that each wake somebody, and a token."""
    async with rooms.opened(data, drive=False) as made:
        await made.make_empty("quiet", 1, wake="none")
        await made.make_empty("waking", WAKING, wake="all")
        return await made.token()


def main(command: str, *arguments: str) -> None:
    if command == "serve":
        signal.signal(signal.SIGUSR1, lambda *_: note())
        sys.exit(bullpen(["serve", *arguments]))
    with folder() as data, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if command == "prepare":
            print(runner.run(prepare(Path(arguments[0]))))
        else:
            print(json.dumps(runner.run(run(data, int(arguments[0]), "".join(arguments[1:])))))


if __name__ == "__main__":
    main(*sys.argv[1:])
