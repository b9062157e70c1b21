"""bullpen export: everything kept of a space, a person or an agent, as lines of JSON.

Through a server where one runs. Otherwise the folder is opened here and read directly: an answer that did not travel
would be held in memory whole.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from pathlib import Path

from bullpen.cli import door
from bullpen.cli.failures import CommandFailed
from bullpen.cli.files import download
from bullpen.client import Bullpen, NotFound
from bullpen.errors import NotFound as NotHere
from bullpen.files.types import Blobs
from bullpen.settings import Settings, load_settings
from bullpen.wire.errors import Gone


def run(args: Namespace) -> int:
    return asyncio.run(_export(args))


async def _export(args: Namespace) -> int:
    settings = load_settings(data=args.data)
    if args.files is not None:
        args.files.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = _from_server(settings, args) if door.is_served(settings) else _from_folder(settings, args)
    await write_lines(found, args.file, force=args.force)
    return 0


async def write_lines(lines: AsyncIterator[str], file: Path | str, *, force: bool) -> None:
    """To a file, which is there whole or not at all; - is stdout."""
    if Path(file) != Path("-"):
        await _write(lines, Path(file), force=force)
        return
    async for line in lines:
        sys.stdout.write(line)


async def _write(lines: AsyncIterator[str], path: Path, *, force: bool) -> None:
    from bullpen.storage.copies import written_whole

    if path.exists() and not force:  # noqa: ASYNC240  nobody else waits for this process
        raise CommandFailed(f"{path} is there already. Choose another name, or say --force to replace it.")
    try:
        with written_whole(path) as partial, partial.open("w", encoding="utf-8") as out:
            async for line in lines:
                out.write(line)
    except OSError as error:
        raise CommandFailed(f"Cannot write {path}: {error.strerror}.") from error


async def _from_server(settings: Settings, args: Namespace) -> AsyncIterator[str]:
    async with door.to_server(settings) as bp:
        async for said in bp.export(args.kind, args.id):
            yield json.dumps(said, ensure_ascii=False) + "\n"
            if args.files is not None and said["type"] == "file":
                await _fetch(bp, said["file"]["id"], args.files)


async def _fetch(bp: Bullpen, id: str, folder: Path) -> None:
    """Under its id: the line with that id says what it is called. Some files may be for others' eyes only."""
    try:
        await download(bp, id, folder / id)
    except (NotFound, Gone) as error:
        print(f"bullpen: {error.message}", file=sys.stderr)


async def _from_folder(settings: Settings, args: Namespace) -> AsyncIterator[str]:
    from bullpen.app import office
    from bullpen.upkeep import export

    async with office(settings, drive=False) as opened:
        if not await opened.store.read(lambda tx: export.exists(tx, args.kind, args.id)):
            raise NotHere(f"There is no {args.kind} {args.id!r}.")
        async for line in export.lines(opened.store, args.kind, args.id, readable=None, journals=True):
            yield line.decode()
            if args.files is not None and line.startswith(b'{"type":"file"'):
                await _copy(opened.blobs, json.loads(line)["file"]["id"], args.files)


async def _copy(blobs: Blobs, id: str, folder: Path) -> None:
    try:
        with (folder / id).open("wb") as out:
            async for piece in blobs.read(id):
                out.write(piece)
    except NotHere as error:
        (folder / id).unlink()
        print(f"bullpen: {id}: {error.message}", file=sys.stderr)
    except OSError as error:
        raise CommandFailed(f"Cannot write {folder / id}: {error.strerror}.") from error
