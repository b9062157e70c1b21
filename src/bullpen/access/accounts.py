"""Who somebody is elsewhere: an account of a bridge belongs to a person who linked it, or to a guest.

A guest is a person without a way to sign in. What they may do is in `rules.GUEST`; where, is decided by the spaces
that they are made a member of. Their name comes from outside, so it is changed until it is like nobody else's.
"""

from __future__ import annotations

from typing import Final

from bullpen.access import actions, rows
from bullpen.access.types import Principal
from bullpen.audit.actions import note
from bullpen.errors import Forbidden
from bullpen.storage import Transaction
from bullpen.wire import names
from bullpen.wire.nouns import Person

MOST_NAME: Final = 64  # characters of a name that somebody chose elsewhere
NAMELESS: Final = "Guest"


async def find_speaker(tx: Transaction, bridge: str, account: str, name: str) -> Principal:
    """The person who speaks there. Somebody who was never heard of becomes a guest.

    The credential names the account: streams and runs of theirs have nothing else that could be revoked.
    """
    person = await rows.select_by_account(tx, bridge, account)
    if person is None:
        person = await actions.insert_guest(tx, await _free_name(tx, bridge, account, name))
        await rows.put_account(tx, bridge, account, person.id)
    if person.disabled_at is not None:
        raise Forbidden(f"{person.name} was disabled, so what they say in {bridge} is not taken.")
    return actions.principal_of_person(person, f"{bridge}:{account}")


async def link(tx: Transaction, actor: Principal, bridge: str, account: str, person_id: str) -> Person:
    """The account is this person's from now on. What it said before stays the guest's.

    The caller has made sure that the actor may, and that the account is theirs.
    """
    person = await actions.get_person(tx, person_id)
    await rows.put_account(tx, bridge, account, person_id)
    note(tx, actor, "account.linked", "person", person_id, bridge=bridge)
    return person


async def _free_name(tx: Transaction, bridge: str, account: str, name: str) -> str:
    """Says where they come from, so that nobody takes them for somebody of this office."""
    try:
        shown = names.check(names.clean(name)[:MOST_NAME])
    except ValueError:
        shown = NAMELESS
    taken = {names.skeleton(other) for _, other in await rows.select_names(tx)}
    for candidate in (f"{shown} ({bridge})", f"{shown} ({bridge} {account})"):
        if names.skeleton(candidate) not in taken:
            return candidate
    return f"{NAMELESS} ({bridge} {account})"
