"""SQL for tools that somebody has defined, and for calls whose result comes later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson
from sqlalchemy import (
    BigInteger,
    Text,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from bullpen.ids import Whose
from bullpen.inbox.rows import cause_in
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.checked import Checked
from bullpen.storage.mapped import FLAG, JSON, TUPLE_OR_NULL, Codec, Mapped
from bullpen.storage.statements import insert_or_ignore, inside, upsert
from bullpen.storage.tables import pending_calls, policies, tools
from bullpen.tools.policies import Rule
from bullpen.tools.types import Waiting
from bullpen.wire.nouns import Policy, Progress, ToolConfig

_COLUMNS = (tools.c.name, tools.c.definition, tools.c.created_at, tools.c.updated_at)
_INSERT = Statement(insert(tools))
_UPDATE = Statement(
    update(tools)
    .where(tools.c.name == bindparam("name_"))
    .values(definition=bindparam("definition_"), hash=bindparam("hash_"), updated_at=bindparam("updated_at_"))
)
_DELETE = Statement(delete(tools).where(tools.c.name == bindparam("name_")))
_SELECT = Statement(select(*_COLUMNS).where(any_of(tools.c.name, "names")))
_SELECT_PAGE = Statement(
    select(*_COLUMNS).where(tools.c.name > bindparam("after")).order_by(tools.c.name).limit(bindparam("limit"))
)

_DEFINED = (
    "description",
    "input_schema",
    "execution_type",
    "visible",
    "is_async",
    "timeout",
    "expires_after",
    "execution",
    "variables",
    "policy",
    "effect",
)


def _definition(config: ToolConfig) -> str:
    return orjson.dumps(config.model_dump(mode="json", include=set(_DEFINED), exclude_none=True)).decode()


def _config(row: Row) -> ToolConfig:
    name, definition, created_at, updated_at = row
    return ToolConfig(name=name, created_at=created_at, updated_at=updated_at, **orjson.loads(definition))


async def insert_tool(tx: Transaction, config: ToolConfig, hash: str, by: str) -> None:
    await tx.run(
        _INSERT,
        name=config.name,
        definition=_definition(config),
        hash=hash,
        created_by=by,
        created_at=config.created_at,
        updated_at=config.updated_at,
    )


async def update_tool(tx: Transaction, config: ToolConfig, hash: str) -> None:
    await tx.run(_UPDATE, name_=config.name, definition_=_definition(config), hash_=hash, updated_at_=config.updated_at)


async def delete_tool(tx: Transaction, name: str) -> bool:
    return await tx.run(_DELETE, name_=name) > 0


async def select_tools(tx: Transaction, names: Iterable[str]) -> list[ToolConfig]:
    """Those of these names that somebody has defined."""
    return [_config(row) for row in await tx.all(_SELECT, names=list(names))]


async def select_tool(tx: Transaction, name: str) -> ToolConfig | None:
    found = await select_tools(tx, [name])
    return found[0] if found else None


async def select_page(tx: Transaction, *, after: str, limit: int) -> list[ToolConfig]:
    return [_config(row) for row in await tx.all(_SELECT_PAGE, after=after, limit=limit)]


MOST_WAITED_FOR = 200  # so many open calls of an agent are named in what is told of it


# ── pending calls ───────────────────────────────────────────────────────────────────────────────────────────────────

_PROGRESS = Codec(Progress.model_validate_json, lambda progress: progress.model_dump_json(exclude_none=True))
PENDING = Checked(
    Waiting,
    pending_calls,
    instead={"kind": "external", "status": "cancelled", "args": "{}", "outside": '["unreadable"]'},
    cause=cause_in(pending_calls),
    args=JSON,
    result=JSON,
    visible=FLAG,
    progress=_PROGRESS,
    outside=TUPLE_OR_NULL,
    spaces=TUPLE_OR_NULL,
    needs=JSON,
    allowed=JSON,
)
_INSERT_PENDING = insert_or_ignore(pending_calls)
_LOCK_PENDING = Statement(
    select(*PENDING.columns).where(pending_calls.c.call_id == bindparam("call_id")).with_for_update()
)
_SELECT_PENDING = Statement(select(*PENDING.columns).where(pending_calls.c.call_id == bindparam("call_id")))
_SELECT_PENDING_OF = Statement(select(*PENDING.columns).where(any_of(pending_calls.c.call_id, "ids")).with_for_update())
_UPDATE_PROGRESS = Statement(
    update(pending_calls).where(pending_calls.c.call_id == bindparam("id_")).values(progress=bindparam("progress_"))
)
_SELECT_PENDING_PAGE = Statement(
    select(*PENDING.columns)
    .where(
        pending_calls.c.call_id < bindparam("before"),
        any_of(pending_calls.c.status, "statuses"),
        or_(bindparam("kind") == "", pending_calls.c.kind == bindparam("kind")),
        or_(bindparam("agent_id") == "", pending_calls.c.agent_id == bindparam("agent_id")),
        or_(
            bindparam("any_tool", type_=BigInteger) == literal_column("1"),
            # What people have yet to let go on is not for the program that will carry it out.
            and_(
                any_of(pending_calls.c.tool_name, "tools"),
                pending_calls.c.kind != literal_column("'approval'"),
                pending_calls.c.kind != literal_column("'variables'"),
            ),
        ),
        or_(
            bindparam("all_", type_=BigInteger) == literal_column("1"),
            # What an agent does unseen is told to owners only, where they may read; approvals to those who give them.
            and_(
                any_of(pending_calls.c.space_id, "spaces"),
                or_(pending_calls.c.visible == 1, bindparam("unseen", type_=BigInteger) == literal_column("1")),
            ),
            and_(pending_calls.c.space_id.is_(None), bindparam("unseen", type_=BigInteger) == literal_column("1")),
            and_(
                bindparam("approves", type_=BigInteger) == literal_column("1"),
                pending_calls.c.kind == literal_column("'approval'"),
            ),
            # Values are asked of whoever the call is for, and of those who may set them for others.
            and_(
                pending_calls.c.kind == literal_column("'variables'"),
                or_(
                    bindparam("manages", type_=BigInteger) == literal_column("1"),
                    and_(
                        pending_calls.c.cause_kind == literal_column("'person'"),
                        pending_calls.c.cause_id == bindparam("person_id"),
                    ),
                ),
            ),
        ),
    )
    .order_by(pending_calls.c.call_id.desc())
    .limit(bindparam("limit"))
)
_SELECT_EXPIRED = Statement(
    select(pending_calls.c.call_id)
    .where(pending_calls.c.resolved_at.is_(None), pending_calls.c.expires_at <= bindparam("now"))
    .limit(bindparam("limit"))
)
_SELECT_AHEAD = Statement(
    select(pending_calls.c.call_id, pending_calls.c.created_at, pending_calls.c.deadline_at, pending_calls.c.expires_at)
    .where(pending_calls.c.resolved_at.is_(None), pending_calls.c.created_at > bindparam("at"))
    .order_by(pending_calls.c.call_id)
)
_SET_TIMES = Statement(
    update(pending_calls)
    .where(pending_calls.c.call_id == bindparam("id_"), pending_calls.c.resolved_at.is_(None))
    .values(deadline_at=bindparam("deadline_at_"), expires_at=bindparam("expires_at_"))
)
_COUNT_OPEN_IN = Statement(
    select(func.count()).where(
        pending_calls.c.space_id == bindparam("space_id"),
        pending_calls.c.visible == 1,
        pending_calls.c.resolved_at.is_(None),
    )
)
_OPEN_BY_AGENT = (
    select(
        pending_calls.c.agent_id,
        pending_calls.c.call_id,
        func.row_number().over(partition_by=pending_calls.c.agent_id, order_by=pending_calls.c.call_id).label("nth"),
    )
    .where(any_of(pending_calls.c.agent_id, "agent_ids"), pending_calls.c.resolved_at.is_(None))
    .subquery()
)
_SELECT_WAITED_FOR = Statement(
    select(_OPEN_BY_AGENT.c.agent_id, _OPEN_BY_AGENT.c.call_id)
    .where(_OPEN_BY_AGENT.c.nth <= bindparam("most", type_=BigInteger))
    .order_by(_OPEN_BY_AGENT.c.call_id)
)


async def insert_pending(tx: Transaction, waiting: Waiting) -> bool:
    """False: the call is there already."""
    return await tx.run(_INSERT_PENDING, **PENDING.write(waiting), resolved_at=None) > 0


async def lock_pending(tx: Transaction, call_id: str) -> Waiting | None:
    return PENDING.read_one(await tx.one(_LOCK_PENDING, call_id=call_id))


async def select_pending(tx: Transaction, call_id: str) -> Waiting | None:
    return PENDING.read_one(await tx.one(_SELECT_PENDING, call_id=call_id))


async def lock_pending_of(tx: Transaction, call_ids: list[str]) -> list[Waiting]:
    return PENDING.read_all(await tx.all(_SELECT_PENDING_OF, ids=call_ids))


# All that a move may change, under the state that the row was read with: tools/rules.py has the moves.
_MOVED = (
    "kind",
    "status",
    "args",
    "result",
    "answered_by",
    "delivered_via",
    "visible",
    "deadline_at",
    "expires_at",
    "tool_hash",
    "hash",
    "asks",
    "execution",
    "spaces",
    "reason",
    "needs",
    "allowed",
)
_write_moved = PENDING.writer(_MOVED)
_MOVE_PENDING = Statement(
    update(pending_calls)
    .where(
        pending_calls.c.call_id == bindparam("id_"),
        pending_calls.c.kind == bindparam("was_kind"),
        pending_calls.c.status == bindparam("was_status"),
        pending_calls.c.execution.is_not_distinct_from(bindparam("was_execution", type_=Text)),
        pending_calls.c.delivered_via.is_not_distinct_from(bindparam("was_via", type_=Text)),
    )
    .values(
        **{name: bindparam(f"{name}_") for name in _MOVED},
        resolved_at=case(
            (bindparam("keeps", type_=BigInteger) == literal_column("1"), pending_calls.c.resolved_at),
            else_=bindparam("resolved_at_", type_=Text),
        ),
    )
)


async def move_pending(tx: Transaction, before: Waiting, after: Waiting) -> bool:
    """From the state that the call was read with to another; False: somebody else was first."""
    written = {f"{name}_": value for name, value in _write_moved(after).items()}
    if after.status == "resolved":
        written["result_"] = orjson.dumps(after.result).decode()  # an answer of null is an answer
    touched = await tx.run(
        _MOVE_PENDING,
        id_=before.call_id,
        was_kind=before.kind,
        was_status=before.status,
        was_execution=before.execution,
        was_via=before.delivered_via,
        keeps=int(before.status == after.status),
        resolved_at_=None if after.status in ("waiting", "pending") else tx.clock.now(),
        **written,
    )
    return touched > 0


async def update_progress(tx: Transaction, call_id: str, progress: Progress) -> None:
    await tx.run(_UPDATE_PROGRESS, id_=call_id, progress_=_PROGRESS.encode(progress))


async def select_pending_page(
    tx: Transaction,
    *,
    statuses: list[str],
    kind: str | None,
    agent_id: str | None,
    tools: list[str] | None,
    spaces: list[str] | None,
    unseen: bool = False,
    approves: bool = False,
    manages: bool = False,
    person_id: str = "",
    before: str,
    limit: int,
) -> list[Waiting]:
    """Newest first; `spaces` None: of all. `unseen`: also calls that do not show in a space, and those outside of any.
    `approves`: every approval besides, wherever it was asked for. `manages`: every call that waits for values;
    `person_id`: those that are made for this person."""
    found = await tx.all(
        _SELECT_PENDING_PAGE,
        before=before,
        statuses=statuses,
        kind=kind or "",
        agent_id=agent_id or "",
        any_tool=int(tools is None),
        tools=tools or [],
        all_=int(spaces is None),
        spaces=spaces or [],
        unseen=int(unseen),
        approves=int(approves),
        manages=int(manages),
        person_id=person_id,
        limit=limit,
    )
    return PENDING.read_those(found)


async def count_open_in(tx: Transaction, space_id: str) -> int:
    """How many calls wait for somebody, of those that show in a space."""
    return int(await tx.value(_COUNT_OPEN_IN, space_id=space_id))


async def select_expired(tx: Transaction, now: int, limit: int) -> list[str]:
    return await tx.values(_SELECT_EXPIRED, now=now, limit=limit)


async def bring_forward(tx: Transaction) -> int:
    """The clock was put back: open calls that it dates later than now wait as long as they were to, from now on."""
    now, count = tx.clock.millis(), 0
    for call_id, created_at, *ends in await tx.all(_SELECT_AHEAD, at=tx.clock.at(now)):
        ahead = tx.clock.read(created_at) - now
        deadline_at, expires_at = (None if end is None else min(end, max(now, end - ahead)) for end in ends)
        count += await tx.run(_SET_TIMES, id_=call_id, deadline_at_=deadline_at, expires_at_=expires_at)
    return count


async def select_waited_for(tx: Transaction, agent_ids: list[str]) -> dict[str, list[str]]:
    """Open calls, by their agent; of each the oldest."""
    found: dict[str, list[str]] = {}
    for agent_id, call_id in await tx.all(_SELECT_WAITED_FOR, agent_ids=agent_ids, most=MOST_WAITED_FOR):
        found.setdefault(agent_id, []).append(call_id)
    return found


async def select_open_of(tx: Transaction, agent_id: str) -> list[Waiting]:
    """What the agent's calls still wait for, and what was approved and has not been carried out."""
    return PENDING.read_all(await tx.all(_SELECT_OPEN_OF, agent_id=agent_id))


# ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────

_APPROVED = and_(
    pending_calls.c.status == literal_column("'resolved'"),
    pending_calls.c.delivered_via.is_(None),
    pending_calls.c.execution != "inline",
)
_SELECT_OPEN_OF = Statement(
    select(*PENDING.columns)
    .where(pending_calls.c.agent_id == bindparam("agent_id"), or_(pending_calls.c.resolved_at.is_(None), _APPROVED))
    .order_by(pending_calls.c.call_id)
)
_SELECT_APPROVED = Statement(
    select(*PENDING.columns)
    .where(pending_calls.c.thread_id == bindparam("thread_id"), _APPROVED)
    .order_by(pending_calls.c.call_id)
)
_HAS_APPROVED = Statement(
    select(pending_calls.c.call_id).where(pending_calls.c.thread_id == bindparam("thread_id"), _APPROVED).limit(1)
)
_SELECT_HASH = Statement(select(tools.c.hash).where(tools.c.name == bindparam("name")))


async def select_approved(tx: Transaction, thread_id: str) -> list[Waiting]:
    """Calls that were approved after their run had gone on, and whose result has not reached their agent."""
    return PENDING.read_all(await tx.all(_SELECT_APPROVED, thread_id=thread_id))


async def has_approved(tx: Transaction, thread_id: str) -> bool:
    return await tx.one(_HAS_APPROVED, thread_id=thread_id) is not None


async def select_hash(tx: Transaction, name: str) -> str:
    """Of a tool that somebody has defined, as it is now; empty: there is none."""
    return await tx.value(_SELECT_HASH, name=name) or ""


# ── policies ────────────────────────────────────────────────────────────────────────────────────────────────────────

_POLICIES = Mapped(Policy, policies, others={"when": policies.c.condition}, when=JSON)
_RULES = Mapped(Rule, policies, others={"when": policies.c.condition}, when=JSON)
_PUT_POLICY = upsert(policies, ["key"], ["decision", "tool_hash", "created_by", "created_at"])
_PUT_POLICY_BUT_DENY = upsert(
    policies,
    ["key"],
    ["decision", "tool_hash", "created_by", "created_at"],
    where=policies.c.decision != literal_column("'deny'"),
)
_SELECT_POLICY_BY_KEY = Statement(select(*_POLICIES.columns).where(policies.c.key == bindparam("key")))
_SELECT_POLICY = Statement(select(*_POLICIES.columns).where(policies.c.id == bindparam("id")))
_SELECT_POLICY_PAGE = Statement(
    select(*_POLICIES.columns)
    .where(
        policies.c.id < bindparam("before"),
        or_(bindparam("agent_id") == "", policies.c.agent_id == bindparam("agent_id")),
        or_(bindparam("space_id") == "", policies.c.space_id == bindparam("space_id")),
    )
    .order_by(policies.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_RULES = Statement(
    select(*_RULES.columns).where(
        policies.c.agent_id == bindparam("agent_id"),
        policies.c.tool_name == bindparam("tool_name"),
        or_(policies.c.space_id.is_(None), any_of(policies.c.space_id, "spaces")),
        or_(policies.c.tool_hash.is_(None), policies.c.tool_hash == bindparam("tool_hash")),
    )
)
_SELECT_GUARDED = Statement(
    select(policies.c.tool_name).where(
        policies.c.agent_id == bindparam("agent_id"),
        or_(policies.c.space_id.is_(None), policies.c.space_id == bindparam("space_id")),
        policies.c.decision != literal_column("'allow'"),
    )
)
_IS_GUARDED = Statement(
    select(policies.c.id)
    .where(
        policies.c.agent_id == bindparam("agent_id"),
        policies.c.tool_name == bindparam("tool_name"),
        policies.c.decision != literal_column("'allow'"),
    )
    .limit(1)
)
_DELETE_POLICY = Statement(delete(policies).where(policies.c.id == bindparam("id_")))
_DELETE_POLICIES_OF = Statement(
    delete(policies).where(
        or_(policies.c.agent_id == bindparam("member_id"), policies.c.space_id == bindparam("space_id"))
    )
)


async def put_policy(tx: Transaction, policy: Policy, key: str, tool_hash: str | None, *, lifts_deny: bool) -> Policy:
    """The row as it is then: of agent, space, tool and condition there is one."""
    await tx.run(
        _PUT_POLICY if lifts_deny else _PUT_POLICY_BUT_DENY,
        **_POLICIES.write(policy),
        key=key,
        tool_hash=tool_hash,
    )
    kept = _POLICIES.read_one(await tx.one(_SELECT_POLICY_BY_KEY, key=key))
    assert kept is not None
    return kept


async def select_policy(tx: Transaction, id: str) -> Policy | None:
    return _POLICIES.read_one(await tx.one(_SELECT_POLICY, id=id))


async def select_policies(
    tx: Transaction, *, agent_id: str | None, space_id: str | None, before: str, limit: int
) -> list[Policy]:
    found = await tx.all(
        _SELECT_POLICY_PAGE, agent_id=agent_id or "", space_id=space_id or "", before=before, limit=limit
    )
    return _POLICIES.read_all(found)


async def select_rules(
    tx: Transaction, agent_id: str, spaces: Sequence[str], tool_name: str, tool_hash: str
) -> list[Rule]:
    """What was decided about this agent and this tool, in these spaces and everywhere."""
    found = await tx.all(
        _SELECT_RULES, agent_id=agent_id, tool_name=tool_name, spaces=list(spaces), tool_hash=tool_hash
    )
    return _RULES.read_all(found)


async def select_guarded(tx: Transaction, agent_id: str, space_id: str | None) -> set[str]:
    """Tools of which some calls are refused, or have to be approved, here."""
    return set(await tx.values(_SELECT_GUARDED, agent_id=agent_id, space_id=space_id or ""))


async def is_guarded(tx: Transaction, agent_id: str, tool_name: str) -> bool:
    """Are some of the agent's calls of the tool refused, or have to be approved, in any space?"""
    return await tx.one(_IS_GUARDED, agent_id=agent_id, tool_name=tool_name) is not None


async def delete_policy(tx: Transaction, id: str) -> bool:
    return await tx.run(_DELETE_POLICY, id_=id) > 0


async def delete_policies_of(tx: Transaction, whose: Whose) -> None:
    """Of an agent or a space that is gone."""
    await tx.run(_DELETE_POLICIES_OF, member_id=whose.member, space_id=whose.space)


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_DELETE_CALLS_OF = Statement(
    delete(pending_calls).where(
        inside(pending_calls.c.call_id),
        or_(pending_calls.c.agent_id == bindparam("member_id"), pending_calls.c.space_id == bindparam("space_id")),
    )
)
# What somebody answered is theirs; that the call was answered is not.
_EMPTY_ANSWERS_OF = Statement(
    update(pending_calls)
    .where(inside(pending_calls.c.call_id), pending_calls.c.answered_by == bindparam("id_"))
    .values(result="null")
)


async def delete_calls_of(tx: Transaction, whose: Whose, after: str, upto: str) -> None:
    """Calls of an agent, or in a space."""
    await tx.run(_DELETE_CALLS_OF, member_id=whose.member, space_id=whose.space, after=after, upto=upto)


async def empty_answers_of(tx: Transaction, person_id: str, after: str, upto: str) -> None:
    await tx.run(_EMPTY_ANSWERS_OF, id_=person_id, after=after, upto=upto)
