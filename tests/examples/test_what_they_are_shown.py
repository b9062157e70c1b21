"""What each agent of the examples is shown before anybody has said a word, kept for review.

After a change that is meant: BULLPEN_WRITE_SHOWN=1 make test ARGS=shown, and look at the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from bullpen.agents.files import Project, read_project
from tests.driver import Driver, Json

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOWN = Path(__file__).with_name("shown")


def written(items: list[Any]) -> list[Json]:
    return [item.model_dump(by_alias=True, exclude_unset=True, mode="json") for item in items]


def as_applied(project: Project) -> Json:
    kinds = ("agents", "spaces", "tools", "variables", "skills")
    return {kind: written(getattr(project, kind)) for kind in kinds}


async def shown_to(office: Driver, agent_id: str) -> str:
    seen = await office.get(f"/agents/{agent_id}/prompt")
    parts = [f"== {part['name']}\n{part['text']}" for part in seen["parts"]]
    tools = [f"== tool {tool['name']}\n{tool['description']}" for tool in seen["tools"]]
    return re.sub(r"psn_\w+", "psn_…", "\n\n".join([*parts, *tools]) + "\n")


@pytest.mark.one_database
@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
async def test_the_agents_of_an_example_are_shown_what_was_reviewed(office: Driver, example: str) -> None:
    project = read_project(EXAMPLES / example)
    await office.create("/apply", as_applied(project), status=200)
    for agent in project.agents:
        assert agent.id is not None
        kept = SHOWN / f"{example}-{agent.id}.txt"
        shown = await shown_to(office, agent.id)
        if os.environ.get("BULLPEN_WRITE_SHOWN"):
            kept.write_text(shown)
        assert shown == kept.read_text()
