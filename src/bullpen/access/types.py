"""A principal: who is asking, and with which grants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grant = Literal[
    "read_space", "post", "manage_space", "manage_agents", "answer_pending", "schedule", "register_group", "owner"
]
# `tools` is a token that may only answer calls: nobody in particular, so a member of nothing.
PrincipalKind = Literal["person", "agent", "system", "tools"]


@dataclass(frozen=True, slots=True)
class Principal:
    kind: PrincipalKind
    id: str
    name: str
    grants: frozenset[Grant]

    @property
    def is_owner(self) -> bool:
        return "owner" in self.grants
