"""Which names a skill may have, what its text is bound by, and how a proposal differs from what is there. Pure."""

from __future__ import annotations

import difflib
import re
from hashlib import sha256
from typing import Final

import orjson

from bullpen.agents import skill_files
from bullpen.errors import Invalid
from bullpen.skills.types import Version

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
NAME_IS: Final = "1–32 of a–z, 0–9 and _, beginning with a letter"
# The office's own commands (operations/slash.py:COMMANDS; a test compares them), and words that may become some.
RESERVED: Final = frozenset(
    {"help", "new", "status", "stop", "tasks", "why", "approve", "config", "deny", "settings", "skills", "start"}
)
WHO_APPROVES: Final = "Any person who is a member of this space can approve it."
MOST_LINES: Final = 1000  # comparing more takes too long; then all of both is shown


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name[:80]!r} cannot be a skill's name.", fields={"name": NAME_IS})
    if name in RESERVED:
        raise Invalid(f"/{name} means something else here. Choose another name.", fields={"name": "is reserved"})


def hash_of(space_id: str, name: str, version: Version) -> str:
    """What an approval holds for."""
    bound = [space_id, name, version.description, version.instructions, version.parameters, version.agent_id]
    return sha256(orjson.dumps(bound)).hexdigest()


def diff(name: str, old: Version | None, new: Version) -> str:
    """Line by line, what would change."""
    before, after = ([] if old is None else _lines(name, old)), _lines(name, new)
    if max(len(before), len(after)) > MOST_LINES:
        return "".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    return "".join(difflib.unified_diff(before, after, "active", "proposed"))


def _lines(name: str, version: Version) -> list[str]:
    text = skill_files.written(name, version.description, version.instructions, version.parameters)
    agent = [] if version.agent_id is None else [f"(followed by {version.agent_id})\n"]
    return [*agent, *(f"{line}\n" for line in text.splitlines())]
