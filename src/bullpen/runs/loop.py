"""Drives one thread: its runs, one after another, until nothing waits for it.

Each pass reads the status, does one thing, and commits. A crash therefore resumes at the last commit, and "resume" is
simply calling drive() again. Streaming needs nothing here but telling who is there: followers read the events that
each commit records, and live frames are shown to whoever happens to look.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from bullpen.agents import rows as agent_rows
from bullpen.connections import actions as connections
from bullpen.connections.types import Resolved
from bullpen.engine import leases
from bullpen.engine.leases import Held, Holdings, Lease
from bullpen.errors import Broken, ContextTooLong, Invalid, ModelError, ModelUnavailable, VariablesRequired
from bullpen.events.feed import Feed
from bullpen.files import rows as file_rows
from bullpen.inbox import rows as inbox_rows
from bullpen.llm import prices
from bullpen.llm.models import Models, in_space
from bullpen.llm.prices import Prices
from bullpen.llm.types import Reply, Transcript, Turn, takes_pictures
from bullpen.observe import logs
from bullpen.observe.redact import REDACTOR, Concern, concerning, owner
from bullpen.replacing import replace
from bullpen.runs import actions, asking, bounds, concern, holds, late, mending, past, pictures, rows, rules, transcript
from bullpen.runs.live import Live
from bullpen.runs.steps import Asking, Reference
from bullpen.runs.types import Entry, Run, WrittenCall
from bullpen.runs.view import view_run
from bullpen.settings import Settings
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Store, Transaction
from bullpen.threads import rows as thread_rows
from bullpen.tools import rows as tool_rows
from bullpen.tools.configs import made
from bullpen.tools.execute import Toolkit, get_toolkit
from bullpen.tools.outside import together
from bullpen.tools.outward import merge_places
from bullpen.tools.registry import Registry, listed_by
from bullpen.tools.teaching import Teaching
from bullpen.tools.types import Means, Stopped, Tool
from bullpen.variables import actions as variables
from bullpen.variables import rules as variable_rules
from bullpen.variables.types import Place
from bullpen.wire import Agent
from bullpen.wire.nouns import RunStatus, StopReason, ThreadScope

_ENDLESS = 1 << 40  # tokens: nobody has said how many a model takes
# In place of a run's id: whoever drives one looks at its rows again.
EVERY = "*"
NO_RIGHTS = "The person this run works for no longer has access: they left, or their rights were taken."


@dataclass(slots=True)
class World:
    """What a run needs of the server around it."""

    store: Store
    feed: Feed
    models: Models
    registry: Registry
    means: Means
    settings: Settings
    owner: str
    teaching: Teaching
    holdings: Holdings = field(default_factory=Holdings)  # the engine's: it renews what is held
    prices: Prices = field(default_factory=prices.load)
    say: actions.Say | None = None  # tells the people of a space something, as the office itself
    # Runs that are driven here; those of them that wait for a model just now; how those that wait for a tool look
    # whether they are to end; those to be looked at again.
    driven: set[str] = field(default_factory=set)
    interruptible: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    stoppable: dict[str, Callable[[], None]] = field(default_factory=dict)
    interrupted: set[str] = field(default_factory=set)
    stopping: bool = False

    @contextlib.contextmanager
    def driving(self, run_id: str) -> Iterator[None]:
        """While this lasts, the run is driven here and `interrupt` reaches it."""
        self.driven.add(run_id)
        try:
            yield
        finally:
            self.driven.discard(run_id)
            self.interrupted.discard(run_id)

    def interrupt(self, run_id: str) -> None:
        """Somebody wants the run (or EVERY run) to stop: end its wait, or see to it that the next does not begin."""
        if run_id == EVERY:
            for id in list(self.driven):
                self.interrupt(id)
        elif run_id in self.driven:
            self.interrupted.add(run_id)
            task = self.interruptible.get(run_id)
            if task is not None:
                task.cancel()
            look = self.stoppable.get(run_id)
            if look is not None:
                look()

    def stop(self) -> None:
        """The process ends: drives stop at their next safe place, and those who wait for a model at once."""
        self.stopping = True
        for task in self.interruptible.values():
            task.cancel()


@dataclass(slots=True)
class Drive:
    """One drive of one thread. Everything here but the lease could be read again from the rows; it saves reading."""

    world: World
    lease: Lease
    run: Run
    entries: list[Entry]
    agent: Agent | None = None
    chosen: Any = None  # what the agent says its model is, or the space it runs in
    resolved: Resolved = field(
        default_factory=partial(Resolved, None)
    )  # what that comes to: looked up again for every question
    space_id: str | None = None  # the space the agent is in
    system: str = ""
    before: list[Turn] = field(default_factory=list)
    parts: Sequence[tuple[str, int]] = ()  # what that is, part by part: see runs/past.py
    reference: Reference | None = None  # what is kept of all this beside an answer
    outside: Sequence[str] = ()  # where that came from, if from outside; counts once it has led to something
    seen_in: Sequence[str] = ()  # whose text it is, if of this office
    tokens: int = 0  # how much the model is shown at once
    pictures: pictures.Pictures = field(default_factory=dict)
    said: str = ""  # the text of what woke the run
    scope: ThreadScope = "space"  # of its thread
    home: Room | None = None  # where it was woken
    zone: str = "UTC"  # whose clocks are looked at
    concern: Concern = field(init=False)  # whose secrets are masked in it
    cleaned: object = None  # for which values of the redactor all of this is clean
    defined: dict[str, Tool] = field(default_factory=dict)  # tools of the agent that somebody has made
    fill: Callable[[str], str] = str  # puts the values of variables in their places
    begun: frozenset[str] = frozenset()  # tools that the runs have called which this one does once more
    missing: VariablesRequired | None = None  # values that the agent declares and that nobody has set
    tries: int = 0  # how often the model has been asked for the next answer
    several: bool = False  # the agent can say something in more than one space
    written: Mapping[int, WrittenCall] = field(default_factory=dict)  # calls of the newest answer that people have seen
    live: Live = field(init=False)

    def __post_init__(self) -> None:
        self.live = Live(self.world.feed, self.run)
        self.concern = concern.of_row(self.run)

    async def abandon(self) -> None:
        """Calls of an answer that is not kept are over, and whoever saw them begin is told so."""
        if self.run.streamed:
            self.run = await self.world.store.transact(lambda tx: actions.abandon(tx, self.lease, self.run))

    @property
    def model(self) -> Any:
        """The model that is asked. It names no connection."""
        return self.resolved.spec


Pass = Callable[[Drive], Awaitable[None]]


async def drive(world: World, thread_id: str, epoch: int) -> float | None:
    """Everything for one thread. Returns how long to wait if another process holds it, else None."""
    lease: Lease | Held | None = None

    async def claim(tx: Transaction) -> tuple[Run, list[Entry]] | None:
        nonlocal lease
        millis = int(world.settings.engine.lease_seconds * 1000)
        lease = await leases.claim(tx, thread_id, epoch, owner=world.owner, millis=millis)
        if not isinstance(lease, Lease) or lease.approved:
            return None
        return await actions.start_or_resume(tx, lease, world.teaching, world.settings.timezone)

    begun = await world.store.transact(claim)
    if isinstance(lease, Held):
        return lease.millis / 1000 + 0.02
    if isinstance(lease, Lease):
        with world.holdings.hold(lease):
            await _drive_thread(world, lease, begun)
    return None


async def _drive_thread(world: World, lease: Lease, begun: tuple[Run, list[Entry]] | None) -> None:
    if lease.approved:
        await late.carry_out(world, lease)
        begun = await world.store.transact(partial(_next, world=world, lease=lease))
    while begun is not None:
        await _drive_run(Drive(world, lease, *begun))
        begun = None if lease.rested else await world.store.transact(partial(_next, world=world, lease=lease))


async def _next(tx: Transaction, world: World, lease: Lease) -> tuple[Run, list[Entry]] | None:
    """Something came in while the last run was under way: the thread goes on without resting."""
    await leases.check(tx, lease)
    return await actions.start_or_resume(tx, lease, world.teaching, world.settings.timezone)


async def _drive_run(drive: Drive) -> None:
    """One run, until it rests or is over."""
    run = drive.run
    with contextlib.ExitStack() as stack:
        stack.enter_context(drive.world.driving(run.id))
        stack.enter_context(logs.about(run_id=run.id, agent_id=run.agent_id, space_id=run.space_id))
        stack.enter_context(concerning(drive.concern))
        await _load(drive)
        drive.live.typing()
        stack.callback(drive.live.done)
        if drive.run.mark is not None:
            await _heed_mark(drive)
        while drive.run.status in PASSES and not drive.lease.rested:
            await _do_next(drive)
        if drive.run.finished_at is None and not drive.lease.rested:
            raise Broken(f"Run {run.id} is under way and {drive.run.status}: nothing goes on from there.")
        if drive.run.finished_at is not None and drive.run.step:
            await holds.check(drive.world.store, drive.run)  # nobody asks any more: it is to warn, if need be


async def _do_next(drive: Drive) -> None:
    """The one thing that the rows ask for now: an end, a pause, or what the run's status says."""
    if drive.world.stopping:
        raise asyncio.CancelledError("the server stops; the run goes on from its last commit")
    if drive.run.id in drive.world.interrupted:
        await _look_again(drive)
    if drive.agent is None:
        await _stop(drive, "agent_deleted")
    elif drive.run.cancel_requested:
        await _stop(drive, await _why_cancelled(drive))
    elif drive.lease.paused:
        await _put_aside(drive)
    elif not drive.run.grants:
        await _stop(drive, "no_rights", NO_RIGHTS)
    elif drive.missing is not None:
        await _stop(drive, "variables_required", drive.missing.message)
    else:
        await PASSES[drive.run.status](drive)


async def _heed_mark(drive: Drive) -> None:
    world, run = drive.world, drive.run
    drive.run = await world.store.transact(
        lambda tx: actions.heed_mark(tx, drive.lease, run, drive.entries, world.owner, world.say)
    )


async def _load(drive: Drive) -> None:
    """What the model will be shown of the past. Fixed by the run's row, so a resumed run sees the same."""

    async def read(tx: Transaction) -> None:
        # Again, now that `interrupt` knows of us: a request that came before would be noticed only after the model.
        drive.run = replace(drive.run, cancel_requested=await rows.is_cancel_requested(tx, drive.run.id))
        await _read(tx, drive, await rows.select_prompt(tx, drive.run.prompt_hash or ""))

    await drive.world.store.read(read)
    await _look_at_pictures(drive)


async def _read(tx: Transaction, drive: Drive, system: str) -> None:
    run = drive.run
    drive.agent, drive.system = await agent_rows.select_definition(tx, run.agent_id), system
    drive.lease.paused = _paused(drive.agent)
    if drive.agent is not None:
        drive.chosen = await _choose(tx, drive, drive.agent)
        drive.resolved = await connections.resolve(tx, drive.chosen)
    thread = await thread_rows.select_thread(tx, run.thread_id)
    if thread is not None:
        drive.space_id, drive.scope = thread.active_space_id, thread.scope
    await concern.load(tx, drive.concern, run, drive.agent, drive.space_id)
    if run.retry_of is not None:
        drive.begun = await rows.select_begun(tx, run.retry_of)
    if drive.agent is not None and drive.agent.variables:
        await _fill_in(tx, drive, drive.agent)
    if drive.agent is not None and (others := drive.world.registry.unknown(drive.agent.tools)):
        drive.defined = {tool.name: made(tool) for tool in await tool_rows.select_tools(tx, others)}
    if drive.agent is not None:
        stays = drive.home is not None and drive.home.stays
        drive.several = not stays and await space_rows.is_in_several(tx, drive.agent.id)
        drive.tokens = min(drive.agent.limits.context_tokens, drive.resolved.context_tokens or _ENDLESS)
        await _look_back(tx, drive)


async def look(
    tx: Transaction, world: World, run: Run, entries: list[Entry], system: str, tokens: int | None = None
) -> Drive:
    """The same for whoever only looks: nothing is claimed, held or written. Not even pictures are read.

    `tokens` is the size of the context, if it was another than the agent's is now.
    """
    drive = Drive(world, Lease(run.thread_id, 0), run, entries)
    await _read(tx, drive, system)
    if tokens is not None and tokens != drive.tokens:
        drive.tokens = tokens
        await _look_back(tx, drive)
    return drive


async def _look_at_pictures(drive: Drive) -> None:
    if drive.agent is not None and _takes_pictures(drive):
        payloads = await drive.world.store.read(lambda tx: inbox_rows.select_payloads(tx, drive.run.id))
        drive.pictures = await pictures.load(drive.world.means.blobs, payloads)
        await _look_at_read(drive)


async def _look_at_read(drive: Drive) -> None:
    """The pictures that tools have read. Mostly there are none."""
    if drive.agent is not None and pictures.read_by(drive.entries) and _takes_pictures(drive):
        world, view = drive.world, view_run(drive.run, drive.agent, drive.home, drive.world.settings.limits)
        ids = [id for entry in pictures.read_by(drive.entries) if (id := pictures.file_of(entry)) is not None]
        there = await world.store.read(lambda tx: file_rows.select_known(tx, ids)) if ids else set()
        drive.pictures = await pictures.load_read(world.means, view.folder_id, drive.entries, drive.pictures, there)


async def _look_back(tx: Transaction, drive: Drive) -> None:
    """Whoever is shown outside text has read it, whether or not it was the one to fetch it."""
    seen = await past.read(tx, drive.run, drive.scope, drive.tokens, drive.zone, drive.entries)
    drive.before, drive.outside, drive.seen_in, drive.cleaned = seen.turns, seen.outside, seen.seen_in, None
    drive.parts, drive.reference = seen.parts, None
    await concern.add_shown(tx, drive.concern, seen.run_ids)


def _takes_pictures(drive: Drive) -> bool:
    with contextlib.suppress(Invalid):  # whoever asks it is told
        return takes_pictures(drive.world.models.resolve(drive.model))
    return False


async def _choose(tx: Transaction, drive: Drive, agent: Agent) -> Any:
    space_id = drive.run.space_id
    drive.zone = drive.world.settings.timezone
    found = None if space_id is None else await space_rows.select_home(tx, space_id)
    if found is None:
        return agent.model
    drive.home, drive.zone = found.room, found.timezone or drive.zone
    return in_space(agent.model, found.provider, found.model)


async def _fill_in(tx: Transaction, drive: Drive, agent: Agent) -> None:
    """Put the values that the instructions refer to in their places. A secret is shown by its name."""
    run = drive.run
    person_id = run.cause_id if run.cause_kind == "person" else None
    place = Place(run.thread_id, agent.id, drive.space_id, person_id)
    try:
        values = await variables.resolve(tx, place, agent.variables, drive.world.means.vault.settings)
    except VariablesRequired as error:
        drive.missing = error
        return
    declared = {definition.name for definition in agent.variables}

    def value_of(name: str) -> str:
        return str(values.get(name, "")) if name in declared else f"{{{{var:{name}}}}}"

    drive.fill = lambda text: variable_rules.replaced(text, value_of)
    drive.system = drive.fill(drive.system)


# ── passes ──────────────────────────────────────────────────────────────────────────────────────────────


async def think(drive: Drive) -> None:
    """Ask the model; keep what it wants to do."""
    run, agent = drive.run, drive.agent
    assert agent is not None
    if (reached := rules.limit_reached(run, agent.limits)) is not None:
        await _stop(drive, reached)
        return
    if run.step == 0 and rules.is_not_needed(drive.entries):
        await _stop(drive, "not_needed")
        return
    if used_up := await holds.check(drive.world.store, run):
        drive.run = await drive.world.store.transact(
            lambda tx: holds.hold(tx, drive.lease, run, drive.entries, used_up, drive.world.say)
        )
        return
    if agent.on_new_message != "queue":
        await _take_in(drive)
    if (answer := await _answer(drive, agent)) is not None:
        await _keep(drive, agent, *answer)


async def _answer(drive: Drive, agent: Agent) -> tuple[Reply, Asking] | None:
    """What the model says, and what asking came to. None: nothing, and the run says why."""
    await drive.abandon()
    run, began, drive.tries = drive.run, monotonic(), 0
    asking.clean(drive)
    most = bounds.of(drive.tokens)
    shown = transcript.build(run, drive.system, drive.before, drive.entries, drive.said, most, drive.pictures)
    seconds_left = agent.limits.max_seconds - run.active_ms / 1000
    try:
        with _interruptible(drive):
            async with asyncio.timeout(seconds_left) as deadline:
                reply, away = await asking.ask(drive, agent, shown, deadline)
    except TimeoutError:
        drive.run = replace(drive.run, active_ms=int(agent.limits.max_seconds * 1000))
        await _stop(drive, "max_seconds")
    except ModelUnavailable as error:
        await _stay_away(drive, error)
    except ContextTooLong as error:
        await _show_less(drive, agent, shown, error)
    except ModelError as error:
        await _stop(drive, "model_refused", error.message)
    except _Interrupted:
        await _look_again(drive)
        # It will be asked again; what it took until now counts all the same.
        spent = int((monotonic() - began) * 1000)
        drive.run = replace(drive.run, active_ms=drive.run.active_ms + spent)
    else:
        took = monotonic() - began - away
        return reply, asking.of(drive, reply, elapsed_ms=int(took * 1000), away_ms=int(away * 1000))
    return None


async def _keep(drive: Drive, agent: Agent, reply: Reply, cost: Asking) -> None:
    drive.run = replace(
        drive.run,
        outside=together(drive.run.outside, drive.outside),
        seen_in=merge_places(drive.run.seen_in, drive.seen_in),
    )

    has = drive.world.registry.names_of(listed_by(agent))

    async def keep(tx: Transaction) -> tuple[Run, list[Entry]]:
        await leases.check(tx, drive.lease)
        return await actions.record_answer(
            tx, drive.lease, drive.run, drive.entries, reply, agent, cost, has, drive.written
        )

    drive.run, added = await drive.world.store.transact(keep)
    drive.entries = [*drive.entries, *added]
    kept = {entry.call_id for entry in added}
    for written in drive.written.values():
        if written.call.call_id not in kept:
            drive.live.take_back(written.call.call_id)


async def _show_less(drive: Drive, agent: Agent, shown: Transcript, error: ContextTooLong) -> None:
    """It is asked once more with half of what it was shown, and then no more."""
    if drive.tokens < agent.limits.context_tokens:
        why = f"{error.message} Half as much was too long as well. Set the agent's limits.contextTokens to less."
        await _stop(drive, "model_refused", why)
        return
    drive.tokens = bounds.half_of(transcript.size(shown.turns), drive.tokens)
    await drive.world.store.read(lambda tx: _look_back(tx, drive))


async def _take_in(drive: Drive) -> None:
    """What came in meanwhile is heard before the next step. Looks first: mostly nothing has."""
    if await drive.world.store.read(lambda tx: inbox_rows.has_unclaimed(tx, drive.lease.thread_id)):
        drive.run, drive.entries = await drive.world.store.transact(
            lambda tx: actions.take_in(tx, drive.lease, drive.run, drive.entries, drive.world.settings.timezone)
        )
        await _look_at_pictures(drive)


async def _stay_away(drive: Drive, error: ModelUnavailable) -> None:
    """The provider was asked a few times and is not there: wait for it outside of any process, or give up."""
    patience = drive.world.settings.engine.model_patience_seconds
    seconds = rules.stay_away(drive.run.retries, error.retry_after, patience)
    if seconds is None:
        await _stop(drive, "model_unavailable", error.message)
        return
    seconds *= random.uniform(1.0, 1.2)  # not everybody at once
    drive.run = await drive.world.store.transact(
        lambda tx: actions.stay_away(tx, drive.lease, drive.run, seconds, error.message)
    )


async def go_on(drive: Drive) -> None:
    """A run that waited: for the result of a call, or for its provider."""
    if drive.run.retry_at is None:
        await act(drive)
    elif drive.run.retry_at > drive.world.store.clock.millis():
        await drive.world.store.transact(lambda tx: actions.wait_on(tx, drive.lease, drive.run))
    else:
        # Kept with the answer: until there is one, the rows say that it waits.
        drive.run = replace(drive.run, status=rules.move(drive.run, "thinking"), retry_at=None, error=None)


async def act(drive: Drive) -> None:
    """Carry out the next call that has no result yet. Only one: its result is stored before anything else happens."""
    stoppable = partial(_stoppable, drive)
    journal = actions.RunJournal(drive.lease, drive.run, drive.entries, stoppable, drive.world.owner)
    left = actions.unsettled(drive.entries)
    index = sum(1 for e in drive.entries if e.type == "tool_call_message" and e.step == drive.run.step) - len(left)
    limit = drive.world.settings.limits.calls_per_step
    if index >= limit:
        why = f"Not run: at most {limit} calls are carried out in one step. Ask for the rest in your next one."

        async def refuse(tx: Transaction) -> None:
            await leases.check(tx, drive.lease)
            await journal.refuse(tx, left, why)

        await drive.world.store.transact(refuse)
        for call in left:
            drive.live.take_back(call.id)
    else:
        toolkit = _toolkit(drive, journal)
        result = await toolkit.dispatch(left[0], drive.space_id)
        if result is None or result.is_error or result.waits:
            drive.live.take_back(left[0].id)
        else:
            drive.live.sent(left[0].id)
        if result is not None and result.effects.moved:
            drive.space_id = result.effects.space_id
            if drive.space_id is not None:
                drive.concern.owners.add(owner("space", drive.space_id))
                drive.concern.kept.add(drive.space_id)
    journal.adopt()
    drive.run, drive.entries = journal.run, journal.entries
    if drive.run.status == "thinking":
        await _look_at_read(drive)


def _toolkit(drive: Drive, journal: actions.RunJournal) -> Toolkit:
    world, agent = drive.world, drive.agent
    assert agent is not None
    return get_toolkit(
        agent,
        view_run(drive.run, agent, drive.home, world.settings.limits, drive.begun),
        registry=world.registry,
        store=world.store,
        journal=journal,
        means=world.means,
        defined=drive.defined,
    )


PASSES: Mapping[RunStatus, Pass] = {"thinking": think, "acting": act, "waiting": go_on}


# ── stopping ────────────────────────────────────────────────────────────────────────────────────────────


async def _stop(drive: Drive, reason: StopReason, error: str | None = None) -> None:
    drive.run = await drive.world.store.transact(
        lambda tx: actions.stop(tx, drive.lease, drive.run, drive.entries, reason, error)
    )


async def _why_cancelled(drive: Drive) -> StopReason:
    """Somebody wanted the run to end, or its agent to go."""
    there = await drive.world.store.read(lambda tx: agent_rows.select_definition(tx, drive.run.agent_id))
    return "agent_deleted" if there is None else "cancelled"


async def _put_aside(drive: Drive) -> None:
    drive.run = await drive.world.store.transact(lambda tx: actions.put_aside(tx, drive.lease, drive.run))


async def _look_again(drive: Drive) -> None:
    """Somebody interrupted us: the rows say why."""
    drive.world.interrupted.discard(drive.run.id)

    async def read(tx: Transaction) -> None:
        cancelled = await rows.is_cancel_requested(tx, drive.run.id)
        drive.run = replace(drive.run, cancel_requested=cancelled)
        drive.lease.paused = _paused(await agent_rows.select_definition(tx, drive.run.agent_id))

    await drive.world.store.read(read)


def _paused(agent: Agent | None) -> bool:
    return agent is not None and agent.state == "paused"


class _Interrupted(Exception):
    """A person asked for the run to stop, for good or for a while, while it waited for something."""


@contextlib.contextmanager
def _interruptible(drive: Drive) -> Iterator[None]:
    """While this lasts, a cancel request ends the wait at once. A server that stops cancels too, but unannounced."""
    task = asyncio.current_task()
    assert task is not None
    id, world = drive.run.id, drive.world
    if id in world.interrupted:
        world.interrupted.discard(id)
        raise _Interrupted
    world.interruptible[id] = task
    try:
        yield
    except asyncio.CancelledError:
        if id not in world.interrupted:
            raise
        world.interrupted.discard(id)
        task.uncancel()
        raise _Interrupted from None
    finally:
        world.interruptible.pop(id, None)


@contextlib.contextmanager
def _stoppable(drive: Drive) -> Iterator[None]:
    """While this lasts, a tool is at work. A cancelled run ends it at once; nothing else that interrupts a run does.

    The rows say which it was, and are looked at by a task of its own: ours waits for the tool.
    """
    task = asyncio.current_task()
    assert task is not None
    id, world = drive.run.id, drive.world
    looks: set[asyncio.Task[None]] = set()
    stopped = False

    async def stop_if_cancelled() -> None:
        nonlocal stopped
        with contextlib.suppress(*world.store.connection_errors):  # then the next commit says so
            if await world.store.read(lambda tx: rows.is_cancel_requested(tx, id)) and not stopped:
                stopped = True
                task.cancel()

    def look() -> None:
        looking = asyncio.create_task(stop_if_cancelled())
        looks.add(looking)
        looking.add_done_callback(looks.discard)

    world.stoppable[id] = look
    if id in world.interrupted:
        look()
    try:
        yield
    except asyncio.CancelledError:
        if not stopped or task.cancelling() > 1:  # the server stops as well
            raise
        raise Stopped from None
    finally:
        del world.stoppable[id]
        for looking in looks:
            looking.cancel()
        if stopped:
            task.uncancel()


async def look_for_cancelled(world: World) -> None:
    """Interrupt what somebody has cancelled elsewhere: what tells us may get lost, and a model or a tool takes long."""
    driven = sorted(world.driven)
    for id in await world.store.read(lambda tx: rows.select_cancelled(tx, driven)):
        world.interrupt(id)


async def give_up(world: World, thread_id: str, error: Exception) -> None:
    """A drive failed in a way nobody foresaw: end the run as broken, so that the thread can go on with the next."""

    async def body(tx: Transaction) -> None:
        lease = await leases.select_mine(tx, thread_id, world.owner) or await _take(tx, world, thread_id)
        if lease is None:
            return
        faults = await mending.mend(tx, thread_id)
        run = await rows.select_under_way(tx, thread_id)
        begun = None if run is None else (run, await rows.select_entries(tx, run.id))
        if begun is None and faults:  # it could not even begin: who waits for it is told
            begun = await actions.start_or_resume(tx, lease, world.teaching, world.settings.timezone)
        if begun is not None:
            with concerning(concern.of_row(begun[0])):
                await actions.stop(tx, lease, *begun, "broken", _told(error, faults))

    await world.store.transact(body)


async def break_off(world: World, thread_id: str, error: Exception) -> None:
    """Not even that could be done. It must not be tried for ever."""
    await world.store.transact(lambda tx: mending.break_off(tx, thread_id, _told(error, ())))


def _told(error: Exception, faults: Sequence[str]) -> str:
    told = [mending.TAMPERED, *faults] if faults else [f"{type(error).__name__}: {error}"]
    return REDACTOR.clean_line(" ".join(told))[:500]  # not half a secret


async def _take(tx: Transaction, world: World, thread_id: str) -> Lease | None:
    """The thread whose drive failed before it had a lease."""
    epoch = await thread_rows.select_epoch(tx, thread_id)
    millis = int(world.settings.engine.lease_seconds * 1000)
    lease = None if epoch is None else await leases.claim(tx, thread_id, epoch, owner=world.owner, millis=millis)
    return lease if isinstance(lease, Lease) else None
