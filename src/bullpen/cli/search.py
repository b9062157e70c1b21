"""bullpen search: find messages by their words."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.client import Page
from bullpen.settings import load_settings
from bullpen.wire.nouns import FoundMessage


def run(args: Namespace) -> int:
    page, names = asyncio.run(_search(args))
    if args.json:
        items = [item.model_dump(by_alias=True, mode="json") for item in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
        return 0
    if page.items:
        print(show.table(("MESSAGE", "SENT", "SPACE", "AUTHOR", "TEXT"), [_row(each, names) for each in page]))
    else:
        print("Nothing was found in the spaces that you may read.", file=sys.stderr)
    if page.next is not None:
        print(f"There may be more: add --cursor {page.next}", file=sys.stderr)
    return 0


async def _search(args: Namespace) -> tuple[Page[FoundMessage], named.Names]:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space", author="member")
        page = await bp.search(
            args.text, space=args.space, author=args.author, mode=args.mode, limit=args.limit, cursor=args.cursor
        )
        return page, {} if args.json or not page.items else await named.names_of(bp, "space", "member")


def _row(found: FoundMessage, names: named.Names) -> tuple[str, ...]:
    where, who = named.beside(found.space_id, names), named.beside(found.author_id, names)
    return (found.id, show.date(found.created_at), where, who, found.snippet)
