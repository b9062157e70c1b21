"""One ranking out of two: what holds the words, and what means the same. Pure.

Where the model understands the language of the question, both lists count (reciprocal ranks): what stands high in both
comes first. A text that holds every word of the question keeps a place at the top, since names and numbers mean nothing
to a model. Where it does not understand the language, words come first, as they would alone, and meaning only fills the
places that are left: so a search is never worse for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bullpen.meaning.types import Near

# How fast a rank loses weight. Small: the first of a list says much more than the tenth.
RANK: Final = 10
# What a text that holds every word of the question has before all ranks are counted.
WHOLE: Final = 0.1
# What words count for, if meaning counts for one. By bench/retrieval, of which `dev` was looked at.
WORDS: Final = 1.5
# A text that only means something has to be so near, if words found others.
FLOOR: Final = 0.2


@dataclass(frozen=True, slots=True)
class Ranked:
    id: str
    similarity: float | None = None  # None: nobody compared it


@dataclass(frozen=True, slots=True)
class Worded:
    """A text that holds words of the question. 1: all of them."""

    id: str
    score: float = 1.0


def fuse(worded: Sequence[Worded], near: Sequence[Near], *, understood: bool, limit: int) -> list[Ranked]:
    """The best first."""
    similar = {each.id: each.similarity for each in near}
    near = [each for each in near if not worded or each.similarity >= FLOOR]
    if not understood:
        ids = dict.fromkeys([*(each.id for each in worded), *(each.id for each in near)])
        return [Ranked(id, similar.get(id)) for id in ids][:limit]
    scores: dict[str, float] = {}
    for rank, each in enumerate(worded):
        scores[each.id] = WORDS * each.score / (RANK + rank) + (WHOLE if each.score >= 1 else 0.0)
    for rank, found in enumerate(near):
        scores[found.id] = scores.get(found.id, 0.0) + 1 / (RANK + rank)
    ordered = sorted(scores, key=lambda id: scores[id], reverse=True)
    return [Ranked(id, similar.get(id)) for id in ordered][:limit]
