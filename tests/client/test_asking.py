"""`ask` posts a message and waits for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bullpen.client import Bullpen, NoReply
from tests.waits import BOUND

SPEAKS = {"calls": [{"tool": "send_message", "args": {"text": "Up by a tenth."}}]}
SCRIPT: dict[str, Any] = {
    "provider": "script",
    "turns": [
        {"when": "slow", "steps": [SPEAKS, {"delayMs": 60_000}]},
        {"when": "hush", "steps": [{"calls": [{"tool": "skip", "args": {"reason": "not for me"}}]}]},
        {"steps": [SPEAKS, {"calls": [{"tool": "send_message", "args": {"text": "That is all."}}]}]},
    ],
}


@pytest.fixture
async def bp(door: tuple[str, str]) -> AsyncIterator[Bullpen]:
    async with asyncio.timeout(BOUND), Bullpen(*door) as connected:
        yield connected


async def room(bp: Bullpen, name: str, *agents: str, **more: Any) -> str:
    for agent in agents:
        await bp.agents.create(id=agent, name=agent.title(), model=SCRIPT, tools=["messaging"], **more)
    return (await bp.spaces.create(id=name, name=name, members=list(agents), wake={"people": "mention"})).id


async def test_the_answer_of_an_agent_is_a_reply(bp: Bullpen) -> None:
    space = await room(bp, "asking", "asked")
    reply = await bp.spaces(space).ask("@asked how was Q3?", timeout=BOUND)
    assert [message.text for message in reply.messages] == ["Up by a tenth.", "That is all."]
    assert reply.text == "Up by a tenth.\n\nThat is all."
    assert reply.run is not None
    assert (reply.run.status, reply.run.trigger.message_id, reply.reason) == ("completed", reply.message.id, None)


async def test_all_agents_that_are_asked_belong_to_the_reply(bp: Bullpen) -> None:
    space = await room(bp, "asking_two", "first_of_two", "second_of_two")
    reply = await bp.spaces(space).ask("@first_of_two @second_of_two how was Q3?", timeout=BOUND)
    assert [message.author_id for message in reply.messages] == ["first_of_two"] * 2 + ["second_of_two"] * 2
    assert reply.run is not None
    assert reply.run.agent_id == "first_of_two"


async def test_a_question_to_nobody_says_why(bp: Bullpen) -> None:
    space = await room(bp, "asking_nobody", "unmentioned")
    reply = await bp.spaces(space).ask("how was Q3?", timeout=BOUND)
    assert (reply.messages, reply.run) == ([], None)
    assert reply.reason is not None
    assert "Unmentioned" in reply.reason
    assert "mention" in reply.reason


async def test_a_silent_agent_gives_its_reason(bp: Bullpen) -> None:
    space = await room(bp, "asking_hush", "quiet_one")
    reply = await bp.spaces(space).ask("@quiet_one hush", timeout=BOUND)
    assert reply.text == ""
    assert reply.reason == "Quiet_One: chose not to answer (not for me)."


async def test_a_paused_agent_keeps_nobody_waiting(bp: Bullpen) -> None:
    space = await room(bp, "asking_paused", "paused_one")
    await bp.agents.pause("paused_one")
    reply = await bp.spaces(space).ask("@paused_one how was Q3?", timeout=BOUND)
    assert reply.run is None
    assert "paused" in (reply.reason or "")


async def test_a_call_that_waits_for_a_person_ends_the_wait(bp: Bullpen) -> None:
    space = await room(bp, "asking_leave", "careful", policy={"send_message": "ask"})
    reply = await bp.spaces(space).ask("@careful how was Q3?", timeout=BOUND)
    assert [call.tool_name for call in reply.pending] == ["send_message"]
    await bp.pending.approve(reply.pending[0].call_id)


async def test_an_answer_that_takes_too_long_is_no_reply(bp: Bullpen) -> None:
    space = await room(bp, "asking_slow", "slow_one")
    with pytest.raises(NoReply, match=r"Slow_One did not finish within 1 s") as caught:
        await bp.spaces(space).ask("@slow_one slow", timeout=1)
    assert caught.value.reply.text in ("", "Up by a tenth.")
    if (run := caught.value.reply.run) is not None:  # a busy machine may not even have begun it
        await bp.runs.cancel(run.id)
