"""Who has the page open: told to everybody, never stored, and to whoever comes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import orjson
import pytest

from bullpen.events import feed as feeds
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.feed.worlds import Made, enter
from tests.waits import BOUND


@pytest.mark.one_database
async def test_opening_and_closing_pages_announces_presence_but_tokens_do_not(office: Driver) -> None:
    feed = office.office.feed
    owner = await office.office.local_owner()
    first, _ = await feed.follow(replace(owner, id="psn_ann", credential="ses_1"))
    feed.arrive(first)
    here = await office.event("presence", lambda event: event["presence"]["personId"] == "psn_ann")
    assert here["presence"]["here"] is True
    second, chunks = await feed.follow(replace(owner, id="psn_bea", credential="ses_2"))
    feed.arrive(second)
    await anext(chunks)
    told = [orjson.loads(line[6:]) for line in (await anext(chunks)).split(b"\n") if line.startswith(b"data: ")]
    assert next(each["presence"]["personId"] for each in told if each["type"] == "presence") == "psn_ann"
    program, _ = await feed.follow(replace(owner, id="psn_cyd", credential="tok_1"))
    feed.arrive(program)
    for follower in (program, second, first):
        feed.leave(follower)
    gone = await office.event("presence", lambda event: event["presence"] == {"personId": "psn_ann", "here": False})
    assert "id" not in gone
    seen = {event["presence"]["personId"] for event in office.events if event["type"] == "presence"}
    assert seen == {"psn_ann", "psn_bea"}


@pytest.mark.one_database
async def test_whoever_closes_one_of_two_pages_is_still_there(office: Driver) -> None:
    feed = office.office.feed
    owner = await office.office.local_owner()
    ann = replace(owner, id="psn_ann", credential="ses_1")
    one, _ = await feed.follow(ann)
    two, _ = await feed.follow(ann)
    for page in (one, two):
        feed.arrive(page)
    feed.leave(one)
    feed.leave(two)
    await office.event("presence", lambda event: not event["presence"]["here"])
    told = [event["presence"]["here"] for event in office.events if event["type"] == "presence"]
    assert told == [True, True, False]


async def test_an_idle_page_receives_presence_events_as_heartbeats(
    copied: tuple[Database, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is dead without being closed looks like one where nothing happens, but for this."""
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", 0.02)
    database, made = copied
    async with AsyncExitStack() as stack:
        world = await enter(Offices(database, stack), made, drive=False)
        feed = world.office.office.feed
        owner = replace(await world.office.office.local_owner(), id="psn_ann")
        page, pulse = await feed.follow(replace(owner, credential="ses_1"))
        program, comments = await feed.follow(replace(owner, credential="tok_1"))
        async with asyncio.timeout(BOUND):
            heard = b"".join([await anext(pulse) for _ in range(6)])
            quiet = b"".join([await anext(comments) for _ in range(3)])
        told = [orjson.loads(line[6:]) for line in heard.split(b"\n") if line.startswith(b"data: ")]
        assert len(told) >= 2
        assert all(each["presence"] == {"personId": "psn_ann", "here": True} for each in told)
        assert b": still here" in heard  # as it is for everybody
        assert b"id:" not in heard
        if not world.office.office.store.shared:  # other processes are told who is here, and so is this one
            assert b"data:" not in quiet
        for follower in (page, program):
            feed.leave(follower)
