"""bullpen budgets, bullpen usage: what may be spent, what was, and by whom."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, named, show
from bullpen.cli.failures import CommandFailed
from bullpen.client import Bullpen, Page
from bullpen.settings import load_settings
from bullpen.wire.nouns import Budget, BudgetUnit, UsageRow

UNPRICED = (
    "Some models have no price, so what they cost is not counted. Write it into prices.yaml in the data folder "
    "(0, if they are free), and start again."
)


def run(args: Namespace) -> int:
    return asyncio.run(_usage(args) if args.verb == "usage" else _budgets(args))


async def _budgets(args: Namespace) -> int:
    if args.action == "set" and (args.kind == "office") == (args.of is not None):
        raise CommandFailed("Say whose: `bullpen budgets set agent ID 5`, or `bullpen budgets set office 20`.")
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        if args.action == "set" and args.kind in ("agent", "space", "person"):
            await named.use_ids(bp, args, of=args.kind)
        match args.action:
            case "set":
                unit: BudgetUnit = "tokens" if args.tokens else "USD"
                made = await bp.budgets.set(args.kind, args.of, args.amount, period=args.per, unit=unit)
                print(made.id)
            case "delete":
                await bp.budgets.delete(args.id)
            case _:
                await _list(bp, args)
    return 0


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.budgets.list()
    if args.json:
        print(show.as_json({"items": [item.model_dump(by_alias=True, mode="json") for item in page]}))
    elif page.items:
        names = await named.names_of(bp, "member", "space")
        headings = ("BUDGET", "OF", "PER", "SPENT", "OF AT MOST", "USED", "STATE")
        print(show.table(headings, [_budget(budget, names) for budget in page]))
    else:
        print("No budgets yet. Set one with `bullpen budgets set agent ID 5`.", file=sys.stderr)


def _budget(budget: Budget, names: named.Names) -> tuple[str, ...]:
    most = budget.amount + budget.extra
    used = f"{budget.spent / most * 100:.0f} %" if most else "-"
    state = "used up" if budget.reached else "warned" if budget.warned_at else "-"
    whose = budget.kind if budget.subject_id is None else f"{budget.kind} {named.beside(budget.subject_id, names)}"
    return (budget.id, whose, budget.period, _amount(budget, budget.spent), _amount(budget, most), used, state)


def _amount(budget: Budget, amount: float) -> str:
    return f"{amount:.0f} tokens" if budget.unit == "tokens" else show.dollars(amount)


async def _usage(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        page = await bp.usage.list(by=args.by, days=args.days)
        named_kinds: tuple[named.Kind, ...] = (args.by,) if args.by in ("agent", "space", "person") else ()
        names = await named.names_of(bp, *(() if args.json or not page.items else named_kinds))
    if args.json:
        print(show.as_json({"items": [item.model_dump(by_alias=True, mode="json") for item in page]}))
        return 0
    if not page.items:
        print("Nothing was used yet.", file=sys.stderr)
        return 0
    print(
        show.table(
            (args.by.upper(), "RUNS", "STEPS", "IN", "CACHED", "OUT", "COST", "TODAY", "A DAY"), _rows(page, names)
        )
    )
    if any(row.unpriced for row in page):
        print(UNPRICED, file=sys.stderr)
    return 0


def _rows(page: Page[UsageRow], names: named.Names) -> list[tuple[str, ...]]:
    return [
        (
            named.beside(row.id or None, names),
            str(row.runs),
            str(row.steps),
            str(row.input_tokens),
            str(row.cached_tokens),
            str(row.output_tokens),
            show.dollars(row.cost) + ("?" if row.unpriced else ""),
            "-" if row.cost_today is None else show.dollars(row.cost_today),
            "-" if row.budget is None else show.dollars(row.budget),
        )
        for row in page
    ]
