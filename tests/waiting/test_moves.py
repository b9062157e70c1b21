"""The moves of a pending call that somebody makes from outside: cancelled, stopped, or left behind by its agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from bullpen.tools import rows
from bullpen.tools.rules import PendingState, pending_state
from tests.driver import Driver, Offices
from tests.path.scripts import Json, call, step
from tests.waits import until

Deed = Literal["cancel", "stop", "delete"]


@dataclass(frozen=True)
class Story:
    """A call that was answered or not, what is done then, and where it stands afterwards."""

    is_async: bool
    approval: bool
    answered: bool
    deed: Deed
    end: PendingState


STORIES = [
    Story(False, False, False, "cancel", PendingState.ANSWER_CANCELLED),
    Story(True, False, False, "cancel", PendingState.ANSWER_CANCELLED),
    Story(False, False, False, "delete", PendingState.ANSWER_CANCELLED),
    Story(True, False, False, "delete", PendingState.ANSWER_CANCELLED),
    Story(False, False, False, "stop", PendingState.EXPECTED),
    Story(False, False, True, "stop", PendingState.ANSWER_SENT),
    Story(False, True, False, "cancel", PendingState.CANCELLED),
    Story(True, True, False, "cancel", PendingState.CANCELLED),
    Story(False, True, False, "stop", PendingState.CANCELLED),
    Story(False, True, True, "stop", PendingState.DECISION_READ),
    Story(False, True, False, "delete", PendingState.CANCELLED),
    Story(True, True, False, "delete", PendingState.CANCELLED),
    Story(True, True, True, "delete", PendingState.QUEUED_CANCELLED),
]


async def ask(office: Driver, story: Story) -> Json:
    """Ada has made the call; she is paused, so that nothing goes on by itself."""
    config = {
        "name": "fetch",
        "description": "Fetch something",
        "inputSchema": {"type": "object"},
        "executionType": "external",
        "isAsync": story.is_async,
        "timeout": 3_600_000,
    }
    await office.create("/tools", config)
    policy = {"fetch": "ask"} if story.approval else {}
    await office.agent("ada", steps=[step(call("fetch"))], tools=["fetch"], policy=policy)
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "go")
    asked: Json = (await office.event("tool.requires_action"))["call"]
    if story.is_async:
        await office.run_finished("ada")
    await office.create("/agents/ada/pause", {})
    return asked


async def answer(office: Driver, story: Story, call_id: str) -> None:
    result: Any = {"approved": True} if story.approval else "found"
    await office.ask("POST", f"/pending/{call_id}/resolve", json={"result": result}, status=200)


async def cancel(office: Driver, asked: Json) -> None:
    await office.ask("POST", f"/pending/{asked['callId']}/cancel", status=200)


async def stop(office: Driver, asked: Json) -> None:
    await office.ask("POST", f"/runs/{asked['runId']}/cancel")
    await office.run_finished("ada")


async def delete(office: Driver, asked: Json) -> None:
    await office.ask("DELETE", "/agents/ada", status=204)


DEEDS: dict[Deed, Callable[[Driver, Json], Awaitable[None]]] = {"cancel": cancel, "stop": stop, "delete": delete}


def describe(story: Story) -> str:
    words = [
        "async" if story.is_async else "waited for",
        "approval" if story.approval else "answer",
        "answered" if story.answered else "open",
        story.deed,
    ]
    return " ".join(words)


@pytest.mark.parametrize("story", STORIES, ids=describe)
async def test_a_call_ends_where_the_table_says(offices: Offices, story: Story) -> None:
    office = await offices.open()
    asked = await ask(office, story)
    if story.answered:
        await answer(office, story, asked["callId"])
    await DEEDS[story.deed](office, asked)

    async def arrived() -> bool:
        found = await office.office.store.read(lambda tx: rows.select_pending(tx, asked["callId"]))
        assert found is not None
        return pending_state(found) is story.end

    await until(arrived)
