"""Who has the page open: told to everybody, never stored, and to whoever comes."""

from __future__ import annotations

from dataclasses import replace

import orjson

from tests.driver import Driver


async def test_a_page_that_opens_and_closes_is_told_to_everybody_and_a_token_is_not(office: Driver) -> None:
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
