"""Who has the page open: told to everybody, never stored, and to whoever comes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import orjson
import pytest

from bullpen.access import actions as access
from bullpen.access.types import Principal
from bullpen.app import Office
from bullpen.events import feed as feeds
from bullpen.storage import Transaction
from tests.databases import Database
from tests.driver import Api, Driver, Offices
from tests.feed.worlds import Made, enter
from tests.waits import BOUND


async def signed_in(opened: Office, person_id: str) -> Principal:
    """Somebody with a session, as the page has one."""

    async def sign_in(tx: Transaction) -> Principal | None:
        person = access.principal_of_person(await access.get_person(tx, person_id))
        return await access.principal_of_session(tx, await access.open_session(tx, person, days=1))

    found = await opened.store.transact(sign_in)
    assert found is not None
    return found


async def with_token(api: Api) -> Principal:
    found = await api.office.store.read(lambda tx: access.principal_of(tx, str(api.token)))
    assert found is not None
    return found


@pytest.mark.one_database
async def test_opening_and_closing_pages_announces_presence_but_tokens_do_not(office: Driver) -> None:
    feed = office.office.feed
    (ann, _), (bea, _), (_, cyd) = [await office.person(name) for name in ("Ann", "Bea", "Cyd")]
    first, _ = await feed.follow(await signed_in(office.office, ann))
    feed.arrive(first)
    here = await office.event("presence", lambda event: event["presence"]["personId"] == ann)
    assert here["presence"]["here"] is True
    second, chunks = await feed.follow(await signed_in(office.office, bea))
    feed.arrive(second)
    await anext(chunks)
    told = [orjson.loads(line[6:]) for line in (await anext(chunks)).split(b"\n") if line.startswith(b"data: ")]
    assert next(each["presence"]["personId"] for each in told if each["type"] == "presence") == ann
    program, _ = await feed.follow(await with_token(cyd))
    feed.arrive(program)
    for follower in (program, second, first):
        feed.leave(follower)
    gone = await office.event("presence", lambda event: event["presence"] == {"personId": ann, "here": False})
    assert "id" not in gone
    seen = {event["presence"]["personId"] for event in office.events if event["type"] == "presence"}
    assert seen == {ann, bea}


@pytest.mark.one_database
async def test_whoever_closes_one_of_two_pages_is_still_there(office: Driver) -> None:
    feed = office.office.feed
    ann = await signed_in(office.office, (await office.person("Ann"))[0])
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
        page, pulse = await feed.follow(await signed_in(world.office.office, "psn_pia"))
        program, comments = await feed.follow(await with_token(world["pia"]))
        async with asyncio.timeout(BOUND):
            heard = b"".join([await anext(pulse) for _ in range(6)])
            quiet = b"".join([await anext(comments) for _ in range(3)])
        told = [orjson.loads(line[6:]) for line in heard.split(b"\n") if line.startswith(b"data: ")]
        assert len(told) >= 2
        assert all(each["presence"] == {"personId": "psn_pia", "here": True} for each in told)
        assert b": still here" in heard  # as it is for everybody
        assert b"id:" not in heard
        if not world.office.office.store.shared:  # other processes are told who is here, and so is this one
            assert b"data:" not in quiet
        for follower in (page, program):
            feed.leave(follower)
