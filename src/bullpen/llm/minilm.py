"""MiniLM on this machine, without a network: an English model of 23 million numbers, in a child process.

The child is one of a pool of its own, so that pictures and documents do not wait for it. It is at the end of every
queue for the processor, and is asked for one small piece at a time: a question of somebody who waits comes after at
most one piece of the background's work. When nothing is asked for a while, it ends and its memory is free again.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import orjson

from bullpen.apart.pool import Died, ProcessPool, TooDear
from bullpen.errors import CannotStart, ModelUnavailable
from bullpen.llm.embedding import LONGEST_TEXT, Vector
from bullpen.llm.languages import is_english

MODEL: Final = "minilm-l6-v2"
PACKAGE: Final = "bullpen_minilm"
FILES: Final = ("weights.safetensors", "vocab.txt")
AT_ONCE: Final = 8
IDLE_SECONDS: Final = 300.0  # to start a child takes half a second, and 200 MB as long as it lives
SECONDS: Final = 20  # of CPU, for one piece; it takes a fifth of a second
MEGABYTES: Final = 2048  # of address space, most of which numpy never touches
INSTALL: Final = (
    "Install the extra `bullpen[embeddings]` and the package `bullpen-minilm` of the same release, or build its files "
    "with `python -m tools.minilm folder FOLDER` and name the folder in BULLPEN_EMBEDDINGS__WEIGHTS."
)


def find_weights(named: str) -> Path | None:
    """The folder with the weights: the one that the settings name, or the installed package."""
    if named:
        folder = Path(named).absolute()
    elif (spec := find_spec(PACKAGE)) is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0])
    else:
        return None
    return folder if all((folder / name).is_file() for name in FILES) else None


def is_installed(named: str) -> bool:
    return has_numpy() and find_weights(named) is not None


def has_numpy() -> bool:
    """It comes with the extra. Looked for, not imported: that takes a while."""
    return find_spec("numpy") is not None


class MiniLm:
    model = MODEL
    at_once = AT_ONCE

    def __init__(self, weights: str = "") -> None:
        folder = find_weights(weights)
        if folder is None or not has_numpy():
            raise CannotStart(f"BULLPEN_EMBEDDINGS__PROVIDER is minilm, but it is not installed. {INSTALL}")
        self._folder = folder
        self._pool = ProcessPool(IDLE_SECONDS)
        self._turn = asyncio.Lock()  # one child is enough: a second one would take 200 MB more

    @property
    def process_ids(self) -> list[int]:
        """Of the child, while there is one."""
        return self._pool.process_ids

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        found: list[Vector] = []
        for start in range(0, len(texts), AT_ONCE):
            async with self._turn:
                found += await self._ask([text[:LONGEST_TEXT] for text in texts[start : start + AT_ONCE]])
        return found

    def understands(self, text: str) -> bool:
        return is_english(text)

    async def _ask(self, texts: Sequence[str]) -> list[Vector]:
        async def data() -> AsyncIterator[bytes]:
            yield orjson.dumps(texts)

        fields = {"folder": str(self._folder)}
        try:
            answer = await self._pool.run("embed", fields, data(), seconds=SECONDS, megabytes=MEGABYTES)
        except (Died, TooDear) as error:
            raise ModelUnavailable(f"MiniLM did not answer: {error}") from None
        floats = array("f")
        floats.frombytes(answer.data)
        wide = answer.fields["dimensions"]
        return [floats[start : start + wide] for start in range(0, len(floats), wide)]

    async def aclose(self) -> None:
        await self._pool.close()
