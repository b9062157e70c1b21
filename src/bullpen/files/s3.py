"""Bytes in storage that speaks S3: another place behind the port `Blobs`, chosen by a setting.

Asks through the one way out, under the use `files`. What comes is gathered in parts on the disk, never in memory, and
an object appears when it is complete: by one PUT if it fits a part, else by a multipart upload that is given up
if anything fails. Whatever the store does wrong is told as Unavailable, with a sentence; what was begun and never
finished, because this process was killed, `tidy` removes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, TypeVar
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.sax.saxutils import escape

from bullpen.errors import Broken, BullpenError, EgressDenied, EgressError, NotFound, TooLarge, Unavailable
from bullpen.files.blobs import in_thread
from bullpen.files.signing import EMPTY, Signer, query_of
from bullpen.files.types import HEAD_BYTES, Kept
from bullpen.net import urls
from bullpen.net.response import Answer, Response
from bullpen.net.types import Limits, Url
from bullpen.observe.redact import REDACTOR
from bullpen.settings import S3Settings

if TYPE_CHECKING:
    from bullpen.net.client import Egress

logger = logging.getLogger("bullpen.files")

USE = "files"
PART = 8 << 20
PIECE = 256 * 1024
ATTEMPTS = 3
WAIT_SECONDS = 0.2  # before the second attempt, then twice as long
ABOUT = Limits(total=60.0, connect=10.0, answer=45.0, body_bytes=4 << 20, hops=0)
SENDING = Limits(total=None, connect=10.0, answer=180.0, body_bytes=1 << 20, hops=0)
READING = Limits(total=None, connect=10.0, answer=30.0, idle=30.0, body_bytes=1 << 50, hops=0)

T = TypeVar("T")

_ID = re.compile(r"[a-z]+_[a-z0-9]{2,64}(\.thumb)?")


def url_of(settings: S3Settings) -> str:
    """Where the bucket is: this is what is listed for the use `files`."""
    scheme, _, host = settings.endpoint.rstrip("/").partition("://")
    if settings.addressing == "host":
        return f"{scheme}://{settings.bucket}.{host}"
    return f"{scheme}://{host}/{settings.bucket}"


class S3Blobs:
    def __init__(self, settings: S3Settings, egress: Callable[[], Egress], spool: Path) -> None:
        REDACTOR.add(settings.secret_key)
        self._egress = egress
        self._spool = spool
        self._signer = Signer(settings.access_key, settings.secret_key, settings.region)
        self._bucket = url_of(settings)
        self._prefix = f"{settings.prefix.rstrip('/')}/" if settings.prefix else ""

    # ── the port ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def keep(self, id: str, pieces: AsyncIterator[bytes], *, most: int) -> Kept:
        async with Upload(self, self._key(id), self._spool) as upload:
            whole, size, head = sha256(), 0, b""
            async for piece in pieces:
                size += len(piece)
                if size > most:
                    raise TooLarge(f"The file is larger than {most} bytes.")
                whole.update(piece)
                head += piece[: HEAD_BYTES - len(head)]
                await upload.add(piece)
            await upload.finish()
        return Kept(size, whole.hexdigest(), head)

    async def read(self, id: str, start: int = 0) -> AsyncIterator[bytes]:
        """A connection that is lost on the way is made again, from where we are."""
        key, failures = self._key(id), 0
        while True:
            more = {"Range": f"bytes={start}-"} if start else {}
            try:
                async with self._stream(key, more) as response:
                    if await _is_over(response):
                        return
                    skip = start if response.status == HTTPStatus.OK else 0  # a store that knows no ranges
                    async for piece in response.iter():
                        rest = piece[skip:]
                        skip -= min(skip, len(piece))
                        if rest:
                            start, failures = start + len(rest), 0
                            yield rest
                    return
            except (EgressError, _Busy) as error:
                failures += 1
                await _before_again(error, failures)

    async def size(self, id: str) -> int | None:
        answer = await self.ask("HEAD", self._key(id))
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        return int(_good(answer).headers.get("content-length", "0"))

    async def drop(self, id: str) -> None:
        await self.drop_key(self._key(id))

    async def ids(self, *, idle: float = 0) -> AsyncIterator[str]:
        before = datetime.now(UTC) - timedelta(seconds=idle)
        query = {"list-type": "2", "prefix": self._prefix}
        while True:
            page = _read_xml(_good(await self.ask("GET", "", query)))
            for found in _all(page, "Contents"):
                id = _text(found, "Key").removeprefix(self._prefix)
                if _ID.fullmatch(id) and datetime.fromisoformat(_text(found, "LastModified")) <= before:
                    yield id
            if not _goes_on(page):
                return
            query["continuation-token"] = _text(page, "NextContinuationToken")

    async def tidy(self, *, idle: float) -> int:
        before = datetime.now(UTC) - timedelta(seconds=idle)
        query, removed = {"uploads": "", "prefix": self._prefix}, 0
        while True:
            page = _read_xml(_good(await self.ask("GET", "", query)))
            for found in _all(page, "Upload"):
                if datetime.fromisoformat(_text(found, "Initiated")) <= before:
                    await self.give_up(_text(found, "Key"), _text(found, "UploadId"))
                    removed += 1
            if not _goes_on(page):
                return removed
            query["key-marker"] = _text(page, "NextKeyMarker")
            query["upload-id-marker"] = _text(page, "NextUploadIdMarker")

    async def check(self) -> None:
        """Unavailable, with what is wrong, unless the bucket is there and is ours to read."""
        _good(await self.ask("GET", "", {"list-type": "2", "max-keys": "1", "prefix": self._prefix}))

    # ── for uploads ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def drop_key(self, key: str) -> None:
        answer = await self.ask("DELETE", key)
        if answer.status != HTTPStatus.NOT_FOUND:
            _good(answer)

    async def give_up(self, key: str, upload_id: str) -> None:
        answer = await self.ask("DELETE", key, {"uploadId": upload_id})
        if answer.status != HTTPStatus.NOT_FOUND:
            _good(answer)

    async def ask(
        self, method: str, key: str, query: Mapping[str, str] | None = None, body: bytes | Part = b""
    ) -> Answer:
        """One answer of the store, asked for again if it is busy or away: all that is asked may be asked twice."""
        where, failures = query_of(query or {}), 0
        while True:
            try:
                answer = await self._ask(method, key, where, body)
                if answer.status >= 500 or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
                    raise _Busy(answer.status)
                return answer
            except (EgressError, _Busy) as error:
                failures += 1
                await _before_again(error, failures)

    async def _ask(self, method: str, key: str, query: str, body: bytes | Part) -> Answer:
        hashed = body.hash if isinstance(body, Part) else sha256(body).hexdigest()
        url, headers = self._signed(method, key, query, hashed, {})
        length = body.size if isinstance(body, Part) else None
        sent = body.pieces() if isinstance(body, Part) else body or None
        limits = SENDING if isinstance(body, Part) else ABOUT
        return await self._egress().request(USE, method, url, headers=headers, body=sent, length=length, limits=limits)

    def _stream(self, key: str, more: Mapping[str, str]) -> AbstractAsyncContextManager[Response]:
        url, headers = self._signed("GET", key, "", EMPTY, more)
        return self._egress().stream(USE, "GET", url, headers=headers, limits=READING)

    def _signed(
        self, method: str, key: str, query: str, body_hash: str, more: Mapping[str, str]
    ) -> tuple[Url, dict[str, str]]:
        place = f"{self._bucket}/{key}" if key else self._bucket
        url = urls.parse(f"{place}?{query}" if query else place)
        host = url.origin.authority
        at = datetime.now(UTC)
        return url, self._signer.headers(method, host, url.path, url.query, at=at, body_hash=body_hash, more=more)

    def _key(self, id: str) -> str:
        if not _ID.fullmatch(id):
            raise Broken(f"{id!r} is no id of a file.")
        return self._prefix + id


# ── what comes, part by part ────────────────────────────────────────────────────────────────────────────────────────


class Part:
    """Bytes on their way to the store: in a file without a name, which goes when it is closed or we are killed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sum = sha256()
        self.size = 0

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(tempfile.TemporaryFile(dir=folder, buffering=0))

    def add(self, data: bytes | bytearray) -> None:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        self._sum.update(data)
        self.size += len(data)

    def empty(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._sum, self.size = sha256(), 0

    def close(self) -> None:
        self._file.close()

    @property
    def hash(self) -> str:
        return self._sum.hexdigest()

    async def pieces(self) -> AsyncIterator[bytes]:
        await in_thread(lambda: self._file.seek(0))
        while piece := await in_thread(lambda: self._file.read(PIECE)):
            yield piece


class Upload:
    """One object on its way. Left before it is finished, nothing of it stays."""

    def __init__(self, blobs: S3Blobs, key: str, folder: Path) -> None:
        self._blobs = blobs
        self._key = key
        self._folder = folder
        self._gathered = bytearray()
        self._id = ""  # of the multipart upload, once there is one
        self._tags: list[str] = []
        self._may_be_there = False

    async def __aenter__(self) -> Self:
        self._part = await in_thread(lambda: _told(lambda: Part.in_folder(self._folder)))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._part.close()
        if kind is not None:
            try:
                await self._undo()
            except BullpenError as error:
                logger.warning("what was begun for %s stays in the store for now: %s", self._key, error)

    async def add(self, piece: bytes) -> None:
        for start in range(0, len(piece), PIECE):
            self._gathered += piece[start : start + PIECE]
            if len(self._gathered) >= PIECE:
                await self._write_down()
            if self._part.size >= PART:
                await self._send()

    async def finish(self) -> None:
        await self._write_down()
        if not self._id:
            self._may_be_there = True
            _good(await self._blobs.ask("PUT", self._key, body=self._part))
            return
        if self._part.size:
            await self._send()
        self._may_be_there = True
        await self._complete()

    async def _write_down(self) -> None:
        data, self._gathered = self._gathered, bytearray()
        await in_thread(lambda: _told(lambda: self._part.add(data)))

    async def _send(self) -> None:
        if not self._id:
            begun = _good(await self._blobs.ask("POST", self._key, {"uploads": ""}))
            self._id = _text(_read_xml(begun), "UploadId")
        query = {"partNumber": str(len(self._tags) + 1), "uploadId": self._id}
        answer = _good(await self._blobs.ask("PUT", self._key, query, self._part))
        self._tags.append(answer.headers.get("etag", ""))
        await in_thread(self._part.empty)

    async def _complete(self) -> None:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag></Part>"
            for number, tag in enumerate(self._tags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        answer = await self._blobs.ask("POST", self._key, {"uploadId": self._id}, body)
        if answer.status == HTTPStatus.NOT_FOUND and await self._is_there():
            return  # we were answered before, and did not hear it
        if _name(_read_xml(_good(answer))) == "Error":  # the store may change its mind after it has said 200
            raise _refusal(answer)

    async def _is_there(self) -> bool:
        return (await self._blobs.ask("HEAD", self._key)).status == HTTPStatus.OK

    async def _undo(self) -> None:
        if self._id:
            await self._blobs.give_up(self._key, self._id)
        if self._may_be_there:
            await self._blobs.drop_key(self._key)


def _told(work: Callable[[], T]) -> T:
    try:
        return work()
    except OSError as error:
        raise Unavailable(f"There is no room on the disk for a file on its way: {error.strerror or error}.") from error


# ── what the store says ─────────────────────────────────────────────────────────────────────────────────────────────


class _Busy(Exception):
    """An answer that may be another one soon."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answers {status}")
        self.status = status


async def _before_again(error: EgressError | _Busy, failures: int) -> None:
    """Wait a little before asking once more; Unavailable if that was enough."""
    if failures == ATTEMPTS or isinstance(error, EgressDenied):
        why = error.message if isinstance(error, EgressError) else f"It answers {error.status}."
        raise Unavailable(f"The file storage cannot be used just now. {why} Try again later.") from error
    await asyncio.sleep(WAIT_SECONDS * 2 ** (failures - 1))


def _good(answer: Answer) -> Answer:
    if answer.status >= 300:
        raise _refusal(answer)
    return answer


def _refusal(answer: Answer) -> Unavailable:
    code = ""
    with contextlib.suppress(Unavailable):
        code = f" {_text(_read_xml(answer), 'Code')}"
    logger.warning("the file storage answers %s%s", answer.status, code)
    return Unavailable(
        f"The file storage refuses ({answer.status}{code}). Whoever looks after this server can ask `bullpen doctor`."
    )


async def _is_over(response: Response) -> bool:
    """Is there nothing to read, at or after the place that was asked for? Raises if the answer is no content at all."""
    if response.status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return False
    if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return True
    if response.status >= 500 or response.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise _Busy(response.status)
    answer = Answer(response.status, response.headers, await response.read(), response.url)
    refusal = _refusal(answer)
    raise NotFound("There are no bytes for this file.") if "NoSuchKey" in refusal.message else refusal


def _read_xml(answer: Answer) -> Element:
    """The store is somebody else's: no document types, so no entities, and nothing but UTF-8."""
    try:
        text = answer.body.decode()
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise ParseError
        return fromstring(text)  # noqa: S314  what is dangerous in it was refused above
    except (UnicodeDecodeError, ParseError):
        raise Unavailable("The file storage answers in a way that cannot be understood.") from None


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(page: Element, name: str) -> list[Element]:
    return [element for element in page if _name(element) == name]


def _text(element: Element, name: str) -> str:
    found = [child.text or "" for child in element if _name(child) == name]
    if not found:
        raise Unavailable(f"The file storage answers without {name}, which cannot be understood.")
    return found[0]


def _goes_on(page: Element) -> bool:
    return any((element.text or "").strip() == "true" for element in _all(page, "IsTruncated"))
