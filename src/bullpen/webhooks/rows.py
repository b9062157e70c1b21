"""SQL for webhooks and their deliveries.

A delivery is taken by a compare-and-set on its attempts: of several processes one gets it, and if that one dies, its
time comes again under the same id. What a delivery is about is read when it is sent, so no words are kept here.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, and_, bindparam, case, delete, func, insert, literal_column, or_, select, update

from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, JSON, MILLIS, TUPLE, Mapped
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import members, messages, pending_calls, people, runs, spaces, webhook_deliveries, webhooks
from bullpen.webhooks import rules
from bullpen.webhooks.types import Address, Asked, Due, Listener, Listening, Place, Said
from bullpen.wire.nouns import Delivery, Webhook

# Written out, not bound: only then is it seen to be the condition of an index.
_ENABLED = webhooks.c.enabled == literal_column("1")
_QUEUED = webhook_deliveries.c.status == literal_column("'queued'")

_WEBHOOKS = Mapped(Webhook, webhooks, events=JSON, members=JSON, enabled=FLAG)
_ADDRESSES = Mapped(Address, webhooks, others={"webhook_id": webhooks.c.id, "sealed": webhooks.c.secret})
_CHANGING = ("url", "events", "members", "enabled", "reason", "failures")
_IS = webhooks.c.id == bindparam("id_")

# ── webhooks ────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT = Statement(insert(webhooks))
_SELECT = Statement(select(*_WEBHOOKS.columns).where(_IS))
_LOCK = Statement(select(*_WEBHOOKS.columns).where(_IS).with_for_update())
_PAGE = (
    select(*_WEBHOOKS.columns)
    .where(webhooks.c.id < bindparam("before"))
    .order_by(webhooks.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_PAGE = Statement(_PAGE)
_SELECT_OWN_PAGE = Statement(_PAGE.where(webhooks.c.person_id == bindparam("person_id")))
_COUNT_OWN = Statement(select(func.count()).where(webhooks.c.person_id == bindparam("person_id")))
_SELECT_ADDRESS = Statement(select(*_ADDRESSES.columns).where(_IS))
_UPDATE = Statement(update(webhooks).where(_IS).values({name: bindparam(name) for name in _CHANGING}))
_DELETE = Statement(delete(webhooks).where(_IS))
_SELECT_IDS = Statement(select(webhooks.c.id).where(webhooks.c.person_id == bindparam("person_id")))
_DELETE_DELIVERIES = Statement(delete(webhook_deliveries).where(any_of(webhook_deliveries.c.webhook_id, "webhook_ids")))
_DELETE_OF = Statement(delete(webhooks).where(any_of(webhooks.c.id, "ids")))


async def insert_webhook(tx: Transaction, webhook: Webhook, *, grants: str, sealed: str, key_id: str) -> None:
    await tx.run(_INSERT, **_WEBHOOKS.write(webhook), grants=grants, secret=sealed, key_id=key_id)


async def select_webhook(tx: Transaction, id: str, *, lock: bool = False) -> Webhook | None:
    return _WEBHOOKS.read_one(await tx.one(_LOCK if lock else _SELECT, id_=id))


async def select_webhooks(tx: Transaction, *, before: str, limit: int, person_id: str | None = None) -> list[Webhook]:
    """All of them, or one person's; newest first."""
    if person_id is None:
        return _WEBHOOKS.read_all(await tx.all(_SELECT_PAGE, before=before, limit=limit))
    return _WEBHOOKS.read_all(await tx.all(_SELECT_OWN_PAGE, before=before, limit=limit, person_id=person_id))


async def count_own(tx: Transaction, person_id: str) -> int:
    return int(await tx.value(_COUNT_OWN, person_id=person_id))


async def select_address(tx: Transaction, id: str) -> Address | None:
    return _ADDRESSES.read_one(await tx.one(_SELECT_ADDRESS, id_=id))


async def update_webhook(tx: Transaction, webhook: Webhook) -> None:
    kept = _WEBHOOKS.write(webhook)
    await tx.run(_UPDATE, id_=webhook.id, **{name: kept[name] for name in _CHANGING})


async def delete_webhook(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_DELIVERIES, webhook_ids=[id])
    await tx.run(_DELETE, id_=id)


async def delete_webhooks_of(tx: Transaction, person_id: str) -> None:
    ids = await tx.values(_SELECT_IDS, person_id=person_id)
    if ids:
        await tx.run(_DELETE_DELIVERIES, webhook_ids=ids)
        await tx.run(_DELETE_OF, ids=ids)


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_SEALED = Statement(
    select(*_ADDRESSES.columns)
    .where(webhooks.c.id > bindparam("after"), webhooks.c.key_id != bindparam("but"))
    .order_by(webhooks.c.id)
    .limit(bindparam("limit"))
)
_RESEAL = Statement(
    update(webhooks)
    .where(_IS, webhooks.c.secret == bindparam("was"))
    .values(secret=bindparam("sealed"), key_id=bindparam("key_id_"))
)


async def select_sealed(tx: Transaction, *, after: str = "", but: str = "", limit: int) -> list[Address]:
    """In the order of their ids; `but`: those sealed with this key are left out."""
    return _ADDRESSES.read_all(await tx.all(_SELECT_SEALED, after=after, but=but, limit=limit))


async def update_sealed(tx: Transaction, address: Address, sealed: str, key_id: str) -> None:
    await tx.run(_RESEAL, id_=address.webhook_id, was=address.sealed, sealed=sealed, key_id_=key_id)


# ── who listens ─────────────────────────────────────────────────────────────────────────────────────────────────────

_mine = members.alias("mine")
_IN_IT = and_(_mine.c.space_id == bindparam("space_id"), _mine.c.member_id == webhooks.c.person_id)
_THERE = and_(people.c.disabled_at.is_(None), people.c.erased_at.is_(None))
_WHO = webhooks.join(people, people.c.id == webhooks.c.person_id)


_LISTENING = Mapped(
    Listening,
    webhooks,
    others={
        "webhook_id": webhooks.c.id,
        "name": people.c.name,
        "role": people.c.role,
        "member_id": _mine.c.member_id,
    },
    events=TUPLE,
    members=TUPLE,
)


def _listening(joined: Any) -> Select[Any]:
    return select(*_LISTENING.columns).select_from(joined).where(_ENABLED, _THERE)


_SELECT_IN_SPACE = Statement(_listening(_WHO.join(_mine, _IN_IT)))
_ANYWHERE = _listening(_WHO.outerjoin(_mine, _IN_IT))
_SELECT_ANYWHERE = Statement(_ANYWHERE.where(or_(_mine.c.member_id.is_not(None), people.c.role != "member")))
_SELECT_ONE = Statement(_ANYWHERE.where(_IS))
_PEOPLE = (
    select(func.count())
    .select_from(members)
    .where(members.c.space_id == spaces.c.id, members.c.kind == "person")
    .scalar_subquery()
)
_SELECT_PLACE = Statement(
    select(spaces.c.name, spaces.c.private, spaces.c.kind, _PEOPLE).where(spaces.c.id == bindparam("id"))
)


async def select_in_space(tx: Transaction, space_id: str) -> list[Listener]:
    """Those whose person is in the space."""
    found = _LISTENING.read_all(await tx.all(_SELECT_IN_SPACE, space_id=space_id))
    return [rules.listener_of(each) for each in found]


async def select_anywhere(tx: Transaction, space_id: str | None) -> list[Listener]:
    """Those whose person is in the space, or may be concerned without being in it."""
    found = _LISTENING.read_all(await tx.all(_SELECT_ANYWHERE, space_id=space_id or ""))
    return [rules.listener_of(each) for each in found]


async def select_listener(tx: Transaction, webhook_id: str, space_id: str | None) -> Listener | None:
    """The webhook by now: None if it was switched off, or its person may not come in any more."""
    found = _LISTENING.read_one(await tx.one(_SELECT_ONE, id_=webhook_id, space_id=space_id or ""))
    return None if found is None else rules.listener_of(found)


async def select_place(tx: Transaction, space_id: str | None) -> Place | None:
    row = None if space_id is None else await tx.one(_SELECT_PLACE, id=space_id)
    if row is None:
        return None
    name, private, kind, people_in_it = row
    return Place(name, public=not private and kind != "dm", people=people_in_it)


# ── what a delivery is about ────────────────────────────────────────────────────────────────────────────────────────

_SAID = Mapped(Said, messages, others={"cause_id": runs.c.cause_id})
_PERSON = case((pending_calls.c.cause_kind == literal_column("'person'"), pending_calls.c.cause_id), else_=None)
_ASKED = Mapped(Asked, pending_calls, visible=FLAG, others={"person_id": _PERSON.label("person_id")})
_SELECT_MESSAGE = Statement(
    select(*_SAID.columns)
    .select_from(messages.outerjoin(runs, runs.c.id == messages.c.run_id))
    .where(messages.c.id == bindparam("id"), messages.c.deleted_at.is_(None))
)
_SELECT_CALL = Statement(
    select(*_ASKED.columns, pending_calls.c.deadline_at, pending_calls.c.expires_at, pending_calls.c.run_id).where(
        pending_calls.c.call_id == bindparam("id"),
        or_(pending_calls.c.status == "waiting", pending_calls.c.status == "pending"),
    )
)


async def select_message(tx: Transaction, id: str) -> Said | None:
    """A message that is still there."""
    return _SAID.read_one(await tx.one(_SELECT_MESSAGE, id=id))


async def select_call(tx: Transaction, id: str) -> tuple[Asked, int | None, str] | None:
    """A call that still waits, until when, and its run."""
    row = await tx.one(_SELECT_CALL, id=id)
    if row is None:
        return None
    *columns, deadline_at, expires_at, run_id = row
    return _ASKED.read(columns), deadline_at or expires_at, run_id


# ── deliveries ──────────────────────────────────────────────────────────────────────────────────────────────────────

_DELIVERIES = Mapped(Delivery, webhook_deliveries, next_attempt_at=MILLIS)
_DUES = Mapped(Due, webhook_deliveries)
_INSERT_DELIVERY = insert_or_ignore(webhook_deliveries)
_DUE = and_(_QUEUED, webhook_deliveries.c.next_attempt_at <= bindparam("now"))
_SELECT_DUE = Statement(select(webhook_deliveries.c.webhook_id).distinct().where(_DUE).limit(bindparam("limit")))
_SELECT_NEXT = Statement(
    select(*_DUES.columns)
    .where(_DUE, webhook_deliveries.c.webhook_id == bindparam("webhook_id"))
    .order_by(webhook_deliveries.c.next_attempt_at, webhook_deliveries.c.id)
    .limit(1)
)
_BRING_FORWARD = Statement(
    update(webhook_deliveries)
    .where(_QUEUED, webhook_deliveries.c.next_attempt_at > bindparam("latest"))
    .values(next_attempt_at=bindparam("now", type_=webhook_deliveries.c.next_attempt_at.type))
)
_SAME = and_(webhook_deliveries.c.id == bindparam("id_"), _QUEUED)
_CLAIM = Statement(
    update(webhook_deliveries)
    .where(_SAME, webhook_deliveries.c.attempts == bindparam("seen"))
    .values(attempts=webhook_deliveries.c.attempts + 1, next_attempt_at=bindparam("until"))
)
_FINISH = Statement(
    update(webhook_deliveries)
    .where(_SAME)
    .values(
        status=bindparam("status_"),
        last_status=bindparam("last_status_"),
        last_error=bindparam("last_error_"),
        finished_at=bindparam("now"),
    )
)
# Only by whoever made the attempt: if it took so long that another has begun, that one decides.
_RETRY = Statement(
    update(webhook_deliveries)
    .where(_SAME, webhook_deliveries.c.attempts == bindparam("attempt"))
    .values(
        next_attempt_at=bindparam("next_at"),
        last_status=bindparam("last_status_"),
        last_error=bindparam("last_error_"),
    )
)
_DROP_QUEUED = Statement(
    update(webhook_deliveries)
    .where(_QUEUED, webhook_deliveries.c.webhook_id == bindparam("webhook_id_"))
    .values(status="dropped", last_error=bindparam("last_error_"), finished_at=bindparam("now"))
)
_DROP_ALL_QUEUED = Statement(
    update(webhook_deliveries)
    .where(_QUEUED)
    .values(status="dropped", last_error=bindparam("last_error_"), finished_at=bindparam("now"))
)
_SUCCEEDED = Statement(update(webhooks).where(_IS).values(failures=0, last_error=None, delivered_at=bindparam("now")))
_FAILED = Statement(
    update(webhooks)
    .where(_IS)
    .values(failures=webhooks.c.failures + 1, last_error=bindparam("last_error_"))
    .returning(webhooks.c.failures)
)
_SWITCH_OFF = Statement(update(webhooks).where(_IS, _ENABLED).values(enabled=0, reason=bindparam("reason_")))
_SELECT_DELIVERIES = Statement(
    select(*_DELIVERIES.columns)
    .where(webhook_deliveries.c.webhook_id == bindparam("webhook_id"), webhook_deliveries.c.id < bindparam("before"))
    .order_by(webhook_deliveries.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_OLD = Statement(
    select(webhook_deliveries.c.id)
    .where(
        webhook_deliveries.c.status != literal_column("'queued'"),
        webhook_deliveries.c.finished_at < bindparam("before"),
    )
    .limit(bindparam("limit"))
)
_DELETE_OLD = Statement(delete(webhook_deliveries).where(any_of(webhook_deliveries.c.id, "ids")))
_DELETE_IN_SPACE = Statement(delete(webhook_deliveries).where(webhook_deliveries.c.space_id == bindparam("space_id")))


async def insert_delivery(tx: Transaction, delivery: Delivery, key: str) -> bool:
    """False: it was queued before."""
    return await tx.run(_INSERT_DELIVERY, **_DELIVERIES.write(delivery), key=key) > 0


async def select_due(tx: Transaction, limit: int) -> list[str]:
    """Webhooks that have something to be told by now."""
    return await tx.values(_SELECT_DUE, now=tx.clock.millis(), limit=limit)


async def select_next(tx: Transaction, webhook_id: str) -> Due | None:
    return _DUES.read_one(await tx.one(_SELECT_NEXT, now=tx.clock.millis(), webhook_id=webhook_id))


async def bring_forward(tx: Transaction, lease_ms: int) -> int:
    """The clock was put back: what waits for another attempt is tried now, except what may be on its way."""
    now = tx.clock.millis()
    return await tx.run(_BRING_FORWARD, now=now, latest=now + lease_ms)


async def claim(tx: Transaction, due: Due, until: int) -> bool:
    """One more attempt, by us and nobody else until then."""
    touched = await tx.run(_CLAIM, id_=due.id, seen=due.attempts, until=until)
    return touched > 0


async def finish(tx: Transaction, id: str, status: str, *, last_status: int | None, last_error: str | None) -> bool:
    touched = await tx.run(
        _FINISH, id_=id, status_=status, last_status_=last_status, last_error_=last_error, now=tx.clock.now()
    )
    return touched > 0


async def retry(
    tx: Transaction, id: str, attempt: int, *, next_at: int, last_status: int | None, last_error: str
) -> bool:
    touched = await tx.run(
        _RETRY, id_=id, attempt=attempt, next_at=next_at, last_status_=last_status, last_error_=last_error
    )
    return touched > 0


async def drop_queued(tx: Transaction, webhook_id: str | None, why: str) -> None:
    """What waits for this webhook, or for any."""
    if webhook_id is None:
        await tx.run(_DROP_ALL_QUEUED, last_error_=why, now=tx.clock.now())
    else:
        await tx.run(_DROP_QUEUED, webhook_id_=webhook_id, last_error_=why, now=tx.clock.now())


async def succeeded(tx: Transaction, webhook_id: str) -> None:
    await tx.run(_SUCCEEDED, id_=webhook_id, now=tx.clock.now())


async def failed(tx: Transaction, webhook_id: str, error: str) -> int:
    """How many attempts have failed in a row by now."""
    return int(await tx.value(_FAILED, id_=webhook_id, last_error_=error) or 0)


async def switch_off(tx: Transaction, webhook_id: str, reason: str) -> bool:
    return await tx.run(_SWITCH_OFF, id_=webhook_id, reason_=reason) > 0


async def select_deliveries(tx: Transaction, webhook_id: str, *, before: str, limit: int) -> list[Delivery]:
    found = _DELIVERIES.read_all(await tx.all(_SELECT_DELIVERIES, webhook_id=webhook_id, before=before, limit=limit))
    return [_without_attempt(each) if each.status != "queued" else each for each in found]


def _without_attempt(delivery: Delivery) -> Delivery:
    """Of one that is over, the row still holds when it would have been tried again."""
    return delivery.model_copy(update={"next_attempt_at": None})


async def delete_old(tx: Transaction, before: str, limit: int) -> int:
    """Of those that are over."""
    ids = await tx.values(_SELECT_OLD, before=before, limit=limit)
    return await tx.run(_DELETE_OLD, ids=ids) if ids else 0


async def delete_in_space(tx: Transaction, space_id: str) -> None:
    await tx.run(_DELETE_IN_SPACE, space_id=space_id)
