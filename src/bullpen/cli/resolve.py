"""bullpen resolve: answer a call that waits, or cancel it."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from typing import Any

from bullpen.cli import door, show
from bullpen.cli.failures import CommandFailed
from bullpen.settings import load_settings
from bullpen.wire.nouns import Acceptance, PendingCall


def run(args: Namespace) -> int:
    if args.cancel == (args.result is not None):
        raise CommandFailed("Give the answer as JSON, or --cancel: one of them.")
    result = None if args.cancel else _read(args.result)
    done = asyncio.run(_resolve(args, result))
    print(show.as_json(done) if args.json else _readable(done))
    return 0


def _read(written: str) -> Any:
    text = sys.stdin.read() if written == "-" else written
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise CommandFailed(
            f"{show.one_line(text, 40)!r} is no JSON. Write an object, as in '{{\"confirmed\": true}}'; "
            "a text needs its quotes, as in '\"yes\"'."
        ) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


async def _resolve(args: Namespace, result: Any) -> Acceptance | PendingCall:
    async with door.to_server(load_settings(data=args.data)) as bp:
        return await (bp.pending.cancel(args.call) if args.cancel else bp.pending.resolve(args.call, result))


def _readable(done: Acceptance | PendingCall) -> str:
    if isinstance(done, PendingCall):
        return "cancelled"
    return "accepted before" if done.duplicate else "accepted"
