"""Files, as the SDK has them: `bp.files.upload(path)`, `bp.files.download(id, path)`.

Nothing is ever held whole: an upload is read from the disk as it goes out, a download is written as it comes in, to a
name of its own until all of it is there. An upload is tried again when the connection is lost, and is kept once.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import File

UPLOAD_SECONDS = 600.0


class Files:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def upload(
        self,
        source: Path | str | bytes | BinaryIO,
        *,
        name: str | None = None,
        space: str | None = None,
        client_file_id: str | None = None,
    ) -> File:
        """Keep a file: one on this disk, bytes, or anything that can be read. Without a `space` it is yours alone.

        Show it with `bp.spaces(id).send(text, attachments=[file])`; what no message shows is forgotten after a day.
        It is kept once, however often the connection is lost on the way. To keep that promise over a restart of your
        own program too, choose the `client_file_id` yourself.
        """
        query = {"spaceId": space, "clientFileId": client_file_id or uuid4().hex}
        if isinstance(source, bytes):
            return await self._send(BytesIO(source), name or "file", query)
        if isinstance(source, str | Path):
            with _opened(Path(source)) as opened:
                return await self._send(opened, name or Path(source).name, query)
        return await self._send(source, name or "file", query)

    async def _send(self, opened: BinaryIO, name: str, query: Mapping[str, str | None]) -> File:
        found = await self._connection.upload(
            path("files"), {"file": (name, opened)}, query=query, seconds=UPLOAD_SECONDS
        )
        return File.model_validate(found)

    async def get(self, id: str) -> File:
        return File.model_validate(await self._connection.request("GET", path("files", id)))

    async def list(
        self, *, space: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[File]:
        """The files of a space, newest first; without one, those that you have in none."""
        query = {"spaceId": space, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("files"), query=query)
        return Page([File.model_validate(item) for item in found["items"]], found.get("next"))

    async def delete(self, id: str) -> None:
        """A file that no message shows. One that is shown goes with its message."""
        await self._connection.request("DELETE", path("files", id))

    async def content(self, id: str) -> AsyncGenerator[bytes, None]:
        """The bytes, as they come."""
        async with aclosing(self._connection.pieces(path("files", id, "content"))) as pieces:
            async for piece in pieces:
                yield piece

    async def download(self, id: str, target: Path | str) -> int:
        """Write the bytes to a file, which is there only when all of them are; how many."""
        written = 0
        with _written_whole(Path(target)) as out:
            async with aclosing(self.content(id)) as pieces:
                async for piece in pieces:
                    written += out.write(piece)
        return written


def _opened(source: Path) -> BinaryIO:
    return source.open("rb")


@contextmanager
def _written_whole(target: Path) -> Iterator[BinaryIO]:
    partial = target.with_name(f"{target.name}.partial")
    try:
        with partial.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
