"""What a model is shown, for people: part by part, now or before a step. Nothing is claimed and nothing is written.

The request of a step is not kept. It is built again from what is: the system text by its hash, the window by its
number, the journal. A `Reference` beside the answer says how large the context was and, by marks, where the past has
changed since. What somebody has edited, deleted or had erased does not come back this way:
docs/decisions/0032-seeing-what-it-sees.md.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson

from bullpen.errors import Invalid
from bullpen.inbox import rows as inbox_rows
from bullpen.llm import conversation
from bullpen.llm.fallback import FallbackModel
from bullpen.llm.types import AssistantTurn, Attachment, ShowsRequest, ToolSpec, ToolTurn, Turn, UserTurn
from bullpen.observe.redact import concerning, here
from bullpen.replacing import replace
from bullpen.runs import actions, asking, bounds, loop, pictures, rows, steps, transcript
from bullpen.runs.actions import System
from bullpen.runs.lines import Line, change_lines, change_summaries
from bullpen.runs.loop import Drive, World
from bullpen.runs.types import Entry, MessageState, Run
from bullpen.storage import Transaction
from bullpen.wire.nouns import PromptBlock, PromptChange, PromptPart, PromptTool

EDITED: Final = "(edited since)"
DELETED: Final = "(deleted since)"
WITHHELD: Final = "(not shown: it holds a message that was edited, deleted or erased since)"
MOST_MESSAGES: Final = 2000  # of which is looked up what became of them
_MESSAGE: Final = re.compile(r"\bmsg_[0-9A-Za-z]+")


# Which parts of the past the reader may not see, given whose text it is.
Hides: TypeAlias = Callable[[Sequence[str]], Awaitable[frozenset[str]]]


@dataclass(slots=True)
class Seen:
    """What people are shown of a request."""

    parts: list[PromptPart]
    tools: list[PromptTool]
    window: int
    model: str | None
    at: str | None = None  # when the answer was kept
    changed: list[PromptChange] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    body: dict[str, Any] | None = None

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts) + sum(tool.tokens for tool in self.tools)


# ── now ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def see_now(tx: Transaction, world: World, run: Run, system: System, hides: Hides) -> Seen:
    """`run` is one that has not begun and never will."""
    drive = await loop.look(tx, world, run, [], transcript.join_parts(system.parts))
    hidden = await hides(drive.seen_in)
    with concerning(drive.concern):
        asking.clean(drive)
        parts = [_part(name, here().clean(drive.fill(text))) for name, text in system.parts]
        parts += [_part(name, _read_out(turns)) for name, turns in _past(drive) if turns]
    parts = _with_blocks(parts, transcript.block_costs(system.blocks))
    shown = [part for part in parts if part.name not in hidden]
    seen = Seen(shown, _tools(asking.specs(drive)), drive.tokens, steps.name_of(drive.model))
    seen.left_out = [part.name for part in parts if part.name in hidden]
    return seen


# ── before a step ───────────────────────────────────────────────────────────────────────────────────────────────────


async def see_step(
    tx: Transaction, world: World, run: Run, step: int, hides: Hides, *, body: bool = False
) -> Seen | None:
    """None: the model was not asked for this step."""
    entries = await rows.select_entries(tx, run.id)
    answer = next((each for each in entries if each.type == "assistant_message" and each.step == step), None)
    if answer is None and not _was_asked(run, entries, step):
        return None
    shown = [each for each in entries if answer is None or each.position < answer.position]
    kept = steps.read_reference(answer)
    system = await rows.select_prompt(tx, run.prompt_hash or "")
    drive = await loop.look(tx, world, run, shown, system, None if kept is None else kept.tokens)
    with concerning(drive.concern):
        asking.clean(drive)
        changes = _compare(drive, kept)
        drive.pictures = await _blank_pictures(tx, run, shown)
        sizes = steps.read_sizes(entries[0])
        seen = await _see(tx, drive, transcript.split_parts(system, sizes), answer, changes, await hides(drive.seen_in))
        seen.parts = _with_blocks(seen.parts, steps.read_blocks(entries[0]))
        if body:
            seen.body = _body(drive, seen)
    return seen


def _was_asked(run: Run, entries: Sequence[Entry], step: int) -> bool:
    """A model that is asked just now, or that never answered: what it is shown is what the rows say."""
    return step == run.step + 1 and run.status != "completed" and bool(entries) and not actions.unsettled(entries)


async def _see(
    tx: Transaction,
    drive: Drive,
    system: Sequence[tuple[str, str]],
    answer: Entry | None,
    changes: dict[str, PromptChange],
    hidden: frozenset[str],
) -> Seen:
    run, most = drive.run, bounds.of(drive.tokens)
    past = _past(drive)
    built = transcript.build(run, drive.system, [], drive.entries, drive.said, most, drive.pictures)
    forgetting = await _forgetting(tx, [turn for _, turns in past for turn in turns] + list(built.turns), drive.entries)
    if run.space_id is not None and answer is not None:
        await _note_changed_messages(tx, run, run.space_id, answer.at, changes)
    own = forgetting.forget(built.turns, "journal", changes)
    past = [(name, forgetting.forget(turns, name, changes)) for name, turns in past]
    told = next((at for at, turn in enumerate(own) if isinstance(turn, AssistantTurn)), len(own))
    past += [("waking", own[:told]), ("steps", own[told:])]
    parts = [_part(name, here().clean(drive.fill(text))) for name, text in system]
    parts += [_part(name, _read_out(turns)) for name, turns in past if turns and name not in hidden]
    drive.before = [turn for name, turns in past if name not in hidden for turn in turns]
    model = None if answer is None else steps.read(answer).get("model")
    at = None if answer is None else answer.at
    seen = Seen(parts, _tools(asking.specs(drive)), drive.tokens, model, at, list(changes.values()))
    seen.left_out = [name for name, turns in past if turns and name in hidden]
    if any(isinstance(turn, AssistantTurn) and turn.thinking for turn in drive.before):
        seen.left_out.append("thinking")
    return seen


def _compare(drive: Drive, kept: steps.Reference | None) -> dict[str, PromptChange]:
    """Where what is built now differs from what was sent, by the marks that are kept."""
    if kept is None:
        return {}
    now = asking.reference(drive, asking.specs(drive))
    reasons = {
        "system": (kept.system, now.system, "A variable has another value, or another secret is masked."),
        "tools": (kept.tools, now.tools, "Tools were added, changed or removed; these are the ones of now."),
        "model": (kept.model, now.model, "The agent has another model, or other settings for it."),
    }
    found = {name: why for name, (then, is_now, why) in reasons.items() if then != is_now}
    for name in {**kept.past, **now.past}:
        if kept.past.get(name) != now.past.get(name):
            found[name] = "It reads differently now: something in it was edited, deleted, erased, renamed or masked."
    return {name: PromptChange(part=name, why=why) for name, why in found.items()}


async def _note_changed_messages(
    tx: Transaction, run: Run, space_id: str, since: str, changes: dict[str, PromptChange]
) -> None:
    start = transcript.window_start(run.window_seq)
    found = await rows.select_changed(tx, space_id, after=start, upto=run.window_seq, since=since)
    if found and "messages" in changes:
        why = "Messages were edited or deleted since; they are shown as they are now, or not at all."
        changes["messages"] = PromptChange(part="messages", why=why, message_ids=[state.id for state in found])


# ── what must not come back ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Forgetting:
    """Takes out of turns what was edited, deleted or erased since it was said."""

    named: set[str]  # messages that the turns name
    states: Mapping[str, MessageState]
    times: Mapping[str, str]  # when the calls of this run had their results

    def forget(self, turns: Sequence[Turn], part: str, changes: dict[str, PromptChange]) -> list[Turn]:
        gone: set[str] = set()
        stale = {turn.call_id for turn in turns if isinstance(turn, ToolTurn) and self._stale(turn, gone)}
        kept = [self._turn(turn, stale, gone) for turn in turns]
        if gone:
            why = "Messages in it were edited, deleted or erased since; their words are not shown."
            before = changes[part].message_ids if part in changes else []
            changes[part] = PromptChange(part=part, why=why, message_ids=sorted({*gone, *before}))
        return kept

    def _turn(self, turn: Turn, stale: set[str], gone: set[str]) -> Turn:
        if isinstance(turn, UserTurn):
            change = lambda line: self._line(line, gone)  # noqa: E731
            return replace(turn, text=change_summaries(change_lines(turn.text, change), change))
        if isinstance(turn, ToolTurn):
            return replace(turn, content=[{"type": "text", "text": WITHHELD}]) if turn.call_id in stale else turn
        withheld = orjson.dumps({"withheld": WITHHELD}).decode()
        calls = [replace(call, arguments=withheld) if call.id in stale else call for call in turn.calls]
        return replace(turn, calls=tuple(calls))

    def _line(self, line: Line, gone: set[str]) -> Line:
        state = self.states.get(line.ref)
        if state is None or (state.deleted_at is None and state.edited_at is None):
            return line
        if state.deleted_at is None and (line.text == state.text or line.text.startswith(f"{state.text}\n[file: ")):
            return line
        gone.add(line.ref)
        return replace(line, text=EDITED if state.deleted_at is None else DELETED)

    def _stale(self, turn: ToolTurn, gone: set[str]) -> bool:
        """Does the result hold words of a message that are not its words any more?"""
        at = self.times.get(turn.call_id, "")
        named = {id for part in turn.content for id in _MESSAGE.findall(part["text"])}
        changed = {id for id in named if self._changed(id, at)}
        gone |= changed
        return bool(changed)

    def _changed(self, id: str, at: str) -> bool:
        state = self.states.get(id)
        return state is None or state.deleted_at is not None or (state.edited_at or "") > at


async def _forgetting(tx: Transaction, turns: Sequence[Turn], entries: Sequence[Entry]) -> Forgetting:
    named = {id for text in transcript.texts(turns, ()) for id in _MESSAGE.findall(text)}
    # More than a context holds. Whatever is not looked up counts as gone.
    states = await rows.select_states(tx, sorted(named)[:MOST_MESSAGES])
    times = {each.call_id or "": each.at for each in entries if each.type == "tool_return_message"}
    return Forgetting(named, states, times)


# ── for people ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _past(drive: Drive) -> list[tuple[str, list[Turn]]]:
    found, at = [], 0
    for name, count in drive.parts:
        found.append((name, list(drive.before[at : at + count])))
        at += count
    return found


def _with_blocks(parts: Sequence[PromptPart], blocks: list[PromptBlock] | None) -> list[PromptPart]:
    """What memory costs, block by block, stands with the part that it is."""
    return [part.model_copy(update={"blocks": blocks}) if part.name == "memory" else part for part in parts]


def _part(name: str, text: str) -> PromptPart:
    return PromptPart(name=name, text=text, tokens=bounds.tokens(text))


def _tools(specs: Sequence[ToolSpec]) -> list[PromptTool]:
    return [
        PromptTool(
            name=spec.name,
            description=spec.description,
            input_schema=spec.input_schema,
            tokens=bounds.tokens(f"{spec.name} {spec.description} {orjson.dumps(spec.input_schema).decode()}"),
        )
        for spec in specs
    ]


def _read_out(turns: Sequence[Turn]) -> str:
    """Turns as text: what was said to the model, what it said and called, and what came of that."""
    found = []
    for turn in turns:
        if isinstance(turn, UserTurn):
            found += [turn.text, *(f"[{file.type}: {file.name}]" for file in turn.attachments)]
        elif isinstance(turn, ToolTurn):
            mark = "failed" if turn.is_error else "gave"
            found.append(f"{turn.tool} {mark}: " + "\n".join(part["text"] for part in turn.content))
            found += [f"[{file.type}: {file.name}]" for file in turn.attachments]
        else:
            found += [turn.text, *(f"called {call.name} {call.arguments}" for call in turn.calls)]
    return "\n".join(filter(None, found))


async def _blank_pictures(tx: Transaction, run: Run, entries: Sequence[Entry]) -> pictures.Pictures:
    """Which pictures were shown, without what is in them."""
    found: dict[str, list[Attachment]] = {}
    for message_id, file in pictures.chosen(await inbox_rows.select_payloads(tx, run.id)):
        found.setdefault(message_id, []).append(Attachment(file["name"], file["type"], ""))
    for entry in pictures.read_by(entries):
        found[entry.call_id or ""] = [Attachment(pictures.name_of(entry), pictures.JPEG, "")]
    return found


def _body(drive: Drive, seen: Seen) -> dict[str, Any] | None:
    """The request as its provider got it. None: the model is another by now, or is no provider's."""
    if any(change.part == "model" for change in seen.changed) or drive.agent is None:
        return None
    try:
        model: Any = drive.world.models.resolve(drive.model)
    except Invalid:
        return None
    if isinstance(model, FallbackModel):
        model = model.named(str(seen.model)) or model.models[0][1]
    if not isinstance(model, ShowsRequest):
        return None
    turns = [replace(turn, thinking=()) if isinstance(turn, AssistantTurn) else turn for turn in drive.before]
    shown = replace(transcript.build(drive.run, drive.system, [], [], ""), turns=turns)
    made: dict[str, Any] = orjson.loads(conversation.encoded(model.request(shown, asking.specs(drive))))
    return made
