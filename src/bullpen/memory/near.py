"""Is something almost the same kept already? Looked for with two questions to the index, among a few passages."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from bullpen.memory import rows, search
from bullpen.memory.types import Stored
from bullpen.storage import Statement, Transaction, any_of, fragments
from bullpen.storage.tables import passage_words

COMPARED: Final = 10
NEAR: Final = 0.8  # of the fragments that either holds, so many stand in both
SHORTEST: Final = 8  # fragments; of less than that nothing can be said
LONGEST: Final = 4_000
_SELECT = Statement(
    select(passage_words.c.passage_id, passage_words.c.words).where(any_of(passage_words.c.number, "numbers"))
)


async def find(tx: Transaction, scope: str, folded: str) -> Stored | None:
    """The one that is most like it, if any is like it at all."""
    own = set(fragments.indexed(scope, folded).split(" "))
    if not SHORTEST <= len(own) <= LONGEST:
        return None
    longest = [needle for needle in search.parse(folded[:LONGEST]) if needle.fragments]
    numbers: set[int] = set()
    for pair in (longest[:2], longest[2:4]):
        if pair:
            numbers.update(await search.find_numbers(tx, [scope], pair, COMPARED))
    best: tuple[float, str] = (NEAR, "")
    for id, kept in await tx.all(_SELECT, numbers=sorted(numbers)) if numbers else ():
        other = set(kept.split(" "))
        best = max(best, (len(own & other) / len(own | other), id))
    stored = await rows.select_passage(tx, best[1]) if best[1] else None
    return stored if stored is not None and stored.scope == scope else None
