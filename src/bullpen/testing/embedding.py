"""A model for vectors that takes no time: what is near is what shares words, parts of words, or a meaning you give it.

The same text has the same vector everywhere. It can be away, refuse texts, and be held up, as real ones can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

from bullpen.errors import ModelRefused, ModelUnavailable
from bullpen.llm.embedding import Vector, to_unit

DIMENSIONS = 512


class TinyEmbedder:
    """`meanings`: words that mean another word. `model`: vectors under another name do not compare."""

    def __init__(self, meanings: Mapping[str, str] | None = None, *, model: str = "tiny", at_once: int = 8) -> None:
        self.model = model
        self.at_once = at_once
        self.meanings = dict(meanings or {})
        self.asked: list[list[str]] = []
        self.away = False
        self.refuses: set[str] = set()  # texts that hold one of these
        self.gate = asyncio.Event()  # cleared: nothing is answered
        self.gate.set()
        self.closed = False
        self.foreign = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked.append(list(texts))
        await self.gate.wait()
        if self.away:
            raise ModelUnavailable("The tiny model is away.")
        if refused := [text for text in texts if any(word in text for word in self.refuses)]:
            raise ModelRefused(f"The tiny model does not read {len(refused)} of these.")
        return [self.vector(text) for text in texts]

    def understands(self, text: str) -> bool:
        return not self.foreign

    async def aclose(self) -> None:
        self.closed = True

    def vector(self, text: str) -> Vector:
        numbers = [0.001] * DIMENSIONS
        for feature, weight in self._features(text):
            code = crc32(feature.encode())
            numbers[code % DIMENSIONS] += weight if code >> 16 & 1 else -weight
        return to_unit(numbers)

    def _features(self, text: str) -> Iterator[tuple[str, float]]:
        for word in text.casefold().split():
            said = self.meanings.get(word.strip(".,!?"), word.strip(".,!?"))
            yield said, 1.0
            for start in range(len(said) - 2):
                yield f"#{said[start : start + 3]}", 0.3
