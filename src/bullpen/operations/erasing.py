"""Erase a space, a person or an agent: who may, and the part that takes effect at once.

Afterwards a mark stands in the database, and `upkeep/erasure.py:finish_all` does the rest, in this process or the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.operations import agents
from bullpen.storage import Transaction
from bullpen.upkeep import erasure
from bullpen.upkeep.rules import Kind, Target

RIGHTS: Final[Mapping[Kind, access.Action]] = {"space": "erase_space", "person": "manage_owners"}


async def begin(tx: Transaction, caller: Principal, kind: Kind, id: str) -> Target:
    """Beginning twice is harmless."""
    if kind == "agent":
        return await agents.begin_erasing(tx, caller, id)
    access.authorize(caller, RIGHTS[kind])
    return await erasure.begin(tx, caller, kind, id)
