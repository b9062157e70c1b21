"""examples/gateway does what its README says, with a server, a backend and a weather service in their own processes."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bullpen.agents.files import read_project
from bullpen.client import Bullpen
from bullpen.wire import Message
from tests.cli.processes import Lines, environment, output, serving
from tests.cli.rooms import inside
from tests.waits import BOUND, until

GATEWAY = Path(__file__).parents[2] / "examples" / "gateway"
HOTEL = "find me a hotel in Tokyo"
WEATHER = "how is the weather in Tokyo?"
COST = "what will it cost?"
PROJECTS = "which projects are active?"
ARCHIVE = "look through the archive"
REMIND = "remind me of the train"
LATE = "What I looked up has come after all. Ask me about it."


@contextmanager
def program(data: Path, file: str, *args: str, **more: str) -> Iterator[Lines]:
    """One of the example's own programs, and what it says."""
    process = subprocess.Popen(
        [sys.executable, str(GATEWAY / file), *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=data.parent,
        env=environment(data, **more),
    )
    assert process.stdout is not None
    said = Lines(process.stdout)
    try:
        yield said
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.wait(BOUND)
        said.end()


@dataclass
class Stage:
    data: Path
    backend: dict[str, str]  # the settings of the program that answers


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("gateway") / "data"
    with program(data, "weather.py", "0") as weather:
        url = weather.wait_for("The weather is on ").split()[-1]
        with serving(data, "--demo", "gateway", BULLPEN_EGRESS__LISTED=f"gateway:fetchWeather={url}") as server:
            asyncio.run(_at(data, url))
            output(data, "token", "create", "--name", "Olga", "--owner")
            token = output(data, "token", "create", "--name", "backend", "--tools", "fetchExternalData")
            yield Stage(data, {"BULLPEN_URL": server.url, "BULLPEN_TOKEN": token})


async def _at(data: Path, weather: str) -> None:
    """The weather is on a port of its own here; many tests run at once."""
    async with inside(data) as bp:
        await bp.tools.update("fetchWeather", execution={"url": f"{weather}/current", "method": "GET"})


@pytest.fixture
async def bp(stage: Stage) -> AsyncIterator[Bullpen]:
    async with inside(stage.data) as bp:
        yield bp


async def said(bp: Bullpen, space: str, after: int, count: int) -> list[Message]:
    """What the agents said and showed after this message, once there are so many."""

    async def look() -> list[Message] | None:
        found = [m for m in await bp.spaces(space).messages(after=after) if m.author_kind == "agent"]
        return found if len(found) >= count else None

    return await until(look) or []


def test_the_readme_promises_what_is_tested_here() -> None:
    typed = re.findall(r"`(bullpen send [^`]*)`", (GATEWAY / "README.md").read_text())
    assert {tuple(shlex.split(line)[2:]) for line in typed} == {
        ("travel", HOTEL),
        ("travel", WEATHER),
        ("travel", COST),
        ("projects", PROJECTS),
        ("projects", ARCHIVE),
        ("calendar", REMIND),
    }


def test_there_is_a_tool_of_each_kind() -> None:
    kinds = {tool.name: (tool.execution_type, tool.is_async) for tool in read_project(GATEWAY).tools}
    assert kinds == {
        "confirmAction": ("space", True),
        "displayChart": ("internal", False),
        "fetchExternalData": ("external", False),
        "fetchWeather": ("gateway", False),
    }


@pytest.mark.proves("S4-05", "S4-09", "S4-33")
async def test_a_card_waits_for_a_person_while_the_agent_continues(stage: Stage, bp: Bullpen) -> None:
    sent = await bp.spaces("travel").send(HOTEL)
    card, words = await said(bp, "travel", sent.seq, 2)
    assert (card.type, card.status, card.metadata["toolName"]) == ("tool", "requires_action", "confirmAction")
    assert words.text.startswith("I found a room and have asked you")
    (waiting,) = [call for call in await bp.pending.list() if call.tool_name == "confirmAction"]
    assert output(stage.data, "resolve", waiting.call_id, '{"confirmed": true}') == "accepted"
    later = (await said(bp, "travel", words.seq, 1))[0]
    assert later.text == "Thank you. I have your answer, and go on with the booking."
    shown = await bp.messages(card.id).get()
    assert (shown.status, shown.metadata["result"]) == ("complete", {"confirmed": True})


@pytest.mark.proves("S4-05")
async def test_a_url_is_asked_and_its_answer_is_the_result(bp: Bullpen) -> None:
    sent = await bp.spaces("travel").send(WEATHER)
    card, words = await said(bp, "travel", sent.seq, 2)
    assert words.text == "Tokyo: 23 degrees and rainy."
    assert card.metadata["result"] == {"city": "Tokyo", "degrees": 23, "sky": "rainy"}


@pytest.mark.proves("S4-13", "S4-18")
async def test_a_chart_is_shown_with_its_data(bp: Bullpen) -> None:
    sent = await bp.spaces("travel").send(COST)
    card, words = await said(bp, "travel", sent.seq, 2)
    assert (card.type, card.status) == ("tool", "complete")
    assert card.metadata["args"]["bars"][0] == {"label": "Flight", "value": 540}
    assert card.metadata["result"] == {"success": True, "args": card.metadata["args"]}
    assert words.text == "There it is. The flight is the most of it."


@contextmanager
def backend(stage: Stage) -> Iterator[None]:
    with program(stage.data, "backend.py", **stage.backend) as started:
        started.wait_for("serving fetchExternalData")
        yield


@pytest.mark.proves("S4-05", "S4-10", "S4-42")
async def test_a_backend_in_another_process_answers_within_the_run(stage: Stage, bp: Bullpen) -> None:
    with backend(stage):
        await bp.tools.update("fetchExternalData", timeout=60_000)  # on a busy machine, 3 seconds may be too few
        sent = await bp.spaces("projects").send(PROJECTS)
        (words,) = await said(bp, "projects", sent.seq, 1)
        await bp.tools.update("fetchExternalData", timeout=3_000)
    assert words.text == "There are 3: Lighthouse, Paper Moon, Third Door."
    assert await deliveries(bp, "active projects") == ["inline"]


@pytest.mark.proves("S4-11", "S4-15", "S4-16")
async def test_a_result_slower_than_the_agents_wait_arrives_later(stage: Stage, bp: Bullpen) -> None:
    with backend(stage):
        sent = await bp.spaces("projects").send(ARCHIVE)
        words, later = await said(bp, "projects", sent.seq, 2)
    assert "(Tool timed out after 3000ms)" in words.text
    assert later.text == LATE
    assert await deliveries(bp, "the whole archive") == ["inbox"]


@pytest.mark.proves("I13", "S4-16")
async def test_a_returning_backend_answers_the_calls_it_finds(stage: Stage, bp: Bullpen) -> None:
    before = len(await deliveries(bp, "active projects"))
    sent = await bp.spaces("projects").send(PROJECTS)
    await said(bp, "projects", sent.seq, 1)  # nobody was there, and she has said something without a result
    with backend(stage):
        _, later = await said(bp, "projects", sent.seq, 2)
    assert later.text == LATE
    assert (await deliveries(bp, "active projects"))[: -before or None] == ["inbox"]


async def deliveries(bp: Bullpen, query: str) -> list[str | None]:
    """How the answers to this query have reached the agent, newest first."""
    found = await bp.pending.list(status="resolved", kind="external", limit=200)
    return [call.delivered_via for call in found if call.args == {"query": query}]


async def test_a_plan_wakes_the_agent_that_keeps_the_calendar(bp: Bullpen) -> None:
    sent = await bp.spaces("calendar").send(REMIND)
    planned, due = await said(bp, "calendar", sent.seq, 2)
    assert planned.text.startswith("I have a plan for it, due at 20")
    assert due.text == "It is time: leave for the station."
    [memory] = await bp.memories.list("lund")
    assert (memory.key, memory.value) == ("seat", "by the window")
    [plan] = await bp.plans.list("lund", status="completed")
    assert plan.id == "station"
