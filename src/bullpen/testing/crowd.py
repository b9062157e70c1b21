"""People who post and followers who follow, while servers come and go, and what each of them saw.

A poster knows of each send whether it is ok, failed or unknown; after no answer it asks again with the same
clientMessageId, and sometimes gives up. A follower comes back with its last id, to whichever server it meets.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from bullpen.client.follow import CURSOR_HEADER, Parser
from bullpen.testing.histories import Follower, Outcome, Pair, Send, pair
from bullpen.wire.events import RESET

# What a client sees when a server is killed under its hands.
LOST = (httpx.TransportError, httpx.StreamError)


@dataclass
class Doors:
    """The servers there are, as a client knows them: addresses at which somebody may answer."""

    urls: Sequence[str]
    token: str

    def client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.token}"}
        # No TLS here, and certificates take longer to load than a message to post.
        return httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(5.0), trust_env=False, verify=False)  # noqa: S501


# ── posting ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Poster:
    name: str
    doors: Doors
    rooms: Sequence[tuple[str, str]]  # a space, and what to say in it to be heard
    chance: random.Random
    sends: list[Send] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)  # ids of messages of ours

    def __post_init__(self) -> None:
        self._http = self.doors.client()

    async def post(self) -> None:
        """One message, by hook or by crook; or one that cannot be."""
        space, words = self.chance.choice(self.rooms)
        key = f"{self.name}-{len(self.sends)}"
        text = "" if self.chance.random() < 0.02 else f"{words} {key}"
        self.sends.append(Send(key, await self._send(space, key, text), space))
        if self.answered and self.chance.random() < 0.05:
            await self._meddle(self.chance.choice(self.answered))

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _send(self, space: str, key: str, text: str) -> Outcome:
        patience = self.chance.choice([0, 1, 100, 100, 100])
        while True:
            body = {"text": text, "clientMessageId": key}
            answer = await self._try("POST", f"/api/spaces/{space}/messages", body)
            if answer is not None and answer.status_code == 201:
                self.answered.append(answer.json()["id"])
                return "ok"
            if answer is not None and answer.status_code < 500:
                return "failed"
            if patience == 0:
                return "unknown"
            patience -= 1
            await asyncio.sleep(self.chance.uniform(0.01, 0.1))

    async def _meddle(self, id: str) -> None:
        """Edit, delete or react to something said before; whether it worked is for the database to know."""
        method, path, body = self.chance.choice(
            [
                ("PATCH", f"/api/messages/{id}", {"text": "said differently"}),
                ("DELETE", f"/api/messages/{id}", None),
                ("POST", f"/api/messages/{id}/reactions", {"emoji": "👀"}),
            ]
        )
        await self._try(method, path, body)

    async def _try(self, method: str, path: str, body: Any) -> httpx.Response | None:
        try:
            return await self._http.request(method, self.chance.choice(self.doors.urls) + path, json=body)
        except LOST:
            return None


# ── following ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Watcher:
    name: str
    doors: Doors
    chance: random.Random
    space_id: str | None = None
    after: str | None = None
    cursor: str | None = None
    places: list[Pair] = field(default_factory=list)
    resets: int = 0
    connections: int = 0

    async def follow(self) -> None:
        """For ever: connect to some server, read until it dies, come back."""
        async with self.doors.client() as http:
            while True:
                try:
                    await self._read(http)
                except LOST:
                    await asyncio.sleep(self.chance.uniform(0.01, 0.1))

    async def _read(self, http: httpx.AsyncClient) -> None:
        headers = {} if self.cursor is None else {CURSOR_HEADER: self.cursor}
        query = {} if self.space_id is None else {"spaceId": self.space_id}
        url = self.chance.choice(self.doors.urls) + "/api/events"
        async with http.stream("GET", url, headers=headers, params=query, timeout=45) as answer:
            if answer.status_code != 200:
                return
            self.connections += 1
            if self.cursor is None:
                self.after = self.cursor = answer.headers[CURSOR_HEADER]
            parser = Parser()
            async for chunk in answer.aiter_bytes():
                for event in parser.feed(chunk):
                    self._hear(event.type, event.cursor)

    def _hear(self, type: str, cursor: str | None) -> None:
        if type == RESET:
            self.resets += 1
        if cursor is not None and type:
            self.cursor = cursor
            self.places.append(pair(cursor))

    def history(self) -> Follower:
        after = None if self.after is None else pair(self.after)
        return Follower(self.name, tuple(self.places), after, self.space_id)
