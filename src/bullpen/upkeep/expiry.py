"""End what nobody has answered in time. The engine asks for it with every sweep, so it is precise to a few seconds."""

from __future__ import annotations

from functools import partial

from bullpen.storage import Store
from bullpen.tools import pending, rows

MOST = 100  # calls of one look


async def expire_due(store: Store) -> None:
    """One transaction for each call. Looks first: an office in which nothing is over writes nothing."""
    while found := await store.read(lambda tx: rows.select_expired(tx, tx.clock.millis(), MOST)):
        for call_id in found:
            await store.transact(partial(pending.expire, call_id=call_id))
