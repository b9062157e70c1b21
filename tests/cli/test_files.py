"""bullpen upload, download, files, send --attach, and what backup, export and doctor say of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import bullpen, output

CONTENT = "a few words\n" * 1000


@pytest.fixture(scope="module", autouse=True)
def note(demo_data: Path) -> None:
    """Where commands run, there is a file to send."""
    (demo_data.parent / "note.txt").write_text(CONTENT)


def test_a_file_is_uploaded_listed_downloaded_and_shown(demo_data: Path, tmp_path: Path) -> None:
    id = output(demo_data, "upload", "note.txt")
    assert id.startswith("fil_")
    assert "note.txt" in output(demo_data, "files")
    assert [file["id"] for file in json.loads(output(demo_data, "files", "--json"))["items"]] == [id]
    assert output(demo_data, "download", id, str(tmp_path / "copy.txt")) == str(tmp_path / "copy.txt")
    assert (tmp_path / "copy.txt").read_text() == CONTENT
    assert bullpen(demo_data, "download", id, "-").stdout == CONTENT
    for refused in (("download", id, str(tmp_path / "copy.txt")), ("download", id)):
        done = bullpen(demo_data, *refused)
        assert done.returncode == 1
        assert "is there already" in done.stderr
    output(demo_data, "download", id, str(tmp_path / "copy.txt"), "--force")
    shown = json.loads(output(demo_data, "send", "general", "see", "--attach", "note.txt", "--json"))
    assert [file["name"] for file in shown["attachments"]] == ["note.txt"]
    alone = json.loads(output(demo_data, "send", "general", "--attach", "note.txt", "--attach", "note.txt", "--json"))
    assert (alone["type"], len(alone["attachments"])) == ("file", 2)
    assert output(demo_data, "files", "--space", "general").count("note.txt") == 3
    assert output(demo_data, "upload", "note.txt", "--key", "k1") == output(
        demo_data, "upload", "note.txt", "--key", "k1"
    )
    into_space = json.loads(output(demo_data, "upload", "note.txt", "--space", "general", "--json"))
    assert into_space["spaceId"] == "general"


def test_unsendable_or_unreadable_files_are_reported(demo_data: Path) -> None:
    for wrong, said in (
        (("upload", "nowhere.txt"), "Cannot read nowhere.txt"),
        (("send", "general"), "Say something"),
        (("send", "general", "x", "--attach", "nowhere.txt"), "Cannot read nowhere.txt"),
        (("download", "fil_nothing", "x.txt"), "There is no file"),
        (("upload", "note.txt", "--space", "nowhere"), "There is no space"),
    ):
        done = bullpen(demo_data, *wrong)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        assert said in done.stderr


def test_an_export_includes_file_bytes_from_a_server_or_folder(demo_data: Path, tmp_path: Path) -> None:
    output(demo_data, "send", "general", "keep this", "--attach", "note.txt")
    output(demo_data, "export", "space", "general", str(tmp_path / "a.jsonl"), "--files", str(tmp_path / "a"))
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    ids = {line["file"]["id"] for line in lines if line["type"] == "file"}
    assert ids == {path.name for path in (tmp_path / "a").iterdir()}
    assert {(tmp_path / "a" / id).read_text() for id in ids} == {CONTENT}
    output(demo_data, "backup", str(tmp_path / "office.tar"))
    copy = tmp_path / "copy"
    output(copy, "restore", str(tmp_path / "office.tar"))
    output(copy, "export", "space", "general", str(tmp_path / "b.jsonl"), "--files", str(tmp_path / "b"))
    assert ids == {path.name for path in (tmp_path / "b").iterdir()}


def findings(data: Path) -> list[dict[str, Any]]:
    done = bullpen(data, "doctor", "--json", BULLPEN_PORT="0")
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return [finding for finding in found if finding["part"] == "attachments"]


def test_backup_restore_and_doctor_say_whether_the_files_are_there(demo_data: Path, tmp_path: Path) -> None:
    output(demo_data, "send", "general", "keep this", "--attach", "note.txt")
    count = len(json.loads(output(demo_data, "files", "--space", "general", "--json"))["items"])
    assert findings(demo_data)[0]["level"] == "ok"
    said = output(demo_data, "backup", str(tmp_path / "office.db"))
    assert "It does not hold the files" in said
    assert ".tar" in said
    assert "It holds the files" in output(demo_data, "backup", str(tmp_path / "office.tar"))
    without = tmp_path / "without"
    done = bullpen(without, "restore", str(tmp_path / "office.db"))
    assert (done.returncode, "It holds no files" in done.stdout) == (0, True)
    assert "files have no bytes here" in done.stderr
    [found] = findings(without)
    assert (found["level"], f"of {count}" in found["message"] or "files have no bytes" in found["message"]) == (
        "problem",
        True,
    )
    whole = tmp_path / "whole"
    told = json.loads(output(whole, "restore", str(tmp_path / "office.tar"), "--json"))
    assert (told["holdsFiles"], told["missingFiles"]) == (True, 0)
    assert findings(whole)[0]["level"] == "ok"
