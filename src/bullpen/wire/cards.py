"""A card as text: the call of a tool that shows in a space, for models, for searches and for terminals. Pure.

The message of such a call has no text. Its metadata says all: the tool, the arguments, the result, who answered. The
arguments and the result may be long, so a card is cut, and `keep` makes the copy that is kept to be read. Whoever wants
everything reads the message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

MOST_ARGUMENTS: Final = 800  # characters
MOST_RESULT: Final = 2_000
SHORT: Final = 200  # of arguments, where the call is only named

# Of metadata, what a card says beside arguments and result.
_ABOUT: Final = ("toolName", "answeredBy", "answeredAt", "approvedBy", "approval", "outside")

Card = Mapping[str, Any]


def keep(metadata: Card) -> dict[str, Any]:
    """What a card says, with its arguments and its result as text, neither of them too long."""
    card = {name: metadata[name] for name in _ABOUT if metadata.get(name)}
    card["args"] = arguments(metadata.get("args"), MOST_ARGUMENTS)
    if "error" in metadata:
        card["error"] = value(metadata["error"])
    elif "result" in metadata:
        card["result"] = value(metadata["result"])
    return card


def words(card: Card) -> str:
    """What a card is found by: the tool, the arguments, and what came of it."""
    came = card.get("error", card.get("result"))
    return named(card) if came is None else f"{named(card)}: {came}"


def named(card: Card) -> str:
    return f"{card.get('toolName', 'a tool')}({card.get('args', '')})"


def read(
    card: Card,
    status: str,
    name: Callable[[str], str] = str,
    time: Callable[[str], str] = str,
    frame: Callable[[str], str] = str,
) -> str:
    """A card on one line: `confirmAction(title="Delete it?"), answered by Husam at 14:25: {"confirmed":true}`.

    `name` gives the name of a person by id, and the id if there is none: programs answer calls, too. `time` gives a
    time as it is shown, and `frame` marks what comes from outside.
    """
    call = f"{named(card)}{_people(card, name, time)}"
    match status:
        case "requires_action":
            return f"{call} waits for {'approval' if card.get('approval') else 'an answer'}"
        case "streaming":
            return f"{call} is under way"
        case "complete":
            return f"{call}: {frame(card['result'])}" if "result" in card else call
        case "expired" | "cancelled":
            how = "nobody answered it in time" if status == "expired" else "it was cancelled"
            return f"{call}: {how}"
    return f"{call} failed: {frame(card['error'])}" if "error" in card else f"{call} failed"


def _people(card: Card, name: Callable[[str], str], time: Callable[[str], str]) -> str:
    said = ""
    for how, id in (("approved", card.get("approvedBy")), ("answered", card.get("answeredBy"))):
        if id is None or (how == "answered" and card.get("approval")) or (who := name(id)) == id:
            continue
        at = f" at {time(card['answeredAt'])}" if how == "answered" and "answeredAt" in card else ""
        said += f", {how} by {who}{at}"
    return said


# ── arguments and results as text ───────────────────────────────────────────────────────────────────────────────────


def call(tool: str, args: Any) -> str:
    """A call that is only named: `confirmAction(title="Delete it?")`."""
    return f"{tool}({arguments(args, SHORT)})"


def arguments(args: Any, most: int) -> str:
    """`title="Delete it?", days=3`, or whatever the model wrote instead of an object."""
    if not isinstance(args, Mapping):
        return "" if args is None else _cut(_json(args), most)
    return _cut(", ".join(f"{_line(str(name))}={_json(each)}" for name, each in args.items()), most)


def value(result: Any) -> str:
    """A text as it is, anything else as JSON."""
    return _cut(result if isinstance(result, str) else _json(result), MOST_RESULT)


def _json(something: Any) -> str:
    return json.dumps(something, ensure_ascii=False, separators=(",", ":"))


def _line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, most: int) -> str:
    text = text.replace("\x00", "\ufffd")  # which PostgreSQL does not take in a text
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"
