"""bullpen memory, as people type it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import bullpen, output

pytestmark = pytest.mark.one_database

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:silent", tools: [memory]}
spaces:
  - {id: studio, members: [ada]}
"""
LINES: list[dict[str, Any]] = [
    {"type": "passage", "agentId": "ada", "content": "Pia likes tea", "tags": ["pia"]},
    {"type": "passage", "spaceId": "studio", "content": "The wifi is called owl", "metadata": {"room": "hall"}},
    {"type": "passage", "agentId": "zoe", "content": "Zoe's own"},
    {"type": "passage", "spaceId": "den", "content": "Of the den"},
    {"type": "block", "agentId": "ada", "label": "mood", "content": "glad"},
]


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "no json\n")
    return str(path)


def test_memory_is_imported_listed_searched_and_exported(office_data: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", LINES)
    done = bullpen(office_data, "memory", "import", file)
    assert done.stdout == "2 stored, 2 skipped: their agent or space is not here (--create makes it), 2 refused\n"
    assert "line 5: this is no passage" in done.stderr
    assert json.loads(
        output(office_data, "memory", "import", file, "--create", "--model", "script:silent", "--json")
    ) == {
        "stored": 4,
        "skipped": 0,
        "refused": 2,
    }
    assert "Pia likes tea" in output(office_data, "memory", "list", "--agent", "ada")
    assert "owl" in output(office_data, "memory", "search", "WIFI", "--space", "studio")
    assert "Nothing" in bullpen(office_data, "memory", "search", "wifi", "--agent", "ada").stderr
    [found] = json.loads(output(office_data, "memory", "list", "--agent", "ada", "--tags", "pia", "--json"))["items"]
    assert (found["content"], found["tags"]) == ("Pia likes tea", ["pia"])
    output(office_data, "memory", "export", str(tmp_path / "out.jsonl"))
    kept = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(line["content"] for line in kept) == sorted(line["content"] for line in LINES[:4])
    [of_studio] = map(json.loads, output(office_data, "memory", "export", "-", "--space", "studio").splitlines())
    assert (of_studio["spaceId"], of_studio["metadata"]) == ("studio", {"room": "hall"})
    again = json.loads(output(office_data, "memory", "import", str(tmp_path / "out.jsonl"), "--json"))
    assert again == {"stored": 4, "skipped": 0, "refused": 0}
    assert len(json.loads(output(office_data, "memory", "list", "--agent", "ada", "--json"))["items"]) == 1


def test_memory_says_whose_it_wants(office_data: Path) -> None:
    assert "--agent ID or --space ID" in bullpen(office_data, "memory", "list").stderr
    assert "There is no" in bullpen(office_data, "memory", "list", "--agent", "nobody").stderr
