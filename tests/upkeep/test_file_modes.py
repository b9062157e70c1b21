"""Whoever may look into the data folder, its files are for one user."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bullpen.storage.sqlite import SqliteStore
from tests.cli.processes import output, serving

DATABASE = {"bullpen.db", "bullpen.db-wal", "bullpen.db-shm"}


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder that everybody may look into, and a user whose files everybody may read."""
    before = os.umask(0)
    folder = tmp_path / "data"
    folder.mkdir(0o755)
    yield folder
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): f"{file.stat().st_mode & 0o777:o}" for file in folder.rglob("*")}


async def test_a_database_is_private_in_a_folder_that_is_not(open_folder: Path) -> None:
    store = SqliteStore(open_folder / "bullpen.db")
    await store.open()
    await store.close()
    with closing(sqlite3.connect(open_folder / "bullpen.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
        for file in open_folder.iterdir():
            file.chmod(0o644)  # as an older Bullpen, or somebody who copied it, left it
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        await store.open()
        try:
            found = modes(open_folder)
            assert set(found) >= DATABASE
            assert {name: found[name] for name in DATABASE} == dict.fromkeys(DATABASE, "600")
        finally:
            await store.close()


def test_no_file_of_an_office_or_backup_is_for_others(open_folder: Path, tmp_path: Path) -> None:
    with serving(open_folder) as server:
        os.umask(0)
        for name in ("copy.db", "copy.jsonl.gz", "copy.tar"):
            (open_folder / f"{name}.partial").touch(0o666)  # left by somebody who was killed
            output(open_folder, "backup", str(open_folder / name))
        found = {name: mode for name, mode in modes(open_folder).items() if name != "bullpen.lock"}
        server.stop()
    assert set(found) >= {*DATABASE, "copy.db", "copy.jsonl.gz", "copy.tar"}
    assert {name: mode for name, mode in found.items() if mode not in ("600", "700")} == {}
    restored = tmp_path / "restored"
    restored.mkdir(0o755)
    output(restored, "restore", str(open_folder / "copy.tar"))
    output(restored, "restore", "--force", str(open_folder / "copy.db"))
    files = {name: mode for name, mode in modes(restored).items() if name != "bullpen.lock"}
    assert {name: mode for name, mode in files.items() if mode not in ("600", "700")} == {}
