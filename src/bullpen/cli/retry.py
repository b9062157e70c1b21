"""bullpen retry: have a run that is over done once more."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.settings import load_settings
from bullpen.wire import Run


def run(args: Namespace) -> int:
    made = asyncio.run(_retry(args))
    print(show.as_json(made) if args.json else f"{made.id} does {made.retry_of} once more: `bullpen run {made.id}`.")
    return 0


async def _retry(args: Namespace) -> Run:
    async with door.to_server(load_settings(data=args.data)) as bp:
        return await bp.runs.retry(args.run, client_retry_id=args.key)
