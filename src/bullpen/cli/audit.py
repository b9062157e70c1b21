"""bullpen audit: who did what, newest first; `bullpen audit verify` checks that nobody has changed the log."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import AuditRow


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        return await (_verify(bp, args) if args.what == "verify" else _list(bp, args))


async def _verify(bp: Bullpen, args: Namespace) -> int:
    found = await bp.audit.check()
    if args.json:
        print(show.as_json(found))
    elif found.ok:
        print(
            f"The audit log holds: {found.rows} rows, each linked to the one before. "
            f"The last hash is {found.hash or '-'}."
        )
    else:
        print(
            f"bullpen: The audit log is broken at row {found.broken_at}: {found.reason}. "
            f"The {found.rows} rows before it hold. Compare with a backup, and ask who can write to the database.",
            file=sys.stderr,
        )
    return 0 if found.ok else 1


async def _list(bp: Bullpen, args: Namespace) -> int:
    page = await bp.audit.list(
        action=args.action, actor=args.actor, object=args.object, limit=args.limit, cursor=args.cursor
    )
    if args.json:
        items = [row.model_dump(by_alias=True, mode="json") for row in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
        return 0
    if page.items:
        print(show.table(("NUMBER", "AT", "WHO", "ACTION", "WHAT", "DETAIL"), map(_row, page)))
    else:
        print("The audit log has no such rows.", file=sys.stderr)
    if page.next is not None:
        print(f"There are more: add --cursor {page.next}", file=sys.stderr)
    return 0


def _row(row: AuditRow) -> tuple[str, ...]:
    detail = json.dumps(row.detail) if row.detail else ""
    return (
        str(row.number),
        show.date(row.at),
        f"{row.actor_kind} {row.actor_id}",
        row.action,
        f"{row.object_kind} {row.object_id}",
        detail,
    )
