"""list_skills: which workflows there are here."""

from __future__ import annotations

from typing import Any

from bullpen.skills import rows, rules
from bullpen.skills.types import Skill
from bullpen.toolbox.tasks.own import own_room
from bullpen.tools import ToolContext, tool

MOST = 200


@tool(effect="tx", act=None, grant="read_space")
async def list_skills(context: ToolContext) -> dict[str, Any]:
    """List the skills of this space, by name, with those that wait for a person's approval."""
    room = await own_room(context)
    found = await rows.select_skills(context.tx, space_ids=[room.id], limit=MOST)
    context.effects.outside = tuple(sorted({source for skill in found for source in _sources(skill)}))
    return {"skills": [_shown(skill) for skill in sorted(found, key=lambda skill: skill.name)]}


def _sources(skill: Skill) -> tuple[str, ...]:
    """What the words that are shown may come from."""
    return skill.shown.outside


def _shown(skill: Skill) -> dict[str, Any]:
    said = skill.shown
    told: dict[str, Any] = {"name": skill.name, "command": f"/{skill.name}", "description": said.description}
    if said.parameters:
        told["parameters"] = said.parameters
    if skill.proposed is not None:  # of a change only that it waits: its words may come from outside
        told["waits"] = f"{'A change' if skill.active is not None else 'It'} waits for approval. {rules.WHO_APPROVES}"
    return {**told, "status": skill.status, "createdAt": skill.created_at, "updatedAt": skill.updated_at}
