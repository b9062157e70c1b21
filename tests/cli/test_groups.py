"""bullpen groups, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:silent"}
spaces:
  - {id: studio, members: [ada], timezone: Europe/Berlin}
"""
FAMILY = ("tg:-1001234567890", "Family", "family-chat", "@Andy")


def test_a_chat_is_registered_and_listed(office_data: Path) -> None:
    assert "No groups" in bullpen(office_data, "groups").stderr
    assert "No bridge" in bullpen(office_data, "groups", "chats").stderr
    assert (
        output(office_data, "groups", "register", *FAMILY, "--members", "ada", "--model", "echo").strip()
        == "family-chat"
    )
    (line,) = output(office_data, "groups").splitlines()[1:]
    assert all(part in line for part in (*FAMILY, "echo", "ada"))
    [group] = json.loads(output(office_data, "groups", "--json"))["items"]
    assert (group["kind"], group["bridge"], group["private"]) == ("group", FAMILY[0], True)


@pytest.mark.parametrize(
    "args, part",
    [
        (("tg:-1", "Family", "../etc", "@Andy"), "folder"),
        (("1", "Family", "family", "@Andy"), "bridge"),
        (("tg:-1", "Family", "family", "@Andy", "--members", "nobody"), "Nobody has the id"),
        (("tg:-1", "Family", "family", "@Andy", "--provider", "nobody"), "no model provider"),
    ],
)
def test_an_invalid_group_registration_fails_with_a_clear_message(
    office_data: Path, args: tuple[str, ...], part: str
) -> None:
    done = bullpen(office_data, "groups", "register", *args)
    assert (done.returncode, part in done.stderr) == (1, True), done.stderr
