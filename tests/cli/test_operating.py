"""Running an office from the command line: claim it, load it, talk in it, look at it."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.cli.processes import Process, PythonProcess, bullpen, ended_at_last, following, output, run_python, serving
from tests.waits import BOUND

PROJECT = """
agents:
  - {id: echo, name: Echo, model: {provider: script, turns: [
      {when: shout, steps: [{calls: [{tool: send_message, args: {text: "LOUD"}}]}]},
      {steps: [{text: "Not for me.", calls: [{tool: do_nothing, args: {}}]}]}]}}
spaces:
  - {id: hall, name: Hall, members: [echo], wake: {people: all}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("operating")
    (found / "project.yaml").write_text(PROJECT)
    return found


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Process]:
    """A server on a folder that was claimed and filled before it started."""
    data = folder / "data"
    token = output(data, "token", "create", "--name", "Ruth", "--owner")
    (folder / "token").write_text(token)
    assert output(data, "apply", "project.yaml").splitlines() == ["created    agent  echo", "created    space  hall"]
    with serving(data) as started:
        yield started


@pytest.fixture(scope="module")
def hall_data(server: Process, folder: Path) -> Path:
    """Its data folder."""
    return folder / "data"


@pytest.fixture
def remote(server: Process, folder: Path) -> dict[str, str]:
    """The same server as seen from elsewhere: by address and token."""
    return {"BULLPEN_URL": server.url, "BULLPEN_TOKEN": (folder / "token").read_text()}


def test_a_token_made_before_the_first_start_opens_the_server(hall_data: Path, remote: dict[str, str]) -> None:
    (space,) = json.loads(output(hall_data, "spaces", "--json", **remote))["items"]
    assert (space["id"], [member["name"] for member in space["memberDetails"]]) == ("hall", ["Ruth", "Echo"])


def test_a_created_token_is_printed_alone_and_always_new(hall_data: Path) -> None:
    tokens = {output(hall_data, "token", "create", "--name", "again", "--owner") for _ in range(2)}
    assert len(tokens) == 2
    assert all(token.startswith("bp_") and token.split() == [token] for token in tokens)


def test_a_token_of_an_agent_speaks_as_that_agent(hall_data: Path, remote: dict[str, str]) -> None:
    token = output(hall_data, "token", "create", "--name", "runtime", "--agent", "echo")
    sent = json.loads(
        output(hall_data, "send", "hall", "I am not a person", "--json", **{**remote, "BULLPEN_TOKEN": token})
    )
    assert (sent["authorId"], sent["authorKind"]) == ("echo", "agent")


def test_a_token_of_an_unknown_agent_is_refused(hall_data: Path) -> None:
    done = bullpen(hall_data, "token", "create", "--name", "x", "--agent", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nobody" in done.stderr


def test_a_token_of_some_tools_may_not_read_the_rooms(hall_data: Path, remote: dict[str, str]) -> None:
    token = output(hall_data, "token", "create", "--name", "x", "--tools", "fetch_report,other")
    done = bullpen(hall_data, "send", "hall", "hello", **{**remote, "BULLPEN_TOKEN": token})
    assert done.returncode == 1


def test_an_unknown_token_is_told_how_to_get_one(hall_data: Path, remote: dict[str, str]) -> None:
    done = bullpen(hall_data, "spaces", **{**remote, "BULLPEN_TOKEN": "bp_wrong"})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "does not accept this BULLPEN_TOKEN" in line
    assert "bullpen token create" in line


def test_applying_again_changes_nothing_and_a_change_is_told(hall_data: Path, remote: dict[str, str]) -> None:
    for where in ({}, remote):
        applied = json.loads(output(hall_data, "apply", "project.yaml", "--json", **where))
        assert applied == {
            "agents": [{"id": "echo", "change": "unchanged"}],
            "spaces": [{"id": "hall", "change": "unchanged"}],
            "skills": [],
            "tools": [],
            "variables": [],
        }
    other = hall_data.parent / "other.yaml"
    other.write_text(PROJECT.replace("name: Hall", "name: The hall"))
    assert output(hall_data, "apply", str(other)).splitlines() == ["unchanged  agent  echo", "updated    space  hall"]
    output(hall_data, "apply", "project.yaml")


def test_sending_prints_the_id_and_a_follower_reads_a_conversation(hall_data: Path) -> None:
    with following(hall_data, "hall") as follower:
        id = output(hall_data, "send", "hall", "shout, please")
        assert id.startswith("msg_")
        assert follower.wait_for("Ruth: shout, please")
        assert follower.wait_for("Echo: LOUD")
        output(hall_data, "send", "hall", "whisper")
        assert follower.wait_for("Echo stayed silent")
        assert follower.stop(signal.SIGINT) == 0


def test_a_follower_of_everything_prints_events_as_json(hall_data: Path) -> None:
    with following(hall_data, "--json") as follower:
        id = output(
            hall_data,
            "send",
            "hall",
            "-",
            "--reply-to",
            output(hall_data, "send", "hall", "one"),
            stdin="from\nstdin\n",
        )
        event = json.loads(follower.wait_for(lambda line: id in line))
        assert event["type"] == "message_created"
        assert event["message"]["text"] == "from\nstdin"
        assert event["cursor"]


def test_a_follower_can_begin_in_the_past(hall_data: Path) -> None:
    with following(hall_data, "--json") as follower:
        first = output(hall_data, "send", "hall", "first")
        cursor = json.loads(follower.wait_for(lambda line: first in line))["cursor"]
    second = output(hall_data, "send", "hall", "second")
    with following(hall_data, "hall", "--json", "--after", cursor) as follower:
        seen = [json.loads(follower.wait_for(lambda line: '"message_created"' in line)) for _ in range(1)]
    assert [event["message"]["id"] for event in seen if event["message"]["authorKind"] == "person"] == [second]


def test_runs_can_be_listed_and_read(hall_data: Path) -> None:
    with following(hall_data, "hall", "--json") as follower:
        output(hall_data, "send", "hall", "shout")
        run = json.loads(follower.wait_for('"run_finished"'))["run"]
    listed = json.loads(
        output(hall_data, "runs", "--agent", "echo", "--space", "hall", "--status", "completed", "--json")
    )
    assert run["id"] in {item["id"] for item in listed["items"]}
    assert run["id"] in output(hall_data, "runs")
    shown = output(hall_data, "run", run["id"])
    assert "woken by" in shown
    assert 'calls send_message {"text": "LOUD"}' in shown
    step = output(hall_data, "run", run["id"], "--step", "1")
    assert "── waking" in step
    assert "SHARE" in step
    assert json.loads(output(hall_data, "run", run["id"], "--step", "1", "--json"))["changed"] == []
    now = json.loads(output(hall_data, "prompt", run["agentId"], "--space", run["spaceId"], "--json"))
    assert "identity" in [part["name"] for part in now["parts"]]
    assert "── identity" in output(hall_data, "prompt", run["agentId"], "--space", run["spaceId"])
    read = json.loads(output(hall_data, "run", run["id"], "--json"))
    assert read["run"]["outcome"] == "spoke"
    assert {entry["type"] for entry in read["messages"]} >= {"tool_call_message", "tool_return_message"}


def test_spaces_and_agents_can_be_listed(hall_data: Path) -> None:
    assert "hall" in output(hall_data, "spaces")
    (agent,) = json.loads(output(hall_data, "agents", "--json"))["items"]
    assert agent["id"] == "echo"
    assert "Echo" in output(hall_data, "agents")


@pytest.mark.parametrize(
    "typed, words",
    [
        ("send nowhere hello", "nowhere"),
        ("run run_unknown", "run_unknown"),
        ("follow nowhere", "nowhere"),
    ],
)
def test_unknown_things_are_reported_in_one_line(hall_data: Path, typed: str, words: str) -> None:
    done = bullpen(hall_data, *typed.split())
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("bullpen: ")
    assert words in line


@pytest.mark.parametrize("text", ["", "x" * 32_769])
def test_an_empty_or_overlong_message_is_refused(hall_data: Path, text: str) -> None:
    done = bullpen(hall_data, "send", "hall", "-", stdin=text)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "text" in line


def test_a_second_server_on_the_same_folder_is_refused(hall_data: Path) -> None:
    done = bullpen(hall_data, "serve", "--port", "0")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(hall_data) in done.stderr.splitlines()[-1]


def test_a_port_that_is_taken_is_said_in_a_sentence(hall_data: Path, server: Process) -> None:
    port = server.url.rpartition(":")[2]
    done = bullpen(hall_data.parent / "elsewhere", "serve", "--port", port)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert port in done.stderr.splitlines()[-1]


def test_running_out_of_files_is_logged_and_passes(data: Path) -> None:
    """Connections beyond the limit are closed before the server hears of them, so nothing else would tell."""
    with serving(data) as server, ExitStack() as connections:
        pid = server.process.pid
        few = len(list(Path(f"/proc/{pid}/fd").iterdir())) + 4
        limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, limit[1]))
        where = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        for _ in range(8):
            connections.enter_context(socket.create_connection(where, BOUND))
        assert f"limit is {few}" in server.err.wait_for("can be opened")
        connections.close()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
        assert httpx.get(f"{server.url}/readyz").status_code == 200


def test_an_unknown_demo_is_refused_with_a_sentence(folder: Path) -> None:
    done = bullpen(folder / "fresh", "serve", "--port", "0", "--demo", "circus")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "circus" in done.stderr.splitlines()[-1]


def test_each_start_applies_the_project_and_its_skills_await_approval(tmp_path: Path) -> None:
    project, data = tmp_path / "project", tmp_path / "data"
    (project / "skills" / "stand-up").mkdir(parents=True)
    (project / "skills" / "stand-up" / "SKILL.md").write_text(
        "---\nname: stand-up\ndescription: Who did what\n---\nAsk everybody.\n"
    )
    (project / "spaces.yaml").write_text("- {id: hall, name: Hall}\n")
    (project / "variables.yaml").write_text("- {name: KEY_OF_THE_HALL, type: secret, env: HALL_KEY}\n")
    with serving(data, "--project", str(project), HALL_KEY="a-key-that-nobody-sees"):
        assert "hall" in output(data, "spaces")
        assert "KEY_OF_THE_HALL" in output(data, "variables")
        (skill,) = json.loads(output(data, "skills", "--json"))["items"]
        assert (skill["name"], skill["status"]) == ("stand_up", "proposed")
        output(data, "skills", "approve", "hall", "stand_up")
    (project / "spaces.yaml").write_text("- {id: hall, name: Hall}\n- {id: cellar, name: Cellar}\n")
    with serving(data, "--project", str(project), HALL_KEY="a-key-that-nobody-sees"):
        assert "cellar" in output(data, "spaces")
        (skill, other) = json.loads(output(data, "skills", "--json"))["items"]
        assert {(each["spaceId"], each["status"]) for each in (skill, other)} == {
            ("hall", "active"),
            ("cellar", "proposed"),
        }, "what was approved and says the same stays so"


def test_an_invalid_project_keeps_the_server_from_starting(tmp_path: Path) -> None:
    (tmp_path / "office.yaml").write_text("spaces: [{id: 'no good id'}]")
    (tmp_path / "group.yaml").write_text("spaces: [{id: den, kind: group, provider: oracle, model: x}]")
    for path, said in (("nowhere", "nowhere"), ("office.yaml", "office.yaml"), ("group.yaml", "oracle")):
        done = bullpen(tmp_path / "data", "serve", "--port", "0", "--project", path)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert said in done.stderr.splitlines()[-1]


def test_migrate_reports_what_it_applied_and_then_nothing_to_do(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert "applied 0001" in output(data, "migrate")
    assert output(data, "migrate") == "The database is up to date."


def test_a_worker_needs_postgresql_and_says_so(tmp_path: Path) -> None:
    done = bullpen(tmp_path / "data", "worker")
    assert done.returncode == 1
    assert "PostgreSQL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_ends_well_when_it_is_asked_to(data: Path) -> None:
    # As people start it, in a Python of its own, whose end is part of it.
    with ended_at_last(PythonProcess(data, "serve", "--port", "0")) as server:
        server.wait_for("Bullpen is ready on ")
        assert server.stop(signal.SIGTERM) == 0
    with serving(data) as server:
        assert server.stop(signal.SIGINT) == 0


def test_a_reader_that_left_ends_the_command_without_traceback(hall_data: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run_python(hall_data, "spaces", stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_one_setting_runs_the_cast_on_another_model(tmp_path: Path) -> None:
    (tmp_path / "project.yaml").write_text(PROJECT)
    data = tmp_path / "data"
    output(data, "apply", "project.yaml", "--model", "script:silent")
    output(data, "token", "create", "--name", "Ruth", "--owner")
    with serving(data):
        (agent,) = json.loads(output(data, "agents", "--json"))["items"]
    assert agent["model"] == "script:silent"


def test_search_finds_messages_and_why_explains_them(hall_data: Path, remote: dict[str, str]) -> None:
    message = output(hall_data, "send", "hall", "who moved the piano?", **remote)
    (found,) = json.loads(output(hall_data, "search", "PIANO", "--space", "hall", "--json", **remote))["items"]
    assert (found["id"], found["snippet"], found["highlights"]) == (message, "who moved the piano?", [[14, 19]])
    assert message in output(hall_data, "search", "moved pia", "--author", found["authorId"], **remote)
    assert "Nothing was found" in bullpen(hall_data, "search", "harpsichord", **remote).stderr
    told = json.loads(output(hall_data, "why", message, "--json", **remote))
    assert [agent["agentId"] for agent in told["agents"]] == ["echo"]
    assert output(hall_data, "why", message, "--agent", "echo", **remote).startswith("echo: Echo ")
    missing = bullpen(hall_data, "why", "msg_none", **remote)
    assert missing.returncode == 1
    assert "There is no message 'msg_none'" in missing.stderr
