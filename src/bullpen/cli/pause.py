"""bullpen pause, bullpen resume: one agent, or all of them.

Works without a server, too: an office can be paused before it is opened.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.settings import load_settings
from bullpen.wire import Agent
from bullpen.wire.nouns import Pause


def run(args: Namespace) -> int:
    if (args.agent is None) != args.all:
        raise CommandFailed(f"Say whom: `bullpen {args.verb} AGENT`, or `bullpen {args.verb} --all`.")
    now = asyncio.run(_switch(args))
    if args.json:
        print(show.as_json(now))
    elif isinstance(now, Agent):
        print(_one(now))
    else:
        print("All agents are paused." if now.paused else "Agents go on, but for those that are paused singly.")
    return 0


async def _switch(args: Namespace) -> Agent | Pause:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        if args.all:
            return await (bp.agents.pause_all() if args.verb == "pause" else bp.agents.resume_all())
        await named.use_ids(bp, args, agent="agent")
        return await (bp.agents.pause(args.agent) if args.verb == "pause" else bp.agents.resume(args.agent))


def _one(agent: Agent) -> str:
    if agent.paused_at is not None:
        return f"{agent.id} is paused."
    if agent.state == "paused":
        return f"{agent.id} stays paused while all agents are: `bullpen resume --all`."
    return f"{agent.id} goes on."
