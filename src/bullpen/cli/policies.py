"""bullpen policies: list what agents may do with tools, decide about one, take a decision back."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from typing import Any

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Policy


def run(args: Namespace) -> int:
    when = _read(args.when) if args.action == "set" and args.when is not None else None
    return asyncio.run(_run(args, when))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CommandFailed(
            f"{show.one_line(text, 40)!r} is no JSON. Write a condition, as in "
            '\'{"path": "amount", "op": "gt", "value": 100}\'.'
        ) from None


async def _run(args: Namespace, when: Any) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space", agent="agent")
        match args.action:
            case "set":
                made = await bp.policies.set(
                    args.agent, args.tool, args.decision, space=args.space, when=when, source=args.source
                )
                print(made.id)
            case "delete":
                await bp.policies.delete(args.id)
            case _:
                await _list(bp, args)
    return 0


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.policies.list(agent=args.agent, space=args.space, limit=args.limit, cursor=args.cursor)
    if args.json:
        items = [item.model_dump(by_alias=True, mode="json") for item in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
    elif page.items:
        names = await named.names_of(bp, "agent", "space")
        headings = ("POLICY", "AGENT", "SPACE", "TOOL", "DECISION", "SOURCE", "WHEN")
        print(show.table(headings, [_row(policy, names) for policy in page]))
        if page.next is not None:
            print(f"There are more: add --cursor {page.next!r}", file=sys.stderr)
    else:
        print("No policies yet. Set one with `bullpen policies set AGENT TOOL ask`.", file=sys.stderr)


def _row(policy: Policy, names: named.Names) -> tuple[str, ...]:
    when = "always" if policy.when is None else show.one_line(show.as_json(policy.when), 80)
    source = show.one_line(policy.source or "-", 40)
    who, where = named.beside(policy.agent_id, names), named.beside(policy.space_id, names)
    return (policy.id, who, where, policy.tool_name, policy.decision, source, when)
