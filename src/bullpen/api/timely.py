"""A request that comes too late changes nothing: its client has given up, and may have asked for something else since.

Clients wait 30 seconds for an answer. A server that stood still (paused, out of memory, a slow database) would carry
out what they gave up on, over what was acknowledged meanwhile. So each request has a store of its own, which looks
before the first change is begun: is there still time, and, where something is overwritten, is the client still there?
Later transactions of the same request belong to what has begun, and are not looked at.
"""

from __future__ import annotations

import asyncio
from math import inf
from time import monotonic
from typing import Final, TypeVar

from starlette.types import Scope

from bullpen.api.connection import CONNECTION, SLOWEST
from bullpen.api.watch import ARRIVED
from bullpen.errors import Unavailable
from bullpen.storage import Store, Transaction
from bullpen.storage.store import Body

T = TypeVar("T")

OVERWRITING: Final = frozenset({"PATCH", "PUT"})
TOO_LATE: Final = "The server could not begin with this in time, so it changed nothing. Send it again."


class RequestStore:
    """The store as one request uses it: a way to read, and a way to change something while there is time."""

    def __init__(self, store: Store, seconds: float, scope: Scope) -> None:
        self.untimed = store  # for what is no change: figures, exports
        self._seconds = seconds
        self._scope = scope
        self._begun = False

    async def read(self, body: Body[T]) -> T:
        return await self.untimed.read(body)

    async def transact(self, body: Body[T]) -> T:
        if self._begun:
            return await self.untimed.transact(body)
        await self._look_for_client()

        async def timely(tx: Transaction) -> T:  # run again after a conflict, it must still be in time
            self._check_time()
            return await body(tx)

        done = await self.untimed.transact(timely)
        self._begun = True
        return done

    def _check_time(self) -> None:
        if self._seconds and monotonic() > self._scope[ARRIVED] + self._seconds + _time_to_arrive(self._scope):
            raise Unavailable(TOO_LATE)

    async def _look_for_client(self) -> None:
        connection = self._scope.get(CONNECTION)
        if connection is None or self._scope["method"] not in OVERWRITING:
            return
        await asyncio.sleep(0)  # that a client has left is read after what it sent
        if connection.transport.is_closing():
            raise Unavailable(TOO_LATE)


def _time_to_arrive(scope: Scope) -> float:
    """How much longer a large body may take to come; one that does not say its size may take as long as it likes."""
    headers = dict(scope["headers"])
    said = headers.get(b"content-length", b"0")
    return inf if b"transfer-encoding" in headers or not said.isdigit() else int(said) / SLOWEST
