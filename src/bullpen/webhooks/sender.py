"""The sender: brings what is queued to whoever listens.

It looks when a commit has queued something, and whenever the engine sweeps; in between there is nothing of it in
memory. Each webhook that has something to be told gets a task of its own, one delivery after the other, so that one who
is slow keeps nobody else waiting. A task ends when there is nothing left, or at a failure: the rest waits for a later
look. Killed between sending and settling, a delivery is sent again under the same id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from bullpen import ids
from bullpen.ending import end
from bullpen.engine.worker import survive
from bullpen.errors import EgressError, KeyMissing, SecretInvalid
from bullpen.net.types import Limits
from bullpen.observe import counts
from bullpen.observe.redact import REDACTOR
from bullpen.storage import Store
from bullpen.variables.actions import Vault
from bullpen.webhooks import actions, rows, rules
from bullpen.webhooks.types import Address, Letter, Sent

if TYPE_CHECKING:
    from bullpen.net.client import Egress

USE: Final = "webhook"  # what an owner lists private receivers for
AT_ONCE: Final = 64
SECONDS: Final = 10.0
GRACE_SECONDS: Final = 3.0
LIMITS: Final = Limits(total=SECONDS, connect=SECONDS, answer=SECONDS, hops=0)


class Sender:
    def __init__(self, store: Store, vault: Vault, egress: Callable[[], Egress], url: Callable[[], str]) -> None:
        self._store = store
        self._vault = vault
        self._egress = egress
        self._url = url
        self._open = False
        self._asked = False
        self._full = False
        self._looking: asyncio.Task[None] | None = None
        self._working: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """From now on what is queued here is sent here. Others only queue."""
        self._open = True
        self._store.listen_after(actions.QUEUED, lambda _: self.hurry())

    async def stop(self) -> None:
        """Begin nothing more; what is under way may end, for a moment."""
        self._open = False
        under_way = [*self._working.values(), *([self._looking] if self._looking is not None else [])]
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=GRACE_SECONDS)
            await end(*late)

    def hurry(self) -> None:
        """Something was queued: look for it soon."""
        self._asked = True
        if self._open and (self._looking is None or self._looking.done()):
            self._looking = asyncio.get_running_loop().create_task(self._look_while_asked())

    async def _look_while_asked(self) -> None:
        while self._asked and self._open:
            self._asked = False
            await survive(self._store, self.look())

    async def look(self) -> None:
        """Begin with whatever is due. Waits for nobody who is told."""
        if not self._open:
            return
        due = await self._store.read(lambda tx: rows.select_due(tx, AT_ONCE + len(self._working)))
        for webhook_id in due:
            if webhook_id in self._working:
                continue
            if len(self._working) >= AT_ONCE:
                self._full = True  # whoever ends will look again
                return
            task = asyncio.create_task(self._work(webhook_id))
            self._working[webhook_id] = task
            task.add_done_callback(partial(self._ended, webhook_id))

    def _ended(self, webhook_id: str, task: asyncio.Task[None]) -> None:
        del self._working[webhook_id]
        if self._full:
            self._full = False
            self.hurry()

    async def _work(self, webhook_id: str) -> None:
        await survive(self._store, self._tell(webhook_id))

    async def _tell(self, webhook_id: str) -> None:
        take = partial(actions.take, webhook_id=webhook_id, url=self._url())
        while self._open and (letter := await self._store.transact(take)) is not None:
            sent = await self.send(letter)
            arrived = await self._store.transact(partial(actions.settle, letter=letter, sent=sent))
            counts.DELIVERIES.add("arrived" if arrived else "failed")
            if not arrived:
                return

    async def try_out(self, address: Address) -> Sent:
        """Tell a webhook that it is being tried, now and once."""
        data = {"webhookId": address.webhook_id}
        body = actions.written("ping", self._store.clock.now(), data, REDACTOR.masker())
        return await self.send(Letter(ids.delivery(), 1, address, body))

    async def send(self, letter: Letter) -> Sent:
        """One attempt. Whatever the receiver does, it ends within a bound, and what it answers is not read."""
        began = monotonic()

        def over(status: int | None, error: str | None) -> Sent:
            return Sent(status, error, int((monotonic() - began) * 1000))

        try:
            secret = actions.opened(self._vault.keys.holding(letter.to.key_id), letter.to)
            headers = rules.headers(secret, letter.id, self._store.clock.millis() // 1000, letter.body)
            asked = self._egress().stream(USE, "POST", letter.to.url, headers=headers, body=letter.body, limits=LIMITS)
            async with asked as response:
                return over(response.status, None)
        except (EgressError, KeyMissing, SecretInvalid) as error:
            return over(None, error.message)
