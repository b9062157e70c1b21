"""The sender: brings what is queued to whoever listens.

Each webhook that has something to be told gets a task of its own (engine/couriers.py), one delivery after the other. A
task ends when there is nothing left, or at a failure: the rest waits for a later look. Killed between sending and
settling, a delivery is sent again under the same id.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from bullpen import ids
from bullpen.engine.couriers import Couriers
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
LIMITS: Final = Limits(total=SECONDS, connect=SECONDS, answer=SECONDS, hops=0)


class Sender(Couriers):
    def __init__(self, store: Store, vault: Vault, egress: Callable[[], Egress], url: Callable[[], str]) -> None:
        super().__init__(store, self._find_due, self._tell, at_once=AT_ONCE)
        self._store = store
        self._vault = vault
        self._egress = egress
        self._url = url

    def start(self) -> None:
        """From now on what is queued here is sent here. Others only queue."""
        super().start()
        self._store.listen_after(actions.QUEUED, lambda _: self.hurry())

    async def _find_due(self) -> AsyncIterator[str]:
        for webhook_id in await self._store.read(partial(rows.select_due, limit=AT_ONCE + len(self.working))):
            yield webhook_id

    async def _tell(self, webhook_id: str) -> None:
        take = partial(actions.take, webhook_id=webhook_id, url=self._url())
        while self.is_open and (letter := await self._store.transact(take)) is not None:
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
