"""A fork server: a process that has imported everything and does nothing but fork.

A child costs milliseconds instead of the second that imports take, so tests can afford a real process, and a real
SIGKILL, for every single commit. The server side is `serve(targets)`, called by a module that is run with `-m`; this
side is `Forks(module)`. It forks before any thread or event loop exists. What a child reports comes through a pipe of
its own, and the end of that pipe is the end of the child, however it came about.

Whoever started the server takes all of it along: when we end, it ends, and its children are killed with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

Report: TypeAlias = Callable[[dict[str, Any]], None]
# Called in the child with a way to report and what the parent sent along.
Target: TypeAlias = Callable[..., None]

JOB_BYTES = 200_000
PR_SET_PDEATHSIG = 1
FIRST_SECONDS = 100  # the first child waits until the server has imported everything, on a machine that may be busy


class ChildFailed(Exception):
    """A child ended with a traceback instead of by itself or by a kill."""


# ── here ────────────────────────────────────────────────────────────────────────────────────────────────


class Child:
    """A process somewhere below the fork server, and what it reports."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._rest = b""
        self._ended = False
        self.reports: list[dict[str, Any]] = []
        self.pid = 0
        self.pid = int(self.next_report(FIRST_SECONDS)["pid"])
        self.reports.clear()

    def next_report(self, seconds: float) -> dict[str, Any]:
        """What it says next. Raises EOFError when it is dead, TimeoutError when it says nothing for so long."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if self._ended:
                raise EOFError
            if not has_news(self._pipe, deadline - time.monotonic()):
                raise TimeoutError(f"child {self.pid} has said nothing for {seconds} s")
            chunk = os.read(self._pipe, 65_536)
            self._rest += chunk
            self._ended = not chunk
        line, _, self._rest = self._rest.partition(b"\n")
        report: dict[str, Any] = json.loads(line)
        if "traceback" in report:
            raise ChildFailed(report["traceback"])
        self.reports.append(report)
        return report

    def wait(self, seconds: float) -> list[dict[str, Any]]:
        """Until it has ended, one way or the other; everything it reported."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(EOFError):
            while True:
                self.next_report(deadline - time.monotonic())
        return self.reports

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        with contextlib.suppress(ChildFailed):
            self.wait(30)

    @property
    def alive(self) -> bool:
        if not self._ended and has_news(self._pipe, 0):
            chunk = os.read(self._pipe, 65_536)
            self._rest += chunk
            self._ended = not chunk
        return not self._ended

    def close(self) -> None:
        os.close(self._pipe)


def has_news(pipe: int, seconds: float) -> bool:
    """Whether there is something to read, or the end. `select` refuses pipes whose number is 1024 or more."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Forks:
    """The fork server, as a context: `with Forks("tests.durability.children") as forks: forks.start("tell", …)`."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._children: list[Child] = []

    def __enter__(self) -> Forks:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, JOB_BYTES)
        with theirs:
            command = [sys.executable, "-m", self._module, str(theirs.fileno())]
            self._process = subprocess.Popen(  # noqa: S603  ourselves
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            if child.alive:
                child.signal(signal.SIGCONT)
                child.kill()
            child.close()
        self._socket.close()
        self._process.wait(30)

    def start(self, target: str, **arguments: Any) -> Child:
        job = json.dumps({"target": target, "arguments": arguments}).encode()
        ours, theirs = os.pipe()
        try:
            with self._lock:
                socket.send_fds(self._socket, [job], [theirs])
        finally:
            os.close(theirs)
        child = Child(ours)
        self._children.append(child)
        return child

    def run(self, target: str, *, seconds: float, **arguments: Any) -> list[dict[str, Any]]:
        """Start a child and wait until it has ended; what it reported."""
        child = self.start(target, **arguments)
        found = child.wait(seconds)
        self.forget(child)
        return found

    def forget(self, child: Child) -> None:
        """It has ended, and nobody needs its pipe any more."""
        self._children.remove(child)
        child.close()


# ── there ───────────────────────────────────────────────────────────────────────────────────────────────


def serve(targets: Mapping[str, Target]) -> None:
    """The fork server's main loop. Call it from a module's `__main__`, after all imports."""
    signal.signal(signal.SIGCHLD, _bury)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        for job, pipe in _jobs(orders):
            if os.fork() == 0:
                orders.close()
                _be_child(targets[job["target"]], job["arguments"], pipe)
            os.close(pipe)


def _bury(*_: object) -> None:
    # Waited for, not ignored, so that their CPU time counts as ours.
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _jobs(orders: socket.socket) -> Iterator[tuple[dict[str, Any], int]]:
    while True:
        message, fds, _, _ = socket.recv_fds(orders, JOB_BYTES, 1)
        if not message:
            return
        yield json.loads(message), fds[0]


def _be_child(target: Target, arguments: dict[str, Any], pipe: int) -> NoReturn:
    _die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    random.seed()

    def report(what: dict[str, Any]) -> None:
        _write(pipe, json.dumps(what).encode() + b"\n")

    try:
        report({"pid": os.getpid()})
        target(report, **arguments)
    except BaseException:
        report({"traceback": traceback.format_exc()})
        raise
    finally:
        os._exit(0)  # whatever happened: the fork server's own life must not go on here


def _write(pipe: int, line: bytes) -> None:
    while line:
        line = line[os.write(pipe, line) :]


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
