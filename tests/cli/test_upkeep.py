"""bullpen backup, restore, export and erase, as an operator types them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.processes import bullpen, output, serving


def test_a_running_servers_backup_restores_into_an_empty_folder(demo_data: Path, tmp_path: Path) -> None:
    told = json.loads(output(demo_data, "backup", str(tmp_path / "office.db"), "--json"))
    assert told["holdsKey"] is False
    assert told["format"] == "sqlite"
    assert "It does not hold the key" in output(demo_data, "backup", str(tmp_path / "office.jsonl.gz"))
    again = bullpen(demo_data, "backup", str(tmp_path / "office.db"))
    assert again.returncode == 1
    assert "say --force" in again.stderr
    other = tmp_path / "other"
    assert "Restored" in output(other, "restore", str(tmp_path / "office.jsonl.gz"))
    with serving(other):
        assert "general" in output(other, "spaces")
        assert json.loads(output(other, "audit", "verify", "--json"))["ok"]


def test_nothing_is_restored_under_a_running_server(demo_data: Path, tmp_path: Path) -> None:
    output(demo_data, "backup", str(tmp_path / "office.db"))
    refused = bullpen(demo_data, "restore", str(tmp_path / "office.db"), "--force")
    assert refused.returncode == 1
    assert "is in use by pid" in refused.stderr
    assert "general" in output(demo_data, "spaces")


def test_exports_from_a_server_and_from_a_folder_agree(demo_data: Path, tmp_path: Path) -> None:
    output(demo_data, "export", "space", "general", str(tmp_path / "general.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "general.jsonl").read_text().splitlines()]
    assert lines[-1] == {"type": "end", "end": {"lines": len(lines)}}
    assert "Good morning" in [line["message"]["text"] for line in lines if line["type"] == "message"]
    assert (tmp_path / "general.jsonl").stat().st_mode & 0o777 == 0o600
    copy = tmp_path / "copy"
    output(demo_data, "backup", str(tmp_path / "office.db"))
    output(copy, "restore", str(tmp_path / "office.db"))
    from_folder = output(copy, "export", "space", "general", "-").splitlines()
    messages = [line["message"]["id"] for line in lines if line["type"] == "message"]
    said = [json.loads(line) for line in from_folder]
    assert [line["message"]["id"] for line in said if line["type"] == "message"][: len(messages)] == messages
    for place in (demo_data, copy):
        missing = bullpen(place, "export", "agent", "nobody", str(tmp_path / "nobody.jsonl"))
        assert missing.returncode == 1
        assert "There is no agent" in missing.stderr
        assert not (tmp_path / "nobody.jsonl").exists()


def test_erasing_needs_yes_and_works_with_or_without_a_server(demo_data: Path, tmp_path: Path) -> None:
    output(demo_data, "backup", str(tmp_path / "office.db"))
    copy = tmp_path / "copy"
    output(copy, "restore", str(tmp_path / "office.db"))
    for place in (copy, demo_data):
        unsure = bullpen(place, "erase", "space", "leads")
        assert unsure.returncode == 1
        assert "say --yes" in unsure.stderr
        assert json.loads(output(place, "erase", "space", "leads", "--yes", "--json")) == {
            "kind": "space",
            "id": "leads",
        }
        gone = bullpen(place, "erase", "space", "leads", "--yes")
        assert gone.returncode == 1
        assert "There is no space" in gone.stderr
