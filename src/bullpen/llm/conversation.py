"""What every provider demands of a conversation, made sure of in one place. Pure.

Whatever the turns of a transcript are, what comes out begins and ends with something said to the model, sides take
turns, nothing is empty, ids and names are ones that providers take, and every call has its result, in the order of the
calls. The same turns always come to the same, so a longer conversation begins with the very bytes of a shorter one.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

import orjson

from bullpen.llm.types import AssistantTurn, Attachment, CallWish, Thinking, ToolSpec, ToolTurn, Turn, UserTurn

NOTHING = "(Nothing was said.)"
EARLIER = "(This began earlier.)"
GO_ON = "(Go on.)"
NO_RESULT = "There is no result of this call."
EMPTY = "(empty)"
NOT_TAKEN = "(A picture belongs to this result. You cannot be shown pictures.)"

LONGEST_ID = 40
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_ALTERNATIVES = frozenset({"oneOf", "anyOf", "allOf"})


@dataclass(slots=True)
class Said:
    """What the model is told: several texts, none of them empty."""

    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    stable: int = 0  # so many of the texts will be the same in the next run


@dataclass(slots=True)
class Result:
    call: CallWish
    texts: list[str]
    is_error: bool
    attachments: Sequence[Attachment] = ()

    def told(self, *, takes_files: bool) -> list[str]:
        """Its texts, none of them empty. A model that takes no pictures is told that there is one."""
        missing = [NOT_TAKEN] if self.attachments and not takes_files else []
        return [*self.texts, *missing] or [EMPTY]


@dataclass(slots=True)
class Step:
    """An answer of the model, and the result of each of its calls."""

    text: str
    results: list[Result]
    thinking: Sequence[Thinking] = ()


Conversation: TypeAlias = list[Said | Step]


def conversation(turns: Sequence[Turn]) -> Conversation:
    found: Conversation = []
    seen: set[str] = set()
    for number, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn):
            _answer(found, turn, _results(turns, number), seen)
        elif isinstance(turn, UserTurn):
            _tell(found, turn)
    if not found:
        return [Said([NOTHING])]
    if isinstance(found[0], Step):
        found.insert(0, Said([EARLIER]))
    last = found[-1]
    if isinstance(last, Step) and not last.results:
        found.append(Said([GO_ON]))
    return found


def _tell(found: Conversation, turn: UserTurn) -> None:
    has_text = not (turn.text == "" or turn.text.isspace())
    if not has_text and not turn.attachments:
        return
    last = found[-1] if found else None
    if not isinstance(last, Said):
        last = Said()
        found.append(last)
    if has_text:
        last.texts.append(turn.text)
    if turn.attachments:
        last.attachments += turn.attachments
    if turn.stable:
        last.stable = len(last.texts)


def _answer(found: Conversation, turn: AssistantTurn, returned: Mapping[str, deque[ToolTurn]], seen: set[str]) -> None:
    text = "" if turn.text.isspace() else turn.text
    if not text and not turn.calls:
        return
    results = []
    for call in turn.calls:
        waiting = returned.get(call.id)
        result = waiting.popleft() if waiting else None
        made = CallWish(_unused(call.id, seen), name_for(call.name), arguments_for(call.arguments))
        if result is None:
            results.append(Result(made, [NO_RESULT], is_error=True))
        else:
            texts = [part["text"] for part in result.content if part.get("text", "").strip()]
            results.append(Result(made, texts, result.is_error, result.attachments))
    last = found[-1] if found else None
    if isinstance(last, Step) and not last.results:  # two answers in a row: one
        last.text = "\n\n".join(filter(None, (last.text, text)))
        last.results, last.thinking = results, ()
    else:
        found.append(Step(text, results, turn.thinking))


def _results(turns: Sequence[Turn], number: int) -> Mapping[str, deque[ToolTurn]]:
    """What came of the calls of this answer. Calls may share an id; their results then come in their order."""
    answer = turns[number]
    assert isinstance(answer, AssistantTurn)
    found: defaultdict[str, deque[ToolTurn]] = defaultdict(deque)
    left = len(answer.calls)
    while left and (number := number + 1) < len(turns):
        turn = turns[number]
        if isinstance(turn, AssistantTurn):
            break
        if isinstance(turn, ToolTurn):
            found[turn.call_id].append(turn)
            left -= 1
    return found


# ── ids, names, arguments ───────────────────────────────────────────────────────────────────────────────────────────


def _unused(id: str, seen: set[str]) -> str:
    made = _taken(id, LONGEST_ID)
    while made in seen:
        made = _taken(f"{made} again", LONGEST_ID)
    seen.add(made)
    return made


def name_for(name: str) -> str:
    """A tool's name as providers take it: the name itself, nearly always."""
    return _taken(name, LONGEST_NAME)


def _taken(text: str, longest: int) -> str:
    if len(text) <= longest and _WORD.fullmatch(text):
        return text
    mark = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', text)[: longest - 9]}_{mark}"


def names_of(tools: Sequence[ToolSpec]) -> dict[str, str]:
    """Whom a model means that was shown other names."""
    return {sent: tool.name for tool in tools if (sent := name_for(tool.name)) != tool.name}


def arguments_for(arguments: str) -> str:
    """Always an object: some servers read them, and a model that wrote something else was told so in the result."""
    if arguments[:1] == "{" and arguments[-1:] == "}":
        try:
            if isinstance(orjson.loads(arguments), dict):
                return arguments
        except ValueError:
            pass
    return orjson.dumps({"written": _mended(arguments)}).decode() if arguments.strip() else "{}"


# ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def schema_for(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as providers take it: an object with properties, without alternatives at the top.

    It only tells the model what to write. What it wrote is checked against the whole schema.
    """
    taken = {name: value for name, value in schema.items() if name not in _ALTERNATIVES}
    return {**taken, "type": "object", "properties": taken.get("properties") or {}}


def description_for(tool: ToolSpec, longest: int = LONGEST_DESCRIPTION) -> str:
    text = tool.description
    return text if len(text) <= longest else text[: longest - 1] + "…"


# ── thinking ────────────────────────────────────────────────────────────────────────────────────────────────────────

Piece: TypeAlias = str | Result | Thinking


def pieces(step: Step, provider: str, model: str) -> Iterator[Piece]:
    """Text, calls and what this very model thought, in the order in which it wrote them."""
    at, calls = 0, 0
    for thought in step.thinking:
        if thought.provider != provider or thought.model != model:
            continue
        if thought.text_before > at and (text := step.text[at : thought.text_before]).strip():
            yield text
        at = max(at, thought.text_before)
        if thought.calls_before > calls:
            if rest := step.text[at:].strip():
                yield rest
            at = len(step.text)
            yield from step.results[calls : thought.calls_before]
            calls = thought.calls_before
        yield thought
    if (text := step.text[at:]).strip():
        yield text
    yield from step.results[calls:]


# ── bytes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def encoded(request: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(request)
    except TypeError:  # half a character somewhere, which no JSON can carry
        return orjson.dumps(_mended(request))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_mended(name): _mended(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(inner) for inner in value]
    return value
