"""A hook as its door finds it: which agent it wakes, and on whose behalf."""

from __future__ import annotations

from dataclasses import dataclass

from bullpen.access.types import Principal
from bullpen.wire.nouns import ThreadScope


@dataclass(frozen=True, slots=True)
class Found:
    id: str
    name: str
    agent_id: str
    agent_scope: ThreadScope
    maker: Principal  # with what they still hold of the grants they had when they made it
