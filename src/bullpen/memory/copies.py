"""What Supermemory is to have of our passages: kept here first, sent when it answers, dropped when we forget.

The row says what is wanted; memory/sender.py carries it out. Only the spaces' own passages have copies.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bullpen.memory import copy_rows as rows
from bullpen.memory.copy_rows import Copy, Document
from bullpen.memory.supermemory import KEYS, Supermemory, SupermemoryFailed
from bullpen.observe.redact import REDACTOR
from bullpen.replacing import replace
from bullpen.storage import Topic, Transaction
from bullpen.variables.types import Value

# For so long a copy is somebody's who sends it; then it is due again.
LEASE_MS: Final = 60_000
# Seconds until the next attempt: after the first failure, the second, … and so on with the last.
WAITS: Final = (5, 15, 60, 300, 1800, 3600)
JITTER: Final = 0.2
LONGEST: Final = 6 * 3600.0  # that Supermemory may ask us to wait

# A copy is due.
DUE: Final = Topic[str]("a copy of a passage is to be sent or dropped")


@dataclass(frozen=True, slots=True)
class Errand:
    """A copy that is ours to send, with the key. No document: it is to be dropped."""

    copy: Copy
    key: Value
    document: Document | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A passage that was sent before it was kept, under the id that it will have, and what came of that."""

    passage_id: str
    container: str
    failure: SupermemoryFailed | None


async def find_key(tx: Transaction, supermemory: Supermemory) -> Value | None:
    """The first of the known names that has a value in the office's variables or in the settings. None also if notes
    are to be kept here alone."""
    for name in KEYS if supermemory.engine != "own" else ():
        if (found := await supermemory.vault.select_shared(tx, name)) is not None:
            return found
    return None


async def note_attempt(tx: Transaction, passage_id: str, attempt: Attempt) -> None:
    """Supermemory shall have a copy of this passage, and one attempt was made. What it got under another id goes."""
    if passage_id != attempt.passage_id:
        await rows.put_copy(tx, Copy(attempt.passage_id, attempt.container, "dropped", due_at=tx.clock.millis()))
        return
    failure = attempt.failure
    if failure is None:
        await rows.put_copy(tx, Copy(passage_id, attempt.container, "kept"))
        return
    due_at = None if failure.is_final else tx.clock.millis() + wait_after(1, failure.retry_after)
    error = _told(failure)
    await rows.put_copy(tx, Copy(passage_id, attempt.container, "kept", 1, due_at, error))


def _told(failure: SupermemoryFailed) -> str:
    return REDACTOR.clean(failure.message)[:500]


async def change(tx: Transaction, passage_id: str) -> None:
    """The passage says something else: the copy shall, too."""
    if await rows.set_wanted(tx, [passage_id], "kept"):
        tx.tell(DUE, passage_id)


# ── sending ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def take(tx: Transaction, container: str, supermemory: Supermemory) -> Errand | None:
    """The next copy whose time has come. None: there is none, another process has it, or there is no key."""
    key = await find_key(tx, supermemory)
    copy = None if key is None else await rows.select_next(tx, container)
    if key is None or copy is None or not await rows.claim(tx, copy, tx.clock.millis() + LEASE_MS):
        return None
    document = await rows.select_document(tx, copy.passage_id) if copy.wanted == "kept" else None
    return Errand(replace(copy, attempts=copy.attempts + 1), key, document)


async def settle(tx: Transaction, errand: Errand, failure: SupermemoryFailed | None) -> None:
    copy = errand.copy
    if failure is not None:
        next_at = None if failure.is_final else tx.clock.millis() + wait_after(copy.attempts, failure.retry_after)
        await rows.settle(tx, copy, next_at=next_at, error=_told(failure))
    elif errand.document is None and await rows.select_document(tx, copy.passage_id) is None:
        await rows.delete_copy(tx, copy)
    else:  # also when it was dropped: a passage that another stands in place of may come back
        await rows.settle(tx, copy, next_at=None, error=None)


def wait_after(attempt: int, asked: float | None = None) -> int:
    """Milliseconds until the next attempt. Never sooner than Supermemory asked for."""
    usual = WAITS[min(attempt, len(WAITS)) - 1] * (1 + JITTER * (2 * random.random() - 1))
    return int(1000 * max(usual, min(asked or 0.0, LONGEST)))


def sendable(metadata: Mapping[str, Any]) -> dict[str, str | float | bool]:
    """Of a passage's metadata what Supermemory takes."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}
