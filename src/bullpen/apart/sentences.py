"""Turns texts into vectors with the weights of MiniLM. Imports nothing of ours; runs in a child of the pool.

A plain forward pass in numpy: six layers, no training, no framework. The weights are the folder of the package
`bullpen-minilm` (tools/minilm.py): half the precision on the disk, the full one here. Each vector has length one, so
the product of two is how near their texts are in meaning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from bullpen.apart.wordpiece import WordPieces

WEIGHTS: Final = "weights.safetensors"
VOCABULARY: Final = "vocab.txt"
LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12
MOST_PIECES: Final = 256  # what the model was made for; of a longer text the beginning counts
NICENESS: Final = 10  # everything else on the machine goes first

_KINDS: Final = {"F16": "<f2", "F32": "<f4"}


def embed(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """For the pool: the texts of `data` (JSON) in, their vectors out, one after the other, as 32-bit floats."""
    model = _open_model(fields["folder"])
    vectors = model.embed(json.loads(data))
    return {"count": len(vectors), "dimensions": vectors.shape[1]}, vectors.tobytes()


@cache
def _open_model(folder: str) -> MiniLm:
    with suppress(OSError):
        os.nice(NICENESS)
    return MiniLm(Path(folder))


class MiniLm:
    def __init__(self, folder: Path) -> None:
        # Before numpy is imported for the first time: threads of its own would fight for the cores.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        self._weights = _read_weights(folder / WEIGHTS)
        self._pieces = WordPieces((folder / VOCABULARY).read_text("utf-8").splitlines())

    def embed(self, texts: Sequence[str]) -> Any:
        """A row for each text."""
        import numpy as np

        numbers = [self._pieces.numbers(text, MOST_PIECES) for text in texts]
        found = np.empty((len(texts), 384), np.float32)
        # Texts of one length together: nothing has to be filled up, so a text's vector does not depend on its company.
        by_length: dict[int, list[int]] = {}
        for place, each in enumerate(numbers):
            by_length.setdefault(len(each), []).append(place)
        for places in by_length.values():
            found[places] = self._forward(np.array([numbers[place] for place in places]))
        return found

    def _forward(self, numbers: Any) -> Any:
        import numpy as np

        weights, length = self._weights, numbers.shape[1]
        x = (
            weights["embeddings.word_embeddings.weight"][numbers]
            + weights["embeddings.position_embeddings.weight"][:length]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._normalise(x, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            x = self._layer(x, f"encoder.layer.{layer}.")
        mean = x.mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _layer(self, x: Any, name: str) -> Any:
        attended = self._attend(x, f"{name}attention.self.")
        x = self._normalise(
            x + self._linear(attended, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm"
        )
        inner = _gelu(self._linear(x, f"{name}intermediate.dense"))
        return self._normalise(x + self._linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")

    def _attend(self, x: Any, name: str) -> Any:
        import numpy as np

        texts, length, width = x.shape
        query, key, value = (
            self._linear(x, name + part).reshape(texts, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32((width // HEADS) ** 0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, width)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalise(self, x: Any, name: str) -> Any:
        import numpy as np

        x = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        return x / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _gelu(x: Any) -> Any:
    import numpy as np

    # The error function by Abramowitz and Stegun, 7.1.26: exact to seven digits, and numpy has none of its own.
    scaled = x * np.float32(0.70710678)
    size = np.abs(scaled)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    return x * np.float32(0.5) * (1 + np.sign(scaled) * (1 - series * np.exp(-size * size)))


def _read_weights(path: Path) -> dict[str, Any]:
    """A safetensors file: the length of a head, the head as JSON, then all numbers."""
    import numpy as np

    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head, start = json.loads(data[8 : 8 + length]), 8 + length
    found = {}
    for name, about in head.items():
        if name == "__metadata__" or about["dtype"] not in _KINDS:
            continue
        begin, end = about["data_offsets"]
        numbers = np.frombuffer(data[start + begin : start + end], _KINDS[about["dtype"]])
        found[name] = numbers.reshape(about["shape"]).astype(np.float32)
    return found
