"""What is taken out of JSON and of lines when somebody, or a space, is erased. Pure.

Rows copy what was said: an inbox item holds the message that made it, a journal what its agent read, an event what
followers were told. Each copy says whose words it holds, by an id, or by the name that a tool showed; that is
how they are found here. Words that others repeat in their own are theirs, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

Kind = Literal["space", "person", "agent"]

NAMES: Mapping[Kind, str] = {"person": "Erased person", "agent": "Erased agent", "space": "Erased space"}
ERASED = {"erased": True}


@dataclass(frozen=True, slots=True)
class Target:
    """Whoever, or whatever, is to be forgotten. `name` is the one they had."""

    kind: Kind
    id: str
    name: str = ""

    @property
    def needles(self) -> tuple[str, str]:
        """Text that holds neither of these holds nothing of theirs."""
        if self.kind == "space":
            return f'"spaceId":{_json(self.id)}', f" in {self.id}] "
        return self.id, f'"from":{_json(self.name)}'


def _json(text: str) -> str:
    return orjson.dumps(text).decode()


def scrubbed(value: Any, target: Target) -> Any:
    """JSON without their words and without their name."""
    if isinstance(value, list):
        return [scrubbed(item, target) for item in value]
    if not isinstance(value, dict):
        return value
    if target.kind == "space":
        if value.get("spaceId") == target.id and "messages" in value:
            return {"spaceId": target.id, **ERASED}
        return {name: scrubbed(item, target) for name, item in value.items()}
    return _without_words({name: scrubbed(item, target) for name, item in value.items()}, target)


def _without_words(said: dict[str, Any], target: Target) -> dict[str, Any]:
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
    if said.get("writtenBy") == target.id:  # a skill, or a proposal for one
        said |= {name: "" for name in ("description", "instructions", "parameters", "diff") if name in said}
    if said.get("id") == target.id and "name" in said:
        said["name"] = NAMES[target.kind]
    return said


def scrubbed_json(text: str, target: Target) -> str:
    return orjson.dumps(scrubbed(orjson.loads(text), target)).decode()


def scrubbed_lines(text: str, target: Target) -> str:
    """What woke a run, as its journal shows it (runs/transcript.py): one line an item, more of it indented."""
    theirs = _line_of(target)
    kept: list[str] = []
    skipping = False
    for line in text.split("\n"):
        if skipping and line.startswith("    "):
            continue
        found = theirs.match(line)
        skipping = found is not None
        if found is None:
            kept.append(line)
        elif target.kind != "space":
            kept.append(f"{found[1]}{NAMES[target.kind]} ({target.kind} {target.id}): ")
    return "\n".join(kept)


def scrubbed_summary(text: str, target: Target) -> str:
    """What a run was, as it is told later: what was said in it looks the same, each on a line of its own."""
    first, *said = text.split("\n    ")
    theirs = _line_of(target)
    if target.kind == "space":
        return "\n    ".join([first, *(line for line in said if not theirs.match(line))])
    kept = [f"{found[1]}{NAMES[target.kind]}: " if (found := theirs.match(line)) else line for line in said]
    return "\n    ".join([first, *kept])


def _line_of(target: Target) -> re.Pattern[str]:
    if target.kind == "space":
        return re.compile(rf"\[\S+ in {re.escape(target.id)}\] ")
    return re.compile(rf"(\[\S+ in \S+\] ).*? \({target.kind} {re.escape(target.id)}\): ")
