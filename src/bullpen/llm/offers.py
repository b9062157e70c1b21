"""What servers of models offered a moment ago."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from bullpen.llm.types import Model

KEPT_SECONDS: Final = 60.0
MOST_KEPT: Final = 200


@dataclass(frozen=True, slots=True)
class Offer:
    name: str
    context_tokens: int | None = None  # as its server says; most say nothing


@dataclass(slots=True)
class Offers:
    """What servers offered a moment ago, by whoever asked for what."""

    ask: Callable[[Model], Awaitable[Sequence[Offer]]]
    _kept: dict[tuple[str, ...], tuple[float, Sequence[Offer]]] = field(default_factory=dict)

    async def list(self, key: tuple[str, ...], model: Model, *, fresh: bool = False) -> Sequence[Offer]:
        """What is kept under this key, or what the model's server says now. Raises ModelError; that is not kept."""
        at, found = self._kept.get(key, (0.0, ()))
        if fresh or not at or monotonic() - at > KEPT_SECONDS:
            found = await self.ask(model)
            self._kept.pop(key, None)
            self._kept[key] = (monotonic(), found)
            if len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return found
