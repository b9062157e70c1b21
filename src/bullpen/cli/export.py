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
from bullpen.errors import NotFound
from bullpen.settings import Settings, load_settings


def run(args: Namespace) -> int:
    return asyncio.run(_export(args))


async def _export(args: Namespace) -> int:
    settings = load_settings(data=args.data)
    found = _from_server(settings, args) if door.is_served(settings) else _from_folder(settings, args)
    if args.file == Path("-"):
        async for line in found:
            sys.stdout.write(line)
    else:
        await _write(found, args.file, force=args.force)
    return 0


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


async def _from_folder(settings: Settings, args: Namespace) -> AsyncIterator[str]:
    from bullpen.app import office
    from bullpen.upkeep import export

    async with office(settings, drive=False) as opened:
        if not await opened.store.read(lambda tx: export.exists(tx, args.kind, args.id)):
            raise NotFound(f"There is no {args.kind} {args.id!r}.")
        async for line in export.lines(opened.store, args.kind, args.id, readable=None, journals=True):
            yield line.decode()
