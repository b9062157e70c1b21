"""bullpen memory goals, memories and plans, as people type it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

from bullpen.cli.arguments import GOAL_STATUSES
from bullpen.wire import nouns
from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:silent", scope: agent, tools: []}
spaces:
  - {id: desk, members: [ada], timezone: Europe/Berlin}
"""


def test_the_command_line_writes_lists_and_deletes_all_three(office_data: Path) -> None:
    assert "No goals" in bullpen(office_data, "memory", "goals", "ada").stderr
    id = output(office_data, "memory", "goals", "ada", "--set", "win", "--priority", "4")
    assert "win" in output(office_data, "memory", "goals", "ada")
    output(office_data, "memory", "goals", "ada", "--delete", id)
    output(office_data, "memory", "memories", "ada", "--set", "city", "Lisbon")
    [kept] = json.loads(output(office_data, "memory", "memories", "ada", "--json"))["items"]
    assert (kept["key"], kept["value"]) == ("city", "Lisbon")
    output(office_data, "memory", "memories", "ada", "--delete", "city")
    plan = output(office_data, "memory", "plans", "ada", "--set", "greet", "say hello", "--cron", "0 9 * * *").split()[
        0
    ]
    assert "say hello" in output(office_data, "memory", "plans", "ada")
    output(office_data, "memory", "plans", "ada", "--delete", plan)
    assert "No plans" in bullpen(office_data, "memory", "plans", "ada").stderr
    done = bullpen(office_data, "memory", "plans", "ada", "--set", "greet", "x")
    assert (done.returncode, "exactly one" in done.stderr) == (1, True)


def test_command_choices_match_the_wire_types() -> None:
    assert set(GOAL_STATUSES) == set(get_args(nouns.GoalStatus))
