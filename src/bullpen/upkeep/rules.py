"""What is taken out of JSON and of lines when somebody, or a space, is erased. Pure.

Rows copy what was said: an inbox item holds the message that made it, a journal what its agent read, an event what
followers were told. Each copy says whose words it holds, by an id, or by the name that a tool showed; that is
how they are found here. Words that others repeat in their own are theirs, and stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from bullpen.ids import Whose
from bullpen.runs import lines
from bullpen.runs.lines import Author, Line

Kind = Literal["space", "person", "agent"]

NAMES: Mapping[Kind, str] = {"person": "Erased person", "agent": "Erased agent", "space": "Erased space"}
ERASED = {"erased": True}
_KINDS_OF_SPACE = frozenset({"channel", "dm", "group"})  # a space may have the id of a member
_OF_A_SPACE = frozenset({"messages", "members"})  # a tool told what it is called, what was said and who is in it


@dataclass(frozen=True, slots=True)
class Target:
    """Whoever, or whatever, is to be forgotten. `name` is the one they had."""

    kind: Kind
    id: str
    name: str = ""

    @property
    def whose(self) -> Whose:
        return Whose(space=self.id) if self.kind == "space" else Whose(member=self.id)

    @property
    def needles(self) -> tuple[str, str]:
        """Text that holds neither of these holds nothing of theirs."""
        if self.kind == "space":
            return f'"spaceId":{_json(self.id)}', lines.trace_of_space(self.id)
        return self.id, f'"from":{_json(self.name)}'


def _json(text: str) -> str:
    return orjson.dumps(text).decode()


def scrub_value(value: Any, target: Target) -> Any:
    """JSON without their words and without their name."""
    if isinstance(value, list):
        return [scrub_value(item, target) for item in value]
    if not isinstance(value, dict):
        return value
    if target.kind == "space":
        if value.get("spaceId") == target.id and not _OF_A_SPACE.isdisjoint(value):
            return {"spaceId": target.id, **ERASED}
        return {name: scrub_value(item, target) for name, item in value.items()}
    return _remove_words({name: scrub_value(item, target) for name, item in value.items()}, target)


def _remove_words(said: dict[str, Any], target: Target) -> dict[str, Any]:
    if isinstance(said.get("attachments"), list):
        said["attachments"] = [
            file for file in said["attachments"] if not (isinstance(file, dict) and file.get("ownerId") == target.id)
        ]
    if said.get("authorId") == target.id or said.get("from") in (target.id, target.name):
        for name, empty in (("text", ""), ("snippet", ""), ("metadata", {}), ("attachments", [])):
            if name in said:
                said[name] = empty
        said.pop("clientMessageId", None)
        for name in ("authorName", "from"):
            if name in said:
                said[name] = NAMES[target.kind]
    if said.get("stoppedBy") == target.id:  # a run, which names them in a sentence
        said.pop("error", None)
    for how in ("answered", "approved"):
        if said.get(f"{how}By") == target.id and f"{how}Name" in said:
            said[f"{how}Name"] = NAMES[target.kind]
    if said.get("answeredBy") == target.id:  # a card, a call, or what came of one
        said |= {name: empty for name, empty in (("result", None), ("error", "Erased.")) if name in said}
    if target.id in (said.get("authorId"), said.get("createdBy")) and "instruction" in said:  # a plan
        said |= {"name": "", "instruction": ""}
    if said.get("writtenBy") == target.id:  # a skill, or a proposal for one
        said |= {name: "" for name in ("description", "instructions", "parameters", "diff") if name in said}
    if said.get("id") == target.id and "name" in said and said.get("kind") not in _KINDS_OF_SPACE:
        said["name"] = NAMES[target.kind]
    return said


def scrub_json(text: str, target: Target) -> str:
    return orjson.dumps(scrub_value(orjson.loads(text), target)).decode()


def scrub_lines(text: str, target: Target) -> str:
    """What woke a run, as its journal tells it."""
    return lines.change_lines(text, lambda line: _change_line(line, target, keep_id=True))


def scrub_summary(text: str, target: Target) -> str:
    """What a run was, as later runs are told."""
    return lines.change_summary(text, lambda line: _change_line(line, target, keep_id=False))


def _change_line(line: Line, target: Target, *, keep_id: bool) -> Line | None:
    if target.kind == "space":
        return None if line.space_id == target.id else line
    if line.author != Author(target.kind, target.id):
        return line
    return replace(line, speaker=NAMES[target.kind], text="", author=line.author if keep_id else None)
