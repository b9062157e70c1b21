"""The spaces an agent is in, as it is told of them: a few, each with a few of its members, in one bounded read.

However many spaces and members there are, so many rows are looked at and no more; whoever is told less than all is told
that there is more. Names are what people chose: they are cut and stand on one line, whatever is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import orjson
from sqlalchemy import text

from bullpen.storage import Statement, Transaction
from bullpen.wire.nouns import WakePolicy

MEMBERS: Final = 8  # so many of a space are named
NAME: Final = 60  # characters of a name
_LOOKED_AT: Final = 4  # times as many memberships as are asked for: groups that are nobody's business are among them
_WAKES: Final = {"all": "every message", "mention": "mentions of you", "none": "nothing"}


@dataclass(frozen=True, slots=True)
class Inside:
    id: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    id: str
    kind: str
    name: str
    wakes: str  # what wakes the agent there
    members: tuple[Inside, ...]  # apart from the agent
    more: bool  # there are others
    timezone: str | None


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks. A group is told of in its own runs, to whoever manages groups, and where all it works for are in it."""

    agent_id: str
    home: str | None = None
    stays_in: str | None = None
    manages: bool = False
    run_id: str = ""
    cause_id: str = ""


# The inner selects end after so many rows of an index. `{mine}` says which memberships, `{list}` how JSON is made.
_SQL: Final = """
SELECT (SELECT count(*) FROM (SELECT 1 FROM members WHERE {mine} LIMIT :looked_at) AS l),
    s.id, s.kind, substr(s.name, 1, :name), s.wake_people, s.wake_agents, substr(s.trigger, 1, :name), s.options,
    (SELECT {list} FROM (SELECT m.member_id, m.kind FROM members m WHERE m.space_id = s.id
        ORDER BY m.member_id LIMIT :members) AS i
        LEFT JOIN people p ON p.id = i.member_id LEFT JOIN agents a ON a.id = i.member_id)
FROM (SELECT s.* FROM (SELECT space_id FROM members WHERE {mine} ORDER BY space_id LIMIT :looked_at) AS mine
JOIN spaces s ON s.id = mine.space_id
WHERE s.archived_at IS NULL AND (s.kind <> 'group' OR s.id = :home OR :manages = 1 OR (
    EXISTS (SELECT 1 FROM members c WHERE c.space_id = s.id AND c.member_id = :cause_id)
    AND NOT EXISTS (SELECT 1 FROM inbox_items n WHERE n.claimed_by = :run_id AND NOT EXISTS
        (SELECT 1 FROM members o WHERE o.space_id = s.id AND o.member_id = n.cause_id))))
ORDER BY s.id LIMIT :shown) AS s
ORDER BY s.id
"""
_NAMED: Final = "i.member_id, i.kind, substr(coalesce(p.name, a.name, i.member_id), 1, :name)"


def _statement(mine: str) -> Statement:
    return Statement(
        text(_SQL.format(mine=mine, list=f"json_group_array(json_array({_NAMED}))")),
        postgresql=text(_SQL.format(mine=mine, list=f"CAST(json_agg(json_build_array({_NAMED})) AS text)")),
    )


_SELECT = {
    False: _statement("member_id = :agent_id AND :stays_in = ''"),
    True: _statement("member_id = :agent_id AND space_id = :stays_in"),
}


async def select_places(tx: Transaction, asking: Asking, limit: int) -> tuple[list[Place], bool]:
    """The first spaces of an agent, by their ids, and whether there may be more."""
    looked_at = limit * _LOOKED_AT
    found = await tx.all(
        _SELECT[asking.stays_in is not None],
        agent_id=asking.agent_id,
        stays_in=asking.stays_in or "",
        home=asking.home or "",
        manages=int(asking.manages),
        run_id=asking.run_id,
        cause_id=asking.cause_id,
        members=MEMBERS + 2,
        name=2 * NAME,  # some of it may be blank
        looked_at=looked_at,
        shown=limit + 1,
    )
    places, left_out = [], len(found) > limit
    for count, id, kind, name, people, agents, trigger, options, listed in found[:limit]:
        left_out = left_out or count >= looked_at
        inside, more = _inside(listed, asking.agent_id)
        zone = orjson.loads(options).get("timezone")
        places.append(Place(id, kind, clean_name(name), wakes(people, agents, trigger), inside, more, zone))
    return places, left_out


@lru_cache(maxsize=1024)  # they rarely change
def _inside(listed: str | None, agent_id: str) -> tuple[tuple[Inside, ...], bool]:
    """The others in a space, and whether these are not all."""
    others = sorted(each for each in orjson.loads(listed or "[]") if each[0] != agent_id)
    return tuple(Inside(id, kind, clean_name(name)) for id, kind, name in others[:MEMBERS]), len(others) > MEMBERS


def clean_name(name: str) -> str:
    """A name on one line, that neither ends the marks around it nor begins a frame."""
    line = " ".join(name.split()).replace('"', "'").replace("<", "‹").replace(">", "›")
    return line if len(line) <= NAME else f"{line[: NAME - 1]}…"


def wakes(people: WakePolicy, agents: WakePolicy, trigger: str | None) -> str:
    """What wakes an agent, in words."""
    by_people, by_agents = _wakes(people, trigger), _wakes(agents, trigger)
    return by_people if by_people == by_agents else f"{by_people} (of people), {by_agents} (of agents)"


def _wakes(policy: WakePolicy, trigger: str | None) -> str:
    if policy == "trigger":
        return _WAKES["mention"] if trigger is None else f'the word "{clean_name(trigger)}"'
    return _WAKES[policy]


def written(members: Sequence[Inside]) -> str:
    return ", ".join(f"{each.name} ({each.kind} {each.id})" for each in members)
