"""Variables and the keys that secrets are sealed with. A secret goes in here and never comes out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Owner, Store
from bullpen.api.pages import Cursor, Limit, Page, answer, page
from bullpen.operations import variables
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.upkeep import rotation
from bullpen.variables import rows
from bullpen.variables.types import Stored
from bullpen.wire.nouns import KeyUse, KeyUses, Rotation, ScopeKind, Variable, VariableScope
from bullpen.wire.requests import ApplyVariable, PutVariable

router = APIRouter(route_class=CappedRoute, tags=["variables"])

Kind = Annotated[ScopeKind | None, Query(description="Only those of this kind of scope.")]
Id = Annotated[str | None, Query(max_length=200, description="Only those of this space, agent, person or thread.")]


def shown(stored: Stored) -> Variable:
    secret = stored.key_id is not None
    return Variable(
        name=stored.name,
        type=stored.type,
        scope=VariableScope(kind=stored.scope.kind, id=stored.scope.id or None),  # type: ignore[arg-type]
        scoped=stored.scoped,
        description=stored.description,
        value=None if secret else stored.value,
        updated_at=stored.updated_at,
    )


@router.get("/variables", response_model=Page[Variable])
async def list_variables(
    caller: Caller, store: Store, kind: Kind = None, id: Id = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """What the caller may set or use: names, types and scopes, and the values of those that are no secrets."""
    access.authorize(caller, "list_people")

    async def body(tx: Transaction) -> list[Stored]:
        return await rows.select_visible(
            tx,
            manages=access.allows(caller, "manage_agents"),
            person_id=caller.id,
            space_ids=sorted(await spaces.readable(tx, caller, None)),
            kind=kind,
            id=id,
            after=cursor or "",
            limit=limit,
        )

    found = await store.read(body)
    return page([shown(stored) for stored in found], limit, lambda each: rows.cursor(each.scope, each.name))


@router.put("/variables/{name}", response_model=Variable)
async def put_variable(name: str, request: PutVariable, caller: Caller, office: Office, store: Store) -> Response:
    """Give the name a value in a scope, instead of the one it had there."""
    asked = ApplyVariable(name=name, **dict(request))

    async def body(tx: Transaction) -> Variable:
        stored, _ = await variables.put(tx, caller, office.vault, asked)
        return shown(stored)

    async with office.vault.setting(store, variables.list_secrets([asked])):
        return answer(await store.transact(body))


@router.delete("/variables/{name}", status_code=204, response_class=Response)
async def delete_variable(
    name: str, caller: Caller, store: Store, kind: ScopeKind = "workspace", id: Id = None
) -> Response:
    await store.transact(lambda tx: variables.remove(tx, caller, kind, id, name))
    return Response(status_code=204)


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/keys", response_model=KeyUses)
async def list_keys(caller: Owner, office: Office, store: Store) -> Response:
    """Which keys there are, by their ids, and how many secrets each seals."""
    vault = office.vault
    current = await store.read(rows.select_sealing_key)
    used = await store.read(rows.count_keys)
    ring = vault.keys.ring()
    held = () if ring is None else ring.keys
    found = [
        KeyUse(id=id, secrets=used.get(id, 0), current=id == current, held=id in held)
        for id in dict.fromkeys([*held, *used])
    ]
    return answer(KeyUses(path=str(vault.keys.path), keys=found))


@router.post("/keys/rotate", response_model=Rotation)
async def rotate_keys(caller: Owner, office: Office, store: Store) -> Response:
    """Seal every secret with a new key, and forget the old one. Asked again after a crash, it finishes the first."""
    done = await rotation.rotate(store, office.vault, caller)
    return answer(
        Rotation(
            key_id=done.key_id,
            secrets=done.secrets,
            resumed=done.resumed,
            forgotten=done.forgotten,
            idle=done.idle,
            unopened=list(done.unopened),
        )
    )
