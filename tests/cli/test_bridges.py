"""bullpen bridges, as people type it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:silent"}
spaces:
  - {id: family, kind: group, members: [ada], bridge: "mem:1"}
"""
DEAD = """
    INSERT INTO outbox (bridge, chat, space_id, message_id, kind, status, attempts, error, created_at)
    VALUES ('mem', 'mem:1', 'family', '{id}', 'message', 'dead', 3, 'The bot was removed.', '2026-01-01T00:00:00Z')
"""


def change(data: Path, sql: str) -> None:
    with closing(sqlite3.connect(data / "bullpen.db")) as connection:
        connection.execute(sql)
        connection.commit()


def test_dead_entries_are_listed_retried_and_dropped(office_data: Path) -> None:
    assert "No bridge was ever connected" in bullpen(office_data, "bridges").stderr
    change(office_data, "INSERT INTO bridges (id, created_at) VALUES ('mem', '2026-01-01T00:00:00Z')")
    assert "Everything could be sent" in bullpen(office_data, "bridges", "dead", "mem").stderr
    for id in ("msg_1", "msg_2"):
        change(office_data, DEAD.format(id=id))
    (line,) = output(office_data, "bridges").splitlines()[1:]
    assert line.split()[:5] == ["mem", "off", "0", "-", "2"]
    newest, oldest = output(office_data, "bridges", "dead", "mem").splitlines()[1:]
    assert "The bot was removed." in newest
    output(office_data, "bridges", "retry", "mem", newest.split()[0])
    output(office_data, "bridges", "drop", "mem", oldest.split()[0])
    [found] = json.loads(output(office_data, "bridges", "--json"))["items"]
    assert (found["queued"], found["dead"]) == (1, 0)
    done = bullpen(office_data, "bridges", "drop", "mem", oldest.split()[0])
    assert (done.returncode, "is dropped, not dead" in done.stderr) == (1, True)
