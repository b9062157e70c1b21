"""bullpen send: post a message, print its id."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.cli.failures import CommandFailed
from bullpen.settings import load_settings
from bullpen.wire import Message


def run(args: Namespace) -> int:
    text = _stdin() if args.text == "-" else args.text
    message = asyncio.run(_send(args, text))
    print(show.as_json(message) if args.json else message.id)
    return 0


async def _send(args: Namespace, text: str) -> Message:
    async with door.to_server(load_settings(data=args.data)) as bp:
        return await bp.spaces(args.space).send(text, reply_to=args.reply_to)


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise CommandFailed("What came from stdin is not UTF-8 text.") from None
