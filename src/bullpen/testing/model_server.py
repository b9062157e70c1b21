"""A server that speaks as model providers do, on this machine: it checks what it is sent, and answers what a test says.

What a real provider would refuse it refuses, with the provider's own kind of error, and keeps in `problems`. It answers
with whole streams, in any cuts, and with what goes wrong: errors, streams that stall, streams that break off.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from bullpen.testing.json_server import listen, read_request, write_answer
from bullpen.testing.wire_checks import Given, problems, said_before, unreturned
from bullpen.testing.wires import PATHS, PIECE, Answer, Part, Thought, Wanted, Wire, frames

KEY = "open-sesame-of-this-test-42"
PAUSE = 0.1  # seconds; longer than what a run gathers before it shows it


@dataclass(slots=True)
class Asked:
    path: str
    wire: Wire
    headers: Mapping[str, str]
    body: bytes
    json: dict[str, Any]


# What to do about one request: write to the connection, or not.
Behaviour = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def plays(*parts: Part, cuts: int | None = None, pace: float = 0.0, **more: Any) -> Behaviour:
    """An answer of these parts. `cuts` is a seed: the stream is cut anywhere, also inside a character.

    `pace` is how long it takes from one piece to the next, in seconds; without cuts a piece is a frame then.
    """
    answer = Answer(parts, **more)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        written = frames(asked.wire, answer, str(asked.json.get("model")))
        writer.write(_HEAD)
        for piece in written if pace and cuts is None else cut(b"".join(written), cuts):
            writer.write(chunked(piece))
            await writer.drain()
            if cuts is not None or pace:
                await asyncio.sleep(pace)
        writer.write(b"0\r\n\r\n")

    behave.parts = parts  # type: ignore[attr-defined]
    return behave


def plays_in_two(*parts: Part, rest: asyncio.Event, piece: int = PIECE) -> Behaviour:
    """The same in two halves: the last third comes once `rest` is set, and what is before it slowly until then.

    Slowly, because a run shows what grows only so often: of frames that come together it shows the first alone. A long
    text takes larger pieces.
    """
    answer = Answer(parts, piece=piece)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        written = frames(asked.wire, answer, str(asked.json.get("model")))
        writer.write(_HEAD)
        for at, frame in enumerate(written):
            if at == len(written) * 2 // 3:
                await rest.wait()
            writer.write(chunked(frame))
            await writer.drain()
            if not rest.is_set():
                await asyncio.sleep(PAUSE)
        writer.write(b"0\r\n\r\n")

    behave.parts = parts  # type: ignore[attr-defined]
    return behave


def cut(data: bytes, seed: int | None) -> list[bytes]:
    if seed is None:
        return [data]
    dice = random.Random(seed)
    pieces, at = [], 0
    while at < len(data):
        size = dice.choice((1, 2, 3, 7, 20, 100, 1000))
        pieces.append(data[at : at + size])
        at += size
    return pieces


def fails(status: int, body: Any = None, **headers: str) -> Behaviour:
    """An error, as JSON unless the body is bytes."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        write_answer(writer, status, {"error": {"message": "no"}} if body is None else body, **headers)

    return behave


def breaks_off(*parts: Part, before: int = 1, cleanly: bool = True, **more: Any) -> Behaviour:
    """A stream that ends `before` so many of its last frames, as if it were over or by hanging up."""
    answer = Answer(parts, **more)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(_HEAD)
        for frame in frames(asked.wire, answer)[:-before]:
            writer.write(chunked(frame))
        await writer.drain()
        if cleanly:
            writer.write(b"0\r\n\r\n")
        else:
            writer.close()

    return behave


def stalls(*parts: Part, after: int, **more: Any) -> Behaviour:
    """A stream of which nothing comes after so many frames, while the connection stays open."""
    answer = Answer(parts, **more)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if after:
            writer.write(_HEAD + b"".join(chunked(frame) for frame in frames(asked.wire, answer)[:after]))
            await writer.drain()
        await asyncio.Event().wait()

    return behave


def says(*raw: bytes) -> Behaviour:
    """A stream of exactly these bytes."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(_HEAD + b"".join(chunked(each) for each in raw if each) + b"0\r\n\r\n")

    return behave


def hangs_up() -> Behaviour:
    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.close()

    return behave


@dataclass
class ModelServer:
    """Answers in turn, the last one for ever. Thoughts that it gave out must come back, and unchanged."""

    answers: list[Behaviour] = field(default_factory=list)
    key: str | None = KEY
    strict: bool = True  # refuses what providers refuse
    asked: list[Asked] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seals: dict[str, str] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    offers: list[Any] = field(default_factory=lambda: [{"id": "a-model"}, {"id": "another-model"}])
    listed: list[Mapping[str, str]] = field(default_factory=list)  # the headers of who asked for its models
    port: int = 0
    connections: int = 0
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def gives(self, *answers: Behaviour) -> None:
        self.answers = list(answers)

    def knows(self, *thoughts: Thought) -> None:
        """These were given out earlier."""
        self.seals |= {thought.seal: thought.text for thought in thoughts}

    async def was_asked(self, times: int, bound: float = 20.0) -> Asked:
        async with asyncio.timeout(bound):
            while len(self.asked) < times:
                self._heard.clear()
                await self._heard.wait()
        return self.asked[times - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                request = await read_request(reader)
                path, headers = request.path, request.headers
                if path == "/v1/models":
                    await self._list(headers, writer)
                    continue
                asked = Asked(path, PATHS[path], headers, request.body, request.json)
                self.asked.append(asked)
                self._heard.set()
                await self._answer(asked)(asked, writer)
                await writer.drain()
        writer.close()

    async def _list(self, headers: Mapping[str, str], writer: asyncio.StreamWriter) -> None:
        """The models it offers, as all three formats list them."""
        self.listed.append(headers)
        sent = _key_in(headers)
        if self.key is not None and sent != self.key:
            wrong = {"type": "authentication_error", "message": f"Bad key: {sent}"}
            write_answer(writer, 401, {"error": wrong})
        else:
            write_answer(writer, 200, {"object": "list", "data": self.offers, "has_more": False})
        await writer.drain()

    def _answer(self, asked: Asked) -> Behaviour:
        if asked.wire == "messages" and "anthropic-version" not in asked.headers:
            return fails(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "no version"}})
        sent = _key_in(asked.headers)
        if self.key is not None and sent != self.key:
            return fails(401, {"error": {"type": "authentication_error", "message": f"Incorrect API key: {sent}"}})
        if self.strict and (wrong := self._wrong(asked)):
            self.problems += wrong
            return fails(400, {"error": {"type": "invalid_request_error", "message": "; ".join(wrong)}})
        chosen = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self._give(asked, getattr(chosen, "parts", ()))
        return chosen

    def _wrong(self, asked: Asked) -> list[str]:
        found = problems(asked.wire, asked.json, self.seals)
        return [*found, *unreturned(asked.json, self.given)] if asked.wire == "messages" else found

    def _give(self, asked: Asked, parts: Sequence[Part]) -> None:
        thoughts = [part for part in parts if isinstance(part, Thought) and part.seal]
        self.knows(*thoughts)
        if asked.wire == "messages" and thoughts:
            after = said_before(asked.json, len(asked.json["messages"]))
            seals = frozenset(thought.seal for thought in thoughts)
            calls = [(part.name, orjson.loads(part.arguments)) for part in parts if isinstance(part, Wanted)]
            self.given.append(Given(str(asked.json["model"]), after, seals, calls))


def _key_in(headers: Mapping[str, str]) -> str:
    return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")


@asynccontextmanager
async def model_server(
    *answers: Behaviour, thoughts: Sequence[Thought] = (), **more: Any
) -> AsyncIterator[ModelServer]:
    made = ModelServer(list(answers), **more)
    made.knows(*thoughts)
    async with listen(made.serve) as made.port:
        yield made
