"""An audit row, and where a chain of them breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    number: int
    at: str
    actor_kind: str
    actor_id: str
    action: str
    object_kind: str
    object_id: str
    detail: dict[str, Any]
    hash: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """The first place where the chain does not hold, and how."""

    number: int
    reason: str
