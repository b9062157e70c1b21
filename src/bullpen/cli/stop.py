"""bullpen stop: cancel a run, or everything that an agent is doing."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.client import ApiError, Bullpen
from bullpen.settings import load_settings
from bullpen.wire import Run

UNDER_WAY = ("queued", "thinking", "acting", "waiting")


def run(args: Namespace) -> int:
    if (args.run is None) == (args.agent is None):
        raise CommandFailed("Say what: `bullpen stop RUN`, or `bullpen stop --agent ID`.")
    stopped = asyncio.run(_stop(args))
    if args.json:
        print(show.as_json({"items": [run.model_dump(by_alias=True, mode="json") for run in stopped]}))
    else:
        for one in stopped:
            print(f"{one.id} of {one.agent_id} stops.")
        if not stopped:
            print(f"{args.agent} is doing nothing just now.", file=sys.stderr)
    return 0


async def _stop(args: Namespace) -> list[Run]:
    async with door.to_server(load_settings(data=args.data)) as bp:
        if args.run is not None:
            return [await bp.runs.cancel(args.run)]
        await named.use_ids(bp, args, agent="agent")
        await bp.agents.get(args.agent)  # "is doing nothing" would be a poor answer to a wrong name
        return [run for run in await _under_way(bp, args.agent) if await _cancelled(bp, run)]


async def _under_way(bp: Bullpen, agent: str) -> list[Run]:
    return [run for status in UNDER_WAY for run in await bp.runs.list(agent=agent, status=status, limit=200)]


async def _cancelled(bp: Bullpen, run: Run) -> bool:
    try:
        await bp.runs.cancel(run.id)
    except ApiError as error:
        if error.status != 409:
            raise
        return False  # it ended by itself meanwhile
    return True
