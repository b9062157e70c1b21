"""Schemas that take long to check, and an old office's way of having them."""

from __future__ import annotations

import orjson
from sqlalchemy import bindparam, update

from bullpen.storage import Statement, Store, Transaction
from bullpen.storage.tables import tools
from bullpen.tools import rows
from tests.path.scripts import Json

# Checked in our own process, this takes 0.6 GB and some seconds: a test that should fail does not take the machine.
LEVELS = 16
RECURSIVE: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}},
}
_STORE = Statement(update(tools).where(tools.c.name == bindparam("name_")).values(definition=bindparam("definition_")))


def nested(levels: int = LEVELS) -> Json:
    """Each level doubles the ways through it."""
    twice = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)}
    definitions = {**twice, f"d{levels}": {"type": "string"}}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


async def store_as_before(store: Store, name: str, schema: Json) -> None:
    """Give a tool a schema that only an earlier version would have let in."""

    async def body(tx: Transaction) -> None:
        there = await rows.select_tool(tx, name)
        assert there is not None
        left_out = {"name", "created_at", "updated_at"}
        definition = {**there.model_dump(mode="json", exclude=left_out), "input_schema": schema}
        await tx.run(_STORE, name_=name, definition_=orjson.dumps(definition).decode())

    await store.transact(body)
