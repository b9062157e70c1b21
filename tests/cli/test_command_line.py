"""The command itself: quick help, exit codes, and sentences instead of tracebacks."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from bullpen import __version__, cli
from bullpen.cli.arguments import DECISIONS, PENDING_KINDS, PENDING_STATUSES, RUN_STATUSES, WEBHOOK_EVENTS, parser
from bullpen.wire.nouns import Decision, PendingKind, PendingStatus, RunStatus, WebhookEvent
from tests.cli.processes import bullpen, run_python
from tests.waits import BOUND

COMMANDS = (
    "serve",
    "bridges",
    "models",
    "retry",
    "worker",
    "migrate",
    "token",
    "apply",
    "backup",
    "restore",
    "export",
    "erase",
    "send",
    "follow",
    "tasks",
    "groups",
    "skills",
    "runs",
    "prompt",
    "run",
    "search",
    "spaces",
    "agents",
    "why",
    "doctor",
    "audit",
    "invite",
    "password",
    "pause",
    "resume",
    "stop",
    "people",
    "variables",
    "keys",
    "upload",
    "download",
    "files",
    "tools",
    "pending",
    "resolve",
    "policies",
    "budgets",
    "usage",
    "check-model",
    "hooks",
    "webhooks",
    "memory",
)
HEAVY = ("fastapi", "uvicorn", "sqlalchemy", "pydantic", "httpx", "yaml", "asyncio")


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = "import sys, bullpen.cli; code = bullpen.cli.main(['--help']); print(*sys.modules); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=BOUND, check=True)
    *shown, modules = done.stdout.splitlines()
    words = {line.split()[0] for line in shown if line.strip()}
    assert words.issuperset(COMMANDS)
    assert not set(HEAVY) & set(modules.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert f"usage: bullpen {command}" in capsys.readouterr().out


def test_the_version_is_told(tmp_path: Path) -> None:
    assert bullpen(tmp_path / "data", "--version").stdout == f"bullpen {__version__}\n"


def test_python_m_bullpen_passes_on_the_exit_code(data: Path) -> None:
    assert run_python(data, "--version").stdout == f"bullpen {__version__}\n"
    assert run_python(data, "dance").returncode == 2
    refused = run_python(data, "spaces")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("bullpen: No server runs on")


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "dance",
        "send",
        "upload",
        "serve --port 70000",
        "serve --port x",
        "token create",
        "token create --name x --owner --agent ada",
        "token create --name x --tools a,,b",
        "runs --status asleep",
        "runs --limit 0",
        "spaces --jso",
    ],
)
def test_an_unparsable_command_line_exits_with_2(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(typed.split()) == 2
    assert "usage: bullpen" in capsys.readouterr().err


@pytest.mark.parametrize(
    "typed", ["send general hello", "follow", "runs", "run run_1", "spaces", "agents", "spaces --json"]
)
def test_without_a_server_one_sentence_says_what_to_do(tmp_path: Path, typed: str) -> None:
    done = bullpen(tmp_path / "data", *typed.split())
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("bullpen: No server runs on")
    assert "bullpen serve" in line
    assert not (tmp_path / "data").exists()


def test_a_leftover_socket_is_not_taken_for_a_running_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(data / "bullpen.sock"))
    assert "No server runs on" in bullpen(data, "spaces").stderr


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    done = bullpen(tmp_path / "data", "spaces", BULLPEN_TOKEN="t", BULLPEN_URL="http://127.0.0.1:9")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "No server answers at http://127.0.0.1:9" in line


@pytest.mark.parametrize("url", ["127.0.0.1:8420", "ftp://example.org", "http://[", "http://127.0.0.1:99999"])
def test_an_invalid_server_url_is_refused_with_one_line(tmp_path: Path, url: str) -> None:
    done = bullpen(tmp_path / "data", "spaces", BULLPEN_TOKEN="t", BULLPEN_URL=url)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "BULLPEN_URL" in line


def test_a_malformed_token_is_refused_with_one_clear_line(tmp_path: Path) -> None:
    done = bullpen(tmp_path / "data", "spaces", BULLPEN_TOKEN="bp_1\nbp_2")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "BULLPEN_TOKEN" in line
    assert "bp_1" not in line


@pytest.mark.parametrize("typed", ["serve --port 0", "migrate", "token list", "backup b.db", "doctor", "spaces"])
@pytest.mark.parametrize("place", ["file", "file/below", "/proc/none"])
@pytest.mark.proves("B-page-25")
def test_a_data_folder_that_cannot_be_is_said_so(tmp_path: Path, place: str, typed: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = bullpen(tmp_path / "data", *typed.split(), BULLPEN_DATA=str(tmp_path / place), BULLPEN_PORT="0")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len((done.stderr or done.stdout).splitlines()) == 1 or typed == "doctor"
    assert "--data" in done.stderr + done.stdout or (place, typed) == ("/proc/none", "spaces")


def test_a_bad_project_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    (tmp_path / "office.yaml").write_text("agents: [{id: ada, name: Ada, model: x, colour: red}]")
    done = bullpen(tmp_path / "data", "apply", "office.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bullpen: office.yaml: agents[0] cannot be used. (colour: is not a known field)\n"
    assert not (tmp_path / "data").exists()


def test_statuses_on_the_command_line_are_those_of_the_wire() -> None:
    assert get_args(RunStatus) == RUN_STATUSES
    assert get_args(PendingStatus) == PENDING_STATUSES
    assert get_args(PendingKind) == PENDING_KINDS
    assert get_args(Decision) == DECISIONS
    assert get_args(WebhookEvent) == WEBHOOK_EVENTS


def test_every_command_leads_to_a_module_that_runs_it() -> None:
    examples = {
        "send": "send a b",
        "apply": "apply x",
        "backup": "backup x.db",
        "check-model": "check-model a:b",
        "restore": "restore x.db",
        "export": "export space x x.jsonl",
        "erase": "erase space x --yes",
        "resolve": "resolve x 1",
        "prompt": "prompt x",
        "run": "run x",
        "retry": "retry x",
        "upload": "upload x",
        "download": "download fil_x",
        "search": "search x",
        "why": "why x",
        "token": "token create --name x",
    }
    parse = parser().parse_args
    typed = [examples.get(command, command) for command in COMMANDS] + ["memory goals x"]
    chosen = {parse(each.split()).module for each in typed}
    assert chosen == set(cli.MODULES)
