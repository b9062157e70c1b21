"""bullpen why: which agents a message woke and which not, and the reason."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.settings import load_settings
from bullpen.wire.nouns import Why, WhyAgent, WhyRun


def run(args: Namespace) -> int:
    found = asyncio.run(_ask(args))
    if args.json:
        print(show.as_json(found))
    elif found.agents:
        print("\n".join(line for agent in found.agents for line in _lines(agent)))
    else:
        print("There is no agent in that space.", file=sys.stderr)
    return 0


async def _ask(args: Namespace) -> Why:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, agent="agent")
        return await bp.messages.why(args.id, agent=args.agent)


def _lines(agent: WhyAgent) -> list[str]:
    heading = f"{agent.agent_id}: {agent.reason} ({agent.code})"
    return [show.one_line(heading, 200), *(f"  {line}" for line in ([] if agent.run is None else _run(agent.run)))]


def _run(run: WhyRun) -> list[str]:
    came = ", ".join(filter(None, (run.status, run.outcome, run.stop_reason)))
    caused = "" if run.cause is None else f", caused by {run.cause.kind} {run.cause.id}"
    details = {
        "run": f"{run.run_id}  {came}",
        "depth": f"{run.depth}{caused}",
        "silent": run.silence_reason,
        "error": run.error,
        "said": ", ".join(run.message_ids),
        "memory": ", ".join(f"{block.label} (version {block.version})" for block in run.blocks or ()),
    }
    return [f"{name:<7}{show.one_line(text, 200)}" for name, text in details.items() if text]
