"""bp.events(): reconnects, never repeats, never skips."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.client import Bullpen, Event, Follow, Unauthenticated, Unreachable
from bullpen.client.follow import Parser
from bullpen.wire.events import ReactionAdded
from tests.client.scripted_server import answer, frame, scripted, stream
from tests.waits import BOUND

WELCOME = b": welcome\n\n"


def event(number: int) -> bytes:
    return frame(str(number), type="message_created", number=number)


async def take(follow: Follow, count: int) -> list[Event]:
    async with asyncio.timeout(BOUND):
        return [await anext(follow) for _ in range(count)]


async def test_a_lost_connection_goes_on_after_the_last_event() -> None:
    async with scripted(stream(event(1), event(2)), stream(event(3))) as server, Bullpen(server.url, "t") as bp:
        events = await take(bp.events(), 3)
    assert [found["number"] for found in events] == [1, 2, 3]
    assert "last-event-id" not in server.requests[0].headers
    assert server.requests[1].headers["last-event-id"] == "2"


async def test_an_event_that_was_cut_off_comes_once_and_whole() -> None:
    cut = event(2)[:-9]
    async with scripted(stream(event(1), cut), stream(event(2))) as server, Bullpen(server.url, "t") as bp:
        events = await take(bp.events(), 2)
    assert [found["number"] for found in events] == [1, 2]
    assert server.requests[1].headers["last-event-id"] == "1"


async def test_the_client_resumes_a_stream_lost_before_its_first_event() -> None:
    first = stream(WELCOME, headers=["Last-Event-ID: start"])
    async with scripted(first, stream(event(1))) as server, Bullpen(server.url, "t") as bp:
        await take(bp.events(), 1)
    assert server.requests[1].headers["last-event-id"] == "start"


async def test_an_id_without_an_event_moves_the_cursor() -> None:
    async with scripted(stream(b"id: here\n\n"), stream(event(1))) as server, Bullpen(server.url, "t") as bp:
        (found,) = await take(bp.events(), 1)
    assert found["number"] == 1
    assert server.requests[1].headers["last-event-id"] == "here"


async def test_the_client_yields_a_reset_and_drops_the_dead_cursor() -> None:
    reset = stream(WELCOME, frame(None, type="reset"), headers=["Last-Event-ID: now"])
    async with scripted(reset, stream(event(1))) as server, Bullpen(server.url, "t") as bp:
        events = await take(bp.events(after="ancient"), 2)
    assert [found.type for found in events] == ["reset", "message_created"]
    assert [request.headers["last-event-id"] for request in server.requests] == ["ancient", "now"]


def test_an_event_can_be_read_as_its_class() -> None:
    reaction = {"messageId": "msg_1", "memberId": "ada", "emoji": "👋"}
    payload = {"type": "reaction_added", "spaceId": "general", "at": "2026-11-15T12:00:00Z", "reaction": reaction}
    typed = Event("reaction_added", payload).typed
    assert isinstance(typed, ReactionAdded)
    assert (typed.space_id, typed.at, typed.reaction.emoji) == ("general", "2026-11-15T12:00:00Z", "👋")
    assert Event("kettle.boiled", {"type": "kettle.boiled"}).typed is None


async def test_a_wait_that_was_cancelled_loses_nothing() -> None:
    async with (
        scripted(stream(event(1), event(2), WELCOME), stream(event(3))) as server,
        Bullpen(server.url, "t") as bp,
    ):
        follow = bp.events()
        (first,) = await take(follow, 1)
        waiting = asyncio.create_task(take(follow, 2))
        while len(server.requests) < 2:  # the second connection is open, and says nothing yet
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert (first["number"], follow.cursor) == (1, "2")


async def test_a_server_that_is_restarting_is_waited_for() -> None:
    busy = answer(503, {"error": {"code": "unavailable", "message": "starting"}})
    async with scripted(stream(event(1)), None, busy, stream(event(2))) as server, Bullpen(server.url, "t") as bp:
        events = await take(bp.events(), 2)
    assert [found["number"] for found in events] == [1, 2]
    assert [request.headers["last-event-id"] for request in server.requests[1:]] == ["1", "1", "1"]


async def test_an_unauthorised_follower_gets_an_error_instead_of_waiting() -> None:
    refusal = answer(401, {"error": {"code": "unauthenticated", "message": "Who are you?"}})
    async with scripted(refusal) as server, Bullpen(server.url, "t") as bp:
        with pytest.raises(Unauthenticated, match="Who are you"):
            await anext(bp.events())


async def test_opening_a_stream_without_a_server_raises_unreachable() -> None:
    async with Bullpen("http://127.0.0.1:9", "t", patience=0) as bp:
        with pytest.raises(Unreachable):
            await bp.events().__aenter__()


async def test_space_and_run_filters_are_sent_as_query_parameters() -> None:
    async with scripted(stream(event(1))) as server, Bullpen(server.url, "t") as bp:
        await take(bp.events(space="general", run="run_1"), 1)
    assert server.requests[0].line == "GET /api/events?spaceId=general&runId=run_1 HTTP/1.1"


# ── bytes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_a_line_feed_ends_a_line() -> None:
    """Text may hold characters at which Python's splitlines() would cut."""
    text = "one\u2028two\u0085three\x0bfour\x1cfive"
    (found,) = Parser().feed(frame("1", type="message_created", text=text))
    assert found["text"] == text


@given(st.lists(st.text(), max_size=4), st.data())
def test_events_are_the_same_however_the_network_cuts_them(texts: list[str], data: st.DataObject) -> None:
    whole = b"".join(
        WELCOME + frame(str(number), type="message_created", text=text.encode("utf-8", "replace").decode())
        for number, text in enumerate(texts)
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parser, pieces = Parser(), zip([0, *cuts], [*cuts, len(whole)], strict=True)
    assert [event for a, b in pieces for event in parser.feed(whole[a:b])] == Parser().feed(whole)
