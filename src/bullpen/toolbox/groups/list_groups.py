"""list_groups: the groups there are, and the chats that could become one."""

from __future__ import annotations

from typing import Any

from bullpen.spaces import chats, rows
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import CHAT

MOST = 200
LAST = "\U0010ffff"


@tool(effect="tx", act=None, grant="register_group")
async def list_groups(context: ToolContext) -> dict[str, Any]:
    """List the groups, and the chats that bridges have seen and nobody has registered. Main group only."""
    groups = await rows.select_group_options(context.tx)
    seen = await chats.select_many(context.tx, registered=False, before=LAST, limit=MOST)
    if seen:
        context.effects.outside = (CHAT,)  # whoever is out there chose these names
    return {
        "groups": [
            {"spaceId": room.id, "name": room.name, "main": room.main, "trigger": room.trigger, **told(options)}
            for room, options in groups[:MOST]
        ],
        "available": [{"jid": chat.jid, "name": chat.name, "seenAt": chat.seen_at} for chat in seen],
    }


def told(options: dict[str, Any]) -> dict[str, Any]:
    names = {"jid": "bridge", "folder": "folder", "provider": "provider", "model": "model"}
    return {name: options[field] for name, field in names.items() if options.get(field) is not None}
