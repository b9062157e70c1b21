"""Talking to a real server (tests/servers.py): as a client that behaves, and over a socket as one that does not."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.servers import Server
from tests.waits import BOUND


@contextmanager
def api(server: Server) -> Iterator[httpx.Client]:
    """The owner's client. The space `general` is there."""
    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=f"{server.url}/api", headers=headers, timeout=BOUND) as client:
        client.post("/spaces", json={"id": "general"}).raise_for_status()
        yield client


def resident(server: Server) -> int:
    """Bytes of memory that the server has now."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def connect(server: Server, *parts: bytes) -> socket.socket:
    """A connection on which these bytes were sent."""
    address = urlsplit(server.url)
    made = socket.create_connection((address.hostname, address.port), timeout=BOUND)
    for part in parts:
        made.sendall(part)
    return made


def head(server: Server, start: str, *more: str) -> bytes:
    """The first lines of the owner's request."""
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
