"""Make a hook, revoke it, ring it.

A hook's secret is 32 random bytes in its address; only the SHA-256 is kept. Ringing goes the way of a trigger: the
agent is woken with what was said as data, on behalf of whoever made the hook and with no more than they still may. Who
tried how often is the door's business (api/hooks.py).
"""

from __future__ import annotations

import secrets

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.actions import hashed
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.audit.actions import note
from bullpen.errors import Conflict, NotFound
from bullpen.hooks import rows
from bullpen.hooks.types import Found
from bullpen.inbox import actions as inbox
from bullpen.inbox.types import Cause
from bullpen.observe.redact import REDACTOR, owner
from bullpen.storage import Transaction
from bullpen.wire.nouns import Hook

# The redactor knows what is ours by its beginning.
PREFIX = "bp_hook_"


async def create(tx: Transaction, actor: Principal, agent_id: str, name: str) -> tuple[Hook, str]:
    """A hook and its secret, which is shown this once."""
    access.authorize(actor, "manage_hooks")
    await agents.get(tx, agent_id)
    secret = PREFIX + secrets.token_urlsafe(32)
    hook = Hook(id=ids.hook(), name=name, agent_id=agent_id, created_by=actor.id, created_at=tx.clock.now())
    await rows.insert_hook(tx, hook, hashed(secret), access.written(actor.grants))
    note(tx, actor, "hook.created", "hook", hook.id, agentId=agent_id)
    return hook, secret


async def revoke(tx: Transaction, actor: Principal, id: str) -> None:
    access.authorize(actor, "manage_hooks")
    if not await rows.delete_hook(tx, id):
        raise NotFound(f"There is no hook {id!r}.")
    note(tx, actor, "hook.revoked", "hook", id)


async def find(tx: Transaction, secret: str) -> Found | None:
    """The hook of this secret, if whoever made it may still wake the agent."""
    found = await rows.select_by_hash(tx, hashed(secret))
    return found if found is not None and access.allows(found.maker, "manage_agents") else None


async def ring(tx: Transaction, found: Found, text: str, key: str | None) -> str:
    """Wake the agent; the id of its inbox item. Under the same key, the same text again is the same item."""
    item_id = ids.inbox_item()
    if key is not None and not await rows.insert_use(tx, found.id, hashed(key), hashed(text), item_id):
        digest, known = await rows.select_use(tx, found.id, hashed(key))
        if digest != hashed(text):
            raise Conflict(
                "This Idempotency-Key was used for another text; use a new one.",
                fields={"Idempotency-Key": "was used for another text"},
            )
        return known
    await rows.touch(tx, found.id)
    maker = found.maker
    masker = REDACTOR.masker([owner(maker.kind, maker.id), owner("agent", found.agent_id)])
    payload = {
        "serviceName": found.name,
        "hookId": found.id,
        "payload": {"text": masker.clean(text)},
        "outside": [f"hook:{found.name}"],
    }
    cause = Cause(maker.kind, maker.id, access.written(maker.grants))
    return await inbox.deliver_trigger(tx, found.agent_id, found.agent_scope, payload, cause, id=item_id)
