"""Set, take back and extend budgets; keep those of agents' definitions; say once that one is nearly or wholly used.

Whoever changes a budget takes its turn (`events.actions.in_turn`), and so does whoever holds a thread back because of
one: a budget is never raised in the moment in which a thread is being held under the old amount. The turns of the
agents that it holds back come after its own, and before anything is written.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bullpen import ids
from bullpen.access.rules import SYSTEM
from bullpen.access.types import Principal
from bullpen.audit import actions as audit
from bullpen.budgets import rows, rules
from bullpen.budgets.types import Hold, Spent, Standing, Subject
from bullpen.errors import Conflict, Invalid, NotFound
from bullpen.events.actions import in_turn, record
from bullpen.storage import Transaction
from bullpen.wire import Limits
from bullpen.wire.events import BudgetReached, BudgetWarned
from bullpen.wire.nouns import Budget, BudgetKind, BudgetPeriod, BudgetUnit

logger = logging.getLogger("bullpen.budgets")


def on_the_wire(standing: Standing) -> Budget:
    return Budget(
        id=standing.id,
        kind=standing.kind,
        subject_id=standing.subject_id or None,
        period=standing.period,
        unit=standing.unit,
        amount=rules.shown(standing.amount, standing.unit),
        extra=rules.shown(standing.extra, standing.unit),
        spent=rules.shown(standing.spent, standing.unit),
        reached=rules.is_reached(standing),
        warned_at=standing.warned_at,
        reached_at=standing.reached_at,
        origin="limits" if standing.origin == "limits" else "set",
        created_by=standing.created_by,
        created_at=standing.created_at,
        updated_at=standing.updated_at,
    )


async def spend(tx: Transaction, subject: Subject, spent: Spent) -> None:
    """Count an answer, in the transaction that keeps it."""
    await rows.add_spending(tx, subject, spent, rows.today(tx))


# ── setting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def put(
    tx: Transaction,
    by: Principal,
    *,
    kind: BudgetKind,
    subject_id: str,
    period: BudgetPeriod,
    unit: BudgetUnit,
    amount: float,
) -> Standing:
    """Set a budget, instead of the one that was set for the same before. What it held back must be let go on."""
    if unit == "USD" and amount > rules.MOST:
        raise Invalid(f"At most {rules.MOST} USD can be set.", fields={"amount": f"must be at most {rules.MOST}"})
    key = {"kind": kind, "subject_id": subject_id, "period": period, "unit": unit, "origin": "set"}
    await in_turn(tx, "budgets")  # nobody knows its id yet
    id = await rows.select_id(tx, **key)
    if id is None:
        id = ids.budget()
        await rows.insert_budget(tx, id=id, amount=rules.smallest(amount, unit), created_by=by.id, **key)
    else:
        await take_turns(tx, [id])
        await rows.update_amount(tx, id, rules.smallest(amount, unit))
    detail = {"kind": kind, "period": period, "unit": unit, "amount": amount}
    audit.note(tx, by, "budget.set", "budget", id, of=subject_id, **detail)
    return await get(tx, id)


async def get(tx: Transaction, id: str) -> Standing:
    found = await rows.select_standing(tx, id)
    if found is None:
        raise NotFound(f"There is no budget {id!r}.")
    return found


async def take_turns(tx: Transaction, ids: Sequence[str], *also: str) -> None:
    """Of these budgets, and then of the agents that they hold back: those will be told of as well."""
    await in_turn(tx, *ids)
    held = await rows.select_holds_of_budgets(tx, ids) if ids else []
    await in_turn(tx, *{hold.agent_id for hold in held}, *also)


async def delete(tx: Transaction, by: Principal, id: str) -> None:
    await in_turn(tx, "budgets")
    await take_turns(tx, [id])
    found = await get(tx, id)
    if found.origin == "limits":
        raise Conflict(
            f"This budget stands in the definition of {found.subject_id!r}. Change its limits: PATCH /api/agents/"
            f"{found.subject_id} with maxCostPerDay or maxTokensPerDay."
        )
    await rows.delete_budget(tx, id)
    audit.note(tx, by, "budget.deleted", "budget", id, kind=found.kind, of=found.subject_id)


async def keep_limits(tx: Transaction, agent_id: str, limits: Limits) -> None:
    """What an agent's definition says it may use in a day is a budget like any other. Its turn has been taken."""
    wanted: dict[BudgetUnit, float | None] = {"USD": limits.max_cost_per_day, "tokens": limits.max_tokens_per_day}
    for unit, amount in wanted.items():
        id = f"lim_{agent_id}_{unit.lower()}"
        there = await rows.select_standing(tx, id)
        if amount is None:
            if there is not None:
                await rows.delete_budget(tx, id)
            continue
        smallest = rules.smallest(amount, unit)
        if there is None:
            key = {"kind": "agent", "subject_id": agent_id, "period": "day", "unit": unit, "origin": "limits"}
            await rows.insert_budget(tx, id=id, amount=smallest, created_by=SYSTEM.id, **key)
        elif there.amount != smallest:
            await rows.update_amount(tx, id, smallest)


async def forget(tx: Transaction, kind: BudgetKind, subject_id: str) -> None:
    """Whoever it was for is gone."""
    for id in await rows.select_ids_of(tx, kind, subject_id):
        await rows.delete_budget(tx, id)


# ── telling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def warn(tx: Transaction, standings: Sequence[Standing]) -> None:
    """Tell owners, once for each amount and period, that so much is used."""
    await in_turn(tx, *(each.id for each in standings))
    for each in standings:
        now = await rows.select_standing(tx, each.id)
        if now is None or not rules.is_near(now) or now.warned_at is not None:
            continue
        now = replace(now, warned_at=tx.clock.now())
        await rows.update_marks(tx, now)
        record(tx, BudgetWarned(budget=on_the_wire(now)), audience="owners")
        audit.note(tx, SYSTEM, "budget.warned", "budget", now.id, kind=now.kind, of=now.subject_id)
        used = f"{rules.written(now.spent, now.unit)} of {rules.written(now.ceiling, now.unit)}"
        tx.after_commit(partial(logger.warning, "%s is used to %d %%: %s", rules.name(now), rules.WARN_PERCENT, used))


async def tell_reached(tx: Transaction, standing: Standing) -> bool:
    """Tell owners that it is used up; true if nobody had been told. Its turn has been taken."""
    if standing.reached_at is not None:
        return False
    now = tx.clock.now()
    told = replace(standing, reached_at=now, warned_at=standing.warned_at or now)
    await rows.update_marks(tx, told)
    record(tx, BudgetReached(budget=on_the_wire(told)), audience="owners")
    audit.note(tx, SYSTEM, "budget.reached", "budget", told.id, kind=told.kind, of=told.subject_id)
    tx.after_commit(partial(logger.warning, "%s", rules.reached_sentence(told)))
    return True


# ── going on ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def extend(tx: Transaction, by: Principal, id: str) -> Standing | None:
    """Somebody resumed what it held back: as much again may be spent in this period, from now on. None: there is no
    such budget."""
    found = await rows.select_standing(tx, id)
    if found is None or not rules.is_reached(found):
        return found
    if found.amount == 0:
        raise Conflict(f"{rules.name(found)} is 0, so nothing can go on. Raise it first: PUT /api/budgets.")
    extended = replace(found, extra=found.spent, warned_at=None, reached_at=None)
    await rows.update_marks(tx, extended)
    audit.note(tx, by, "budget.extended", "budget", id, kind=found.kind, of=found.subject_id)
    return extended


async def release(tx: Transaction, held: Sequence[Hold]) -> list[str]:
    """These may be driven again; the ids of their threads, for whoever nudges them."""
    await rows.drop_holds(tx, held)
    return [hold.thread_id for hold in held]
