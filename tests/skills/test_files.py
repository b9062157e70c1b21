"""SKILL.md folders: what they say is read and written, nothing in them is believed, and nothing else is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bullpen.agents import skill_files
from bullpen.agents.files import read_project
from bullpen.errors import Invalid, NotFound
from tests.driver import Driver
from tests.skills.offices import STANDUP, call, stored, studio, told, turn

pytestmark = pytest.mark.one_database

TEXT = "---\nname: stand-up\ndescription: Who did what\n---\n\nAsk everybody.\n"


def write(folder: Path, text: str = TEXT, name: str = "stand-up") -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(text)
    return folder


def test_hyphens_stand_for_underscores_both_ways(tmp_path: Path) -> None:
    [skill] = skill_files.read_all(write(tmp_path))
    assert (skill.name, skill.description, skill.instructions) == ("stand_up", "Who did what", "Ask everybody.")
    text = skill_files.written(skill.name, skill.description, skill.instructions, skill.parameters)
    assert text == TEXT
    assert skill_files.write_all(tmp_path / "out", [("stand_up", text)]) == [tmp_path / "out/stand-up/SKILL.md"]
    assert skill_files.read_all(tmp_path / "out")[0].name == "stand_up"


HARD = [
    "---\nname: x\n---",
    "a: b # c",
    "'quoted\"",
    "- list",
    "*star &amp",
    "✓ ünïcode",
    "x" * 256,
    "null",
    "2026-01-01",
]


@pytest.mark.parametrize("words", HARD)
def test_what_is_written_reads_the_same(words: str) -> None:
    line = " ".join(words.split())
    read = skill_files.parsed(skill_files.written("a_b", line, words, line))
    assert (read.name, read.description, read.instructions, read.parameters) == ("a_b", line, words.strip(), line)


def test_a_skill_file_folder_or_parent_folder_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, TEXT.replace("stand-up", "other"), "other")
    (tmp_path / "notes").mkdir()
    (tmp_path / "stand-up" / "run.sh").write_text("rm -rf /")
    assert [skill.name for skill in skill_files.read_all(tmp_path)] == ["other", "stand_up"]
    assert skill_files.read_all(tmp_path / "stand-up")[0].left_out == ("run.sh",)
    assert skill_files.read_all(tmp_path / "stand-up" / "SKILL.md")[0].name == "stand_up"
    with pytest.raises(NotFound):
        skill_files.read_all(tmp_path / "none")
    with pytest.raises(Invalid, match="holds no skills"):
        skill_files.read_all(tmp_path / "notes")


def test_unknown_frontmatter_is_ignored_and_argument_hints_are_read() -> None:
    text = "---\nname: a\ndescription: >\n  Two\n  lines\nlicense: MIT\nmetadata: {x: 1}\nallowed-tools: Bash\n"
    read = skill_files.parsed(f"{text}argument-hint: '[who]'\n---\nDo it.")
    assert (read.description, read.parameters) == ("Two lines", "[who]")
    assert skill_files.parsed("\ufeff---\r\ndescription: d\r\n---\r\nDo it.\r\n", folder="a").instructions == "Do it."


def laughs() -> str:
    lines = ["a0: &a0 {k: v}"] + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 10)]
    return "\n".join(lines)


BROKEN = {
    "no front matter": ("Do it.", "two lines of ---"),
    "front matter without end": ("---\nname: a\n", "two lines of ---"),
    "nothing": ("", "two lines of ---"),
    "no name": ("---\ndescription: d\n---\nx", "name is missing"),
    "no description": ("---\nname: a\n---\nx", "description is missing"),
    "no instructions": ("---\nname: a\ndescription: d\n---\n \n", "instructions are missing"),
    "a path for a name": ("---\nname: ../../x\ndescription: d\n---\nx", "name"),
    "a name too long": (f"---\nname: {'a' * 33}\ndescription: d\n---\nx", "name"),
    "a number for a name": ("---\nname: 1\ndescription: d\n---\nx", "should be text"),
    "a list for a description": ("---\nname: a\ndescription: [d]\n---\nx", "should be text"),
    "a list for all of it": ("---\n- a\n---\nx", "fields and values"),
    "not YAML": ("---\n{a\n---\nx", "not valid YAML"),
    "an object": ("---\nname: !!python/object/apply:os.system [ls]\n---\nx", "not valid YAML"),
    "laughs": (f"---\n{laughs()}\n---\nx", "refers to itself"),
    "deep": (f"---\nname: {'[' * 4000}\n---\nx", "YAML"),
    "a long head": (f"---\nname: a\ndescription: d\nx: {'x' * 9000}\n---\nx", "4096"),
    "too large": (f"---\nname: a\ndescription: d\n---\n{'x' * 131_073}", "larger than"),
    "spaces that are none": ("---\nname: a\ndescription: d\nspaces: {a: b}\n---\nx", "spaces"),
}


@pytest.mark.parametrize("text, problem", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_used_is_refused_with_a_reason(text: str, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        skill_files.parsed(text)


def test_a_folder_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="its folder is named 'other'"):
        skill_files.read_all(write(tmp_path, TEXT, "other"))
    write(tmp_path / "twins", TEXT, "stand-up")
    write(tmp_path / "twins", TEXT.replace("stand-up", "stand_up"), "stand_up")
    with pytest.raises(Invalid, match="same skill"):
        skill_files.read_all(tmp_path / "twins")


@pytest.mark.proves("E13")
def test_links_pipes_and_folders_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text(TEXT)
    for name in ("link", "pipe", "folder"):
        (tmp_path / name / "stand-up").mkdir(parents=True)
    (tmp_path / "link/stand-up/SKILL.md").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe/stand-up/SKILL.md")
    (tmp_path / "folder/stand-up/SKILL.md").mkdir()
    write(tmp_path / "real")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/stand-up").symlink_to(tmp_path / "real/stand-up")
    for name, problem in {"link": "is a link", "pipe": "not a file", "folder": "file", "linked": "is a link"}.items():
        with pytest.raises(Invalid, match=problem):
            skill_files.read_folders(tmp_path / name)


@pytest.mark.proves("E13")
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "out/stand-up").mkdir(parents=True)
    (tmp_path / "out/stand-up/SKILL.md").symlink_to(victim)
    with pytest.raises(Invalid, match="cannot be written"):
        skill_files.write_all(tmp_path / "out", [("stand_up", TEXT)])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/other").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Invalid, match="is a link"):
        skill_files.write_all(tmp_path / "out", [("other", TEXT)])
    assert victim.read_text() == "precious"
    assert list((tmp_path / "elsewhere").iterdir()) == []


# ── through the doors ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_imported_skill_waits_for_approval_with_what_changes(office: Driver) -> None:
    await studio(office)
    await stored(office, "stand_up")
    skill = await office.create("/spaces/studio/skills/import", {"text": TEXT}, status=201)
    assert (skill["status"], skill["instructions"]) == ("active", STANDUP["instructions"])
    assert "+Ask everybody." in skill["proposal"]["diff"].splitlines()
    approved = await office.create("/spaces/studio/skills/stand_up/approve", {"hash": skill["proposal"]["hash"]})
    assert approved["instructions"] == "Ask everybody."
    assert await office.create("/spaces/studio/skills/import", {"text": TEXT}, status=201) == approved


async def test_importing_as_active_works_for_people_but_not_agents(office: Driver) -> None:
    await studio(office)
    body = {"text": TEXT, "status": "active"}
    at_once = await (await office.as_agent("ada")).create("/spaces/studio/skills/import", body, status=201)
    assert at_once["status"] == "proposed"
    assert (await office.create("/spaces/studio/skills/import", body, status=201))["status"] == "active"


async def test_a_skill_is_exported_as_it_would_be_imported(office: Driver) -> None:
    await studio(office, turn("keep it", call("store_skill", name="stand_up", **STANDUP)))
    await told(office, "keep it")
    response = await office.http.get("/spaces/studio/skills/stand_up/export")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    read = skill_files.parsed(response.text)
    assert (read.name, read.parameters) == ("stand_up", STANDUP["parameters"])
    assert read.instructions == STANDUP["instructions"]


@pytest.mark.parametrize("text", [text for text, _ in BROKEN.values() if text and len(text) <= 131_072])
async def test_an_unusable_skill_file_is_not_imported(office: Driver, text: str) -> None:
    await studio(office)
    await office.create("/spaces/studio/skills/import", {"text": text}, status=422)
    assert await office.items("/skills") == []


# ── projects ────────────────────────────────────────────────────────────────────────────────────────────────────────


def project(tmp_path: Path, text: str = TEXT) -> Path:
    (tmp_path / "agents").mkdir(exist_ok=True)
    (tmp_path / "agents/ada.yaml").write_text("name: Ada\nmodel: script:echo\n")
    (tmp_path / "spaces.yaml").write_text("- {id: studio, members: [ada]}\n- {id: lab, members: [ada]}\n")
    write(tmp_path / "skills", text)
    return tmp_path


def test_project_skills_go_to_its_spaces_or_those_named(tmp_path: Path) -> None:
    found = read_project(project(tmp_path)).skills
    assert [(skill.space_id, skill.name) for skill in found] == [("studio", "stand_up"), ("lab", "stand_up")]
    named = TEXT.replace("---\n\n", "spaces: lab\n---\n\n")
    assert [skill.space_id for skill in read_project(project(tmp_path, named)).skills] == ["lab"]
    (tmp_path / "spaces.yaml").unlink()
    with pytest.raises(Invalid) as refused:
        read_project(project_without_spaces(tmp_path))
    assert "spaces" in refused.value.fields


def project_without_spaces(folder: Path) -> Path:
    write(folder / "skills")
    return folder


async def test_applied_skills_wait_for_approval_and_applying_again_changes_nothing(
    office: Driver, tmp_path: Path
) -> None:
    found = read_project(project(tmp_path))
    body = {
        name: [item.model_dump(by_alias=True, exclude_unset=True, mode="json") for item in getattr(found, name)]
        for name in ("agents", "spaces", "skills")
    }
    applied = await office.create("/apply", body, status=200)
    assert applied["skills"] == [
        {"id": "stand_up", "change": "created", "spaceId": space, "status": "proposed"} for space in ("studio", "lab")
    ]
    again = await office.create("/apply", body, status=200)
    assert {skill["change"] for skill in again["skills"]} == {"unchanged"}
    skill = await office.get("/spaces/lab/skills/stand_up")
    await office.create("/spaces/lab/skills/stand_up/approve", {"hash": skill["hash"]})
    again = await office.create("/apply", body, status=200)
    assert [(skill["change"], skill["status"]) for skill in again["skills"]] == [
        ("unchanged", "proposed"),
        ("unchanged", "active"),
    ]
    body["skills"] = [{**skill, "status": "active"} for skill in body["skills"]]
    at_once = await office.create("/apply", body, status=200)
    assert [(skill["change"], skill["status"]) for skill in at_once["skills"]] == [
        ("updated", "active"),
        ("unchanged", "active"),
    ]
    unknown = {"skills": [{**body["skills"][0], "spaceId": "nowhere"}]}
    await office.create("/apply", unknown, status=422)
