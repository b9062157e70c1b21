"""What turns texts into vectors: the port. Near vectors mean near texts.

It stands here, beside the models that write: both are asked over the same way out, with keys of the same kind, and fail
with the same errors. Nothing in here imports numpy; a vector is an array of 32-bit floats whose length is one.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import isfinite, sqrt
from typing import Final, Protocol, TypeAlias

Vector: TypeAlias = "array[float]"

MOST_DIMENSIONS: Final = 8192
LONGEST_TEXT: Final = 8000  # characters; what comes later in a text does not move its vector


class Embedder(Protocol):
    @property
    def model(self) -> str:
        """Vectors of different models do not compare, so each is kept under this name."""

    @property
    def at_once(self) -> int:
        """How many texts to bring at a time, in the background."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in order. Raises ModelUnavailable (worth asking again) or ModelRefused (not)."""

    def understands(self, text: str) -> bool:
        """Does it know the language? If not, what it finds near says little."""

    async def aclose(self) -> None: ...


def to_unit(numbers: Sequence[float]) -> Vector:
    """The same direction with the length one. Raises ValueError if they are not numbers, or all nothing."""
    length = sqrt(sum(number * number for number in numbers))
    if not isfinite(length) or length < 1e-12:
        raise ValueError("this is no vector")
    return array("f", [number / length for number in numbers])
