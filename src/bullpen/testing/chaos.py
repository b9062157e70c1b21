"""A storm: people post, agents work, followers follow, and processes are killed at random, all the time.

Where whoever starts it can do so, the database goes away now and then, too (`Outage`).
Afterwards everybody comes to rest, and the database must agree with what every client saw. `storm` is one database's;
`make chaos` (bench/chaos.py) does it on both and keeps the figures.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from bullpen import app
from bullpen.access import actions as access
from bullpen.testing import invariants, snapshot
from bullpen.testing.crash import settings_for
from bullpen.testing.crowd import Doors, Poster, Watcher
from bullpen.testing.forks import Child, Forks
from bullpen.testing.serving import owner_of
from bullpen.testing.snapshot import Snapshot

REST_SECONDS = 120
INTERRUPTED = 3  # drives at least: a storm that hits nobody at work shows nothing, however many it kills
# Takes the database away, and brings it back. Chooses for itself how, and for how long.
Outage: TypeAlias = Callable[[random.Random], Awaitable[None]]
BUSY = """
    SELECT (SELECT count(*) FROM threads WHERE state <> 'idle')
         + (SELECT count(*) FROM inbox_items WHERE claimed_by IS NULL)
"""


@dataclass(frozen=True)
class Plan:
    """What happens, and how often. `gap` is the mean time between kills, `calm` the one between outages."""

    kills: int
    posts: int
    outages: int = 0
    calm: float = 4.0
    seed: int = 0
    gap: float = 0.3
    lease_seconds: float = 1.0
    servers: int = 1
    workers: int = 0
    posters: int = 6
    watchers: int = 4


@dataclass(frozen=True)
class Figures:
    kills: int
    outages: int
    posts: int
    posts_unknown: int
    messages: int
    runs: int
    runs_resumed: int
    resume_ms_p50: float
    resume_ms_p99: float
    deliveries: int
    reconnections: int
    seconds: float
    violations: list[str]


@dataclass
class Slot:
    """A process that always is, or is being started again."""

    target: str
    arguments: dict[str, Any]
    child: Child | None = None


@dataclass
class Storm:
    forks: Forks
    url: str
    folder: Path
    plan: Plan
    outage: Outage | None = None
    far_url: str | None = None  # how the processes reach the database, if not as we do
    slots: list[Slot] = field(default_factory=list)
    kills: int = 0
    interrupted: list[tuple[str, float]] = field(default_factory=list)  # which thread, and when, by the wall's clock
    posts: int = 0
    outages: int = 0

    def __post_init__(self) -> None:
        self._there = asyncio.Event()  # the database
        self._there.set()
        self._chance = random.Random(self.plan.seed)
        kinds = ["serve"] * self.plan.servers + ["worker"] * self.plan.workers
        for number, kind in enumerate(kinds):
            data = self.folder / f"process-{number}"
            data.mkdir(parents=True, exist_ok=True)
            arguments = {"url": self.far_url or self.url, "data": str(data), "lease_seconds": self.plan.lease_seconds}
            self.slots.append(Slot(kind, {**arguments, "port": _free_port()}))

    # ── the whole of it ─────────────────────────────────────────────────────────────────────────────────

    async def rage(self) -> Figures:
        began = time.monotonic()
        doors = await self._open()
        posters = [Poster(f"p{n}", doors, ROOMS, self._fork_chance()) for n in range(self.plan.posters)]
        rooms = [None, None, *(space for space, _ in ROOMS)]
        watchers = [
            Watcher(f"w{n}", doors, self._fork_chance(), space_id=rooms[n % len(rooms)])
            for n in range(self.plan.watchers)
        ]
        for slot in self.slots:
            await self._start(slot)
        following = [asyncio.create_task(watcher.follow()) for watcher in watchers]
        try:
            await asyncio.gather(
                self._kill_at_random(), self._lose_the_database(), *(self._post(poster) for poster in posters)
            )
            seen = await self._rest(watchers)
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, *(poster.aclose() for poster in posters), return_exceptions=True)
            self._stop()
        return self._figures(seen, posters, watchers, time.monotonic() - began)

    def _fork_chance(self) -> random.Random:
        return random.Random(self._chance.random())

    async def _open(self) -> Doors:
        """An owner, a token and a cast, made before anything is killed."""
        settings = settings_for(self.url, str(self.folder))
        async with app.office(settings, drive=False) as opened, owner_of(opened) as bp:
            owner = await opened.store.transact(lambda tx: access.claim(tx, "Olga", None))
            _, token = await opened.store.transact(lambda tx: access.create_token(tx, "chaos", person_id=owner.id))
            await bp.apply(agents=AGENTS, spaces=SPACES)
        urls = [f"http://127.0.0.1:{slot.arguments['port']}" for slot in self.slots if slot.target == "serve"]
        return Doors(urls, token)

    # ── killing and posting ─────────────────────────────────────────────────────────────────────────────

    async def _start(self, slot: Slot) -> None:
        slot.child = await asyncio.to_thread(self.forks.start, slot.target, **slot.arguments)

    @property
    def _has_killed_enough(self) -> bool:
        return self.kills >= self.plan.kills and len(self.interrupted) >= INTERRUPTED

    async def _kill_at_random(self) -> None:
        while not self._has_killed_enough:
            await asyncio.sleep(self._chance.expovariate(1 / self.plan.gap))
            slot = self._chance.choice(self.slots)
            assert slot.child is not None
            await self._kill(slot.child)
            await self._there.wait()
            await self._start(slot)
            await self._start_again()

    async def _start_again(self) -> None:
        """Processes that ended by themselves: one that starts while the database is away may do so."""
        for slot in self.slots:
            if self.plan.outages and slot.child is not None and not slot.child.alive:
                self.forks.forget(slot.child)
                await self._start(slot)

    async def _lose_the_database(self) -> None:
        for _ in range(self.plan.outages):
            await asyncio.sleep(self._chance.expovariate(1 / self.plan.calm))
            assert self.outage is not None
            self._there.clear()
            await self.outage(self._chance)
            self._there.set()
            self.outages += 1

    async def _kill(self, child: Child) -> None:
        """Kill it, and see in the leases that it has left behind what it was doing."""
        now = time.time()
        await asyncio.to_thread(child.kill)
        self.forks.forget(child)
        self.kills += 1
        await self._there.wait()
        held = await snapshot.ask(self.url, f"SELECT thread_id FROM leases WHERE owner LIKE '%:{child.pid}:%'")  # noqa: S608
        self.interrupted += [(thread_id, now) for (thread_id,) in held]

    async def _post(self, poster: Poster) -> None:
        """As long as there are posts to make or kills to come."""
        seconds = max(self.plan.kills * self.plan.gap, self.plan.outages * self.plan.calm)
        pause = 2 * seconds * self.plan.posters / max(1, self.plan.posts)
        while self.posts < self.plan.posts or not self._has_killed_enough or self.outages < self.plan.outages:
            self.posts += 1
            await poster.post()
            await asyncio.sleep(poster.chance.uniform(0, pause))

    def _stop(self) -> None:
        for slot in self.slots:
            if slot.child is not None:
                slot.child.kill()

    # ── afterwards ──────────────────────────────────────────────────────────────────────────────────────

    async def _rest(self, watchers: Sequence[Watcher]) -> Snapshot:
        """Until nobody has anything left to do, and every follower has heard of all of it.

        Who has not finished by then is found by the invariants.
        """
        deadline = time.monotonic() + REST_SECONDS
        while (await snapshot.ask(self.url, BUSY))[0][0] and time.monotonic() < deadline:
            await self._start_again()
            await asyncio.sleep(0.1)
        seen = await snapshot.read(self.url)
        while not all(_caught_up(watcher, seen) for watcher in watchers) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return seen

    def _figures(
        self, seen: Snapshot, posters: Sequence[Poster], watchers: Sequence[Watcher], seconds: float
    ) -> Figures:
        sends = [send for poster in posters for send in poster.sends]
        followers = [watcher.history() for watcher in watchers]
        found = invariants.Seen(seen, at_rest=True, sends=sends, followers=followers)
        resumed = sorted(resume_times(seen, self.interrupted))
        violations = invariants.violations(found)
        violations += [f"V4: {watcher.name} was told to reset" for watcher in watchers if watcher.resets]
        return Figures(
            kills=self.kills,
            outages=self.outages,
            posts=len(sends),
            posts_unknown=sum(send.outcome == "unknown" for send in sends),
            messages=len(seen.messages),
            runs=len(seen.runs),
            runs_resumed=len(resumed),
            resume_ms_p50=_percentile(resumed, 0.50),
            resume_ms_p99=_percentile(resumed, 0.99),
            deliveries=sum(len(watcher.places) for watcher in watchers),
            reconnections=sum(watcher.connections for watcher in watchers),
            seconds=round(seconds, 1),
            violations=violations,
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _caught_up(watcher: Watcher, seen: Snapshot) -> bool:
    history = watcher.history()
    last = next((e["place"] for e in reversed(seen.events) if history.may_see(e["space_id"], e["audience"])), None)
    return last is None or (bool(history.places) and history.places[-1] >= (last.xid, last.id))


def resume_times(seen: Snapshot, interrupted: Sequence[tuple[str, float]]) -> list[float]:
    """For each thread whose driver was killed: milliseconds until another driver's first entry in its journal.

    A new driver has a new fencing token. If the next one was killed too before it wrote anything, its kill counts.
    """
    journals: dict[str, list[tuple[float, int]]] = {}
    for run in seen.runs:
        entries = seen.journals.get(run["id"], [])
        journals.setdefault(run["thread_id"], []).extend((_seconds(e["at"]), e["token"]) for e in entries)
    resumed: dict[tuple[str, float], float] = {}
    for thread_id, killed_at in sorted(interrupted, key=lambda pair: pair[1]):
        written = journals.get(thread_id, [])
        last = max((token for at, token in written if at <= killed_at), default=0)
        taken_up = next((at for at, token in written if at > killed_at and token > last), None)
        if taken_up is not None:
            resumed[thread_id, taken_up] = (taken_up - killed_at) * 1000
    return list(resumed.values())


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _percentile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else 0.0


# ── the cast ────────────────────────────────────────────────────────────────────────────────────────────


def _call(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def _step(*calls: dict[str, Any], ms: int = 0) -> dict[str, Any]:
    return {"calls": list(calls), "delayMs": ms}


def _agent(id: str, *turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    model = {"provider": "script", "turns": list(turns)}
    return {"id": id, "name": id.title(), "model": model, "tools": ["messaging", "memory"], **more}


_SAY = _call("send_message", text="heard: {{trigger.text}}")

AGENTS: list[dict[str, Any]] = [
    _agent("quick", {"steps": [_step(_SAY)]}),
    _agent("slow", {"steps": [_step(_SAY, ms=40), _step(_call("do_nothing"), ms=40)]}),
    _agent(
        "scribe",
        {
            "steps": [
                _step(_call("search_memory", query="heard"), ms=10),
                _step(
                    _call("store_memory", content="{{trigger.text}}"),
                    _call("update_memory", label="latest", content="{{trigger.text}}"),
                    _call("react_to_message", messageId="{{trigger.messageId}}", emoji="✍️"),
                    _SAY,
                    {"tool": "send_message", "args": "{broken"},
                ),
            ]
        },
    ),
    _agent("mute", {"steps": [_step(_call("skip", reason="nothing to add"), ms=10)]}),
    _agent("mumble", {"steps": [{"text": "said to nobody"}, _step(_SAY)]}),
    *(_agent(name, {"steps": [_step(_SAY, ms=5)]}) for name in ("red", "green", "blue")),
    _agent(
        "ping",
        {"when": "^go", "steps": [_step(_call("send_message", spaceId="dm-ping-pong", text="ping"))]},
        {"steps": [_step(_call("send_message", text="ping"))]},
    ),
    _agent("pong", {"steps": [_step(_call("send_message", text="pong"), ms=5)]}),
    _agent("mind", {"steps": [_step(_call("read_messages", limit=5), _SAY)]}, scope="agent"),
]
SPACES: list[dict[str, Any]] = [
    {"id": "hall", "members": ["quick"], "wake": {"people": "all"}},
    {"id": "study", "members": ["slow", "scribe"], "wake": {"people": "all"}},
    {"id": "garden", "members": ["mute", "mumble"], "wake": {"people": "all"}},
    {"id": "palette", "members": ["red", "green", "blue", "mind"]},
    {"id": "yard", "members": ["ping", "mind"], "wake": {"people": "all"}},
    {"kind": "dm", "members": ["ping", "pong"]},
]
ROOMS: Sequence[tuple[str, str]] = (
    ("hall", "hello"),
    ("study", "look into"),
    ("garden", "anything?"),
    ("palette", "@red @green @blue paint"),
    ("palette", "@blue @mind think of"),
    ("yard", "go"),
)


async def storm(
    forks: Forks, url: str, folder: Path, plan: Plan, outage: Outage | None = None, far_url: str | None = None
) -> Figures:
    """One storm on one database, which must be migrated or new."""
    return await Storm(forks, url, folder, plan, outage, far_url).rage()


def as_json(figures: Figures) -> dict[str, Any]:
    return asdict(figures)
