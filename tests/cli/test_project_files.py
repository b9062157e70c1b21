"""What `bullpen apply` reads: files in, a checked project or a sentence out."""

from __future__ import annotations

from pathlib import Path

import pytest

from bullpen.agents.files import MAX_BYTES, Project, read_project
from bullpen.errors import Invalid, NotFound

TOOL = "description: Ask\ninputSchema: {type: object}\nexecutionType: space\n"
AGENT = "name: Ada\nmodel: script:x\n"


def folder(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return tmp_path


def refusal(path: Path) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read_project(path)
    return caught.value


def ids(project: Project) -> tuple[list[str | None], list[str | None]]:
    return [agent.id for agent in project.agents], [space.id for space in project.spaces]


def test_a_folder_yields_agents_named_by_file_and_its_spaces(tmp_path: Path) -> None:
    project = read_project(
        folder(
            tmp_path,
            {
                "agents/ada.yaml": AGENT,
                "agents/ben.yml": "id: benjamin\n" + AGENT,
                "agents/cleo.json": '{"name": "Cleo", "model": "script:x", "maxSteps": 1}'.replace(
                    ', "maxSteps": 1', ""
                ),
                "agents/dora.md": "---\n" + AGENT + "---\n\nYou are Dora.\n\n---\nStill you.\n",
                "agents/README.md": "not an agent",
                "agents/.hidden.yaml": "[",
                "spaces.yaml": "- {id: general, members: [ada]}\n- {kind: dm, members: [benjamin, ada]}\n",
            },
        )
    )
    assert ids(project) == (["ada", "benjamin", "cleo", "dora"], ["general", "dm-ada-benjamin"])
    assert project.agents[3].instructions == "You are Dora.\n\n---\nStill you."


def test_a_single_file_holds_agents_and_spaces(tmp_path: Path) -> None:
    file = tmp_path / "office.json"
    file.write_text('{"agents": [{"id": "ada", "name": "Ada", "model": "script:x"}], "spaces": [{"id": "general"}]}')
    assert ids(read_project(file)) == (["ada"], ["general"])


def test_a_single_file_may_be_one_agent(tmp_path: Path) -> None:
    (tmp_path / "ada.yaml").write_text(AGENT)
    assert ids(read_project(tmp_path / "ada.yaml")) == (["ada"], [])


def test_tools_are_named_by_their_files_too(tmp_path: Path) -> None:
    path = folder(
        tmp_path,
        {
            "tools/confirmAction.yaml": TOOL,
            "tools/other.yml": "name: showChart\n" + TOOL,
            "tools/third.json": '{"description": "x", "input_schema": {}, "execution_type": "external"}',
            "tools/README.md": "not a tool",
        },
    )
    names = ["confirmAction", "showChart", "third"]
    assert [tool.name for tool in read_project(path).tools] == names
    (tmp_path / "one.yaml").write_text("tools: [{name: one, " + ", ".join(TOOL.strip().split("\n")) + "}]")
    assert [tool.name for tool in read_project(tmp_path / "one.yaml").tools] == ["one"]
    assert [tool.name for tool in read_project(path / "tools" / "confirmAction.yaml").tools] == ["confirmAction"]


@pytest.mark.parametrize(
    "files, words",
    [
        ({"tools/a.yaml": TOOL + "display: {}\n"}, "tools/a.yaml cannot be used"),
        ({"tools/a.yaml": TOOL, "tools/b.yaml": "name: a\n" + TOOL}, "have the same name, 'a'"),
        ({"tools/a.py": "", "spaces.yaml": "[]"}, "tools are written in files that end in .json, .yaml, .yml"),
        ({"tools/a.md": "---\n" + TOOL + "---\nx"}, "tools are written in files that end in"),
    ],
)
def test_a_tool_that_cannot_be_used_is_named(tmp_path: Path, files: dict[str, str], words: str) -> None:
    assert words in refusal(folder(tmp_path, files)).message


def test_one_setting_runs_every_agent_on_another_model(tmp_path: Path) -> None:
    path = folder(tmp_path, {"agents/ada.yaml": AGENT, "agents/ben.yaml": "name: Ben\n"})
    assert [agent.model for agent in read_project(path, model="openai:x").agents] == ["openai:x", "openai:x"]


def test_an_agent_file_sets_only_the_fields_it_names(tmp_path: Path) -> None:
    """So that the server chooses the rest, and applying again finds nothing changed."""
    (agent,) = read_project(folder(tmp_path, {"agents/ada.yaml": AGENT})).agents
    assert agent.model_dump(exclude_unset=True) == {"id": "ada", "name": "Ada", "model": "script:x"}


def test_a_missing_project_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file or folder"):
        read_project(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content, field, problem",
    [
        ("model: script:x\n", "name", "is missing"),
        (AGENT + "colour: red\n", "colour", "is not a known field"),
        (AGENT + "limits: {maxSteps: 0}\n", "limits.maxSteps", "greater than or equal to 1"),
        (AGENT + "tools: send_message\n", "tools", "valid list"),
        (AGENT + "id: Ada!\n", "id", "lowercase"),
        (AGENT + "id: dm-x\n", "id", "not starting with dm-"),
        (AGENT + "blocks: {1: x}\n", "blocks.1", "in quotes"),
        (AGENT + "description: 2026-01-01\n", "description", "a date; put it in quotes"),
        (AGENT + "description: .nan\n", "description", "not a finite number"),
        (AGENT + 'description: "\\ud800"\n', "description", "surrogate"),
    ],
)
def test_a_complaint_names_the_file_and_the_field(tmp_path: Path, content: str, field: str, problem: str) -> None:
    error = refusal(folder(tmp_path, {"agents/ada.yaml": content}))
    assert "agents/ada.yaml" in error.message
    assert problem in error.fields[field]


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("office.yaml", "agents: [", "not valid YAML"),
        ("office.yaml", "!!python/object/apply:os.system [id]", "not valid YAML"),
        ("office.json", "{", "not valid JSON"),
        ("office.yaml", "[" * 5_000, "not valid YAML|nested too deeply"),
        ("office.json", "[" * 100_000, "nested too deeply|not valid JSON"),
        ("office.yaml", "a: &a [*a]\nagents: *a\n", "too many values, or nests them too deeply"),
        ("office.yaml", "hello", "holds no project"),
        ("office.yaml", "", "holds no project"),
        ("office.yaml", "agents: 1", "should be a list"),
        ("office.yaml", "agents: [1]", "should be a mapping"),
        ("office.yaml", "agents: []\nskills: []", "nothing else"),
        ("office.yaml", "spaces: [{name: General}]", "cannot be used"),
        ("office.yaml", "spaces: [{kind: dm, members: [ada]}]", "cannot be used"),
        ("office.yaml", "spaces: [{kind: dm, id: dm-x-y, members: [ada, ben]}]", "cannot be used"),
        ("office.yaml", "spaces: [{id: a}, {id: a}]", "have the same id"),
        ("ada.md", "just text", "should begin with YAML"),
        ("ada.md", "---\nname: Ada\ninstructions: x\n---\ny", "keep one"),
        ("ada.txt", AGENT, "ends in .json, .md, .yaml, .yml"),
        ("office.yaml", "x" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(tmp_path: Path, name: str, content: str, words: str) -> None:
    (tmp_path / name).write_text(content)
    error = refusal(tmp_path / name)
    assert name in error.message
    with pytest.raises(Invalid, match=words):
        raise error


def test_a_yaml_alias_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    assert "too many values" in refusal(tmp_path / "bomb.yaml").message


@pytest.mark.proves("E2")
@pytest.mark.parametrize("link", ["agents/ada.yaml", "spaces.yaml", "tools/ask.yaml", "agents", "tools"])
def test_a_link_out_of_a_project_is_not_followed(tmp_path: Path, link: str) -> None:
    outside = folder(tmp_path / "outside", {"ada.yaml": AGENT, "ask.yaml": TOOL, "spaces.yaml": "[{id: hall}]"})
    inside = folder(tmp_path / "project", {"agents/bo.yaml": AGENT} if link != "agents" else {"x": ""})
    (inside / link).parent.mkdir(exist_ok=True)
    (inside / link).symlink_to(outside / Path(link).name if "." in link else outside)
    assert "links are not followed" in refusal(inside).message


def test_a_link_inside_a_project_is_followed(tmp_path: Path) -> None:
    """As volumes of containers have them."""
    inside = folder(tmp_path, {"..data/ada.yaml": AGENT, "agents/bo.yaml": AGENT})
    (inside / "agents" / "ada.yaml").symlink_to("../..data/ada.yaml")
    assert ids(read_project(inside))[0] == ["ada", "bo"]


def test_two_agent_files_with_one_id_are_both_named(tmp_path: Path) -> None:
    error = refusal(folder(tmp_path, {"agents/ada.yaml": AGENT, "agents/ben.yaml": "id: ada\n" + AGENT}))
    assert "agents/ada.yaml and agents/ben.yaml" in error.message


def test_an_agent_file_of_unknown_type_is_refused_not_skipped(tmp_path: Path) -> None:
    assert "ada.py cannot be read" in refusal(folder(tmp_path, {"agents/ada.py": "", "spaces.yaml": "[]"})).message


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ada.yaml").write_bytes(b"name: \xff\xfe")
    assert "not UTF-8" in refusal(tmp_path / "ada.yaml").message
