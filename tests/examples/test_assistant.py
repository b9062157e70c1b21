"""examples/assistant does what its README says: tasks by cron and once, and groups that keep to themselves."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bullpen.client import Bullpen
from tests.cli.processes import output, serving
from tests.cli.rooms import calm, inside, tell

ASSISTANT = Path(__file__).parents[2] / "examples" / "assistant"

# Told in this order: the later ones are about the earlier.
STORIES: list[tuple[str, str, dict[str, list[str]]]] = [
    ("home", "brief us every morning", {"home": [r"Every morning at eight, then\. .*T08:00:00\+0[12]:00"]}),
    ("family", "@Andy remind us of the presents", {"family": [r"I will remind you: 2035-12-24T17:00:00\+01:00"]}),
    ("family", "what is for dinner?", {}),
    ("home", "what is planned?", {"home": [r"Planned: The presents! Give the morning briefing\."]}),
    ("family", "@Andy what is planned?", {"family": [r"Planned: The presents! "]}),
    ("home", "tell the family about dinner", {"family": [r"Dinner is at seven\."]}),
    ("family", "@Andy tell home about the surprise", {"family": [r"I cannot\. .* cannot use .* from here\."]}),
    ("family", "@Andy add the neighbours", {"family": [r"Registered: Denied: .*'register_group'.*"]}),
    ("family", "/standup about the garden", {"family": [r"Stand-up! One line each: .* about the garden"]}),
    ("home", "add the neighbours", {"home": [r"Registered: neighbours"]}),
]


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("assistant") / "data"
    with serving(folder, "--demo", "assistant"):
        yield folder


def test_the_readme_promises_what_is_tested_here() -> None:
    typed = re.findall(r"`(bullpen send [^`]*)`", (ASSISTANT / "README.md").read_text())
    assert [tuple(shlex.split(line)[2:]) for line in typed] == [(space, said) for space, said, _ in STORIES]


@pytest.mark.proves("S2-05", "S2-06", "S2-30")
async def test_andy_does_what_the_readme_says_and_fires_his_tasks(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        for space, said, expected in STORIES:
            seen = await tell(bp, space, said)
            assert seen.keys() == expected.keys(), (said, seen)
            for where, lines in expected.items():
                assert len(seen[where]) == len(lines), (said, seen)
                assert all(re.fullmatch(f"andy: {line}", seen[where][n]) for n, line in enumerate(lines)), (said, seen)
        assert await fired(bp, "home") == "Good morning!"
        assert await fired(bp, "family") == "Reminder: The presents!"
    listed = output(demo_data, "groups")
    assert all(word in listed for word in ("home", "(main)", "family-chat", "@Andy", "tg:-1001234567890"))
    assert "Europe/Berlin" in output(demo_data, "tasks")


async def fired(bp: Bullpen, space: str) -> str:
    """The first words of what the space's task says when it is run."""
    [task] = await bp.tasks.list(space=space)
    await bp.tasks.run(task.id)
    await calm(bp)
    message = list(await bp.spaces(space).messages(limit=1))[-1]
    return message.text[:23] if message.text.startswith("Reminder") else message.text[:13]
