"""Supermemory's API (v3 and v4): keep a document, find documents, take one out. Over our own way out.

What it answers is text from outside: bounded, checked, and read as data. A document carries the id of our passage as
its own id, so sending it twice keeps one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullpen.errors import EgressError, EgressTooLarge
from bullpen.net.types import Limits
from bullpen.variables.actions import Vault
from bullpen.variables.types import Value

if TYPE_CHECKING:
    from bullpen.net.client import Egress
    from bullpen.net.response import Answer

USE: Final = "service:supermemory"
URL: Final = "https://api.supermemory.ai"
# Where the key is looked for, in this order.
KEYS: Final = ("SUPERMEMORY_API_KEY", "SUPERMEMORY_OPENCLAW_API_KEY", "SUPERMEMORY_CC_API_KEY")
SECONDS: Final = 10.0
LIMITS: Final = Limits(total=SECONDS, connect=SECONDS, answer=SECONDS, body_bytes=2 << 20, hops=0)
MOST_RESULTS: Final = 100
MOST_CHARACTERS: Final = 20_000  # of one result
_KEY: Final = "{{supermemory-key}}"
_TAG: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_AGAIN: Final = frozenset({401, 402, 403, 408, 409, 425, 429})  # besides 500 and more: a key or a plan can be mended


class SupermemoryFailed(Exception):
    """What went wrong, for models and people. `is_final`: this request would be refused again."""

    def __init__(self, message: str, *, is_final: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.is_final = is_final
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Hit:
    content: str
    similarity: float
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Supermemory:
    egress: Callable[[], Egress]
    vault: Vault
    engine: str  # auto, supermemory, own: see settings.py
    url: str = URL

    async def keep(
        self, key: Value, container: str, id: str, content: str, metadata: Mapping[str, str | float | bool]
    ) -> None:
        body = {"content": content, "containerTag": container, "customId": id}
        await self._ask(key, "POST", "/v3/documents", {**body, "metadata": metadata} if metadata else body)

    async def find(self, key: Value, container: str, query: str, limit: int) -> list[Hit]:
        body = {"q": query, "containerTag": container, "searchMode": "hybrid", "limit": min(limit, MOST_RESULTS)}
        answer = await self._ask(key, "POST", "/v4/search", body)
        return _hits(answer.body, limit)

    async def drop(self, key: Value, id: str) -> None:
        """What is not there any more is dropped already."""
        await self._ask(key, "DELETE", f"/v3/documents/{id}", None, fine=frozenset({404}))

    async def _ask(
        self, key: Value, method: str, path: str, body: Any, *, fine: frozenset[int] = frozenset()
    ) -> Answer:
        try:
            answer = await self.egress().request(
                USE,
                method,
                f"{self.url.rstrip('/')}{path}",
                headers={"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json"},
                body=None if body is None else orjson.dumps(body),
                limits=LIMITS,
                stand_ins={_KEY: partial(self.vault.text, key)},
            )
        except EgressTooLarge as error:
            raise SupermemoryFailed(f"Supermemory answered more than is read of it. {error.message}") from None
        except EgressError as error:
            raise SupermemoryFailed(f"Supermemory cannot be reached. {error.message}") from None
        if 200 <= answer.status < 300 or answer.status in fine:
            return answer
        raise _failure(answer)


def container_of(name: str) -> str:
    """The container tag of a space with this folder, or of this id if it has none."""
    tag = f"nanoclaw_{name}"
    return tag if _TAG.fullmatch(tag) else f"nanoclaw_{sha256(name.encode()).hexdigest()[:40]}"


def _failure(answer: Answer) -> SupermemoryFailed:
    status = answer.status
    final = 300 <= status < 500 and status not in _AGAIN
    said = {
        401: "Supermemory refused the key. Check SUPERMEMORY_API_KEY.",
        402: "Supermemory's plan does not cover this.",
        403: "Supermemory refused the key, or its plan does not cover this.",
        429: "Supermemory takes no more requests just now.",
    }.get(status, f"Supermemory answered {status}.")
    return SupermemoryFailed(said, is_final=final, retry_after=_retry_after(answer.headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds > 0:
            return seconds
    return None


def _hits(body: bytes, limit: int) -> list[Hit]:
    try:
        results = orjson.loads(body)["results"]
        return [hit for each in results[:limit] if (hit := _hit(each)) is not None]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise SupermemoryFailed("Supermemory answered something that is no list of results.") from error


def _hit(found: Any) -> Hit | None:
    content = found.get("memory") or found.get("chunk") if isinstance(found, dict) else None
    if not isinstance(content, str):
        return None
    similarity, metadata = found.get("similarity"), found.get("metadata")
    # orjson reads no NaN; a boolean is a number for Python.
    known = isinstance(similarity, int | float) and not isinstance(similarity, bool)
    return Hit(
        content[:MOST_CHARACTERS].replace("\x00", ""),
        min(1.0, max(0.0, float(similarity))) if known else 0.0,
        metadata if isinstance(metadata, dict) else {},
    )
