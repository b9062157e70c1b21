"""An office with a chat elsewhere: the space `family` is the chat `mem:1`, served by a bridge in memory."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select

from bullpen.bridges.types import Update
from bullpen.outbox import actions
from bullpen.settings import EngineSettings
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import outbox
from bullpen.testing.bridges import MemoryBridge
from tests.driver import Driver, Json, Offices

# Nobody looks by themselves: a test says when.
QUIET = EngineSettings(lease_seconds=3600)


async def family(offices: Offices, bridge: MemoryBridge, **how: Any) -> Driver:
    """The owner, alone in a group that is a chat."""
    office = await offices.open(bridges=[bridge], **how)
    await office.space("family", kind="group", private=True, bridge=f"{bridge.name}:1")
    return office


def update(id: str, text: str, **more: Any) -> Update:
    said = {"address": "1", "chat_name": "Family", "account": "77", "account_name": "Ann", "remote_id": f"m{id}"}
    return Update(id=id, text=text, **{**said, **more})


async def entries(office: Driver) -> list[Json]:
    """The outbox, in order."""
    names = [column.name for column in outbox.columns]

    async def body(tx: Transaction) -> list[Json]:
        found = await tx.all(Statement(select(outbox).order_by(outbox.c.number)))
        return [dict(zip(names, row, strict=True)) for row in found]

    return await office.office.store.read(body)


async def sent(office: Driver, count: int) -> list[Json]:
    """The outbox, once so many entries are over or dead."""

    async def holds() -> bool:
        over = [entry for entry in await entries(office) if entry["status"] in ("sent", "dropped", "dead")]
        return len(over) >= count

    await office.until(holds)
    return await entries(office)


async def bury(office: Driver, message_id: str) -> int:
    """An entry that could not be sent, of a bridge that was connected once; its number."""

    async def body(tx: Transaction) -> int:
        await actions.connect(tx, "mem")
        dead = {"space_id": "team", "status": "dead", "attempts": 1, "error": "It is gone.", "created_at": "then"}
        said = {"bridge": "mem", "chat": "mem:1", "message_id": message_id, "kind": "message", **dead}
        return int(await tx.value(Statement(insert(outbox).values(**said).returning(outbox.c.number))))

    return await office.office.store.transact(body)
