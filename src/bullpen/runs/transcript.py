"""Rows in, what the model sees out. Pure.

A run in a space sees that space's latest messages and then its own journal. The window grows from 20 to 40 messages and
is cut back to 20, so that the beginning of what a provider caches stays the same from run to run. A thread that
spans all spaces sees its own earlier journals instead. What lies outside is not forgotten: tools reach it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from bullpen.llm.types import AssistantTurn, CallWish, ToolTurn, Transcript, TriggerView, Turn, UserTurn
from bullpen.runs.types import Entry, Run
from bullpen.tools.types import rendered
from bullpen.wire import Agent

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


def history(rows: Sequence[Sequence[Any]], names: Mapping[str, str], room: str) -> str:
    """The window of a space, one line a message. What others say is quoted data, never instructions to the system."""
    lines = [f"The latest messages in {room}, oldest first:"]
    for _seq, id_, author_id, kind, type_, text, deleted_at in rows:
        if deleted_at is not None:
            continue
        who = "note" if kind == "system" else names.get(author_id, author_id)
        shown = text if type_ != "tool" else f"[tool] {text}"
        lines.append(f"[{id_}] {who}: {_quoted(shown)}")
    return "\n".join(lines)


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
    return f"[{payload.get('messageId')} in {payload.get('spaceId')}] {who}: {_quoted(str(payload.get('text')))}"


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
                turns.append(ToolTurn(entry.call_id or "", entry.tool_name or "", content, bool(entry.is_error)))
    if pending:
        turns.append(AssistantTurn(text, tuple(calls)))
    return turns


def build(run: Run, system: str, before: Sequence[Turn], entries: Sequence[Entry]) -> Transcript:
    """`before` is what the run was shown of the past, fixed when it began; `entries` is its own story so far."""
    payload = run.payload
    return Transcript(
        system=system,
        turns=[*before, *journal(entries)],
        trigger=TriggerView(
            kind=str(run.trigger.get("kind", "message")),
            text=str(payload.get("text", "")),
            message_id=str(payload.get("messageId", "")),
            space_id=str(payload.get("spaceId", "")),
        ),
        steps=sum(1 for entry in entries if entry.type == "assistant_message"),
        results=[orjson.loads(e.result or "null") for e in entries if e.type == "tool_return_message"],
    )
