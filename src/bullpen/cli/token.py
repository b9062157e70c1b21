"""bullpen token: make tokens, list them, end them.

`create` prints the token alone, so that `BULLPEN_TOKEN=$(bullpen token create …)` works. Acts on the data folder and
never on BULLPEN_TOKEN: making an owner is the right of whoever holds the folder.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from typing import Any

from bullpen.cli import door, named, show
from bullpen.client import Bullpen, Page
from bullpen.settings import load_settings
from bullpen.wire import Token


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_folder(load_settings(data=args.data)) as bp:
        match args.action:
            case "create":
                await named.use_ids(bp, args, agent="agent")
                print((await bp.tokens.create(args.name, **_holder(args))).token)
            case "list":
                _show(await _all(bp), args)
            case "revoke":
                await bp.tokens.delete(args.id)
    return 0


def _holder(args: Namespace) -> dict[str, Any]:
    limits = {name: getattr(args, name) for name in ("scopes", "days") if getattr(args, name) is not None}
    if args.owner:
        return {"owner": True, **limits}
    if args.agent is not None:
        return {"agentId": args.agent, **limits}
    if args.tools is not None:
        return {"tools": args.tools, **limits}
    return limits


async def _all(bp: Bullpen) -> list[Token]:
    found: list[Token] = []
    page: Page[Token] | None = None
    while page is None or page.next is not None:
        page = await bp.tokens.list(limit=200, cursor=None if page is None else page.next)
        found += page.items
    return found


def _show(tokens: list[Token], args: Namespace) -> None:
    if args.json:
        print(show.as_json({"items": [token.model_dump(by_alias=True, mode="json") for token in tokens]}))
    elif tokens:
        rows = [
            (t.id, t.name, t.kind, t.person_id or t.agent_id or "-", _limits(t), t.expires_at or "-") for t in tokens
        ]
        print(show.table(("TOKEN", "NAME", "KIND", "HOLDER", "LIMITED TO", "UNTIL"), rows))
    else:
        print("No tokens yet. Make one with `bullpen token create --name NAME --owner`.", file=sys.stderr)


def _limits(token: Token) -> str:
    return ", ".join([*(token.scopes or ()), *(token.tools or ())]) or "-"
