"""SQL for variables, and for which key the office seals with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)

from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, Mapped
from bullpen.storage.statements import upsert
from bullpen.storage.tables import agents, meta, people, spaces, threads, tools, variables, webhooks
from bullpen.variables.types import Found, Link, Place, Scope, Stored
from bullpen.wire.nouns import VariableScope

DEEPEST = 32  # threads above one another
SEALING_KEY = "sealing_key"

_STORED = Mapped(Stored, variables, given=("scope",), scoped=FLAG)
_COLUMNS = (variables.c.scope_kind, variables.c.scope_id, *_STORED.columns)
_OFFICE = or_(*(variables.c.scope_kind == kind for kind in ("workspace", "agent", "thread")))
_KEY = ("scope_kind", "scope_id", "name")
_UPSERT = upsert(variables, _KEY, [name for name in _STORED.names if name != "name"])
_IS = and_(
    variables.c.scope_kind == bindparam("kind"),
    variables.c.scope_id == bindparam("id"),
    variables.c.name == bindparam("name_"),
)
_SELECT = Statement(select(*_COLUMNS).where(_IS))
_DELETE = Statement(delete(variables).where(_IS))
_COUNT_IN = Statement(
    select(
        func.count(), func.sum(case((variables.c.key_id.is_not(None), func.length(variables.c.value)), else_=0))
    ).where(variables.c.scope_kind == bindparam("kind"), variables.c.scope_id == bindparam("id"))
)
_IS_NAMED = Statement(
    union_all(
        *(
            select(column).where(column == bindparam("name_"))
            for column in (agents.c.id, spaces.c.id, people.c.id, tools.c.name, threads.c.id)
        )
    )
)
_SELECT_THREADS_OF = Statement(
    select(variables.c.scope_id)
    .distinct()
    .select_from(variables.join(threads, threads.c.id == variables.c.scope_id))
    .where(
        variables.c.scope_kind == "thread",
        or_(
            and_(bindparam("kind") == "agent", threads.c.agent_id == bindparam("id")),
            and_(bindparam("kind") == "space", threads.c.space_id == bindparam("id")),
        ),
    )
)
_DELETE_SCOPE = Statement(
    delete(variables).where(
        or_(
            and_(variables.c.scope_kind == bindparam("kind"), variables.c.scope_id == bindparam("id")),
            and_(
                variables.c.scope_kind == "thread",
                variables.c.scope_id.in_(
                    select(threads.c.id).where(
                        or_(
                            and_(bindparam("kind") == "agent", threads.c.agent_id == bindparam("id")),
                            and_(bindparam("kind") == "space", threads.c.space_id == bindparam("id")),
                        )
                    )
                ),
            ),
        )
    )
)
# Neither names nor ids hold a blank, so this sorts as the three columns do.
_PLACED = (
    variables.c.scope_kind + literal_column("' '") + variables.c.scope_id + literal_column("' '") + variables.c.name
)
_SELECT_VISIBLE = Statement(
    select(*_COLUMNS)
    .where(
        or_(
            and_(_OFFICE, bindparam("manages", type_=BigInteger) == literal_column("1")),
            and_(variables.c.scope_kind == "person", variables.c.scope_id == bindparam("person_id")),
            and_(variables.c.scope_kind == "space", any_of(variables.c.scope_id, "space_ids")),
        ),
        or_(bindparam("kind") == "", variables.c.scope_kind == bindparam("kind")),
        or_(bindparam("id") == "", variables.c.scope_id == bindparam("id")),
        bindparam("after") < _PLACED,
    )
    .order_by(_PLACED)
    .limit(bindparam("limit"))
)

# ── one query for a place ───────────────────────────────────────────────────────────────────────────────────────────

_thread = select(threads.c.id, threads.c.parent_id, threads.c.scoped_names, literal_column("0").label("depth")).where(
    threads.c.id == bindparam("thread_id")
)
_line = _thread.cte("line", recursive=True)
_line = _line.union_all(
    select(threads.c.id, threads.c.parent_id, threads.c.scoped_names, _line.c.depth + literal_column("1")).where(
        threads.c.id == _line.c.parent_id, _line.c.depth < literal_column(str(DEEPEST))
    )
)
_named = any_of(variables.c.name, "names")
_SELECT_PLACE = Statement(
    select(_line.c.depth, _line.c.id, _line.c.scoped_names, *_COLUMNS)
    .select_from(
        _line.outerjoin(variables, and_(variables.c.scope_kind == "thread", variables.c.scope_id == _line.c.id, _named))
    )
    .union_all(
        select(literal_column("-1"), null(), null(), *_COLUMNS).where(
            _named,
            or_(
                and_(variables.c.scope_kind == "agent", variables.c.scope_id == bindparam("agent_id")),
                and_(variables.c.scope_kind == "space", variables.c.scope_id == bindparam("space_id")),
                and_(variables.c.scope_kind == "person", variables.c.scope_id == bindparam("person_id")),
                and_(variables.c.scope_kind == "workspace", variables.c.scope_id == ""),
            ),
        )
    )
)

_SELECT_LINE = Statement(select(_line.c.id))

# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_SEALING_KEY = Statement(select(meta.c.value).where(meta.c.key == SEALING_KEY))
_SET_SEALING_KEY = upsert(meta, ("key",), ("value",))
_FORGET_SEALING_KEY = Statement(delete(meta).where(meta.c.key == SEALING_KEY))
_COUNT_KEYS = Statement(
    select(variables.c.key_id, func.count())
    .where(variables.c.key_id.is_not(None))
    .group_by(variables.c.key_id)
    .union_all(select(webhooks.c.key_id, func.count()).group_by(webhooks.c.key_id))
)
_SELECT_SECRETS = Statement(
    select(*_COLUMNS)
    .where(
        variables.c.key_id.is_not(None),
        variables.c.key_id != bindparam("but"),
        or_(
            variables.c.scope_kind > bindparam("kind"),
            and_(variables.c.scope_kind == bindparam("kind"), variables.c.scope_id > bindparam("id")),
            and_(
                variables.c.scope_kind == bindparam("kind"),
                variables.c.scope_id == bindparam("id"),
                variables.c.name > bindparam("name_"),
            ),
        ),
    )
    .order_by(variables.c.scope_kind, variables.c.scope_id, variables.c.name)
    .limit(bindparam("limit"))
)
_RESEAL = Statement(
    update(variables)
    .where(_IS, variables.c.value == bindparam("was"))
    .values(value=bindparam("value_"), key_id=bindparam("key_id_"))
)


def _stored(row: Row) -> Stored:
    kind, id, *columns = row
    return _STORED.read(columns, scope=Scope(kind, id))


async def upsert_variable(tx: Transaction, stored: Stored, by: str) -> None:
    await tx.run(
        _UPSERT,
        scope_kind=stored.scope.kind,
        scope_id=stored.scope.id,
        created_by=by,
        created_at=stored.updated_at,
        **_STORED.write(stored),
    )


async def select_variable(tx: Transaction, scope: Scope, name: str) -> Stored | None:
    row = await tx.one(_SELECT, kind=scope.kind, id=scope.id, name_=name)
    return None if row is None else _stored(row)


async def delete_variable(tx: Transaction, scope: Scope, name: str) -> bool:
    return await tx.run(_DELETE, kind=scope.kind, id=scope.id, name_=name) > 0


async def count_in(tx: Transaction, scope: Scope) -> tuple[int, int]:
    """How many variables there are, and how long their secrets are together, sealed."""
    count, length = await tx.one(_COUNT_IN, kind=scope.kind, id=scope.id) or (0, 0)
    return int(count), int(length or 0)


async def is_named(tx: Transaction, name: str) -> bool:
    """Is there an agent, a space, a person or a thread with this id, or a tool with this name?"""
    return await tx.one(_IS_NAMED, name_=name) is not None


async def delete_scope(tx: Transaction, scope: Scope) -> list[Scope]:
    """All that is set there, and in the threads that belong to it; which scopes those were."""
    thread_ids = await tx.values(_SELECT_THREADS_OF, kind=scope.kind, id=scope.id)
    await tx.run(_DELETE_SCOPE, kind=scope.kind, id=scope.id)
    return [scope, *(Scope("thread", id) for id in thread_ids)]


def cursor(scope: Scope | VariableScope, name: str) -> str:
    return f"{scope.kind} {scope.id or ''} {name}"


async def select_visible(
    tx: Transaction,
    *,
    manages: bool,
    person_id: str,
    space_ids: list[str],
    kind: str | None,
    id: str | None,
    after: str,
    limit: int,
) -> list[Stored]:
    """Those of the office for whoever manages it, of these spaces, and of this person; by scope and name."""
    found = await tx.all(
        _SELECT_VISIBLE,
        manages=int(manages),
        person_id=person_id,
        space_ids=space_ids,
        kind=kind or "",
        id=id or "",
        after=after,
        limit=limit,
    )
    return [_stored(row) for row in found]


async def select_place(tx: Transaction, place: Place, names: Iterable[str]) -> Found:
    """Everything that decides what these names are worth there, in one query."""
    found = await tx.all(
        _SELECT_PLACE,
        thread_id=place.thread_id,
        agent_id=place.agent_id,
        space_id=place.space_id or "",
        person_id=place.person_id or "",
        names=list(names),
    )
    links: dict[int, Link] = {}
    stored: dict[tuple[Scope, str], Stored] = {}
    for depth, thread_id, scoped_names, kind, *columns in found:
        if thread_id is not None:
            links[depth] = Link(thread_id, frozenset(orjson.loads(scoped_names) if scoped_names else ()))
        if kind is not None:
            each = _stored((kind, *columns))
            stored[each.scope, each.name] = each
    return Found(tuple(links[depth] for depth in sorted(links)), stored)


async def select_line(tx: Transaction, thread_id: str) -> list[str]:
    """The thread and those above it."""
    return await tx.values(_SELECT_LINE, thread_id=thread_id)


async def select_sealing_key(tx: Transaction) -> str | None:
    key_id: str | None = await tx.value(_SELECT_SEALING_KEY)
    return key_id


async def update_sealing_key(tx: Transaction, key_id: str) -> None:
    await tx.run(_SET_SEALING_KEY, key=SEALING_KEY, value=key_id)


async def delete_sealing_key(tx: Transaction) -> None:
    await tx.run(_FORGET_SEALING_KEY)


async def count_keys(tx: Transaction) -> dict[str, int]:
    """How many secrets are sealed with which key: variables, and what webhooks are signed with."""
    found: Counter[str] = Counter()
    for key_id, count in await tx.all(_COUNT_KEYS):
        found[key_id] += count
    return dict(found)


async def select_secrets(tx: Transaction, *, after: Stored | None = None, but: str = "", limit: int) -> list[Stored]:
    """Secrets in the order of their keys; `but`: those sealed with this key are left out."""
    at: dict[str, Any] = {"kind": "", "id": "", "name_": ""}
    if after is not None:
        at = {"kind": after.scope.kind, "id": after.scope.id, "name_": after.name}
    return [_stored(row) for row in await tx.all(_SELECT_SECRETS, but=but, limit=limit, **at)]


async def update_sealed(tx: Transaction, stored: Stored, sealed: str, key_id: str) -> bool:
    """Seal it anew, unless somebody has set it since it was read."""
    touched = await tx.run(
        _RESEAL,
        kind=stored.scope.kind,
        id=stored.scope.id,
        name_=stored.name,
        was=stored.value,
        value_=sealed,
        key_id_=key_id,
    )
    return touched > 0
