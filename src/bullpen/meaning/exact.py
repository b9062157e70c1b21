"""The nearest vectors of a scope, compared one by one: exact, and for a scope of thousands a matter of milliseconds.

Vectors of scopes in use stay in memory, up to a bound; what was not used for longest goes first. A scope is known to be
unchanged by its count and its highest number, which the database tells each time: so nobody has to say that something
has changed, in this process or in another. What was only added is added here; anything else is read anew. A scope that
is larger than the bound is compared page by page, and nothing of it is kept.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import Any, Final

from bullpen.llm.embedding import Vector
from bullpen.meaning import rows
from bullpen.meaning.types import Count, Kind, Near
from bullpen.storage import Store

PAGE: Final = 2_000  # vectors read at a time, so that others get their turn
LARGE: Final = 20_000  # from this many on they are compared in a thread
BYTES_OF_ID: Final = 120  # what Python takes for one, and its place in a list
MOST_COMPARED: Final = 400_000  # in one search; more than that is not searched whole


@dataclass(slots=True)
class Scope:
    """What is in memory of one scope: a row of the matrix for each id."""

    ids: list[str]
    matrix: Any
    rows: int = 0  # how many were read; one of another width is not among the ids
    newest: int = 0  # the highest number among them

    @property
    def size(self) -> int:
        return int(self.matrix.nbytes) + len(self.ids) * BYTES_OF_ID


class Vectors:
    """Those of one model."""

    def __init__(self, store: Store, model: str, most_bytes: int) -> None:
        self._store = store
        self._model = model
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[Kind, str], Scope] = OrderedDict()
        self._loading = asyncio.Lock()  # one at a time: two that read the same scope would need its room twice

    @property
    def size(self) -> int:
        return sum(scope.size for scope in self._kept.values())

    async def nearest(self, kind: Kind, scopes: Sequence[str], wanted: Vector, limit: int) -> tuple[list[Near], bool]:
        """The nearest of all these scopes, best first; and whether everything was compared."""
        counted = await self._store.read(partial(rows.count, kind=kind, model=self._model, scopes=scopes))
        for scope in scopes:
            if scope not in counted:
                self._kept.pop((kind, scope), None)
        found: list[Near] = []
        compared = 0
        # Small ones first: if not everything can be compared, most places are.
        for scope in sorted(counted, key=lambda each: counted[each].vectors):
            compared += counted[scope].vectors
            if compared > MOST_COMPARED:
                return _best(found, limit), False
            found += await self._nearest_in(kind, scope, counted[scope], wanted, limit)
        return _best(found, limit), True

    async def _nearest_in(self, kind: Kind, scope: str, count: Count, wanted: Vector, limit: int) -> list[Near]:
        if count.vectors * (len(wanted) * 4 + BYTES_OF_ID) > self._most_bytes // 2:
            return await self._walk(kind, scope, wanted, limit)
        async with self._loading:
            held = await self._current(kind, scope, count, len(wanted))
        if len(held.ids) < LARGE:
            return list(_compare(held.ids, held.matrix, wanted, limit))
        return list(await asyncio.to_thread(lambda: list(_compare(held.ids, held.matrix, wanted, limit))))

    async def _walk(self, kind: Kind, scope: str, wanted: Vector, limit: int) -> list[Near]:
        found: list[Near] = []
        after = 0
        while page := await self._page(kind, scope, after):
            after = page[-1][0]
            ids, matrix = await asyncio.to_thread(_unpack, page, len(wanted))
            found = _best([*found, *_compare(ids, matrix, wanted, limit)], limit)
        return found

    async def _page(self, kind: Kind, scope: str, after: int) -> list[tuple[int, str, bytes]]:
        read = partial(rows.select_after, kind=kind, model=self._model, scope=scope, after=after, limit=PAGE)
        return await self._store.read(read)

    async def _current(self, kind: Kind, scope: str, count: Count, wide: int) -> Scope:
        """The scope as it is now: as it is kept, with what was added, or read whole."""
        held = self._kept.pop((kind, scope), None)
        if held is not None and held.newest < count.newest:
            held = await self._load(kind, scope, wide, held)
        if held is None or held.rows != count.vectors or held.newest != count.newest:
            # It may have changed again meanwhile; the next search sees that, as this one sees what changed before.
            held = await self._load(kind, scope, wide, None)
        self._kept[kind, scope] = held
        while self.size > self._most_bytes and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return held

    async def _load(self, kind: Kind, scope: str, wide: int, held: Scope | None) -> Scope:
        np = _numpy()
        ids = [] if held is None else list(held.ids)
        parts = [np.empty((0, wide), np.float32)] if held is None else [held.matrix]
        read, newest = (0, 0) if held is None else (held.rows, held.newest)
        while page := await self._page(kind, scope, newest):
            newest = page[-1][0]
            read += len(page)
            more, matrix = _unpack(page, wide)
            ids += more
            parts.append(matrix)
        return Scope(ids, np.concatenate(parts), read, newest)


def _numpy() -> Any:
    """Imported when somebody searches. One thread: what it does takes a few milliseconds, and there are others."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy as np

    return np


def _unpack(page: Sequence[tuple[int, str, bytes]], wide: int) -> tuple[list[str], Any]:
    """Vectors of another width are nobody's: a model whose dimensions were changed under the same name."""
    np = _numpy()
    fitting = [(id, vector) for _, id, vector in page if len(vector) == wide * 2]
    numbers = np.frombuffer(b"".join(vector for _, vector in fitting), "<f2")
    return [id for id, _ in fitting], numbers.reshape(len(fitting), wide).astype(np.float32)


def _compare(ids: Sequence[str], matrix: Any, wanted: Vector, limit: int) -> Iterator[Near]:
    np = _numpy()
    scores = matrix @ np.frombuffer(wanted, np.float32)
    places = np.argpartition(scores, -limit)[-limit:] if len(ids) > limit else range(len(ids))
    for place in places:
        yield Near(ids[place], float(scores[place]))


def _best(found: Sequence[Near], limit: int) -> list[Near]:
    return nlargest(limit, found, key=lambda near: (near.similarity, near.id))


def pack(vector: Vector) -> bytes:
    """As a row keeps it: half the precision loses nothing that a ranking would show."""
    np = _numpy()
    packed: bytes = np.frombuffer(vector, np.float32).astype("<f2").tobytes()
    return packed
