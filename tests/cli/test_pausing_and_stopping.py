"""bullpen pause, resume and stop: what they say, with a server and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output, serving

PROJECT = """
agents:
  - {id: echo, name: Echo, model: {provider: script, turns: [{steps: [{delayMs: 600000}]}]}}
spaces:
  - {id: hall, members: [echo], wake: {people: all}}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("brakes")
    (folder / "project.yaml").write_text(PROJECT)
    data = folder / "data"
    output(data, "token", "create", "--name", "Ruth", "--owner")
    output(data, "apply", str(folder / "project.yaml"))
    # Before anything runs: an office can be paused while it is closed.
    assert output(data, "pause", "--all") == "All agents are paused."
    with serving(data):
        yield data


def agent(data: Path) -> dict[str, object]:
    (found,) = json.loads(output(data, "agents", "--json"))["items"]
    assert isinstance(found, dict)
    return found


def test_agents_are_paused_and_resumed_singly_and_all_together(data: Path) -> None:
    assert agent(data)["state"] == "paused"
    assert output(data, "pause", "echo") == "echo is paused."
    assert output(data, "resume", "--all") == "Agents go on, but for those that are paused singly."
    assert agent(data)["state"] == "paused"
    assert output(data, "resume", "echo") == "echo goes on."
    assert agent(data)["state"] == "idle"
    assert json.loads(output(data, "pause", "--all", "--json"))["paused"] is True
    assert output(data, "resume", "echo") == "echo stays paused while all agents are: `bullpen resume --all`."
    assert json.loads(output(data, "resume", "--all", "--json"))["paused"] is False
    assert json.loads(output(data, "pause", "echo", "--json"))["state"] == "paused"
    output(data, "resume", "echo")


def test_a_run_can_be_stopped_by_run_id_or_agent(data: Path) -> None:
    output(data, "send", "hall", "hello")
    stopped = ""
    while not stopped:  # until it has begun
        stopped = output(data, "stop", "--agent", "echo")
    run_id = stopped.split()[0]
    assert stopped == f"{run_id} of echo stops."
    while json.loads(output(data, "run", run_id, "--json"))["run"]["status"] != "cancelled":
        pass
    done = bullpen(data, "stop", run_id)
    assert done.returncode == 1
    assert run_id in done.stderr
    nothing = bullpen(data, "stop", "--agent", "echo")
    assert (nothing.returncode, nothing.stderr) == (0, "echo is doing nothing just now.\n")


@pytest.mark.parametrize(
    "typed",
    ["pause", "resume", "pause echo --all", "stop", "stop run_1 --agent echo", "pause nobody", "stop --agent nobody"],
)
def test_pause_and_stop_report_bad_arguments_in_one_line(data: Path, typed: str) -> None:
    done = bullpen(data, *typed.split())
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("bullpen: ")
