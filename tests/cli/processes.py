"""`bullpen` as people run it: real commands, real servers, real files, bounded waits.

Commands that end run in this process (commands.py). Those that stay are processes, forked from one that has imported
everything (forked.py), or with a Python of their own (`PythonProcess`).
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.cli import commands, forked
from tests.waits import BOUND

BULLPEN = [sys.executable, "-m", "bullpen"]
STAYING = ("serve", "follow", "worker")


def environment(data: Path, **more: str) -> dict[str, str]:
    """The environment of a command: none of the caller's own settings, one data folder."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("BULLPEN_") and name != "DATABASE_URL"
    }
    return {**kept, "BULLPEN_DATA": str(data), "PYTHONUNBUFFERED": "1", **more}


def bullpen(data: Path, *args: str, stdin: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, in a folder without settings. In this process, unless it is one that may stay."""
    if args[:1] and args[0] in STAYING:
        return _run_apart(data, *args, **more)
    return commands.run(args, environment=environment(data, **more), cwd=data.parent, stdin=stdin or "")


def _run_apart(data: Path, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    with running(data, *args, **more) as process:
        code = process.wait()
        out, err = ("".join(f"{line}\n" for line in lines.so_far()) for lines in (process.out, process.err))
    return subprocess.CompletedProcess(["bullpen", *args], code, out, err)


def run_python(data: Path, *args: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """The same in a new Python, as people start it. This takes two seconds of CPU, so only few tests do."""
    command, env = [*BULLPEN, *args], environment(data)
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=data.parent, env=env, timeout=BOUND, check=False
    )


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
        self.process = self._start(args, data.parent, environment(data, **more))
        self.url = ""  # of a server that is ready
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out = Lines(self.process.stdout)
        self.err = Lines(self.process.stderr)

    def _start(
        self, args: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> forked.ForkedProcess | subprocess.Popen[str]:
        return forked.start(args, cwd=cwd, env=env)

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


class PythonProcess(Process):
    """The same in a new Python."""

    def _start(self, args: Sequence[str], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*BULLPEN, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=env,
        )


@contextmanager
def running(data: Path, *args: str, **more: str) -> Iterator[Process]:
    with ended_at_last(Process(data, *args, **more)) as process:
        yield process


@contextmanager
def ended_at_last(process: Process) -> Iterator[Process]:
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.stop(signal.SIGKILL)
        process.wait()


@contextmanager
def serving(data: Path, *args: str, **more: str) -> Iterator[Process]:
    """A server on this folder, ready to be used. It chooses its port, unless one is given: `url` says which."""
    port = () if "--port" in args else ("--port", "0")
    with running(data, "serve", *port, *args, **more) as server:
        server.url = server.wait_for("Bullpen is ready on ").split()[-1]
        yield server


@contextmanager
def following(data: Path, *args: str, **more: str) -> Iterator[Process]:
    with running(data, "follow", *args, **more) as follower:
        follower.err.wait_for("Following")
        yield follower
