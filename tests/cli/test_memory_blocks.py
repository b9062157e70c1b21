"""bullpen memory, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: ada, name: Ada Lovelace, model: "script:silent", blocks: {mood: calm}}
  - {id: bo, name: Bo, model: "script:silent"}
spaces:
  - {id: back, members: [ada], private: true}
"""


def test_blocks_are_listed_written_compared_and_put_back(office_data: Path) -> None:
    def memory(*args: str, **more: str) -> str:
        return output(office_data, "memory", *args, **more)

    listed = memory("blocks", "Ada Lovelace").splitlines()
    assert listed[0].split() == ["LABEL", "CHARACTERS", "VERSION", "CHANGED", "SHARED", "CONTENT"]
    assert "4 / 4,000" in listed[1]
    more = ("--description", "How you feel.", "--limit", "5000", "--readers", "bo", "--reason", "To begin.")
    assert memory("set", "ada", "mood", "-", *more, stdin="glad\x1b[2J") == "mood  version 2, 8 / 5,000 characters"
    assert "bo read it" in memory("blocks", "ada")
    assert "by ada, to read" in memory("blocks", "bo")
    history = memory("history", "ada", "mood")
    assert "To begin." in history
    assert "\x1b" not in history, "nothing that is stored has power over the terminal"
    assert memory("history", "ada", "mood", "--diff", "1", "2").splitlines()[-1] == "+glad\\x1b[2J"
    assert memory("revert", "ada", "mood", "1") == "mood  version 3, 4 / 5,000 characters"
    [newest] = json.loads(memory("history", "ada", "mood", "--limit", "1", "--json"))["items"]
    assert (newest["content"], newest["reason"]) == ("calm", "Back to version 1.")
    memory("set", "ada", "mood", "calm", "--private")
    assert "No blocks" in bullpen(office_data, "memory", "blocks", "bo").stderr
    memory("delete", "ada", "mood")
    memory("delete", "ada", "mood", "--history")
    gone = bullpen(office_data, "memory", "history", "ada", "mood")
    assert (gone.returncode, "has no block 'mood'" in gone.stderr) == (1, True)


def test_a_text_that_is_too_long_fails_with_both_numbers(office_data: Path) -> None:
    done = bullpen(office_data, "memory", "set", "ada", "mood", "x" * 4001)
    assert (done.returncode, "4,001 characters" in done.stderr, "holds 4,000" in done.stderr) == (1, True, True)


def test_the_block_of_one_space_is_named_with_space(office_data: Path) -> None:
    output(office_data, "memory", "set", "ada", "mood", "sly", "--space", "back")
    assert "sly" in output(office_data, "memory", "blocks", "ada", "--space", "back")
    assert "calm" in output(office_data, "memory", "blocks", "ada")
