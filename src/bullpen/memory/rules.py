"""Where what a run writes is kept, and what a run may read. Pure. Passages and blocks both ask here.

A group that keeps to itself is strictly apart (decision 0022). What was learned in a private space (a private channel
or a DM) stays in that space. What was learned in a public one, in the main group or in none is for everywhere. An agent
whose `memory` says `acrossSpaces` may read what it learned in any private space; most of it is kept where it belongs
all the same, so the switch can be turned back. Only what it learned from several at once is for everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

UNCOUNTED: Final = "*"  # stands for private spaces that nobody has counted: no space has this id


@dataclass(frozen=True, slots=True)
class Situation:
    """What counts about a run: its agent, where it is, and which private spaces it was shown text of."""

    agent_id: str
    across: bool = False  # the agent's `memory.acrossSpaces`
    stays_in: str | None = None  # the group that the run keeps to
    active: str | None = None  # the space that the agent is in now
    private: frozenset[str] = frozenset()  # private spaces: the active one, if it is; and those it was shown text of

    @property
    def is_private(self) -> bool:
        return self.active is not None and self.active in self.private


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is kept. No `space_id`: for wherever the agent is. `learned_in`: whose people may read it."""

    scope: str
    space_id: str | None = None
    learned_in: str | None = None


def keep(situation: Situation) -> Place | None:
    """Where the run's memory is kept. None: it was shown text of several private spaces, and is in none of them."""
    agent_id, private, active = situation.agent_id, situation.private, situation.active
    if situation.stays_in is not None:
        return Place(group_scope(agent_id, situation.stays_in), situation.stays_in, situation.stays_in)
    if active is not None and active in private:
        return Place(private_scope(agent_id, active), active, active)
    if not private:
        return Place(agent_scope(agent_id), None, active)
    if len(private) == 1 and UNCOUNTED not in private:
        (only,) = private
        return Place(private_scope(agent_id, only), only, only)
    # Nobody reads all of these spaces, so only those who manage the agent may look at it.
    return Place(agent_scope(agent_id)) if situation.across else None


def read_spaces(situation: Situation) -> tuple[str | None, ...]:
    """Of which spaces the run reads what is kept. None: what is for everywhere."""
    if situation.stays_in is not None:
        return (situation.stays_in,)
    return (None, situation.active) if situation.is_private else (None,)


def read_scopes(situation: Situation) -> tuple[str, ...]:
    """The scopes that the run may search. With `across` there are more: all below `private_scope(agent_id, "")`."""
    if situation.stays_in is not None:
        return (group_scope(situation.agent_id, situation.stays_in),)
    own = agent_scope(situation.agent_id)
    if situation.active is not None and situation.is_private:
        return own, private_scope(situation.agent_id, situation.active)
    return (own,)


def reads_across(situation: Situation) -> bool:
    return situation.across and situation.stays_in is None


# ── scopes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
# A scope is what one search looks through: its passages have the same owner and the same audience.


def agent_scope(agent_id: str) -> str:
    """What an agent knows everywhere."""
    return f"agent:{agent_id}"


def private_scope(agent_id: str, space_id: str) -> str:
    """What it knows in one private space."""
    return f"agent:{agent_id}/space:{space_id}"


def group_scope(agent_id: str, space_id: str) -> str:
    """What it knows in a group that keeps to itself."""
    return f"agent:{agent_id}/group:{space_id}"


def space_scope(space_id: str) -> str:
    """The store of a space, which all agents in it share."""
    return f"space:{space_id}"


def scopes_below(prefix: str) -> tuple[str, str]:
    """The bounds between which the scopes lie that begin so."""
    return prefix, f"{prefix}\U0010ffff"
