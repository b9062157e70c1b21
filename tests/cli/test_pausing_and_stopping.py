"""bullpen pause, resume and stop: what they say, with a server and without."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output, serving
from tests.waits import wait_until

PROJECT = """
agents:
  - {id: echo, name: Echo, model: {provider: script, turns: [{steps: [{delayMs: 600000}]}]}}
spaces:
  - {id: hall, members: [echo], wake: {people: all}}
"""


@pytest.fixture(scope="module")
def paused_data(tmp_path_factory: pytest.TempPathFactory, applied_project: Callable[[str], Path]) -> Iterator[Path]:
    """The data folder of an office that was paused while it was closed, and is served now."""
    data = shutil.copytree(applied_project(PROJECT), tmp_path_factory.mktemp("paused") / "data")
    output(data, "token", "create", "--name", "Ruth", "--owner")
    assert output(data, "pause", "--all") == "All agents are paused."
    with serving(data):
        yield data


def agent(data: Path) -> dict[str, object]:
    (found,) = json.loads(output(data, "agents", "--json"))["items"]
    assert isinstance(found, dict)
    return found


def test_agents_are_paused_and_resumed_singly_and_all_together(paused_data: Path) -> None:
    assert agent(paused_data)["state"] == "paused"
    assert output(paused_data, "pause", "echo") == "echo is paused."
    assert output(paused_data, "resume", "--all") == "Agents go on, but for those that are paused singly."
    assert agent(paused_data)["state"] == "paused"
    assert output(paused_data, "resume", "echo") == "echo goes on."
    assert agent(paused_data)["state"] == "idle"
    assert json.loads(output(paused_data, "pause", "--all", "--json"))["paused"] is True
    assert output(paused_data, "resume", "echo") == "echo stays paused while all agents are: `bullpen resume --all`."
    assert json.loads(output(paused_data, "resume", "--all", "--json"))["paused"] is False
    assert json.loads(output(paused_data, "pause", "echo", "--json"))["state"] == "paused"
    output(paused_data, "resume", "echo")


def test_a_run_can_be_stopped_by_run_id_or_agent(paused_data: Path) -> None:
    output(paused_data, "send", "hall", "hello")
    stopped = wait_until(lambda: output(paused_data, "stop", "--agent", "echo"))  # nothing until it has begun
    run_id = stopped.split()[0]
    assert stopped == f"{run_id} of echo stops."
    wait_until(lambda: json.loads(output(paused_data, "run", run_id, "--json"))["run"]["status"] == "cancelled")
    done = bullpen(paused_data, "stop", run_id)
    assert done.returncode == 1
    assert run_id in done.stderr
    nothing = bullpen(paused_data, "stop", "--agent", "echo")
    assert (nothing.returncode, nothing.stderr) == (0, "echo is doing nothing just now.\n")


@pytest.mark.parametrize(
    "typed",
    ["pause", "resume", "pause echo --all", "stop", "stop run_1 --agent echo", "pause nobody", "stop --agent nobody"],
)
def test_pause_and_stop_report_bad_arguments_in_one_line(paused_data: Path, typed: str) -> None:
    done = bullpen(paused_data, *typed.split())
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("bullpen: ")
