"""CPU and memory of this process and of others, medians, and what machine this is."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

# By convention on a disk, and kept; /tmp is often memory, where fsync costs nothing.
DISK = Path("/var/tmp")
PACKAGES = ("fastapi", "uvicorn", "uvloop", "pydantic", "orjson", "asyncpg")


@dataclass(slots=True)
class Spent:
    """CPU seconds of everything inside the block."""

    cpu: float = 0.0
    wall: float = 0.0


@contextlib.contextmanager
def spent() -> Iterator[Spent]:
    result = Spent()
    cpu, wall = time.process_time(), time.perf_counter()
    yield result
    result.cpu = time.process_time() - cpu
    result.wall = time.perf_counter() - wall


def cpu_of(pid: int) -> float:
    """CPU seconds of another process so far, all its threads, user and kernel (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def forget_peak_of(pid: int) -> None:
    """Let the kernel begin anew to note the most memory that a process has had (proc(5), clear_refs)."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def memory_of(pid: int, which: str = "VmRSS") -> float:
    """Resident megabytes of another process: now, or at the most (VmHWM)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{which}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"process {pid} has no memory")


def middle_ratio(measured: Sequence[float], against: Sequence[float]) -> float:
    """The median of ratios of figures that were taken right after one another."""
    return median(one / other for one, other in zip(measured, against, strict=True))


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A new folder on a disk, removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="bullpen-bench-", dir=DISK))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "million_additions_ms": round(_million_additions() * 1000, 1),
        "load": [round(load, 2) for load in os.getloadavg()],
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _million_additions() -> float:
    """How fast Python is here and now: what makes figures of two machines, or of two hours, comparable."""
    times = []
    for _ in range(5):
        with spent() as used:
            total = 0
            for number in range(1_000_000):
                total += number
        times.append(used.cpu)
    return median(times)


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
