"""examples/office does what its README says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bullpen.agents.files import read_project
from bullpen.client import Bullpen
from tests.cli.processes import serving
from tests.cli.rooms import Story, calm, inside, tell

OFFICE = Path(__file__).parents[2] / "examples" / "office"
SIX = ["send_message", "react_to_message", "do_nothing", "update_memory", "search_memory", "store_memory"]
STOPPED = "system: The agents have answered each other 4 times in a row and stop here. Say something to go on."

# What a person says, and what each space sees of it. Spaces do not wait for each other, so order is theirs alone.
STORIES: Mapping[tuple[str, str], Story] = {
    ("general", "hello everyone"): {
        "general": [
            "mira: Good morning! The kettle is on, and the book fair wants its poster by Friday.",
            "otto 👋",
            "pia is silent",
            "wren 🌤️",
        ],
    },
    ("general", "can we move the deadline?"): {
        "general": [
            "mira: Let me ask Otto. He guards the calendar.",
            "otto is silent",
            "pia is silent",
            "wren is silent",
        ],
        "dm-mira-otto": [
            "mira: Otto, the poster wants longer. Two more days?",
            "otto: One day. The printer is booked for Friday.",
            "mira: A day and a half, and I tell the client myself.",
            "otto: Thirty hours, and you bring pastries.",
            "the chain stops",
            STOPPED,
        ],
    },
    ("general", "anyone for lunch?"): {
        "general": ["mira is silent", "otto is silent", "pia is silent", "wren 🥟"],
        "dm-pia-wren": ["wren: Dumplings at one?", "pia: At one. Your turn to pay.", "wren is silent"],
    },
    ("general", "set it in Comic Sans"): {
        "general": ["mira is silent", "otto is silent", "pia: No. And please wash your keyboard.", "wren is silent"],
    },
    ("general", "remember: the client hates beige"): {
        "general": ["mira is silent", "otto is silent", "pia is silent", "wren 📌"],
    },
    ("general", "Wren, what do you remember about the client?"): {
        "general": [
            "mira is silent",
            "otto is silent",
            "pia is silent",
            "wren: My notebook on the client: “remember: the client hates beige”",
        ],
    },
    ("studio", "@pia is the kerning right?"): {
        "studio": ["pia: Space it until it hurts, then take one unit back."],
    },
    ("leads", "@otto what is left of the budget?"): {
        "leads": ["otto: Book fair poster: 1,900 agreed, 740 spent, so 1,160 left. Before pastries."],
    },
}
BRIEF = ("general", "we need a poster for the book fair")


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("office") / "data"
    with serving(folder, "--demo", "office"):
        yield folder


def test_the_readme_promises_what_is_tested_here() -> None:
    typed = re.findall(r"`(bullpen send [^`]*)`", (OFFICE / "README.md").read_text())
    assert {tuple(shlex.split(line)[2:]) for line in typed} == {*STORIES, BRIEF}


SEVENTH = {"wren": ["choose"], "otto": ["read_file"]}


def test_everyone_has_the_six_tools_a_character_and_a_past() -> None:
    agents = read_project(OFFICE).agents
    assert [agent.id for agent in agents] == ["mira", "otto", "pia", "wren"]
    for agent in agents:
        assert agent.tools == [*SIX, *SEVENTH.get(agent.id or "", [])]
        assert {"persona", "mood", "relationships"} <= set(agent.blocks)
        assert len(agent.instructions) > 200


@pytest.mark.parametrize("said", STORIES, ids=lambda said: said[1])
async def test_the_office_answers_as_its_readme_says(demo_data: Path, said: tuple[str, str]) -> None:
    async with inside(demo_data) as bp:
        if said[1].startswith("Wren, what"):
            await tell(bp, "general", "remember: the client hates beige")
        assert await tell(bp, *said) == STORIES[said]


async def test_a_brief_wakes_those_whom_mira_names_and_nobody_else(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        story = await tell(bp, *BRIEF)
    assert set(story) == {"general"}
    # Wren and Pia may read the brief and Mira's words in one run or in two: silence about the brief is no promise.
    assert [line for line in story["general"] if not line.endswith("is silent")] == [
        "mira: Lovely brief. @wren, can you sketch it? @pia, which letters would you use?",
        "pia: A wide grotesque with soft shoulders, cut by hand. Nobody says Papyrus.",
        "wren ✏️",
        "wren: One hour and a soft pencil.",
    ]
    assert story["general"].count("otto is silent") == 1


async def test_otto_reads_a_table_that_somebody_attaches(demo_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("item,cost\npaper,420\nink,320\n")
    async with inside(demo_data) as bp:
        file = await bp.files.upload(path)
        story = await tell(bp, "general", "Otto, what is in this file?", attachments=[file])
    [said] = [line for line in story["general"] if line.startswith("otto: ")]
    assert said.startswith("otto: costs.csv: 2 rows, 2 columns.")
    assert "| item | cost |\n| paper | 420 |\n| ink | 320 |" in said
    assert {line for line in story["general"] if line != said} == {
        f"{who} is silent" for who in ("mira", "pia", "wren")
    }


async def test_a_wounded_mood_is_kept(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        await tell(bp, "studio", "@pia shall we use Papyrus?")
        (run, *_) = await bp.runs.list(agent="pia", space="studio")
        calls = [entry for entry in await bp.runs.messages(run.id) if entry.type == "tool_call_message"]
    assert [(call.tool_name, call.args["label"]) for call in calls if call.tool_name == "update_memory"] == [
        ("update_memory", "mood")
    ]


async def test_the_demos_dms_belong_to_agents_and_owners_see_them(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        kinds = {space.id: (space.kind, space.private, len(space.members)) for space in await bp.spaces.list()}
    assert kinds == {
        "general": ("channel", False, 5),
        "studio": ("channel", False, 4),
        "leads": ("channel", True, 3),
        "dm-mira-otto": ("dm", True, 2),
        "dm-pia-wren": ("dm", True, 2),
    }


async def test_ten_quick_greetings_get_at_most_ten_good_mornings(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        before = await mornings(bp)
        for _ in range(10):
            await bp.spaces("studio").send("@mira hello")
        await calm(bp)
        assert 1 <= await mornings(bp) - before <= 10


async def mornings(bp: Bullpen) -> int:
    messages = await bp.spaces("studio").messages(limit=200)
    return sum(message.text.startswith("Good morning!") for message in messages)
