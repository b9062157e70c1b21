"""bullpen token create: a token, alone on stdout, so that `BULLPEN_TOKEN=$(bullpen token create …)` works.

Acts on the data folder and never on BULLPEN_TOKEN: making an owner is the right of whoever holds the folder.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from typing import Any

from bullpen.cli import door
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    print(asyncio.run(_create(args)))
    return 0


async def _create(args: Namespace) -> str:
    async with door.to_folder(load_settings(data=args.data)) as bp:
        return (await bp.tokens.create(args.name, **_holder(args))).token


def _holder(args: Namespace) -> dict[str, Any]:
    if args.owner:
        return {"owner": True}
    if args.agent is not None:
        return {"agentId": args.agent}
    if args.tools is not None:
        return {"tools": args.tools}
    return {}
