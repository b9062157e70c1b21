"""SQL for skills. What one says is JSON in a column; what it is found by has columns of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, func, or_, select

from bullpen.ids import Whose
from bullpen.skills.types import Skill, Version
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import Codec, Mapped
from bullpen.storage.statements import contains, upsert
from bullpen.storage.tables import skills
from bullpen.wire import nouns


def _version(fields: dict[str, Any]) -> Version:
    return Version(**{**fields, "outside": tuple(fields["outside"])})


_VERSION = Codec(lambda kept: _version(orjson.loads(kept)), lambda version: orjson.dumps(asdict(version)).decode())
_VERSIONS = Codec(
    lambda kept: tuple(map(_version, orjson.loads(kept))),
    lambda versions: orjson.dumps([asdict(version) for version in versions]).decode(),
    empty=(),
)
_SKILLS = Mapped(Skill, skills, active=_VERSION, proposed=_VERSION, earlier=_VERSIONS)
_OF_NAME = (skills.c.space_id == bindparam("space_id"), skills.c.name == bindparam("name"))
_PUT = upsert(skills, ["space_id", "name"], ["active", "proposed", "earlier", "updated_at"])
_SELECT = Statement(select(*_SKILLS.columns).where(*_OF_NAME))
_PAGE = (
    select(*_SKILLS.columns)
    .where(skills.c.id < bindparam("before"))
    .order_by(skills.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_OF_SPACE = Statement(_PAGE.where(skills.c.space_id == bindparam("space_id")))
_SELECT_OF_SPACES = Statement(_PAGE.where(any_of(skills.c.space_id, "space_ids")))
_SELECT_ACTIVE = Statement(
    select(*_SKILLS.columns)
    .where(skills.c.space_id == bindparam("space_id"), skills.c.active.is_not(None))
    .order_by(skills.c.name)
)
_COUNT = Statement(select(func.count()).where(skills.c.space_id == bindparam("space_id")))
_COUNT_PROPOSED = Statement(
    select(func.count()).where(skills.c.space_id == bindparam("space_id"), skills.c.proposed.is_not(None))
)
_DELETE = Statement(delete(skills).where(skills.c.id == bindparam("id_")))
_SELECT_WHOSE = Statement(
    select(*_SKILLS.columns)
    .where(
        or_(
            skills.c.space_id == bindparam("space_id"),
            contains(skills.c.active, "needle"),
            contains(skills.c.proposed, "needle"),
            contains(skills.c.earlier, "needle"),
        )
    )
    .order_by(skills.c.id)
)


async def put_skill(tx: Transaction, skill: Skill) -> None:
    await tx.run(_PUT, **_SKILLS.write(skill))


async def delete_skill(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE, id_=id)


async def select_skill(tx: Transaction, space_id: str, name: str) -> Skill | None:
    return _SKILLS.read_one(await tx.one(_SELECT, space_id=space_id, name=name))


async def select_skills(
    tx: Transaction, *, space_ids: Sequence[str], before: str = "\U0010ffff", limit: int
) -> list[Skill]:
    """Newest first."""
    where: dict[str, Any] = {"before": before, "limit": limit}
    if len(space_ids) == 1:
        found = await tx.all(_SELECT_OF_SPACE, space_id=space_ids[0], **where)
    else:
        found = await tx.all(_SELECT_OF_SPACES, space_ids=list(space_ids), **where)
    return _SKILLS.read_all(found)


async def select_active(tx: Transaction, space_id: str) -> list[Skill]:
    """Those that people can start, by name."""
    return _SKILLS.read_all(await tx.all(_SELECT_ACTIVE, space_id=space_id))


async def select_whose(tx: Transaction, whose: Whose) -> list[Skill]:
    """Those of a space; and those that somebody wrote, approved of or follows, or may have: look closer."""
    needle = orjson.dumps(whose.member or whose.space).decode()
    return _SKILLS.read_all(await tx.all(_SELECT_WHOSE, space_id=whose.space, needle=needle))


async def count_skills(tx: Transaction, space_id: str) -> int:
    return int(await tx.value(_COUNT, space_id=space_id))


async def count_proposed(tx: Transaction, space_id: str) -> int:
    return int(await tx.value(_COUNT_PROPOSED, space_id=space_id))


def on_the_wire(skill: Skill) -> nouns.Skill:
    shown, proposed = skill.shown, skill.proposed
    return nouns.Skill(
        id=skill.id,
        space_id=skill.space_id,
        name=skill.name,
        description=shown.description,
        instructions=shown.instructions,
        parameters=shown.parameters,
        agent_id=shown.agent_id,
        status=skill.status,
        written_by=shown.written_by,
        approved_by=shown.approved_by,
        hash=shown.hash,
        outside=list(shown.outside),
        undoable=skill.active is not None and skill.active.can_be_undone,
        proposal=None if proposed is None else _proposal(proposed),
        created_at=skill.created_at,
        updated_at=skill.updated_at,
    )


def _proposal(version: Version) -> nouns.SkillProposal:
    return nouns.SkillProposal(
        description=version.description,
        instructions=version.instructions,
        parameters=version.parameters,
        agent_id=version.agent_id,
        written_by=version.written_by,
        hash=version.hash,
        diff=version.diff,
        outside=list(version.outside),
        at=version.at,
    )
