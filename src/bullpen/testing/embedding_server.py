"""A server that speaks as OpenAI's `/v1/embeddings` does, on this machine: it checks what it is sent.

What the real one would refuse it refuses, with the same kind of error. A test may give it `behaviours`, each for one
request, that answer something else: errors, nonsense, silence.
"""

from __future__ import annotations

import asyncio
import base64
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bullpen.testing.embedding import TinyEmbedder
from bullpen.testing.json_server import Request, listen, read_request, write_answer

KEY = "open-sesame-of-this-test-42"
MOST_TEXTS = 2048


@dataclass(frozen=True, slots=True)
class Says:
    """An answer in place of the right one. Bytes are sent as they are, `None` is silence."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class EmbeddingServer:
    tiny: TinyEmbedder
    key: str | None = KEY
    port: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    behaviours: list[Says] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            says = self._answer(await read_request(reader))
            if says.body is None:
                await reader.read()
                return
            write_answer(writer, says.status, says.body, **says.headers)
            await writer.drain()

    def _answer(self, request: Request) -> Says:
        if (request.method, request.path) != ("POST", "/v1/embeddings"):
            return _error(404, f"Unknown request URL: {request.method} {request.path}")
        sent = request.headers.get("authorization", "")
        if self.key is not None and sent != f"Bearer {self.key}":
            return _error(401, f"Incorrect API key provided: {sent}", "invalid_api_key")
        asked = request.json
        self.asked.append(asked)
        if self.behaviours:
            return self.behaviours.pop(0)
        if wrong := _wrong(asked):
            return _error(400, wrong)
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        vectors = [self._vector(text, asked) for text in texts]
        listed = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        used = sum(len(text) for text in texts) // 4
        usage = {"prompt_tokens": used, "total_tokens": used}
        return Says({"object": "list", "data": listed, "model": asked["model"], "usage": usage})

    def _vector(self, text: str, asked: Mapping[str, Any]) -> Any:
        vector = self.tiny.vector(text)[: asked.get("dimensions", 10_000)]
        if asked.get("encoding_format", "float") == "float":
            return vector.tolist()
        return base64.b64encode(array("f", vector).tobytes()).decode()


def _wrong(asked: Mapping[str, Any]) -> str:
    """What the real server would not take."""
    if not isinstance(asked.get("model"), str) or not asked["model"]:
        return "you must provide a model parameter"
    texts = asked.get("input")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list) or not texts or len(texts) > MOST_TEXTS:
        return "'$.input' is invalid"
    if not all(isinstance(text, str) and text for text in texts):
        return "'$.input' is invalid: input cannot be an empty string"
    if asked.get("encoding_format", "float") not in ("float", "base64"):
        return "'$.encoding_format' is invalid"
    if strange := set(asked) - {"model", "input", "encoding_format", "dimensions", "user"}:
        return f"Unrecognized request arguments supplied: {', '.join(sorted(strange))}"
    return ""


def _error(status: int, message: str, code: str | None = None) -> Says:
    return Says({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}, status)


@asynccontextmanager
async def embedding_server(
    behaviours: Sequence[Says] = (), *, key: str | None = KEY, tiny: TinyEmbedder | None = None
) -> AsyncIterator[EmbeddingServer]:
    made = EmbeddingServer(tiny or TinyEmbedder(), key, behaviours=list(behaviours))
    async with listen(made.serve) as made.port:
        yield made
