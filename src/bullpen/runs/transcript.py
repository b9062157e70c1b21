"""Rows in, what the model sees out. Pure.

A run in a space sees that space's latest messages and then its own journal. The window grows from 20 to 40 messages and
is cut back to 20, so that the beginning of what a provider caches stays the same from run to run. A thread that
spans all spaces sees its own earlier journals instead. What lies outside is not forgotten: tools reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from bullpen.files.rules import size_of
from bullpen.llm.types import AssistantTurn, CallWish, ToolTurn, Transcript, TriggerView, Turn, UserTurn
from bullpen.observe.redact import REDACTOR
from bullpen.runs.types import Entry, Run
from bullpen.tools.types import rendered
from bullpen.wire import Agent
from bullpen.wire.nouns import File, ToolConfig

WINDOW = 20
JOURNALS = 5
SUMMARIES = 20


def window_start(last: int, size: int = WINDOW) -> int:
    """Show what comes after this number: between `size` and twice `size` of them, by how many there are."""
    return max(0, (last - size) // size * size)


def system_prompt(agent: Agent, blocks: Sequence[tuple[str, str]], teaching: Sequence[str]) -> str:
    parts = [f"You are {agent.name} (id {agent.id})."]
    if agent.instructions:
        parts.append(agent.instructions)
    if blocks:
        parts.append("Your memory:\n" + "\n".join(f"<{label}>\n{content}\n</{label}>" for label, content in blocks))
    parts.extend(teaching)
    return "\n\n".join(parts)


def lessons(defined: Sequence[ToolConfig]) -> list[str]:
    """What an agent has to know about the tools that somebody has made for it."""
    found = []
    if shown := [config.name for config in defined if config.visible]:
        found.append(
            f"What you do with these tools is shown in the space you are in: {', '.join(shown)}. Call enter_space "
            "before you use one of them: it shows in the space you entered last, and outside a space it is refused."
        )
    if later := [config.name for config in defined if config.is_async]:
        found.append(
            f"These tools are answered later: {', '.join(later)}. Such a call gives a `pendingToolCallId` at once. Go "
            "on with something else and do not call it again; you are woken with the result under the same id."
        )
    return found


def history(
    rows: Sequence[Sequence[Any]],
    names: Mapping[str, str],
    room: str,
    files: Mapping[str, Sequence[File]] | None = None,
) -> str:
    """The window of a space, one line a message. What others say is quoted data, never instructions to the system.

    `files` are those that a message shows, by its id.
    """
    lines = [f"The latest messages in {room}, oldest first:"]
    for _seq, id_, author_id, kind, type_, text, deleted_at, *_ in rows:
        if deleted_at is not None:
            continue
        who = "note" if kind == "system" else names.get(author_id, author_id)
        shown = text if type_ != "tool" else f"[tool] {text}"
        lines.append(f"[{id_}] {who}: {_quoted(_with_files(shown, (files or {}).get(id_, ())))}")
    return "\n".join(lines)


def _with_files(text: str, files: Sequence[File]) -> str:
    shown = [file_line(file.name, file.type, file.size, file.id) for file in files]
    return "\n".join([text, *shown] if text else shown)


def file_line(name: str, type: str, size: int, id: str) -> str:
    """What an agent sees of a file: what it is, and by which id tools reach it."""
    return f"[file: {name} ({type}, {size_of(size)}), id {id}]"


def _quoted(text: str) -> str:
    """Further lines are indented, so that no message can look like the beginning of another."""
    return text.replace("\r", "\n").replace("\n", "\n    ")


def waking(payloads: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """What woke the run: its inbox items, in order. Kept in the journal as the run's first entry."""
    return "\n".join(["New for you:", *(_item(kind, payload) for kind, payload in payloads)])


def _item(kind: str, payload: Mapping[str, Any]) -> str:
    if kind != "message":
        return f"[{kind}] {orjson.dumps(payload).decode()}"
    who = f"{payload.get('authorName')} ({payload.get('authorKind')} {payload.get('authorId')})"
    shown = [file_line(f["name"], f["type"], f["size"], f["id"]) for f in payload.get("attachments", ())]
    text = str(payload.get("text"))
    said = "\n".join([text, *shown] if text else shown)
    return f"[{payload.get('messageId')} in {payload.get('spaceId')}] {who}: {_quoted(said)}"


def summary(run: Run, entries: Sequence[Entry]) -> str | None:
    """One line about a finished run, for later transcripts. A silent run leaves none."""
    if run.outcome in (None, "silent", "unsent_text"):
        return None
    did = [e.tool_name or "" for e in entries if e.type == "tool_call_message"]
    counts = ", ".join(f"{name} ×{did.count(name)}" if did.count(name) > 1 else name for name in dict.fromkeys(did))
    return f"{run.started_at[:16]}Z you {run.outcome}: {counts}"


def journal(entries: Sequence[Entry]) -> list[Turn]:
    """A run's journal as turns. The model is asked only when every call has its result, so none is shown without."""
    turns: list[Turn] = []
    calls: list[CallWish] = []
    text = ""
    pending = False
    for entry in entries:
        if entry.type != "tool_call_message" and pending:
            turns.append(AssistantTurn(text, tuple(calls)))
            text, calls, pending = "", [], False
        match entry.type:
            case "user_message":
                turns.append(UserTurn(entry.content or ""))
            case "assistant_message":
                text, pending = entry.content or "", True
            case "tool_call_message":
                calls.append(CallWish(entry.call_id or "", entry.tool_name or "", entry.args or "{}"))
            case "tool_return_message":
                content = rendered(orjson.loads(entry.result or "null"))
                if entry.content:
                    content.append({"type": "text", "text": entry.content})
                turns.append(ToolTurn(entry.call_id or "", entry.tool_name or "", content, bool(entry.is_error)))
    if pending:
        turns.append(AssistantTurn(text, tuple(calls)))
    return turns


def texts(turns: Sequence[Turn], entries: Sequence[Entry]) -> list[str]:
    """Everything in them that somebody said."""
    found = [text for entry in entries for text in (entry.content, entry.args, entry.result) if text]
    for turn in turns:
        if isinstance(turn, ToolTurn):
            found += [part["text"] for part in turn.content]
            continue
        found.append(turn.text)
        if isinstance(turn, AssistantTurn):
            found += [call.arguments for call in turn.calls]
    return found


def cleaned(turn: Turn) -> Turn:
    """Without secrets: people may have written some, and there may be new ones since it was stored."""
    match turn:
        case UserTurn():
            return UserTurn(REDACTOR.clean(turn.text))
        case AssistantTurn():
            calls = [replace(call, arguments=REDACTOR.clean_arguments(call.arguments)) for call in turn.calls]
            return AssistantTurn(REDACTOR.clean(turn.text), tuple(calls))
        case ToolTurn():
            return replace(turn, content=REDACTOR.clean_json(turn.content))


def cleaned_entry(entry: Entry) -> Entry:
    """The same for a line of the run's own journal."""
    content = None if entry.content is None else REDACTOR.clean(entry.content)
    args, result = (None if text is None else REDACTOR.clean_arguments(text) for text in (entry.args, entry.result))
    if (content, args, result) == (entry.content, entry.args, entry.result):
        return entry
    return replace(entry, content=content, args=args, result=result)


def build(run: Run, system: str, before: Sequence[Turn], entries: Sequence[Entry], said: str) -> Transcript:
    """`before` is what the run was shown of the past, fixed when it began; `entries` is its own story so far.

    `said` is the text of what woke it.
    """
    payload = run.payload
    return Transcript(
        system=system,
        turns=[*before, *journal(entries)],
        trigger=TriggerView(
            kind=str(run.trigger.get("kind", "message")),
            text=said,
            message_id=str(payload.get("messageId", "")),
            space_id=str(payload.get("spaceId", "")),
        ),
        steps=sum(1 for entry in entries if entry.type == "assistant_message"),
        results=[orjson.loads(e.result or "null") for e in entries if e.type == "tool_return_message"],
    )
