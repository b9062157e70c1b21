"""Real servers, each a process of its own, on a fresh database: to be killed, stopped, frozen and started again.

The fixture `server` is one, ready to be used; `servers` starts more of them, and workers, on the same database
(PostgreSQL). For anything that needs no process of its own, `office` (tests/driver.py) is a hundred times cheaper.
"""

from __future__ import annotations

import signal
from pathlib import Path

from bullpen.access import actions as access
from bullpen.client import Bullpen
from bullpen.storage import Transaction
from bullpen.testing import NO_LIMITS
from tests.cli.processes import Process
from tests.databases import Database, aside
from tests.driver import claimed

LEASE_SECONDS = "2"


class Server:
    """`bullpen serve`, and its owner's token. After `kill` or `stop`, `start` begins anew, on another port."""

    def __init__(
        self, database: Database, data: Path, token: str, kind: type[Process] = Process, **settings: str
    ) -> None:
        self.kind = kind
        self.settings = settings
        self.database = database
        self.data = data
        self.token = token
        self.start()

    @property
    def database_url(self) -> str:
        return self.database.url

    @property
    def pid(self) -> int:
        return self.process.process.pid

    def start(self) -> None:
        self.process = _start(self.kind, self.database, self.data, "serve", "--port", "0", **self.settings)
        self.url = self.process.wait_for("Bullpen is ready on ").split()[-1]

    def client(self) -> Bullpen:
        return Bullpen(self.url, self.token)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.stop(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        return self.process.stop()

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        self.process.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.process.send_signal(signal.SIGCONT)


class Servers:
    """Starts processes on one database, and leaves none behind."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.token = aside(lambda: _owner_token(database))
        self.processes: list[Process] = []
        self._servers: list[Server] = []

    def serve(self, kind: type[Process] = Process, /, **settings: str) -> Server:
        """`settings` as the environment has them. `PythonProcess` is a new Python, which takes two seconds of CPU."""
        server = Server(self.database, self._folder(), self.token, kind, **settings)
        self._servers.append(server)
        return server

    def worker(self) -> Process:
        process = _start(Process, self.database, self._folder(), "worker")
        self.processes.append(process)
        process.wait_for("ready")
        return process

    def _folder(self) -> Path:
        """The first has the database's own folder; the others, which must be on PostgreSQL, one of their own each."""
        number = len(self._servers) + len(self.processes)
        folder = self.database.data if number == 0 else self.database.data.with_name(f"data-{number}")
        folder.mkdir(exist_ok=True)
        return folder

    def close(self) -> None:
        for process in [*self.processes, *(server.process for server in self._servers)]:
            if process.process.poll() is None:
                process.stop(signal.SIGKILL)
            process.wait()


def _start(kind: type[Process], database: Database, data: Path, *args: str, **more: str) -> Process:
    settings = {**NO_LIMITS, "DATABASE_URL": database.url, "BULLPEN_ENGINE__LEASE_SECONDS": LEASE_SECONDS, **more}
    return kind(data, *args, **settings)


async def _owner_token(database: Database) -> str:
    """Made here, not by `bullpen token create`: that has its own tests, and takes a second."""

    async def body(tx: Transaction) -> str:
        owner = await claimed(tx)
        _, value = await access.create_token(tx, "tests", person_id=owner.id)
        return value

    store = database.store()
    await store.open()
    try:
        return await store.transact(body)
    finally:
        await store.close()
