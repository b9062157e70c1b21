"""The history of an agent's instructions: one version for each change, with who made it and when.

An agent from before changes were kept gets its first version together with its first change.
"""

from __future__ import annotations

import difflib
from typing import Final

from sqlalchemy import bindparam, delete, func, insert, select

from bullpen.errors import NotFound
from bullpen.storage import Statement, Transaction
from bullpen.storage.mapped import Mapped
from bullpen.storage.tables import instructions
from bullpen.wire import Agent
from bullpen.wire.nouns import InstructionsVersion

DIFF_LINES: Final = 2_000  # of each text: what it takes to compare them grows faster than they do

_VERSIONS = Mapped(InstructionsVersion, instructions, others={"by": instructions.c.by_id})
_OF_AGENT = instructions.c.agent_id == bindparam("agent_id")
_INSERT = Statement(insert(instructions))
_NEWEST = Statement(select(func.coalesce(func.max(instructions.c.version), 0)).where(_OF_AGENT))
_SELECT = Statement(
    select(*_VERSIONS.columns)
    .where(_OF_AGENT, instructions.c.version < bindparam("before"))
    .order_by(instructions.c.version.desc())
    .limit(bindparam("limit"))
)
_SELECT_ONE = Statement(select(instructions.c.content).where(_OF_AGENT, instructions.c.version == bindparam("version")))
_DELETE = Statement(delete(instructions).where(_OF_AGENT))


async def begin(tx: Transaction, agent: Agent, by: str) -> None:
    """The first version of a new agent."""
    await _insert(tx, agent.id, 1, agent.instructions, by, agent.created_at)


async def keep(tx: Transaction, before: Agent, after: Agent, by: str) -> None:
    """A new version. The caller has the agent's turn."""
    newest = int(await tx.value(_NEWEST, agent_id=after.id))
    if newest == 0:
        await _insert(tx, before.id, 1, before.instructions, None, before.created_at)
        newest = 1
    await _insert(tx, after.id, newest + 1, after.instructions, by, after.updated_at)


async def _insert(tx: Transaction, agent_id: str, version: int, content: str, by: str | None, at: str) -> None:
    await tx.run(_INSERT, agent_id=agent_id, version=version, content=content, by_id=by, at=at)


async def read(tx: Transaction, agent: Agent, *, before: int, limit: int) -> list[InstructionsVersion]:
    found = _VERSIONS.read_all(await tx.all(_SELECT, agent_id=agent.id, before=before, limit=limit))
    if found or int(await tx.value(_NEWEST, agent_id=agent.id)):
        return found
    only = InstructionsVersion(version=1, content=agent.instructions, at=agent.created_at)
    return [only] if before > 1 else []


async def compare(tx: Transaction, agent: Agent, old: int, new: int) -> str:
    return compare_texts(await _content(tx, agent, old), await _content(tx, agent, new), old, new)


def compare_texts(one: str, other: str, old: int, new: int) -> str:
    """A unified diff of what two versions say."""
    return "\n".join(
        difflib.unified_diff(
            one.splitlines()[:DIFF_LINES],
            other.splitlines()[:DIFF_LINES],
            f"version {old}",
            f"version {new}",
            lineterm="",
        )
    )


async def _content(tx: Transaction, agent: Agent, version: int) -> str:
    content: str | None = await tx.value(_SELECT_ONE, agent_id=agent.id, version=version)
    if content is None:
        if version == 1 and not int(await tx.value(_NEWEST, agent_id=agent.id)):
            return agent.instructions
        raise NotFound(f"The instructions of {agent.id!r} have no version {version}.")
    return content


async def forget(tx: Transaction, agent_id: str) -> None:
    await tx.run(_DELETE, agent_id=agent_id)
