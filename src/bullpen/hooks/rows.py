"""SQL for hooks, and for what was said to them under a key."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, or_, select, update

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.hooks.types import Found
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import Mapped
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import agents, hook_uses, hooks, people
from bullpen.wire.nouns import Hook

_HOOKS = Mapped(Hook, hooks, others={"created_by": hooks.c.person_id})
_FOUND = Mapped(Found, hooks, others={"agent_scope": agents.c.scope}, given=("id", "maker"))
_INSERT = Statement(insert(hooks))
# Whoever made it is there and not disabled, and so is the agent.
_SELECT_BY_HASH = Statement(
    select(hooks.c.id, *_FOUND.columns, hooks.c.grants, people.c.id, people.c.name, people.c.role)
    .select_from(
        hooks.join(people, people.c.id == hooks.c.person_id).join(agents, agents.c.id == hooks.c.agent_id),
    )
    .where(
        hooks.c.hash == bindparam("hash"),
        people.c.disabled_at.is_(None),
        people.c.erased_at.is_(None),
        agents.c.deleted_at.is_(None),
    )
)
_PAGE = (
    select(*_HOOKS.columns)
    .where(hooks.c.id < bindparam("before"))
    .order_by(hooks.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_PAGE = Statement(_PAGE)
_SELECT_OF_AGENT = Statement(_PAGE.where(hooks.c.agent_id == bindparam("agent_id")))
_SELECT_OF_PERSON = Statement(
    select(*_HOOKS.columns).where(hooks.c.person_id == bindparam("person_id")).order_by(hooks.c.id)
)
_TOUCH = Statement(update(hooks).where(hooks.c.id == bindparam("id_")).values(used_at=bindparam("now")))
_DELETE = Statement(delete(hooks).where(hooks.c.id == bindparam("id_")))
_SELECT_IDS = Statement(
    select(hooks.c.id).where(or_(hooks.c.agent_id == bindparam("whose"), hooks.c.person_id == bindparam("whose")))
)
_DELETE_ALL = Statement(delete(hooks).where(any_of(hooks.c.id, "ids")))
_DELETE_USES = Statement(delete(hook_uses).where(any_of(hook_uses.c.hook_id, "ids")))
_INSERT_USE = insert_or_ignore(hook_uses)
_SELECT_USE = Statement(
    select(hook_uses.c.digest, hook_uses.c.item_id).where(
        hook_uses.c.hook_id == bindparam("hook_id"), hook_uses.c.key == bindparam("key_")
    )
)
_DELETE_OLD_USES = Statement(delete(hook_uses).where(hook_uses.c.created_at < bindparam("before")))


async def insert_hook(tx: Transaction, hook: Hook, hash: str, grants: str) -> None:
    await tx.run(_INSERT, **_HOOKS.write(hook), hash=hash, grants=grants)


async def select_by_hash(tx: Transaction, hash: str) -> Found | None:
    row = await tx.one(_SELECT_BY_HASH, hash=hash)
    if row is None:
        return None
    id, *columns, grants, person_id, name, role = row
    held = access.ROLES[role] & access.parsed(grants)
    return _FOUND.read(columns, id=id, maker=Principal("person", person_id, name, held, credential=id))


async def select_hooks(tx: Transaction, *, agent_id: str | None, before: str, limit: int) -> list[Hook]:
    if agent_id is None:
        return _HOOKS.read_all(await tx.all(_SELECT_PAGE, before=before, limit=limit))
    return _HOOKS.read_all(await tx.all(_SELECT_OF_AGENT, before=before, limit=limit, agent_id=agent_id))


async def select_of_person(tx: Transaction, person_id: str) -> list[Hook]:
    return _HOOKS.read_all(await tx.all(_SELECT_OF_PERSON, person_id=person_id))


async def touch(tx: Transaction, id: str) -> None:
    await tx.run(_TOUCH, id_=id, now=tx.clock.now())


async def delete_hook(tx: Transaction, id: str) -> bool:
    await tx.run(_DELETE_USES, ids=[id])
    return await tx.run(_DELETE, id_=id) > 0


async def delete_hooks_of(tx: Transaction, whose: str) -> None:
    """Those that wake this agent, or that this person made."""
    ids = await tx.values(_SELECT_IDS, whose=whose)
    if ids:
        await tx.run(_DELETE_USES, ids=ids)
        await tx.run(_DELETE_ALL, ids=ids)


# ── what was said under a key ───────────────────────────────────────────────────────────────────────────────────────


async def insert_use(tx: Transaction, hook_id: str, key: str, digest: str, item_id: str) -> bool:
    """False: something was said under this key before."""
    touched = await tx.run(
        _INSERT_USE, hook_id=hook_id, key=key, digest=digest, item_id=item_id, created_at=tx.clock.now()
    )
    return touched > 0


async def select_use(tx: Transaction, hook_id: str, key: str) -> tuple[str, str]:
    row = await tx.one(_SELECT_USE, hook_id=hook_id, key_=key)
    assert row is not None
    digest, item_id = row
    return digest, item_id


async def delete_old_uses(tx: Transaction, before: str) -> int:
    return await tx.run(_DELETE_OLD_USES, before=before)
