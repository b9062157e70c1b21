"""Files: uploaded as a form, downloaded as attachments, never shown by a browser as anything that runs.

An upload is judged before its body is read, then streamed to where bytes are kept; its row is written when all of it
is there, in the transaction that counts it. A download says `attachment` whatever the file is, with the type that
the bytes look like and a policy that lets nothing in it run. Small pictures alone are shown in place.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from bullpen import ids
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.errors import error_response
from bullpen.api.multipart import AROUND, FilePart
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Gone, NotFound, RequestError, TooLarge
from bullpen.files import rows, rules
from bullpen.files.rows import Owned
from bullpen.files.thumbnails import SUFFIX
from bullpen.files.types import Kept
from bullpen.operations import files
from bullpen.operations.files import Destination
from bullpen.settings import FileSettings
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire.nouns import File

router = APIRouter(prefix="/files", route_class=CappedRoute, tags=["files"])

InSpace = Annotated[str | None, Query(alias="spaceId", max_length=200)]
ClientFileId = Annotated[
    str | None,
    Query(alias="clientFileId", min_length=1, max_length=200, description="The same again is the same file."),
]
# Nothing in a file may run, load or open anything, should a browser show it after all.
SANDBOX = "sandbox; default-src 'none'"
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})\Z")
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "required": ["file"],
                    "additionalProperties": False,
                }
            }
        },
    }
}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "The bytes."},
    206: {"content": {"application/octet-stream": {}}, "description": "Some of the bytes."},
    304: {"description": "What you have is still the same."},
}


# ── up ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.post("", status_code=201, response_model=File, openapi_extra=_FORM)
async def upload(
    request: Request,
    caller: Caller,
    office: Office,
    store: Store,
    space_id: InSpace = None,
    client_file_id: ClientFileId = None,
) -> Response:
    """One file, as the part `file` of a multipart form. With `spaceId` it is in that space at once; else it is yours
    alone until a message of yours shows it. What no message shows is forgotten after a day. With a `clientFileId` it
    is kept once, however often it is sent.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException(415, "Send the body as it is, without Content-Encoding")
    limits = office.settings.files
    place = await store.read(lambda tx: files.find_destination(tx, caller, space_id, client_file_id, limits))
    most = _most(request, limits, place)
    part = FilePart(request.headers.get("content-type", ""), most=most)
    id = ids.file()
    office.limits.uploads.enter(caller.id)
    try:
        async with aclosing(part.pieces(request.stream())) as pieces:
            kept = await _keep(office, id, pieces, place, most)
        file = await _added(office, store, caller, id, part.name, kept, place)
    finally:
        office.limits.uploads.leave(caller.id)
    return answer(file, 201)


def _most(request: Request, limits: FileSettings, place: Destination) -> int:
    """How many bytes the file may have. What says beforehand that it has more is refused before it is read."""
    whole = limits.file_bytes or rules.FOREVER
    declared = request.headers.get("content-length", "")
    coming = int(declared) if declared.isdecimal() and len(declared) < 19 else 0
    if coming > whole + AROUND:
        raise _too_large(whole)
    if coming > place.left + AROUND:
        raise rules.quota_exceeded(place.counter, limits)
    return min(whole, place.left)


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"A file may have {rules.size_of(most)}, and this has more.", fields={"file": "is too large"})


async def _keep(office: Office, id: str, pieces: AsyncIterator[bytes], place: Destination, most: int) -> Kept:
    try:
        return await office.blobs.keep(id, pieces, most=most)
    except TooLarge:
        if most == place.left:
            raise rules.quota_exceeded(place.counter, office.settings.files) from None
        raise _too_large(most) from None


async def _added(
    office: Office, store: Store, caller: Principal, id: str, name: str, kept: Kept, place: Destination
) -> File:
    """The row, with a small picture if there is one. If it is refused, the bytes go again."""
    try:
        small = await office.thumbnails.make(id, rules.type_of(kept.head, kept.size), kept.size)

        async def body(tx: Transaction) -> File:
            return await files.add(tx, caller, id, name, kept, place, thumbnail=small, limits=office.settings.files)

        file = await store.transact(body)
    except RequestError:
        # Refused, so surely not there. After any other failure nobody knows, and the sweep finds out.
        await office.sweeper.forget_bytes([id])
        raise
    if file.id != id:  # it was there already
        await office.sweeper.forget_bytes([id])
    return file


# ── about ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("", response_model=Page[File])
async def list_files(
    caller: Caller, store: Store, space_id: InSpace = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The files of a space; without `spaceId`, those that you have in none. Newest first."""

    async def body(tx: Transaction) -> list[File]:
        if space_id is None:
            if "read_space" not in caller.grants:
                return []
            return await rows.select_own(tx, caller.id, before=cursor or LAST, limit=limit)
        room = await spaces.readable_room(tx, caller, space_id)
        return await rows.select_in_space(tx, room.id, before=cursor or LAST, limit=limit)

    return page(await store.read(body), limit, lambda file: file.id)


@router.get("/{id}", response_model=File)
async def get_file(id: str, caller: Caller, store: Store) -> Response:
    file = await store.read(lambda tx: spaces.get_file(tx, caller, id))
    return answer(file.shown())


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_file(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """A file that no message shows."""
    office.limits.edits.take(caller.id)
    await store.transact(lambda tx: spaces.delete_file(tx, caller, id))
    return Response(status_code=204)


# ── down ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/{id}/content", response_class=StreamingResponse, responses=_BYTES)
async def get_content(
    id: str,
    request: Request,
    caller: Caller,
    office: Office,
    store: Store,
    thumbnail: Annotated[bool, Query(description="The small picture instead.")] = False,
) -> Response:
    """The bytes, as an attachment. A single `Range` is understood."""
    file = await store.read(lambda tx: spaces.get_file(tx, caller, id))
    if thumbnail:
        return await show_small(request, office, file)
    tag = f'"{file.sha256}"'
    headers = {
        "Content-Type": file.type,
        "Content-Disposition": rules.disposition(file.name),
        "Content-Security-Policy": SANDBOX,
        "Cache-Control": "private, no-store",
        "Accept-Ranges": "bytes",
        "ETag": tag,
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    start, end = 0, file.size
    asked = request.headers.get("range", "")
    if asked and request.headers.get("if-range", tag) == tag:
        found = wanted(asked, file.size)
        if found is None:
            return _unsatisfiable(file.size)
        start, end = found
    partial = (start, end) != (0, file.size)
    if partial:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - start)
    return await _streamed(office, file.id, start, end, 206 if partial else 200, headers)


@router.get("/{id}/thumbnail", response_class=StreamingResponse, responses=_BYTES)
async def get_thumbnail(id: str, request: Request, caller: Caller, office: Office, store: Store) -> Response:
    """The small picture of a picture, to be shown in place."""
    file = await store.read(lambda tx: spaces.get_file(tx, caller, id))
    return await show_small(request, office, file)


async def show_small(request: Request, office: Office, file: Owned) -> Response:
    if file.thumbnail is None:
        raise NotFound(f"There is no small picture of {file.id!r}.")
    tag = f'"{file.sha256}-small"'
    headers = {
        "Content-Type": file.thumbnail.type,
        "Content-Disposition": rules.disposition(file.name, "inline"),
        "Content-Security-Policy": SANDBOX,
        "Cache-Control": "private, no-cache",  # asked for again each time: who left the space sees it no more
        "ETag": tag,
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    size = await office.blobs.size(file.id + SUFFIX)
    if size is None:
        raise _lost(file.id)
    headers["Content-Length"] = str(size)
    return await _streamed(office, file.id + SUFFIX, 0, size, 200, headers)


def wanted(asked: str, size: int) -> tuple[int, int] | None:
    """From where and up to where; None if there is nothing there. What we do not understand asks for everything."""
    found = _RANGE.match(asked.strip())
    if found is None or not (found[1] or found[2]):
        return 0, size
    if not found[1]:
        start, end = max(0, size - int(found[2])), size
    else:
        start, end = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
        if found[2] and int(found[2]) < start:
            return 0, size
    return (start, end) if start < size and start < end else None


def _unsatisfiable(size: int) -> Response:
    said = f"The file has {size} bytes, and none where you asked for some."
    return error_response(416, "range_not_satisfiable", said, headers={"Content-Range": f"bytes */{size}"})


def _lost(id: str) -> Gone:
    return Gone(f"The bytes of {id!r} are missing. They may be in a backup; `bullpen doctor` says more.")


async def _streamed(office: Office, blob: str, start: int, end: int, status: int, headers: dict[str, str]) -> Response:
    pieces = office.blobs.read(blob, start)
    try:
        first = await anext(pieces, b"")
    except NotFound:
        raise _lost(blob.removesuffix(SUFFIX)) from None
    return StreamingResponse(_cut(first, pieces, end - start), status, headers)


async def _cut(first: bytes, pieces: Any, left: int) -> AsyncIterator[bytes]:
    """So many bytes, and then no more are read."""
    async with aclosing(pieces):
        piece = first
        while piece and left > 0:
            yield piece[:left]
            left -= len(piece)
            piece = await anext(pieces, b"") if left > 0 else b""
