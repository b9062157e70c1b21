"""Look up what a model that names a connection comes to: for whoever defines an agent, and before every question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen.connections import rows, rules
from bullpen.connections.types import Resolved
from bullpen.errors import Invalid
from bullpen.events.actions import in_turn
from bullpen.storage import Transaction


def turn_of(id: str) -> str:
    return f"connection {id}"


async def canonical(tx: Transaction, spec: Any) -> Any:
    """The model as an agent keeps it: connections by their ids. Raises Invalid for what names none."""
    said = [str(part["connection"]) for part in rules.named(spec)]
    return rules.canonical(spec, await rows.select_named(tx, said)) if said else spec


async def hold(tx: Transaction, spec: Any) -> Any:
    """The same, and none of its connections is deleted before this transaction commits."""
    model = await canonical(tx, spec)
    turns = [turn_of(str(part["connection"])) for part in rules.named(model)]
    if turns:
        await in_turn(tx, *turns)
        return await canonical(tx, model)
    return model


async def default(tx: Transaction) -> Any:
    """What new agents run on. Raises Invalid if nobody has chosen anything."""
    connection = await rows.select_default(tx)
    if connection is None:
        message = "Name a model, as in provider:name. No connection is the default for new agents yet."
        raise Invalid(message, fields={"model": "is missing"})
    return {"connection": connection.id, "name": connection.default_model}


async def confirmed(tx: Transaction) -> list[str]:
    """The addresses that owners have opened for models."""
    return await rows.select_confirmed(tx)


def is_elsewhere(spec: Any) -> bool:
    """Does asking it leave this process?"""
    if isinstance(spec, str):
        return not spec.startswith("script:")
    if not isinstance(spec, Mapping):
        return False
    fallback = spec.get("fallback")
    behind = fallback if isinstance(fallback, list) else ()
    return spec.get("provider") != "script" or any(is_elsewhere(each) for each in behind)


async def resolve(tx: Transaction, spec: Any) -> Resolved:
    """What it comes to now. Most models name no connection: then nothing is read."""
    ids = [str(part["connection"]) for part in rules.named(spec)]
    if not ids:
        return Resolved(spec)
    known = await rows.select_named(tx, ids)
    return rules.resolved(spec, {id: connection for id, connection in known.items() if connection.id == id})
