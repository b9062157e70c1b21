"""Followers: who reads events as they happen.

One pump per process reads new events, in order, once; each becomes the bytes of one SSE frame, and the same bytes
go to every follower that may see it. A follower has a bounded buffer: one that does not read is dropped and comes
back with its cursor, so a slow client costs nobody else anything and loses nothing.

A follower that comes with a cursor is first registered (so that nothing new escapes it) and then reads what lies
between its cursor and the pump's place from the table. State and events live in one database: nothing is patched.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic_core import from_json

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.ending import end
from bullpen.errors import Unauthenticated
from bullpen.events import actions, rows
from bullpen.events.signals import Signals
from bullpen.events.types import Audience, Place, StoredEvent, cursor, parse_cursor
from bullpen.observe import counts
from bullpen.storage import Store, Transaction
from bullpen.wire.events import (
    AccessChanged,
    LiveEvent,
    MemberJoined,
    MemberLeft,
    PendingResolved,
    Presence,
    PresenceChanged,
    Reset,
    SpaceCreated,
    SpaceErased,
    SpaceUpdated,
    ToolRequiresAction,
    ToolStreaming,
    name_event,
    name_events,
)

BUFFER_EVENTS = 512
BUFFER_BYTES = 262_144
PAGE = 200
# The pump lets followers read after so many events, or as many times this many bytes.
BURST = 64
BURST_UNIT = 1024
POLL_SECONDS = 1.0
# Of so many calls that grow it is remembered whether followers have seen them begin.
CALLS = 1_000
HIDDEN_SECONDS = 0.005
HEARTBEAT_SECONDS = 15.0
SHUT_OUT_SECONDS = 1.0
HEARTBEAT = b": still here\n\n"

# Which of these spaces (None: of all) may this principal read? Given by whoever knows spaces.
MayRead = Callable[[Transaction, Principal, list[str] | None], Awaitable[set[str]]]
# Who is this now? None: their token or session works no more. Given by whoever knows credentials.
LookUpAgain = Callable[[Transaction, Principal], Awaitable[Principal | None]]
# After these, what a follower may see of a space can be different.
CHANGES_READERS = name_events(MemberJoined, MemberLeft, SpaceCreated, SpaceUpdated, SpaceErased)
ACCESS_CHANGED = name_event(AccessChanged)
SPACE_ERASED = name_event(SpaceErased)
SPACE_CREATED = name_event(SpaceCreated)
MEMBER_LEFT = name_event(MemberLeft)
ABOUT_APPROVALS = name_events(ToolRequiresAction, PendingResolved)
TOOL_STREAMING = name_event(ToolStreaming)
# Fields of a live frame that say who gets it. They are not part of the event.
ROUTING = frozenset({"audience", "readerId", "key"})


def frame(incarnation: str, event: StoredEvent) -> bytes:
    return b"id: %s\ndata: %s\n\n" % (cursor(incarnation, event.place).encode(), event.body)


def reset_frame(at: str) -> bytes:
    return b"data: %s\n\n" % actions.body(Reset(), at)


@dataclass(slots=True, eq=False)
class Follower:
    principal: Principal
    space_id: str | None = None
    run_id: str | None = None
    readable: dict[str, bool] = field(default_factory=dict)
    buffer: deque[bytes] = field(default_factory=deque)
    size: int = 0
    dropped: bool = False
    ended: bool = False  # nothing more comes; what is in the buffer is still read
    began: str = ""  # the cursor its stream starts after: one that is lost before its first event goes on from here
    # Called when the buffer overflows: whoever writes to this client is stuck and cannot notice by itself.
    on_drop: Callable[[], object] | None = None
    _waiter: asyncio.Future[None] | None = None

    @property
    def is_page(self) -> bool:
        """Somebody who has signed in and looks at everything: a person with the page open."""
        signed_in = self.principal.kind == "person" and self.principal.credential.startswith("ses_")
        return signed_in and self.space_id is None and self.run_id is None

    def wants(self, *, space_id: str | None, run_id: str | None) -> bool:
        if self.space_id is not None and space_id != self.space_id:
            return False
        return self.run_id is None or run_id == self.run_id

    def may_see(self, audience: Audience, space_id: str | None, agent_id: str | None) -> bool:
        if audience == "all":
            return "read_space" in self.principal.grants
        if audience in ("owners", "managers") or space_id is None:
            inside = self.principal.is_owner or (audience == "managers" and "manage_agents" in self.principal.grants)
            inside = inside and (space_id is None or self.readable.get(space_id, False))
            return inside or (self.principal.kind == "agent" and self.principal.id == agent_id)
        return self.readable.get(space_id, False)

    def answers(self, event: StoredEvent) -> bool:
        """Is this about a call of a tool that they were made to answer, or about one that they may let go on?"""
        tools = self.principal.tools
        if event.type in ABOUT_APPROVALS and self.principal.kind == "person":
            call = orjson.loads(event.body)["call"]
            if call.get("kind") == "variables":
                thing = Thing("call", causer=call["metadata"].get("personId"), member=False, shown=False)
                return access.allows(self.principal, "see_needs", thing)
            return call.get("kind") == "approval" and access.allows(self.principal, "answer_approval")
        if tools is None or not event.type.startswith(("tool.", "pending_")):
            return False
        if self.principal.serves not in (None, event.agent_id):
            return False
        call = orjson.loads(event.body)["call"]
        # What people have yet to let go on is not theirs to carry out.
        return call["toolName"] in tools and call.get("kind") not in ("approval", "variables")

    def leaves(self, event: StoredEvent) -> bool:
        """Is this the event that tells them that they are out? They must hear of it, though they may read no more."""
        if event.type != MEMBER_LEFT:
            return False
        return bool(orjson.loads(event.body)["member"]["id"] == self.principal.id)

    def lost(self, space_id: str | None) -> bool:
        """An owner reads without being a member, so no event of theirs says when that ends: they have to load again."""
        return self.principal.is_owner and space_id is not None and not self.readable.get(space_id, False)

    def put(self, chunk: bytes, *, live: bool = False) -> None:
        if self.dropped or self.ended:
            return
        if live and len(self.buffer) > BUFFER_EVENTS // 2:
            return  # the next one says more anyway
        # One event always fits, however large: its bytes are shared, and it would never get through otherwise.
        if len(self.buffer) >= BUFFER_EVENTS or (self.buffer and self.size + len(chunk) > BUFFER_BYTES):
            self.drop()
            return
        self.buffer.append(chunk)
        self.size += len(chunk)
        self.wake()

    def take(self) -> bytes:
        chunks = b"".join(self.buffer)
        self.buffer.clear()
        self.size = 0
        return chunks

    def end(self) -> None:
        self.ended = True
        self.wake()

    def shut_out(self) -> None:
        """They may see nothing more, not even what was on its way."""
        self.buffer.clear()
        self.size = 0
        self.end()
        if self.on_drop is not None:  # a client that does not read would not notice
            asyncio.get_running_loop().call_later(SHUT_OUT_SECONDS, self.on_drop)

    def drop(self) -> None:
        if not self.dropped:
            self.dropped = True
            self.buffer.clear()
            counts.DROPPED.add()
            if self.on_drop is not None:
                self.on_drop()
            self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        # A bare future: with hundreds of followers, timeouts and events cost more than the delivery itself.
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter


class Feed:
    def __init__(self, store: Store, signals: Signals, may_read: MayRead, look_up_again: LookUpAgain) -> None:
        self._store = store
        self._signals = signals
        self._may_read = may_read
        self._look_up_again = look_up_again
        self._followers: set[Follower] = set()
        self._wake = asyncio.Event()
        self._pumping = asyncio.Lock()
        self._closed = False
        self._listeners: list[Callable[[], None]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._place = Place(0, 0)
        self._burst = 0
        # The newest frame of each call that followers may not have seen begin; and the calls of which they have.
        self._held: dict[str, dict[str, Any]] = {}
        self._begun: dict[str, None] = {}
        self.incarnation = ""
        signals.on_events = self._look
        signals.on_live = self._deliver_live
        store.listen_after(actions.RECORDED, lambda _: signals.events())

    async def start(self, incarnation: str) -> None:
        """`incarnation` names this life of the database: see events/rows.py."""
        self.incarnation = incarnation
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._beat())]

    async def stop(self) -> None:
        self._closed = True
        for follower in self._followers:
            follower.wake()
        await end(*self._tasks)

    @property
    def follower_count(self) -> int:
        return len(self._followers)

    @property
    def watched(self) -> bool:
        """Might anybody be looking? Other processes may have followers that this one does not know."""
        return bool(self._followers) or self._store.shared

    def publish(
        self, event: LiveEvent, *, audience: Audience = "space", reader_id: str | None = None, key: str | None = None
    ) -> None:
        """Show something to the followers of this moment, or of those to one person only. Never stored.

        `key` names what `text` accumulates in.
        """
        self._signals.live(self._frame(event, audience, reader_id=reader_id, key=key))

    def _frame(
        self, event: LiveEvent, audience: Audience, *, reader_id: str | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """A live event as it travels between processes: with who gets it."""
        head = {"type": event.type, "spaceId": event.space_id, "agentId": event.agent_id, "runId": event.run_id}
        routing = {"audience": actions.limit_audience(event, audience), "readerId": reader_id, "key": key}
        return {**head, "at": self._store.clock.now(), **actions.carried(event), **routing}

    # ── the pump ────────────────────────────────────────────────────────────────────────────────────────
    # It stands still while nobody follows; the first who comes puts it in its place.

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this after every commit that recorded events, here or in another process. A hint: one may be lost."""
        self._listeners.append(listener)

    def _look(self) -> None:
        if self._followers:
            self._wake.set()
        for listener in self._listeners:
            listener()

    async def _run(self) -> None:
        # On SQLite every commit is in this process, so a wake-up cannot be lost and there is nothing to poll for.
        poll = POLL_SECONDS if self._store.shared else None
        pause = HIDDEN_SECONDS
        while True:
            try:
                waiting = await self.pump()
            except self._store.connection_errors as error:
                self._store.notice(error)
                waiting = True
            if waiting:
                await asyncio.sleep(pause)
                pause = min(2 * pause, 0.1)  # a transaction that stays open for long is not worth a busy loop
                continue
            pause = HIDDEN_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(poll):
                    await self._wake.wait()
            self._wake.clear()

    async def _beat(self) -> None:
        """Proxies close what is quiet: a comment now and then, for all followers at once.

        A line can be dead without being closed, and browsers do not show comments: a page hears that it is here.
        """
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for follower in self._followers:
                if not follower.buffer:
                    follower.put(HEARTBEAT)
                if follower.is_page:
                    follower.put(_live_chunk(self._presence(follower.principal.id, here=True)), live=True)
            if self._store.shared:  # followers of other processes have not heard who came before them
                for person_id in self._present():
                    self._tell_presence(person_id, here=True)

    async def pump(self) -> bool:
        """Deliver everything that may be read by now. True: more is committed, but behind a transaction still open."""
        async with self._pumping:
            while self._followers:
                held = list(self._held)
                events, hidden = await self._store.read(self._page)
                for event in events:
                    await self._pause_for_readers(event)
                    await self._deliver(event)
                    self._place = event.place  # one by one: if the next cannot be delivered, this one is not repeated
                if len(events) < PAGE:
                    if not hidden:
                        self._release(held)
                    return hidden
            self._held.clear()
            return False

    def _release(self, call_ids: list[str]) -> None:
        """All that was committed before these frames came has been delivered, and so has the beginning of the calls."""
        for call_id in call_ids:
            self._begun[call_id] = None
            if (frame_ := self._held.pop(call_id, None)) is not None:
                self._send_live(frame_)
        while len(self._begun) > CALLS:
            del self._begun[next(iter(self._begun))]

    async def _pause_for_readers(self, event: StoredEvent) -> None:
        """In a burst that is a good part of a buffer: whoever reads gets to empty theirs before there is more."""
        weight = 1 + len(event.body) // BURST_UNIT
        self._burst += weight
        if self._burst > BURST:
            self._burst = weight
            await asyncio.sleep(0)

    async def _page(self, tx: Transaction) -> tuple[list[StoredEvent], bool]:
        events = await rows.select_after(tx, self._place, PAGE)
        hidden = self._store.shared and await rows.select_hidden(tx)
        return events, hidden

    async def _deliver(self, event: StoredEvent) -> None:
        could: set[Follower] = set()
        if event.type == ACCESS_CHANGED:
            self._shut_out(event)
        if event.type in CHANGES_READERS and event.space_id is not None:
            could = self._forget(event.space_id)
        followers = [f for f in self._followers if f.wants(space_id=event.space_id, run_id=event.run_id)]
        await self._learn([*followers, *could], event.space_id)
        chunk: bytes | None = None
        given = 0
        erased = event.type == SPACE_ERASED
        for follower in followers:
            visible = follower.may_see(event.audience, event.space_id, event.agent_id) or follower.answers(event)
            if visible or follower.leaves(event) or (erased and follower in could):
                chunk = chunk or frame(self.incarnation, event)
                follower.put(chunk)
                given += 1
            if follower in could and not erased and follower.lost(event.space_id):
                follower.put(reset_frame(self._store.clock.now()))
            if follower in could and follower.space_id is not None and not follower.readable.get(follower.space_id):
                follower.end()  # it was about this space alone
        counts.EVENTS.add(by=given)

    async def _learn(self, followers: list[Follower], space_id: str | None) -> None:
        unknown = [f for f in followers if space_id is not None and space_id not in f.readable]
        if space_id is None or not unknown:
            return
        principals = {f.principal for f in unknown}

        async def body(tx: Transaction) -> set[Principal]:
            return {p for p in principals if await self._may_read(tx, p, [space_id])}

        readers = await self._store.read(body)
        for follower in unknown:
            follower.readable[space_id] = follower.principal in readers

    def _shut_out(self, event: StoredEvent) -> None:
        """They come back, if they still may, as who they are now."""
        changed = AccessChanged.model_validate_json(event.body).access
        for follower in self._followers:
            principal = follower.principal
            theirs = (
                principal.id == changed.holder_id
                if changed.credential is None
                else principal.credential == changed.credential
            )
            if theirs and (not changed.but_for or principal.credential != changed.but_for):
                follower.shut_out()

    def _end_in_time(self, follower: Follower) -> None:
        """Its stream ends with its credential. Looks again now and then, because the wall clock can be put right."""
        end = follower.principal.expires_at
        if end is None or follower not in self._followers:
            return
        left = (end - self._store.clock.millis()) / 1000
        if left <= 0:
            follower.shut_out()
            return
        asyncio.get_running_loop().call_later(min(left, HEARTBEAT_SECONDS), self._end_in_time, follower)

    def _forget(self, space_id: str) -> set[Follower]:
        """Who may read it has changed, so it is asked anew of everybody. Those who could until now."""
        return {follower for follower in self._followers if follower.readable.pop(space_id, False)}

    def _deliver_live(self, frame_: dict[str, Any]) -> None:
        if not self._followers:
            return
        call_id = frame_["call"]["callId"] if frame_["type"] == TOOL_STREAMING else None
        if call_id is None or call_id in self._begun:
            self._send_live(frame_)
            return
        # Live frames are faster than events, and `tool.started` comes first.
        self._held[call_id] = frame_
        while len(self._held) > CALLS:
            del self._held[next(iter(self._held))]
        self._wake.set()

    def _send_live(self, frame_: dict[str, Any]) -> None:
        space_id, run_id, agent_id = frame_["spaceId"], frame_["runId"], frame_["agentId"]
        audience: Audience = frame_["audience"]
        reader_id = frame_.get("readerId")
        chunk: bytes | None = None
        for follower in self._followers:
            if reader_id not in (None, follower.principal.id):
                continue
            if follower.wants(space_id=space_id, run_id=run_id) and follower.may_see(audience, space_id, agent_id):
                chunk = chunk or _live_chunk(frame_)
                follower.put(chunk, live=True)

    # ── following ───────────────────────────────────────────────────────────────────────────────────────

    async def follow(
        self,
        principal: Principal,
        *,
        space_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
    ) -> tuple[Follower, AsyncIterator[bytes]]:
        """Chunks of SSE. Registered before this returns: whatever commits afterwards is delivered."""
        follower = Follower(principal, space_id, run_id)
        start, place = await self._register(follower, after)
        follower.began = cursor(self.incarnation, start or place)
        return follower, self._chunks(follower, start, place)

    def arrive(self, follower: Follower) -> None:
        """If it is a page: tell everybody who is there now, and tell them who was there before."""
        if not follower.is_page:
            return
        for person_id in sorted(self._present() - {follower.principal.id}):
            follower.put(_live_chunk(self._presence(person_id, here=True)), live=True)
        self._tell_presence(follower.principal.id, here=True)

    def leave(self, follower: Follower) -> None:
        """Also for a follower whose chunks were never asked for: those would not notice their own end."""
        self._followers.discard(follower)
        if follower.is_page and follower.principal.id not in self._present():
            self._tell_presence(follower.principal.id, here=False)

    def _present(self) -> set[str]:
        return {follower.principal.id for follower in self._followers if follower.is_page}

    def _tell_presence(self, person_id: str, *, here: bool) -> None:
        self._signals.live(self._presence(person_id, here=here))

    def _presence(self, person_id: str, *, here: bool) -> dict[str, Any]:
        """Which people have the page open is for everybody in the office to know."""
        return self._frame(PresenceChanged(presence=Presence(person_id=person_id, here=here)), "all")

    async def _register(self, follower: Follower, after: str | None) -> tuple[Place | None, Place]:
        """Where to replay from (None: nothing to replay, or it cannot be) and where the pump stands."""
        await self.pump()
        async with self._pumping:
            if not self._followers:
                self._place = await self._store.read(rows.select_newest)
            # Read while the pump stands still: what changes now, of memberships or credentials, is still to be
            # pumped, and this follower will be there.
            await self._store.read(lambda tx: self._look_up(tx, follower))
            self._followers.add(follower)
            self._end_in_time(follower)
            self._wake.set()  # what was committed meanwhile was told to nobody, if nobody else was there
            if after is None:
                return None, self._place
            start = parse_cursor(self.incarnation, after)
            forgotten = await self._store.read(rows.select_forgotten)
            if start is None or start < forgotten or start > await self._store.read(rows.select_newest):
                follower.put(reset_frame(self._store.clock.now()))
                return None, self._place
            return min(start, self._place), self._place

    async def _look_up(self, tx: Transaction, follower: Follower) -> None:
        """Who it is now, and what they may read."""
        principal = await self._look_up_again(tx, follower.principal)
        if principal is None:
            raise Unauthenticated("This token or session has just ended. Sign in again, or use another token.")
        follower.principal = principal
        wanted = None if follower.space_id is None else [follower.space_id]
        follower.readable = dict.fromkeys(await self._may_read(tx, principal, wanted), True)

    async def _chunks(self, follower: Follower, start: Place | None, last: Place) -> AsyncIterator[bytes]:
        try:
            yield b": welcome\n\n"
            made: set[str | None] = set()
            while start is not None and start < last and not follower.ended:
                begin = start
                page, forgotten = await self._store.read(lambda tx, b=begin: _replay_page(tx, b, last))  # type: ignore[misc]
                if begin < forgotten:  # retention has removed what was next, between two pages
                    yield reset_frame(self._store.clock.now())
                    break
                if replayed := await self._replayed(follower, page, made):
                    yield replayed
                start = page[-1].place if len(page) == PAGE else None
            while not follower.dropped and not self._closed:
                if follower.buffer:
                    yield follower.take()
                elif follower.ended:
                    break
                else:
                    await follower.wait()
        finally:
            self._followers.discard(follower)

    async def _replayed(self, follower: Follower, page: list[StoredEvent], made: set[str | None]) -> bytes:
        """`made`: spaces that the client cannot know yet."""
        chunks = []
        for event in page:
            if event.type == SPACE_CREATED:
                made.add(event.space_id)
            if follower.wants(space_id=event.space_id, run_id=event.run_id):
                await self._learn([follower], event.space_id)
                seen = follower.may_see(event.audience, event.space_id, event.agent_id)
                if seen or follower.leaves(event) or follower.answers(event):
                    chunks.append(frame(self.incarnation, event))
                # Who was in a space that is gone cannot be known any more, so whoever was away loads again.
                lost = event.type == SPACE_ERASED or follower.lost(event.space_id)
                if event.type in CHANGES_READERS and event.space_id not in made and lost:
                    made.add(event.space_id)
                    chunks.append(reset_frame(self._store.clock.now()))
        return b"".join(chunks)


async def _replay_page(tx: Transaction, begin: Place, last: Place) -> tuple[list[StoredEvent], Place]:
    return await rows.select_between(tx, begin, last, PAGE), await rows.select_forgotten(tx)


def _live_chunk(frame_: dict[str, Any]) -> bytes:
    # Only the head has fields that are left out if they are None.
    shown = {name: value for name, value in frame_.items() if name not in ROUTING and value is not None}
    if shown["type"] == TOOL_STREAMING:
        # Read here and not by the sender: between processes only what was added travels.
        shown["call"] = {**shown["call"], "args": _readable(shown["text"])}
    return b"data: %s\n\n" % orjson.dumps(shown)


def _readable(arguments: str) -> Any:
    """As much of unfinished arguments as can be read; None: nothing can."""
    try:
        return from_json(arguments, allow_partial="trailing-strings")
    except ValueError:
        return None
