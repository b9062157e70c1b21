"""read_file: what is in a file that somebody attached, or in one of the agent's own folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from bullpen.errors import BadArguments, ToolFailed
from bullpen.files import copying, rows, sources
from bullpen.files.folder import Entry, Folder
from bullpen.files.reading import WHAT_FITS, Contents, Reading, Wish, refuse_size
from bullpen.files.rows import Owned
from bullpen.files.sources import UNKNOWN, Wrote
from bullpen.spaces import rows as space_rows
from bullpen.toolbox.messaging.spaces import reaches
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import together
from bullpen.tools.outward import MEMORY

SECONDS: Final = 120  # others may read as well, and the storage may be far away
MOST_LISTED: Final = 200
_ID: Final = re.compile(r"fil_[0-9A-Za-z]{1,64}")
UNREADABLE: Final = "It holds nothing that can be read here. With copy, it can be passed on by send_file."
SCANNED: Final = "These pages hold no text, only pictures of it (a scan?), so nothing can be read in them here."
WRAPPED: Final = 2000  # see apart/texts.py
_WHY: Final[Mapping[str, str]] = {
    "locked": "It is protected by a password, so it cannot be read here.",
    "broken": "It is broken, or not what its name says, so it cannot be read.",
    "sheet": "There is no such sheet in it. Name one of `sheets`.",
}


async def space_of_file(context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    """A path leads into the run's own folder."""
    file = None if args.get("file_id") is None else await _select(context, args["file_id"])
    return [] if file is None or file.space_id is None else [file.space_id]


async def _select(context: ToolContext, file_id: str) -> Owned | None:
    return await rows.select_file(context.tx, file_id) if _ID.fullmatch(file_id) else None


@tool(
    effect="idempotent",
    local=True,
    act=None,
    touches=space_of_file,
    grant="read_space",
    timeout_ms=SECONDS * 1000,
    camel=False,
)
async def read_file(
    context: ToolContext,
    file_id: Annotated[str | None, Field(description="The id of a file in one of your spaces: fil_…")] = None,
    path: Annotated[
        str | None,
        Field(description="Instead: a file in your folder; for a folder, what is in it. /workspace/notes.md"),
    ] = None,
    offset: Annotated[
        int, Field(ge=1, le=10**9, description="The first line, table row or PDF page to read; the first is 1.")
    ] = 1,
    limit: Annotated[int | None, Field(ge=1, le=10**6, description="How many to read. Left out: what fits.")] = None,
    sheet: Annotated[str | None, Field(description="Which sheet of a workbook. Left out: the first.")] = None,
    copy: Annotated[
        bool, Field(description="With file_id: also put a copy into your folder; the answer says its path.")
    ] = False,
) -> dict[str, Any]:
    """Read a file that somebody attached (file_id), or one in your own folder (path).

    Gives the text of text files, tables (CSV, XLSX), PDF and Word files, and shows you pictures. A long file comes in
    parts: go on with offset.
    """
    wish = Wish(offset, limit or WHAT_FITS, sheet)
    if (file_id is None) == (path is None):
        raise BadArguments("Give either file_id, for a file in a space, or path, for one in your folder.")
    if file_id is not None:
        return await _read_attached(context, file_id, wish, copy=copy)
    if copy:
        raise BadArguments("copy is for file_id: what a path names is in your folder already.")
    return await _read_own(context, str(path), wish)


# ── of a space ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def find_file(context: ToolContext, file_id: str) -> Owned:
    """A file of a space that the run may read. What is not there and what is hidden are told alike."""
    file = await _select(context, file_id)
    room = None if file is None or file.space_id is None else await space_rows.select_room(context.tx, file.space_id)
    if file is None or room is None or not await reaches(context, room.id, room.kind):
        raise ToolFailed(f"There is no file {file_id!r} in your spaces.")
    context.check_judged(room.id)
    return file


async def _read_attached(context: ToolContext, file_id: str, wish: Wish, *, copy: bool) -> dict[str, Any]:
    means, file = context.means, await context.look(lambda inside: find_file(inside, file_id))
    context.effects.outside = UNKNOWN if file.outside is None else together(file.outside)
    told: dict[str, Any] = {"fileId": file.id, "name": file.name, "type": file.type, "size": file.size}
    if copy:
        written = await copying.from_blob(means.blobs, file.id, file.name, means.folders, context.run.folder_id)
        context.effects.wrote = Wrote(written.path, written.sha256, context.effects.outside)
        told["path"] = written.path
    if (refused := refuse_size(file.size)) is not None:
        return {**told, "note": refused}
    try:
        reading = await means.reader.read(file.name, means.blobs.read(file.id), wish)
    except ToolFailed as error:
        if copy:  # the copy is there all the same
            return {**told, "note": error.message}
        raise
    return told | describe(context, reading, wish)


# ── of the own folder ───────────────────────────────────────────────────────────────────────────────────────────────


async def _read_own(context: ToolContext, path: str, wish: Wish) -> dict[str, Any]:
    means, folder_id = context.means, context.run.folder_id
    home = context.run.home
    context.effects.seen_in = (MEMORY if home is None else home.id,)
    entry = await means.folders.use(folder_id, lambda folder: folder.stat(path))
    if entry.kind == "folder":
        return await _list_folder(context, path)
    told: dict[str, Any] = {"path": entry.path, "size": entry.size}
    if (refused := refuse_size(entry.size)) is not None:
        context.effects.outside = UNKNOWN
        return {**told, "note": refused}
    reading = await means.reader.read(path, means.folders.pieces(folder_id, path), wish)
    came_from = await context.look(lambda inside: sources.find(inside.tx, folder_id, path, reading.sha256))
    context.effects.outside = together(came_from)
    return {**told, "type": reading.type} | describe(context, reading, wish)


async def _list_folder(context: ToolContext, path: str) -> dict[str, Any]:
    folder_id = context.run.folder_id
    found, more = await context.means.folders.use(folder_id, lambda folder: _walk(folder, path))
    # Names are words too: those that a run of this office chose are known.
    paths = [entry.path for entry in found]
    context.effects.outside = await context.look(lambda inside: _sources_of_names(inside, folder_id, paths))
    listed = [{"path": entry.path, "size": entry.size} for entry in found]
    return {"files": listed, **({"note": f"Only {MOST_LISTED} files are listed."} if more else {})}


def _walk(folder: Folder, path: str) -> tuple[list[Entry], bool]:
    found: list[Entry] = []
    for entry in folder.walk(path):
        if entry.kind == "file":
            if len(found) == MOST_LISTED:
                return found, True
            found.append(entry)
    return found, False


async def _sources_of_names(context: ToolContext, folder_id: str, paths: list[str]) -> tuple[str, ...]:
    try:
        return together(await sources.find_all(context.tx, folder_id, paths))
    except ToolFailed:  # a name that we would not write: some program did
        return UNKNOWN


# ── what the model is told ──────────────────────────────────────────────────────────────────────────────────────────


def describe(context: ToolContext, reading: Reading, wish: Wish) -> dict[str, Any]:
    found = reading.contents
    if reading.way is None:
        return {"note": UNREADABLE}
    if reading.way == "picture":
        return _describe_picture(context, reading)
    names = {"sheet": found.sheet, "sheets": found.sheets} if found.sheets else {}
    if found.why:
        return {**names, "note": _WHY.get(found.why, _WHY["broken"])}
    unit, total = next(
        (name, count) for name in ("pages", "rows", "lines") if (count := getattr(found, name)) is not None
    )
    told: dict[str, Any] = {**names, unit: total}
    if found.columns is not None:
        told["columns"] = found.columns
    if found.encoding not in ("", "utf-8", "utf-8-sig"):
        told["encoding"] = found.encoding
    notes = " ".join(_notes(found, unit, total, wish))
    return {**told, "from": found.first, "to": found.last, "text": found.text, **({"note": notes} if notes else {})}


def _notes(found: Contents, unit: str, total: int, wish: Wish) -> list[str]:
    notes = []
    if wish.offset > max(total, 1):
        notes.append(f"There is nothing from {wish.offset:,} on: it has {total:,} {unit}.")
    elif found.last < total:
        notes.append(f"There are more {unit}: go on with offset {found.last + 1}.")
    if found.scanned:
        notes.append(SCANNED)
    if any(len(line) >= WRAPPED - 1 for line in found.text.split("\n")) and unit == "lines":
        notes.append(f"A line of more than {WRAPPED:,} characters counts as several.")
    return notes


def _describe_picture(context: ToolContext, reading: Reading) -> dict[str, Any]:
    found = reading.contents
    if found.width is None or found.height is None:
        return {"note": "It is a picture that is broken, or larger than 20 megapixels, so it cannot be shown."}
    context.effects.shows = reading.sha256
    return {"width": found.width, "height": found.height}
