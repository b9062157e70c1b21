"""The stream as bytes: headers, heartbeats, filters, live-only events, and one encoding for all."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import select

from bullpen.events import feed
from bullpen.storage import Statement
from bullpen.storage.tables import events
from bullpen.wire import LIVE_EVENTS, STORED_EVENTS
from bullpen.wire.events import AgentTyping
from tests.databases import Database
from tests.driver import Json, Offices
from tests.feed.streams import Stream, following
from tests.feed.worlds import Made, World, enter
from tests.waits import BOUND

_SELECT_TYPES = Statement(select(events.c.type).distinct())
# Nobody is present yet: people sign in later. What somebody has read: tests/path/test_unread.py. How far a program is
# with a call: tests/client/test_tools.py.
SENT_LIVE = LIVE_EVENTS - {"presence", "space_read", "tool.progress", "person_typing"}


# ── headers and heartbeats ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("M7")
async def test_proxies_must_not_buffer_and_comments_keep_idle_streams_open(
    copied: tuple[Database, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert feed.HEARTBEAT_SECONDS <= 15
    monkeypatch.setattr(feed, "HEARTBEAT_SECONDS", 0.02)
    database, made = copied
    async with AsyncExitStack() as stack:
        world = await enter(Offices(database, stack), made, drive=False)
        async with following(world.office, world["pia"]) as stream, following(world.office) as other:
            headers = await stream.headers
            assert headers["content-type"].startswith("text/event-stream")
            assert headers["x-accel-buffering"] == "no"
            assert "no-store" in headers["cache-control"]
            await stream.until_comments(4)
            await other.until_comments(4)
            assert not stream.events
            assert all(frame.id is None for frame in stream.frames)


@pytest.mark.one_database
async def test_each_frame_is_one_json_line_preceded_by_its_cursor(world: World) -> None:
    async with following(world.office) as stream:
        await world.office.post("team", "a\r\nline\n\nbreak\u2028 id: 7\n\ndata: {}\n")
        await stream.until_type("message_created")
        [frame] = stream.told
        assert frame.data is not None
        assert frame.data["message"]["text"].endswith("data: {}\n")
        assert stream.body == b": welcome\n\n" + stream.body.partition(b"\n\n")[2]
        assert stream.body.count(b"\n\n") == 2
        assert list(frame.data)[:3] == ["type", "spaceId", "at"]


# ── nothing is missed ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_whatever_commits_after_the_headers_is_delivered(world: World) -> None:
    async with AsyncExitStack() as stack:
        streams = []
        for number in range(30):
            stream = await stack.enter_async_context(following(world.office, world["pia" if number % 2 else "ada"]))
            await world.office.post("lobby", f"right after {number}")
            streams.append(stream)
        for number, stream in enumerate(streams):
            await stream.until_text("right after 29")
            assert stream.texts() == [f"right after {n}" for n in range(number, 30)]


async def test_without_a_cursor_the_stream_starts_now(world: World) -> None:
    await world.office.post("lobby", "before")
    async with following(world.office) as stream:
        await world.office.post("lobby", "after")
        await stream.until_text("after")
        assert stream.texts() == ["after"]


# ── filters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def finished(streams: list[Stream], world: World) -> None:
    """Everybody has everything: what is said next in the lobby reaches whoever has no filter; the others are pumped."""
    await world.office.idle()
    await world.office.post("lobby", "end")
    await streams[0].until_text("end")


async def test_a_space_filter_gives_that_space_only(world: World) -> None:
    async with following(world.office) as all_of_it, following(world.office, space_id="team") as team:
        await world.office.post("lobby", "elsewhere")
        run = await world.ask_ada("speak")
        await world.office.create("/spaces/team/members", {"memberId": "pong"})
        await world.office.create("/agents/ada/trigger", {"serviceName": "bell"})
        await world.office.run_finished("ada", nth=2)
        await finished([all_of_it], world)
        wanted = [event for event in all_of_it.stored if event.get("spaceId") == "team"]
        assert team.stored == wanted
        assert {"message_created", "run_started", "run_finished", "tool.done", "member_joined"} <= set(team.types())
        assert run["id"] in {event.get("runId") for event in team.stored}


@pytest.mark.one_database
async def test_a_dm_is_found_by_either_order_of_its_members(world: World) -> None:
    await world.office.dm("psn_pia", "ada")
    async with following(world.office, world["pia"], space_id="dm-psn_pia-ada") as stream:
        await world["pia"].create("/spaces/dm-ada-psn_pia/messages", {"text": "hello"})
        await stream.until_text("hello")


async def test_a_run_filter_gives_that_run_only(world: World) -> None:
    async with following(world.office) as stream:
        first = await world.ask_ada("speak")
        second = await world.ask_ada("use tools", nth=2)
        await finished([stream], world)
    for run in (first, second):
        wanted = [event for event in stream.stored if event.get("runId") == run["id"]]
        async with following(world.office, run_id=run["id"], last_id=stream.ids[0]) as one:
            await one.until_type("run_finished")
            assert one.types()[0] == "run_started"
            assert one.stored == wanted
            assert "message_created" in one.types() or run is second


@pytest.mark.one_database
async def test_a_space_one_may_not_read_cannot_be_followed(world: World) -> None:
    for caller, space_id, status in (
        ("otto", "team", 404),
        ("owner", "den", 404),
        ("otto", "ring", 403),
        ("ada", "ring", 404),
        ("otto", "no-such-space", 404),
    ):
        async with following(world.office, world[caller], space_id=space_id) as stream:
            assert (caller, space_id, stream.status) == (caller, space_id, status)


# ── live-only events ────────────────────────────────────────────────────────────────────────────────────────────────


def shown(stream: Stream, type: str) -> list[Json]:
    return [event for event in stream.events if event["type"] == type]


@pytest.mark.one_database
async def test_live_events_show_work_in_progress_and_are_never_stored(world: World) -> None:
    await world.office.agent("tess", [{"steps": [{"calls": [say("word " * 300)]}]}])
    await world.office.space("stage", ["tess", "psn_pia"])
    async with following(world.office) as stream, following(world.office, world["pia"]) as member:
        await world.office.post("stage", "@tess tell us")
        run = await world.office.run_finished("tess")
        await stream.until_type("agent_done")
        await finished([member], world)
        seen = {event["type"] for event in stream.events}
        assert seen >= SENT_LIVE
        for frame in stream.told:
            assert frame.data is not None
            assert (frame.data["type"] in LIVE_EVENTS) == (frame.id is None)
            assert frame.data["type"] in STORED_EVENTS | LIVE_EVENTS
        for type in SENT_LIVE:
            for event in shown(stream, type):
                assert (event["runId"], event["agentId"], event["spaceId"]) == (run["id"], "tess", "stage")
        for type, whole in (("tool.streaming", '{"text":"' + "word " * 300), ("message_streaming", "word " * 300)):
            pieces = [event["text"] for event in shown(stream, type)]
            assert pieces == sorted(pieces, key=len)
            assert all(whole.startswith(piece.removesuffix('"}')) for piece in pieces), "each holds all so far"
        assert not shown(member, "tool.streaming"), "arguments of a call that is not visible are not for members"
        assert shown(member, "message_streaming")
        assert shown(member, "agent_typing")
    stored = {row[0] for row in await world.office.office.store.read(lambda tx: tx.all(_SELECT_TYPES))}
    assert stored <= STORED_EVENTS


@pytest.mark.one_database
@pytest.mark.proves("S4-32")
async def test_members_see_a_visible_calls_arguments_as_they_stream(world: World) -> None:
    await world.office.create("/tools", CHART)
    args: Json = {"title": "Sales", "bars": list(range(300)), "spoken": "word " * 200}
    steps = [{"calls": [{"tool": "drawChart", "args": args}]}]
    await world.office.agent("tess", [{"steps": steps}], tools=["messaging", "drawChart"])
    await world.office.space("stage", ["tess", "psn_pia"])
    async with following(world.office, world["pia"]) as member, following(world.office, world["otto"]) as outsider:
        await world.office.post("stage", "@tess draw")
        await world.office.run_finished("tess")
        await finished([member, outsider], world)
    pieces = shown(member, "tool.streaming")
    assert pieces
    for piece in pieces:
        assert (piece["call"]["toolName"], piece["spaceId"]) == ("drawChart", "stage")
        for name, value in (piece["call"].get("args") or {}).items():
            assert value == args[name][: len(value)], "each holds a beginning of the whole"
    assert not shown(outsider, "tool.streaming")
    (done,) = [event["call"] for event in shown(member, "tool.done")]
    assert done["result"] == {"success": True, "args": args}


CHART: Json = {
    "name": "drawChart",
    "description": "Draw a chart",
    "inputSchema": {"type": "object"},
    "executionType": "internal",
    "visible": True,
}


def say(text: str) -> Json:
    return {"tool": "send_message", "args": {"text": text}}


@pytest.mark.parametrize("copied", ["postgres"], indirect=True)
async def test_live_events_reach_followers_of_another_process(copied: tuple[Database, Made]) -> None:
    database, made = copied
    async with AsyncExitStack() as stack:
        offices = Offices(database, stack)
        here, there = await enter(offices, made), await enter(offices, made, drive=False)
        async with following(there.office, there["ada"]) as stream, following(there.office, there["otto"]) as outsider:
            await here.ask_ada("be lengthy")
            await stream.until_type("agent_done")
            await here.office.post("lobby", "end")
            await outsider.until_text("end")
            assert {"agent_typing", "tool.streaming", "agent_done"} <= {event["type"] for event in stream.events}
            pieces = [event["text"] for event in shown(stream, "tool.streaming")]
            assert pieces
            assert all(('{"text":"' + "word " * 1000).startswith(piece.removesuffix('"}')) for piece in pieces)
            assert {event["type"] for event in outsider.events} == {"message_created"}


@pytest.mark.one_database
async def test_live_events_keep_to_the_filters(world: World) -> None:
    async with (
        following(world.office, space_id="team") as team,
        following(world.office, space_id="lobby") as lobby,
        following(world.office, run_id="run_of_nobody") as nothing,
    ):
        run = await world.ask_ada("speak")
        await team.until_type("agent_done")
        async with following(world.office, run_id=run["id"]):
            await finished([lobby], world)
        assert {event["type"] for event in lobby.events} == {"message_created"}
        assert not nothing.events
        assert {event.get("spaceId") for event in team.events} == {"team"}


# ── one encoding for all ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_an_event_is_encoded_once_for_all_followers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks: list[bytes] = []
    put = feed.Follower.put

    def kept(self: feed.Follower, chunk: bytes, *, live: bool = False) -> None:
        chunks.append(chunk)
        put(self, chunk, live=live)

    monkeypatch.setattr(feed.Follower, "put", kept)
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(following(world.office, world[name])) for name in ("pia", "ada") * 3]
        await world.office.post("team", "to all of you")
        for stream in streams:
            await stream.until_text("to all of you")
        feeds = world.office.office.feed
        feeds.publish(AgentTyping(space_id="team", agent_id="ada", run_id="run_x"))
        for stream in streams:
            await stream.until_type("agent_typing")
    for type in (b"message_created", b"agent_typing"):
        same = [chunk for chunk in chunks if b'"type":"%s"' % type in chunk]
        assert len(same) == len(streams) + 1, "the test's own follower is one more"
        assert len({id(chunk) for chunk in same}) == 1


@pytest.mark.one_database
async def test_a_stream_ends_when_its_server_stops(copied: tuple[Database, Made]) -> None:
    database, made = copied
    async with AsyncExitStack() as stack:
        world = await enter(Offices(database, stack), made, drive=False)
        stream = Stream(world["pia"], None, {})
        await stream.open()
    async with asyncio.timeout(BOUND):
        await stream.until_ended()
    await stream.close()
