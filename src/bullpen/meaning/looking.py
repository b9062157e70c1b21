"""Looking for what means the same as a question. Asked before the transaction that shows the results.

A question gets its vector from the model, which may be far away: there is an end to waiting for it, and without it the
search goes on by words. Questions that were asked a moment ago are not sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Final

from bullpen.errors import ModelError
from bullpen.llm.embedding import Embedder, Vector
from bullpen.meaning import rows
from bullpen.meaning.exact import Vectors
from bullpen.meaning.types import NOTHING, Kind, Looked
from bullpen.observe import counts
from bullpen.storage import Store

logger = logging.getLogger("bullpen.meaning")

CANDIDATES: Final = 50
PATIENCE_SECONDS: Final = 5.0
REMEMBERED: Final = 256
LONGEST_QUESTION: Final = 1000


class Looking:
    def __init__(self, store: Store, embedder: Embedder, most_bytes: int) -> None:
        self._store = store
        self._embedder = embedder
        self._vectors = Vectors(store, embedder.model, most_bytes)
        self._questions: OrderedDict[str, Vector] = OrderedDict()

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def size(self) -> int:
        """What vectors take of this process's memory."""
        return self._vectors.size

    def forget_questions(self) -> None:
        self._questions.clear()

    async def look(self, kind: Kind, scopes: Sequence[str], question: str, limit: int = CANDIDATES) -> Looked:
        """The nearest of these scopes, which the caller may read."""
        question = " ".join(question.split())[:LONGEST_QUESTION]
        if not question or not scopes:
            return NOTHING
        behind = await self._store.read(partial(rows.is_behind, kind=kind, model=self._embedder.model, scopes=scopes))
        wanted = await self._question(question)
        if wanted is None:
            return Looked(behind=behind, away=True)
        near, whole = await self._vectors.nearest(kind, scopes, wanted, limit)
        understood = self._embedder.understands(question)
        return Looked(near, behind=behind, partial=not whole, understood=understood)

    async def _question(self, question: str) -> Vector | None:
        if (known := self._questions.pop(question, None)) is None:
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    [known] = await self._embedder.embed([question])
                counts.EMBEDDED.add("question", "embedded")
            except (ModelError, TimeoutError) as error:
                counts.EMBEDDED.add("question", "failed")
                logger.warning("a search by meaning was by words alone: %s", str(error) or "the model took too long")
                return None
        self._questions[question] = known
        if len(self._questions) > REMEMBERED:
            self._questions.popitem(last=False)
        return known
