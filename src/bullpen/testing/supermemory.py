"""A server that keeps documents as Supermemory's API v3 and v4 does, on this machine, and refuses what that refuses.

A document is `queued` at first and can be found once it is indexed: at once, or with `is_slow` when a test says so.
Found are documents of exactly the given container that share words with the query. `answers` are errors to give first.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from bullpen.testing.json_server import Request, listen, read_request, write_answer

KEY: Final = "sm_a-key-of-this-test-0123456789"
_TAG: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_OF_DOCUMENT: Final = {
    *("content", "containerTag", "containerTags", "customId", "metadata", "entityContext", "documentDate"),
    *("dreaming", "filepath", "filterByMetadata", "taskType"),
}
_OF_SEARCH: Final = {
    *("q", "aggregate", "containerTag", "filepath", "filters", "include", "limit", "rerank", "rewriteQuery"),
    *("searchMode", "threshold"),
}
_MODES: Final = ("memories", "hybrid", "documents")


@dataclass(slots=True)
class Document:
    id: str
    content: str
    container: str
    custom_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_indexed: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer to give instead. A status of 0: the request is carried out, and the answer never comes."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"error": "not now"}'


@dataclass
class SupermemoryServer:
    key: str = KEY
    is_slow: bool = False  # documents stay queued until `index` is called
    documents: dict[str, Document] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    answers: list[Failure] = field(default_factory=list)
    port: int = 0
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def contents(self, container: str) -> list[str]:
        return [each.content for each in self.documents.values() if each.container == container]

    def index(self) -> None:
        for document in self.documents.values():
            document.is_indexed = True

    async def was_asked(self, times: int, bound: float = 20.0) -> Request:
        async with asyncio.timeout(bound):
            while len(self.asked) < times:
                self._heard.clear()
                await self._heard.wait()
        return self.asked[times - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            request = await read_request(reader)
            self.asked.append(request)
            failure = self.answers.pop(0) if self.answers else None
            if failure is not None and failure.status:
                write_answer(writer, failure.status, failure.body, **failure.headers)
            else:
                status, answer = self._answer(request)
                if failure is not None:
                    writer.close()
                else:
                    write_answer(writer, status, answer)
            self._heard.set()
            if not writer.is_closing():
                await writer.drain()

    def _answer(self, request: Request) -> tuple[int, Any]:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {"error": "Unauthorized", "details": "Invalid API key"}
        if (request.method, request.path) == ("POST", "/v3/documents"):
            return self._checked(_document_problem(request.json)) or self._add(request.json)
        if (request.method, request.path) == ("POST", "/v4/search"):
            return self._checked(_search_problem(request.json)) or (200, self._search(request.json))
        if request.method == "DELETE" and request.path.startswith("/v3/documents/"):
            return self._delete(request.path.rpartition("/")[2])
        return 404, {"error": "Not found"}

    def _checked(self, problem: str | None) -> tuple[int, Any] | None:
        if problem is None:
            return None
        self.problems.append(problem)
        return 400, {"success": False, "error": [{"path": [], "message": problem}], "data": None}

    def _add(self, wanted: dict[str, Any]) -> tuple[int, Any]:
        custom_id = wanted.get("customId")
        known = next((each for each in self.documents.values() if custom_id and each.custom_id == custom_id), None)
        id = uuid4().hex[:22] if known is None else known.id
        self.documents[id] = Document(
            id, wanted["content"], wanted["containerTag"], custom_id, wanted.get("metadata", {}), not self.is_slow
        )
        return 200, {"id": id, "status": "queued"}

    def _search(self, wanted: dict[str, Any]) -> dict[str, Any]:
        asked = _words(wanted["q"])
        found = []
        for document in self.documents.values():
            if document.container == wanted.get("containerTag") and document.is_indexed:
                shared = len(asked & _words(document.content)) / max(1, len(asked))
                if shared > wanted.get("threshold", 0):
                    found.append((shared, document))
        found.sort(key=lambda each: -each[0])
        results = [
            {
                "id": f"mem_{document.id}",
                "memory": document.content,
                "similarity": round(similarity, 4),
                "metadata": dict(document.metadata) or None,
                "updatedAt": "2026-11-01T09:00:00.000Z",
                "version": 1,
            }
            for similarity, document in found[: wanted.get("limit", 10)]
        ]
        return {"results": results, "timing": 12, "total": len(results)}

    def _delete(self, id: str) -> tuple[int, Any]:
        for document in list(self.documents.values()):
            if id in (document.id, document.custom_id):
                del self.documents[document.id]
                return 204, None
        return 404, {"error": "Document not found"}


def _document_problem(wanted: Any) -> str | None:
    if not isinstance(wanted, dict) or not isinstance(wanted.get("content"), str) or not wanted["content"].strip():
        return "content is required"
    if unknown := set(wanted) - _OF_DOCUMENT:
        return f"unknown fields {sorted(unknown)}"
    for name in ("containerTag", "customId"):
        if name in wanted and not (isinstance(wanted[name], str) and _TAG.fullmatch(wanted[name])):
            return f"{name} has at most 100 letters, digits, hyphens, underscores and dots"
    metadata = wanted.get("metadata", {})
    plain = isinstance(metadata, dict) and all(isinstance(each, str | int | float | bool) for each in metadata.values())
    return None if plain else "metadata holds texts, numbers and booleans"


def _search_problem(wanted: Any) -> str | None:
    if not isinstance(wanted, dict) or not isinstance(wanted.get("q"), str) or not wanted["q"]:
        return "q is required"
    if unknown := set(wanted) - _OF_SEARCH:
        return f"unknown fields {sorted(unknown)}"
    if wanted.get("searchMode", "memories") not in _MODES:
        return f"searchMode is one of {', '.join(_MODES)}"
    if not 1 <= wanted.get("limit", 10) <= 100 or not 0 <= wanted.get("threshold", 0) <= 1:
        return "limit is from 1 to 100, threshold from 0 to 1"
    return None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


@asynccontextmanager
async def supermemory_server(**more: Any) -> AsyncIterator[SupermemoryServer]:
    made = SupermemoryServer(**more)
    async with listen(made.serve) as made.port:
        yield made
