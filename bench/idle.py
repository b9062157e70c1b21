"""What it costs to be there: starting, doing nothing, and agents that sleep by the thousand."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder
from bench.servers import ROOT, Server

AGENTS = 10_000
LOOKS = ("/api/spaces?limit=50", "/api/agents?limit=50")


@dataclass(frozen=True, slots=True)
class Idle:
    memory: float  # MB
    cpu: float  # percent of a core
    ready_seconds: float
    ready_cpu: float


async def measure(*, quick: bool) -> Figures:
    starts, seconds = (1, 3.0) if quick else (3, 10.0)
    with folder() as data:
        tokens = {}
        for name, agents in (("few", 1), ("many", AGENTS // 10 if quick else AGENTS)):
            async with rooms.opened(data / name, drive=False) as made:
                await made.make_empty("sleepy", agents, wake="all")
                tokens[name] = await made.token()
        few = [await _idle(data / "few", tokens["few"], seconds) for _ in range(starts)]
        many = [await _idle(data / "many", tokens["many"], seconds) for _ in range(starts)]
    return {
        "idle.cpu": median(idle.cpu for idle in few),
        "idle.memory": median(idle.memory for idle in few),
        "idle.agents_memory": median(idle.memory for idle in many) - median(idle.memory for idle in few),
        "idle.agents_cpu": median(idle.cpu for idle in many),
        "idle.ready": median(idle.ready_seconds for idle in few),
        "idle.ready_cpu": median(idle.ready_cpu for idle in few),
        "idle.help": median(_help_cpu() for _ in range(starts + 2)),
    }


async def at_rest(data: Path, token: str, seconds: float) -> float:
    """What a server on this folder costs that nobody asks anything, in percent of a core."""
    return (await _idle(data, token, seconds)).cpu


async def _idle(data: Path, token: str, seconds: float) -> Idle:
    with servers.bullpen(data) as server:
        await _use(server, token)
        await asyncio.sleep(1)
        before, began = server.cpu(), time.perf_counter()
        await asyncio.sleep(seconds)
        cpu = (server.cpu() - before) / (time.perf_counter() - began) * 100
        return Idle(server.memory(), cpu, server.ready_seconds, server.ready_cpu)


async def _use(server: Server, token: str) -> None:
    """Somebody has looked around and said something: what that leaves in memory counts too."""
    async with servers.connected(server, token) as (connection,):
        for path in LOOKS:
            await connection.get(path)


def _help_cpu() -> float:
    process = subprocess.Popen([sys.executable, "-m", "bullpen", "--help"], stdout=subprocess.DEVNULL, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime
