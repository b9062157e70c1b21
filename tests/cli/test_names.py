"""Names on the command line: taken in place of ids, and shown beside them in lists."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output, serving

PROJECT = """
agents:
  - {id: echo, name: The Echo, model: {provider: script, turns: [{steps: [{text: ""}]}]}}
spaces:
  - {id: hall, name: Launch week, members: [echo], wake: {people: all}}
  - {id: twin-a, name: Twins, members: [echo]}
  - {id: twin-b, name: twins, members: [echo]}
  - {id: twins-c, name: hall, members: [echo]}
  - {id: vault, name: Secret plans, private: true}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, applied_project: Callable[[str], Path]) -> Iterator[Path]:
    folder = shutil.copytree(applied_project(PROJECT), tmp_path_factory.mktemp("names") / "data")
    output(folder, "token", "create", "--name", "Ruth", "--owner")
    with serving(folder) as server:
        (folder / "url").write_text(server.url)
        yield folder


def messages(data: Path, space: str) -> int:
    spaces = json.loads(output(data, "spaces", "--json"))["items"]
    return next(int(each["lastSeq"]) for each in spaces if each["id"] == space)


@pytest.mark.proves("B-page-24")
def test_a_name_is_taken_where_an_id_is(data: Path) -> None:
    before = messages(data, "hall")
    output(data, "send", "launch WEEK", "good morning")
    output(data, "send", "#Launch week", "once more")
    assert messages(data, "hall") == before + 2
    assert output(data, "search", "morning", "--author", "Ruth").count("good morning") == 1
    assert output(data, "pause", "the echo") == "echo is paused."
    assert output(data, "resume", "@The Echo") == "echo goes on."


def test_an_id_means_itself_whatever_others_are_named(data: Path) -> None:
    before = messages(data, "hall"), messages(data, "twins-c")
    output(data, "send", "hall", "for the id")
    assert (messages(data, "hall"), messages(data, "twins-c")) == (before[0] + 1, before[1])


def test_a_name_of_several_is_refused_with_their_ids(data: Path) -> None:
    done = bullpen(data, "send", "Twins", "to whom?")
    assert done.returncode == 1
    assert done.stderr == "bullpen: Several spaces are named 'Twins'. Say which one: twin-a, twin-b.\n"


def test_what_is_hidden_is_not_found_by_name(data: Path) -> None:
    token = output(data, "token", "create", "--name", "bot", "--agent", "The Echo")
    door = {"BULLPEN_TOKEN": token, "BULLPEN_URL": (data / "url").read_text()}
    asked = {name: bullpen(data, "send", name, "hi", **door) for name in ("Secret plans", "No such room")}
    told = {name: done.stderr.replace(name, "NAME") for name, done in asked.items()}
    assert {done.returncode for done in asked.values()} == {1}
    assert told["Secret plans"] == told["No such room"]
    assert "vault" not in told["Secret plans"]


@pytest.mark.proves("B-page-24")
def test_lists_show_names_beside_ids(data: Path) -> None:
    output(data, "send", "hall", "a run, please")
    assert "hall     Launch week" in output(data, "spaces")
    run = output(data, "runs", "--space", "Launch week").splitlines()[1]
    assert "echo (The Echo)" in run
    assert "hall (Launch week)" in run
    assert "(" not in json.dumps(json.loads(output(data, "runs", "--json"))["items"][0]["spaceId"])


def test_lists_of_rules_and_limits_show_names_too(data: Path) -> None:
    output(data, "policies", "set", "echo", "send_message", "ask", "--space", "hall")
    output(data, "budgets", "set", "agent", "The Echo", "5")
    output(data, "hooks", "create", "echo", "--name", "ci")
    output(data, "send", "hall", "@The Echo, a marmot")
    for listed in (
        output(data, "policies"),
        output(data, "budgets"),
        output(data, "hooks"),
        output(data, "usage"),
        output(data, "search", "marmot"),
    ):
        row = listed.splitlines()[1]
        assert "(The Echo)" in row or "(Ruth)" in row, row
    assert "hall (Launch week)" in output(data, "policies")
    assert "hall (Launch week)" in output(data, "search", "marmot")
