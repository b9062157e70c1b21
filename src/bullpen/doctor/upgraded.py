"""What an upgrade leaves to people: rows that were fine when they were written, and that no migration can decide about.

Names that look alike, secrets that could not be set now and schemas that are dear to check are looked at in
doctor/database.py, along with what else is wrong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson
from sqlalchemy import bindparam, select

from bullpen.doctor.types import Finding, ok, warning
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import agents, policies, schema_migrations, skills
from bullpen.toolbox import FAMILIES
from bullpen.tools import rows as tool_rows
from bullpen.tools.registry import Registry

if TYPE_CHECKING:
    from bullpen.doctor.database import Patient

SOURCES: Final = 19  # the migration since which policies may name a source
SHOWN: Final = 5  # of many that are alike
AT_ONCE: Final = 200

_AGENTS = Statement(
    select(agents.c.id, agents.c.definition)
    .where(agents.c.deleted_at.is_(None), agents.c.id > bindparam("after"))
    .order_by(agents.c.id)
    .limit(bindparam("limit"))
)
_SINCE_SOURCES = Statement(select(schema_migrations.c.applied_at).where(schema_migrations.c.number == SOURCES))
_OLD_POLICIES = Statement(
    select(policies.c.agent_id, policies.c.tool_name)
    .where(policies.c.decision == "allow", policies.c.source.is_(None), policies.c.created_at < bindparam("before"))
    .order_by(policies.c.id)
)
_PROPOSED = Statement(
    select(skills.c.space_id, skills.c.name).where(skills.c.proposed.is_not(None)).order_by(skills.c.id)
)


async def definitions(patient: Patient) -> list[Finding]:
    """Agents that list tools which nobody knows any more, and those that cannot say anything."""
    registry = Registry(FAMILIES)
    odd: list[Finding] = []
    count, after = 0, ""
    while page := await patient.store.read(partial(_read_agents, after=after)):
        for agent_id, definition in page:
            found = await _odd(patient, registry, agent_id, orjson.loads(definition))
            odd += [] if found is None else [found]
        count, after = count + len(page), page[-1][0]
    return odd[:SHOWN] or [ok("agents", f"The tools of all {count} agents are there, and each can speak.")]


async def _read_agents(tx: Transaction, after: str) -> list[tuple[str, str]]:
    return [(id, definition) for id, definition in await tx.all(_AGENTS, after=after, limit=AT_ONCE)]


async def _odd(patient: Patient, registry: Registry, id: str, agent: Mapping[str, Any]) -> Finding | None:
    names = agent.get("tools") or []
    others = registry.unknown(names)
    known = await patient.store.read(partial(tool_rows.select_tools, names=others)) if others else []
    if lost := sorted(set(others) - {tool.name for tool in known}):
        said = f"{id} lists {', '.join(lost[:SHOWN])}, which nobody has defined."
        return warning("agents", said, "Define it again, or take it off the agent's list of tools.")
    if agent.get("on_unsent_text") == "deliver" or registry.can_speak(names):
        return None
    said = f"{id} has no tool to speak with, so nobody hears from it."
    return warning("agents", said, "Add `messaging` to its tools, if anybody should hear from it.")


async def allowances(patient: Patient) -> list[Finding]:
    """Policies from before they could name a source: they also allow what text from outside causes."""
    since = await patient.store.read(lambda tx: tx.value(_SINCE_SOURCES))
    old = await patient.store.read(lambda tx: tx.all(_OLD_POLICIES, before=since or ""))
    if not old:
        return [ok("policies", "No policy is from before policies had sources.")]
    shown = ", ".join(f"{tool} of {agent}" for agent, tool in old[:SHOWN])
    said = f"Policies from an earlier version allow a tool whatever its run has read: {shown}{_more(old)}."
    advice = (
        "Delete each and allow one source: `bullpen policies set AGENT TOOL allow --source HOST`. Where everything is "
        "meant, set it again as it is."
    )
    return [warning("policies", said, advice)]


async def proposals(patient: Patient) -> list[Finding]:
    """Skills that wait for somebody's approval. Many of an earlier version would be active at once today."""
    found = await patient.store.read(lambda tx: tx.all(_PROPOSED))
    if not found:
        return [ok("skills", "No skill waits for approval.")]
    shown = ", ".join(f"/{name} in {space}" for space, name in found[:SHOWN])
    said = f"Skills wait for somebody's approval: {shown}{_more(found)}."
    return [warning("skills", said, "`bullpen skills show SPACE NAME`, then `approve` or `delete`.")]


def _more(found: Sequence[Any]) -> str:
    return f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""


QUESTIONS: Final = (definitions, allowances, proposals)
