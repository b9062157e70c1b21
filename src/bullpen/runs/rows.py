"""SQL for runs, their journal, and the prompts they were shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import orjson
from sqlalchemy import (
    BigInteger,
    Text,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    update,
)

from bullpen.clock import Clock
from bullpen.runs.types import Concerned, EarlierRun, Entry, Mark, MessageState, OpenCall, Run, Summary, WindowMessage
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.checked import Checked
from bullpen.storage.mapped import FLAG, JSON, TUPLE_OR_NULL, WORDS, Codec, Mapped
from bullpen.storage.paused import is_paused
from bullpen.storage.statements import insert_or_ignore, inside, upsert
from bullpen.storage.tables import inbox_items, messages, meta, prompts, run_messages, runs
from bullpen.tools.types import Streamed
from bullpen.wire import Run as WireRun
from bullpen.wire import RunMessage, Trigger
from bullpen.wire.nouns import RunUsage

_ACTS = Codec(lambda kept: frozenset(kept.split()), lambda acts: " ".join(sorted(acts)))
_MARK = Codec(
    lambda kept: Mark(*orjson.loads(kept)),
    lambda mark: orjson.dumps([mark.call_id, mark.owner, mark.deaths]).decode(),
)
_OPEN = Codec(
    lambda kept: tuple(OpenCall(*call) for call in orjson.loads(kept)),
    lambda calls: orjson.dumps([[call.call_id, call.tool_name, call.told_in] for call in calls]).decode(),
    empty=(),
)


def _read_trigger(kept: str) -> dict[str, Any]:
    Trigger.model_validate_json(kept)
    found: dict[str, Any] = orjson.loads(kept)
    return found


_TRIGGER = Codec(_read_trigger, JSON.encode)
_UNKNOWN = '["unreadable"]'  # where text came from, if the column that said so cannot be read: outside
_STREAMED = Codec(
    lambda kept: Streamed(*orjson.loads(kept)),
    lambda seen: orjson.dumps([seen.told_in, seen.words_in]).decode(),
)
RUNS = Checked(
    Run,
    runs,
    # Such a run is ended; so it must be able to end, and may do nothing more.
    instead={"status": "thinking", "trigger": '{"kind":"message"}', "payload": "{}", "outside": _UNKNOWN, "cost": 0.0},
    trigger=_TRIGGER,
    payload=JSON,
    addressed=FLAG,
    corrected=FLAG,
    cancel_requested=FLAG,
    message_ids=WORDS,
    acts=_ACTS,
    outside=TUPLE_OR_NULL,
    seen_in=TUPLE_OR_NULL,
    mark=_MARK,
    streamed=_OPEN,
)
MOST_TRIES: Final = 50  # of one run, as far as it is looked back
_INSERT = Statement(insert(runs))
_CHANGING = (
    "status",
    "outcome",
    "stop_reason",
    "silence_reason",
    "error",
    "corrected",
    "step",
    "position",
    "message_ids",
    "acts",
    "active_ms",
    "summary",
    "input_tokens",
    "unpriced",
    "output_tokens",
    "cached_tokens",
    "cost",
    "finished_at",
    "paused_reason",
    "retry_at",
    "retries",
    "outside",
    "seen_in",
    "streamed",
)
_write_changes = RUNS.writer(_CHANGING)
_UPDATE = Statement(
    update(runs)
    .where(runs.c.id == bindparam("id_"))
    .values({**{name: bindparam(name) for name in _CHANGING}, "mark": None})
    # Here, because every pass writes its run: to look at a pause costs no statement of its own.
    .returning(runs.c.cancel_requested, is_paused(runs.c.agent_id))
)
_PUT_STREAMED = Statement(update(runs).where(runs.c.id == bindparam("id_")).values(streamed=bindparam("streamed_")))
_SELECT_STREAMED = Statement(select(runs.c.streamed).where(runs.c.id == bindparam("id")))
_PUT_MARK = Statement(update(runs).where(runs.c.id == bindparam("id_")).values(mark=bindparam("mark_")))
# Whoever was first has stopped it.
_STOPPED_BY = func.coalesce(runs.c.stopped_by, bindparam("by_", type_=Text))
_REQUEST_CANCEL = Statement(
    update(runs)
    .where(runs.c.id == bindparam("id_"), runs.c.finished_at.is_(None))
    .values(cancel_requested=1, stopped_by=_STOPPED_BY)
)
_REQUEST_CANCEL_OF = Statement(
    update(runs)
    .where(runs.c.agent_id == bindparam("agent_id_"), runs.c.finished_at.is_(None))
    .values(cancel_requested=1)
    .returning(runs.c.id)
)
_SELECT_STOPPED_BY = Statement(select(runs.c.stopped_by).where(runs.c.id == bindparam("id")))
_SELECT_RETRY_OF = Statement(select(runs.c.retry_of).where(runs.c.id == bindparam("id")))
_SELECT_BEGUN = Statement(
    select(run_messages.c.tool_name)
    .distinct()
    .where(
        any_of(run_messages.c.run_id, "ids"),
        run_messages.c.tool_name.is_not(None),
        or_(
            run_messages.c.started == 1,
            and_(run_messages.c.type == "tool_return_message", run_messages.c.is_error == 0),
        ),
    )
)
_RETRY_NOW = Statement(
    update(runs)
    .where(runs.c.agent_id == bindparam("agent_id_"), runs.c.retry_at.is_not(None))
    .values(retry_at=bindparam("now"))
)
_BRING_FORWARD = Statement(
    update(runs).where(runs.c.retry_at > bindparam("now")).values(retry_at=bindparam("now", type_=runs.c.retry_at.type))
)
_SELECT_UNDER_WAY_OF = Statement(
    select(runs.c.id).where(runs.c.agent_id == bindparam("agent_id"), runs.c.finished_at.is_(None))
)
# By what is under way, which is little, and not by the space, which may have had any number of runs.
_SELECT_UNDER_WAY_IN = Statement(
    select(*RUNS.columns).where(
        runs.c.finished_at.is_(None), runs.c.space_id.concat("") == bindparam("space_id"), runs.c.thread_id != ""
    )
)
_COUNT_IN = Statement(select(func.count()).where(runs.c.space_id == bindparam("space_id")))
_SELECT_SEEN_IN = Statement(
    select(runs.c.seen_in).where(runs.c.thread_id == bindparam("thread_id"), runs.c.ordinal == bindparam("ordinal"))
)
_SELECT = Statement(select(*RUNS.columns).where(runs.c.id == bindparam("id")))
_IS_CANCEL_REQUESTED = Statement(select(runs.c.cancel_requested).where(runs.c.id == bindparam("id")))
_SELECT_CANCELLED = Statement(select(runs.c.id).where(any_of(runs.c.id, "ids"), runs.c.cancel_requested == 1))
_SELECT_UNDER_WAY = Statement(
    select(*RUNS.columns).where(runs.c.thread_id == bindparam("thread_id"), runs.c.finished_at.is_(None))
)
_SELECT_PAGE = Statement(
    select(*RUNS.columns)
    .where(
        runs.c.id < bindparam("before"),
        or_(bindparam("agent_id", type_=Text).is_(None), runs.c.agent_id == bindparam("agent_id", type_=Text)),
        or_(bindparam("space_id", type_=Text).is_(None), runs.c.space_id == bindparam("space_id", type_=Text)),
        or_(bindparam("status", type_=Text).is_(None), runs.c.status == bindparam("status", type_=Text)),
        # Here and not afterwards: a page must not end at a run that its reader may not see.
        or_(
            bindparam("everything", type_=BigInteger) == 1,
            any_of(runs.c.space_id, "readable"),
            runs.c.agent_id == bindparam("reader", type_=Text),
            and_(runs.c.space_id.is_(None), bindparam("sees_all", type_=BigInteger) == 1),
        ),
    )
    .order_by(runs.c.id.desc())
    .limit(bindparam("limit"))
)
_SUMMARY = Mapped(Summary, runs, others={"text": runs.c.summary, "run_id": runs.c.id}, outside=TUPLE_OR_NULL)
_SUMMARIES = select(*_SUMMARY.columns).where(
    runs.c.thread_id == bindparam("thread_id"),
    runs.c.ordinal < bindparam("before"),
    runs.c.summary.is_not(None),
)
_SELECT_SUMMARIES = Statement(_SUMMARIES.order_by(runs.c.ordinal.desc()).limit(bindparam("limit")))
# A later run of a thread of one space has seen at least as many messages: this is the same order, by an index.
_SELECT_SPACE_SUMMARIES = Statement(
    _SUMMARIES.where(runs.c.window_seq > bindparam("since"), runs.c.window_seq <= bindparam("upto"))
    .order_by(runs.c.window_seq.desc(), runs.c.ordinal.desc())
    .limit(bindparam("limit"))
)
# Written out, not bound: only then is it seen to be the condition of the index on where agents were to begin anew.
_SELECT_ANEW = Statement(
    select(func.max(messages.c.seq)).where(
        messages.c.space_id == bindparam("space_id"),
        messages.c.seq <= bindparam("upto"),
        messages.c.wake == literal_column("'command:new'"),
    )
)
_EARLIER = Mapped(EarlierRun, runs, outside=TUPLE_OR_NULL)
_SELECT_EARLIER = Statement(
    select(*_EARLIER.columns)
    .where(
        runs.c.thread_id == bindparam("thread_id"),
        runs.c.ordinal < bindparam("before"),
        runs.c.ordinal > bindparam("after"),
        runs.c.outcome.is_not(None),
        runs.c.outcome != "silent",
    )
    .order_by(runs.c.ordinal)
)

_CONCERNED = Mapped(Concerned, runs)
_SELECT_CONCERNED = Statement(select(*_CONCERNED.columns).where(any_of(runs.c.id, "ids")))

ENTRIES = Checked(
    Entry,
    run_messages,
    instead={"type": "assistant_message", "result": '{"error":"unreadable"}', "outside": _UNKNOWN},
    json=("result", "outside", "usage"),
    is_error=FLAG,
    started=FLAG,
    streamed=_STREAMED,
)
_INSERT_ENTRY = Statement(insert(run_messages))
_SELECT_ENTRIES = Statement(
    select(*ENTRIES.columns).where(run_messages.c.run_id == bindparam("run_id")).order_by(run_messages.c.position)
)
_SELECT_ENTRY_PAGE = Statement(
    select(*ENTRIES.columns)
    .where(run_messages.c.run_id == bindparam("run_id"), run_messages.c.position > bindparam("after"))
    .order_by(run_messages.c.position)
    .limit(bindparam("limit"))
)
_MARK_STARTED = Statement(
    update(run_messages)
    .where(
        and_(
            run_messages.c.run_id == bindparam("run_id_"),
            run_messages.c.call_id == bindparam("call_id_"),
            run_messages.c.type == "tool_call_message",
        )
    )
    .values(started=1)
)
_INSERT_PROMPT = insert_or_ignore(prompts)
_SELECT_PROMPT = Statement(select(prompts.c.text).where(prompts.c.hash == bindparam("hash")))

# A card holds all that a call was given and came to. What is kept to be read is short: see wire/cards.py.
_METADATA = case(
    (messages.c.type == literal_column("'tool'"), func.coalesce(messages.c.card, literal_column("'{}'"))),
    else_=messages.c.metadata,
)
_WINDOW = Mapped(WindowMessage, messages, others={"metadata": _METADATA}, metadata=JSON)
_SELECT_WINDOW = Statement(
    select(*_WINDOW.columns)
    .where(
        messages.c.space_id == bindparam("space_id"),
        messages.c.seq > bindparam("after"),
        messages.c.seq <= bindparam("upto"),
    )
    .order_by(messages.c.seq)
)


_STATES = Mapped(MessageState, messages)
_SELECT_STATES = Statement(select(*_STATES.columns).where(any_of(messages.c.id, "ids")))
_SELECT_CHANGED = Statement(
    select(*_STATES.columns)
    .where(
        messages.c.space_id == bindparam("space_id"),
        messages.c.seq > bindparam("after"),
        messages.c.seq <= bindparam("upto"),
        or_(messages.c.edited_at > bindparam("since"), messages.c.deleted_at > bindparam("since")),
    )
    .order_by(messages.c.seq)
)


async def select_states(tx: Transaction, ids: list[str]) -> dict[str, MessageState]:
    """What messages are like now, by their ids. Those that are gone are not there."""
    return {state.id: state for state in _STATES.read_all(await tx.all(_SELECT_STATES, ids=ids))}


async def select_changed(tx: Transaction, space_id: str, *, after: int, upto: int, since: str) -> list[MessageState]:
    """Messages of a window that somebody has edited or deleted since."""
    return _STATES.read_all(await tx.all(_SELECT_CHANGED, space_id=space_id, after=after, upto=upto, since=since))


async def select_seen_in(tx: Transaction, thread_id: str, ordinal: int) -> tuple[str, ...]:
    """Whose text the n-th run of a thread was shown."""
    kept = await tx.value(_SELECT_SEEN_IN, thread_id=thread_id, ordinal=ordinal)
    return tuple(orjson.loads(kept)) if kept else ()


async def insert_run(tx: Transaction, run: Run) -> None:
    await tx.run(_INSERT, **RUNS.write(run))


async def update_run(tx: Transaction, run: Run) -> tuple[bool, bool]:
    """Write what passes may change. Did somebody ask meanwhile for it to be cancelled, is its agent paused?"""
    cancelled, paused = await tx.one(_UPDATE, id_=run.id, **_write_changes(run)) or (False, False)
    return bool(cancelled), bool(paused)


async def put_mark(tx: Transaction, id: str, mark: Mark | None) -> None:
    await tx.run(_PUT_MARK, id_=id, mark_=None if mark is None else _MARK.encode(mark))


async def put_streamed(tx: Transaction, id: str, calls: Sequence[OpenCall]) -> None:
    await tx.run(_PUT_STREAMED, id_=id, streamed_=_OPEN.encode(calls) if calls else None)


async def select_streamed(tx: Transaction, id: str) -> tuple[OpenCall, ...]:
    """What is committed, which after a lost connection need not be what its driver thinks."""
    kept = await tx.value(_SELECT_STREAMED, id=id)
    found: tuple[OpenCall, ...] = _OPEN.decode(kept) if kept else ()
    return found


async def request_cancel(tx: Transaction, id: str, by: str) -> bool:
    return await tx.run(_REQUEST_CANCEL, id_=id, by_=by) > 0


async def select_stopped_by(tx: Transaction, id: str) -> str | None:
    found: str | None = await tx.value(_SELECT_STOPPED_BY, id=id)
    return found


async def select_begun(tx: Transaction, id: str | None) -> frozenset[str]:
    """The tools that a run, and the runs that it did once more, have called so that something may have come of it."""
    ids: list[str] = []
    while id is not None and len(ids) < MOST_TRIES:
        ids.append(id)
        id = await tx.value(_SELECT_RETRY_OF, id=id)
    return frozenset(await tx.values(_SELECT_BEGUN, ids=ids)) if ids else frozenset()


async def request_cancel_of(tx: Transaction, agent_id: str) -> list[str]:
    """All that an agent is doing just now."""
    return await tx.values(_REQUEST_CANCEL_OF, agent_id_=agent_id)


async def select_under_way_of(tx: Transaction, agent_id: str) -> list[str]:
    return await tx.values(_SELECT_UNDER_WAY_OF, agent_id=agent_id)


async def count_in(tx: Transaction, space_id: str) -> int:
    return int(await tx.value(_COUNT_IN, space_id=space_id))


async def select_under_way_in(tx: Transaction, space_id: str) -> list[Run]:
    return RUNS.read_all(await tx.all(_SELECT_UNDER_WAY_IN, space_id=space_id))


async def is_cancel_requested(tx: Transaction, id: str) -> bool:
    return bool(await tx.value(_IS_CANCEL_REQUESTED, id=id))


async def select_cancelled(tx: Transaction, ids: list[str]) -> list[str]:
    """Which of these somebody wants to end."""
    return await tx.values(_SELECT_CANCELLED, ids=ids)


async def select_run(tx: Transaction, id: str) -> Run | None:
    return RUNS.read_one(await tx.one(_SELECT, id=id))


async def select_under_way(tx: Transaction, thread_id: str) -> Run | None:
    return RUNS.read_one(await tx.one(_SELECT_UNDER_WAY, thread_id=thread_id))


async def select_runs(
    tx: Transaction,
    *,
    agent_id: str | None,
    space_id: str | None,
    status: str | None,
    before: str,
    limit: int,
    readable: Collection[str] | None = None,
    reader: str = "",
    sees_all: bool = True,
) -> list[Run]:
    """Those in `readable` spaces (None: in all), the reader's own, and with `sees_all` those in no space."""
    found = await tx.all(
        _SELECT_PAGE,
        before=before,
        agent_id=agent_id,
        space_id=space_id,
        status=status,
        everything=int(readable is None),
        readable=sorted(readable or ()),
        reader=reader,
        sees_all=int(sees_all),
        limit=limit,
    )
    return RUNS.read_those(found)


async def select_summaries(tx: Transaction, thread_id: str, *, before: int, limit: int) -> list[Summary]:
    """The newest summaries of runs before this one, oldest first."""
    found = await tx.all(_SELECT_SUMMARIES, thread_id=thread_id, before=before, limit=limit)
    return _SUMMARY.read_all(found[::-1])


async def select_space_summaries(
    tx: Transaction, thread_id: str, *, before: int, since: int, upto: int, limit: int
) -> list[Summary]:
    """The same for a thread of one space, of runs whose newest message has a number after `since` and up to `upto`."""
    found = await tx.all(
        _SELECT_SPACE_SUMMARIES, thread_id=thread_id, before=before, since=since, upto=upto, limit=limit
    )
    return _SUMMARY.read_all(found[::-1])


async def select_anew(tx: Transaction, space_id: str, *, upto: int) -> int:
    """The last message up to this one with which somebody wanted the agents to begin anew; 0: nobody did."""
    return int(await tx.value(_SELECT_ANEW, space_id=space_id, upto=upto) or 0)


async def select_earlier(tx: Transaction, thread_id: str, *, after: int, before: int) -> list[EarlierRun]:
    """The thread's earlier runs in which something happened."""
    return _EARLIER.read_all(await tx.all(_SELECT_EARLIER, thread_id=thread_id, after=after, before=before))


async def select_concerned(tx: Transaction, run_ids: list[str]) -> set[Concerned]:
    """Whom these runs concern, each once."""
    return set(_CONCERNED.read_all(await tx.all(_SELECT_CONCERNED, ids=run_ids)))


async def insert_entries(tx: Transaction, entries: list[Entry]) -> None:
    await tx.many(_INSERT_ENTRY, [ENTRIES.write(entry) for entry in entries])


async def select_entries(tx: Transaction, run_id: str) -> list[Entry]:
    return ENTRIES.read_all(await tx.all(_SELECT_ENTRIES, run_id=run_id))


async def select_entry_page(tx: Transaction, run_id: str, *, after: int, limit: int) -> list[Entry]:
    return ENTRIES.read_those(await tx.all(_SELECT_ENTRY_PAGE, run_id=run_id, after=after, limit=limit))


async def mark_started(tx: Transaction, run_id: str, call_id: str) -> None:
    await tx.run(_MARK_STARTED, run_id_=run_id, call_id_=call_id)


async def insert_prompt(tx: Transaction, hash: str, text: str) -> None:
    await tx.run(_INSERT_PROMPT, hash=hash, text=text)


async def select_prompt(tx: Transaction, hash: str) -> str:
    return await tx.value(_SELECT_PROMPT, hash=hash) or ""


async def retry_now(tx: Transaction, agent_id: str) -> bool:
    """Runs of the agent that wait for its provider need not wait any longer. Are there any?"""
    return await tx.run(_RETRY_NOW, agent_id_=agent_id, now=tx.clock.millis()) > 0


async def bring_forward(tx: Transaction) -> int:
    """The clock was put back: whoever waits for a provider asks it again now. How many do?"""
    return await tx.run(_BRING_FORWARD, now=tx.clock.millis())


async def select_window(tx: Transaction, space_id: str, *, after: int, upto: int) -> list[WindowMessage]:
    return _WINDOW.read_all(await tx.all(_SELECT_WINDOW, space_id=space_id, after=after, upto=upto))


def on_the_wire(run: Run) -> WireRun:
    return WireRun(
        id=run.id,
        agent_id=run.agent_id,
        thread_id=run.thread_id,
        space_id=run.space_id,
        trigger=Trigger.model_validate(run.trigger),
        depth=run.depth,
        status=run.status,
        outcome=run.outcome,
        stop_reason=run.stop_reason,
        stopped_by=run.stopped_by,
        retry_of=run.retry_of,
        silence_reason=run.silence_reason,
        message_ids=list(run.message_ids),
        outside=list(run.outside),
        usage=RunUsage(
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            cached_tokens=run.cached_tokens,
            cost=run.cost,
            unpriced=run.unpriced or None,
        ),
        error=run.error,
        retry_at=None if run.retry_at is None else Clock.at(run.retry_at),
        paused_reason=run.paused_reason,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


def entry_on_the_wire(entry: Entry) -> RunMessage:
    return RunMessage(
        id=entry.id,
        run_id=entry.run_id,
        step=entry.step,
        type=entry.type,
        call_id=entry.call_id,
        tool_name=entry.tool_name,
        args=None if entry.args is None else _readable(entry.args),
        # What a model thought is its own, and sealed.
        result=orjson.loads(entry.result) if entry.result and entry.type == "tool_return_message" else None,
        is_error=entry.is_error,
        outside=orjson.loads(entry.outside) if entry.outside else None,
        content=entry.content,
        at=entry.at,
    )


def _readable(arguments: str) -> Any:
    """What the model wrote, as JSON if it is that, else as the text it is."""
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_OLD = and_(runs.c.id > bindparam("after"), runs.c.id < bindparam("before"))
_SELECT_OLD = Statement(
    select(runs.c.id)
    .where(_OLD, runs.c.finished_at.is_not(None), runs.c.payload != "{}")
    .order_by(runs.c.id)
    .limit(bindparam("limit"))
)
_SELECT_OLD_UNDER_WAY = Statement(select(func.min(runs.c.id)).where(_OLD, runs.c.finished_at.is_(None)))
# All finished runs up to this one have lost their journals.
_JOURNALS = "journals_forgotten"
_SELECT_JOURNALS = Statement(select(meta.c.value).where(meta.c.key == _JOURNALS))
_PUT_META = upsert(meta, ["key"], ["value"])
_DELETE_JOURNALS = Statement(delete(run_messages).where(any_of(run_messages.c.run_id, "ids")))
# A run with this payload has no journal any more, and the items it answered are gone.
_EMPTY = Statement(update(runs).where(any_of(runs.c.id, "ids")).values(payload="{}", prompt_hash=None))
_SILENCE = Statement(update(runs).where(any_of(runs.c.id, "ids")).values(summary=None, error=None, silence_reason=None))
_FORGET_STOPPED_BY = Statement(
    update(runs).where(inside(runs.c.id), runs.c.stopped_by == bindparam("id_")).values(error=None)
)
_DELETERUNS = Statement(delete(runs).where(any_of(runs.c.id, "ids")))
_SELECT_OF_THREAD = Statement(select(runs.c.id).where(runs.c.thread_id == bindparam("id")).limit(bindparam("limit")))
_SELECT_OF_AGENT = Statement(
    select(runs.c.id, runs.c.prompt_hash)
    .where(runs.c.agent_id == bindparam("id"), runs.c.id > bindparam("after"))
    .order_by(runs.c.id)
    .limit(bindparam("limit"))
)
_SELECT_UNDER_WAY_FOR = Statement(
    select(runs.c.id).where(
        runs.c.finished_at.is_(None), runs.c.cause_kind == "person", runs.c.cause_id == bindparam("id")
    )
)
_SELECT_UNDER_WAY_TOLD = Statement(
    select(runs.c.id).where(
        runs.c.finished_at.is_(None),
        or_(
            runs.c.space_id == bindparam("id"),
            select(inbox_items.c.id)
            .where(inbox_items.c.claimed_by == runs.c.id, inbox_items.c.space_id == bindparam("id"))
            .exists(),
        ),
    )
)
_SELECT_PROMPTS = Statement(select(prompts.c.hash))
_SELECT_PROMPTS_IN_USE = Statement(
    select(runs.c.id, runs.c.prompt_hash)
    .where(runs.c.id > bindparam("after"))
    .order_by(runs.c.id)
    .limit(bindparam("limit"))
)
_LOCK_PROMPTS = Statement(text("LOCK TABLE prompts IN SHARE ROW EXCLUSIVE MODE"))
_SELECT_NEW_USES = Statement(select(runs.c.prompt_hash).distinct().where(runs.c.id > bindparam("after")))
_DELETE_PROMPTS = Statement(delete(prompts).where(any_of(prompts.c.hash, "hashes")))


async def select_old(tx: Transaction, before: str, limit: int) -> list[str]:
    """Finished runs from before this id that still have a journal, oldest first."""
    return await tx.values(_SELECT_OLD, after=await tx.value(_SELECT_JOURNALS) or "", before=before, limit=limit)


async def note_forgotten(tx: Transaction, run_id: str) -> None:
    """Runs up to this one are not looked at again, unless one of them is still under way."""
    if await tx.value(_SELECT_OLD_UNDER_WAY, after=await tx.value(_SELECT_JOURNALS) or "", before=run_id) is None:
        await tx.run(_PUT_META, key=_JOURNALS, value=run_id)


async def delete_journals(tx: Transaction, run_ids: list[str]) -> None:
    """The runs stay, and that they were."""
    await tx.run(_DELETE_JOURNALS, ids=run_ids)
    await tx.run(_EMPTY, ids=run_ids)


async def silence(tx: Transaction, run_ids: list[str]) -> None:
    """Take out what was said of them."""
    await tx.run(_SILENCE, ids=run_ids)


async def forget_stopped_by(tx: Transaction, person_id: str, after: str, upto: str) -> None:
    """The sentence that names them; that it was they stays."""
    await tx.run(_FORGET_STOPPED_BY, id_=person_id, after=after, upto=upto)


async def delete_runs(tx: Transaction, run_ids: list[str]) -> None:
    await tx.run(_DELETERUNS, ids=run_ids)


async def select_of_thread(tx: Transaction, thread_id: str, limit: int) -> list[str]:
    return await tx.values(_SELECT_OF_THREAD, id=thread_id, limit=limit)


async def select_of_agent(tx: Transaction, agent_id: str, after: str, limit: int) -> list[tuple[str, str | None]]:
    """The next ones, and the hash of the prompt that each was shown."""
    return [(id, hash) for id, hash in await tx.all(_SELECT_OF_AGENT, id=agent_id, after=after, limit=limit)]


async def select_under_way_for(tx: Transaction, person_id: str) -> list[str]:
    """Runs that a person caused."""
    return await tx.values(_SELECT_UNDER_WAY_FOR, id=person_id)


async def select_under_way_told(tx: Transaction, space_id: str) -> list[str]:
    """Runs in a space, and those elsewhere that were told something of it."""
    return await tx.values(_SELECT_UNDER_WAY_TOLD, id=space_id)


async def select_prompts(tx: Transaction) -> set[str]:
    return set(await tx.values(_SELECT_PROMPTS))


async def select_prompts_in_use(tx: Transaction, after: str, limit: int) -> list[tuple[str, str | None]]:
    """Runs after this one, and what each was shown."""
    return [(id, hash) for id, hash in await tx.all(_SELECT_PROMPTS_IN_USE, after=after, limit=limit)]


async def delete_unused_prompts(tx: Transaction, hashes: list[str], looked_up_to: str) -> int:
    """Remove these, except for what runs after `looked_up_to` use."""
    if tx.store.shared:
        # A run that begins just now takes its prompt for granted if it is there. From here on it waits for us.
        await tx.all(_LOCK_PROMPTS)
    used = set(await tx.values(_SELECT_NEW_USES, after=looked_up_to))
    return await tx.run(_DELETE_PROMPTS, hashes=[hash for hash in hashes if hash not in used])


async def delete_prompts(tx: Transaction, hashes: list[str]) -> None:
    await tx.run(_DELETE_PROMPTS, hashes=hashes)
