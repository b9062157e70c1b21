"""Is something almost the same kept already? Asked with one question to the index, of a few passages."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from bullpen.memory import rows, search
from bullpen.memory.types import Stored
from bullpen.storage import Statement, Transaction, any_of, fragments
from bullpen.storage.tables import passage_words

COMPARED: Final = 10
NEAR: Final = 0.8  # of the fragments that either holds, so many stand in both
_SELECT = Statement(
    select(passage_words.c.passage_id, passage_words.c.words).where(any_of(passage_words.c.number, "numbers"))
)


async def find(tx: Transaction, scope: str, folded: str) -> Stored | None:
    """The one that is most like it, if any is like it at all."""
    own, marks = _split(fragments.indexed(scope, folded))
    numbers = await search.find_marked(tx, marks, COMPARED) if marks else []
    best: tuple[float, str] = (NEAR, "")
    for id, kept in await tx.all(_SELECT, numbers=numbers) if numbers else ():
        other, _ = _split(kept)
        best = max(best, (len(own & other) / len(own | other), id))
    stored = await rows.select_passage(tx, best[1]) if best[1] else None
    return stored if stored is not None and stored.scope == scope else None


def _split(kept: str) -> tuple[set[str], list[str]]:
    """The fragments, and the marks of a sketch."""
    found = kept.split(" ")
    marks = [word for word in found if fragments.MARK in word]
    return set(found).difference(marks), marks
