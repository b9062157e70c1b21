"""bullpen apply: make the server hold what a project's files say."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from bullpen.agents.files import Project, read_project
from bullpen.cli import door, show
from bullpen.client import Applied, Change
from bullpen.settings import Settings, environment, load_settings


def run(args: Namespace) -> int:
    settings = load_settings(data=args.data, model=args.model)
    project = read_project(args.path, model=settings.model or None, environ=environment(os.environ))
    applied = asyncio.run(_apply(settings, project, "active" if args.approve_skills else "proposed"))
    said = applied.model_dump(by_alias=True, mode="json", exclude_none=True)
    print(show.as_json(said) if args.json else _readable(applied))
    return 0


async def _apply(settings: Settings, project: Project, status: str) -> Applied:
    async with door.to_server_or_folder(settings) as bp:
        return await bp.apply(
            agents=_written(project.agents),
            spaces=_written(project.spaces),
            tools=_written(project.tools),
            variables=_written(project.variables),
            skills=[{**skill, "status": status} for skill in _written(project.skills)],
        )


def _written(items: list[Any]) -> list[dict[str, Any]]:
    """Only what the files say: what they leave out is the server's to choose."""
    return [item.model_dump(by_alias=True, exclude_unset=True, mode="json") for item in items]


def _readable(applied: Applied) -> str:
    kinds: dict[str, Sequence[Change]] = {
        "tool": applied.tools,
        "agent": applied.agents,
        "space": applied.spaces,
        "variable": applied.variables,
    }
    changes = [(kind, change) for kind, found in kinds.items() for change in found]
    lines = [f"{change.change:<9}  {kind}  {show.one_line(change.id)}" for kind, change in changes]
    for agent in applied.agents:
        lines += [f"warning    {show.one_line(warning, 200)}" for warning in agent.warnings or ()]
    for skill in applied.skills:
        waits = "" if skill.status == "active" else "  waits for approval: bullpen skills show"
        lines.append(f"{skill.change:<9}  skill  {skill.space_id}/{skill.id}{waits}")
    return "\n".join(lines)
