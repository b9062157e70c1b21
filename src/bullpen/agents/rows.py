"""SQL for agents. A definition is JSON in one column; what other statements join on has columns of its own.

A new field of an agent is part of its definition, and needs nothing here, unless it is computed when it is read.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from bullpen.budgets.rows import today
from bullpen.budgets.types import DOLLAR
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.mapped import Codec, Mapped
from bullpen.storage.paused import ALL_PAUSED_KEY, all_paused, is_held
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import agents, holds, meta, people, runs, spending, threads
from bullpen.wire import Agent

_INSERT = Statement(insert(agents))
_CHANGING = ("name", "scope", "max_chain_depth", "definition", "interrupts", "updated_at")
_UPDATE = Statement(
    update(agents).where(agents.c.id == bindparam("id_")).values({name: bindparam(name) for name in _CHANGING})
)
_DELETE = Statement(update(agents).where(agents.c.id == bindparam("id_")).values(deleted_at=bindparam("now")))

# Through the agent's threads, so that the index on runs under way is used: the agent may have had many runs.
_UNDER_WAY = exists().where(
    threads.c.agent_id == agents.c.id,
    runs.c.thread_id == threads.c.id,
    runs.c.finished_at.is_(None),
    threads.c.state != "waiting",
    ~is_held,
)
_QUEUED = exists().where(
    threads.c.agent_id == agents.c.id, threads.c.state != "idle", threads.c.state != "waiting", ~is_held
)
_HELD = exists().where(holds.c.agent_id == agents.c.id)
_WAITING = exists().where(threads.c.agent_id == agents.c.id, threads.c.state == "waiting")
_PAUSED = or_(agents.c.paused_at.is_not(None), all_paused)
_STATE = case(
    (_PAUSED, "paused"),
    (_UNDER_WAY, "running"),
    (_QUEUED, "queued"),
    (_HELD, "paused"),
    (_WAITING, "waiting"),
    else_="idle",
)
_SPENT = (
    select(cast(func.coalesce(func.sum(spending.c.nanodollars), 0), BigInteger))
    .where(spending.c.kind == "agent", spending.c.id == agents.c.id, spending.c.day == bindparam("today"))
    .scalar_subquery()
)
_UNPRICED = (
    select(func.coalesce(func.sum(spending.c.unpriced), 0))
    .where(spending.c.kind == "agent", spending.c.id == agents.c.id, spending.c.day == bindparam("today"))
    .scalar_subquery()
)
_PAUSED_REASON = select(func.max(holds.c.reason)).where(holds.c.agent_id == agents.c.id).scalar_subquery()
_KEPT = ("id", "name", "paused_at", "created_at", "updated_at")  # each in the column of its name
_COMPUTED = {
    "state": _STATE,
    "cost_today": _SPENT,
    "unpriced_today": cast(_UNPRICED, BigInteger),
    "paused_reason": _PAUSED_REASON,
}
_ADDED = ("blocks", "waiting_for", "warnings")  # by whoever shows the agent
_DEFINED = frozenset(Agent.model_fields).difference(_KEPT, _COMPUTED, _ADDED)
_DOLLARS = Codec(lambda nanodollars: nanodollars / DOLLAR, lambda dollars: round(dollars * DOLLAR))
_SOME = Codec(lambda count: count or None, lambda count: count or 0)
_AGENTS = Mapped(Agent, agents, others=_COMPUTED, given=(*_ADDED, *_DEFINED), cost_today=_DOLLARS, unpriced_today=_SOME)
# What a run needs of its agent: it is paused or not, and nothing else is asked.
_DEFINITIONS = Mapped(
    Agent,
    agents,
    others={"state": case((_PAUSED, "paused"), else_="idle")},
    given=(*_ADDED, *_DEFINED, "cost_today", "unpriced_today", "paused_reason"),
)
_SELECT = Statement(
    select(*_AGENTS.columns, agents.c.definition).where(agents.c.id == bindparam("id"), agents.c.deleted_at.is_(None))
)
_SELECT_PAGE = Statement(
    select(*_AGENTS.columns, agents.c.definition)
    .where(agents.c.deleted_at.is_(None), agents.c.created_at < bindparam("before"))
    .order_by(agents.c.created_at.desc())
    .limit(bindparam("limit"))
)
_SELECT_DEFINITION = Statement(
    select(*_DEFINITIONS.columns, agents.c.definition).where(
        agents.c.id == bindparam("id"), agents.c.deleted_at.is_(None)
    )
)
_SET_PAUSED = Statement(update(agents).where(agents.c.id == bindparam("id_")).values(paused_at=bindparam("paused_at_")))
_SWITCH_ON = insert_or_ignore(meta)
_SWITCH_OFF = Statement(delete(meta).where(meta.c.key == ALL_PAUSED_KEY))
_READ_SWITCH = Statement(select(meta.c.value).where(meta.c.key == ALL_PAUSED_KEY))
_TAKEN = Statement(
    select(agents.c.id)
    .where(agents.c.id == bindparam("id"))
    .union_all(select(people.c.id).where(people.c.id == bindparam("id")))
)
_SELECT_NAMES = Statement(
    select(agents.c.id, agents.c.name)
    .where(any_of(agents.c.id, "ids"))
    .union_all(select(people.c.id, people.c.name).where(any_of(people.c.id, "ids")))
)
_SELECT_KINDS = Statement(
    select(agents.c.id, literal_column("'agent'"))
    .where(any_of(agents.c.id, "ids"), agents.c.deleted_at.is_(None))
    .union_all(select(people.c.id, literal_column("'person'")).where(any_of(people.c.id, "ids")))
)


def _definition(agent: Agent) -> str:
    return orjson.dumps(agent.model_dump(mode="json", include=set(_DEFINED), exclude_none=True)).decode()


def _columns(agent: Agent) -> dict[str, Any]:
    """The columns of an agent, and those that others join on."""
    return {
        **_AGENTS.write(agent),
        "scope": agent.scope,
        "max_chain_depth": agent.limits.max_chain_depth,
        "interrupts": int(agent.on_new_message == "interrupt"),
        "definition": _definition(agent),
    }


def _read(mapped: Mapped[Agent], row: Row) -> Agent:
    *columns, definition = row
    return mapped.read(columns, **orjson.loads(definition))


async def insert_agent(tx: Transaction, agent: Agent) -> None:
    await tx.run(_INSERT, **_columns(agent), deleted_at=None)


async def update_agent(tx: Transaction, agent: Agent) -> None:
    columns = _columns(agent)
    await tx.run(_UPDATE, id_=agent.id, **{name: columns[name] for name in _CHANGING})


async def delete_agent(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE, id_=id, now=tx.clock.now())


async def select_agent(tx: Transaction, id: str) -> Agent | None:
    row = await tx.one(_SELECT, id=id, today=today(tx))
    return None if row is None else _read(_AGENTS, row)


async def select_definition(tx: Transaction, id: str) -> Agent | None:
    """What a run needs of the agent: its state is `paused` or `idle`, whatever it is doing."""
    row = await tx.one(_SELECT_DEFINITION, id=id)
    return None if row is None else _read(_DEFINITIONS, row)


async def select_agents(tx: Transaction, *, before: str, limit: int) -> list[Agent]:
    found = await tx.all(_SELECT_PAGE, before=before, limit=limit, today=today(tx))
    return [_read(_AGENTS, row) for row in found]


async def update_paused(tx: Transaction, id: str, paused_at: str | None) -> None:
    await tx.run(_SET_PAUSED, id_=id, paused_at_=paused_at)


async def switch_pause(tx: Transaction, paused_at: str | None) -> bool:
    """Pause all, or let all go on; true if that changed anything."""
    if paused_at is None:
        return await tx.run(_SWITCH_OFF) > 0
    return await tx.run(_SWITCH_ON, key=ALL_PAUSED_KEY, value=paused_at) > 0


async def select_all_paused_at(tx: Transaction) -> str | None:
    """Since when all are paused."""
    paused_at: str | None = await tx.value(_READ_SWITCH)
    return paused_at


async def id_is_taken(tx: Transaction, id: str) -> bool:
    """People and agents share one id space; a deleted agent keeps its id, since messages name it."""
    return await tx.one(_TAKEN, id=id) is not None


async def select_names(tx: Transaction, of: list[str]) -> dict[str, str]:
    return {id: str(name) for id, name in await tx.all(_SELECT_NAMES, ids=of)}


async def select_kinds(tx: Transaction, of: list[str]) -> dict[str, str]:
    """Which of these ids are a person's and which an agent's; absent: nobody's."""
    return {id: str(kind) for id, kind in await tx.all(_SELECT_KINDS, ids=of)}


_SELECT_SAYING = Statement(
    select(agents.c.id, agents.c.name)
    .where(agents.c.deleted_at.is_(None), agents.c.definition.like(bindparam("said"), escape="\\"))
    .order_by(agents.c.name)
)


async def select_using(tx: Transaction, connection_id: str) -> list[tuple[str, str]]:
    """Id and name of the agents whose model names this connection."""
    return await _saying(tx, f'"connection":"{connection_id}"')


async def select_with_key(tx: Transaction, variable: str, provider: str) -> list[tuple[str, str]]:
    """Those whose model takes its key from this variable, by its name or because it is their provider's usual one."""
    found = await _saying(tx, f'"apiKeyVariable":"{variable}"')
    if provider:
        found += await _saying(tx, f'"model":"{provider}:') + await _saying(tx, f'"provider":"{provider}"')
    return found


async def _saying(tx: Transaction, text: str) -> list[tuple[str, str]]:
    """Whose definition holds this piece of JSON. Inside of a text its quotes would be escaped."""
    for sign in ("\\", "%", "_"):
        text = text.replace(sign, f"\\{sign}")
    return [(id, name) for id, name in await tx.all(_SELECT_SAYING, said=f"%{text}%")]


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_ANY_AGENT = Statement(select(agents.c.name, agents.c.deleted_at).where(agents.c.id == bindparam("id")))
_ERASE_AGENT = Statement(
    update(agents)
    .where(agents.c.id == bindparam("id_"))
    .values(
        name=bindparam("name_"),
        definition='{"model":"script:echo","tools":[]}',
        deleted_at=func.coalesce(agents.c.deleted_at, bindparam("now", type_=agents.c.deleted_at.type)),
    )
)


async def select_any_agent(tx: Transaction, id: str) -> tuple[str, bool] | None:
    """Its name, and whether it is deleted."""
    row = await tx.one(_SELECT_ANY_AGENT, id=id)
    if row is None:
        return None
    name, deleted_at = row
    return name, deleted_at is not None


async def erase_agent(tx: Transaction, id: str, name: str) -> None:
    """The row stays, under this name."""
    await tx.run(_ERASE_AGENT, id_=id, name_=name, now=tx.clock.now())
