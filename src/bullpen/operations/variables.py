"""Set a variable and take it back, wherever it is at home: a scope is a space's, an agent's, a person's or a thread's.

`variables/` knows scopes by name only. Here they are looked up, and the caller's right to change them is checked.
"""

from __future__ import annotations

from collections.abc import Iterable

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.errors import Invalid, NotFound
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.threads import rows as threads
from bullpen.variables import actions
from bullpen.variables.actions import Vault
from bullpen.variables.types import WORKSPACE, Scope, Stored
from bullpen.wire.nouns import ScopeKind
from bullpen.wire.requests import ApplyVariable


async def put(
    tx: Transaction, caller: Principal, vault: Vault, request: ApplyVariable
) -> tuple[Stored, actions.Change]:
    """Give the name a value in a scope. Around the transaction of a secret stands `Vault.setting`."""
    scope = await _find_scope(tx, caller, request.scope.kind, request.scope.id)
    return await actions.put(
        tx,
        vault,
        caller,
        scope,
        request.name,
        value=request.value,
        type=request.type,
        scoped=request.scoped,
        description=request.description,
    )


async def remove(tx: Transaction, caller: Principal, kind: ScopeKind, id: str | None, name: str) -> None:
    await actions.remove(tx, caller, await _find_scope(tx, caller, kind, id), name)


def list_secrets(requests: Iterable[ApplyVariable]) -> list[tuple[str, str]]:
    """Name and value of those that are secrets, for `Vault.setting`."""
    return [(request.name, request.value) for request in requests if request.type == "secret"]


async def _find_scope(tx: Transaction, caller: Principal, kind: ScopeKind, id: str | None) -> Scope:
    """The scope, if the caller may set what is in it."""
    if kind == "person":
        id = id or caller.id
        access.authorize(caller, "change_person", Thing("person", id, holder=id))
        return Scope(kind, id)
    if kind == "space":
        return Scope(kind, (await spaces.room_for(tx, caller, "keep_space", _needed(kind, id))).id)
    access.authorize(caller, "manage_agents")
    if kind == "workspace":
        if id is not None:
            raise Invalid("There is one workspace, so it has no id.", fields={"scope.id": "leave it out"})
        return WORKSPACE
    if kind == "agent":
        return Scope(kind, (await agents.get(tx, _needed(kind, id))).id)
    thread_id = _needed(kind, id)
    if await threads.select_thread(tx, thread_id) is None:
        raise NotFound(f"There is no thread {thread_id!r}.")
    return Scope(kind, thread_id)


def _needed(kind: str, id: str | None) -> str:
    if id is None:
        raise Invalid(f"Say which {kind}: its id is missing.", fields={"scope.id": f"the id of the {kind}"})
    return id
