"""The bridges of this process: connected when the office opens, each with its sender, and asked how they are.

The API reads queues and dead entries from the outbox; what only a bridge itself can say is asked here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from bullpen.bridges import inbound
from bullpen.bridges.sender import Sender
from bullpen.bridges.types import Bridge, Health, Received, Update
from bullpen.engine.worker import survive
from bullpen.errors import CannotStart
from bullpen.outbox import actions
from bullpen.spaces.types import PostingRules
from bullpen.storage import Store

HEALTH_SECONDS: Final = 2.0
SILENT: Final = Health(False, f"It has not said within {HEALTH_SECONDS:.0f} s how it is.")


class Bridges:
    def __init__(
        self,
        store: Store,
        posting: PostingRules,
        owner: str,
        bridges: Sequence[Bridge],
        page: str = "",
    ) -> None:
        self._store = store
        self._posting = posting
        self._senders = {bridge.name: Sender(store, bridge, owner, page) for bridge in bridges}
        if len(self._senders) < len(bridges):
            raise CannotStart("Two bridges have the same name. The ids of chats begin with it, so each needs its own.")

    async def connect(self) -> None:
        """From now on what is said in their spaces is queued."""
        for name in self._senders:
            await self._store.transact(partial(actions.connect, id=name))

    def start(self) -> None:
        for sender in self._senders.values():
            sender.start()
            sender.hurry()

    async def stop(self) -> None:
        await asyncio.gather(*(sender.stop() for sender in self._senders.values()))

    def hint(self) -> None:
        """Something has changed in the office, here or in another process."""
        for sender in self._senders.values():
            sender.hint()

    async def look(self) -> None:
        for sender in self._senders.values():
            await sender.look()

    async def receive(self, bridge: str, update: Update) -> Received:
        """For bridges: somebody wrote this. The same update again changes nothing."""
        return await inbound.receive(self._store, self._posting, bridge, update)

    async def health(self) -> dict[str, Health]:
        """What each says of itself."""
        found = dict.fromkeys(self._senders, SILENT)

        async def ask(bridge: Bridge) -> None:
            async with asyncio.timeout(HEALTH_SECONDS):
                found[bridge.name] = await bridge.health()

        await asyncio.gather(*(survive(self._store, ask(sender.bridge)) for sender in self._senders.values()))
        return found
