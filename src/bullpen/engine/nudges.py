"""What actions tell the engine: that a thread may have work, and when something is due.

Both are hints. Nobody hears them in a process that drives nothing, and a crash may lose them: the sweep finds all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bullpen.storage import Topic, Transaction


class Nudge(NamedTuple):
    thread_id: str
    epoch: int  # the waking that it is for


NUDGED: Final = Topic[Nudge]("a thread may have work")
DUE: Final = Topic[int]("something is due at this moment")


def nudge(tx: Transaction, thread_id: str, epoch: int) -> None:
    """Say that a thread may have work, if and when `tx` commits."""
    tx.tell(NUDGED, Nudge(thread_id, epoch))


def remind(tx: Transaction, due_at: int) -> None:
    """Have this process look at that moment for whatever is due. The others find it with their next sweep."""
    tx.tell(DUE, due_at)
