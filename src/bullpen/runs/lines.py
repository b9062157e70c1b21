"""The lines that tell a model what was said: one place that writes them and finds them again. Pure.

A line is `[msg_1 in general] Erin (person psn_1): Hello`. Further lines of its text are indented, so that no text can
look like another line. The journal and the summary of a run keep such lines; an erasure and the pictures of a run look
for them. The window of a space has a shorter form, which is written anew each time and never searched.

Behind the reference there may be when it was said, as in `[msg_1 at 09:30 in general]`. `read_line` finds lines of both
forms: older journals have none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

YOU: Final = "You"  # the agent itself: the only speaker without an id
INDENT: Final = "    "
_BREAK: Final = f"\n{INDENT}"  # within the text of a line
_END: Final = re.compile(rf"\n(?!{INDENT})")  # of a line with all of its text
_AUTHOR: Final = re.compile(r" \((person|agent|system) ([^\s()]+)\): ")
_NO_BREAK: Final = "\u00a0"


class Author(NamedTuple):
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Line:
    ref: str  # the message or the task, or a skill as `/name`
    space_id: str
    speaker: str  # as the model reads it: a name, perhaps with a few words before it
    text: str
    author: Author | None = None
    at: str = field(default="", compare=False)  # when it was said, as the model reads it: see runs/now.py


# Gives the line that takes this one's place; None: no line does.
Change: TypeAlias = Callable[[Line], Line | None]


# ── one line ────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_line(line: Line) -> str:
    author = "" if line.author is None else f" ({line.author.kind} {line.author.id})"
    return f"[{line.ref}{written_time(line.at)} in {line.space_id}] {_clean_speaker(line)}{author}: {indent(line.text)}"


def written_time(at: str) -> str:
    return f" at {at}" if at else ""


def write_short_line(ref: str, hour: str, speaker: str, text: str) -> str:
    """For the window of a space, which says once which space and which day it is."""
    return f"[{ref} {hour}] {speaker}: {indent(text)}"


def indent(text: str) -> str:
    """Further lines are indented, so that no message can look like the beginning of another."""
    return text.replace("\r", "\n").replace("\n", _BREAK)


def _clean_speaker(line: Line) -> str:
    """A name that imitates the rest of a line gets a space that `read_line` does not take for the end of it."""
    speaker = line.speaker.replace("\r", " ").replace("\n", " ")
    if line.author is not None and speaker.startswith(f"{YOU}: "):
        speaker = speaker.replace(" ", _NO_BREAK, 1)
    return _AUTHOR.sub(lambda found: found[0][:-1] + _NO_BREAK, f"{speaker} ").removesuffix(" ")


def read_line(text: str) -> Line | None:
    """The line that this text is, from its first to its last character; None: it is something else."""
    if not text.startswith("["):
        return None
    head, closed, said = text[1:].partition("] ")
    front, told, space_id = head.rpartition(" in ")
    ref, _, more = front.partition(" ")
    if not (closed and told and ref and space_id) or any(sign.isspace() for sign in ref + space_id) or "\n" in head:
        return None
    own, at = said.startswith(f"{YOU}: "), more[3:] if more.startswith("at ") else ""
    if not own and (found := _AUTHOR.search(said.partition("\n")[0])) is not None:
        author = Author(found[1], found[2])
        return Line(ref, space_id, said[: found.start()], _remove_indent(said[found.end() :]), author, at)
    speaker, _, rest = said.partition(": ")
    return Line(ref, space_id, speaker, _remove_indent(rest), at=at)


def _remove_indent(text: str) -> str:
    return text.replace(_BREAK, "\n")


# ── lines among other text ──────────────────────────────────────────────────────────────────────────────────────────


def find_lines(text: str) -> list[Line]:
    """Those of a journal's entry, in order."""
    return [line for piece in _END.split(text) if (line := read_line(piece)) is not None]


def change_lines(text: str, change: Change) -> str:
    """A journal's entry with its lines changed. What is no line, and a line that stays the same, is not touched."""
    return "\n".join(_change_pieces(_END.split(text), change))


def change_summary(text: str, change: Change) -> str:
    """The same for a summary, whose lines stand below its first one and are indented themselves."""
    return _BREAK.join(_change_pieces(text.split(_BREAK), change))


def change_summaries(text: str, change: Change) -> str:
    """The same for several of them, one below the other."""
    return "\n".join(change_summary(piece, change) for piece in _END.split(text))


def _change_pieces(pieces: list[str], change: Change) -> list[str]:
    kept = []
    for piece in pieces:
        line = read_line(piece)
        changed = None if line is None else change(line)
        if line is None or changed == line:
            kept.append(piece)
        elif changed is not None:
            kept.append(write_line(changed))
    return kept


def trace_of_space(space_id: str) -> str:
    """Text without this holds no line from that space: a database can look for it."""
    return f" in {space_id}] "
