"""Answers that meet each other, and answers that meet the time-out: one wins, and the agent hears of it once.

The exhaustive run repeats each race a thousand times, on both databases; other runs do so less often. On PostgreSQL
half of what is said goes through a second office on the same database, as it would through another process. In the end
the rows themselves are looked at: V7 of the invariants.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import httpx
import pytest

from bullpen.testing import UNLIMITED, FakeClock, invariants, snapshot
from bullpen.tools import execute, rows
from tests import effort
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.path.scripts import Json, call, step
from tests.waits import BOUND, until

FETCH: Json = {
    "name": "fetch",
    "description": "Fetch something",
    "inputSchema": {"type": "object"},
    "executionType": "external",
    "visible": False,
}


async def doors(offices: Offices, **more: Any) -> list[Driver]:
    """The office, and on PostgreSQL another one that drives nothing."""
    limits = replace(UNLIMITED, calls_per_step=100)
    first = await offices.open(limits=limits, **more)
    if offices.database.kind == "sqlite":
        return [first]
    return [first, await offices.open(drive=False, watch=False, limits=limits, **more)]


async def set_to_work(office: Driver, agents: int, calls: int, **tool: Any) -> None:
    """So many agents, each in a room of its own, that make so many calls in one step."""
    await office.create("/tools", {**FETCH, **tool})
    thanks = {"kind": "tool_result", "steps": [step(text="thanks")]}
    for name in (f"ada-{number}" for number in range(agents)):
        await office.agent(name, [thanks, {"steps": [step(*[call("fetch")] * calls)]}], tools=["fetch"])
        await office.space(f"{name}-room", [name], wake={"people": "all", "agents": "none"})
        await office.post(f"{name}-room", "go")


async def all_calls(office: Driver, status: str) -> list[Json]:
    found: list[Json] = []
    asked: Json = {"status": status, "limit": 200}
    while True:
        page = await office.get("/pending", params=asked)
        found += page["items"]
        if page.get("next") is None:
            return found
        asked["cursor"] = page["next"]


async def healthy(database: Database) -> None:
    seen = invariants.Seen(await snapshot.read(database.url), at_rest=True)
    wrong = invariants.violations(seen)
    assert not wrong, "\n".join(wrong[:20])


# ── answers that meet each other ────────────────────────────────────────────────────────────────────────────────────

CROWD, AT_ONCE = 50, 20
CROWDED_BOUND = 4 * BOUND  # a thousand calls are a lot for two cores that others share


@pytest.mark.proves("C6", "V7")
async def test_one_of_many_concurrent_answers_wins_a_thousand_times(offices: Offices, database: Database) -> None:
    calls, crowded = effort.count(1000, sample=40), effort.count(20, sample=1)
    through = await doors(offices)
    office = through[0]
    await set_to_work(office, 10, calls // 10, isAsync=True)
    await office.idle(CROWDED_BOUND)
    asked = await all_calls(office, "pending")
    assert len(asked) == calls
    winners: dict[str, int] = {}
    order = Random(7)

    async def answer(waiting: Json, number: int) -> int:
        body = {"callId": waiting["callId"], "result": {"from": number}}
        by = through[number % len(through)]

        async def submit() -> httpx.Response | None:
            response = await by.http.post(f"/runs/{waiting['runId']}/tool-results", json=body)
            # The database is too busy and nothing was taken: try again, as the answer says.
            return None if response.status_code == 503 else response

        response = await until(submit, seconds=CROWDED_BOUND)
        assert response is not None
        if response.status_code == 200:
            assert response.json() == {"accepted": True, "duplicate": False}
            winners[waiting["callId"]] = number
        return response.status_code

    async def race(waiting: Json, crowd: int) -> None:
        numbers = order.sample(range(crowd), crowd)
        codes = Counter(await asyncio.gather(*(answer(waiting, number) for number in numbers)))
        assert codes == {200: 1, 409: crowd - 1}

    crowds = [CROWD if number < crowded else 2 for number in range(calls)]
    for begin in range(0, calls, AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        await asyncio.gather(*(race(each, crowd) for each, crowd in zip(asked[some], crowds[some], strict=True)))
    await office.idle(CROWDED_BOUND)
    over = await all_calls(office, "resolved")
    assert {each["callId"]: each["result"]["from"] for each in over} == winners
    assert {each["deliveredVia"] for each in over} == {"inbox"}
    assert len(set(winners.values())) > 1, "it was always the same one who won"
    await healthy(database)


# ── answers that meet the time-out ──────────────────────────────────────────────────────────────────────────────────

AGENTS = 20
ORDERS = ("answer", "time-out", "either")
VIA = {"answer": {"inline"}, "time-out": {"inbox"}, "either": {"inline", "inbox"}}


@dataclass
class Meeting:
    """An answer and a run that looks whether its time is over, both about one call, and both about to begin.

    Whoever is first holds the row of the call, in a transaction that is not over, when the other is let go.
    """

    order: str
    looks: asyncio.Event = field(default_factory=asyncio.Event)
    may_look: asyncio.Event = field(default_factory=asyncio.Event)
    locked: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self, answer: Callable[[], Awaitable[None]]) -> None:
        await self.looks.wait()
        if self.order != "answer":
            self.may_look.set()
        if self.order == "time-out":
            await self.locked.wait()
        answering = asyncio.ensure_future(answer())
        await self.locked.wait()
        self.may_look.set()
        await answering


@pytest.fixture
def meetings(monkeypatch: pytest.MonkeyPatch) -> dict[str, Meeting]:
    """By call. A run that looks for an answer waits until it may; who has locked a call is told to the meeting."""
    known: dict[str, Meeting] = {}
    look, lock = execute._look_for_answer, rows.lock_pending

    async def look_in_turn(door: Any, tool: Any, call: Any, asked: Any) -> Any:
        if (meeting := known.get(call.id)) is not None:
            meeting.looks.set()
            await meeting.may_look.wait()
        return await look(door, tool, call, asked)

    async def lock_and_tell(tx: Any, call_id: str) -> Any:
        waiting = await lock(tx, call_id)
        if (meeting := known.get(call_id)) is not None:
            meeting.locked.set()
        return waiting

    monkeypatch.setattr(execute, "_look_for_answer", look_in_turn)
    monkeypatch.setattr(rows, "lock_pending", lock_and_tell)
    return known


@pytest.mark.proves("C7", "V7")
async def test_a_result_racing_its_timeout_arrives_inline_or_by_inbox(
    offices: Offices, database: Database, meetings: dict[str, Meeting]
) -> None:
    rounds = effort.count(50, sample=3)  # 1,000 calls, or 60
    clock = FakeClock()
    through = await doors(offices, clock=clock)
    office = through[0]
    await set_to_work(office, AGENTS, rounds, timeout=60_000)
    seen: Counter[tuple[str, str]] = Counter()
    heard = 0

    async def asked() -> list[Json]:
        """The calls of this round: each agent makes its next one when the last is over."""
        found: list[Json] = []

        async def all_made() -> bool:
            nonlocal heard
            new = office.events[heard:]
            heard += len(new)
            found.extend(event["call"] for event in new if event["type"] == "tool.requires_action")
            return len(found) >= AGENTS

        await office.until(all_made)
        return found

    async def race(waiting: Json, number: int) -> None:
        by = through[number % len(through)]

        async def answer() -> None:
            path = f"/runs/{waiting['runId']}/tool-results"
            body = {"callId": waiting["callId"], "result": number}
            taken = await by.ask("POST", path, json=body, status=200)
            assert taken == {"accepted": True, "duplicate": False}

        async with asyncio.timeout(BOUND):
            await meetings[waiting["callId"]].hold(answer)

    orders: dict[str, str] = {}
    for first in range(rounds):
        calls = list(enumerate(await asked(), first))
        # Every call has its meeting before anybody looks.
        meetings |= {waiting["callId"]: Meeting(ORDERS[number % len(ORDERS)]) for number, waiting in calls}
        clock.advance(61)
        office.office.engine.sweep_at(clock.millis())
        await asyncio.gather(*(race(waiting, number) for number, waiting in calls))
        orders |= {waiting["callId"]: meetings.pop(waiting["callId"]).order for _, waiting in calls}
    await office.idle(CROWDED_BOUND)
    over = await all_calls(office, "resolved")
    assert len(over) == AGENTS * rounds == len(orders)
    for each in over:
        order = orders[each["callId"]]
        assert each["deliveredVia"] in ("inline", "inbox")
        seen[order, each["deliveredVia"]] += 1
    # Who was first wins. PostgreSQL may undo a transaction and let it run again, behind the other one: seldom.
    turned = sum(count for (order, via), count in seen.items() if via not in VIA[order])
    assert turned <= (max(2, len(over) // 100) if database.kind == "postgres" else 0)
    assert min(seen["answer", "inline"], seen["time-out", "inbox"]) > len(over) * 3 // 10
    await healthy(database)
