"""Events are read in one order, whatever the order in which their transactions end; and a lost hint loses nothing."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import pytest

from bullpen.errors import Unavailable
from bullpen.events import feed, signals
from bullpen.events.actions import record
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows
from bullpen.spaces.types import Draft, PostingRules
from bullpen.storage import Transaction
from bullpen.storage.postgres import PostgresStore
from bullpen.storage.store import Body
from bullpen.wire import Space, Wake
from bullpen.wire.events import MemberReaction, ReactionAdded, SpaceUpdated
from tests.databases import Database
from tests.driver import Offices
from tests.feed.streams import following, rising
from tests.feed.worlds import Made, World, enter
from tests.waits import BOUND

T = TypeVar("T")

on_postgres = pytest.mark.parametrize("copied", ["postgres"], indirect=True)


class Undo(Exception):
    pass


async def post_slowly(world: World, text: str, begun: asyncio.Event, go_on: asyncio.Event, *, undo: bool) -> None:
    """A post whose transaction has written everything, has its number, and does not end."""

    async def body(tx: Transaction) -> Draft:
        room = await rows.select_room(tx, "lobby")
        assert room is not None
        draft = await spaces.post(tx, room, spaces.SYSTEM_AUTHOR, text, PostingRules())
        await tx.settle()
        begun.set()
        await go_on.wait()
        if undo:
            raise Undo
        return draft

    await world.office.office.store.transact(body)


@pytest.mark.proves("M4")
@on_postgres
@pytest.mark.parametrize("undo", [False, True], ids=["commits", "rolls back"])
async def test_events_wait_for_transactions_that_began_earlier(world: World, undo: bool) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    async with following(world.office) as stream:
        slow = asyncio.create_task(post_slowly(world, "began first", begun, go_on, undo=undo))
        await begun.wait()
        await world.office.post("team", "committed first")
        assert await world.office.office.feed.pump(), "there is something that may not be read yet"
        async with following(world.office) as newcomer:
            assert stream.texts() == newcomer.texts() == []
            go_on.set()
            await asyncio.gather(slow, return_exceptions=True)
            for follower in (stream, newcomer):
                await follower.until_text("committed first")
                assert follower.texts() == [*([] if undo else ["began first"]), "committed first"]
                assert rising(follower.ids)
            assert not await world.office.office.feed.pump()


@pytest.mark.proves("M4")
async def test_concurrent_writes_are_each_read_once_in_rising_order(world: World) -> None:
    async with following(world.office) as stream, following(world.office, world["pia"]) as other:
        await asyncio.gather(*(world.office.post("team" if n % 2 else "lobby", f"{n}") for n in range(40)))
        await world.office.post("lobby", "end")
        for follower in (stream, other):
            await follower.until_text("end")
            assert sorted(follower.texts()) == sorted([*map(str, range(40)), "end"])
            assert rising(follower.ids)
        assert stream.ids == other.ids


# ── lost hints ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def hear(here: World, there: World, text: str) -> None:
    """Post here, and wait until a follower there has it."""
    async with following(there.office, there["pia"]) as stream:
        await here.office.post("lobby", text)
        await stream.until_text(text)


@pytest.mark.proves("M5")
@on_postgres
async def test_after_a_cut_listen_connection_events_arrive_by_next_poll(
    copied: tuple[Database, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    database, made = copied
    own: list[Any] = []
    connect = PostgresStore.connect

    async def noted(self: PostgresStore) -> Any:
        own.append(await connect(self))
        return own[-1]

    monkeypatch.setattr(PostgresStore, "connect", noted)
    async with AsyncExitStack() as stack:
        offices = Offices(database, stack)
        here, there = await enter(offices, made, drive=False), await enter(offices, made, drive=False)
        await hear(here, there, "before")
        async with here.office.office.store.pool.acquire() as connection:  # type: ignore[attr-defined]
            for pid in {each.get_server_pid() for each in own if not each.is_closed()}:
                await connection.execute("SELECT pg_terminate_backend($1)", pid)
        await hear(here, there, "after")


@pytest.mark.proves("M5")
@on_postgres
async def test_without_any_hint_events_of_another_process_come_by_polling(
    copied: tuple[Database, Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert feed.POLL_SECONDS <= 1, "a lost hint delays an event by no more"
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.02)
    database, made = copied
    async with AsyncExitStack() as stack:
        offices = Offices(database, stack)
        here, there = await enter(offices, made, drive=False), await enter(offices, made, drive=False)
        await there.office.office.signals.stop()
        await hear(here, there, "quiet")


async def test_a_pump_that_cannot_read_tries_again_and_repeats_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = world.office.office.store
    read = store.read
    answers = [False, True, False, False, True, False]  # then always: also in the middle of what it read

    async def sometimes(body: Body[T]) -> T:
        pumping = asyncio.current_task() in world.office.office.feed._tasks
        if pumping and answers and not answers.pop(0):
            raise Unavailable("The database is away.")
        return await read(body)

    async def change(tx: Transaction) -> None:
        lobby = Space(id="lobby", kind="channel", name="Lobby", wake=Wake(people="all", agents="all"), created_at="")
        for number in range(3):
            reaction = MemberReaction(message_id="msg_1", member_id="ada", emoji=str(number))
            record(tx, ReactionAdded(space_id="lobby", reaction=reaction))
            record(tx, SpaceUpdated(space_id="lobby", space=lobby))  # asks anew who may read it

    async with following(world.office) as stream:
        monkeypatch.setattr(store, "read", sometimes)
        await store.transact(change)
        await world.office.post("lobby", "end")
        await stream.until_text("end")
        assert not answers
        assert [event["reaction"]["emoji"] for event in stream.stored if "reaction" in event] == ["0", "1", "2"]
        assert stream.types().count("space_updated") == 3


# ── live frames between processes ───────────────────────────────────────────────────────────────────────────────────


def carried(texts: list[str]) -> tuple[list[str], list[str]]:
    """What another process makes of texts that grow under one key, and what travelled."""
    here, there = signals.PostgresSignals(None, "here"), signals.PostgresSignals(None, "there")
    shown: list[str] = []
    there.on_live = lambda frame: shown.append(frame["text"])
    travelled = []
    for text in texts:
        for payload in here._shortened({"type": "tool.streaming", "key": "k", "text": text}):
            travelled.append(payload)
            there._hear_live(None, 1, "bullpen_live", payload)
    return shown, travelled


def test_a_long_text_is_sent_as_increments_and_arrives_whole() -> None:
    words = "wörter und 🎉 " * 1_500
    texts = [words[:end] for end in range(300, len(words), 700)]
    shown, travelled = carried(texts)
    assert shown[-1] == texts[-1]
    assert all(words.startswith(text) for text in shown)
    assert max(len(payload.encode()) for payload in travelled) < 8000, "a NOTIFY holds no more"
    assert sum(len(payload) for payload in travelled) < 2 * len(words)


def test_an_unchanged_long_text_is_not_sent_again() -> None:
    text = "x" * 20_000
    _, travelled = carried([text, text])
    assert len(travelled) == 20
    assert carried(["short", "short"])[0] == ["short", "short"]


def test_memory_of_streamed_texts_is_bounded() -> None:
    here = signals.PostgresSignals(None, "here")
    for number in range(3 * signals.KEPT):
        here._shortened({"key": f"{number}", "text": "words"})
        here._whole({"key": f"{number}", "text": "words", "offset": 0})
    assert len(here._sent) == len(here._received) == signals.KEPT


class Line:
    """A database that hears what is told, but breaks off the first time."""

    connection_errors = (ConnectionError,)

    def __init__(self) -> None:
        self.told: list[str] = []
        self.heard = asyncio.Event()
        self.breaks = True

    async def connect(self) -> Line:
        return self

    def terminate(self) -> None: ...

    def notice(self, error: Exception) -> None: ...

    async def add_listener(self, channel: str, hear: Any) -> None: ...

    async def execute(self, statement: str, *told: str, timeout: float) -> None:
        if told and self.breaks:
            self.breaks = False
            raise ConnectionError("cut")
        if told:
            self.told.append(told[0])
            self.heard.set()


async def test_a_cancel_is_sent_first_despite_full_queue_or_disconnection() -> None:
    line = Line()
    here = signals.PostgresSignals(line, "here")
    for number in range(2 * signals.MOST_WAITING):
        here.live({"type": "agent_typing", "number": number})
    here.cancel("run_1")
    await here.start()
    await asyncio.wait_for(line.heard.wait(), BOUND)
    await here.stop()
    assert line.told[0] == "bullpen_cancel"
    assert len(line.told) <= signals.MOST_WAITING + 1
