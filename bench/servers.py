"""Servers to measure, each a process of its own, and the smallest HTTP client that can talk to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from bench.measure import cpu_of, forget_peak_of, memory_of
from bullpen.testing import NO_LIMITS

ROOT = Path(__file__).parents[1]
READY = "ready on http://"
STOP_SECONDS = 20
QUIETLY = {"BULLPEN_LOG_LEVEL": "error", **NO_LIMITS}


class Server:
    """A process that says where it listens, and what it has cost so far."""

    def __init__(self, command: Sequence[str], *, before: Sequence[str] = (), cwd: Path = ROOT, **more: str) -> None:
        """`before` stands before Python on the command line, `more` is added to its environment."""
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [*before, sys.executable, "-m", *command],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=cwd,
            env=environment(**more),
        )
        self.port = self._wait()
        self.ready_seconds = time.perf_counter() - began
        self.ready_cpu = self.cpu()

    def _wait(self) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if READY in line:
                return int(line.strip().rpartition(":")[2])
        raise RuntimeError(f"{self._process.args!r} ended before it was ready; its last words are above.")

    def cpu(self) -> float:
        return cpu_of(self._process.pid)

    def memory(self) -> float:
        return memory_of(self._process.pid)

    def send(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def forget_peak(self) -> None:
        forget_peak_of(self._process.pid)

    def peak(self) -> float:
        """The most memory since the peak was forgotten."""
        return memory_of(self._process.pid, "VmHWM")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def environment(**more: str) -> dict[str, str]:
    """None of the caller's own settings."""
    own = {name: v for name, v in os.environ.items() if not name.startswith("BULLPEN_") and name != "DATABASE_URL"}
    return {**own, **more}


@contextlib.contextmanager
def bullpen(data: Path, **more: str) -> Iterator[Server]:
    """`bullpen serve`, as people run it."""
    yield from _until_done(
        Server(["bullpen", "serve", "--port", "0", "--data", str(data)], cwd=ROOT, **{**QUIETLY, **more})
    )


@contextlib.contextmanager
def bare(path: Path) -> Iterator[Server]:
    """One FastAPI route that inserts one row."""
    yield from _until_done(Server(["bench.bare_server", str(path)]))


@contextlib.contextmanager
def answering() -> Iterator[Server]:
    """The same answer to everything, at once."""
    yield from _until_done(Server(["bench.answering_server"]))


@contextlib.contextmanager
def of_models() -> Iterator[Server]:
    """Speaks as model providers do."""
    yield from _until_done(Server(["bench.model_server"]))


def asking(provider: Server) -> dict[str, str]:
    """Settings of a server that asks this one for its models."""
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{provider.port}",
        "ANTHROPIC_API_KEY": "open-sesame-of-the-bench-42",
    }


def _until_done(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


# ── the client ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Connection:
    """One connection that stays open, one request after another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        self._reader = reader
        self._writer = writer
        self._token = token

    async def post(self, path: str, body: bytes) -> bytes:
        self._writer.write(request("POST", path, self._token, body))
        return await self._answer()

    async def get(self, path: str) -> bytes:
        self._writer.write(request("GET", path, self._token))
        return await self._answer()

    async def _answer(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(f"{head.decode()}{body.decode()}")
        return body

    def close(self) -> None:
        self._writer.close()


def request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextlib.asynccontextmanager
async def connected(server: Server, token: str, count: int = 1) -> AsyncIterator[list[Connection]]:
    pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(count)]
    connections = [Connection(reader, writer, token) for reader, writer in pairs]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()
