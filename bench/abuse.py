"""Under abuse: what one caller's flood costs the others, what a refusal costs, and what holds up the loop.

Twenty people post, each now and then, while one sends a thousand posts a second; the one is a process of its own, so
that what is measured is the server, as far as two cores let it. The middle layers and the loop are measured in this
process. `python -m bench.abuse PORT TOKEN SECONDS` is the flood.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import orjson
from fastapi import FastAPI

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder, middle_ratio, spent
from bench.servers import Server, request
from bullpen.access import actions as access
from bullpen.access import rows as access_rows
from bullpen.api.watch import watched
from bullpen.app import Office
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire.nouns import Person

PEOPLE = 20
PAUSE_SECONDS = 0.6
FLOOD_PER_SECOND = 1000
FLOODERS = 8
BATCH = 300
PROBE_SECONDS = 0.001
PATH = "/api/spaces/quiet-0/messages"
BODY = orjson.dumps({"text": "The meeting about the new warehouse was moved to Thursday, please tell the others."})
BIG = {
    "names": b'{"text": "x"' + b"".join(b',"%d":0' % n for n in range(100_000)) + b"}",
    "wrong names": b'{"text": "x"' + b"".join(b',"%d":0' % n for n in range(4_900)) + b"}",
    "lists": b'{"text": "x", "attachments": [' + b",".join([b"[]"] * 200_000) + b"]}",
    "wrong things": b'{"id": "x", "members": [' + b",".join([b"1"] * 400_000) + b"]}",
    "text": orjson.dumps({"text": "x" * 1_000_000}),
}


async def measure(*, quick: bool) -> Figures:
    figures: Figures = {}
    with folder() as data:
        figures |= await _flood(data / "flood", rounds=1 if quick else 5, seconds=2.0 if quick else 10.0)
        async with rooms.opened(data / "here", drive=False) as made:
            await made.make_empty("quiet", 1, wake="none")
            figures |= await _layers(made.office, await made.token(), rounds=5 if quick else 15)
            figures |= await _lag(made.office, await made.token(), rounds=3 if quick else 20)
    return figures


# ── one against the others ──────────────────────────────────────────────────────────────────────────────────────────


async def _flood(data: Path, *, rounds: int, seconds: float) -> Figures:
    """Rounds without a flood, with one that hits another server, and with one that hits the people's own.

    The second tells what the flood costs the machine, which has but so many cores; the third what it costs the server.
    """
    tokens, others = await _prepare(data / "ours"), await _prepare(data / "elsewhere")
    waits: dict[str, list[float]] = {"calm": [], "elsewhere": [], "here": []}
    refused: list[float] = []
    with servers.bullpen(data / "ours", **LIMITED) as ours, servers.bullpen(data / "elsewhere", **LIMITED) as elsewhere:
        for number in range(rounds + 1):
            quiet = await _waits(ours, tokens[1:], seconds)
            there, _ = await _flooded(ours, tokens[1:], seconds, elsewhere, others[0])
            before = ours.cpu()
            here, count = await _flooded(ours, tokens[1:], seconds, ours, tokens[0])
            if number > 0:  # the first is for warming up
                waits["calm"] += quiet
                waits["elsewhere"] += there
                waits["here"] += here
                refused.append((ours.cpu() - before) / count * 1e6)
    calm, there_p99, here_p99 = (_p99(waits[name]) for name in ("calm", "elsewhere", "here"))
    return {
        "abuse.calm_p99": calm * 1000,
        "abuse.flood_p99": here_p99 * 1000,
        "abuse.flood_to_calm": here_p99 / calm,
        "abuse.elsewhere_to_calm": there_p99 / calm,
        "abuse.refusal": median(refused),
    }


async def _flooded(
    server: Server, tokens: Sequence[str], seconds: float, target: Server, token: str
) -> tuple[list[float], int]:
    """How long the people's posts took while `target` was flooded, and by how many posts."""
    command = [sys.executable, "-m", "bench.abuse", str(target.port), token, str(seconds)]
    flood = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    waits = await _waits(server, tokens, seconds)
    said, _ = await flood.communicate()
    return waits, int(said)


# As people run it: the limits are what is measured. Those of the others are far away.
LIMITED = {"BULLPEN_LIMITS__REQUESTS_PER_MINUTE": "1200", "BULLPEN_LIMITS__MESSAGES_PER_MINUTE": "120"}


async def _prepare(data: Path) -> list[str]:
    """A room with all of them in it, and a token each. The first is the one."""
    async with rooms.opened(data, drive=False) as made:
        await made.make_empty("quiet", 1, wake="none")
        owner = await made.office.local_owner()

        async def body(tx: Transaction) -> list[str]:
            tokens = []
            for number in range(PEOPLE + 1):
                id = f"psn_{number}"
                person = Person(id=id, name=f"Person {number}", role="member", created_at=tx.clock.now())
                await access_rows.insert_person(tx, person)
                await spaces.add_member(tx, owner, "quiet-0", id)
                tokens.append((await access.create_token(tx, id, person_id=id))[1])
            return tokens

        return await made.office.store.transact(body)


async def _waits(server: Server, tokens: Sequence[str], seconds: float) -> list[float]:
    """How long each post took, of people who post evenly."""
    ends = time.perf_counter() + seconds
    found: list[float] = []

    async def person(number: int, token: str) -> None:
        async with servers.connected(server, token) as (connection,):
            await asyncio.sleep(number * PAUSE_SECONDS / PEOPLE)
            while (began := time.perf_counter()) < ends:
                await connection.post(PATH, BODY)
                found.append(time.perf_counter() - began)
                await asyncio.sleep(PAUSE_SECONDS)

    await asyncio.gather(*(person(number, token) for number, token in enumerate(tokens)))
    return found


def _p99(waits: Sequence[float]) -> float:
    return quantiles(waits, n=100)[98]


async def flood(port: int, token: str, seconds: float) -> int:
    """Post as fast as the plan says, whatever the answer; how many."""
    began = time.perf_counter()
    count = 0

    async def flooder() -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (passed := time.perf_counter() - began) < seconds:
            if count > passed * FLOOD_PER_SECOND:
                await asyncio.sleep(0.002)
                continue
            count += 1
            writer.write(request("POST", PATH, token, BODY))
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
        writer.close()

    await asyncio.gather(*(flooder() for _ in range(FLOODERS)))
    return count


# ── the middle layers ───────────────────────────────────────────────────────────────────────────────────────────────


async def _layers(office: Office, token: str, *, rounds: int) -> Figures:
    """What stands around the routes (watch and edge), by itself; and to the cheapest route."""

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"0"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def cost(app: Callable[..., Awaitable[None]]) -> float:
        with spent() as used:
            for _ in range(BATCH):
                await _ask(app, "GET", "/api/me", token)
        return used.cpu / BATCH * 1e6

    around, route = [], []
    for number in range(rounds + 1):
        layers = await cost(partial(watched, partial(office.edge, nothing))) - await cost(nothing)
        bare = await cost(lambda *asked: FastAPI.__call__(office.api, *asked))
        if number > 0:
            around.append(layers)
            route.append(bare)
    return {"abuse.layers": median(around), "abuse.layers_share": middle_ratio(around, route) * 100}


async def _ask(app: Callable[..., Awaitable[None]], method: str, path: str, token: str, body: bytes = b"") -> int:
    headers = [
        (b"host", b"localhost"),
        (b"authorization", f"Bearer {token}".encode()),
        (b"user-agent", b"bench"),
        (b"accept", b"*/*"),
    ]
    if body:
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "scheme": "http",
        "server": ("127.0.0.1", 8420),
        "client": ("127.0.0.1", 5000),
    }
    status = 0

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    await app(scope, receive, send)
    return status


# ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Probe:
    """Asks to be woken every millisecond, and notes how late that happens: what everybody else waits, too."""

    def __init__(self) -> None:
        self.late: list[float] = []

    async def __aenter__(self) -> Probe:
        self._task = asyncio.create_task(self._look())
        await asyncio.sleep(0.05)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _look(self) -> None:
        while True:
            wanted = time.perf_counter() + PROBE_SECONDS
            await asyncio.sleep(PROBE_SECONDS)
            self.late.append(max(0.0, time.perf_counter() - wanted))


async def _lag(office: Office, token: str, *, rounds: int) -> Figures:
    """The longest wait of a round; the middle one of them, since neighbours on the machine make others wait, too."""
    wrong = orjson.dumps({"name": "nobody", "password": "a wrong password"})
    of_json, of_passwords = [], []
    for _ in range(rounds):
        async with Probe() as probe:
            for name, body in BIG.items():
                path = "/api/spaces" if name == "wrong things" else PATH
                status = await _ask(office.api, "POST", path, token, body)
                assert status == 422, f"{name}: {status}"
                await asyncio.sleep(0.01)
        of_json.append(max(probe.late))
        async with Probe() as probe:
            await asyncio.gather(*(_ask(office.api, "POST", "/api/session", token, wrong) for _ in range(4)))
        of_passwords.append(max(probe.late))
    return {"abuse.json_lag": median(of_json) * 1000, "abuse.password_lag": median(of_passwords) * 1000}


if __name__ == "__main__":
    print(asyncio.run(flood(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))))
