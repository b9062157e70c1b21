"""A streamed answer, from bytes to a reply: events as they come, in any cuts, never more than was agreed.

One request, one answer. The stream is read until the answer says that it is whole; one that ends before, stalls or
makes no sense is an error, and nothing of it is acted on. Which events there are and what they mean is each provider's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from bullpen.errors import EgressDenied, EgressError, EgressTooLarge, ModelError, ModelRefused, ModelUnavailable
from bullpen.llm import failures
from bullpen.llm.failures import About
from bullpen.llm.models import USE
from bullpen.llm.types import Delta, OnDelta, Reply
from bullpen.net.types import Limits

if TYPE_CHECKING:
    from bullpen.net.client import Egress
    from bullpen.net.response import Response

CONNECT: Final = 10.0  # seconds to find and to reach the server
MOST_BYTES: Final = 64 << 20  # of one answer
MOST_EVENT: Final = 16 << 20  # of one event
MOST_ERROR: Final = 64 << 10  # of a body that says what is wrong
# For the rest of a body whose answer is whole already: then the connection can be used again.
REST_SECONDS: Final = 0.1

# What reading an event raises that is not as it should be.
NONSENSE: Final = (ValueError, TypeError, LookupError, AttributeError)

_DONE: Final = b"[DONE]"


class Answer(Protocol):
    """An answer as it grows."""

    whole: bool  # it has said so

    def feed(self, event: Any) -> Delta | None:
        """One event, decoded; what has grown by it. Raises ModelError if it tells of one, or one of NONSENSE."""

    def end(self) -> None:
        """The stream said that it is over."""

    def reply(self) -> Reply:
        """All of it. Only asked for when it is whole."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a provider, ready to be sent. `stand_ins` hold the key until the socket is there."""

    url: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    stand_ins: Mapping[str, Callable[[], str]] = field(repr=False)
    quiet: float  # seconds without a byte after which nobody is there any more
    about: About


async def ask(egress: Egress, question: Question, answer: Answer, on_delta: OnDelta | None) -> Reply:
    """The whole answer. Raises ModelUnavailable or ModelRefused."""
    about, quiet = question.about, question.quiet
    limits = Limits(total=None, connect=min(CONNECT, quiet), answer=quiet, idle=quiet, body_bytes=MOST_BYTES, hops=2)
    try:
        async with egress.stream(
            USE,
            "POST",
            question.url,
            headers=question.headers,
            body=question.body,
            limits=limits,
            stand_ins=question.stand_ins,
        ) as response:
            with _having(accepted=response.status == 429):
                await _check(response, about)
            with _having(accepted=True):
                await _read(response, answer, about, on_delta)
    except EgressError as error:
        raise of_egress(error, about) from None
    try:
        return answer.reply()
    except NONSENSE:
        raise _nonsense(about) from None


@contextmanager
def _having(*, accepted: bool) -> Iterator[None]:
    """Says of what goes wrong from here on how far we had come."""
    try:
        yield
    except ModelError as error:
        error.reached, error.accepted = True, accepted
        raise


def of_egress(error: EgressError, about: About) -> ModelError:
    if isinstance(error, EgressDenied):
        return ModelRefused(f"{about}: {error.message}")
    if isinstance(error, EgressTooLarge):
        return ModelRefused(f"{about} answers without end; nothing of it was done.")
    return ModelUnavailable(f"{about}: {error.message}")


async def _check(response: Response, about: About) -> None:
    """Is this going to be an answer? Raises what it is instead."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status == 200 and kind not in ("application/json", "text/html"):
        return
    body = bytearray()
    async with aclosing(response.iter()) as pieces:
        async for piece in pieces:
            body += piece[: MOST_ERROR - len(body)]
            if len(body) >= MOST_ERROR:
                break
    if response.status != 200:
        raise failures.of_status(response.status, response.headers, bytes(body), about, now=time())
    if kind == "application/json" and (told := failures.of_body(bytes(body))) != failures.Told():
        raise failures.of_event(told, about)
    raise ModelRefused(f"{about} does not stream its answer ({kind}). Check the base URL, and whether it can stream.")


async def _read(response: Response, answer: Answer, about: About, on_delta: OnDelta | None) -> None:
    events = Events()
    async with aclosing(response.iter()) as pieces:
        async for piece in pieces:
            for event in events.feed(piece):
                grown = _fed(answer, event, about)
                if grown is not None and on_delta is not None:
                    on_delta(grown)
            if answer.whole:
                await _rest(pieces)
                return
            if events.waiting > MOST_EVENT:
                raise ModelRefused(f"{about} sends an event without end; nothing of it was done.")
        answer.end()
    if not answer.whole:
        raise ModelUnavailable(f"{about} ended its answer too early; nothing of it was done.")


def _fed(answer: Answer, event: bytes, about: About) -> Delta | None:
    if event == _DONE:
        answer.end()
        return None
    try:
        return answer.feed(orjson.loads(event))
    except NONSENSE:
        raise _nonsense(about) from None


def _nonsense(about: About) -> ModelUnavailable:
    return ModelUnavailable(f"{about} sent something that makes no sense; nothing of it was done.")


async def _rest(pieces: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, EgressError):
        async with asyncio.timeout(REST_SECONDS):
            async for _ in pieces:
                pass


class Events:
    """Server-sent events out of bytes, however they are cut. Only their data: what an event is, it says itself."""

    def __init__(self) -> None:
        self._held: list[bytes] = []  # of a line that has not come whole
        self._data: list[bytes] = []  # of an event that has not come whole
        self._after_return = False
        self._bytes_held = 0
        self._bytes_of_data = 0

    @property
    def waiting(self) -> int:
        """Bytes of an event that has not come whole."""
        return self._bytes_held + self._bytes_of_data

    def feed(self, chunk: bytes) -> list[bytes]:
        if b"\r" in chunk or self._after_return:
            chunk = self._plain(chunk)
        *lines, rest = chunk.split(b"\n")
        if lines and self._held:
            lines[0] = b"".join((*self._held, lines[0]))
            self._held.clear()
            self._bytes_held = 0
        if rest:
            self._held.append(rest)
            self._bytes_held += len(rest)
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        data = self._data
        for line in lines:
            if line[:5] == b"data:":
                value = line[6:] if line[5:6] == b" " else line[5:]
                data.append(value)
                self._bytes_of_data += len(value)
            elif not line and data:
                found.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
                self._bytes_of_data = 0
        return found

    def _plain(self, chunk: bytes) -> bytes:
        """Lines may end in CR LF or CR as well, and the two may come apart. JSON never holds one as it is."""
        if self._after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._after_return = False
        if chunk:
            self._after_return = chunk[-1:] == b"\r"
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
