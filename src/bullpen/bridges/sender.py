"""The sender of one bridge: takes what waits in the outbox and gives it to the bridge, chat by chat, in order.

Only the process that holds the bridge's lease sends; it takes the lease with the entry, so a bridge at rest writes
nothing. A chat has one task (engine/couriers.py). An attempt is committed before it is made and settled after it; a
process that dies in between leaves an entry of which nobody knows whether it arrived (outbox/rules.py).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from time import monotonic
from typing import Final

from bullpen.bridges.pacing import Pacing
from bullpen.bridges.types import Bridge
from bullpen.engine.couriers import Couriers
from bullpen.engine.worker import survive
from bullpen.events.actions import in_turn
from bullpen.observe import counts
from bullpen.outbox import actions, rows
from bullpen.outbox.types import Outgoing, Result, Sent, Unknown, Wait
from bullpen.spaces import actions as spaces
from bullpen.storage import Store, Transaction
from bullpen.storage.store import Body
from bullpen.wire.nouns import OutboxStatus

CHATS_AT_ONCE: Final = 64
SECONDS: Final = 30.0  # for one attempt; less than the lease
AGAIN_SECONDS: Final = 1.0  # until the database is asked again to keep what has happened
PATIENCE_SECONDS: Final = 1.0  # for which a chat that has to wait keeps its task
REST_SECONDS: Final = 60.0  # a chat that has to wait for longer is looked at now and then
# Hints come with every change in the office. Looks are this far apart, and take a tenth of the time at most.
GAP_SECONDS: Final = 0.02

NO_ANSWER: Final = f"No answer came within {SECONDS:.0f} s."
BROKEN: Final = "The bridge failed with an error that it does not explain; the server's log has it."


class Sender(Couriers):
    def __init__(self, store: Store, bridge: Bridge, owner: str, page: str = "") -> None:
        super().__init__(store, self._find_chats, self._serve, at_once=CHATS_AT_ONCE)
        self.bridge = bridge
        self._store = store
        self._owner = owner
        self._page = page
        self._pacing = Pacing(bridge.paces, bridge.chat_paces)
        self._resting: set[str] = set()  # chats for which a timer is set
        self._hinted = False
        self._gap = GAP_SECONDS
        self._stopping = asyncio.Event()

    def hint(self) -> None:
        """Something has changed in the office, perhaps in one of our chats."""
        if self.is_open and not self._hinted:
            self._hinted = True
            asyncio.get_running_loop().call_later(self._gap, self._hint_came)

    def _hint_came(self) -> None:
        self._hinted = False
        self.hurry()

    def start(self) -> None:
        self._stopping.clear()
        super().start()

    async def stop(self) -> None:
        self._stopping.set()
        await super().stop()
        release = partial(rows.release_lease, id=self.bridge.name, owner=self._owner)
        await survive(self._store, self._store.transact(release))

    async def look(self) -> None:
        began = monotonic()
        await super().look()
        self._gap = max(GAP_SECONDS, 10 * (monotonic() - began))

    async def _find_chats(self) -> AsyncIterator[str]:
        """Chats with something to send, but for those that wait."""
        chat: str | None = ""
        while chat is not None:
            chat = await self._store.read(partial(rows.select_next_chat, bridge=self.bridge.name, after=chat))
            if chat is not None and chat not in self._resting:
                yield chat

    async def _serve(self, chat: str) -> None:
        """Send what waits for this chat, one after the other, until there is nothing or it has to wait."""
        take = partial(actions.take, bridge=self.bridge.name, chat=chat, owner=self._owner, page=self._page)
        while await self._wait_turn(chat):
            found = await self._store.transact(take)
            if found is None:
                return
            if isinstance(found, Wait):
                self._rest(chat, found.millis / 1000)
                return
            self._pacing.count_sent(chat, asyncio.get_running_loop().time())
            await self._settle(found, await self._attempt(found))

    async def _wait_turn(self, chat: str) -> bool:
        """False: there is nothing to send to it, it has to wait for long, or we are to end."""
        head = partial(rows.select_head, bridge=self.bridge.name, chat=chat)
        if await self._store.read(head) is None:
            return False
        clock = asyncio.get_running_loop().time
        free_at = self._pacing.chat_free_at(chat, clock())
        if free_at - clock() > PATIENCE_SECONDS:
            self._rest(chat, free_at - clock())
            return False
        await self._sleep_until(free_at)
        await self._sleep_until(self._pacing.reserve(clock()))
        return self.is_open

    async def _sleep_until(self, moment: float) -> None:
        wait = moment - asyncio.get_running_loop().time()
        if wait > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), wait)

    def _rest(self, chat: str, seconds: float) -> None:
        self._resting.add(chat)
        asyncio.get_running_loop().call_later(min(seconds, REST_SECONDS), self._rested, chat)

    def _rested(self, chat: str) -> None:
        self._resting.discard(chat)
        self.hurry()

    async def _attempt(self, item: Outgoing) -> Result:
        """Whatever the bridge does, it ends within a bound, as a result."""
        results: list[Result] = []

        async def send() -> None:
            try:
                async with asyncio.timeout(SECONDS):
                    results.append(await self.bridge.send(item))
            except TimeoutError:
                results.append(Unknown(NO_ANSWER))

        await survive(self._store, send())
        return results[0] if results else Unknown(BROKEN)

    async def _settle(self, item: Outgoing, result: Result) -> None:
        status = await self._keep(partial(_settle, item=item, result=result))
        repeated = item.repeated and isinstance(result, Sent)
        counts.OUTBOX.add(self.bridge.name, "repeated" if repeated else status or "late")

    async def _keep(self, settle: Body[OutboxStatus | None]) -> OutboxStatus | None:
        """Commit what came of an attempt. While the database is away we still know it, so nothing is sent twice."""
        while True:
            try:
                return await self._store.transact(settle)
            except self._store.connection_errors as error:
                self._store.notice(error)
                await asyncio.sleep(AGAIN_SECONDS)


async def _settle(tx: Transaction, item: Outgoing, result: Result) -> OutboxStatus | None:
    if item.repeated and isinstance(result, Sent):
        await in_turn(tx, item.entry.message_id)
        await spaces.mark_repeated(tx, item.entry.message_id)
    return await actions.settle(tx, item, result)
