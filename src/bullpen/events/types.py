"""An event before it has its number, and the cursor that names a place among events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

# Who hears of it: the members of its space, only owners and the agent itself, those and whoever else manages agents, or
# everybody who may come in.
Audience = Literal["space", "owners", "managers", "all"]

_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,19})\.([0-9]{1,19})\Z")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in the order of events: after everything up to and including (xid, id)."""

    xid: int
    id: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    place: Place
    type: str
    space_id: str | None
    agent_id: str | None
    run_id: str | None
    audience: Audience
    body: bytes


def cursor(incarnation: str, place: Place) -> str:
    return f"{incarnation}.{place.xid}.{place.id}"


def parse_cursor(incarnation: str, text: str) -> Place | None:
    """None for what is no cursor of this database: garbage, or from before a restore."""
    match = _CURSOR.match(text)
    if match is None or match[1] != incarnation:
        return None
    place = Place(int(match[2]), int(match[3]))
    return place if place.xid < 2**63 and place.id < 2**63 else None
