"""Instructions that a run, a message and a delivery take, counted by valgrind.

Counts do not depend on how busy the machine is; times do. With `--against COMMIT` the code of that commit does the
same, with the libraries of today, and each figure is divided by its own. What a run costs in CPU is then measured too,
in processes that take turns: an instruction is not always worth the same.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench import sse
from bench.budgets import Figures
from bench.counted import ALONE, AN_HOUR, AT_ONCE, WAKING
from bench.measure import folder
from bench.post import BODY
from bench.servers import QUIETLY, ROOT, Connection, Server, connected, environment
from tests.postgres import started, why_absent

ROUNDS, LONG_ROUNDS = 2, 20
QUIET, DELIVERED, FOLLOWERS = 30, 10, 20
NOTE_SECONDS = 60.0
POST = "/api/spaces/{}/messages"
# Threads are woken, and nobody drives them.
NOBODY_DRIVES = {"BULLPEN_ENGINE__CONCURRENT_RUNS": "0", "BULLPEN_ENGINE__LEASE_SECONDS": str(int(AN_HOUR))}


async def measure(*, quick: bool, against: str | None = None) -> Figures:
    if shutil.which("valgrind") is None:
        print("skipped: instructions are counted by valgrind, which is not here (Debian, Ubuntu: apt install valgrind)")
        return {}
    figures = await _count(ROOT)
    if against is not None:
        with folder() as tree:
            _unpack(against, tree)
            then = await _count(tree)
            figures |= {f"{name}_to_then": figures[name] / then[name] for name in then}
            figures |= _added_cpu(tree, turns=2 if quick else 9)
    return figures


def _unpack(commit: str, tree: Path) -> None:
    """The code of an older commit, and today's way to count it."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x"], cwd=tree, check=True, input=archive.stdout)
    shutil.copy(ROOT / "bench" / "counted.py", tree / "bench")


async def _count(tree: Path) -> Figures:
    """Millions of instructions."""
    alone, at_once = _count_runs(tree)
    figures = {"instructions.run": alone, "instructions.run_at_once": at_once}
    if why_absent() is None:
        with started() as database:
            alone, at_once = _count_runs(tree, database.url())
        figures |= {"instructions.postgres_run": alone, "instructions.postgres_run_at_once": at_once}
    return figures | await _count_server(tree)


class Notes:
    """What valgrind has counted of one process. It writes a file each time the process calls `getppid`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        counting = ("--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={path}")
        self.command = ("valgrind", "-q", *counting)

    def next(self) -> float | None:
        """Millions of instructions from one note to the next; None: it is not written yet."""
        path = self._path.with_name(f"{self._path.name}.{self._read + 1}")
        _, found, total = path.read_text().rpartition("\ntotals: ") if path.exists() else ("", "", "")
        if not found:
            return None
        self._read += 1
        return int(total) / 1e6


def _count_runs(tree: Path, url: str = "") -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as scratch:
        notes = Notes(Path(scratch) / "notes")
        _play(tree, ROUNDS, url, *notes.command)
        # Three notes of warming up, and the first of what counts.
        *_, alone, at_once = (notes.next() for _ in range(6))
    assert alone is not None
    assert at_once is not None
    return alone / (ALONE * ROUNDS), at_once / (AT_ONCE * ROUNDS)


def _play(tree: Path, rounds: int, url: str, *counting: str) -> tuple[float, float]:
    """Runs in a process of their own: the CPU seconds of one, one at a time and many at once."""
    command = [*counting, sys.executable, "-m", "bench.counted", "run", str(rounds), url]
    found = subprocess.run(command, cwd=tree, env=_code_in(tree), check=True, stdout=subprocess.PIPE)
    alone, at_once = json.loads(found.stdout)
    return alone, at_once


def _added_cpu(tree: Path, *, turns: int) -> Figures:
    """Milliseconds that a run costs more than with that code: the middle one of pairs measured after one another."""
    pairs = []
    for turn in range(turns):
        taking_turns = (ROOT, tree) if turn % 2 else (tree, ROOT)
        cost = {place: _play(place, LONG_ROUNDS, "") for place in taking_turns}
        pairs.append((cost[ROOT], cost[tree]))
    alone, at_once = ([(now[n] - then[n]) * 1000 for now, then in pairs] for n in (0, 1))
    return {"instructions.added_cpu": median(alone), "instructions.added_cpu_at_once": median(at_once)}


def _code_in(tree: Path, **more: str) -> dict[str, str]:
    # Without a seed of its own every process puts sets in another order.
    return environment(PYTHONPATH=str(tree / "src"), PYTHONHASHSEED="0", **more)


# ── a server ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _count_server(tree: Path) -> Figures:
    with folder() as data, tempfile.TemporaryDirectory() as scratch:
        prepare = [sys.executable, "-m", "bench.counted", "prepare", str(data)]
        token = subprocess.check_output(prepare, cwd=tree, env=_code_in(tree), text=True).strip()
        notes = Notes(Path(scratch) / "notes")
        serve = ["bench.counted", "serve", "--port", "0", "--data", str(data)]
        more = _code_in(tree, **QUIETLY, **NOBODY_DRIVES)
        server = Server(serve, before=notes.command, cwd=tree, **more)
        try:
            async with connected(server, token) as (line,):
                return await _ask(Counted(server, notes), line, token)
        finally:
            server.stop()


class Counted:
    """A server under valgrind."""

    def __init__(self, server: Server, notes: Notes) -> None:
        self.server = server
        self._notes = notes

    async def note(self) -> float:
        """Millions of instructions since the last note."""
        self.server.send(signal.SIGUSR1)
        async with asyncio.timeout(NOTE_SECONDS):
            while (found := self._notes.next()) is None:
                await asyncio.sleep(0.05)
        return found


async def _ask(counted: Counted, line: Connection, token: str) -> Figures:
    quiet, waking = POST.format("quiet-0"), [POST.format(f"waking-{n}") for n in range(WAKING)]
    for path in (quiet, quiet, waking.pop(), waking.pop()):  # to warm up
        await line.post(path, BODY)
    await counted.note()
    for _ in range(QUIET):
        await line.post(quiet, BODY)
    quietly = await counted.note() / QUIET
    for path in waking:
        await line.post(path, BODY)
    woken = await counted.note() / len(waking)
    crowd = await sse.gather(counted.server, token, "quiet-0", FOLLOWERS)
    await line.post(quiet, BODY)
    await crowd.everybody()
    await counted.note()
    for _ in range(DELIVERED):
        await line.post(quiet, BODY)
        await crowd.everybody()
    delivered = await counted.note() / DELIVERED
    crowd.leave()
    return {
        "instructions.post": quietly,
        "instructions.post_waking": woken,
        "instructions.delivery": (delivered - quietly) / FOLLOWERS * 1000,
    }
