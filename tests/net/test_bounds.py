"""Answers without end or measure are cut: in bytes, in time, and before they fill the memory."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bullpen.errors import EgressError, EgressFailed, EgressTimeout, EgressTooLarge
from bullpen.net.types import Limits
from tests.net.servers import SECONDS, Asked, Behaviour, answer, repeats, says, world

URL = "http://api.example.com/"
MIB = 1024 * 1024
CAP = MIB
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n"


@contextmanager
def memory_of_at_most(bytes_: int) -> Iterator[None]:
    """Counts this whole process, the test's server included."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield
        assert tracemalloc.get_traced_memory()[1] - before <= bytes_
    finally:
        tracemalloc.stop()


def zeros(size: int) -> bytes:
    """What gzip makes of many zeros: a thousandth."""
    return gzip.compress(bytes(size), 9, mtime=0)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


TINY = "tiny chunks"
ENDLESS: dict[str, Behaviour] = {
    "a body": repeats(HEAD + b"\r\n", b"x" * 65536),
    "a body of 10 GB": repeats(HEAD + b"Content-Length: 10737418240\r\n\r\n", b"x" * 65536),
    "chunks": repeats(CHUNKED + b"\r\n", chunk(b"x" * 65536)),
    TINY: repeats(CHUNKED + b"\r\n", chunk(b"x") * 4096),
    "extensions of a chunk": repeats(CHUNKED + b"\r\n1;", b"a" * 65536),
    "trailers": repeats(CHUNKED + b"\r\n1\r\nx\r\n0\r\n", b"X-Trailer: x\r\n" * 1024),
    "headers": repeats(HEAD, b"X-Header: x\r\n" * 1024),
    "one header": repeats(HEAD + b"X-Header: ", b"x" * 65536),
    "one header's name": repeats(HEAD, b"x" * 65536),
    "a status line": repeats(b"HTTP/1.1 200 ", b"x" * 65536),
    "interim answers": repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 4096),
    "early hints": repeats(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 1024),
    "a bomb": repeats(CHUNKED + b"Content-Encoding: gzip\r\n\r\n", chunk(zeros(10 * MIB))),
}


@pytest.mark.proves("D12")
@pytest.mark.parametrize("what", ENDLESS)
async def test_an_endless_response_is_cut_off(what: str) -> None:
    total = 0.5 if what == TINY else SECONDS
    async with world(limits=Limits(body_bytes=CAP, total=total)) as made:
        server = await made.server(ENDLESS[what])
        with memory_of_at_most(2 * CAP + 2 * MIB), pytest.raises(EgressError) as cut:
            await made.egress.request("web", "GET", URL)
        assert cut.value.sent
        if what != TINY:  # they take longer to read than to forbid, so time may be up first
            assert isinstance(cut.value, EgressTooLarge | EgressFailed)
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)
        assert len(made.sockets.opened) == 1


@pytest.mark.proves("D12")
async def test_a_body_at_the_limit_passes_and_one_over_fails() -> None:
    async with world(limits=Limits(body_bytes=1000)) as made:
        server = await made.server(says(answer(b"x" * 1000), answer(b"x" * 1001)))
        assert len((await made.egress.request("web", "GET", URL)).body) == 1000
        with pytest.raises(EgressTooLarge, match="more than 1000 bytes"):
            await made.egress.request("web", "GET", URL)
        server.behave = says(answer(zeros(1000), Content_Encoding="gzip"), answer(zeros(1001), Content_Encoding="gzip"))
        assert (await made.egress.request("web", "GET", URL)).body == bytes(1000)
        with pytest.raises(EgressTooLarge):
            await made.egress.request("web", "GET", URL)


@pytest.mark.proves("D12")
async def test_a_decompression_bomb_is_cut_off_at_the_limit() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(bytes(MIB)) for _ in range(100)) + bomb.flush()
    assert len(packed) < CAP / 8
    async with world(limits=Limits(body_bytes=CAP)) as made:
        await made.server(says(answer(packed, Content_Encoding="gzip")))
        with memory_of_at_most(2 * CAP + 2 * MIB), pytest.raises(EgressTooLarge):
            await made.egress.request("web", "GET", URL, limits=Limits(body_bytes=CAP))


def drips(first: bytes, drop: bytes, every: float) -> Behaviour:
    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(every)

    return behave


SLOW: dict[str, Behaviour] = {
    "a body in drops": drips(HEAD + b"\r\n", b"x", 0.02),
    "a head in drops": drips(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.02),
    "chunks in drops": drips(CHUNKED + b"\r\n", chunk(b"x"), 0.02),
    "nothing": drips(b"", b"", 0.02),
}


@pytest.mark.proves("D12")
@pytest.mark.parametrize("behave", SLOW.values(), ids=SLOW.keys())
async def test_a_trickling_response_is_cut_off_at_the_total_deadline(behave: Behaviour) -> None:
    async with world(limits=Limits(total=0.5)) as made:
        server = await made.server(behave)
        began = time.monotonic()
        with pytest.raises(EgressTimeout) as late:
            await made.egress.request("web", "GET", URL)
        assert time.monotonic() - began > 0.45
        assert late.value.sent
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


@pytest.mark.parametrize(
    "limits, first",
    [
        (Limits(total=None, connect=0.5, answer=0.1), b""),
        (Limits(total=None, connect=0.5, answer=0.1), b"HTTP/1.1 200 OK\r\n"),
        (Limits(total=None, idle=0.1), HEAD + b"\r\nsome"),
        (Limits(total=None, idle=0.1), CHUNKED + b"\r\n4\r\nsome\r\n"),
    ],
    ids=["no head", "half a head", "half a body", "half of the chunks"],
)
async def test_silence_is_cut_without_a_total_deadline_too(limits: Limits, first: bytes) -> None:
    async with world(limits=limits) as made:
        server = await made.server(drips(first, b"", 60.0))
        with pytest.raises(EgressTimeout):
            await made.egress.request("web", "GET", URL)
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


@pytest.mark.parametrize(
    "said",
    [
        b"220 mail.example.com ESMTP\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\nX\x00Y: z\r\n\r\n",
        CHUNKED + b"\r\nzz\r\nhello\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    ],
    ids=["mail", "no number", "two lengths", "length and chunks", "negative", "zero byte", "bad chunk", "websocket"],
)
async def test_a_malformed_http_response_fails_and_closes_the_connection(said: bytes) -> None:
    async with world(limits=Limits(total=SECONDS)) as made:
        server = await made.server(says(said))
        with pytest.raises(EgressFailed):
            await made.egress.request("web", "GET", URL)
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


def closing(said: bytes) -> Behaviour:
    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    return behave


@pytest.mark.parametrize(
    "said",
    [
        answer(b"half of it")[:-3],
        CHUNKED + b"\r\n4\r\nhalf\r\n",
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + zeros(100_000)[:-9],
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + b"\x1f",
        HEAD + b"Content-Encoding: gzip\r\n\r\nthis is not compressed",
        HEAD + b"Content-Encoding: br\r\n\r\nwhatever",
        HEAD + b"Content-Encoding: gzip, gzip\r\n\r\n" + gzip.compress(zeros(100), mtime=0),
    ],
    ids=["length", "chunks", "gzip", "gzip's head", "no gzip", "brotli", "twice"],
)
async def test_half_an_answer_is_an_error(said: bytes) -> None:
    async with world() as made:
        await made.server(closing(said))
        with pytest.raises(EgressFailed):
            await made.egress.request("web", "GET", URL)


def deflate(data: bytes, wbits: int) -> bytes:
    packer = zlib.compressobj(9, wbits=wbits)
    return packer.compress(data) + packer.flush()


TEXT = b"".join(b"%d bottles\n" % number for number in range(30_000))


@pytest.mark.parametrize(
    "encoding, packed",
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("GZip", gzip.compress(TEXT, mtime=0)),
        ("gzip", gzip.compress(TEXT[:1000], mtime=0) + gzip.compress(TEXT[1000:], mtime=0)),
        ("gzip", gzip.compress(TEXT, mtime=0) + bytes(512)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", deflate(TEXT, -15)),
        ("identity", TEXT),
    ],
    ids=["gzip", "GZip", "two members", "padded", "zlib", "raw", "plain"],
)
@pytest.mark.parametrize("size", [1, 7, 65536])
async def test_compressed_answers_are_read_however_they_are_cut(encoding: str, packed: bytes, size: int) -> None:
    if size == 1:  # otherwise this takes a second
        packed = packed if len(packed) < 100_000 else packed[:0]
    chunks = b"".join(chunk(packed[at : at + size]) for at in range(0, len(packed), size)) + b"0\r\n\r\n"
    async with world() as made:
        await made.server(says(CHUNKED + f"Content-Encoding: {encoding}\r\n\r\n".encode() + chunks))
        got = await made.egress.request("web", "GET", URL)
        assert got.body == (TEXT if packed else b"")


async def test_an_empty_answer_that_says_it_is_compressed_is_empty() -> None:
    async with world() as made:
        await made.server(
            says(answer(b"", Content_Encoding="gzip"), answer(b"", "204 No Content", Content_Encoding="gzip"))
        )
        assert (await made.egress.request("web", "GET", URL)).body == b""
        assert (await made.egress.request("web", "GET", URL)).body == b""
