"""How much of each part a model is shown. Pure.

Tokens are estimated: cheaply, the same everywhere, and rather too many than too few. Whatever is cut is cut in steps: a
part grows until it is full and then loses its older half, so that between two cuts it begins with the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bullpen.runs.types import Entry

BYTES_A_TOKEN = 3.5
LEAST = 500


@dataclass(frozen=True, slots=True)
class Bounds:
    """In tokens. What is not given away here is for instructions, tools and the answer."""

    told: int  # earlier runs, in a few lines each
    window: int  # messages, or earlier journals
    message: int  # one message of the window
    journal: int  # the run's own


def of(tokens: int) -> Bounds:
    """The parts of a context of so many tokens."""
    past = tokens * 3 // 8
    window = past * 3 // 4
    return Bounds(told=past - window, window=window, message=window // 8, journal=past)


def half_of(shown: int, tokens: int) -> int:
    """The size of a context in which what was shown, so many tokens, has half the room that it took."""
    return max(LEAST, min(tokens // 2, shown * 2 // 3))


def tokens(text: str) -> int:
    """About how many tokens a text has. By its bytes: scripts that take more of them take more tokens."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return int(size / BYTES_A_TOKEN) + 1


def cut(text: str, most: int, rest: str = "") -> str:
    """The beginning of a text that is too long, and how to get at the rest."""
    if len(text) < most or tokens(text) <= most:  # the first is quick, and enough for nearly all
        return text
    kept = text.encode("utf-8", "surrogatepass")[: int(most * BYTES_A_TOKEN)].decode("utf-8", "ignore")
    return f"{kept}… ({len(text) - len(kept):,} more characters are not shown.{rest and f' {rest}'})"


def first_shown(sizes: Sequence[int], most: int) -> int:
    """Which of them is the first to be shown: the very first, until they outgrow `most`; then one from which on they
    fit in half of it, until they outgrow it again. The newest is always shown.

    What is said about the first ones does not depend on those that come later.
    """
    first = total = 0
    for at, size in enumerate(sizes):
        total += size
        if total > most:
            while first < at and total > most // 2:
                total -= sizes[first]
                first += 1
    return first


def of_results(entries: Sequence[Entry], most: Bounds) -> Mapping[int, int]:
    """How many tokens a result of a step may have, for steps whose results are too long; 0: none are shown.

    The results of one step get a third of the room together, and each the same part of it: when the older half goes,
    those of the step before stay.
    """
    results = [(entry.step, entry.result or "") for entry in entries if entry.type == "tool_return_message"]
    if sum([len(text) for _, text in results]) < most.journal // 3:  # a character is one token at most, or nearly
        return {}
    sizes: dict[int, list[int]] = defaultdict(list)
    for step, text in results:
        sizes[step].append(tokens(text))
    room = {step: most.journal // 3 // len(each) for step, each in sizes.items() if sum(each) > most.journal // 3}
    shown = [sum(min(size, room.get(step, size)) for size in each) for step, each in sizes.items()]
    left_out = list(sizes)[: first_shown(shown, most.journal)]
    return {**room, **dict.fromkeys(left_out, 0)}
