"""Somebody who is told: a server of the test's, which checks each signature itself and answers as it is told to."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from bullpen.net.allowance import Allowance
from tests.driver import Api, Driver, Json
from tests.net.servers import Asked, Server, World, answer, world
from tests.waits import BOUND

URL = "http://told.example.com/inbox"


@dataclass
class Receiver:
    """Answers with `statuses` in turn, the last one for ever."""

    statuses: list[str] = field(default_factory=lambda: ["200 OK"])
    asked: list[Asked] = field(default_factory=list)
    hold: asyncio.Event | None = None
    before: Callable[[Asked], Any] | None = None
    server: Server | None = None
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def behave(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked.append(asked)
        self._heard.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.before is not None:
            await self.before(asked)
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        writer.write(answer(b"thanks", status))

    async def told(self, nth: int = 1) -> Json:
        """The n-th thing it was told, waited for with a bound."""
        async with asyncio.timeout(BOUND):
            while len(self.asked) < nth:
                self._heard.clear()
                await self._heard.wait()
        found: Json = orjson.loads(self.asked[nth - 1].body)
        return found

    @property
    def ids(self) -> list[str]:
        return [asked.headers["webhook-id"] for asked in self.asked]


def signed(secret: str, asked: Asked) -> bool:
    """By the convention, written down once more: nothing of ours is asked."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{asked.headers['webhook-id']}.{asked.headers['webhook-timestamp']}.".encode() + asked.body
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return asked.headers["webhook-signature"] == f"v1,{expected}"


@asynccontextmanager
async def receiving(
    *offices: Driver, allowance: Allowance | None = None, receivers: dict[str, Receiver] | None = None
) -> AsyncIterator[World]:
    """A world in which each name leads to its receiver; the offices have no other."""
    async with world(allowance) as outer:
        for office in offices:
            office.office._egress = outer.egress
        for number, (name, receiver) in enumerate((receivers or {}).items()):
            address = f"93.184.215.{20 + number}"
            receiver.server = await outer.server(receiver.behave, name=name, address=address)
        yield outer
        for office in offices:  # what is under way would find nobody any more
            await office.office.webhooks.stop()
            office.office.webhooks.start()


@asynccontextmanager
async def one(*offices: Driver, statuses: list[str] | None = None) -> AsyncIterator[Receiver]:
    made = Receiver(statuses or ["200 OK"])
    async with receiving(*offices, receivers={"told.example.com": made}):
        yield made


async def webhook(api: Api, url: str = URL, **more: Any) -> Json:
    made: Json = await api.create("/webhooks", {"url": url, **more}, status=201)
    return made


async def deliveries(api: Api, made: Json) -> list[Json]:
    return await api.items(f"/webhooks/{made['id']}/deliveries")


async def over(office: Driver, api: Api, made: Json, count: int = 1) -> list[Json]:
    """Its deliveries, once so many are over."""

    async def holds() -> bool:
        return len([d for d in await deliveries(api, made) if d["status"] != "queued"]) >= count

    await office.until(holds)
    return await deliveries(api, made)
