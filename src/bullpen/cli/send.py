"""bullpen send: post a message, print its id."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.cli.files import upload
from bullpen.settings import load_settings
from bullpen.wire import Message


def run(args: Namespace) -> int:
    text = _stdin() if args.text == "-" else args.text or ""
    if not text and not args.attach:
        raise CommandFailed("Say something: bullpen send SPACE TEXT. With --attach FILE the text may be left out.")
    message = asyncio.run(_send(args, text))
    print(show.as_json(message) if args.json else message.id)
    return 0


async def _send(args: Namespace, text: str) -> Message:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space")
        shown = [await upload(bp, path) for path in args.attach or ()]
        return await bp.spaces(args.space).send(text, attachments=shown, reply_to=args.reply_to)


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise CommandFailed("What came from stdin is not UTF-8 text.") from None
