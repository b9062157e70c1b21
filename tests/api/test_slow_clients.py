"""Connections that take their time: a real server closes them, goes on answering others, and leaves streams alone."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.driver import BOUND
from tests.feed.test_stalled_clients import api
from tests.servers import Server, Servers

SOON = {"BULLPEN_LIMITS__HEAD_SECONDS": "1", "BULLPEN_LIMITS__BODY_SECONDS": "2"}
CROWD = 1_000


@pytest.fixture
def hasty(servers: Servers) -> Server:
    """A server that waits only seconds for what usually may take ten and thirty."""
    return servers.serve(**SOON)


def connect(server: Server, *parts: bytes) -> socket.socket:
    address = urlsplit(server.url)
    made = socket.create_connection((address.hostname, address.port), timeout=BOUND)
    for part in parts:
        made.sendall(part)
    return made


def head(server: Server, start: str, *more: str) -> bytes:
    lines = [start, "Host: localhost", f"Authorization: Bearer {server.token}", *more]
    return "\r\n".join(lines).encode()


def until_closed(made: socket.socket) -> bytes:
    """Everything it still says, until it hangs up. A reset is a way to hang up."""
    said = b""
    with made, contextlib.suppress(ConnectionResetError):
        while piece := made.recv(65_536):
            said += piece
    return said


def drip(made: socket.socket, pieces: Iterator[bytes], seconds: float) -> bytes:
    """Send a little again and again, until the server hangs up; what it said."""
    made.settimeout(0.1)
    ends = time.monotonic() + seconds
    said = b""
    with made:
        while time.monotonic() < ends:
            try:
                made.sendall(next(pieces))
                piece = made.recv(65_536)
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                return said
            if not piece:
                return said
            said += piece
    raise AssertionError(f"still open after {seconds} s")


def endlessly(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


@pytest.mark.proves("L9")
def test_whoever_never_finishes_a_request_is_hung_up_on(hasty: Server) -> None:
    start = head(hasty, "POST /api/spaces/general/messages HTTP/1.1")
    assert until_closed(connect(hasty)) == b"", "a connection that says nothing"
    assert b" 408 " in until_closed(connect(hasty, start)), "half a head"
    assert b" 408 " in drip(connect(hasty, start), endlessly(b"\r\nX-More: 1"), BOUND), "a head that never ends"
    assert b" 431 " in until_closed(connect(hasty, start, b"\r\nX-More: " + b"x" * 70_000)), "a head that is too big"

    body = head(hasty, "POST /api/spaces/general/messages HTTP/1.1", "Content-Type: application/json")
    waits = body + b"\r\nContent-Length: 1000\r\n\r\n{"
    assert until_closed(connect(hasty, waits)) == b"", "half a body"
    chunked = body + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert drip(connect(hasty, chunked), endlessly(b"1\r\n \r\n"), BOUND) == b"", "a body that never ends"

    unread = head(hasty, "POST /api/nowhere HTTP/1.1", "Content-Type: application/json", "Content-Length: 9", "", "{")
    assert b" 404 " in until_closed(connect(hasty, unread)), "a body that goes on after the answer"
    with connect(hasty, head(hasty, "GET /api/me HTTP/1.1", "", "")) as made:
        assert b" 200 " in made.recv(65_536)
        assert b" 408 " in drip(made, endlessly(b"\r\n"), BOUND), "empty lines where the next request is due"

    hasty.stop()
    assert not [line for line in hasty.process.err.so_far() if "Traceback" in line]


@pytest.mark.proves("L9")
def test_an_answer_that_nobody_reads_does_not_wait_for_ever(hasty: Server) -> None:
    with api(hasty) as client:
        for _ in range(60):
            client.post("/spaces/general/messages", json={"text": "x" * 30_000}).raise_for_status()
        # As many answers as no buffer on the way can hold, asked for and not read.
        ask = head(hasty, "GET /api/spaces/general/messages?limit=200 HTTP/1.1", "", "")
        made = connect(hasty, ask * 20)
        # Now and then the server looks whether it was read; a byte sent to a closed connection comes back as a reset.
        with made, pytest.raises(OSError, match=r"reset|Broken pipe"):  # noqa: PT012
            ends = time.monotonic() + BOUND
            while time.monotonic() < ends:
                client.get("/me").raise_for_status()
                made.sendall(ask)


@pytest.mark.proves("L9")
def test_a_thousand_idle_connections_stop_nobody_and_are_closed(hasty: Server) -> None:
    with contextlib.ExitStack() as stack, api(hasty) as client:
        crowd = [stack.enter_context(connect(hasty)) for _ in range(CROWD)]
        client.post("/spaces/general/messages", json={"text": "still here"}).raise_for_status()
        for made in crowd:
            assert made.recv(1) == b""


def test_an_idle_stream_is_never_closed_as_too_slow(hasty: Server) -> None:
    with connect(hasty, head(hasty, "GET /api/events HTTP/1.1", "", "")) as stream, api(hasty) as client:
        # Longer than any bound: the time that somebody takes who is hung up on twice, one after the other.
        for _ in range(2):
            until_closed(connect(hasty, head(hasty, "POST /api/spaces HTTP/1.1", "Content-Length: 9", "", "")))
        client.post("/spaces/general/messages", json={"text": "and now?"}).raise_for_status()
        said = b""
        while b"and now?" not in said:
            piece = stream.recv(65_536)
            assert piece, said
            said += piece
