"""bullpen tasks, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bullpen.cli.arguments import CONTEXT_MODES, MISSED, SCHEDULE_TYPES, TASK_STATUSES
from bullpen.wire import nouns
from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:silent"}
spaces:
  - {id: studio, members: [ada], timezone: Europe/Berlin}
"""


def test_a_task_is_made_shown_paused_resumed_run_and_cancelled(office_data: Path) -> None:
    assert "No tasks" in bullpen(office_data, "tasks").stderr
    made = output(office_data, "tasks", "create", "studio", "cron", "0 9 * * *", "Say good morning").splitlines()
    assert (len(made), made[0].endswith("active")) == (6, True)
    id = made[0].split()[0]
    assert "Europe/Berlin" in output(office_data, "tasks")
    assert json.loads(output(office_data, "tasks", "show", id, "--json"))["missed"] == "once"
    assert "paused" in output(office_data, "tasks", "pause", id)
    assert json.loads(output(office_data, "tasks", "--json", "--status", "paused"))["items"][0]["id"] == id
    assert "active" in output(office_data, "tasks", "resume", id)
    assert "fired" in output(office_data, "tasks", "run", id)
    assert "fired" in output(office_data, "tasks", "firings", id)
    assert json.loads(output(office_data, "tasks", "firings", id, "--json"))["items"][0]["manual"] is True
    output(office_data, "tasks", "cancel", id)
    assert json.loads(output(office_data, "tasks", "--json", "--status", "all"))["items"] == []


@pytest.mark.parametrize(
    "args, part",
    [
        (("create", "studio", "interval", "1s", "Hurry"), "shorter than 60 s"),
        (("create", "studio", "once", "2020-01-01T00:00:00", "Too late"), "in the past"),
        (("create", "nowhere", "interval", "1h", "x"), "no space"),
        (("show", "tsk_none"), "no task"),
    ],
)
def test_an_invalid_task_command_fails_with_a_clear_message(
    office_data: Path, args: tuple[str, ...], part: str
) -> None:
    done = bullpen(office_data, "tasks", *args)
    assert (done.returncode, part in done.stderr) == (1, True), done.stderr


def test_task_command_choices_match_the_wire_types() -> None:
    from typing import get_args

    assert set(SCHEDULE_TYPES) == set(get_args(nouns.ScheduleType))
    assert set(CONTEXT_MODES) == set(get_args(nouns.ContextMode))
    assert set(MISSED) == set(get_args(nouns.MissedPolicy))
    assert set(TASK_STATUSES) == {*get_args(nouns.TaskStatus), "all"}
