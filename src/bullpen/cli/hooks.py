"""bullpen hooks: list secret addresses that wake an agent, make one, revoke one.

`create` prints the address alone, so that it can be piped to where it is used. It is shown this once.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from bullpen.cli import door, named, show
from bullpen.client import Bullpen, Page
from bullpen.settings import load_settings
from bullpen.wire import Wire
from bullpen.wire.nouns import Hook

Noun = TypeVar("Noun", bound=Wire)


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, agent="agent")
        match args.action:
            case "create":
                made = await bp.hooks.create(args.agent, args.name)
                print(show.as_json(made) if args.json else made.url)
            case "revoke":
                await bp.hooks.revoke(args.id)
            case _:
                await _list(bp, args)
    return 0


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.hooks.list(agent=args.agent, limit=args.limit, cursor=args.cursor)
    nothing = "No hooks yet. Make one with `bullpen hooks create AGENT --name NAME`."
    names = {} if args.json or not page.items else await named.names_of(bp, "member")
    headings = ("HOOK", "NAME", "AGENT", "MADE BY", "LAST RUNG")
    show_page(page, args, headings, partial(_row, names=names), nothing)


def _row(hook: Hook, *, names: named.Names) -> tuple[str, ...]:
    who, by = named.beside(hook.agent_id, names), named.beside(hook.created_by, names)
    return (hook.id, hook.name, who, by, show.date(hook.used_at) if hook.used_at else "-")


def show_page(
    page: Page[Noun], args: Namespace, headings: Sequence[str], row: Callable[[Noun], Sequence[str]], nothing: str
) -> None:
    if args.json:
        items = [item.model_dump(by_alias=True, mode="json") for item in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
    elif page.items:
        print(show.table(headings, map(row, page)))
        if page.next is not None:
            print(f"There are more: add --cursor {page.next}", file=sys.stderr)
    else:
        print(nothing, file=sys.stderr)
