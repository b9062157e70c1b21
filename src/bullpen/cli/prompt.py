"""bullpen prompt AGENT, bullpen run ID --step N: what a model is shown, part by part with its share."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence

from bullpen.cli import door, named, show
from bullpen.settings import load_settings
from bullpen.wire.nouns import Prompt, PromptChange, PromptPart, StepRequest

INDENT = " " * 4


def run(args: Namespace) -> int:
    seen = asyncio.run(_fetch(args))
    print(show.as_json(seen) if args.json else "\n".join(lines(seen)))
    return 0


async def _fetch(args: Namespace) -> Prompt:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, agent="agent", space="space")
        return await bp.agents.prompt(args.agent, space=args.space)


def run_step(args: Namespace) -> int:
    seen = asyncio.run(_fetch_step(args))
    print(show.as_json(seen) if args.json else "\n".join([*lines(seen), *changes(seen.changed)]))
    return 0


async def _fetch_step(args: Namespace) -> StepRequest:
    async with door.to_server(load_settings(data=args.data)) as bp:
        return await bp.runs.request(args.id, args.step, body=args.json)


def lines(seen: Prompt | StepRequest) -> list[str]:
    """A table of the parts and their shares, then their texts."""
    tools = PromptPart(name="tools", text="", tokens=sum(tool.tokens for tool in seen.tools))
    parts = [*seen.parts, tools]
    heading = show.one_line(f"{seen.model or ''}  about {seen.tokens} tokens of {seen.window}", 200)
    rows = [(part.name, str(part.tokens), f"{part.tokens * 100 // max(1, seen.tokens)} %") for part in parts]
    found = [heading, show.table(("PART", "TOKENS", "SHARE"), rows)]
    if seen.left_out:
        found.append(f"not shown: {', '.join(seen.left_out)}")
    for part in seen.parts:
        found += ["", f"── {part.name}", INDENT + show.plain(part.text, indent=INDENT)]
    names = ", ".join(tool.name for tool in seen.tools)
    return [*found, "", "── tools", INDENT + show.plain(names, indent=INDENT)]


def changes(changed: Sequence[PromptChange]) -> list[str]:
    found = []
    for change in changed:
        which = f" ({', '.join(change.message_ids)})" if change.message_ids else ""
        found.append(show.one_line(f"changed since: {change.part}: {change.why}{which}", 400))
    return ["", *found] if found else []
