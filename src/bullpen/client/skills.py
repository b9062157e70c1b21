"""Skills as the SDK has them: `bp.skills` stores workflows of a space, approves of them, and starts them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Invoked, Skill, SkillStatus


class Skills:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self, *, space: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[Skill]:
        """Newest first; those that wait for approval too."""
        query = {"spaceId": space, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("skills"), query=query)
        return Page([Skill.model_validate(item) for item in found["items"]], found.get("next"))

    async def get(self, space: str, name: str) -> Skill:
        """With what is proposed, if anything is."""
        return Skill.model_validate(await self._connection.request("GET", _at(space, name)))

    async def store(
        self,
        space: str,
        name: str,
        *,
        description: str,
        instructions: str,
        parameters: str | None = None,
        agent: str | None = None,
        status: SkillStatus | None = None,
    ) -> Skill:
        """Store a skill over one that has this name. With status `proposed` it waits for approval."""
        said = {"description": description, "instructions": instructions, "parameters": parameters}
        body: dict[str, Any] = {**said, "agentId": agent, "status": status}
        body = {field: value for field, value in body.items() if value is not None}
        found = await self._connection.request("PUT", _at(space, name), body=body, repeatable=True)
        return Skill.model_validate(found)

    async def import_text(self, space: str, text: str, *, folder: str | None = None, active: bool = False) -> Skill:
        """Take what a SKILL.md says. It waits for approval, unless `active`."""
        body: dict[str, Any] = {"text": text, "status": "active" if active else "proposed"}
        if folder is not None:
            body["folder"] = folder
        where = path("spaces", space, "skills", "import")
        return Skill.model_validate(await self._connection.request("POST", where, body=body, repeatable=True))

    async def export_text(self, space: str, name: str) -> str:
        """As a SKILL.md; of one that nobody has approved of yet, what it would say."""
        return b"".join([piece async for piece in self._connection.pieces(_at(space, name, "export"))]).decode()

    async def approve(self, space: str, name: str, hash: str | None = None) -> Skill:
        """Answer for what is proposed. With the `hash` of the one you have looked at, another is a conflict."""
        body = {} if hash is None else {"hash": hash}
        found = await self._connection.request("POST", _at(space, name, "approve"), body=body, repeatable=True)
        return Skill.model_validate(found)

    async def reject(self, space: str, name: str) -> None:
        """Forget what is proposed. What is active stays."""
        await self._connection.request("POST", _at(space, name, "reject"))

    async def undo(self, space: str, name: str, hash: str | None = None) -> Skill | None:
        """Take back what an agent has stored at once. None: there was nothing before, so the skill is gone.

        With the `hash` of the one you have looked at, another is a conflict.
        """
        body = {} if hash is None else {"hash": hash}
        found = await self._connection.request("POST", _at(space, name, "undo"), body=body)
        return None if not found else Skill.model_validate(found)

    async def delete(self, space: str, name: str) -> None:
        await self._connection.request("DELETE", _at(space, name))

    async def invoke(
        self, space: str, name: str, parameters: str = "", *, client_message_id: str | None = None
    ) -> Invoked:
        """Start it, as if you had written `/name parameters` in the space. It starts once, however often this is tried.

        To keep that promise over a restart of your own program too, choose the `client_message_id` yourself.
        """
        body = {"parameters": parameters, "clientMessageId": client_message_id or uuid4().hex}
        found = await self._connection.request("POST", _at(space, name, "invoke"), body=body, repeatable=True)
        return Invoked.model_validate(found)


def _at(space: str, name: str, *rest: str) -> str:
    return path("spaces", space, "skills", name, *rest)
