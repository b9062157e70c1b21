"""bullpen memory goals|memories|plans: what an agent wants, knows under keys and plans; write it, and remove it."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.cli.hooks import show_page
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Goal, Memory, Plan


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    if args.set is not None and args.delete is not None:
        raise CommandFailed("Say either --set or --delete.")
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, agent="agent", space="space")
        await {"goals": _goals, "memories": _memories, "plans": _plans}[args.action](bp, args)
    return 0


async def _goals(bp: Bullpen, args: Namespace) -> None:
    if args.set is not None:
        goal = await bp.goals.set(
            args.agent, args.set, id=args.id, status=args.status, priority=args.priority, space=args.space
        )
        print(show.as_json(goal) if args.json else goal.id)
    elif args.delete is not None:
        await bp.goals.delete(args.agent, args.delete, space=args.space)
    else:
        nothing = 'No goals. Give it one with `bullpen memory goals AGENT --set "…"`.'
        headings = ("GOAL", "STATUS", "PRIORITY", "WHAT", "STAYS IN")
        show_page(await bp.goals.list(args.agent), args, headings, _goal, nothing)


def _goal(goal: Goal) -> tuple[str, ...]:
    return (goal.id, goal.status, str(goal.priority), show.one_line(goal.description, 80), goal.space_id or "-")


async def _memories(bp: Bullpen, args: Namespace) -> None:
    if args.set is not None:
        key, value = args.set
        memory = await bp.memories.set(args.agent, key, value, space=args.space)
        print(show.as_json(memory) if args.json else memory.key)
    elif args.delete is not None:
        await bp.memories.delete(args.agent, args.delete, space=args.space)
    else:
        nothing = 'No memories. Give it one with `bullpen memory memories AGENT --set "KEY" "VALUE"`.'
        show_page(await bp.memories.list(args.agent), args, ("KEY", "VALUE", "STAYS IN"), _memory, nothing)


def _memory(memory: Memory) -> tuple[str, ...]:
    return (show.one_line(memory.key, 40), show.one_line(memory.value, 80), memory.space_id or "-")


async def _plans(bp: Bullpen, args: Namespace) -> None:
    if args.set is not None:
        name, instruction = args.set
        plan = await bp.plans.set(
            args.agent,
            name,
            instruction,
            run_after=args.after,
            scheduled_at=args.at,
            cron=args.cron,
            id=args.id,
            space=args.space,
        )
        print(show.as_json(plan) if args.json else f"{plan.id}  {_due(plan)}")
    elif args.delete is not None:
        await bp.plans.delete(args.agent, args.delete, space=args.space)
    else:
        nothing = 'No plans. Make one with `bullpen memory plans AGENT --set "NAME" "TEXT" --after "2 hours"`.'
        headings = ("PLAN", "STATUS", "WHEN", "NEXT", "WHERE", "WHAT")
        show_page(await bp.plans.list(args.agent), args, headings, _plan, nothing)


def _plan(plan: Plan) -> tuple[str, ...]:
    when = f"{plan.cron} ({plan.timezone})" if plan.cron else plan.scheduled_at or "-"
    what = plan.reason or f"{plan.name}: {plan.instruction}"
    return (plan.id, plan.status, when, _due(plan), plan.space_id or "-", show.one_line(what, 60))


def _due(plan: Plan) -> str:
    return "-" if plan.next_run is None else show.date(plan.next_run)
