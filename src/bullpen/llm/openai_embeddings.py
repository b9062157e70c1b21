"""Vectors from any server that speaks as OpenAI's `/v1/embeddings` does, over the one way out.

What it answers is a stranger's: how many vectors, how wide, of what numbers. Anything that is not exactly what was
asked for is refused whole, and there is an end to how much is read. One question is one request; whoever asks in the
background asks again later.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from array import array
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullpen.errors import EgressError, ModelRefused, ModelUnavailable
from bullpen.llm import failures, streaming
from bullpen.llm.embedding import LONGEST_TEXT, MOST_DIMENSIONS, Vector, to_unit
from bullpen.llm.failures import About
from bullpen.net import urls
from bullpen.net.types import Limits
from bullpen.variables.types import SecretRef, Value

if TYPE_CHECKING:
    from bullpen.net.client import Egress
    from bullpen.variables.actions import Vault

USE: Final = "service:embeddings"  # as egress.listed has it
BASE: Final = "https://api.openai.com/v1"
MODEL: Final = "text-embedding-3-small"
KEY: Final = "OPENAI_API_KEY"
AT_ONCE: Final = 32
SECONDS: Final = 30.0
BYTES_A_NUMBER: Final = 28  # as JSON writes one, with what stands around it
BYTES_A_TEXT: Final = 2000


@dataclass(slots=True)
class OpenAiEmbedder:
    base: str
    name: str
    egress: Callable[[], Egress]
    vault: Vault
    find_key: Callable[[], Awaitable[Value | None]]
    key_name: str = KEY
    dimensions: int = 0  # 0: as many as the first answer has
    at_once: int = AT_ONCE
    _seen: int = field(default=0, init=False)

    @property
    def model(self) -> str:
        return f"openai:{self.name}" + (f":{self.dimensions}" if self.dimensions else "")

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        found: list[Vector] = []
        for start in range(0, len(texts), AT_ONCE):
            found += await self._ask([text[:LONGEST_TEXT] for text in texts[start : start + AT_ONCE]])
        return found

    def understands(self, text: str) -> bool:
        return True  # those that are offered know many languages

    async def aclose(self) -> None:
        return

    async def _ask(self, texts: Sequence[str]) -> list[Vector]:
        url = urls.parse(f"{self.base.rstrip('/')}/embeddings")
        key = await self.find_key()
        about = About(f"embeddings of {self.name}", str(url.origin), "" if key is None else self._describe(key))
        if key is None and self.base.rstrip("/") == BASE:
            raise ModelRefused(f"{about} needs a key. Set the variable {self.key_name}.")
        word = f"var{secrets.token_hex(12)}"
        asked: dict[str, Any] = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        if self.dimensions:
            asked["dimensions"] = self.dimensions
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {word}"
        most = len(texts) * ((self._expected() or MOST_DIMENSIONS) * BYTES_A_NUMBER + BYTES_A_TEXT)
        try:
            answer = await self.egress().request(
                USE,
                "POST",
                url,
                headers=headers,
                body=orjson.dumps(asked),
                limits=Limits(total=SECONDS, connect=streaming.CONNECT, answer=SECONDS, body_bytes=most, hops=0),
                stand_ins={} if key is None else {word: partial(self.vault.text, key)},
            )
        except EgressError as error:
            raise streaming.of_egress(error, about) from None
        if answer.status != 200:
            raise failures.of_status(answer.status, answer.headers, answer.body, about, now=time())
        try:
            return self._read(orjson.loads(answer.body), len(texts))
        except streaming.NONSENSE as error:
            why = str(error) if isinstance(error, Nonsense) else "that is no list of vectors"
            raise ModelUnavailable(f"{about} answers, but {why}. Check the address and the model's name.") from None

    def _describe(self, key: Value) -> str:
        name = self.key_name
        return f"the variable {name} of {key.scope}" if isinstance(key, SecretRef) else f"the variable {name}"

    def _expected(self) -> int:
        return self.dimensions or self._seen

    def _read(self, said: Any, count: int) -> list[Vector]:
        listed = said["data"]
        if not isinstance(listed, list) or len(listed) != count:
            raise Nonsense(f"not with {count} vectors")
        found: list[Vector | None] = [None] * count
        for place, each in enumerate(listed):
            found[_place(each, place, count)] = self._vector(each["embedding"])
        return list(_whole(found))

    def _vector(self, said: Any) -> Vector:
        numbers = _decode(said) if isinstance(said, str) else said
        if not isinstance(numbers, list | array) or not 1 <= len(numbers) <= MOST_DIMENSIONS:
            raise Nonsense("not with vectors")
        if isinstance(numbers, list) and not all(type(number) in (int, float) for number in numbers):
            raise Nonsense("not with numbers")
        if (expected := self._expected()) and len(numbers) != expected:
            raise Nonsense(f"with {len(numbers)} dimensions instead of {expected}")
        try:
            vector = to_unit(numbers)
        except (ValueError, OverflowError):
            raise Nonsense("with numbers that are no vector") from None
        self._seen = len(vector)
        return vector


class Nonsense(ValueError):
    """An answer that is none; the text says what it is instead."""


def _decode(said: str) -> Vector:
    """Some servers answer with base64, as the official client asks them to."""
    found = array("f")
    try:
        found.frombytes(base64.b64decode(said, validate=True))
    except (binascii.Error, ValueError):
        raise Nonsense("not with vectors") from None
    return found


def _place(each: Any, otherwise: int, count: int) -> int:
    place = each.get("index", otherwise)
    if type(place) is not int or not 0 <= place < count:
        raise Nonsense("with vectors of texts that nobody sent")
    return place


def _whole(found: Sequence[Vector | None]) -> Iterator[Vector]:
    for vector in found:
        if vector is None:
            raise Nonsense("with one vector twice")
        yield vector
