"""bullpen doctor and bullpen audit: what an operator types when something is wrong, or to see that nothing is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bullpen.cli import doctor
from bullpen.settings import load_settings
from bullpen.testing.model_server import KEY, fails, model_server, plays
from bullpen.testing.wires import Text
from bullpen.variables.keys import Keys
from bullpen.variables.types import Scope
from tests.cli.processes import bullpen, output, serving
from tests.databases import Database, sqlite_database
from tests.postgres import PostgresServer
from tests.waiting.dear_schemas import nested

LONG_AGO = "2026-01-01T00:00:00.000Z"


@pytest.fixture(scope="session")
def claimed(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    data = sqlite_database(tmp_path_factory.mktemp("claimed") / "data", sqlite_template).data
    data.chmod(0o700)
    output(data, "token", "create", "--name", "Ruth", "--owner")
    return data


@pytest.fixture
def claimed_data(claimed: Path, tmp_path: Path) -> Path:
    """The data folder of a claimed office that nobody serves."""
    return shutil.copytree(claimed, tmp_path / "data")


def found(data: Path, **more: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and what was found of each part."""
    done = bullpen(data, "doctor", "--json", **{"BULLPEN_PORT": "0", **more})
    assert "Traceback" not in done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0)
    parts: dict[str, list[dict[str, Any]]] = {}
    for finding in answer["findings"]:
        assert finding["level"] in ("ok", "warning", "problem")
        assert finding["message"].endswith(".")
        assert bool(finding["advice"]) == (finding["level"] != "ok"), finding
        parts.setdefault(finding["part"], []).append(finding)
    return done.returncode, parts


def level(parts: dict[str, list[dict[str, Any]]], part: str) -> str:
    levels = [finding["level"] for finding in parts[part]]
    return next((worst for worst in ("problem", "warning") if worst in levels), "ok")


@contextlib.contextmanager
def changed(data: Path, *statements: str) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(data / "bullpen.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    yield


EVERY_PART = {
    "agents",
    "policies",
    "skills",
    "settings",
    "keys",
    "secrets",
    "python",
    "packages",
    "files",
    "folder",
    "disk",
    "fsync",
    "backups",
    "port",
    "storage",
    "server",
    "database",
    "schema",
    "integrity",
    "rows",
    "wal",
    "clock",
    "dates",
    "owner",
    "names",
    "meaning",
    "queue",
    "tasks",
    "prices",
    "tools",
    "audit",
    "attachments",
}


def test_doctor_finds_no_problem_with_or_without_a_running_server(claimed_data: Path) -> None:
    code, parts = found(claimed_data)
    assert code == 0
    assert set(parts) == EVERY_PART
    assert "No server" in parts["server"][0]["message"]
    with serving(claimed_data) as server:
        code, parts = found(claimed_data)
        assert code == 0
        assert set(parts) == EVERY_PART
        assert f"pid {server.process.pid}" in parts["server"][0]["message"]
        assert "ready" in parts["server"][0]["message"]
    text = output(claimed_data, "doctor")
    assert "0 problems" in text
    assert "→" in text, "warnings say what to do"


@pytest.mark.proves("B-page-25")
def test_a_folder_that_is_not_there_yet_is_no_problem(tmp_path: Path) -> None:
    code, parts = found(tmp_path / "none")
    assert code == 0
    assert level(parts, "folder") == level(parts, "database") == "warning"
    code, parts = found(tmp_path / "none", BULLPEN_DATA="/proc/none")
    assert (code, level(parts, "folder"), level(parts, "database")) == (1, "problem", "problem")
    assert "/proc/none/bullpen.db cannot be made" in parts["database"][0]["message"]


@pytest.mark.parametrize(
    "part, statement",
    [
        ("audit", "UPDATE audit SET actor_id = 'somebody' WHERE number = 1"),
        ("schema", "INSERT INTO schema_migrations VALUES (9999, 'from_the_future', '2030')"),
        ("schema", "DELETE FROM schema_migrations WHERE number = 2"),
        (
            "rows",
            "INSERT INTO threads (id, agent_id, scope, anchor, state, created_at) VALUES ('t', 'a', 'odd', '', '', '')",
        ),
        ("integrity", "INSERT INTO spaces SELECT 's', 'channel', 'S' WHERE 0"),
    ],
)
def test_doctor_finds_tampering_with_the_database(claimed_data: Path, part: str, statement: str) -> None:
    if part == "integrity":
        statement = "UPDATE spaces SET last_seq = 7"
        output(claimed_data, "apply", str(_project(claimed_data)))
    with changed(claimed_data, statement):
        code, parts = found(claimed_data)
    assert code == 1
    assert level(parts, part) == "problem"


@pytest.mark.parametrize("table", ["audit", "events"])
def test_doctor_finds_rows_from_the_future(claimed_data: Path, table: str) -> None:
    output(claimed_data, "apply", str(_project(claimed_data)))
    with changed(claimed_data, f"UPDATE {table} SET at = '2999-01-01T00:00:00.000000Z'"):
        _, parts = found(claimed_data)
    assert level(parts, "dates") == "warning"
    assert "hours ahead of our clock" in parts["dates"][0]["message"]


@pytest.mark.parametrize(
    "name, said", [("Ruth\u202e", "hidden characters"), ("Ruth\u0443", "No name hides")], ids=ascii
)
def test_doctor_finds_names_that_hide_something(claimed_data: Path, name: str, said: str) -> None:
    with changed(claimed_data, f"UPDATE people SET name = '{name}'"):
        _, parts = found(claimed_data)
    assert said in parts["names"][0]["message"]


def test_doctor_finds_names_that_look_alike(claimed_data: Path) -> None:
    path = claimed_data.parent / "agents.yaml"
    path.write_text(
        "agents:\n  - {id: bob, name: Bob, model: 'script:silent'}\n  - {id: eve, name: Eve, model: 'script:silent'}\n"
    )
    output(claimed_data, "apply", str(path))
    with changed(claimed_data, "UPDATE agents SET name = 'Bοb' WHERE id = 'eve'"):
        _, parts = found(claimed_data)
    assert level(parts, "names") == "warning"
    assert "bob" in parts["names"][0]["message"]
    assert "eve" in parts["names"][0]["message"]


def _project(data: Path) -> Path:
    path = data.parent / "project.yaml"
    path.write_text("spaces:\n  - id: hall\n")
    return path


def test_doctor_reports_a_damaged_database_file(claimed_data: Path) -> None:
    path = claimed_data / "bullpen.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(os.urandom(size // 4))
    code, parts = found(claimed_data)
    assert code == 1
    assert any(finding["level"] == "problem" for findings in parts.values() for finding in findings)


def test_a_destroyed_header_is_answered_with_a_backup(claimed_data: Path) -> None:
    with (claimed_data / "bullpen.db").open("r+b") as file:
        file.write(bytes(100))
    code, parts = found(claimed_data)
    assert (code, level(parts, "schema")) == (1, "problem")
    assert "bullpen restore" in parts["schema"][0]["advice"]
    done = bullpen(claimed_data, "migrate")
    assert done.returncode == 1
    assert "Restore a backup" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("beside", ["keys.json", "files/ab/fil_ab"])
def test_an_empty_database_beside_an_office_is_no_new_office(claimed_data: Path, tmp_path: Path, beside: str) -> None:
    copy = tmp_path / "copy.db"
    output(claimed_data, "backup", str(copy))
    (claimed_data / beside).parent.mkdir(parents=True, exist_ok=True)
    (claimed_data / beside).write_text("{}")
    for log in claimed_data.glob("bullpen.db-*"):
        log.unlink()
    (claimed_data / "bullpen.db").write_bytes(b"")
    code, parts = found(claimed_data)
    assert (code, level(parts, "database")) == (1, "problem")
    assert "bullpen restore" in parts["database"][0]["advice"]
    for command in (["serve", "--port", "0"], ["migrate"], ["token", "create", "--name", "Eve", "--owner"]):
        done = bullpen(claimed_data, *command)
        assert (done.returncode, "is empty" in done.stderr) == (1, True), done.stderr
    assert (claimed_data / "bullpen.db").stat().st_size == 0
    (claimed_data / beside).unlink()
    output(claimed_data, "restore", str(copy))
    assert "Ruth" in output(claimed_data, "token", "list")


def test_a_lost_database_is_missed_only_where_files_are(claimed_data: Path) -> None:
    for file in claimed_data.glob("bullpen.db*"):
        file.unlink()
    (claimed_data / "files").mkdir(exist_ok=True)
    (claimed_data / "files" / "fil_ab").write_text("words")
    done = bullpen(claimed_data, "migrate")
    assert (done.returncode, "is gone" in done.stderr) == (1, True), done.stderr
    (claimed_data / "files" / "fil_ab").unlink()
    (claimed_data / "keys.json").write_text('{"version": 1, "keys": []}')
    output(claimed_data, "migrate")


async def test_model_keys_are_tried_when_asked(claimed_data: Path) -> None:
    async with model_server() as server:
        more = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url, "BULLPEN_PORT": "0"}
        assert bullpen(claimed_data, "doctor", "--json", **more).returncode == 0
        assert server.asked == [], "a question costs something"
        for behaviour, expected in ((plays(Text("yes")), "ok"), (fails(401), "problem")):
            server.gives(behaviour)
            done = await asyncio.to_thread(bullpen, claimed_data, "doctor", "--models", "--json", **more)
            (said,) = [each for each in json.loads(done.stdout)["findings"] if each["part"] == "models"]
            assert (said["level"], done.returncode) == (expected, int(expected == "problem"))
            assert "ANTHROPIC_API_KEY" in said["message"]
            assert KEY not in done.stdout + done.stderr
        assert len(server.asked) == 2
    _, parts = found(claimed_data)
    assert "models" not in parts
    done = bullpen(claimed_data, "doctor", "--models", BULLPEN_PORT="0")
    assert "none was tried" in done.stdout


def test_doctor_names_an_unpriced_model_until_it_has_a_price(claimed_data: Path) -> None:
    this_month = "strftime('%Y-%m-01', 'now')"
    spent = (
        f"INSERT INTO spending (kind, id, day, model, unpriced) VALUES ('agent', 'ada', {this_month}, 'openai:new', 3)"
    )
    with changed(claimed_data, spent):
        code, parts = found(claimed_data)
    assert (code, level(parts, "prices")) == (0, "warning")
    assert "openai:new" in parts["prices"][0]["message"]
    assert str(claimed_data / "prices.yaml") in parts["prices"][0]["advice"]
    (claimed_data / "prices.yaml").write_text("openai:new: {in: 1, out: 4}\n")
    assert level(found(claimed_data)[1], "prices") == "ok"
    (claimed_data / "prices.yaml").write_text("openai:new: cheap\n")
    code, parts = found(claimed_data)
    assert (code, level(parts, "prices")) == (1, "problem")


def test_doctor_names_a_stored_tool_with_a_dear_schema(claimed_data: Path) -> None:
    assert level(found(claimed_data)[1], "tools") == "ok"
    kind = {"execution_type": "internal", "visible": False, "timeout": 30_000}
    definition = {"description": "x", "input_schema": nested(24), **kind}
    old = f"INSERT INTO tools VALUES ('sort', '{json.dumps(definition)}', 'h', 'psn_x', '{LONG_AGO}', '{LONG_AGO}')"
    with changed(claimed_data, old):
        code, parts = found(claimed_data)
    assert (code, level(parts, "tools")) == (0, "warning")
    assert "sort" in parts["tools"][0]["message"]
    assert "inputSchema" in parts["tools"][0]["advice"]


AGENTS = """agents:
  - {id: bob, name: Bob, model: 'script:silent', tools: [memory]}
  - {id: eve, name: Eve, model: 'script:silent', tools: [memory], onUnsentText: deliver}
  - {id: ida, name: Ida, model: 'script:silent', tools: [messaging, look_up]}
tools:
  - {name: look_up, description: Look, inputSchema: {}, executionType: external}
"""


def test_doctor_names_agents_that_are_mute_or_lack_tools(claimed_data: Path) -> None:
    path = claimed_data.parent / "agents.yaml"
    path.write_text(AGENTS)
    applied = output(claimed_data, "apply", str(path))
    assert "warning" in applied
    assert "Bob has no tool to speak with" in applied
    assert "Eve" not in applied
    with changed(claimed_data, "DELETE FROM tools WHERE name = 'look_up'"):
        _, parts = found(claimed_data)
    assert level(parts, "agents") == "warning"
    said = sorted(finding["message"].split(" ")[0] for finding in parts["agents"])
    assert said == ["bob", "ida"]


def test_doctor_names_policies_from_before_sources(claimed_data: Path) -> None:
    old = "INSERT INTO policies VALUES ('{0}', '{0}', 'ada', NULL, '{1}', '{2}', NULL, NULL, 'psn_x', '{3}', {4})"
    later = "2099-01-01T00:00:00.000Z"
    rows = [
        old.format("pol_1", "fetch", "allow", LONG_AGO, "NULL"),
        old.format("pol_2", "pay", "deny", LONG_AGO, "NULL"),
        old.format("pol_3", "send", "allow", LONG_AGO, "'news.example'"),
        old.format("pol_4", "look", "allow", later, "NULL"),
    ]
    assert level(found(claimed_data)[1], "policies") == "ok"
    with changed(claimed_data, *rows):
        _, parts = found(claimed_data)
    assert level(parts, "policies") == "warning"
    assert "fetch of ada" in parts["policies"][0]["message"]
    assert "of ada," not in parts["policies"][0]["message"]


def test_doctor_names_skills_that_wait(claimed_data: Path) -> None:
    columns = "id, space_id, name, active, proposed, created_at, updated_at"
    row = f"INSERT INTO skills ({columns}) VALUES ('skl_1', 'hall', 'tidy', NULL, '{{}}', '{LONG_AGO}', '{LONG_AGO}')"
    with changed(claimed_data, row):
        _, parts = found(claimed_data)
    assert level(parts, "skills") == "warning"
    assert "/tidy in hall" in parts["skills"][0]["message"]


def test_a_folder_open_to_others_is_a_problem(claimed_data: Path) -> None:
    claimed_data.chmod(0o755)
    code, parts = found(claimed_data)
    assert code == 1
    assert level(parts, "folder") == "problem"
    assert "chmod 700" in parts["folder"][0]["advice"]


def test_a_port_that_another_program_has_is_a_problem(claimed_data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "data"
    other.parent.mkdir()
    with serving(other) as server:
        code, parts = found(claimed_data, BULLPEN_PORT=server.url.rpartition(":")[2])
    assert code == 1
    assert level(parts, "port") == "problem"


def test_settings_are_judged_and_secrets_are_named_and_not_shown(claimed_data: Path) -> None:
    env = {
        "BULLPEN_LIMTS__BODY_BYTES": "1",
        "BULLPEN_LIMITS__REQUESTS_PER_MINUTE": "0",
        "ANTHROPIC_API_KEY": "sk-very-secret",
        "BULLPEN_PUBLIC_URL": "http://office.example.com",
    }
    done = bullpen(claimed_data, "doctor", **env)
    assert "sk-very-secret" not in done.stdout + done.stderr
    _, parts = found(claimed_data, **env)
    said = " ".join(finding["message"] for finding in parts["settings"])
    for words in ("BULLPEN_LIMTS", "requests_per_minute", "not https"):
        assert words in said
    assert "ANTHROPIC_API_KEY" in parts["keys"][0]["message"]
    code, parts = found(claimed_data, BULLPEN_ENGINE__LEASE_SECONDS="soon")
    assert code == 1
    assert set(parts) == {"settings"}


def test_doctor_reports_a_database_that_is_down(claimed_data: Path) -> None:
    code, parts = found(claimed_data, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert code == 1
    assert level(parts, "database") == "problem"
    assert "Cannot reach PostgreSQL" in parts["database"][0]["message"]


def test_on_postgresql_all_parts_are_looked_at(postgres_server: PostgresServer, tmp_path: Path) -> None:
    from tests.databases import drop, postgres_database

    database: Database = postgres_database(postgres_server, tmp_path / "data")
    database.data.chmod(0o700)
    try:
        code, parts = found(database.data, DATABASE_URL=database.url)
        assert code == 0
        assert set(parts) == EVERY_PART - {"wal"}
        assert level(parts, "owner") == "warning"
        assert "PostgreSQL 1" in parts["database"][0]["message"]
    finally:
        drop(postgres_server, database)


# ── the audit log ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("N6")
def test_audit_verify_names_the_first_broken_link_and_fails(claimed_data: Path) -> None:
    output(claimed_data, "apply", str(_project(claimed_data)))
    assert "rows, each linked" in output(claimed_data, "audit", "verify")
    listed = json.loads(output(claimed_data, "audit", "--json", "--action", "space.created"))["items"]
    assert [row["objectId"] for row in listed] == ["hall"]
    assert "space.created" in output(claimed_data, "audit")
    with serving(claimed_data):
        assert "rows, each linked" in output(claimed_data, "audit", "verify")
    with changed(claimed_data, f"DELETE FROM audit WHERE number = {listed[0]['number']}"):
        done = bullpen(claimed_data, "audit", "verify")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"broken at row {listed[0]['number']}" in done.stderr
    done = bullpen(claimed_data, "audit", "verify", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["brokenAt"] == listed[0]["number"]


def stored_secret(data: Path, name: str, value: str) -> str:
    """A statement that stores it as a version did that knew no bounds."""
    ring = Keys(data / "keys.json").ring() or Keys(data / "keys.json").make()
    sealed = ring.seal(ring.first, Scope("person", "psn_mia"), name, value)
    fields = "scope_kind, scope_id, name, type, value, key_id, scoped, description, created_by, created_at, updated_at"
    return (
        f"INSERT INTO variables ({fields}) VALUES "
        f"('person', 'psn_mia', '{name}', 'secret', '{sealed}', '{ring.first}', 0, '', 'psn_mia', '', '')"
    )


@pytest.mark.proves("F12")
def test_doctor_names_old_secrets_that_could_not_be_set_now(claimed_data: Path) -> None:
    huge = "".join(f"{number:05}-huge " for number in range(5_900))
    good = stored_secret(claimed_data, "GOOD", "a-g00d-secret-4711")
    silence = stored_secret(claimed_data, "SILENCE", "send_message")
    with changed(claimed_data, good, silence, stored_secret(claimed_data, "HUGE", huge)):
        code, parts = found(claimed_data)
    said = " ".join(finding["message"] for finding in parts["secrets"])
    assert (code, level(parts, "secrets")) == (0, "warning")
    assert "The secret HUGE of person psn_mia" in said
    assert "at most 8 KiB" in said
    assert "The secret SILENCE of person psn_mia" in said
    assert "the name of a tool" in said
    assert "GOOD" not in said


@pytest.mark.proves("F12")
def test_doctor_names_poor_secrets_of_the_environment(claimed_data: Path) -> None:
    more = {"BULLPEN_VARIABLES__SHOP_KEY": "hunter2", "BULLPEN_VARIABLES__CITY": "Rome"}
    code, parts = found(claimed_data, **more, BULLPEN_VARIABLES__BOT_TOKEN="send_message")
    said = " ".join(finding["message"] for finding in parts["settings"])
    assert (code, level(parts, "settings")) == (0, "warning")
    assert "SHOP_KEY" in said
    assert "at least 8 characters" in said
    assert "BOT_TOKEN" in said
    assert "hunter2" not in said
    assert "CITY" not in said


async def test_executors_that_are_not_well_are_shown(tmp_path: Path) -> None:
    """A server says so by its socket; here it is one that says nothing else."""
    settings = load_settings({}, data=tmp_path)
    body = b'{"ready":true,"failing":[],"unhealthy":{"mcp:library":"It hung up."}}'

    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    async with await asyncio.start_unix_server(tell, settings.socket_path):
        told = [finding async for finding in doctor._server(settings)]
    assert [(finding.level, finding.part) for finding in told] == [("ok", "server"), ("warning", "executors")]
    assert told[1].message == "mcp:library: It hung up."
