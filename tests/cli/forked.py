"""Starts `bullpen` processes that stay, without the two seconds of CPU that Python needs to import everything.

One process per test process imports everything and then does nothing but fork. Each fork is a process of its own, with
its own streams, signals and exit code. `start` answers with an object that can do what tests need of a
`subprocess.Popen`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

from bullpen.testing.forks import has_news
from tests.waits import BOUND

JOB_BYTES = 200_000
STREAMS = 3  # what happens to the process, its stdout and its stderr
PR_SET_PDEATHSIG = 1


# ── here ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class ForkedProcess:
    """A running command."""

    def __init__(self, orders: socket.socket, job: Mapping[str, Any]) -> None:
        pipes = [os.pipe() for _ in range(STREAMS)]
        try:
            socket.send_fds(orders, [json.dumps(job).encode()], [theirs for _, theirs in pipes])
        finally:
            for _, theirs in pipes:
                os.close(theirs)
        self._news, out, err = (ours for ours, _ in pipes)
        self.stdout: IO[str] = os.fdopen(out, encoding="utf-8", errors="replace")
        self.stderr: IO[str] = os.fdopen(err, encoding="utf-8", errors="replace")
        self.args = job["args"]
        self.returncode: int | None = None
        self.pid = self._read_number(2 * BOUND)  # the first waits for the imports

    def _read_number(self, seconds: float) -> int:
        deadline, line = time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            if not has_news(self._news, deadline - time.monotonic()):
                raise subprocess.TimeoutExpired(self.args, seconds)
            if not (chunk := os.read(self._news, 1)):
                raise AssertionError("the process that forks has ended; see above for why")
            line += chunk
        return int(line)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float = BOUND) -> int:
        if self.returncode is None:
            self.returncode = self._read_number(timeout)
            os.close(self._news)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@cache
def _orders() -> socket.socket:
    """To the process that forks. It ends when this one does, in whatever way, since the socket is closed then."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, JOB_BYTES)
    with theirs:
        command = [sys.executable, "-m", "tests.cli.forked", str(theirs.fileno())]
        forking = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(_end, ours, forking)
    return ours


def _end(orders: socket.socket, forking: subprocess.Popen[bytes]) -> None:
    orders.close()
    forking.wait(BOUND)


def start(args: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> ForkedProcess:
    return ForkedProcess(_orders(), {"args": list(args), "cwd": str(cwd), "env": dict(env)})


# ── there ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def serve(orders: socket.socket) -> None:
    """Fork for each order, until nobody can send any more."""
    running: dict[int, int] = {}

    def report_ended(*_: object) -> None:
        for pid, status in _ended():
            news = running.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(news, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os.close(news)

    signal.signal(signal.SIGCHLD, report_ended)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    while True:
        message, (*fds,), _, _ = socket.recv_fds(orders, JOB_BYTES, STREAMS)
        if not message:
            return
        news, out, err = fds
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # until it is known whose end would be told
        if (pid := os.fork()) == 0:
            for fd in (orders.detach(), news, *running.values()):
                os.close(fd)
            _be_command(json.loads(message), out, err)
        running[pid] = news
        os.write(news, f"{pid}\n".encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        os.close(out)
        os.close(err)


def _ended() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _be_command(job: dict[str, Any], out: int, err: int) -> NoReturn:
    code = 1
    try:
        _leave_parent()
        for number, fd in ((1, out), (2, err)):
            os.dup2(fd, number)
            os.close(fd)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  for as long as it lives
        sys.stdout = _open_unbuffered(1)
        sys.stderr = _open_unbuffered(2)
        sys.argv = ["bullpen", *job["args"]]
        os.environ.clear()
        os.environ.update(job["env"])
        os.chdir(job["cwd"])
        from tests.cli.commands import call_main

        code = call_main(job["args"])
    finally:
        os._exit(code)  # whatever happened: the loop that forks must not go on here


def _open_unbuffered(fd: int) -> IO[str]:
    stream = open(fd, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    stream.reconfigure(write_through=True)
    return stream


def _leave_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # ends when the process that forks ends
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    random.seed()


def _import_everything() -> None:
    """Before the first fork, so that no command pays for it."""
    import bullpen.client
    import bullpen.engine.pgqueuer
    import bullpen.storage.postgres  # noqa: F401
    from bullpen import app
    from bullpen.cli import MODULES
    from tests.routes import build_every_route, build_shared

    for load in MODULES.values():
        load()
    build_every_route()
    setattr(app, "build", build_shared)  # noqa: B010  it is not one of its exports
    gc.freeze()


if __name__ == "__main__":
    _import_everything()
    with socket.socket(fileno=int(sys.argv[1])) as _given:
        serve(_given)
