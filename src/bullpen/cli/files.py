"""bullpen upload and bullpen download: one file to the server, one from it."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from contextlib import aclosing
from pathlib import Path

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import File


def run(args: Namespace) -> int:
    return asyncio.run(_upload(args) if args.verb == "upload" else _download(args))


async def _upload(args: Namespace) -> int:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space")
        file = await upload(bp, args.file, space=args.space, key=args.key)
    print(show.as_json(file) if args.json else file.id)
    return 0


async def upload(bp: Bullpen, path: Path, *, space: str | None = None, key: str | None = None) -> File:
    try:
        return await bp.files.upload(path, space=space, client_file_id=key)
    except OSError as error:
        raise CommandFailed(f"Cannot read {path}: {error.strerror or error}.") from error


async def _download(args: Namespace) -> int:
    path: Path | None = args.file
    if path is not None and path != Path("-") and path.exists() and not args.force:  # noqa: ASYNC240  nobody else waits
        raise CommandFailed(f"{path} is there already. Choose another name, or say --force to replace it.")
    async with door.to_server(load_settings(data=args.data)) as bp:
        if path == Path("-"):
            async with aclosing(bp.files.content(args.id)) as pieces:
                async for piece in pieces:
                    sys.stdout.buffer.write(piece)
            return 0
        # What the server calls it is for people: here it becomes a name only if nothing has that name yet.
        target = path or Path((await bp.files.get(args.id)).name)
        if path is None and target.exists() and not args.force:
            raise CommandFailed(f"{target} is there already. Say where to: bullpen download {args.id} FILE.")
        await download(bp, args.id, target)
    print(target)
    return 0


async def download(bp: Bullpen, id: str, target: Path) -> None:
    try:
        await bp.files.download(id, target)
    except OSError as error:
        raise CommandFailed(f"Cannot write {target}: {error.strerror or error}.") from error
