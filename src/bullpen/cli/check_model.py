"""bullpen check-model: can this model be used?"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    return asyncio.run(_check(args))


async def _check(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        found = await bp.models.check(args.model, api_key_variable=args.key_variable)
    if args.json:
        print(show.as_json(found.model_dump(by_alias=True, mode="json")))
    else:
        print(show.plain(found.message), file=sys.stdout if found.answered else sys.stderr)
    return 0 if found.answered else 1
