"""bullpen bridges: how the bridges to chats elsewhere are, what could not be sent, and what to do about that."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.cli.hooks import show_page
from bullpen.settings import load_settings
from bullpen.wire.nouns import Bridge, OutboxEntry

NO_BRIDGES = "No bridge was ever connected."
NO_DEAD = "Everything could be sent."


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        match args.action:
            case "retry":
                await bp.bridges.retry(args.id, args.entry)
            case "drop":
                await bp.bridges.drop(args.id, args.entry)
            case "dead":
                dead = await bp.bridges.dead(args.id, limit=args.limit, cursor=args.cursor)
                show_page(dead, args, ("ENTRY", "CHAT", "WHAT", "MESSAGE", "ATTEMPTS", "WHY"), _entry, NO_DEAD)
            case _:
                headings = ("BRIDGE", "STATUS", "QUEUED", "OLDEST", "DEAD", "HEALTH")
                show_page(await bp.bridges.list(), args, headings, _bridge, NO_BRIDGES)
    return 0


def _bridge(bridge: Bridge) -> tuple[str, ...]:
    oldest = "-" if bridge.oldest_at is None else show.date(bridge.oldest_at)
    health = show.one_line(bridge.last_error or bridge.health, 80)
    return (bridge.id, bridge.status, str(bridge.queued), oldest, str(bridge.dead), health)


def _entry(entry: OutboxEntry) -> tuple[str, ...]:
    what = f"{entry.kind}, repeated" if entry.repeated else entry.kind
    error = show.one_line(entry.error or "-", 80)
    return (entry.id, entry.chat, what, entry.message_id, str(entry.attempts), error)
