"""Looking for secrets in everything an office gives out or writes down.

`Sweep` follows an office and gathers its sinks, each as bytes: what models were shown, the stream, REST, the log, the
files of the database, a copy of it, exports. `hits` says which secrets stand in them. To sweep another leak, let it
happen in an office that a `Sweep` watches, and gather.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from bullpen.llm.types import Transcript
from tests.databases import Database
from tests.driver import Driver
from tests.path.puppets import Puppet
from tests.secrets.writing import PARTS, traces
from tests.upkeep.copies import back_up

Sinks = dict[str, bytes]
STATUSES = ("waiting", "pending", "resolved", "expired", "cancelled")


@dataclass
class Sweep:
    office: Driver
    database: Database
    log: io.StringIO
    models: list[Puppet] = field(default_factory=list)
    stream: bytearray = field(default_factory=bytearray)

    async def gather(self, folder: Path) -> Sinks:
        sinks: Sinks = {"log": self.log.getvalue().encode(), "stream": bytes(self.stream)}
        for number, model in enumerate(self.models):
            sinks[f"prompts of {number}"] = b"\n".join(shown(transcript) for transcript in model.shown)
        sinks |= {f"GET {path}": await self._get(path) async for path in self._paths()}
        await back_up(self.database, folder / "copy.jsonl")
        sinks["copy as lines"] = (folder / "copy.jsonl").read_bytes()
        if self.database.kind == "sqlite":
            await back_up(self.database, folder / "copy.db")
            sinks["copy as a file"] = (folder / "copy.db").read_bytes()
        for path in sorted(self.database.data.rglob("*")):
            if path.is_file():
                sinks[f"data/{path.relative_to(self.database.data)}"] = path.read_bytes()
        return sinks

    async def _get(self, path: str) -> bytes:
        response = await self.office.http.get(path)
        return response.content + repr(response.headers.raw).encode()

    async def _paths(self) -> AsyncIterator[str]:
        """Every listing, and every thing of the listings."""
        for path in ("/agents", "/spaces", "/runs", "/audit", "/usage", "/search?q=canary", "/me", "/tools", "/tokens"):
            yield path
        for path in ("/hooks", "/webhooks"):
            yield path
        for path in ("/policies", *(f"/pending?status={each}" for each in STATUSES)):
            yield path
        for path in ("/metrics", "/openapi.json", "/readyz"):
            yield f"http://office{path}"
        for space in await self.office.items("/spaces"):
            for more in ("", "/messages?limit=200", "/export?journals=true"):
                yield f"/spaces/{space['id']}{more}"
            for message in await self.office.messages(space["id"]):
                yield f"/messages/{message['id']}"
                yield f"/messages/{message['id']}/why"
        for agent in await self.office.items("/agents"):
            for more in ("", "/blocks", "/inbox", "/export"):
                yield f"/agents/{agent['id']}{more}"
        for run in await self.office.runs():
            for more in ("", "/messages", "/trace"):
                yield f"/runs/{run['id']}{more}"


def shown(transcript: Transcript) -> bytes:
    """All that a model was given: as texts, and as JSON like a provider would send it."""
    whole = asdict(transcript)
    return "\n".join(_texts(whole)).encode("utf-8", "surrogatepass") + orjson.dumps(whole)


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


@asynccontextmanager
async def sweeping(office: Driver, database: Database, log: io.StringIO, *models: Puppet) -> AsyncIterator[Sweep]:
    sweep = Sweep(office, database, log, list(models))
    _, chunks = await office.office.feed.follow(await office.office.local_owner())

    async def listen() -> None:
        async for chunk in chunks:
            sweep.stream += chunk

    task = asyncio.create_task(listen())
    try:
        yield sweep
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def hits(sinks: Mapping[str, bytes], parts: Mapping[str, list[str]] = PARTS) -> list[str]:
    """Where secrets stand: the sink, the secret, and what stands around it."""
    found = []
    for name, secret in parts.items():
        for trace in {trace for part in secret for trace in traces(part)}:
            for sink, data in sinks.items():
                at = data.find(trace)
                if at >= 0:
                    found.append(f"{name} in {sink}: {data[max(0, at - 60) : at + 80]!r}")
    return found
