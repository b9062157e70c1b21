"""The blocks of `bullpen memory`: list, set and delete them, and put back what they were."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from bullpen.cli import show
from bullpen.cli.hooks import show_page
from bullpen.client import Bullpen
from bullpen.wire.nouns import Block, BlockVersion


async def _blocks(bp: Bullpen, args: Namespace) -> None:
    page = await bp.blocks.list(args.agent, space=args.space)
    nothing = "No blocks. The agent makes some with update_memory, or `bullpen memory set AGENT LABEL TEXT`."
    show_page(page, args, ("LABEL", "CHARACTERS", "VERSION", "CHANGED", "SHARED", "CONTENT"), _block_row, nothing)


def _block_row(block: Block) -> tuple[str, ...]:
    tainted = " (written after reading outside text)" if block.outside else ""
    return (
        show.one_line(block.label, 30),
        f"{len(block.content):,} / {block.limit:,}",
        str(block.version),
        show.date(block.updated_at),
        show.one_line(_sharing(block), 50),
        show.one_line(block.content, 60) + tainted,
    )


def _sharing(block: Block) -> str:
    if block.shared_by is not None:
        return f"by {block.shared_by}, {'to write' if block.may_write else 'to read'}"
    if block.shared is None:
        return "-"
    read = f"{', '.join(block.shared.readers)} read it" if block.shared.readers else ""
    write = f"{', '.join(block.shared.writers)} write it" if block.shared.writers else ""
    return "; ".join(filter(None, (read, write)))


async def _set(bp: Bullpen, args: Namespace) -> None:
    content = sys.stdin.read() if args.content == "-" else args.content
    block = await bp.blocks.set(
        args.agent,
        args.label,
        content,
        description=args.description,
        limit=args.limit,
        readers=[] if args.private else args.readers,
        writers=args.writers,
        reason=args.reason,
        space=args.space,
    )
    _print_change(block, args)


async def _revert(bp: Bullpen, args: Namespace) -> None:
    block = await bp.blocks.revert(args.agent, args.label, args.version, reason=args.reason, space=args.space)
    _print_change(block, args)


def _print_change(block: Block, args: Namespace) -> None:
    line = f"{show.one_line(block.label)}  version {block.version}, {len(block.content):,} / {block.limit:,} characters"
    print(show.as_json(block) if args.json else line)


async def _delete(bp: Bullpen, args: Namespace) -> None:
    await bp.blocks.delete(args.agent, args.label, history=args.history, space=args.space)


async def _history(bp: Bullpen, args: Namespace) -> None:
    if args.diff is not None:
        diff = await bp.blocks.diff(args.agent, args.label, *args.diff, space=args.space)
        print(show.as_json({"diff": diff}) if args.json else show.plain(diff))
        return
    page = await bp.blocks.history(args.agent, args.label, space=args.space, limit=args.limit, cursor=args.cursor)
    show_page(page, args, ("VERSION", "WHEN", "BY", "RUN", "WHY", "CONTENT"), _version_row, "Nothing is kept of it.")


def _version_row(version: BlockVersion) -> tuple[str, ...]:
    return (
        str(version.version),
        show.date(version.at),
        show.one_line(version.by or "-", 40),
        version.run_id or "-",
        show.one_line(version.reason or "-", 40),
        "(deleted)" if version.deleted else show.one_line(version.content, 60),
    )


ACTIONS: Final[Mapping[str, Callable[[Bullpen, Namespace], Awaitable[None]]]] = {
    "blocks": _blocks,
    "set": _set,
    "history": _history,
    "revert": _revert,
    "delete": _delete,
}
