"""`bullpen` as people run it: real processes, real files, bounded waits."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from bullpen.testing.forks import Forks
from tests.waits import BOUND

BULLPEN = [sys.executable, "-m", "bullpen"]


def environment(data: Path, **more: str) -> dict[str, str]:
    """The environment of a command: none of the caller's own settings, one data folder."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("BULLPEN_") and name != "DATABASE_URL"
    }
    return {**kept, "BULLPEN_DATA": str(data), "PYTHONUNBUFFERED": "1", **more}


@cache
def _forks() -> Forks:
    """One for all tests of this process; it ends with us."""
    return Forks("tests.cli.commands").__enter__()


def bullpen(data: Path, *args: str, stdin: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, in a folder without settings. A process, but not a new Python: see commands.py."""
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin or "")
        told = _forks().run(
            "command",
            seconds=BOUND,
            args=list(args),
            environment=environment(data, **more),
            cwd=str(data.parent),
            streams=[str(path) for path in streams],
        )
        out, err = (path.read_text() if path.exists() else "" for path in streams[1:])
    return subprocess.CompletedProcess(["bullpen", *args], told[-1]["code"], out, err)


def output(data: Path, *args: str, stdin: str | None = None, **more: str) -> str:
    """What a command says when it succeeds."""
    done = bullpen(data, *args, stdin=stdin, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Lines:
    """The lines of one stream as they come, each handed out once."""

    def __init__(self, stream: IO[str]) -> None:
        self.seen: list[str] = []
        self._coming: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(stream,))
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._coming.put(line.rstrip("\n"))
        self._coming.put(None)

    def wait_for(self, wanted: str | Callable[[str], bool]) -> str:
        matches = wanted if callable(wanted) else lambda line: wanted in line
        deadline = time.monotonic() + BOUND
        while (line := self._next(deadline - time.monotonic())) is not None:
            if matches(line):
                return line
        raise AssertionError(f"waited for {wanted!r}, saw:\n" + "\n".join(self.seen))

    def _next(self, seconds: float) -> str | None:
        try:
            line = self._coming.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if line is not None:
            self.seen.append(line)
        return line

    def so_far(self) -> list[str]:
        while self._next(0) is not None:
            pass
        return self.seen

    def end(self) -> None:
        self._reader.join(BOUND)


class Process:
    """A command that stays."""

    def __init__(self, data: Path, *args: str, **more: str) -> None:
        self.process = subprocess.Popen(
            [*BULLPEN, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=data.parent,
            env=environment(data, **more),
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out = Lines(self.process.stdout)
        self.err = Lines(self.process.stderr)

    def wait_for(self, wanted: str | Callable[[str], bool]) -> str:
        """The next line on stdout that holds these words."""
        try:
            return self.out.wait_for(wanted)
        except AssertionError as error:
            raise AssertionError(f"{error}\nand on stderr:\n" + "\n".join(self.err.so_far())) from None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(BOUND)
        self.out.end()
        self.err.end()
        return code


@contextmanager
def running(data: Path, *args: str, **more: str) -> Iterator[Process]:
    process = Process(data, *args, **more)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.stop(signal.SIGKILL)
        process.wait()


@contextmanager
def serving(data: Path, *args: str, **more: str) -> Iterator[Process]:
    """A server on this folder, ready to be used."""
    port = "--port" not in args
    extra = ("--port", str(free_port())) if port else ()
    with running(data, "serve", *extra, *args, **more) as server:
        server.wait_for("http://")
        yield server


@contextmanager
def following(data: Path, *args: str, **more: str) -> Iterator[Process]:
    with running(data, "follow", *args, **more) as follower:
        follower.err.wait_for("Following")
        yield follower
