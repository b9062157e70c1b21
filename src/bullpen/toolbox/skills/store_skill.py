"""store_skill: keep a workflow that people start with `/name`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.access import rows as people
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.errors import BadArguments, Invalid
from bullpen.skills import actions as skills
from bullpen.skills.actions import Wish
from bullpen.skills.types import Writer
from bullpen.spaces import actions as spaces
from bullpen.spaces.types import Room
from bullpen.toolbox.tasks.own import own_room
from bullpen.tools import ToolContext, tool
from bullpen.tools.types import Asker
from bullpen.wire.requests import SkillDescription, SkillInstructions, SkillParameters

TOLD = "People here can start it now. They were told, and can undo it."
WAITS = "It waits until a person has looked at it and approved of it. Until then nobody follows it."


@tool(effect="tx", grant="post", policy="ask", proposes=True)
async def store_skill(
    context: ToolContext,
    name: Annotated[
        str,
        Field(
            pattern="^[a-z][a-z0-9_]{0,31}$",
            description="What people write behind the slash: lowercase letters, digits and _, 1 to 32 of them, "
            "beginning with a letter.",
        ),
    ],
    description: Annotated[SkillDescription, Field(description="A short line for lists, at most 256 characters.")],
    instructions: Annotated[
        SkillInstructions, Field(description="Step by step, what to do when it is started, for one who begins afresh.")
    ],
    parameters: Annotated[
        SkillParameters | None, Field(description="What people may write behind the name, described for them.")
    ] = None,
) -> dict[str, Any]:
    """Save a reusable skill that people here start by writing /name. One that has this name already is overwritten.

    Whoever follows it begins afresh, with the instructions and with what the person wrote behind the name.
    """
    run, tx = context.run, context.tx
    room = await own_room(context)
    await skills.turn(tx, room.id)
    asker = await _asker(context, room)
    asked_by = None if asker is None else asker.name
    writer = Writer(context.agent.id, "agent", context.agent.name, run.grants, run.outside, asked_by)
    wish = Wish(description, instructions, parameters, context.agent.id)
    # Whatever a policy says: what text from outside may have led to is looked at by somebody first.
    asks = bool(run.outside) or context.proposes == "policy" or (context.proposes == "default" and asker is None)
    try:
        skill = await skills.store(
            tx, room, name, wish, writer, "proposed" if asks else "active", most=context.means.skills_per_space
        )
    except Invalid as error:
        raise BadArguments(error.message) from None
    told = {"name": name, "command": f"/{name}", "spaceId": room.id, "createdAt": skill.created_at}
    if skill.proposed is not None:
        return {**told, "status": "proposed", "message": WAITS}
    return {**told, "status": "active", "message": TOLD}


async def _asker(context: ToolContext, room: Room) -> Asker | None:
    """The person whose own message woke the run, if they could have stored it themselves. Guests cannot."""
    asker = context.run.asker
    if asker is None:
        return None
    person = await people.select_person(context.tx, asker.id)
    if person is None or person.role == "guest" or person.disabled_at is not None:
        return None
    who = Principal("person", asker.id, asker.name, access.parsed(context.run.grants))
    _, thing = await spaces.standing(context.tx, who, room.id)
    return asker if access.allows(who, "write_skill", thing) else None
