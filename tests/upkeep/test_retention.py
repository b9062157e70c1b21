"""Retention: what is old is forgotten, nothing else is, and whoever comes back too late is told."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from bullpen.clock import Clock
from bullpen.settings import RetentionSettings
from bullpen.testing import invariants, snapshot
from bullpen.testing.clock import FakeClock
from bullpen.upkeep import retention
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.path.talk import talk
from tests.upkeep.homes import Home
from tests.upkeep.offices import MEMORY, WORD, hits

DAY = 86_400
FOR_EVER = RetentionSettings(events_days=0, journals_days=0, sessions_days=0)


def today() -> FakeClock:
    """Ids of runs hold the real time, so a clock for them begins there."""
    return FakeClock(Clock().now())


async def forget(office: Driver, **days: int) -> retention.Forgotten:
    fields = {"events_days": 0, "journals_days": 0, "sessions_days": 0, **days}
    return await retention.forget(office.office.store, RetentionSettings(**fields))


async def first_frame(office: Driver, cursor: str) -> bytes:
    follower, chunks = await office.office.feed.follow(await office.office.local_owner(), after=cursor)
    try:
        assert await anext(chunks) == b": welcome\n\n"
        return await anext(chunks)
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]
        office.office.feed.leave(follower)


async def cursors(database: Database, office: Driver) -> list[str]:
    seen = await snapshot.read(database.url)
    return [f"{office.office.feed.incarnation}.{e['place'].xid}.{e['place'].id}" for e in seen.events]


@pytest.mark.proves("M3")
async def test_a_cursor_older_than_the_kept_events_gets_a_reset(offices: Offices, database: Database) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, watch=False)
    await office.space("room")
    await talk(office, "room", ["old"] * 1500)  # more than one transaction forgets
    old = await cursors(database, office)
    clock.advance(31 * DAY)
    await office.post("room", "new")
    assert (await forget(office, events_days=30)).events == len(old)
    [kept] = await cursors(database, office)
    assert b'"type":"reset"' in await first_frame(office, old[0])
    assert b'"type":"reset"' in await first_frame(office, old[-2])
    assert b'"text":"new"' in await first_frame(office, old[-1]), "it has seen all that is forgotten"
    assert (await forget(office, events_days=30)).events == 0
    assert len(await office.messages("room")) == 200
    assert kept > old[-1]


async def test_a_follower_overtaken_by_retention_during_replay_gets_a_reset(
    offices: Offices, database: Database
) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, watch=False)
    await office.space("room")
    await talk(office, "room", ["old"] * 450)  # three pages of replay
    first = (await cursors(database, office))[0]
    follower, chunks = await office.office.feed.follow(await office.office.local_owner(), after=first)
    await anext(chunks)
    assert b'"text":"old"' in await anext(chunks)
    clock.advance(31 * DAY)
    await forget(office, events_days=30)
    assert b'"type":"reset"' in await anext(chunks)
    await chunks.aclose()  # type: ignore[attr-defined]
    office.office.feed.leave(follower)


async def test_old_journals_go_and_runs_stay(home: Home, stack: AsyncExitStack) -> None:
    clock, database = today(), home.database
    office = (await home.enter(stack, clock=clock, drive=False)).office  # it forgets nothing by itself
    runs = await office.runs()
    clock.advance(91 * DAY)
    done = await forget(office, journals_days=90)
    assert done.journals == len((await snapshot.read(database.url)).runs) > 5
    assert done.prompts > 1
    assert [(run["id"], run["outcome"], run["messageIds"]) for run in await office.runs()] == [
        (run["id"], run["outcome"], run["messageIds"]) for run in runs
    ]
    seen = await snapshot.read(database.url)
    assert seen["run_messages"] == seen["inbox_items"] == seen["prompts"] == []
    assert "prompts.text" not in await hits(database, MEMORY)
    assert WORD in "".join(await office.texts("general"))
    assert (await forget(office, journals_days=90)).journals == 0
    assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []


async def test_a_run_in_progress_keeps_its_journal_and_prompt(offices: Offices, database: Database) -> None:
    clock = today()
    office = await offices.open(clock=clock)
    await office.agent("slow", steps=[{"delayMs": 600_000, "calls": []}])
    await office.agent("quick", steps=[{"calls": []}])
    await office.space("room", ["slow"], wake={"people": "all"})
    await office.space("other", ["quick"], wake={"people": "all"})
    await office.post("room", "take your time")
    await office.event("run_started")
    await office.post("other", "hello")
    await office.run_finished("quick")
    clock.advance(91 * DAY)
    assert (await forget(office, journals_days=90)).journals == 1
    seen = await snapshot.read(database.url)
    [slow] = [run for run in seen.runs if run["agent_id"] == "slow"]
    assert {entry["run_id"] for entry in seen["run_messages"]} == {slow["id"]}
    assert {prompt["hash"] for prompt in seen["prompts"]} == {slow["prompt_hash"]}
    await office.ask("POST", f"/runs/{slow['id']}/cancel")
    await office.run_finished("slow")
    assert (await forget(office, journals_days=90)).journals == 1, "it is looked at again when it is over"


async def test_zero_keeps_everything_and_the_audit_log_always_stays(home: Home, stack: AsyncExitStack) -> None:
    clock, database = today(), home.database
    office = (await home.enter(stack, clock=clock, drive=False)).office  # it forgets nothing by itself
    before = await snapshot.read(database.url)
    clock.advance(3650 * DAY)
    assert not await retention.forget(office.office.store, FOR_EVER)
    assert (await snapshot.read(database.url)).tables == before.tables
    assert await forget(office, events_days=1, journals_days=1, sessions_days=1)
    assert (await snapshot.read(database.url))["audit"] == before["audit"]


async def test_a_server_forgets_by_itself_when_it_starts(offices: Offices, database: Database) -> None:
    clock = today()
    first = await offices.open(clock=clock, drive=False, watch=False)
    await first.space("room")
    await first.post("room", "old")
    await first.office.store.close()
    clock.advance(31 * DAY)
    later = clock.now()
    second = await offices.open(clock=clock)

    async def forgotten() -> bool:
        seen = await snapshot.read(database.url)
        return not seen.remembers_all_events and all(e["at"] > later for e in seen.events)

    await second.until(forgotten)
