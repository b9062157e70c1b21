"""Whoever comes back misses nothing and hears nothing twice, or is told to load again."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import bindparam, delete, insert, select

from bullpen.events import feed
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import events, meta
from tests import effort
from tests.databases import Database
from tests.driver import Offices
from tests.feed.streams import following, rising
from tests.feed.worlds import Made, World, enter

_SELECT_EVENTS = Statement(select(events.c.xid, events.c.id).order_by(events.c.xid, events.c.id))
_FORGET = Statement(delete(events).where(events.c.xid <= bindparam("xid"), events.c.id <= bindparam("id")))
_NOTE = Statement(insert(meta))

CUTS = 300


async def talk(world: World, first: int, last: int) -> None:
    for number in range(first, last):
        await world.office.post("team" if number % 3 else "lobby", f"number {number}")


async def talk_until(world: World, enough: asyncio.Event) -> None:
    for number in itertools.count():
        if enough.is_set():
            return
        await world.office.post("team" if number % 3 else "lobby", f"number {number}")


@pytest.mark.proves("M2", "P7")
async def test_reconnecting_gives_exactly_what_was_missed(world: World) -> None:
    async with following(world.office) as faithful:
        async with following(world.office) as leaving:
            await talk(world, 0, 5)
            cursor = (await leaving.until_text("number 4")).id
        await talk(world, 5, 12)
        async with following(world.office, last_id=cursor) as back:
            await talk(world, 12, 15)
            await back.until_text("number 14")
            await faithful.until_text("number 14")
            assert back.texts() == [f"number {n}" for n in range(5, 15)]
            assert back.ids == faithful.ids[-10:]
            assert rising(faithful.ids)


@pytest.mark.proves("M2", "P7")
async def test_a_repeatedly_cut_off_follower_sees_the_same_events(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PAGE", 7)  # so that going on takes several pages
    dice = random.Random(7)
    heard: list[str] = []
    enough = asyncio.Event()
    async with following(world.office) as faithful:
        cursor = (await faithful.headers)["last-event-id"]
        writing = asyncio.gather(talk_until(world, enough), world.ask_ada("speak"))
        for cut in range(effort.count(CUTS, sample=15)):
            header, address = (cursor, None) if cut % 2 else (None, cursor)
            async with following(world.office, last_id=header, after=address) as brief:
                if cut % 3 == 0:
                    await brief.until(lambda event: True)
                for _ in range(dice.randrange(12)):
                    await asyncio.sleep(0)
            heard += brief.ids
            cursor = heard[-1] if heard else cursor
        enough.set()
        await writing
        await world.office.post("lobby", "the end")
        await faithful.until_text("the end")
        async with following(world.office, last_id=cursor) as brief:
            if brief.texts()[-1:] != ["the end"]:
                await brief.until_text("the end")
        heard += brief.ids
        assert heard == faithful.ids


@pytest.mark.proves("M2")
async def test_last_event_id_wins_over_the_equivalent_url_cursor(world: World) -> None:
    async with following(world.office) as stream:
        await talk(world, 0, 6)
        await stream.until_text("number 5")
    early, late = stream.ids[0], stream.ids[3]
    async with (
        following(world.office, after=late) as by_address,
        following(world.office, last_id=late) as by_header,
        following(world.office, last_id=late, after=early) as by_both,
    ):
        for follower in (by_address, by_header, by_both):
            await follower.until_text("number 5")
            assert follower.ids == stream.ids[4:]


@pytest.mark.proves("P7")
async def test_a_stream_lost_before_any_event_resumes_from_its_headers(world: World) -> None:
    async with following(world.office) as lost:
        began = (await lost.headers)["last-event-id"]
    await talk(world, 0, 3)
    async with following(world.office, last_id=began) as back:
        await back.until_text("number 2")
        assert back.texts() == ["number 0", "number 1", "number 2"]


@pytest.mark.proves("P7")
async def test_a_cursor_outlives_the_server(copied: tuple[Database, Made]) -> None:
    database, made = copied
    async with AsyncExitStack() as stack:
        world = await enter(Offices(database, stack), made)
        async with following(world.office, world["pia"]) as stream:
            await talk(world, 0, 2)
            cursor = (await stream.until_text("number 0")).id
    async with AsyncExitStack() as stack:
        world = await enter(Offices(database, stack), made)
        async with following(world.office, world["pia"], last_id=cursor) as back:
            await talk(world, 2, 3)
            await back.until_text("number 2")
            assert back.texts() == ["number 1", "number 2"]


# ── reset ───────────────────────────────────────────────────────────────────────────────────────────────────────────

Spoil = Callable[[str], str]
SPOILT: dict[str, Spoil] = {
    "garbage": lambda cursor: "garbage",
    "empty parts": lambda cursor: "..",
    "a number": lambda cursor: "12",
    "negative": lambda cursor: cursor.rpartition(".")[0] + ".-1",
    "too large for the database": lambda cursor: cursor.rpartition(".")[0] + ".9999999999999999999",
    "many digits": lambda cursor: cursor + "0" * 100,
    "other digits": lambda cursor: cursor[:-1] + "٣",
    "sql": lambda cursor: "' OR 1=1 --",
    "of another database": lambda cursor: "0123abcd" + cursor[8:],
    "of the future": lambda cursor: cursor.rpartition(".")[0] + ".999999999",
    "with a tail": lambda cursor: cursor + " ",
    "of a far transaction": lambda cursor: f"{cursor[:8]}.99999999.1",
}


@pytest.mark.proves("M3", "P7")
async def test_an_invalid_cursor_gets_a_reset_and_then_later_events(world: World) -> None:
    async with following(world.office) as stream:
        await world.office.post("team", "before")
        cursor = (await stream.until_text("before")).id
    assert cursor is not None
    async with AsyncExitStack() as stack:
        told = {
            name: await stack.enter_async_context(following(world.office, after=spoil(cursor)))
            for name, spoil in SPOILT.items()
        }
        await world.office.post("team", "after")
        for name, follower in told.items():
            await follower.until_text("after")
            assert [event["type"] for event in follower.events] == ["reset", "message_created"], name
            assert follower.told[0].id is None, "a reset is not a place to go on from"
            assert follower.events[0]["at"].endswith("Z")


async def forget(world: World, count: int) -> None:
    """What retention will do: remove the oldest events, and note the newest of them."""

    async def body(tx: Transaction) -> None:
        xid, id = list(await tx.all(_SELECT_EVENTS))[count - 1]
        await tx.run(_FORGET, xid=xid, id=id)
        await tx.run(_NOTE, key="events_forgotten", value=f"{xid}.{id}")

    await world.office.office.store.transact(body)


@pytest.mark.proves("M3", "P7")
async def test_a_cursor_older_than_retention_resets_and_newer_ones_resume(world: World) -> None:
    async with following(world.office) as stream:
        await talk(world, 0, 6)
        await stream.until_text("number 5")
        total = len(await world.office.office.store.read(lambda tx: tx.all(_SELECT_EVENTS)))
    await forget(world, total - 3)
    too_old, newest_forgotten, kept = stream.ids[1], stream.ids[2], stream.ids[3]
    async with (
        following(world.office, last_id=too_old) as reset,
        following(world.office, last_id=newest_forgotten) as whole,
        following(world.office, last_id=kept) as rest,
    ):
        await world.office.post("lobby", "now")
        for follower in (reset, whole, rest):
            await follower.until_text("now")
        assert [event["type"] for event in reset.events] == ["reset", "message_created"]
        assert whole.texts() == ["number 3", "number 4", "number 5", "now"]
        assert rest.texts() == ["number 4", "number 5", "now"]


@pytest.mark.proves("M3")
async def test_an_owner_who_lost_access_while_away_gets_a_reset(world: World) -> None:
    async with following(world.office) as stream:
        cursor = (await stream.headers)["last-event-id"]
    owner = world.office.owner_id
    await world.office.ask("DELETE", f"/spaces/ring/members/{owner}")
    await world["pia"].ask("PATCH", "/spaces/ring", json={"private": True, "name": "secret ring"})
    async with following(world.office, last_id=cursor) as back:
        await world.office.post("lobby", "later")
        await back.until_text("later")
        assert [event["type"] for event in back.events] == ["member_left", "reset", "message_created"]
        assert b"secret ring" not in back.body
