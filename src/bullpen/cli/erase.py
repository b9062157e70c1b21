"""bullpen erase: forget a space, a person or an agent, for good. Asks for --yes, since nothing brings them back."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.cli.failures import CommandFailed
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    if not args.yes:
        raise CommandFailed(
            f"This erases the {args.kind} {args.id} for good. Make a backup or an export first, then say --yes."
        )
    return asyncio.run(_erase(args))


async def _erase(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        erased = await bp.erase(args.kind, args.id)
    print(
        show.as_json(erased) if args.json else f"Erased {erased.kind} {erased.id}. Backups made before still hold it."
    )
    return 0
