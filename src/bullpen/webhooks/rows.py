"""SQL for webhooks and their deliveries.

A delivery is taken by a compare-and-set on its attempts: of several processes one gets it, and if that one dies, its
time comes again under the same id. What a delivery is about is read when it is sent, so no words are kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Select, and_, bindparam, delete, func, insert, literal_column, or_, select, update

from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import members, messages, pending_calls, people, runs, spaces, webhook_deliveries, webhooks
from bullpen.webhooks import rules
from bullpen.webhooks.types import Address, Asked, Due, Listener, Place
from bullpen.wire.nouns import Delivery, Webhook, WebhookEvent

# Written out, not bound: only then is it seen to be the condition of an index.
_ENABLED = webhooks.c.enabled == literal_column("1")
_QUEUED = webhook_deliveries.c.status == literal_column("'queued'")

_COLUMNS = (
    webhooks.c.id,
    webhooks.c.person_id,
    webhooks.c.url,
    webhooks.c.events,
    webhooks.c.members,
    webhooks.c.enabled,
    webhooks.c.reason,
    webhooks.c.failures,
    webhooks.c.last_error,
    webhooks.c.created_at,
    webhooks.c.delivered_at,
)
_IS = webhooks.c.id == bindparam("id_")

# ── webhooks ────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT = Statement(insert(webhooks))
_SELECT = Statement(select(*_COLUMNS).where(_IS))
_LOCK = Statement(select(*_COLUMNS).where(_IS).with_for_update())
_PAGE = (
    select(*_COLUMNS)
    .where(webhooks.c.id < bindparam("before"))
    .order_by(webhooks.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_PAGE = Statement(_PAGE)
_SELECT_OWN_PAGE = Statement(_PAGE.where(webhooks.c.person_id == bindparam("person_id")))
_COUNT_OWN = Statement(select(func.count()).where(webhooks.c.person_id == bindparam("person_id")))
_SELECT_ADDRESS = Statement(select(webhooks.c.id, webhooks.c.url, webhooks.c.key_id, webhooks.c.secret).where(_IS))
_UPDATE = Statement(
    update(webhooks)
    .where(_IS)
    .values(
        url=bindparam("url_"),
        events=bindparam("events_"),
        members=bindparam("members_"),
        enabled=bindparam("enabled_"),
        reason=bindparam("reason_"),
        failures=bindparam("failures_"),
    )
)
_DELETE = Statement(delete(webhooks).where(_IS))
_SELECT_IDS = Statement(select(webhooks.c.id).where(webhooks.c.person_id == bindparam("person_id")))
_DELETE_DELIVERIES = Statement(delete(webhook_deliveries).where(any_of(webhook_deliveries.c.webhook_id, "webhook_ids")))
_DELETE_OF = Statement(delete(webhooks).where(any_of(webhooks.c.id, "ids")))


def _webhook(row: Row) -> Webhook:
    id, person_id, url, events, members_, enabled, reason, failures, last_error, created_at, delivered_at = row
    return Webhook(
        id=id,
        person_id=person_id,
        url=url,
        events=orjson.loads(events),
        members=orjson.loads(members_),
        enabled=bool(enabled),
        reason=reason,
        failures=failures,
        last_error=last_error,
        created_at=created_at,
        delivered_at=delivered_at,
    )


def _list(names: Sequence[str]) -> str:
    return orjson.dumps(list(names)).decode()


async def insert_webhook(tx: Transaction, webhook: Webhook, *, grants: str, sealed: str, key_id: str) -> None:
    await tx.run(
        _INSERT,
        id=webhook.id,
        person_id=webhook.person_id,
        url=webhook.url,
        events=_list(webhook.events),
        members=_list(webhook.members),
        grants=grants,
        secret=sealed,
        key_id=key_id,
        enabled=1,
        reason=None,
        failures=0,
        last_error=None,
        created_at=webhook.created_at,
        delivered_at=None,
    )


async def select_webhook(tx: Transaction, id: str, *, lock: bool = False) -> Webhook | None:
    row = await tx.one(_LOCK if lock else _SELECT, id_=id)
    return None if row is None else _webhook(row)


async def select_webhooks(tx: Transaction, *, before: str, limit: int, person_id: str | None = None) -> list[Webhook]:
    """All of them, or one person's; newest first."""
    if person_id is None:
        return [_webhook(row) for row in await tx.all(_SELECT_PAGE, before=before, limit=limit)]
    found = await tx.all(_SELECT_OWN_PAGE, before=before, limit=limit, person_id=person_id)
    return [_webhook(row) for row in found]


async def count_own(tx: Transaction, person_id: str) -> int:
    row = await tx.one(_COUNT_OWN, person_id=person_id)
    return 0 if row is None else int(row[0])


async def select_address(tx: Transaction, id: str) -> Address | None:
    row = await tx.one(_SELECT_ADDRESS, id_=id)
    return None if row is None else Address(*row)


async def update_webhook(tx: Transaction, webhook: Webhook) -> None:
    await tx.run(
        _UPDATE,
        id_=webhook.id,
        url_=webhook.url,
        events_=_list(webhook.events),
        members_=_list(webhook.members),
        enabled_=int(webhook.enabled),
        reason_=webhook.reason,
        failures_=webhook.failures,
    )


async def delete_webhook(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_DELIVERIES, webhook_ids=[id])
    await tx.run(_DELETE, id_=id)


async def delete_webhooks_of(tx: Transaction, person_id: str) -> None:
    ids = [row[0] for row in await tx.all(_SELECT_IDS, person_id=person_id)]
    if ids:
        await tx.run(_DELETE_DELIVERIES, webhook_ids=ids)
        await tx.run(_DELETE_OF, ids=ids)


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_SEALED = Statement(
    select(webhooks.c.id, webhooks.c.url, webhooks.c.key_id, webhooks.c.secret)
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
    return [Address(*row) for row in await tx.all(_SELECT_SEALED, after=after, but=but, limit=limit)]


async def update_sealed(tx: Transaction, address: Address, sealed: str, key_id: str) -> None:
    await tx.run(_RESEAL, id_=address.webhook_id, was=address.sealed, sealed=sealed, key_id_=key_id)


# ── who listens ─────────────────────────────────────────────────────────────────────────────────────────────────────

_mine = members.alias("mine")
_IN_IT = and_(_mine.c.space_id == bindparam("space_id"), _mine.c.member_id == webhooks.c.person_id)
_THERE = and_(people.c.disabled_at.is_(None), people.c.erased_at.is_(None))
_WHO = webhooks.join(people, people.c.id == webhooks.c.person_id)


def _listening(joined: Any) -> Select[Any]:
    return (
        select(
            webhooks.c.id,
            people.c.id,
            people.c.name,
            people.c.role,
            webhooks.c.grants,
            webhooks.c.events,
            webhooks.c.members,
            _mine.c.member_id,
        )
        .select_from(joined)
        .where(_ENABLED, _THERE)
    )


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


def _listener(row: Row) -> Listener:
    id, person_id, name, role, grants, events, members_, mine = row
    return rules.listener_of(
        id,
        (person_id, name, role),
        grants,
        orjson.loads(events),
        orjson.loads(members_),
        member=mine is not None,
    )


async def select_in_space(tx: Transaction, space_id: str) -> list[Listener]:
    """Those whose person is in the space."""
    return [_listener(row) for row in await tx.all(_SELECT_IN_SPACE, space_id=space_id)]


async def select_anywhere(tx: Transaction, space_id: str | None) -> list[Listener]:
    """Those whose person is in the space, or may be concerned without being in it."""
    return [_listener(row) for row in await tx.all(_SELECT_ANYWHERE, space_id=space_id or "")]


async def select_listener(tx: Transaction, webhook_id: str, space_id: str | None) -> Listener | None:
    """The webhook by now: None if it was switched off, or its person may not come in any more."""
    row = await tx.one(_SELECT_ONE, id_=webhook_id, space_id=space_id or "")
    return None if row is None else _listener(row)


async def select_place(tx: Transaction, space_id: str | None) -> Place | None:
    row = None if space_id is None else await tx.one(_SELECT_PLACE, id=space_id)
    return None if row is None else Place(row[0], not row[1] and row[2] != "dm", row[3])


# ── what a delivery is about ────────────────────────────────────────────────────────────────────────────────────────

_SELECT_MESSAGE = Statement(
    select(messages.c.author_id, messages.c.text, messages.c.reply_to, messages.c.author_kind, runs.c.cause_id)
    .select_from(messages.outerjoin(runs, runs.c.id == messages.c.run_id))
    .where(messages.c.id == bindparam("id"), messages.c.deleted_at.is_(None))
)
_SELECT_CALL = Statement(
    select(
        pending_calls.c.call_id,
        pending_calls.c.kind,
        pending_calls.c.agent_id,
        pending_calls.c.tool_name,
        pending_calls.c.space_id,
        pending_calls.c.visible,
        pending_calls.c.deadline_at,
        pending_calls.c.expires_at,
        pending_calls.c.run_id,
    ).where(
        pending_calls.c.call_id == bindparam("id"),
        or_(pending_calls.c.status == "waiting", pending_calls.c.status == "pending"),
    )
)


async def select_message(tx: Transaction, id: str) -> Row | None:
    """Author, text, what it answers, the author's kind and for whom they spoke, of a message that is still there."""
    return await tx.one(_SELECT_MESSAGE, id=id)


async def select_call(tx: Transaction, id: str) -> tuple[Asked, int | None, str] | None:
    """A call that still waits, until when, and its run."""
    row = await tx.one(_SELECT_CALL, id=id)
    if row is None:
        return None
    call_id, kind, agent_id, tool_name, space_id, visible, deadline_at, expires_at, run_id = row
    asked = Asked(call_id, kind, agent_id, tool_name, space_id, bool(visible))
    return asked, deadline_at or expires_at, run_id


# ── deliveries ──────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_DELIVERY = insert_or_ignore(webhook_deliveries)
_DUE = and_(_QUEUED, webhook_deliveries.c.next_attempt_at <= bindparam("now"))
_SELECT_DUE = Statement(select(webhook_deliveries.c.webhook_id).distinct().where(_DUE).limit(bindparam("limit")))
_SELECT_NEXT = Statement(
    select(
        webhook_deliveries.c.id,
        webhook_deliveries.c.webhook_id,
        webhook_deliveries.c.type,
        webhook_deliveries.c.subject_id,
        webhook_deliveries.c.space_id,
        webhook_deliveries.c.attempts,
        webhook_deliveries.c.created_at,
    )
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
    select(
        webhook_deliveries.c.id,
        webhook_deliveries.c.webhook_id,
        webhook_deliveries.c.type,
        webhook_deliveries.c.subject_id,
        webhook_deliveries.c.space_id,
        webhook_deliveries.c.status,
        webhook_deliveries.c.attempts,
        webhook_deliveries.c.next_attempt_at,
        webhook_deliveries.c.last_status,
        webhook_deliveries.c.last_error,
        webhook_deliveries.c.created_at,
        webhook_deliveries.c.finished_at,
    )
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


async def insert_delivery(
    tx: Transaction, *, id: str, webhook_id: str, type: WebhookEvent, key: str, subject_id: str, space_id: str | None
) -> bool:
    """False: it was queued before."""
    touched = await tx.run(
        _INSERT_DELIVERY,
        id=id,
        webhook_id=webhook_id,
        type=type,
        key=key,
        subject_id=subject_id,
        space_id=space_id,
        status="queued",
        attempts=0,
        next_attempt_at=tx.clock.millis(),
        last_status=None,
        last_error=None,
        created_at=tx.clock.now(),
        finished_at=None,
    )
    return touched > 0


async def select_due(tx: Transaction, limit: int) -> list[str]:
    """Webhooks that have something to be told by now."""
    return [row[0] for row in await tx.all(_SELECT_DUE, now=tx.clock.millis(), limit=limit)]


async def select_next(tx: Transaction, webhook_id: str) -> Due | None:
    row = await tx.one(_SELECT_NEXT, now=tx.clock.millis(), webhook_id=webhook_id)
    return None if row is None else Due(*row)


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
    row = await tx.one(_FAILED, id_=webhook_id, last_error_=error)
    return 0 if row is None else int(row[0])


async def switch_off(tx: Transaction, webhook_id: str, reason: str) -> bool:
    return await tx.run(_SWITCH_OFF, id_=webhook_id, reason_=reason) > 0


async def select_deliveries(tx: Transaction, webhook_id: str, *, before: str, limit: int) -> list[Delivery]:
    found = []
    for row in await tx.all(_SELECT_DELIVERIES, webhook_id=webhook_id, before=before, limit=limit):
        id, webhook, type, subject, space, status, attempts, next_at, last_status, last_error, created, finished = row
        found.append(
            Delivery(
                id=id,
                webhook_id=webhook,
                type=type,
                subject_id=subject,
                space_id=space,
                status=status,
                attempts=attempts,
                next_attempt_at=tx.clock.at(next_at) if status == "queued" else None,
                last_status=last_status,
                last_error=last_error,
                created_at=created,
                finished_at=finished,
            )
        )
    return found


async def delete_old(tx: Transaction, before: str, limit: int) -> int:
    """Of those that are over."""
    ids = [row[0] for row in await tx.all(_SELECT_OLD, before=before, limit=limit)]
    return await tx.run(_DELETE_OLD, ids=ids) if ids else 0


async def delete_in_space(tx: Transaction, space_id: str) -> None:
    await tx.run(_DELETE_IN_SPACE, space_id=space_id)
