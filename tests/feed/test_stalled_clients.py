"""A client that does not read costs little, is dropped, and disturbs nobody; when it comes back it has lost nothing."""

from __future__ import annotations

import http.client
import random
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from bullpen.events import feed
from bullpen.events.actions import record
from bullpen.storage import Transaction
from bullpen.wire.events import AgentTyping, MemberReaction, ReactionAdded
from tests.connections import api, resident
from tests.feed.streams import Frame, following, parse
from tests.feed.worlds import World
from tests.servers import Server
from tests.waits import BOUND

STALLED = 8
LONG = "x" * 30_000
MANY = 2 * feed.BUFFER_EVENTS

pytestmark = pytest.mark.one_database


def reacted(emoji: str) -> ReactionAdded:
    return ReactionAdded(space_id="lobby", reaction=MemberReaction(message_id="msg_1", member_id="ada", emoji=emoji))


async def many_events(tx: Transaction) -> None:
    for number in range(MANY):
        record(tx, reacted(str(number)))


# ── in this process: the limits ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_full_buffer_stays_within_limits_and_drops_its_follower(world: World) -> None:
    largest = [0, 0]
    put = feed.Follower.put

    def watched(self: feed.Follower, chunk: bytes, *, live: bool = False) -> None:
        put(self, chunk, live=live)
        largest[0] = max(largest[0], len(self.buffer))
        largest[1] = max(largest[1], sum(map(len, self.buffer)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed.Follower, "put", watched)
        async with following(world.office) as many_small, following(world.office) as others:
            many_small.stall()
            await world.office.office.store.transact(many_events)
            await many_small.until_ended()
            await world.office.post("lobby", "end")
            await others.until_text("end")
            assert len(others.stored) == MANY + 1
            assert not others.ended
        assert largest[0] == feed.BUFFER_EVENTS == 512
        async with following(world.office) as few_large, following(world.office) as others:
            few_large.stall()
            for _ in range(12):
                await world.office.post("lobby", LONG)
            await few_large.until_ended()
            await world.office.post("lobby", "end")
            await others.until_text("end")
            assert len(others.stored) == 13
        assert 200_000 < largest[1] <= feed.BUFFER_BYTES == 262_144


@pytest.mark.proves("M1")
async def test_a_burst_larger_than_any_buffer_drops_nobody_who_reads(world: World) -> None:
    async def heavy(tx: Transaction) -> None:
        for _ in range(40):
            record(tx, reacted(LONG))
        record(tx, reacted("y" * 2 * feed.BUFFER_BYTES))

    async with following(world.office) as stream:
        await world.office.office.store.transact(many_events)
        await world.office.office.store.transact(heavy)
        await world.office.post("lobby", "end")
        await stream.until_text("end")
        assert len(stream.stored) == MANY + 41 + 1


async def test_live_events_drop_no_follower_and_displace_no_stored_events(world: World) -> None:
    async with following(world.office) as stream:
        stream.stall()
        for _ in range(3 * feed.BUFFER_EVENTS):
            world.office.office.feed.publish(AgentTyping(space_id="team", agent_id="ada", run_id="run_x"))
        await world.office.post("team", "stored")
        stream.resume()
        await stream.until_text("stored")
        typing = [event for event in stream.events if event["type"] == "agent_typing"]
        assert 0 < len(typing) <= feed.BUFFER_EVENTS // 2 + 2


async def test_a_follower_who_left_is_forgotten(world: World) -> None:
    before = len(world.office.office.feed._followers)
    async with following(world.office), following(world.office) as stalled:
        stalled.stall()
        assert len(world.office.office.feed._followers) == before + 2
    assert len(world.office.office.feed._followers) == before


# ── a real server and real sockets ──────────────────────────────────────────────────────────────────────────────────


def ask_for_events(server: Server, cursor: str | None = None, *, small: bool = False) -> socket.socket:
    """A connection that has asked for the stream and read nothing of it."""
    address = urlsplit(server.url)
    made = socket.socket()
    if small:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    made.settimeout(BOUND)
    made.connect((address.hostname or "", address.port or 0))
    resume = f"Last-Event-ID: {cursor}\r\n" if cursor else ""
    request = f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n{resume}\r\n"
    made.sendall(request.encode())
    return made


class Reading(http.client.HTTPResponse):
    """What comes out of such a connection, unchunked."""

    def __init__(self, made: socket.socket) -> None:
        super().__init__(made, method="GET")
        self.begin()

    def frames(self, atmost: int = 2**62, until: str | None = None) -> list[Frame]:
        """Whole frames among the next bytes, up to this text, or else to the end of the connection."""
        found: list[Frame] = []
        size, rest = 0, b""
        try:
            while size < atmost and (until is None or until not in texts(found[-5:])):
                piece = self.read1(min(65_536, atmost - size))
                if not piece:
                    break
                size += len(piece)
                *blocks, rest = (rest + piece).split(b"\n\n")
                found += [parse(block) for block in blocks]
        except (http.client.IncompleteRead, ConnectionError):
            pass  # dropped in the middle of a chunk
        return found


def post(client: httpx.Client, text: str) -> None:
    client.post("/spaces/general/messages", json={"text": text}).raise_for_status()


class Listening(threading.Thread):
    """A client that reads as it should."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._made = ask_for_events(server)
        self.reading = Reading(self._made)
        self.frames: list[Frame] = []
        self.start()

    def run(self) -> None:
        with self._made, self.reading:
            self.frames = self.reading.frames(until="end")


def texts(frames: list[Frame]) -> list[str]:
    return [frame.data["message"]["text"] for frame in frames if frame.data is not None and "message" in frame.data]


@pytest.mark.proves("M1")
def test_stalled_clients_are_dropped_cost_little_memory_and_disturb_nobody(server: Server) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is read from /proc")
    # The kernel takes some of it before the server notices anything.
    kernel = int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])
    words = [f"{number} {LONG}" for number in range((kernel + 1_000_000) // len(LONG))]
    with api(server) as client:
        for text in words[:60]:
            post(client, text)  # so that what the traffic itself costs is there already
        healthy = Listening(server)
        stalled = [ask_for_events(server, small=True) for _ in range(STALLED)]
        readings = [Reading(each) for each in stalled]  # their headers are there: they follow
        before = resident(server)
        for text in words:
            post(client, text)
        grown = resident(server) - before
        post(client, "end")
        healthy.join(BOUND)
        assert texts(healthy.frames) == [*words, "end"]
        assert grown / STALLED <= 524_288, f"{grown / STALLED / 1024:.0f} KiB for each"
        got: list[Frame] = []
        for reading, made in zip(readings, stalled, strict=True):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000_000)
            got = reading.frames()  # it ends: the server has closed it
            reading.close()
            made.close()
            assert texts(got) == words[: len(texts(got))]
            assert len(texts(got)) < len(words)
        with ask_for_events(server, [frame.id for frame in got if frame.id][-1]) as made, Reading(made) as back:
            assert texts(got) + texts(back.frames(until="end")) == [*words, "end"]
    assert server.stop() == 0


@pytest.mark.proves("P7")
def test_a_stream_cut_anywhere_resumes_without_gap_or_repeat(server: Server) -> None:
    dice = random.Random(11)
    words = [f"word {number} " + "y" * dice.randrange(2_000) for number in range(40)]
    with api(server) as client:
        with ask_for_events(server) as made, Reading(made) as reading:
            cursor = reading.headers["last-event-id"]
        for text in [*words, *(["z" * 4_000] * 2)]:
            post(client, text)
        heard: list[Frame] = []
        for _ in range(400):
            with ask_for_events(server, cursor) as made, Reading(made) as reading:
                heard += [frame for frame in reading.frames(atmost=dice.randrange(1, 4_000)) if frame.id]
            cursor = heard[-1].id if heard else cursor
            if len(heard) >= len(words):
                break
        assert texts(heard)[: len(words)] == words
