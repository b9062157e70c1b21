"""Start or resume, record what the model wants, settle what its calls came to, finish, cancel.

Each function is (part of) one commit. `RunJournal` is the port through which `bullpen.tools` records calls: it keeps
the result, the run's new counts and the events in the very transaction in which the tool acted.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from time import monotonic
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.types import Grant
from bullpen.agents import rows as agent_rows
from bullpen.budgets import actions as budgets
from bullpen.budgets import rows as budget_rows
from bullpen.engine import leases, nudges
from bullpen.engine.leases import Lease
from bullpen.errors import RunAlreadyFinished
from bullpen.events.actions import in_turn, record
from bullpen.inbox import actions as inbox
from bullpen.inbox import rows as inbox_rows
from bullpen.inbox.types import Item
from bullpen.llm.types import Reply
from bullpen.memory import blocks as memory
from bullpen.memory.rules import Situation, shown_for
from bullpen.memory.types import ShownBlock
from bullpen.mind import items as mind_items
from bullpen.mind import rows as mind_rows
from bullpen.mind.types import Shown
from bullpen.observe import counts
from bullpen.observe.redact import REDACTOR, Concern, concerning, current, here
from bullpen.replacing import replace
from bullpen.runs import concern, places, rows, rules, steps, transcript
from bullpen.runs.mind import parts as mind_parts
from bullpen.runs.now import Moment
from bullpen.runs.steps import Asking
from bullpen.runs.types import CallPlace, Entry, OpenCall, Run, WrittenCall
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Home, Room
from bullpen.storage import Stage, Transaction
from bullpen.tasks import items as task_items
from bullpen.tasks import rows as task_rows
from bullpen.threads import actions as threads
from bullpen.threads import rows as thread_rows
from bullpen.threads.rules import SCOPES
from bullpen.threads.types import Thread
from bullpen.tools import approvals, cards, pending
from bullpen.tools import rows as tool_rows
from bullpen.tools import rules as tool_rules
from bullpen.tools.outside import together
from bullpen.tools.outward import MEMORY, merge_places
from bullpen.tools.quotes import ReadCall
from bullpen.tools.registry import listed_by
from bullpen.tools.remembering import situate_in
from bullpen.tools.teaching import Teaching
from bullpen.tools.types import (
    Denied,
    Done,
    Effects,
    OutcomeUnknown,
    Streamed,
    ToolCall,
    ToolResult,
)
from bullpen.tools.types import (
    Outcome as CallOutcome,
)
from bullpen.wire import Agent
from bullpen.wire.events import (
    RunEvent,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    RunWaiting,
    SettledCall,
    StartedCall,
    ToolDone,
    ToolError,
    ToolStarted,
)
from bullpen.wire.nouns import Outcome, StopReason

logger = logging.getLogger("bullpen.runs")

Stoppable: TypeAlias = AbstractContextManager[None]
ToolEvent: TypeAlias = ToolStarted | ToolDone | ToolError
# Tells the people of a space something, as the office itself.
Say: TypeAlias = Callable[[Transaction, str, str], Awaitable[None]]

ABANDONED = {
    "error": "The answer that this call was part of was discarded before it was whole. Nothing was done.",
    "code": "abandoned",
}
WITHHELD = "It failed."
SILENCE = "agent_chose_silence"
_SILENCE: dict[StopReason, str] = {"not_needed": "precheck"}
# Marks in `acts` that are not acts: the agent ended the run itself; its unsent text is being delivered for it.
ENDED, DELIVERED = "ended", "delivered"


def storable(text: str) -> str:
    """A model may write anything; both databases must be able to keep it, and keep the same."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def shown(text: str) -> str:
    """The same, for what models are shown and people are told of a run: no secret that concerns it is there."""
    return here().clean(storable(text))


@lru_cache(maxsize=64)
def _shown_again(parts: tuple[tuple[str, str], ...], version: object) -> tuple[str, list[tuple[str, int]]]:
    """The same for prompts, which are the same in most runs of an agent. And how long each part is."""
    return shown(transcript.join_parts(parts)), [(name, len(shown(text))) for name, text in parts]


# ── start or resume ─────────────────────────────────────────────────────────────────────────────────────


async def start_or_resume(
    tx: Transaction, lease: Lease, teaching: Teaching, timezone: str
) -> tuple[Run, list[Entry]] | None:
    """The thread's run and its journal. None: nothing is unclaimed, and the thread rests; or its agent is paused.

    `timezone` is the server's, for runs in a space that names none."""
    run = await rows.select_under_way(tx, lease.thread_id)
    if run is not None:
        return run, await rows.select_entries(tx, run.id)
    thread = await thread_rows.select_thread(tx, lease.thread_id)
    agent = None if thread is None else await agent_rows.select_definition(tx, thread.agent_id)
    if agent is not None and agent.state == "paused":
        await leases.release(tx, lease)  # what waits stays where it is, and so does the thread: queued
        return None
    if thread is None or agent is None:
        if thread is not None:
            # Spoken to in the very moment in which it was deleted; what nobody will read must not wake it for ever.
            await task_rows.drop_waiting_of(tx, thread.agent_id)
            await inbox_rows.delete_unclaimed(tx, thread.agent_id)
        await _rest(tx, lease, always=True)
        return None
    id = ids.run()
    while not (items := await inbox.claim(tx, lease.thread_id, id)):
        if await _rest(tx, lease):
            return None
    retry = items[0].retry
    id = id if retry is None else retry["id"]
    with concerning(await _concern(tx, lease, thread, agent, items)):
        return await _start(tx, lease, id, thread, agent, items, teaching, timezone)


async def _concern(tx: Transaction, lease: Lease, thread: Thread, agent: Agent, items: Sequence[Item]) -> Concern:
    spaces = [thread.space_id, thread.active_space_id, *(item.space_id for item in items)]
    concerned = concern.of(lease.thread_id, agent.id, spaces, [(item.cause.kind, item.cause.id) for item in items])
    concerned.kept |= set(listed_by(agent))
    await concern.add_line(tx, concerned, lease.thread_id)
    return concerned


async def _start(
    tx: Transaction,
    lease: Lease,
    id: str,
    thread: Thread,
    agent: Agent,
    items: Sequence[Item],
    teaching: Teaching,
    timezone: str,
) -> tuple[Run, list[Entry]]:
    space_id = _active_space(thread, agent, items)
    home = None if space_id is None else await space_rows.select_home(tx, space_id)
    room = None if home is None else home.room
    prompt, sizes, known = await _prompt(tx, agent, room, thread.space_id, teaching)
    newest = items[-1]
    run = Run(
        id=id,
        thread_id=lease.thread_id,
        agent_id=agent.id,
        space_id=space_id,
        status="thinking",
        outcome=None,
        stop_reason=None,
        silence_reason=None,
        error=None,
        cause_kind=newest.cause.kind,
        cause_id=newest.cause.id,
        grants=await _authority(tx, items, room, thread.grants),
        trigger=_trigger(newest, len(items)),
        payload=newest.payload,
        chain_id=max(items, key=lambda item: item.depth).chain_id,
        depth=max(item.depth for item in items),
        addressed=any(item.addressed for item in items),
        corrected=False,
        cancel_requested=False,
        ordinal=thread.run_count + 1,
        step=0,
        position=1,
        message_ids=(),
        acts=frozenset(),
        active_ms=0,
        window_seq=0 if room is None else room.last_seq,
        prompt_hash=prompt,
        summary=None,
        input_tokens=0,
        output_tokens=0,
        cached_tokens=0,
        cost=0.0,
        started_at=tx.clock.now(),
        finished_at=None,
        outside=together(*(transcript.sources(item.payload) for item in items), known.outside),
        seen_in=merge_places(_spoken_in(items), (MEMORY,) if known.has_memory else ()),
        retry_of=None if newest.retry is None else newest.retry["of"],
    )
    entry_id = ids.run_message()
    content = shown(transcript.waking(items, entry_id, _moment(tx, home, timezone), space_id))
    entries = [Entry(entry_id, id, 0, 0, "user_message", tx.clock.now(), lease.token, content=content, usage=sizes)]
    if newest.kind == "plan" and newest.retry is None:
        await mind_items.note_run(tx, newest.payload, id)
    if newest.kind == "task" and newest.retry is None:  # its task has had its turn
        precheck = await task_items.note_run(tx, newest.payload, id)
        run, entries = _look_first(tx, run, entries, precheck, lease)
    await rows.insert_run(tx, run)
    await thread_rows.update_for_run(tx, lease.thread_id, space_id)
    await rows.insert_entries(tx, entries)
    _tell(tx, RunStarted, run)
    return run, entries


def _look_first(
    tx: Transaction, run: Run, entries: list[Entry], precheck: dict[str, Any] | None, lease: Lease
) -> tuple[Run, list[Entry]]:
    """A task may ask a tool whether its model is needed at all: a call like any other, before the first step."""
    if precheck is None:
        return run, entries
    arguments = orjson.dumps(precheck["args"]).decode()
    call = _call_entry(run, run.position, 0, precheck["tool"], arguments, tx.clock.now(), lease, None)
    return replace(run, status=rules.move(run, "acting"), position=run.position + 1), [*entries, call]


async def take_in(
    tx: Transaction, lease: Lease, run: Run, entries: list[Entry], timezone: str
) -> tuple[Run, list[Entry]]:
    """What was said since the run began goes into it: by whoever caused it, since it works in their name and with what
    is theirs, and as long as it gives the run neither more rights nor fewer."""
    await leases.check(tx, lease)
    thread = await thread_rows.select_thread(tx, lease.thread_id)
    most = None if thread is None else thread.grants
    home = None if run.space_id is None else await space_rows.select_home(tx, run.space_id)
    room = None if home is None else home.room
    items = []
    for item in await inbox_rows.select_unclaimed(tx, lease.thread_id, inbox.DRAIN):
        theirs = (
            item.kind == "message"
            and item.retry is None
            and (item.cause.kind, item.cause.id) == (run.cause_kind, run.cause_id)
        )
        if not theirs or await _authority(tx, [item], room, most) != run.grants:
            break
        items.append(item)
    if not items:
        return run, entries
    await inbox_rows.claim(tx, [item.id for item in items], run.id)
    id = ids.run_message()
    place = None if thread is None else thread.active_space_id
    heard = shown(transcript.waking(items, id, _moment(tx, home, timezone), place))
    entry = Entry(id, run.id, run.position, run.step, "user_message", tx.clock.now(), lease.token, content=heard)
    await rows.insert_entries(tx, [entry])
    run = replace(
        run,
        position=run.position + 1,
        addressed=run.addressed or any(item.addressed for item in items),
        outside=together(run.outside, *(transcript.sources(item.payload) for item in items)),
        seen_in=merge_places(run.seen_in, _spoken_in(items)),
    )
    return await written(tx, lease, run), [*entries, entry]


def _moment(tx: Transaction, home: Home | None, timezone: str) -> Moment:
    """Now, by the clocks of the space, else by those of the server."""
    return Moment(tx.clock.now(), timezone if home is None else home.timezone or timezone)


def _spoken_in(items: Sequence[Item]) -> set[str]:
    """Whose text the items are. What rings from outside is nobody's here."""
    return {item.space_id or MEMORY for item in items if item.kind != "trigger"}


async def _authority(tx: Transaction, items: Sequence[Item], room: Room | None, most: str | None) -> str:
    """What the run may do: what the agent, whoever caused it and every space they spoke in let it do, and no more
    than the thread was made with."""
    grants = access.authority(access.AGENT, access.parsed(items[0].cause.grants), _of(room))
    spoken_in = {item.space_id for item in items if item.space_id is not None}
    for space_id in spoken_in - ({room.id} if room is not None else set()):
        grants &= _of(await space_rows.select_room(tx, space_id))
    return access.written(grants if most is None else grants & access.parsed(most))


def _of(room: Room | None) -> frozenset[Grant]:
    """Whoever is in no space is not in the main group either: a hook rings for whoever has its address."""
    return access.SPACE if room is None else access.preset(room.kind, room.main).grants


def _active_space(thread: Thread, agent: Agent, items: Sequence[Item]) -> str | None:
    """A mind that spans spaces enters the one it was spoken to in; from several it enters none, lest what was said in
    a DM be answered in public by accident."""
    if SCOPES[thread.scope].begins_in == "home":
        return thread.space_id
    spoken_in = {item.space_id for item in items if item.space_id is not None}
    return spoken_in.pop() if len(spoken_in) == 1 and agent.auto_enter else None


def _trigger(item: Item, count: int) -> dict[str, Any]:
    found = {"kind": item.kind, "items": count, "spaceId": item.space_id}
    for name in ("messageId", "authorId", "taskId", "planId", "nominalAt", "callId", "toolName", "answeredBy"):
        if name in item.payload:
            found[name] = item.payload[name]
    if isinstance(service := item.payload.get("serviceName"), str):
        found["serviceName"] = together((service,))[0]
    if item.kind == "skill":
        found["skill"] = item.payload["skill"]["name"]
    return found


async def _prompt(
    tx: Transaction, agent: Agent, room: Room | None, thread_space: str | None, teaching: Teaching
) -> tuple[str, str, System]:
    """The system part, rendered at the start of a run and kept by its hash: blocks changed later show next time. Also
    how long its parts are, and what it shows of what the agent remembers."""
    system = await read_system(tx, agent, room, thread_space, teaching)
    text, sizes = _shown_again(tuple(system.parts), here().version)
    hash = sha256(text.encode()).hexdigest()
    await rows.insert_prompt(tx, hash, text)
    costs = transcript.block_costs(system.blocks)
    return hash, steps.written_sizes(sizes, costs), system


@dataclass(frozen=True, slots=True)
class System:
    """The system part, piece by piece, and what it shows of what the agent remembers."""

    parts: list[tuple[str, str]]
    blocks: list[ShownBlock]
    mind: Shown

    @property
    def has_memory(self) -> bool:
        return bool(self.blocks or self.mind)

    @property
    def outside(self) -> tuple[str, ...]:
        """Where any of that came from, if that is outside the office."""
        return together(*(shown.block.outside for shown in self.blocks), self.mind.outside)


async def read_system(
    tx: Transaction, agent: Agent, room: Room | None, thread_space: str | None, teaching: Teaching
) -> System:
    """The system part as a run that begins now would be shown it, before secrets are masked."""
    stays_in = room.id if room is not None and room.stays else None
    situation = situate_in(agent, room)
    blocks = await memory.select_shown(tx, agent.id, shown_for(situation))
    mind = await _read_mind(tx, agent, situation)
    lessons = [*teaching.choose(listed_by(agent)), *await _lessons_of_defined(tx, agent, teaching)]
    spaces = await places.read(tx, agent, thread_space, stays_in)
    parts = transcript.system_parts(agent, blocks, lessons, spaces, mind_parts(mind))
    return System(parts, blocks, mind)


async def _read_mind(tx: Transaction, agent: Agent, situation: Situation) -> Shown:
    """Most agents keep nothing of the kind, and pay for one question."""
    if not await mind_rows.has_any(tx, agent.id):
        return Shown()
    return await mind_rows.select_shown(tx, agent, situation)


async def _lessons_of_defined(tx: Transaction, agent: Agent, teaching: Teaching) -> list[str]:
    names = teaching.registry.unknown(agent.tools)
    found = {config.name: config for config in await tool_rows.select_tools(tx, names)} if names else {}
    has = teaching.registry.names_of(listed_by(agent)) if found else frozenset()
    return transcript.lessons([found[name] for name in dict.fromkeys(names) if name in found], has)


async def _rest(tx: Transaction, lease: Lease, *, always: bool = False) -> bool:
    """Put the thread to rest, unless something came in. Its state is locked, so either we see the item or its poster
    sees us idle."""
    await thread_rows.lock_state(tx, lease.thread_id)
    if not always and await tool_rows.has_approved(tx, lease.thread_id):
        # To be carried out before anything else: by the drive that this nudge begins.
        await leases.release(tx, lease)
        await threads.nudge(tx, lease.thread_id)
        return True
    if not always and await inbox_rows.has_unclaimed(tx, lease.thread_id):
        return False
    await thread_rows.update_idle(tx, lease.thread_id)
    await leases.release(tx, lease)
    return True


# ── thinking ────────────────────────────────────────────────────────────────────────────────────────────


async def record_answer(
    tx: Transaction,
    lease: Lease,
    run: Run,
    entries: Sequence[Entry],
    reply: Reply,
    agent: Agent,
    asking: Asking,
    has: Set[str],
    seen: Mapping[int, WrittenCall] = MappingProxyType({}),
) -> tuple[Run, list[Entry]]:
    """Keep what the model wants to do. From here on it is not asked again for this step.

    `seen` are the calls that people saw while they were written, by their place in the answer: they keep their ids.
    """
    now = tx.clock.now()
    thoughts = transcript.kept_thoughts(reply)
    reply = _without_secrets(reply)
    await budgets.spend(tx, steps.subject_of(run), steps.spent(run, asking, reply))
    added = await _write_answer(tx, lease, run, reply, asking, thoughts, now, seen)
    run = _count_step(run, reply, asking, len(added))
    tx.after_commit(counts.STEPS.add)
    text = storable(reply.text)
    if reply.calls:
        run = replace(run, status=rules.move(run, "acting"))
    elif (again := _go_on_without_calls(run, agent, reply, text, now, lease, has)) is not None:
        run, more = again
        added += more
    else:
        await rows.insert_entries(tx, added)
        unsent = rules.is_unsent(run, text)
        return await finish(tx, lease, run, [*entries, *added], "done", unsent_text=unsent), added
    await rows.insert_entries(tx, added)
    return await written(tx, lease, run), added


async def _write_answer(
    tx: Transaction,
    lease: Lease,
    run: Run,
    reply: Reply,
    asking: Asking,
    thoughts: str | None,
    now: str,
    seen: Mapping[int, WrittenCall],
) -> list[Entry]:
    """The answer and its calls, as the journal keeps them. Calls that have begun and are not among them end here."""
    at, step = run.position, run.step + 1
    said = Entry(
        ids.run_message(),
        run.id,
        at,
        step,
        "assistant_message",
        now,
        lease.token,
        content=storable(reply.text),
        result=thoughts or None,
        usage=steps.written(asking, reply),
    )
    added = [said]
    begun = await rows.select_streamed(tx, run.id) if run.streamed else ()
    for index, wish in enumerate(reply.calls):
        call = _call_entry(run, at + len(added), step, wish.name, wish.arguments, now, lease, wish.id)
        was = seen.get(index)
        if was is not None and was.call in begun and was.call.tool_name == call.tool_name:
            call = replace(call, call_id=was.call.call_id, streamed=Streamed(was.call.told_in, was.words_in))
        added.append(call)
    kept = {entry.call_id for entry in added}
    tell_abandoned(tx, run, [call for call in begun if call.call_id not in kept])
    return added


def _count_step(run: Run, reply: Reply, asking: Asking, entries: int) -> Run:
    """The run after one more answer: what it took and came to. Nothing is being written any more."""
    usage = reply.usage
    return replace(
        run,
        step=run.step + 1,
        position=run.position + entries,
        active_ms=run.active_ms + asking.elapsed_ms,
        input_tokens=run.input_tokens + usage.input_tokens,
        output_tokens=run.output_tokens + usage.output_tokens,
        cached_tokens=run.cached_tokens + usage.cached_tokens,
        cost=steps.cost_with(run, asking.nanodollars),
        unpriced=run.unpriced + int(not asking.priced),
        paused_reason=None,
        streamed=(),
    )


def _go_on_without_calls(
    run: Run, agent: Agent, reply: Reply, text: str, now: str, lease: Lease, has: Set[str]
) -> tuple[Run, list[Entry]] | None:
    """An answer that calls nothing may be cut off, misunderstood or meant for people. None: the run is over."""
    if reply.stop == "length":
        return _ask_again(run, rules.CUT_OFF, now, lease)
    if rules.needs_correction(run, text, has):
        return _ask_again(replace(run, corrected=True), rules.correct(has), now, lease)
    if rules.is_unsent(run, text) and run.addressed and agent.on_unsent_text == "deliver":
        return _deliver_unsent(run, text, now, lease)
    return None


def _without_secrets(reply: Reply) -> Reply:
    """A model may have seen one that nobody knew of then, or guess one."""
    masker = here()
    if masker.is_clean(reply.text, *(part for wish in reply.calls for part in (wish.name, wish.arguments))):
        return reply
    calls = [
        replace(wish, name=masker.clean(wish.name), arguments=masker.clean_arguments(wish.arguments))
        for wish in reply.calls
    ]
    return replace(reply, text=masker.clean(reply.text), calls=calls)


def tool_name(written: str) -> str:
    """As it is kept, whatever a model makes of it."""
    return storable(written)[:200]


def _call_entry(
    run: Run, position: int, step: int, tool: str, arguments: str, now: str, lease: Lease, provider_id: str | None
) -> Entry:
    return Entry(
        ids.run_message(),
        run.id,
        position,
        step,
        "tool_call_message",
        now,
        lease.token,
        call_id=ids.call(),
        provider_call_id=provider_id,
        tool_name=tool_name(tool),
        args=storable(arguments),
    )


def _ask_again(run: Run, what: str, now: str, lease: Lease) -> tuple[Run, list[Entry]]:
    """The agent is told something about its answer, and gives another."""
    id, at = ids.run_message(), run.position
    entry = Entry(id, run.id, at, run.step, "user_message", now, lease.token, content=what)
    return replace(run, position=at + 1), [entry]


def _deliver_unsent(run: Run, text: str, now: str, lease: Lease) -> tuple[Run, list[Entry]]:
    """The agent's policy says its words are to be sent for it: through the same door as every other message."""
    arguments = orjson.dumps({"text": text}).decode()
    entry = _call_entry(run, run.position, run.step, "send_message", arguments, now, lease, None)
    status = rules.move(run, "acting")
    return replace(run, status=status, position=run.position + 1, acts=run.acts | {DELIVERED}), [entry]


async def begin_calls(tx: Transaction, lease: Lease, run: Run, calls: Sequence[OpenCall]) -> None:
    """The model is writing these. From here on each of them ends, whatever becomes of the answer."""
    await leases.check(tx, lease)
    begun = await rows.select_streamed(tx, run.id)
    await rows.put_streamed(tx, run.id, [*begun, *calls])
    for call in calls:
        started = StartedCall(call_id=call.call_id, tool_name=call.tool_name)
        _tell_call(tx, ToolStarted, _place(run, call.told_in), started)


async def abandon(tx: Transaction, lease: Lease, run: Run) -> Run:
    """The answer that was being written is discarded, and another is asked for."""
    await leases.check(tx, lease)
    run = await _abandoned(tx, run)
    await rows.put_streamed(tx, run.id, ())
    return run


async def _abandoned(tx: Transaction, run: Run) -> Run:
    if run.streamed:
        tell_abandoned(tx, run, await rows.select_streamed(tx, run.id))
        run = replace(run, streamed=())
    return run


async def written(tx: Transaction, lease: Lease, run: Run) -> Run:
    run = await _abandoned(tx, run)
    cancelled, lease.paused = await rows.update_run(tx, run)
    if run.mark is not None:
        run = replace(run, mark=None)
    return replace(run, cancel_requested=True) if cancelled else run


# ── acting ──────────────────────────────────────────────────────────────────────────────────────────────


def unsettled(entries: Sequence[Entry]) -> list[ToolCall]:
    """Calls that have no result yet, in the order the model made them."""
    settled = {entry.call_id for entry in entries if entry.type == "tool_return_message"}
    return [
        ToolCall(entry.call_id or "", entry.tool_name or "", entry.args or "", bool(entry.started), entry.streamed)
        for entry in entries
        if entry.type == "tool_call_message" and entry.call_id not in settled
    ]


def _unrun(call: ToolCall, why: str) -> ToolResult:
    """What is said of a call that will not be carried out. One that was under way may have had its effect."""
    outcome = OutcomeUnknown(tool_rules.interrupted(call.tool)) if call.started else Denied(why)
    return ToolResult(call, outcome, call.shown, Effects())


class RunJournal:
    """Records calls of one run for `bullpen.tools`. What it recorded becomes true for us once the commit is durable."""

    def __init__(
        self,
        lease: Lease,
        run: Run,
        entries: list[Entry],
        stoppable: Callable[[], Stoppable] = nullcontext,
        owner: str = "",
    ) -> None:
        self._lease = lease
        self._owner = owner
        self._marked = run.mark is not None
        self._stoppable = stoppable
        self.run = run
        self.entries = entries
        self._began = monotonic()
        self._next: tuple[Run, list[Entry]] = (run, entries)

    def adopt(self) -> None:
        """The commit is durable: its outcome is what we go on from."""
        self.run, self.entries = self._next

    def read_calls(self, names: Collection[str]) -> list[ReadCall]:
        args = {e.call_id: e.args for e in self.entries if e.type == "tool_call_message" and e.tool_name in names}
        done = [e for e in self.entries if e.type == "tool_return_message" and e.call_id in args and not e.is_error]
        return [ReadCall(orjson.loads(args[e.call_id] or "{}"), orjson.loads(e.result or "null")) for e in done]

    def stoppable(self) -> Stoppable:
        return self._stoppable()

    async def check(self, tx: Transaction) -> None:
        await leases.check(tx, self._lease)
        if self._marked:
            await rows.put_mark(tx, self.run.id, None)

    async def mark(self, tx: Transaction, call: ToolCall) -> None:
        await rows.put_mark(tx, self.run.id, rules.next_mark(self.run.mark, call.id, self._owner))
        self._marked = True

    async def started(self, tx: Transaction, call: ToolCall, args: Any, shown_in: str | None) -> None:
        await rows.mark_started(tx, self.run.id, call.id)
        if not call.told:
            tell_started(tx, _place(self.run, shown_in), call, args)

    async def park(self, tx: Transaction) -> None:
        """Wait: the thread is nobody's until somebody lets it go on, and those behind it in a group need not wait."""
        run = self.run if self.run.status == "waiting" else replace(self.run, status=rules.move(self.run, "waiting"))
        active_ms = run.active_ms + int((monotonic() - self._began) * 1000)
        run = await written(tx, self._lease, replace(run, active_ms=active_ms))
        await inbox.pass_turn(tx, run.id)
        # Whoever wants it to stop has left that to us, since we held the thread.
        wait = partial(_wait, lease=self._lease, again=run.cancel_requested)
        tx.defer(Stage.THREADS, self._lease.thread_id, wait)
        entries = [replace(e, started=True) if e.call_id and e.type == "tool_call_message" else e for e in self.entries]
        self._next = (run, entries)

    async def settled(self, tx: Transaction, result: ToolResult, shown_in: str | None) -> None:
        run, call = self.run, result.call
        if run.status == "waiting":
            run = replace(run, status=rules.move(run, "acting"))
        _tell_result(tx, run, result, shown_in)
        added = [self._return(tx, run, call, result.value, result.is_error, result.effects.outside)]
        if result.effects.shows is not None:
            added = [replace(added[0], shows=result.effects.shows)]
        if result.approval is not None and (who := approvals.edited(result.approval)):
            said = f"{who['editedBy']} changed the arguments before they approved the call: {call.arguments}"
            added = [replace(added[0], args=call.arguments, content=said)]
        run = replace(
            run,
            position=run.position + 1,
            active_ms=run.active_ms + int((monotonic() - self._began) * 1000),
            acts=run.acts | self._earned(result),
            message_ids=run.message_ids + ((result.effects.message_id,) if result.effects.message_id else ()),
            silence_reason=result.effects.silence_reason or run.silence_reason,
            outside=together(run.outside, result.effects.outside),
            seen_in=merge_places(run.seen_in, result.effects.seen_in),
        )
        await self._go_on(tx, run, added)

    def _earned(self, result: ToolResult) -> set[str]:
        earned: set[str] = set()
        if self.run.step == 0:
            return earned  # the task asked, not the agent
        # Words delivered for the agent are not words it spoke.
        if isinstance(result.outcome, Done) and result.outcome.act and DELIVERED not in self.run.acts:
            earned.add(result.outcome.act)
        if result.effects.end_run:
            earned.add(ENDED)
        return earned

    async def _go_on(self, tx: Transaction, run: Run, added: list[Entry]) -> None:
        """After a result: the next call, the next step, or the end."""
        entries = [*self.entries, *added]
        left = unsettled(entries)
        ends = ENDED in run.acts or DELIVERED in run.acts
        if left and ends:
            more = self.refusals(tx, run, left, "Not run: you ended this run before it.")
            added, entries, left = [*added, *more], [*entries, *more], []
            run = replace(run, position=run.position + len(more))
        await rows.insert_entries(tx, added)
        if ends:
            unsent = DELIVERED in run.acts
            reason: StopReason = "skipped" if ENDED in run.acts else "done"
            run = await finish(tx, self._lease, run, entries, reason, unsent_text=unsent)
        else:
            run = run if left else replace(run, status=rules.move(run, "thinking"))
            run = await written(tx, self._lease, run)
        self._next = (run, entries)

    async def refuse(self, tx: Transaction, calls: Sequence[ToolCall], why: str) -> None:
        """Settle calls that will not be run, together."""
        more = self.refusals(tx, self.run, calls, why)
        await self._go_on(tx, replace(self.run, position=self.run.position + len(more)), more)

    def refusals(
        self, tx: Transaction, run: Run, calls: Sequence[ToolCall], why: str, waiting: Set[str] = frozenset()
    ) -> list[Entry]:
        """`waiting`: calls that somebody may still answer, though this run will not hear of it."""
        added: list[Entry] = []
        for call in calls:
            refused = _unrun(call, why)
            entry = self._return(tx, run, call, refused.value, True)
            added.append(replace(entry, position=run.position + len(added)))
            if call.id not in waiting:
                _tell_result(tx, run, replace(refused, args=None), None)
        return added

    def _return(
        self, tx: Transaction, run: Run, call: ToolCall, value: Any, is_error: bool, outside: Sequence[str] = ()
    ) -> Entry:
        return Entry(
            ids.run_message(),
            run.id,
            run.position,
            run.step,
            "tool_return_message",
            tx.clock.now(),
            self._lease.token,
            call_id=call.id,
            tool_name=call.tool,
            result=orjson.dumps(value).decode(),
            is_error=is_error,
            outside=orjson.dumps(outside).decode() if outside else None,
        )


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────


async def finish(
    tx: Transaction,
    lease: Lease,
    run: Run,
    entries: Sequence[Entry],
    reason: StopReason,
    *,
    unsent_text: bool = False,
    error: str | None = None,
) -> Run:
    """The run is over: what it amounted to, who is next in its group, and rest if nothing else waits."""
    chosen = reason in ("done", "skipped", "not_needed")
    outcome: Outcome | None = rules.outcome(run.acts, unsent_text=unsent_text)
    if outcome == "silent" and (not chosen or _tried_in_vain(run, entries)):
        outcome = None  # it was stopped, or it tried and failed; it did not choose to say nothing
    run = replace(
        run,
        status=rules.move(run, rules.status_of(reason)),
        outcome=outcome,
        stop_reason=reason,
        silence_reason=(run.silence_reason or _SILENCE.get(reason, SILENCE)) if outcome == "silent" else None,
        error=None if error is None else REDACTOR.clean_line(storable(error)),
        finished_at=tx.clock.now(),
        retry_at=None,
        paused_reason=None,
    )
    with concerning(current() or concern.of_row(run)):
        told = transcript.summary(run, entries)
        run = replace(run, summary=None if told is None else shown(told))
    run = await _abandoned(tx, run)
    await rows.update_run(tx, run)
    _tell(tx, RunFinished, run)
    await inbox.pass_turn(tx, run.id)
    tx.defer(Stage.THREADS, lease.thread_id, partial(_rest_after, lease=lease))
    tx.after_commit(partial(_count, run))
    if run.trigger.get("kind") in ("task", "plan"):
        nudges.remind(tx, tx.clock.millis())  # its task or plan wants to know
    if outcome == "silent":
        tx.after_commit(
            partial(logger.info, "%s: run %s of %s said: %s", SILENCE, run.id, run.agent_id, run.silence_reason)
        )
    return run


def _tried_in_vain(run: Run, entries: Sequence[Entry]) -> bool:
    return "silence" not in run.acts and any(entry.is_error for entry in entries)


def _count(run: Run) -> None:
    counts.RUNS.add(run.outcome or "none", run.stop_reason or "none")
    counts.RUN_SECONDS.observe(run.active_ms / 1000)


async def _rest_after(tx: Transaction, lease: Lease) -> None:
    await _rest(tx, lease)


async def _wait(tx: Transaction, lease: Lease, *, again: bool) -> None:
    """The state is locked: an answer that comes now finds us waiting, one that came before was seen."""
    await thread_rows.lock_state(tx, lease.thread_id)
    await thread_rows.update_waiting(tx, lease.thread_id)
    await leases.release(tx, lease)
    if again or await tool_rows.has_approved(tx, lease.thread_id):
        await threads.nudge(tx, lease.thread_id)


async def stay_away(tx: Transaction, lease: Lease, run: Run, seconds: float, why: str) -> Run:
    """The provider is not there. The run waits for it, parked, and what woke it is not lost."""
    await leases.check(tx, lease)
    retry_at = tx.clock.millis() + int(seconds * 1000)
    run = replace(run, status=rules.move(run, "waiting"), retry_at=retry_at, retries=run.retries + 1)
    run = await written(tx, lease, replace(run, error=REDACTOR.clean_line(storable(why))))
    _tell(tx, RunWaiting, run)
    await inbox.pass_turn(tx, run.id)
    tx.defer(Stage.THREADS, lease.thread_id, partial(_wait, lease=lease, again=run.cancel_requested))
    nudges.remind(tx, retry_at)
    return run


async def wait_on(tx: Transaction, lease: Lease, run: Run) -> None:
    """Somebody looked, and it is not time yet."""
    await leases.check(tx, lease)
    tx.defer(Stage.THREADS, lease.thread_id, partial(_wait, lease=lease, again=False))


async def stop(
    tx: Transaction, lease: Lease, run: Run, entries: list[Entry], reason: StopReason, error: str | None = None
) -> Run:
    """End a run from outside its own steps. Calls that were not settled get a result that says why."""
    await leases.check(tx, lease)
    if run.paused_reason is not None:
        await budget_rows.drop_hold(tx, run.thread_id)
    left = unsettled(entries)
    if left:
        why = _WHY.get(reason, "Not run: the run was stopped.")
        shown = [call.id for call in left if call.started]
        # What nobody has approved yet, or what nobody has begun since, has not been run.
        unbegun = await approvals.withdraw(tx, shown)
        left = [replace(call, started=False) if call.id in unbegun else call for call in left]
        started = [call for call in left if call.id in shown]
        theirs, later = await pending.leave(tx, [call.id for call in started if call.started])
        more = RunJournal(lease, run, entries).refusals(tx, run, left, why, later)
        await rows.insert_entries(tx, more)
        for call in started:
            if call.id not in theirs:
                await cards.complete(tx, _unrun(call, why), run.outside)
        run = replace(run, position=run.position + len(more))
        entries = [*entries, *more]
    if reason == "cancelled":
        run = replace(run, stopped_by=await rows.select_stopped_by(tx, run.id))
        error = None if run.stopped_by is None else f"Stopped by {await approvals.name_of(tx, run.stopped_by)}."
    return await finish(tx, lease, run, entries, reason, error=error)


_WHY = {"cancelled": "Not run: the run was cancelled."}


async def heed_mark(
    tx: Transaction, lease: Lease, run: Run, entries: list[Entry], owner: str, say: Say | None = None
) -> Run:
    """A process has died over a call of this run, or may have. The first time it is tried again; the second time the
    run ends, and its people are told."""
    await in_turn(tx, run.space_id or run.agent_id)
    await leases.check(tx, lease)
    if run.mark is None:
        return run
    mark = rules.find_mark(run.mark, owner)
    if not rules.is_hopeless(mark):
        await rows.put_mark(tx, run.id, mark)
        return replace(run, mark=mark)
    tool = next((entry.tool_name for entry in entries if entry.call_id == mark.call_id), None) or "a tool"
    why = rules.died_twice(tool)
    run = await stop(tx, lease, run, entries, "broken", f"{why} The call was {mark.call_id}.")
    logger.error("run %s of %s was given up: the process died twice over %s", run.id, run.agent_id, mark.call_id)
    if say is not None and run.space_id is not None:
        await say(tx, run.space_id, f"{run.agent_id} stopped working on this. {why}")
    return replace(run, mark=None)


async def put_aside(tx: Transaction, lease: Lease, run: Run) -> Run:
    """The agent is paused: let go of the thread and leave everything as it is, for whoever drives it next.

    Looks once more: whoever resumes or cancels meanwhile finds either the lease free, or us still here.
    """
    await leases.check(tx, lease)
    run = await written(tx, lease, run)
    if lease.paused and not run.cancel_requested:
        await leases.release(tx, lease)
        agent = await agent_rows.select_definition(tx, run.agent_id)
        if agent is not None and agent.paused_at is not None:
            await inbox.pass_turn(tx, run.id)  # the others are not paused, and need not wait
    return run


async def pause(tx: Transaction, lease: Lease, run: Run, reason: str) -> Run:
    """A budget is used up: let go of the thread, which is held back from now on, and tell why."""
    run = await written(tx, lease, replace(run, paused_reason=reason))
    if not run.cancel_requested:
        await leases.release(tx, lease)
        await inbox.pass_turn(tx, run.id)
        _tell(tx, RunPaused, run)
    return run


async def unpause(tx: Transaction, ids: Sequence[str]) -> None:
    """These are not held back any more."""
    for id in ids:
        run = await rows.select_run(tx, id)
        if run is not None and run.finished_at is None:
            run = replace(run, paused_reason=None)
            await rows.update_run(tx, run)
            _tell(tx, RunResumed, run)


async def request_cancel(tx: Transaction, run: Run, by: str) -> Run:
    """Ask for a run to be cancelled; its driver does it, so that nothing is half done."""
    driven = await leases.is_driven(tx, run.thread_id)  # before the run's row: the order of a driver's locks
    if not await rows.request_cancel(tx, run.id, by):
        raise RunAlreadyFinished(run.id)
    if not driven:
        threads.nudge_again(tx, [run.thread_id])  # it was put aside, and would wait until its agent goes on
    return replace(run, cancel_requested=True, stopped_by=run.stopped_by or by)


async def cancel_all_of(tx: Transaction, agent_id: str) -> list[str]:
    """Whatever the agent is doing just now; the ids of the runs."""
    undriven = await leases.lock_undriven(tx, agent_id)
    found = await rows.request_cancel_of(tx, agent_id)
    threads.nudge_again(tx, undriven)
    return found


def interrupt(tx: Transaction, run_ids: Iterable[str]) -> None:
    """After the commit, have the drivers of these runs look at their rows at once. A hint: they look by themselves."""
    for run_id in run_ids:
        tx.tell(inbox.INTERRUPTED, run_id)


# ── telling ─────────────────────────────────────────────────────────────────────────────────────────────


def _tell(tx: Transaction, kind: type[RunEvent], run: Run) -> None:
    record(tx, kind(space_id=run.space_id, agent_id=run.agent_id, run_id=run.id, run=rows.on_the_wire(run)))


def _place(run: Run, shown_in: str | None) -> CallPlace:
    """Where it shows, which need not be where the run was woken. What shows nowhere is told along with its run."""
    space_id = run.space_id if shown_in is None else shown_in
    return CallPlace(space_id, run.agent_id, run.id, visible=shown_in is not None)


def tell_started(tx: Transaction, place: CallPlace, call: ToolCall, args: Any) -> None:
    _tell_call(tx, ToolStarted, place, StartedCall(call_id=call.id, tool_name=call.tool, args=args))


def tell_settled(tx: Transaction, place: CallPlace, result: ToolResult) -> None:
    call, value = result.call, result.value
    settled = SettledCall(call_id=call.id, tool_name=call.tool, args=result.args, result=value)
    if result.is_error:
        settled = settled.model_copy(update={"code": value.get("code")})
    _tell_call(tx, ToolError if result.is_error else ToolDone, place, settled)


def tell_abandoned(tx: Transaction, run: Run, calls: Sequence[OpenCall]) -> None:
    for call in calls:
        settled = SettledCall(
            call_id=call.call_id, tool_name=call.tool_name, args=None, result=ABANDONED, code=ABANDONED["code"]
        )
        _tell_call(tx, ToolError, _place(run, call.told_in), settled)


def _tell_result(tx: Transaction, run: Run, result: ToolResult, shown_in: str | None) -> None:
    """What came of a call, after that it began. One that goes on waiting ends later."""
    call, told_in = result.call, None if result.call.streamed is None else result.call.streamed.told_in
    if told_in is not None and told_in != shown_in:
        # People there saw that it began. That it is over they learn too, and no more: it would not be shown there.
        shown_in, result = told_in, replace(result, args=None, outcome=_withheld(result.outcome))
    if not call.told:
        tell_started(tx, _place(run, shown_in), call, result.args)
    if not result.waits:
        tell_settled(tx, _place(run, shown_in), result)


def _withheld(outcome: CallOutcome) -> CallOutcome:
    return replace(outcome, result=None) if isinstance(outcome, Done) else Denied(WITHHELD)


def _tell_call(tx: Transaction, kind: Callable[..., ToolEvent], place: CallPlace, call: StartedCall) -> None:
    event = kind(space_id=place.space_id, agent_id=place.agent_id, run_id=place.run_id, call=call)
    record(tx, event, audience=place.audience)
