"""register_group: a chat becomes a group, in which people wake the agent with a word."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.audit.actions import note
from bullpen.errors import BadArguments
from bullpen.spaces import actions as spaces
from bullpen.toolbox.groups.list_groups import told
from bullpen.tools import ToolContext, tool
from bullpen.wire.requests import RegisterGroup


# Its name stands in the prompts of all who are in it, as the office's own text.
@tool(effect="tx", grant="register_group", wary=True, keeps=("name", "trigger", "folder"))
async def register_group(
    context: ToolContext,
    jid: Annotated[str, Field(description="The chat, as list_groups shows it: tg:-1001234567890")],
    name: Annotated[str, Field(description="What the group is called.")],
    folder: Annotated[str, Field(description="For its files: lowercase letters, digits and hyphens, as family-chat.")],
    trigger: Annotated[str, Field(description="The word that wakes you there, as in @Andy.")],
    provider: Annotated[str | None, Field(description="Whose model to use there. Left out: your own.")] = None,
    model: Annotated[str | None, Field(description="Which of its models. Left out: its usual one.")] = None,
) -> dict[str, Any]:
    """Register a chat as a group: from then on you answer there when somebody says the trigger word. Main group only.

    You and whoever asked you are its first members.
    """
    said = {"jid": jid, "name": name, "folder": folder, "trigger": trigger, "provider": provider, "model": model}
    try:
        wanted = RegisterGroup.model_validate(said)
    except ValidationError as error:
        raise BadArguments("; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors())) from None
    context.means.check_model(wanted.provider, wanted.model)
    cause = context.run.cause
    creator = Principal(cause.kind, cause.id, cause.id, access.parsed(cause.grants))  # type: ignore[arg-type]
    space = await spaces.register(context.tx, wanted, creator, [context.agent.id])
    actor = Principal("agent", context.agent.id, context.agent.name, creator.grants)
    note(context.tx, actor, "group.registered", "space", space.id, jid=jid, folder=folder)
    options = {name: getattr(space, name) for name in ("bridge", "folder", "provider", "model")}
    return {
        "spaceId": space.id,
        "name": space.name,
        "trigger": space.trigger,
        "members": space.members,
        **told(options),
    }
