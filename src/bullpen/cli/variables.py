"""bullpen variables: list them, set one, take one back.

A value comes from the terminal, unseen, or from stdin; never from the arguments, which others can list.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
from argparse import Namespace
from typing import Any

from bullpen.cli import door, show
from bullpen.cli.arguments import SCOPES
from bullpen.cli.failures import CommandFailed
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Variable


def run(args: Namespace) -> int:
    value = _read(args) if args.action == "set" else ""
    return asyncio.run(_run(args, value))


def _read(args: Namespace) -> str:
    if not sys.stdin.isatty():
        value = sys.stdin.read()
        return value.removesuffix("\n")
    value = getpass.getpass(f"{args.name}: ") if args.secret else input(f"{args.name}: ")
    if not value:
        raise CommandFailed("Nothing was typed, so nothing is changed.")
    return value


async def _run(args: Namespace, value: str) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        match args.action:
            case "set":
                kind = "secret" if args.secret else "text"
                more = {"type": kind, "scoped": args.scoped, "description": args.description}
                await bp.variables.set(args.name, value, **_scope(args), **more)
            case "delete":
                await bp.variables.delete(args.name, **_scope(args))
            case _:
                await _list(bp, args)
    return 0


def _scope(args: Namespace) -> dict[str, Any]:
    for kind in SCOPES:
        id = getattr(args, kind, None)
        if id is not None:
            return {"kind": kind, "id": id}
    return {}


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.variables.list(**_scope(args), limit=args.limit, cursor=args.cursor)
    if args.json:
        items = [item.model_dump(by_alias=True, mode="json") for item in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
    elif page.items:
        print(show.table(("VARIABLE", "TYPE", "OF", "VALUE", "FOR"), map(_row, page)))
        if page.next is not None:
            print(f"There are more: add --cursor {page.next!r}", file=sys.stderr)
    else:
        print("No variables yet. Set one with `bullpen variables set NAME`.", file=sys.stderr)


def _row(variable: Variable) -> tuple[str, ...]:
    scope = f"{variable.scope.kind} {variable.scope.id or ''}".rstrip()
    value = "***" if variable.type == "secret" else show.one_line(variable.value or "")
    scoped = f"{variable.type}, scoped" if variable.scoped else variable.type
    return (variable.name, scoped, scope, value, show.one_line(variable.description) or "-")
