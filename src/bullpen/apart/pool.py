"""The pool: runs a function of `process.py` in a child process, within limits of time and memory.

A child starts when the first question comes, answers one question at a time, and ends when nobody has asked for a
while. There are at most two. One that fails, hangs or is cancelled is killed, and the next question starts another. The
office opens one pool and closes it last.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from bullpen.apart.frames import END, LENGTH, NO_MEMORY, pack_fields, pack_piece

logger = logging.getLogger("bullpen.apart")

CHILDREN: Final = 2
IDLE_SECONDS: Final = 10.0
MOST_QUESTIONS: Final = 200  # then a child is replaced, so that what a library leaks does not add up
ANSWER_BYTES: Final = 16 << 20
# Isolated, so that nothing of the environment decides what is imported. The child has to run the code of this server,
# although another Bullpen may be installed.
PROGRAM: Final = "import sys; sys.path.insert(0, sys.argv[1]); from bullpen.apart.process import main; main()"
SOURCE: Final = str(Path(__file__).parents[2])
# Without these a Python that was installed in an odd place does not start.
KEPT_NAMES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
# How a child ends that took too much: by its own word, at its limit of CPU, in native code that gets no memory, and by
# a kernel that has none left.
TOO_DEAR: Final = (NO_MEMORY, -signal.SIGXCPU, -signal.SIGABRT, -signal.SIGKILL)


class ApartFailed(Exception):
    """There is no answer. The server and its other work are untouched."""


class TooDear(ApartFailed):
    """It took more time or memory than it may."""


class Died(ApartFailed):
    """The child ended for another reason, or could not be started."""


@dataclass(frozen=True, slots=True)
class Answer:
    fields: Mapping[str, Any]
    data: bytes


@dataclass(slots=True, eq=False)
class _Child:
    process: Process
    questions: int = 0
    timer: asyncio.TimerHandle | None = None  # ends it when it has rested for long enough

    async def ask(self, fields: bytes, data: AsyncIterable[bytes] | None) -> Answer:
        self.questions += 1
        sink = self.process.stdin
        assert sink is not None
        sink.write(fields)
        if data is not None:
            async for piece in data:
                sink.write(pack_piece(piece))
                await sink.drain()
        sink.write(END)
        await sink.drain()
        return await self._read_answer()

    async def _read_answer(self) -> Answer:
        """What it says is checked here and by whoever asked: hostile bytes may have taken it over."""
        pieces = [await self._read_piece()]
        while piece := await self._read_piece():
            pieces.append(piece)
            if sum(map(len, pieces)) > ANSWER_BYTES:
                raise Died("A child answers without end.")
        try:
            fields = orjson.loads(pieces[0])
        except orjson.JSONDecodeError:
            raise Died("A child did not answer with JSON.") from None
        return Answer(fields, b"".join(pieces[1:]))

    async def _read_piece(self) -> bytes:
        source = self.process.stdout
        assert source is not None
        (length,) = LENGTH.unpack(await source.readexactly(LENGTH.size))
        if length > ANSWER_BYTES:
            raise Died(f"A child began to answer with {length} bytes.")
        return await source.readexactly(length)

    async def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        # asyncio waits for the end of the pipes too, and nobody reads one that was full. Only this closes them.
        self.process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
        await self.process.wait()


class ProcessPool:
    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        # For work that may take hundreds of megabytes and many seconds: one at a time, and a child is left for others.
        self.large = asyncio.Lock()
        self._turns = asyncio.Semaphore(CHILDREN)
        self._children: set[_Child] = set()
        self._idle: list[_Child] = []
        self._endings: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def process_ids(self) -> list[int]:
        return [child.process.pid for child in self._children]

    async def run(
        self,
        function: str,
        fields: Mapping[str, Any] | None = None,
        data: AsyncIterable[bytes] | None = None,
        *,
        seconds: int,
        megabytes: int,
    ) -> Answer:
        """Ask a child. `seconds` are of CPU; by the clock on the wall it may take five times as long, and a little.

        Raises TooDear or Died. If the caller is cancelled, the child is killed.
        """
        question = {"function": function, "seconds": seconds, "megabytes": megabytes, "fields": fields or {}}
        packed = pack_fields(question)
        async with self._turns:
            child = await self._take()
            try:
                self._check_open()  # it may have been closed while the child started
                answer = await _ask(child, packed, data, patience=5 + 5 * seconds)
            except BaseException:
                await self._end(child)
                raise
            self._release(child)
        return answer

    async def close(self) -> None:
        """End all children. Whoever waits for one gets Died or TooDear."""
        self._closed = True
        for child in list(self._children):
            await self._end(child)
        await asyncio.gather(*self._endings)

    def _check_open(self) -> None:
        if self._closed:
            raise Died("The office is closed.")

    async def _take(self) -> _Child:
        self._check_open()
        while self._idle:
            child = self._idle.pop()
            if child.timer is not None:
                child.timer.cancel()
            if _is_alive(child.process):
                return child
            await self._end(child)  # somebody killed it while it rested
        child = _Child(await _start())
        self._children.add(child)
        return child

    def _release(self, child: _Child) -> None:
        if self._closed or child.questions >= MOST_QUESTIONS:
            self._dismiss(child)
            return
        self._idle.append(child)
        child.timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._dismiss, child)

    def _dismiss(self, child: _Child) -> None:
        ending = asyncio.create_task(self._end(child))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _end(self, child: _Child) -> None:
        if child in self._idle:
            self._idle.remove(child)
        self._children.discard(child)
        await child.end()


async def _start() -> Process:
    environ = {name: os.environ[name] for name in KEPT_NAMES if name in os.environ}
    try:
        # A session of its own: Ctrl-C is for the server, which ends its children when it has ended its work.
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-IBc",
            PROGRAM,
            SOURCE,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd="/",
            env=environ,
            start_new_session=True,
        )
    except OSError as error:  # no more processes, or no memory for one
        raise Died(f"A child could not be started: {error.strerror}.") from error


def _is_alive(process: Process) -> bool:
    """Asked of the system where that can tell: asyncio learns a moment later that a child has ended."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.returncode is None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


async def _ask(child: _Child, fields: bytes, data: AsyncIterable[bytes] | None, patience: float) -> Answer:
    try:
        async with asyncio.timeout(patience):
            return await child.ask(fields, data)
    except TimeoutError:
        raise TooDear(f"A child has not answered for {patience:.0f} seconds.") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        raise await _explain(child) from None


async def _explain(child: _Child) -> ApartFailed:
    """Why a child that ended its answer too early did so."""
    try:
        async with asyncio.timeout(1):
            status = await child.process.wait()
    except TimeoutError:
        return Died("A child closed its output.")
    logger.info("a child process ended with status %d", status)
    if status in TOO_DEAR:
        return TooDear("A child took too much time or memory.")
    return Died(f"A child ended with status {status}.")
