"""examples/companion does what its README says: none, one or several messages, and silence with a reason."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bullpen.client import Bullpen
from bullpen.wire import Run, RunMessage
from tests.cli.processes import serving
from tests.cli.rooms import inside, tell

COMPANION = Path(__file__).parents[2] / "examples" / "companion"

STORIES: Mapping[str, list[str]] = {
    "note to self: buy bread": ["fern is silent"],
    "is it too late?": ["fern: Good question. Ask it once more, but smaller."],
    "help me plan my week": [
        "fern: First the thing with a date: what is due, and when?",
        "fern: Second, put the hard part into tomorrow morning and guard that hour.",
        "fern: Third, decide now what you will not do. I will not mention it again.",
    ],
    "tell me everything": [
        "fern: One. Water.",
        "fern: Two. Light.",
        "fern: Three. A door that closes.",
        "fern: Four. A list.",
        "fern: Five. A shorter list.",
    ],
    "thanks": ["fern 🌱"],
    "what do you think?": ["fern: I think you already know. Say it and see whether I object."],
}


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("companion") / "data"
    with serving(folder, "--demo", "companion"):
        yield folder


async def last_run(bp: Bullpen) -> tuple[Run, list[RunMessage]]:
    (run, *_) = await bp.runs.list(agent="fern", limit=1)
    return run, list(await bp.runs.messages(run.id))


def test_the_readme_promises_what_is_tested_here() -> None:
    typed = re.findall(r"`(bullpen send [^`]*)`", (COMPANION / "README.md").read_text())
    assert [shlex.split(line)[3] for line in typed] == list(STORIES)


@pytest.mark.proves("S1-01", "S1-08")
@pytest.mark.parametrize("said", STORIES)
async def test_fern_says_nothing_one_thing_or_several(demo_data: Path, said: str) -> None:
    async with inside(demo_data) as bp:
        assert await tell(bp, "desk", said) == {"desk": STORIES[said]}
        run, _ = await last_run(bp)
    assert run.status == "completed"
    assert len(run.message_ids) == sum(line.startswith("fern: ") for line in STORIES[said])


@pytest.mark.proves("S1-10", "S1-14")
async def test_silence_is_an_outcome_with_a_reason(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        await tell(bp, "desk", "note to self: buy bread")
        run, _ = await last_run(bp)
    assert (run.status, run.outcome, run.stop_reason) == ("completed", "silent", "skipped")
    assert run.silence_reason is not None
    assert "They are thinking aloud" in run.silence_reason


async def test_thoughts_between_messages_stay_in_the_journal(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        await tell(bp, "desk", "help me plan my week")
        _, journal = await last_run(bp)
    thoughts = [entry.content for entry in journal if entry.type == "assistant_message" and entry.content]
    assert thoughts == [
        "A plan has an order. I start with what cannot move.",
        "Then energy, because mornings are worth more than afternoons.",
        "And an ending, or it will follow them into the evening.",
    ]


@pytest.mark.proves("S1-12")
async def test_the_sixth_message_is_refused_and_the_run_goes_on(demo_data: Path) -> None:
    async with inside(demo_data) as bp:
        await tell(bp, "desk", "tell me everything")
        run, journal = await last_run(bp)
    returns = [entry for entry in journal if entry.type == "tool_return_message"]
    assert [bool(entry.is_error) for entry in returns] == [False] * 5 + [True]
    assert "5" in str(returns[-1].result)
    assert run.outcome == "spoke"
