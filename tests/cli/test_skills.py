"""bullpen skills, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output, serving
from tests.waits import wait_until

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:silent"}
spaces:
  - {id: studio, members: [ada]}
"""
KEEPER = """
agents:
  - id: cy
    name: Cy
    tools: [skills]
    model:
      provider: script
      turns:
        - steps:
            - calls: [{tool: store_skill, args: {name: walk, description: A walk, instructions: Say where to.}}]
            - {}
spaces:
  - {id: hall, members: [cy], wake: {people: all}}
"""
TEXT = "---\nname: stand-up\ndescription: Who did what\nparameters: '[day]'\n---\n\nAsk everybody.\n"


def test_a_skill_folder_is_imported_approved_invoked_exported_and_deleted(office_data: Path, tmp_path: Path) -> None:
    assert "No skills" in bullpen(office_data, "skills").stderr
    (tmp_path / "in/stand-up").mkdir(parents=True)
    (tmp_path / "in/stand-up/SKILL.md").write_text(TEXT)
    (tmp_path / "in/stand-up/run.sh").write_text("")
    done = bullpen(office_data, "skills", "import", "studio", str(tmp_path / "in"))
    assert (done.returncode, done.stdout) == (0, "/stand_up  waits for approval\n")
    assert "left out: run.sh" in done.stderr
    assert "proposed" in output(office_data, "skills", "--space", "studio")
    shown = output(office_data, "skills", "show", "studio", "stand_up")
    assert "+Ask everybody." in shown
    assert bullpen(office_data, "skills", "approve", "studio", "stand_up", "--hash", "0" * 64).returncode == 1
    approved = bullpen(office_data, "skills", "approve", "studio", "stand_up")
    assert (approved.stdout, "+Ask everybody." in approved.stderr) == ("/stand_up  active\n", True)
    assert output(office_data, "skills", "show", "studio", "stand_up") == TEXT.strip()
    assert "ada follows /stand_up" in output(office_data, "skills", "invoke", "studio", "stand_up", "on", "monday")
    made = output(office_data, "skills", "export", "studio", str(tmp_path / "out"))
    assert made.strip() == str(tmp_path / "out/stand-up/SKILL.md")
    assert (tmp_path / "out/stand-up/SKILL.md").read_text() == TEXT
    [listed] = json.loads(output(office_data, "skills", "--json"))["items"]
    assert (listed["name"], listed["status"]) == ("stand_up", "active")
    output(office_data, "skills", "delete", "studio", "stand_up")
    assert json.loads(output(office_data, "skills", "--json"))["items"] == []


def test_a_stored_skill_gets_a_proposal_which_is_then_rejected(office_data: Path, tmp_path: Path) -> None:
    (tmp_path / "how.md").write_text("Ask everybody.")
    store = ("skills", "store", "studio", "standup", str(tmp_path / "how.md"), "--description", "Who did what")
    assert json.loads(output(office_data, *store, "--json"))["status"] == "active"
    (tmp_path / "standup").mkdir()
    (tmp_path / "standup/SKILL.md").write_text("---\ndescription: Who did what\n---\nSay boo.")
    assert "waits" in output(office_data, "skills", "import", "studio", str(tmp_path / "standup"))
    assert "-Ask everybody." in output(office_data, "skills", "show", "studio", "standup")
    output(office_data, "skills", "reject", "studio", "standup")
    assert "Ask everybody." in output(office_data, "skills", "show", "studio", "standup")
    assert "active" in output(office_data, "skills", "import", "studio", str(tmp_path / "standup"), "--approve")


def test_what_an_agent_stored_at_once_is_undone(office_data: Path, tmp_path: Path) -> None:
    (tmp_path / "keeper.yaml").write_text(KEEPER)
    output(office_data, "apply", str(tmp_path / "keeper.yaml"))
    with serving(office_data):
        output(office_data, "token", "create", "--name", "Olga", "--owner")
        output(office_data, "send", "hall", "keep it")
        wait_until(lambda: "walk" in output(office_data, "skills", "--json"))
        [skill] = json.loads(output(office_data, "skills", "--json"))["items"]
        assert (skill["status"], skill["undoable"]) == ("active", True)
        stale = bullpen(office_data, "skills", "undo", "hall", "walk", "--hash", "0" * 64)
        assert (stale.returncode, "says something else by now" in stale.stderr) == (1, True)
        assert output(office_data, "skills", "undo", "hall", "walk") == "/walk  is gone"
        assert bullpen(office_data, "skills", "undo", "hall", "walk").returncode == 1


def test_a_projects_skills_await_approval_unless_approved_on_apply(office_data: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "skills/stand-up").mkdir(parents=True)
    (project / "skills/stand-up/SKILL.md").write_text(TEXT.replace("---\n\n", "spaces: studio\n---\n\n"))
    said = output(office_data, "apply", str(project))
    assert said.startswith("created    skill  studio/stand_up  waits for approval")
    assert output(office_data, "apply", str(project), "--approve-skills") == "updated    skill  studio/stand_up"
    assert output(office_data, "apply", str(project)) == "unchanged  skill  studio/stand_up"


@pytest.mark.parametrize(
    "args, part",
    [
        (("import", "studio", "/nowhere"), "no file or folder"),
        (("show", "studio", "none"), "no skill"),
        (("invoke", "studio", "none"), "no skill"),
        (("approve", "studio", "none"), "no skill"),
    ],
)
def test_an_invalid_skill_command_fails_with_a_clear_message(
    office_data: Path, args: tuple[str, ...], part: str
) -> None:
    done = bullpen(office_data, "skills", *args)
    assert (done.returncode, part in done.stderr) == (1, True), done.stderr
