"""Make and change a webhook; queue what it is told, take a delivery, and settle what came of it.

What is queued is part of the transaction in which it happened, so it is told if and only if it did. A row names the
message or the call; the words are read, and the person's right to them judged once more, when they are sent. Sending
itself is sender.py's.
"""

from __future__ import annotations

import base64
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import orjson

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import Actor, note
from bullpen.errors import Conflict, EgressDenied, Invalid, KeyMissing, NotFound, SecretInvalid
from bullpen.events.actions import in_turn
from bullpen.net import urls
from bullpen.observe.redact import REDACTOR, Masker, owner
from bullpen.storage import Topic, Transaction
from bullpen.variables.actions import SEALING, Vault
from bullpen.variables.keys import KeyRing
from bullpen.webhooks import rows, rules
from bullpen.webhooks.types import Address, Asked, Due, Letter, Listener, Sent
from bullpen.wire import Message
from bullpen.wire.nouns import Delivery, Webhook, WebhookEvent
from bullpen.wire.requests import CreateWebhook, UpdateWebhook

LABEL = "webhooks"
# How long an attempt is ours alone: well beyond what one may take.
LEASE_MS = 60_000

# Something waits to be sent to this webhook. A look comes now and then besides.
QUEUED: Final = Topic[str]("a delivery was queued")

NOT_THEIRS = "It was switched off, or its person may not see this any more."
NOTHING_LEFT = "There was nothing to tell any more: the message was taken back, or the call is over."

# Does a message mention whoever has this id and this name?
Mentions = Callable[[str, str], bool]


# ── webhooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def create(tx: Transaction, vault: Vault, actor: Principal, request: CreateWebhook) -> tuple[Webhook, str]:
    """A webhook and what its deliveries are signed with, which is shown this once."""
    access.authorize(actor, "make_webhook")
    await in_turn(tx, SEALING, actor.id)
    if await rows.count_own(tx, actor.id) >= rules.MOST:
        raise Conflict(f"You have {rules.MOST} webhooks, which is the most. Delete one that nobody needs.")
    webhook = Webhook(
        id=ids.webhook(),
        person_id=actor.id,
        url=_checked(request.url),
        events=sorted(set(request.events)),
        members=await _known(tx, request.members),
        created_at=tx.clock.now(),
    )
    secret = rules.PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    REDACTOR.add(secret, "webhook", owner("webhook", webhook.id))
    ring, key_id = await vault.sealing(tx)
    sealed = ring.seal_for(LABEL, key_id, _about(webhook.id), secret)
    await rows.insert_webhook(tx, webhook, grants=access.written(actor.grants), sealed=sealed, key_id=key_id)
    note(tx, actor, "webhook.created", "webhook", webhook.id, origin=origin_of(webhook.url), events=webhook.events)
    return webhook, secret


def _checked(url: str) -> str:
    """Where it leads is judged when it is called; that it is a URL, now."""
    try:
        return str(urls.parse(url))
    except EgressDenied as error:
        raise Invalid(
            f"This is no address that can be called. {error.message}", fields={"url": error.message}
        ) from None


def origin_of(url: str) -> str:
    """Where it leads, without what may be a secret in it."""
    return str(urls.origin_of(url))


def shown_to_others(webhook: Webhook) -> Webhook:
    """The path of an address is often a secret: others than its person are told where it leads, and no more."""
    return webhook.model_copy(update={"url": origin_of(webhook.url)})


async def _known(tx: Transaction, members: Sequence[str]) -> list[str]:
    named = sorted(set(members))
    kinds = await agent_rows.select_kinds(tx, named)
    if unknown := [id for id in named if id not in kinds]:
        raise Invalid(f"Nobody has the id {unknown[0]!r}.", fields={"members": f"unknown: {', '.join(unknown)}"})
    return named


async def get(
    tx: Transaction, actor: Principal, id: str, action: access.Action = "see_webhook", *, lock: bool = False
) -> Webhook:
    webhook = await rows.select_webhook(tx, id, lock=lock)
    if webhook is None:
        raise NotFound(f"There is no webhook {id!r}, or it is not yours to see.")
    access.authorize(actor, action, Thing("webhook", id, holder=webhook.person_id))
    return webhook


async def update(tx: Transaction, actor: Principal, id: str, request: UpdateWebhook) -> Webhook:
    # Locked: the sender may be counting a failure, or switching it off.
    webhook = await get(tx, actor, id, "change_webhook", lock=True)
    said: dict[str, Any] = {}
    if request.url is not None:
        said["url"] = _checked(request.url)
    if request.events is not None:
        said["events"] = sorted(set(request.events))
    if request.members is not None:
        said["members"] = await _known(tx, request.members)
    if request.enabled is True:
        said |= {"enabled": True, "reason": None, "failures": 0}
    elif request.enabled is False:
        said |= {"enabled": False, "reason": "Its person has switched it off."}
        await rows.drop_queued(tx, id, NOT_THEIRS)
    changed = webhook.model_copy(update=said)
    await rows.update_webhook(tx, changed)
    note(tx, actor, "webhook.changed", "webhook", id, fields=sorted(request.model_fields_set))
    return changed


async def remove(tx: Transaction, actor: Principal, id: str) -> None:
    await get(tx, actor, id, "delete_webhook")
    await rows.delete_webhook(tx, id)
    tx.after_commit(partial(REDACTOR.drop_all, owner("webhook", id)))
    note(tx, actor, "webhook.deleted", "webhook", id)


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _about(webhook_id: str) -> bytes:
    return f"webhook {webhook_id}".encode()


def opened(ring: KeyRing, address: Address) -> str:
    secret = ring.open_for(LABEL, address.key_id, _about(address.webhook_id), address.sealed)
    if secret is None:
        raise SecretInvalid(
            f"What the webhook {address.webhook_id} is signed with cannot be opened: it was changed. Make another one.",
            fields={"webhook": address.webhook_id},
        )
    REDACTOR.add(secret, "webhook", owner("webhook", address.webhook_id))
    return secret


async def seal_anew(tx: Transaction, vault: Vault, after: str, limit: int) -> list[tuple[str, bool]]:
    """The next webhooks that another key seals, and whether each is sealed anew."""
    await in_turn(tx, SEALING)
    ring, key_id = await vault.sealing(tx)
    done = []
    for address in await rows.select_sealed(tx, after=after, but=key_id, limit=limit):
        try:
            secret = opened(vault.keys.holding(address.key_id), address)
        except (SecretInvalid, KeyMissing):
            done.append((address.webhook_id, False))
            continue
        sealed = ring.seal_for(LABEL, key_id, _about(address.webhook_id), secret)
        await rows.update_sealed(tx, address, sealed, key_id)
        done.append((address.webhook_id, True))
    return done


async def unopened(tx: Transaction, ring: KeyRing) -> list[str]:
    """Webhooks that could not sign anything."""
    found: list[str] = []
    after = ""
    while page := await rows.select_sealed(tx, after=after, limit=500):
        for address in page:
            try:
                opened(ring, address)
            except (SecretInvalid, KeyMissing):
                found.append(address.webhook_id)
        after = page[-1].webhook_id
    return found


async def abandon(tx: Transaction, vault: Vault, actor: Actor) -> list[str]:
    """Delete the webhooks whose key is gone for good; which they were."""
    ring = vault.keys.ring()
    held = set() if ring is None else set(ring.keys)
    lost: list[str] = []
    after = ""
    while page := await rows.select_sealed(tx, after=after, limit=500):
        lost += [address.webhook_id for address in page if address.key_id not in held]
        after = page[-1].webhook_id
    for id in lost:
        await rows.delete_webhook(tx, id)
        note(tx, actor, "webhook.deleted", "webhook", id, keyLost=True)
    return lost


# ── queueing ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def mentioned(tx: Transaction, message: Message, mentions: Mentions) -> None:
    """A message may mention somebody who wants to be told. Members only, and nobody of their own words."""
    listening = [each for each in await rows.select_in_space(tx, message.space_id) if "mention" in each.events]
    watched = {id for each in listening for id in each.members if id != message.author_id}
    if not watched:
        return
    names = await agent_rows.select_names(tx, sorted(watched))
    named = {id for id in watched if mentions(id, names.get(id, id))}
    for listener in listening:
        if named.intersection(listener.members) and rules.may_read(listener):
            await _queue(tx, listener, "mention", f"message:{message.id}", message.id, message.space_id)


async def asked(tx: Transaction, call: Asked, asks: int) -> None:
    """A call waits for somebody: tell those who may answer it."""
    found = await rows.select_anywhere(tx, call.space_id)
    listening = [each for each in found if "tool.requires_action" in each.events]
    place = await rows.select_place(tx, call.space_id) if listening else None
    for listener in listening:
        if rules.may_answer(listener, call, place):
            await _queue(tx, listener, "tool.requires_action", rules.key_of(call, asks), call.call_id, call.space_id)


async def _queue(
    tx: Transaction, listener: Listener, type: WebhookEvent, key: str, subject_id: str, space_id: str | None
) -> None:
    delivery = Delivery(
        id=ids.delivery(),
        webhook_id=listener.webhook_id,
        type=type,
        subject_id=subject_id,
        space_id=space_id,
        status="queued",
        attempts=0,
        next_attempt_at=tx.clock.at(tx.clock.millis()),
        created_at=tx.clock.now(),
    )
    made = await rows.insert_delivery(tx, delivery, key)
    if made:
        tx.tell(QUEUED, listener.webhook_id)


# ── delivering ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def take(tx: Transaction, webhook_id: str, url: str) -> Letter | None:
    """The next delivery whose time has come, written out; None: there is none, or another process has it.

    `url` is where the page is, for links.
    """
    while (due := await rows.select_next(tx, webhook_id)) is not None:
        if not await rows.claim(tx, due, tx.clock.millis() + LEASE_MS):
            return None
        address = await rows.select_address(tx, webhook_id)
        listener = await rows.select_listener(tx, webhook_id, due.space_id)
        body = None if listener is None else await _WRITERS[due.type](tx, listener, due, url)
        if address is not None and body is not None:
            return Letter(due.id, due.attempts + 1, address, body)
        why = NOT_THEIRS if listener is None else NOTHING_LEFT
        await rows.finish(tx, due.id, "dropped", last_status=None, last_error=why)
    return None


async def _write_mention(tx: Transaction, listener: Listener, due: Due, url: str) -> bytes | None:
    message = await rows.select_message(tx, due.subject_id)
    place = await rows.select_place(tx, due.space_id)
    if message is None or place is None or not rules.may_read(listener):
        return None
    author_id = message.author_id
    masker = REDACTOR.masker(
        [
            owner("space", due.space_id or ""),
            owner(message.author_kind, author_id),
            owner("person", message.cause_id or ""),
        ]
    )
    names = await agent_rows.select_names(tx, [author_id])
    data = {
        "messageId": due.subject_id,
        "spaceId": due.space_id,
        "spaceName": place.name,
        "authorId": author_id,
        "authorName": names.get(author_id, author_id),
        "text": rules.shortened(masker.clean(message.text)),  # before it is cut: half of a secret looks like nothing
        "replyTo": message.reply_to,
        "url": f"{url}/#space={due.space_id}&message={due.subject_id}",
    }
    return written(due.type, due.created_at, data, masker)


async def _write_call(tx: Transaction, listener: Listener, due: Due, url: str) -> bytes | None:
    found = await rows.select_call(tx, due.subject_id)
    if found is None:
        return None
    call, until, run_id = found
    place = await rows.select_place(tx, call.space_id)
    if not rules.may_answer(listener, call, place):
        return None
    names = await agent_rows.select_names(tx, [call.agent_id])
    data = {
        "callId": call.call_id,
        "kind": call.kind,
        "toolName": call.tool_name,
        "agentId": call.agent_id,
        "agentName": names.get(call.agent_id, call.agent_id),
        "runId": run_id,
        "spaceId": call.space_id,
        "spaceName": None if place is None else place.name,
        "deadline": None if until is None else tx.clock.at(until),
        "url": f"{url}/#call={call.call_id}",
    }
    masker = REDACTOR.masker([owner("space", call.space_id or ""), owner("agent", call.agent_id)])
    return written(due.type, due.created_at, data, masker.keeping({call.tool_name, call.agent_id}))


_WRITERS = {"mention": _write_mention, "tool.requires_action": _write_call}


def written(type: str, at: str, data: dict[str, Any], masker: Masker) -> bytes:
    """As it is sent: whatever somebody said, without secrets."""
    said = {name: value for name, value in data.items() if value is not None}
    return orjson.dumps({"type": type, "timestamp": at, "data": masker.clean_json(said)})


async def settle(tx: Transaction, letter: Letter, sent: Sent) -> bool:
    """What came of an attempt. True: it arrived."""
    webhook_id = letter.to.webhook_id
    if rules.arrived(sent):
        await rows.finish(tx, letter.id, "delivered", last_status=sent.status, last_error=None)
        await rows.succeeded(tx, webhook_id)
        return True
    sent = replace(sent, error=REDACTOR.clean(rules.problem(sent))[:500])
    wait = None if sent.status == rules.GONE else rules.wait_after(letter.attempt, random.random())
    if not await _failed(tx, letter, sent, wait):
        return False
    failures = await rows.failed(tx, webhook_id, sent.error or "")
    reason = rules.off_because(sent, failures, given_up=wait is None)
    if reason is not None and await rows.switch_off(tx, webhook_id, reason):
        await rows.drop_queued(tx, webhook_id, NOT_THEIRS)
        note(tx, access.SYSTEM, "webhook.disabled", "webhook", webhook_id, reason=reason)
    return False


async def _failed(tx: Transaction, letter: Letter, sent: Sent, wait: int | None) -> bool:
    """False: somebody else has the delivery by now, or it is over."""
    error = sent.error or ""
    if wait is None:
        return await rows.finish(tx, letter.id, "failed", last_status=sent.status, last_error=error)
    next_at = tx.clock.millis() + wait
    return await rows.retry(tx, letter.id, letter.attempt, next_at=next_at, last_status=sent.status, last_error=error)
