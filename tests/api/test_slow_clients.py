"""Connections that take their time: a real server closes them, goes on answering others, and leaves streams alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.connections import api, connect, drip, endlessly, head, until_closed
from tests.servers import Server, Servers
from tests.waits import BOUND, wait_until

SOON = {"BULLPEN_LIMITS__HEAD_SECONDS": "1", "BULLPEN_LIMITS__BODY_SECONDS": "2"}
CROWD = 1_000

pytestmark = pytest.mark.one_database


@pytest.fixture
def hasty(servers: Servers) -> Server:
    """A server that waits only seconds for what usually may take ten and thirty."""
    return servers.serve(**SOON)


@pytest.mark.proves("L9")
def test_whoever_never_finishes_a_request_is_hung_up_on(hasty: Server) -> None:
    start = head(hasty, "POST /api/spaces/general/messages HTTP/1.1")
    body = head(hasty, "POST /api/spaces/general/messages HTTP/1.1", "Content-Type: application/json")
    half = body + b"\r\nContent-Length: 1000\r\n\r\n{"
    chunked = body + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    unread = head(hasty, "POST /api/nowhere HTTP/1.1", "Content-Type: application/json", "Content-Length: 9", "", "{")

    def ask_and_go_on() -> bytes:
        made = connect(hasty, head(hasty, "GET /api/me HTTP/1.1", "", ""))
        assert b" 200 " in made.recv(65_536)
        return drip(made, endlessly(b"\r\n"), BOUND)

    # All at once, since each takes seconds: what is done, and what the server says to it.
    tried: dict[str, tuple[Callable[[], bytes], bytes]] = {
        "says nothing": (lambda: until_closed(connect(hasty)), b""),
        "half a head": (lambda: until_closed(connect(hasty, start)), b" 408 "),
        "a head that never ends": (lambda: drip(connect(hasty, start), endlessly(b"\r\nX-More: 1"), BOUND), b" 408 "),
        "a head that is too big": (
            lambda: until_closed(connect(hasty, start, b"\r\nX-More: " + b"x" * 70_000)),
            b" 431 ",
        ),
        "half a body": (lambda: until_closed(connect(hasty, half)), b""),
        "a body that never ends": (lambda: drip(connect(hasty, chunked), endlessly(b"1\r\n \r\n"), BOUND), b""),
        "a body that goes on after the answer": (lambda: until_closed(connect(hasty, unread)), b" 404 "),
        "empty lines where the next request is due": (ask_and_go_on, b" 408 "),
    }
    with ThreadPoolExecutor(len(tried)) as threads:
        said = {name: threads.submit(do) for name, (do, _) in tried.items()}
    for name, (_, expected) in tried.items():
        answer = said[name].result()
        assert (expected in answer) if expected else answer == b"", (name, answer)

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

        # Now and then the server looks whether it was read. A byte sent to a closed connection comes back as a reset.
        def is_closed() -> bool:
            client.get("/me").raise_for_status()
            try:
                made.sendall(ask)
            except (ConnectionResetError, BrokenPipeError):
                return True
            return False

        with made:
            wait_until(is_closed)


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


@pytest.mark.proves("A10")
def test_a_client_sees_at_once_that_its_stream_ended(servers: Servers) -> None:
    server = servers.serve()
    with api(server) as client:
        made = client.post("/tokens", json={"name": "short"}).raise_for_status().json()
        ask = f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {made['token']}\r\n\r\n"
        stream = connect(server, ask.encode())
        said = b""
        while b": welcome" not in said:
            said += stream.recv(65_536)
        client.delete(f"/tokens/{made['id']}").raise_for_status()
        assert until_closed(stream).endswith(b"0\r\n\r\n")
    assert b"connection: close" in said.lower()
