"""Answers that keep coming, and bodies that are sent as they are made."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from bullpen.errors import EgressFailed, EgressTimeout, EgressTooLarge
from bullpen.net.types import Limits
from tests.net.certificates import authority
from tests.net.servers import SECONDS, Asked, answer, says, world

URL = "http://api.example.com/"
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
LIVE = Limits(total=None, idle=SECONDS)
IDLE = 0.8


class Told:
    """A server that says what it is told to, when it is told to."""

    def __init__(self, head: bytes = SSE + b"\r\n") -> None:
        self.head = head
        self.words: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(self.head)
        while (word := await self.words.get()) is not None:
            writer.write(b"%x\r\n%s\r\n" % (len(word), word))
            await writer.drain()
        writer.write(b"0\r\n\r\n")


async def test_each_stream_piece_arrives_as_soon_as_sent() -> None:
    async with world() as made:
        told = Told()
        await made.server(told)
        async with made.egress.stream("model", "POST", URL, body=b"{}", limits=LIVE) as response:
            assert (response.status, response.headers["content-type"]) == (200, "text/event-stream")
            pieces = response.iter()
            for word in (b"data: one\n\n", b"data: two\n\n"):
                told.words.put_nowait(word)
                assert await asyncio.wait_for(anext(pieces), SECONDS) == word
            told.words.put_nowait(None)
            assert [piece async for piece in pieces] == []
        async with made.egress.stream("model", "GET", URL):
            assert len(made.sockets.opened) == 1  # it came whole, so the connection was kept


async def test_compressed_stream_pieces_arrive_before_the_stream_ends() -> None:
    async with world() as made:
        told = Told(SSE + b"Content-Encoding: gzip\r\n\r\n")
        await made.server(told)
        packer = zlib.compressobj(wbits=31)
        async with made.egress.stream("model", "GET", URL, limits=LIVE) as response:
            pieces = response.iter()
            for word in (b"data: one\n\n", b"data: two\n\n"):
                told.words.put_nowait(packer.compress(word) + packer.flush(zlib.Z_SYNC_FLUSH))
                assert await asyncio.wait_for(anext(pieces), SECONDS) == word


@pytest.mark.parametrize("secure", [False, True])
async def test_leaving_early_cuts_the_connection_at_once(secure: bool) -> None:
    async with world(tls=authority().client()) as made:
        told = Told()
        tls = authority().server("api.example.com") if secure else None
        server = await made.server(told, port=443 if secure else 80, tls=tls)
        url = URL.replace("http:", "https:") if secure else URL
        async with made.egress.stream("model", "GET", url, limits=LIVE) as response:
            told.words.put_nowait(b"first")
            assert await anext(response.iter()) == b"first"
            assert not server.hung_up.is_set()
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


@pytest.mark.parametrize("when", ["reading", "waiting for the head"])
async def test_cancelling_cuts_the_connection_at_once(when: str) -> None:
    async with world() as made:
        told = Told(SSE + b"\r\n" if when == "reading" else b"HTTP/1.1 200 OK\r\n")
        server = await made.server(told)
        asked = asyncio.create_task(made.egress.request("model", "GET", URL, limits=LIVE))
        async with asyncio.timeout(SECONDS):
            while not server.asked:
                await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


async def test_closing_the_client_ends_the_streams() -> None:
    async with world() as made:
        told = Told()
        server = await made.server(told)
        async with made.egress.stream("model", "GET", URL, limits=LIVE) as response:
            reading = asyncio.create_task(response.read())
            await asyncio.sleep(0)
            await made.egress.aclose()
            with pytest.raises(EgressFailed):
                await asyncio.wait_for(reading, SECONDS)
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


async def test_a_silent_stream_times_out_but_an_active_one_continues() -> None:
    async with world() as made:
        told = Told()
        await made.server(told)
        async with made.egress.stream("model", "GET", URL, limits=Limits(total=None, idle=IDLE)) as response:
            pieces = response.iter()
            for _ in range(12):  # longer than IDLE in all
                await asyncio.sleep(IDLE / 10)
                told.words.put_nowait(b"word")
                assert await anext(pieces) == b"word"
            with pytest.raises(EgressTimeout):
                await anext(pieces)


async def test_a_slow_reader_stops_the_sender_instead_of_filling_memory() -> None:
    written = 0

    async def pour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.transport.set_write_buffer_limits(65536)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            written += 65536

    async with world() as made:
        await made.server(pour)
        limits = Limits(body_bytes=2**31)
        async with made.egress.stream("file", "GET", URL, limits=limits) as response:
            got = len(await anext(response.iter()))
            before = -1
            async with asyncio.timeout(SECONDS):
                while before != written:  # until the sender is stopped by what nobody reads
                    before = written
                    await asyncio.sleep(0.05)
            assert got < written < 64 * 1024 * 1024


async def parts(*said: bytes) -> AsyncIterator[bytes]:
    for one in said:
        yield one


@pytest.mark.parametrize("length", [None, 11])
async def test_a_body_is_sent_as_it_is_made(length: int | None) -> None:
    async with world() as made:
        server = await made.server(says(answer()))
        await made.egress.request("file", "PUT", URL, body=parts(b"hello ", b"world"), length=length)
        assert server.asked[0].body == b"hello world"
        assert server.asked[0].headers.get("content-length") == (None if length is None else "11")


async def test_a_large_body_of_bytes_arrives_whole() -> None:
    body = bytes(range(256)) * 20_000
    async with world() as made:
        server = await made.server(says(answer()))
        await made.egress.request("file", "PUT", URL, body=body)
        assert server.asked[0].body == body


async def test_a_body_that_breaks_off_is_an_error() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise OSError("the disk is gone")

    async with world() as made:
        await made.server(says(answer()))
        with pytest.raises(EgressFailed):
            await made.egress.request("file", "PUT", URL, body=broken())


async def test_a_response_may_arrive_before_the_request_body_is_read() -> None:
    """A server that refuses a large upload at once, and never reads it."""
    never = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while not never.is_set():
            yield b"x" * 65536
            await asyncio.sleep(0)

    async with world() as made:
        server = await made.server(says(answer(b"too large", "413 Payload Too Large")), deaf=True)
        got = await made.egress.request("file", "PUT", URL, body=endless(), limits=Limits(total=SECONDS))
        assert (got.status, got.body) == (413, b"too large")
        assert server.connections == 1


async def test_the_limit_holds_for_streams_too() -> None:
    async with world() as made:
        await made.server(says(answer(gzip.compress(bytes(5000)), Content_Encoding="gzip")))
        async with made.egress.stream("file", "GET", URL, limits=Limits(body_bytes=1000)) as response:
            with pytest.raises(EgressTooLarge):
                await anext(response.iter())
