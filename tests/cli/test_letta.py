"""bullpen memory import of a file from Letta, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: bo, name: Bo, model: "script:silent"}
"""
FILE = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Rosa",
            "system": "You are Rosa.",
            "llm_config": {"handle": "zai/glm-5"},
            "block_ids": ["block-0"],
            "tool_ids": ["tool-0"],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "When do I prune roses?"}]}],
        }
    ],
    "blocks": [{"id": "block-0", "label": "persona", "value": "I am Rosa.", "limit": 5000, "description": "Me"}],
    "tools": [{"id": "tool-0", "name": "water_plants"}],
}


@pytest.fixture
def letta_file(tmp_path: Path) -> Path:
    path = tmp_path / "rosa.af"
    path.write_text(json.dumps(FILE))
    return path


def test_an_agent_moves_in_and_what_stays_behind_is_said(office_data: Path, letta_file: Path) -> None:
    said = output(office_data, "memory", "import", str(letta_file))
    assert "Made the agent rosa: 1 blocks, 1 passages." in said
    assert "water_plants" in said
    assert "zai/glm-5" in said
    assert "10 / 5,000" in output(office_data, "memory", "blocks", "rosa")
    assert "When do I prune" in output(office_data, "memory", "search", "prune", "--agent", "rosa")
    again = bullpen(office_data, "memory", "import", str(letta_file))
    assert (again.returncode, "--agent rosa" in again.stderr) == (1, True)


def test_a_file_can_fill_an_agent_that_is_there(office_data: Path, letta_file: Path) -> None:
    said = json.loads(output(office_data, "memory", "import", str(letta_file), "--agent", "bo", "--json"))
    [moved] = said["agents"]
    assert (moved["agent"], moved["made"], moved["blocks"], moved["passages"]) == ("bo", False, 1, 1)
    assert "I am Rosa." in output(office_data, "memory", "blocks", "bo")


def test_a_broken_file_is_refused_with_a_sentence(office_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.af"
    path.write_text("{")
    done = bullpen(office_data, "memory", "import", str(path))
    assert (done.returncode, "no agent file of Letta" in done.stderr) == (1, True)
