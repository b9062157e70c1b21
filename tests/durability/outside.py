"""The outside world of an office that may die: one server, which writes down every request that it answers.

What it is asked is an effect, with the idempotency key of the request. Asked to, this world kills the office, once:
before a request goes out, when its intent is stored and its name looked up; or in it, after the effect and before the
answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from bullpen.net.client import Egress
from bullpen.net.types import Address
from bullpen.testing.dns import FakeDns
from bullpen.testing.histories import Effect, append_effect
from bullpen.testing.sockets import LocalSockets
from tests.net.servers import Asked, World, answer

ONCE = ("POST", "PATCH")
Death = Literal["before the request", "in the request"]


class _Fate:
    def __init__(self, folder: Path, death: Death | None) -> None:
        self._mark = folder / "died"
        self._death = death

    def strike(self, moment: Death) -> None:
        if moment == self._death and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class _Dns(FakeDns):
    def __init__(self, fate: _Fate) -> None:
        super().__init__()
        self._fate = fate

    async def addresses(self, host: str) -> Sequence[Address]:
        self._fate.strike("before the request")
        return await super().addresses(host)


@asynccontextmanager
async def outside(folder: Path, death: Death | None = None) -> AsyncIterator[Egress]:
    """There before the office: whoever goes on after a death may ask at once, and must find no other world."""
    fate = _Fate(folder, death)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        key = asked.headers["idempotency-key"]
        append_effect(folder / "effects", Effect("once" if asked.method in ONCE else "idempotent", key, key))
        fate.strike("in the request")
        writer.write(answer(b'{"kept": true}', content_type="application/json"))

    dns, sockets = _Dns(fate), LocalSockets()
    outer = World(Egress(None, dns=dns, opener=sockets), dns, sockets)
    try:
        await outer.server(behave)
        yield outer.egress
    finally:
        await outer.stop()
