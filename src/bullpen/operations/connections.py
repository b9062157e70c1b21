"""Connect a model, change a connection, and end it.

A key that is given here is a secret variable of the office; it goes with the connection. An address in this network is
opened for models by an owner at the page, exactly as it is, and closed with the connection. A key never follows a
connection to another address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.connections import actions, rows, rules
from bullpen.errors import AlreadyExists, Conflict, Invalid, NotFound
from bullpen.events.actions import in_turn
from bullpen.llm.models import USUAL_KEYS
from bullpen.storage import Transaction
from bullpen.variables import actions as variables
from bullpen.variables import rows as variable_rows
from bullpen.variables import rules as variable_rules
from bullpen.variables.actions import Vault
from bullpen.variables.types import WORKSPACE
from bullpen.wire.nouns import ConnectionModel, ModelConnection
from bullpen.wire.requests import CreateConnection, ModelRequest, UpdateConnection

ALL = "connections"  # the turn of whoever makes one, names one, or says which is the default

# ── seeing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def list_connections(tx: Transaction, caller: Principal, vault: Vault) -> list[ModelConnection]:
    access.authorize(caller, "manage_agents")
    return [await _shown(tx, vault, each) for each in await rows.select_connections(tx)]


async def get(tx: Transaction, caller: Principal, vault: Vault, id: str) -> ModelConnection:
    access.authorize(caller, "manage_agents")
    return await _shown(tx, vault, await _get(tx, id))


async def _get(tx: Transaction, id: str) -> ModelConnection:
    found = await rows.select_connection(tx, id)
    if found is None:
        raise NotFound(f"There is no connection {id!r}.")
    return found


async def _shown(tx: Transaction, vault: Vault, connection: ModelConnection) -> ModelConnection:
    using = [agent_id for agent_id, _ in await agent_rows.select_using(tx, connection.id)]
    return connection.model_copy(
        update={
            "has_key": await _has_key(tx, vault, connection.api_key_variable),
            "needs_confirming": rules.needs_confirming(connection),
            "agents": using,
        }
    )


async def _has_key(tx: Transaction, vault: Vault, name: str | None) -> bool:
    if name is None:
        return False
    return name in vault.settings or await variable_rows.select_variable(tx, WORKSPACE, name) is not None


# ── making and changing ─────────────────────────────────────────────────────────────────────────────────────────────


async def create(tx: Transaction, caller: Principal, vault: Vault, request: CreateConnection) -> ModelConnection:
    """Around it stands `Vault.setting`, for the key."""
    access.authorize(caller, "manage_agents")
    await in_turn(tx, ALL)
    if await rows.count(tx) >= rules.MOST:
        raise Conflict(f"There are {rules.MOST} connections already. Delete one that nobody needs.")
    base_url = None if request.base_url is None else rules.tidy(request.provider, request.base_url)
    if base_url is not None:
        rules.check_address(base_url)
    now = tx.clock.now()
    made = ModelConnection(
        id=ids.connection(),
        name=await _free_name(tx, request.name, rules.default_name(request.provider, base_url)),
        provider=request.provider,
        base_url=base_url,
        confirmed=_confirmed(caller, base_url, request.confirm),
        default_model=request.default_model,
        models=rules.merged([], _models(request.models)),
        created_by=caller.id,
        created_at=now,
        updated_at=now,
    )
    made, own_key = await _with_key(tx, caller, vault, made, request.api_key, request.api_key_variable)
    if request.default_model is not None:
        await rows.clear_default(tx)
    await rows.insert_connection(tx, made, own_key=own_key)
    note(tx, caller, "connection.created", "connection", made.id, provider=made.provider, address=made.base_url or "")
    if made.confirmed is not None:
        note(tx, caller, "connection.confirmed", "connection", made.id, address=made.confirmed)
    return await _shown(tx, vault, made)


async def change(
    tx: Transaction, caller: Principal, vault: Vault, id: str, request: UpdateConnection
) -> ModelConnection:
    """Around it stands `Vault.setting`, for the key."""
    access.authorize(caller, "manage_agents")
    await in_turn(tx, ALL, actions.turn_of(id))
    before, own_key = await _get(tx, id), await rows.has_own_key(tx, id)
    said = request.model_fields_set
    changed = before.model_copy(update={"updated_at": tx.clock.now()})
    if request.name is not None and rows.folded(request.name) != rows.folded(before.name):
        changed = changed.model_copy(update={"name": await _free_name(tx, request.name, "")})
    elif request.name is not None:
        changed = changed.model_copy(update={"name": request.name})
    if "base_url" in said:
        base_url = None if request.base_url is None else rules.tidy(before.provider, request.base_url)
        changed = _moved(before, changed, base_url)
    if "confirm" in said:
        opened = None if request.confirm is None else _confirmed(caller, changed.base_url, request.confirm)
        changed = changed.model_copy(update={"confirmed": opened})
    kept = changed.api_key_variable if own_key and "api_key_variable" not in said else None
    if kept is not None and request.api_key is not None:
        await _seal(tx, caller, vault, changed, kept, request.api_key)
    elif {"api_key", "api_key_variable"} & said or changed.api_key_variable != before.api_key_variable:
        if own_key:
            await _drop_key(tx, caller, before)
        changed = changed.model_copy(update={"api_key_variable": None})
        changed, own_key = await _with_key(
            tx, caller, vault, changed, request.api_key, request.api_key_variable, usual="api_key" not in said
        )
    if "default_model" in said:
        if request.default_model is not None:
            await rows.clear_default(tx)
        changed = changed.model_copy(update={"default_model": request.default_model})
    changed = changed.model_copy(update={"models": rules.merged(before.models, _models(request.models))})
    await rows.update_connection(tx, changed, own_key=own_key)
    note(tx, caller, "connection.changed", "connection", id, fields=sorted(said))
    if changed.confirmed != before.confirmed and changed.confirmed is not None:
        note(tx, caller, "connection.confirmed", "connection", id, address=changed.confirmed)
    return await _shown(tx, vault, changed)


def _moved(before: ModelConnection, changed: ModelConnection, base_url: str | None) -> ModelConnection:
    """To another address go neither the key nor what was confirmed; another path of the same one is the same place."""
    origin = None if base_url is None else rules.check_address(base_url)
    there = None if before.base_url is None else rules.origin(before.base_url)
    more: dict[str, Any] = {} if origin == there else {"confirmed": None, "api_key_variable": None}
    return changed.model_copy(update={"base_url": base_url, **more})


def _confirmed(caller: Principal, base_url: str | None, said: str | None) -> str | None:
    if said is None:
        return None
    access.authorize(caller, "confirm_address")
    return rules.confirmed(base_url, said)


async def _with_key(
    tx: Transaction,
    caller: Principal,
    vault: Vault,
    connection: ModelConnection,
    key: str | None,
    variable: str | None,
    *,
    usual: bool = True,
) -> tuple[ModelConnection, bool]:
    """The connection with the variable of its key, and whether that was made here."""
    if key is not None and variable is not None:
        raise Invalid("Give a key or the name of its variable, not both.", fields={"apiKey": "leave one out"})
    if variable is not None:
        variable_rules.check_name(variable)
    elif key is not None:
        variable = await _put_key(tx, caller, vault, connection, key)
    elif usual and connection.base_url is None:
        variable = USUAL_KEYS[connection.provider]
    return connection.model_copy(update={"api_key_variable": variable}), key is not None


async def _put_key(tx: Transaction, caller: Principal, vault: Vault, connection: ModelConnection, key: str) -> str:
    taken = set(vault.settings)
    name = rules.key_name(connection.provider, connection.base_url, taken)
    while await variable_rows.select_variable(tx, WORKSPACE, name) is not None:
        taken.add(name)
        name = rules.key_name(connection.provider, connection.base_url, taken)
    await _seal(tx, caller, vault, connection, name, key)
    return name


async def _seal(
    tx: Transaction, caller: Principal, vault: Vault, connection: ModelConnection, name: str, key: str
) -> None:
    about = f"The key of the connection {connection.name}"
    try:
        await variables.put(tx, vault, caller, WORKSPACE, name, value=key, type="secret", description=about)
    except Invalid as error:
        why = next(iter((error.fields or {}).values()), "choose another")
        raise Invalid(error.message, fields={"apiKey": why}) from None


def _models(said: dict[str, ModelRequest | None]) -> dict[str, ConnectionModel | None]:
    return {
        name: None if each is None else ConnectionModel.model_validate({"name": name, **each.model_dump()})
        for name, each in said.items()
    }


async def _free_name(tx: Transaction, wanted: str | None, otherwise: str) -> str:
    """A name that was chosen must be free; one of ours gets a number."""
    taken = {rows.folded(each.name) for each in await rows.select_connections(tx)}
    if wanted is not None:
        if rows.folded(wanted) in taken:
            raise AlreadyExists(f"There is a connection named {wanted!r} already.", fields={"name": "is taken"})
        return wanted
    number, name = 2, otherwise
    while rows.folded(name) in taken:
        name, number = f"{otherwise} {number}", number + 1
    return name


# ── ending ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def delete(tx: Transaction, caller: Principal, id: str) -> None:
    """Refused while agents use it. Its address is closed, and a key that was given with it is gone."""
    access.authorize(caller, "manage_agents")
    await in_turn(tx, ALL, actions.turn_of(id))
    connection = await _get(tx, id)
    if using := await agent_rows.select_using(tx, id):
        raise Conflict(
            f"{_listed([name for _, name in using])} {'uses' if len(using) == 1 else 'use'} {connection.name}. Give "
            f"{'it' if len(using) == 1 else 'them'} another model first.",
            fields={"agents": ", ".join(agent_id for agent_id, _ in using)},
        )
    own_key = await rows.has_own_key(tx, id)
    await rows.delete_connection(tx, id)
    if own_key:
        await _drop_key(tx, caller, connection)
    note(tx, caller, "connection.deleted", "connection", id, address=connection.base_url or "")


async def _drop_key(tx: Transaction, caller: Principal, connection: ModelConnection) -> None:
    """The key that was given with it, unless another connection or an agent was pointed at it since."""
    name = connection.api_key_variable
    if name is None or await variable_rows.select_variable(tx, WORKSPACE, name) is None:
        return
    others = [each for each in await rows.select_connections(tx) if each.id != connection.id]
    if any(each.api_key_variable == name for each in others):
        return
    if await agent_rows.select_with_key(tx, name, connection.provider if connection.base_url is None else ""):
        return
    await variables.remove(tx, caller, WORKSPACE, name)


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:5], *([f"{len(names) - 5} others"] if len(names) > 5 else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
