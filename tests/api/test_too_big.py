"""Too much is refused by a real server over a real connection: the client can read why, and memory does not grow."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import orjson
import pytest

from tests.connections import api, resident
from tests.servers import Server
from tests.waits import BOUND

MIB = 1_048_576
PATH = "/api/spaces/general/messages"

pytestmark = pytest.mark.one_database


def connect(server: Server) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), timeout=BOUND)


def head(server: Server, *more: str) -> bytes:
    lines = [
        f"POST {PATH} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {server.token}",
        "Content-Type: application/json",
    ]
    return ("\r\n".join([*lines, *more]) + "\r\n\r\n").encode()


def answer(made: socket.socket) -> tuple[int, str]:
    """What the server says: its status and the code of its error."""
    with http.client.HTTPResponse(made, method="POST") as response:
        response.begin()
        return response.status, orjson.loads(response.read())["error"]["code"]


def chunked(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), 65_536):
        piece = content[start : start + 65_536]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


@pytest.mark.proves("C12")
def test_the_client_can_read_the_answer_to_an_oversized_body(server: Server) -> None:
    with api(server) as client:
        client.post("/spaces/general/messages", json={"text": "before"}).raise_for_status()
        before = resident(server)

        for size in (MIB + 1, 3 * MIB, 8 * MIB):  # declared, and sent in full
            with connect(server) as made:
                made.sendall(head(server, f"Content-Length: {size}") + b"x" * size)
                assert answer(made) == (413, "too_large"), size

        with connect(server) as made:  # without a length
            made.sendall(head(server, "Transfer-Encoding: chunked"))
            for piece in chunked(b"x" * (2 * MIB)):
                made.sendall(piece)
            assert answer(made) == (413, "too_large")

        with connect(server) as made:  # a length beyond all measure: the answer comes before it is sent
            made.sendall(head(server, "Content-Length: 1000000000000") + b"x" * 65_536)
            assert answer(made) == (413, "too_large")

        with connect(server) as made:  # a length that is no number
            made.sendall(head(server, "Content-Length: 99x"))
            assert b" 400 " in made.recv(1_000)

        grown = resident(server) - before
        assert grown < 24 * MIB, f"{grown / MIB:.1f} MiB"
        client.post("/spaces/general/messages", json={"text": "after"}).raise_for_status()
        texts = [message["text"] for message in client.get("/spaces/general/messages").json()["items"]]
        assert texts == ["before", "after"]


@pytest.mark.proves("C13")
def test_a_server_outlives_odd_requests(server: Server) -> None:
    with api(server) as client:
        for body in (b"[" * 100_000, b'{"text": "\\ud800"}', b'{"text": ' + b"9" * 5_000 + b"}", b"\xff" * 1_000):
            response = client.post(
                "/spaces/general/messages", content=body, headers={"Content-Type": "application/json"}
            )
            assert response.status_code == 422
        for raw in (
            b"GARBAGE\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"\x16\x03\x01\x02\x00",
            b"GET /%ff%fe HTTP/1.1\r\n\r\n",
        ):
            with connect(server) as made:
                made.sendall(raw)
                made.shutdown(socket.SHUT_WR)
                made.recv(1_000)
        assert client.get("/me").status_code == 200
    assert server.stop() == 0
