"""What one answer of a model took and came to, as the journal keeps it beside the answer. Pure.

A trace shows it, budgets count it, and what a run has used is the sum of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import orjson

from bullpen import ids
from bullpen.budgets.types import DOLLAR, Spent, Subject
from bullpen.llm.types import Reply
from bullpen.runs.types import Entry, Run
from bullpen.wire.nouns import PromptBlock

BREAK: Final = "\x00"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a model was shown, by size and by marks: enough to build it again from what is kept anyway, and to see
    where that has changed. No text is in it, so an erasure has nothing to look for."""

    tokens: int  # the size of the context
    system: str
    tools: str
    model: str
    past: Mapping[str, str]  # by the name of the part


def mark_of(*texts: str) -> str:
    """Differs if they do, nearly always. Short: nobody can try out by it what a text was."""
    return f"{crc32(BREAK.join(texts).encode('utf-8', 'surrogatepass')):08x}"


@dataclass(frozen=True, slots=True)
class Asking:
    """How an answer was got: from whom it was wanted, what it cost, how often and how long we asked."""

    model: str  # as `provider:name`
    nanodollars: int = 0
    priced: bool = True
    tries: int = 1
    elapsed_ms: int = 0
    away_ms: int = 0  # of the time: the provider was not there, and we waited
    reference: Reference | None = None


def name_of(model: Any) -> str:
    """A model as one word: `provider:name`."""
    if isinstance(model, Mapping):
        return f"{model.get('provider', '')}:{model.get('name') or ''}".rstrip(":")
    return str(model)


def answered_by(asking: Asking, reply: Reply) -> str:
    return reply.model or asking.model


def written(asking: Asking, reply: Reply) -> str:
    usage, model = reply.usage, answered_by(asking, reply)
    said: dict[str, Any] = {
        "model": model,
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "cached": usage.cached_tokens,
        "written": usage.written_tokens,
        "nano": asking.nanodollars,
        "ms": asking.elapsed_ms,
    }
    if model != asking.model:
        said["asked"] = asking.model
    if not asking.priced:
        said["unpriced"] = True
    if asking.tries > 1:
        said.update(tries=asking.tries, awayMs=asking.away_ms)
    if (kept := asking.reference) is not None:
        said["shown"] = [kept.tokens, kept.system, kept.tools, kept.model, kept.past]
    return orjson.dumps(said).decode()


def written_sizes(parts: Sequence[tuple[str, int]], blocks: Sequence[PromptBlock]) -> str:
    """How long each part of the system part is, and which blocks of memory are in it: kept beside what woke the run,
    since the text itself is kept whole."""
    kept = [[block.label, block.version, block.tokens, block.space_id, block.shared_by] for block in blocks]
    return orjson.dumps({"parts": parts, "blocks": kept}).decode()


def read_blocks(entry: Entry) -> list[PromptBlock] | None:
    """None: the run is from before this was kept."""
    kept = read(entry).get("blocks")
    if kept is None:
        return None
    return [
        PromptBlock(label=label, version=version, tokens=tokens, space_id=space_id, shared_by=shared_by)
        for label, version, tokens, space_id, shared_by in kept
    ]


def read_sizes(entry: Entry) -> list[tuple[str, int]]:
    return [(name, size) for name, size in read(entry).get("parts", ())]


def read_reference(entry: Entry | None) -> Reference | None:
    kept = None if entry is None else read(entry).get("shown")
    return Reference(*kept) if kept else None


def read(entry: Entry) -> dict[str, Any]:
    """What is kept beside an answer. Answers from before it was kept say nothing."""
    return orjson.loads(entry.usage) if entry.usage else {}


def spent(run: Run, asking: Asking, reply: Reply) -> Spent:
    usage = reply.usage
    return Spent(
        model=answered_by(asking, reply),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        written_tokens=usage.written_tokens,
        nanodollars=asking.nanodollars,
        priced=asking.priced,
        begins_run=run.step == 0,
    )


def cost_with(run: Run, nanodollars: int) -> float:
    """What the run has cost so far. By way of whole numbers, so that it is the sum of its steps to the last digit."""
    return (round(run.cost * DOLLAR) + nanodollars) / DOLLAR


def subject_of(run: Run) -> Subject:
    """Whom the run's spending counts for. Its cause and its chain are inherited by all it makes others do."""
    return Subject(
        run.agent_id,
        space_id=run.space_id or "",
        person_id=run.cause_id if run.cause_kind == "person" else "",
        task_id=str(run.trigger.get("taskId") or "") or ids.task_of(run.chain_id),
    )
