"""SQL for budgets, what was spent, and threads that are held back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    BigInteger,
    Text,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from bullpen import ids
from bullpen.budgets import rules
from bullpen.budgets.types import Hold, Spent, Standing, Subject
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import Mapped
from bullpen.storage.statements import upsert
from bullpen.storage.tables import budgets, holds, inbox_items, spending

# ── spending ────────────────────────────────────────────────────────────────────────────────────────────────────────

_KEY = [column.name for column in spending.c if column.primary_key]
_COUNTED = [column.name for column in spending.c if not column.primary_key]
_ANSWERS = Mapped(Spent, spending, given=("priced", "begins_run"))


def _adding(insert: Any, source: Any = None) -> Any:
    new = insert(spending) if source is None else insert(spending).from_select([*_KEY, *_COUNTED], source)
    more = {name: spending.c[name] + new.excluded[name] for name in _COUNTED}
    return new.on_conflict_do_update(index_elements=_KEY, set_=more)


_ADD = Statement(_adding(sqlite.insert), postgresql=_adding(postgresql.insert))
# What a space cost was spent, even if nobody may know any more that there was such a space.
_NAMELESS = select(
    spending.c.kind, literal_column("''"), spending.c.day, spending.c.model, *(spending.c[name] for name in _COUNTED)
).where(spending.c.kind == literal_column("'space'"), spending.c.id == bindparam("id_", type_=Text))
_MOVE = Statement(_adding(sqlite.insert, _NAMELESS), postgresql=_adding(postgresql.insert, _NAMELESS))
_DELETE_SPACE = Statement(
    delete(spending).where(spending.c.kind == literal_column("'space'"), spending.c.id == bindparam("id_", type_=Text))
)


async def add_spending(tx: Transaction, subject: Subject, spent: Spent, day: str) -> None:
    """Count an answer for everybody it counts for. Always in this order: it is the order of their locks."""
    marks = {"steps": 1, "runs": int(spent.begins_run), "unpriced": int(not spent.priced)}
    counted = {"day": day, **_ANSWERS.write(spent), **marks}
    whose = [("agent", subject.agent_id), ("person", subject.person_id), ("space", subject.space_id)]
    if subject.task_id:
        whose.append(("task", subject.task_id))
    await tx.many(_ADD, [{"kind": kind, "id": id, **counted} for kind, id in whose])


async def forget_space(tx: Transaction, id: str) -> None:
    """It stands with what was spent in no space from now on."""
    await tx.run(_MOVE, id_=id)
    await tx.run(_DELETE_SPACE, id_=id)


def _sum(column: Any) -> Any:
    return cast(func.coalesce(func.sum(column), 0), BigInteger)


_SUMS = [_sum(spending.c[name]).label(name) for name in _COUNTED]
# What the agents spent is what everybody spent.
_BY: dict[str, tuple[str, Any]] = {
    "agent": ("agent", spending.c.id),
    "space": ("space", spending.c.id),
    "person": ("person", spending.c.id),
    "day": ("agent", spending.c.day),
    "model": ("agent", spending.c.model),
}
_SELECT_USAGE = {
    by: Statement(
        select(key, *_SUMS)
        .where(spending.c.kind == kind, spending.c.day >= bindparam("since"))
        .group_by(key)
        .order_by(key if by == "day" else func.sum(spending.c.nanodollars).desc(), key)
    )
    for by, (kind, key) in _BY.items()
}


async def select_usage(tx: Transaction, by: str, since: str) -> list[dict[str, Any]]:
    """The key, and the sums under their names: the dearest first, days in order."""
    found = await tx.all(_SELECT_USAGE[by], since=since)
    return [{"id": key, **dict(zip(_COUNTED, sums, strict=True))} for key, *sums in found]


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_PERIOD_BEGAN = case((budgets.c.period == "month", bindparam("month", type_=Text)), else_=bindparam("day", type_=Text))
_COUNTS = case(
    (budgets.c.unit == "tokens", spending.c.input_tokens + spending.c.output_tokens), else_=spending.c.nanodollars
)


def _spent(*whose: Any) -> Any:
    return select(_sum(_COUNTS)).where(*whose, spending.c.day >= _PERIOD_BEGAN).correlate(budgets).scalar_subquery()


_THEIRS = _spent(spending.c.kind == budgets.c.kind, spending.c.id == budgets.c.subject_id)
_EVERYBODYS = _spent(spending.c.kind == "agent")
_NOW = budgets.c.since == _PERIOD_BEGAN
_STANDINGS = Mapped(
    Standing,
    budgets,
    others={
        # What happened in an earlier period has not happened in this one.
        "extra": case((_NOW, budgets.c.extra), else_=0),
        "warned_at": case((_NOW, budgets.c.warned_at), else_=None),
        "reached_at": case((_NOW, budgets.c.reached_at), else_=None),
        "spent": case((budgets.c.kind == "office", _EVERYBODYS), else_=_THEIRS),
    },
)
_SELECT_OF = Statement(
    select(*_STANDINGS.columns)
    .where(
        or_(
            and_(budgets.c.kind == "office", budgets.c.subject_id == ""),
            and_(budgets.c.kind == "agent", budgets.c.subject_id == bindparam("agent_id", type_=Text)),
            and_(budgets.c.kind == "space", budgets.c.subject_id == bindparam("space_id", type_=Text)),
            and_(budgets.c.kind == "person", budgets.c.subject_id == bindparam("person_id", type_=Text)),
            and_(budgets.c.kind == "task", budgets.c.subject_id == bindparam("task_id", type_=Text)),
        )
    )
    .order_by(budgets.c.id)
)
_SELECT_ALL = Statement(select(*_STANDINGS.columns).order_by(budgets.c.kind, budgets.c.subject_id, budgets.c.id))
_SELECT = Statement(select(*_STANDINGS.columns).where(budgets.c.id == bindparam("id")))
_SELECT_ID = Statement(
    select(budgets.c.id).where(
        budgets.c.kind == bindparam("kind"),
        budgets.c.subject_id == bindparam("subject_id"),
        budgets.c.period == bindparam("period"),
        budgets.c.unit == bindparam("unit"),
        budgets.c.origin == bindparam("origin"),
    )
)
_INSERT = Statement(insert(budgets))
# Another amount is another budget: whoever was told of the old one is told again of this.
_SET_AMOUNT = Statement(
    update(budgets)
    .where(budgets.c.id == bindparam("id_"))
    .values(
        amount=bindparam("amount_"), since="", extra=0, warned_at=None, reached_at=None, updated_at=bindparam("now")
    )
)
_MARK = Statement(
    update(budgets)
    .where(budgets.c.id == bindparam("id_"))
    .values(
        since=bindparam("since_"),
        extra=bindparam("extra_"),
        warned_at=bindparam("warned_at_"),
        reached_at=bindparam("reached_at_"),
    )
)
_DELETE = Statement(delete(budgets).where(budgets.c.id == bindparam("id_")))
_SELECT_IDS_OF = Statement(
    select(budgets.c.id).where(budgets.c.kind == bindparam("kind"), budgets.c.subject_id == bindparam("subject_id"))
)


def _periods(day: str) -> dict[str, str]:
    return {"day": day, "month": rules.began("month", day)}


async def select_standings_of(tx: Transaction, subject: Subject) -> list[Standing]:
    """The budgets that a run falls under, each with what was spent of it. One statement: it precedes every question
    to a model."""
    return _STANDINGS.read_all(await tx.all(_SELECT_OF, **_periods(today(tx)), **asdict(subject)))


async def select_standings(tx: Transaction) -> list[Standing]:
    return _STANDINGS.read_all(await tx.all(_SELECT_ALL, **_periods(today(tx))))


async def select_standing(tx: Transaction, id: str) -> Standing | None:
    return _STANDINGS.read_one(await tx.one(_SELECT, id=id, **_periods(today(tx))))


async def select_id(tx: Transaction, *, kind: str, subject_id: str, period: str, unit: str, origin: str) -> str | None:
    key = {"kind": kind, "subject_id": subject_id, "period": period, "unit": unit, "origin": origin}
    id: str | None = await tx.value(_SELECT_ID, **key)
    return id


async def insert_budget(tx: Transaction, **values: Any) -> None:
    now = tx.clock.now()
    unmarked = {"since": "", "extra": 0, "warned_at": None, "reached_at": None}
    await tx.run(_INSERT, **values, **unmarked, created_at=now, updated_at=now)


async def update_amount(tx: Transaction, id: str, amount: int) -> None:
    await tx.run(_SET_AMOUNT, id_=id, amount_=amount, now=tx.clock.now())


async def update_marks(tx: Transaction, standing: Standing) -> None:
    """What has happened to it in the period that is now."""
    await tx.run(
        _MARK,
        id_=standing.id,
        since_=rules.began(standing.period, today(tx)),
        extra_=standing.extra,
        warned_at_=standing.warned_at,
        reached_at_=standing.reached_at,
    )


async def delete_budget(tx: Transaction, id: str) -> bool:
    return await tx.run(_DELETE, id_=id) > 0


async def select_ids_of(tx: Transaction, kind: str, subject_id: str) -> list[str]:
    return await tx.values(_SELECT_IDS_OF, kind=kind, subject_id=subject_id)


def today(tx: Transaction) -> str:
    return tx.clock.at(tx.clock.millis())[:10]


# ── holds ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_HOLDS = Mapped(Hold, holds)
_PUT_HOLD = upsert(holds, ["thread_id"], [name for name in _HOLDS.names if name != "thread_id"])
_DROP_HOLD = Statement(delete(holds).where(holds.c.thread_id == bindparam("thread_id_")))
_DROP_HOLDS = Statement(delete(holds).where(any_of(holds.c.thread_id, "thread_ids")))
_SELECT_HOLDS_OF_BUDGETS = Statement(select(*_HOLDS.columns).where(any_of(holds.c.budget_id, "ids")))
_SELECT_HOLDS_OF_AGENT = Statement(select(*_HOLDS.columns).where(holds.c.agent_id == bindparam("agent_id")))
_OF_TASK = "task:"  # how the key of a task's item begins; then comes the task's id
# It waits in the thread, and the budget is not one of its own: then nobody waits for tomorrow.
_OTHERS_WAIT = (
    select(inbox_items.c.id)
    .where(
        inbox_items.c.thread_id == holds.c.thread_id,
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.due_at <= bindparam("now"),
        or_(
            and_(
                holds.c.kind == "person",
                or_(inbox_items.c.cause_kind != "person", inbox_items.c.cause_id != holds.c.subject_id),
            ),
            and_(
                holds.c.kind == "task",
                ~inbox_items.c.key.like(_OF_TASK + holds.c.subject_id + ":%"),
                ~inbox_items.c.chain_id.like("%" + ids.OF_TASK + holds.c.subject_id),
            ),
            and_(holds.c.kind == "space", func.coalesce(inbox_items.c.space_id, "") != holds.c.subject_id),
        ),
    )
    .correlate(holds)
    .exists()
)
_SELECT_LAPSED = Statement(select(*_HOLDS.columns).where(or_(holds.c.until <= bindparam("now"), _OTHERS_WAIT)))
_SELECT_UNCLAIMED = Statement(
    select(
        inbox_items.c.cause_kind,
        inbox_items.c.cause_id,
        inbox_items.c.space_id,
        inbox_items.c.key,
        inbox_items.c.chain_id,
    ).where(
        inbox_items.c.thread_id == bindparam("thread_id"),
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.due_at <= bindparam("now"),
    )
)


async def put_hold(tx: Transaction, hold: Hold) -> None:
    await tx.run(_PUT_HOLD, **_HOLDS.write(hold))


async def drop_hold(tx: Transaction, thread_id: str) -> None:
    await tx.run(_DROP_HOLD, thread_id_=thread_id)


async def drop_holds(tx: Transaction, held: Sequence[Hold]) -> None:
    if held:
        await tx.run(_DROP_HOLDS, thread_ids=[hold.thread_id for hold in held])


async def select_holds_of_budgets(tx: Transaction, ids: Sequence[str]) -> list[Hold]:
    return _HOLDS.read_all(await tx.all(_SELECT_HOLDS_OF_BUDGETS, ids=list(ids)))


async def select_holds_of_agent(tx: Transaction, agent_id: str) -> list[Hold]:
    return _HOLDS.read_all(await tx.all(_SELECT_HOLDS_OF_AGENT, agent_id=agent_id))


async def select_lapsed(tx: Transaction) -> list[Hold]:
    """Those whose time has come, and those that stand in somebody else's way."""
    return _HOLDS.read_all(await tx.all(_SELECT_LAPSED, now=tx.clock.millis()))


async def select_waiting(tx: Transaction, thread_id: str, agent_id: str) -> list[Subject]:
    """For whom the next runs of the thread would be."""
    return [
        Subject(
            agent_id,
            space_id=space_id or "",
            person_id=cause_id if kind == "person" else "",
            task_id=key.split(":")[1] if key.startswith(_OF_TASK) else ids.task_of(chain_id),
        )
        for kind, cause_id, space_id, key, chain_id in await tx.all(
            _SELECT_UNCLAIMED, thread_id=thread_id, now=tx.clock.millis()
        )
    ]
