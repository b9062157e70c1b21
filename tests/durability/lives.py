"""Lives of an office in a child of the fork server, and where they are cut short."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bullpen.testing.forks import Forks
from tests import effort
from tests.databases import Database, Kind, sql
from tests.waits import BOUND

T = TypeVar("T")
U = TypeVar("U")
Found = dict[str, Any]

# A life on PostgreSQL waits a little for the database.
AT_ONCE: dict[Kind, int] = {"sqlite": 2, "postgres": 3}
SAMPLED = not effort.EVERYTHING and effort.SLICE is None
GOLDEN_RATIO = 0.618  # its multiples are spread evenly between whole numbers
LONG = 3 * BOUND  # for a life in which the whole story is told
# What a killed process held on PostgreSQL has run out: its leases, and its jobs, which nobody keeps alive any more.
RUN_OUT = (
    "UPDATE leases SET until = 1 WHERE owner IS NOT NULL",
    "UPDATE bridges SET until = 1 WHERE owner IS NOT NULL",
    "UPDATE pgqueuer SET heartbeat = 'epoch' WHERE status = 'picked'",
)


def live(forks: Forks, target: str, world: Database, *, seconds: float = BOUND, **how: Any) -> Found | None:
    """One life. What it reported last, or None if it was killed."""
    reports = forks.run(target, seconds=seconds, url=world.url, data=str(world.data), **how)
    return reports[-1] if reports else None


def live_again(forks: Forks, target: str, world: Database, **how: Any) -> Found:
    """The life after a kill, to its end. What the killed one held has run out by then.

    Processes that wait for the lease of a dead one are in test_many_processes.py and test_chaos.py.
    """
    if world.kind == "postgres":
        sql(world.url, *RUN_OUT)
    found = live(forks, target, world, **how)
    assert found is not None, "the second life ended before its time"
    return found


def pick_kills(points: int, *, sample: int, turn: int = 0, began: int = 0) -> list[int]:
    """Which of the points 1, 2, … to kill at: all of them, or some. Another `turn` makes another sample.

    A sample leaves out those up to `began`, which every life has in common: it starts.
    """
    numbers = range(began + 1 if SAMPLED else 1, points + 1)
    first = int(len(numbers) * (turn * GOLDEN_RATIO % 1))
    return sorted(effort.pick([*numbers[first:], *numbers[:first]], sample=sample))


@dataclass(frozen=True)
class Ending:
    """What became of a life that was to be killed, and of the next one."""

    killed: bool  # or it was over before
    wrong: list[str]


def kill_at(kind: Kind, attempt: Callable[[int], Ending], points: Sequence[int]) -> list[str]:
    """Make an attempt with a kill at each of these points; what was wrong afterwards."""
    endings = in_parallel(kind, attempt if effort.EVERYTHING else partial(_kill_in_time, attempt), points)
    wrong = [line for ending in endings for line in ending.wrong]
    # What shares a commit in one life may have one each in another. So the last few kills may come too late.
    late = sum(not ending.killed for ending in endings)
    assert wrong or late <= (len(points) / 3 if effort.EVERYTHING else 0), f"{late} of {len(points)} were not killed"
    return wrong


def _kill_in_time(attempt: Callable[[int], Ending], point: int) -> Ending:
    """Where there are few kills, none of them may come too late: it is tried again, sooner."""
    ending = attempt(point)
    while not ending.killed and not ending.wrong and point > 1:
        point //= 2
        ending = attempt(point)
    return ending


def in_parallel(kind: Kind, work: Callable[[T], U], cases: Iterable[T]) -> list[U]:
    with ThreadPoolExecutor(AT_ONCE[kind]) as pool:
        return list(pool.map(work, cases))
