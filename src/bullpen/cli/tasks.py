"""bullpen tasks: what is scheduled, when it is due next, and what came of it; schedule, pause, resume, run, cancel."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from functools import partial

from bullpen.cli import door, named, show
from bullpen.cli.hooks import show_page
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Firing, Task


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space", agent="agent")
        match args.action:
            case "create":
                _show(await _create(bp, args), args)
            case "show":
                _show(await bp.tasks.get(args.id), args)
            case "pause":
                _show(await bp.tasks.pause(args.id), args)
            case "resume":
                _show(await bp.tasks.resume(args.id), args)
            case "run":
                firing = await bp.tasks.run(args.id)
                print(show.as_json(firing) if args.json else f"{firing.task_id} {firing.status}")
            case "cancel":
                await bp.tasks.cancel(args.id)
            case "firings":
                await _firings(bp, args)
            case _:
                await _list(bp, args)
    return 0


async def _create(bp: Bullpen, args: Namespace) -> Task:
    return await bp.tasks.create(
        args.space,
        args.prompt,
        args.type,
        args.value,
        agent=args.agent,
        context_mode=args.context,
        timezone=args.timezone,
        missed=args.missed,
    )


def _show(task: Task, args: Namespace) -> None:
    if args.json:
        print(show.as_json(task))
        return
    state = task.status if task.reason is None else f"{task.status}: {show.one_line(task.reason, 200)}"
    print(f"{task.id}  {state}")
    for at in task.next_runs:
        print(f"  {show.date(at)}")


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.tasks.list(
        space=args.space, agent=args.agent, status=args.status, limit=args.limit, cursor=args.cursor
    )
    nothing = 'No tasks. Make one with `bullpen tasks create SPACE cron "0 9 * * *" "Say good morning"`.'
    spaces = {} if args.json else await named.names_of(bp, "space")
    agents = {} if args.json else await named.names_of(bp, "agent")
    headings = ("TASK", "SPACE", "AGENT", "STATUS", "WHEN", "NEXT", "WHAT")
    show_page(page, args, headings, partial(_row, spaces=spaces, agents=agents), nothing)


def _row(task: Task, spaces: named.Names, agents: named.Names) -> tuple[str, ...]:
    when = f"{task.schedule_type} {task.schedule_value} ({task.timezone})"
    due = "-" if task.next_run is None else show.date(task.next_run)
    what = show.one_line(task.reason or task.prompt, 60)
    where, who = named.beside(task.space_id, spaces), named.beside(task.agent_id, agents)
    return (task.id, where, who, task.status, when, due, what)


async def _firings(bp: Bullpen, args: Namespace) -> None:
    page = await bp.tasks.firings(args.id, limit=args.limit, cursor=args.cursor)
    nothing = "It has not been due yet."
    show_page(page, args, ("DUE", "STATUS", "MISSED", "RUN", "CAME TO"), _firing, nothing)


def _firing(firing: Firing) -> tuple[str, ...]:
    came_to = firing.reason or firing.error or firing.outcome or firing.run_status or "-"
    missed = str(firing.missed) if firing.missed else "-"
    return (show.date(firing.nominal_at), firing.status, missed, firing.run_id or "-", show.one_line(came_to))
