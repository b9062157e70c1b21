"""bullpen follow: what happens, as it happens, one line each. Ctrl-C is how it ends, so that is a success."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.cli.lines import Lines
from bullpen.client import Bullpen, Event
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    try:
        asyncio.run(_follow(args))
    except KeyboardInterrupt:
        return 0
    raise AssertionError("following has no end of its own")


async def _follow(args: Namespace) -> None:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space")
        lines = Lines()
        async with bp.events(space=args.space, after=args.after) as events:
            if not args.json:
                await _learn_names(bp, lines)
            what = args.space or "everything you may see"
            print(f"Following {what}. Ctrl-C ends it.", file=sys.stderr, flush=True)
            async for event in events:
                line = _as_json(event) if args.json else lines.render(event)
                if line is not None:
                    print(line, flush=True)


async def _learn_names(bp: Bullpen, lines: Lines) -> None:
    cursor: str | None = None
    while True:
        page = await bp.spaces.list(limit=200, cursor=cursor)
        for space in page:
            lines.learn(space)
        if page.next is None:
            return
        cursor = page.next


def _as_json(event: Event) -> str:
    """The event as the server sent it; stored ones with the cursor that `--after` takes."""
    return show.as_json(event.payload if event.cursor is None else {**event.payload, "cursor": event.cursor})
