"""What a message does to a run that is under way: it waits, it steers, or it breaks off what the model is doing."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from bullpen.llm.types import ToolTurn, Transcript, UserTurn
from bullpen.tools import ToolContext, tool
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.path.explanations import why
from tests.path.puppets import Puppet, puppet
from tests.path.scripts import call, say, step


def told(transcript: Transcript) -> str:
    return "\n".join(turn.text for turn in transcript.turns if isinstance(turn, UserTurn))


async def at_work(office: Driver, how: str, steps: list[Any], **fields: Any) -> Puppet:
    """An agent that has been asked for its first answer, and thinks."""
    ada = await puppet(office, "ada", steps=steps, held=True, onNewMessage=how, **fields)
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "first thing")
    await ada.asked(1)
    return ada


TWO = [step(call("read_messages")), say("done")]


async def test_by_default_a_new_message_waits_for_the_next_run(office: Driver) -> None:
    ada = await at_work(office, "queue", TWO)
    assert (await office.get("/agents/ada"))["onNewMessage"] == "queue"
    await office.post("lab", "second thing")
    ada.release()
    await office.run_finished("ada")
    assert "second thing" not in told(ada.shown[0]) + told(ada.shown[1])
    await office.run_finished("ada", nth=2)
    assert "second thing" in told(ada.shown[-1])


async def test_a_message_steers_the_run_before_its_next_step(office: Driver) -> None:
    ada = await at_work(office, "steer", TWO)
    await office.post("lab", "second thing")
    await office.post("lab", "third thing")
    ada.release()
    run = await office.run_finished("ada")
    assert "second thing" not in told(ada.shown[0])
    assert told(ada.shown[1]).index("second thing") < told(ada.shown[1]).index("third thing")
    assert len(await office.runs()) == 1
    journal = [entry["type"] for entry in await office.journal(run["id"])]
    assert journal.count("user_message") == 2
    assert (await office.items("/agents/ada/inbox")) == []


async def test_a_message_interrupts_the_model_call_and_keeps_finished_steps(office: Driver) -> None:
    long = {"calls": [call("send_message", text="too late")], "delayMs": 600_000}
    ada = await puppet(office, "ada", steps=[step(call("read_messages")), long], onNewMessage="interrupt")
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "first thing")
    await ada.asked(2)
    await office.post("lab", "no, wait")
    shown = await ada.asked(3)  # without anybody letting go of the second
    assert "no, wait" in told(shown)
    assert [turn.tool for turn in shown.turns if isinstance(turn, ToolTurn)] == ["read_messages"]
    (run,) = await office.runs()
    await office.ask("POST", f"/runs/{run['id']}/cancel")
    await office.run_finished("ada")


async def test_a_message_from_another_person_interrupts_nothing(office: Driver) -> None:
    """It would not be heard in this run, whose model would be asked the same again and again."""
    _, pia = await office.person("Pia")
    ada = await at_work(office, "interrupt", [say("done")])
    await office.create("/spaces/lab/members", {"memberId": "psn_pia"})
    await pia.create("/spaces/lab/messages", {"text": "and me?"})
    ada.release()
    await office.run_finished("ada", nth=2)
    begun = [told(shown) for shown in ada.shown if shown.steps == 0]
    assert ["and me?" in text for text in begun] == [False, True]


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_message_posted_to_another_process_interrupts_too(database: Database) -> None:
    async with AsyncExitStack() as stack:
        offices = Offices(database, stack)
        here = await offices.open()
        there = await offices.open(drive=False)
        ada = await at_work(here, "interrupt", [say("done")])
        await there.post("lab", "no, wait")
        assert "no, wait" in told(await ada.asked(2))
        ada.release()
        await here.run_finished("ada")


async def test_a_message_with_different_rights_does_not_steer_the_run(office: Driver) -> None:
    _, pia = await office.person("Pia")
    ada = await at_work(office, "steer", TWO)
    await office.create("/spaces/lab/members", {"memberId": "psn_pia"})
    await pia.create("/spaces/lab/messages", {"text": "do it for me"})
    await office.post("lab", "mine, behind hers")
    ada.release()
    await office.run_finished("ada")
    assert "do it for me" not in told(ada.shown[1])
    await office.run_finished("ada", nth=2)
    assert "do it for me" in told(ada.shown[-1])


# ── /stop ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_stop_cancels_the_spaces_runs_even_during_a_model_call(office: Driver) -> None:
    ada = await at_work(office, "queue", [say("never")])
    bo = await puppet(office, "bo", steps=[say("never")], held=True)
    await office.space("elsewhere", ["bo"], wake={"people": "all"})
    await office.post("elsewhere", "hello")
    await bo.asked(1)
    async with asyncio.timeout(1):
        message = await office.post("lab", "/stop")
        run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("cancelled", "cancelled")
    assert len(ada.shown) == 1
    texts = [m["text"] for m in await office.messages("lab")]
    assert texts == ["first thing", "/stop", "Olga stopped Ada."]
    assert (await why(office, message, "ada"))["ada"]["code"] == "command"
    assert [run["status"] for run in await office.runs(agentId="bo")] == ["thinking"]
    bo.release()


@pytest.mark.one_database
async def test_stop_applies_to_mentioned_agents_and_reports_nothing_to_stop(office: Driver) -> None:
    ada = await at_work(office, "queue", [say("done")])
    await office.agent("bo", steps=[])
    await office.create("/spaces/lab/members", {"memberId": "bo"})
    await office.post("lab", "/stop @bo")
    assert (await office.messages("lab"))[-1]["text"] == "There was nothing to stop."
    await office.post("lab", "/stop @ada")
    assert (await office.run_finished("ada"))["status"] == "cancelled"
    ada.release()


@pytest.mark.one_database
async def test_agents_cannot_use_stop_and_similar_text_is_no_command(office: Driver) -> None:
    ada = await at_work(office, "queue", [say("done")])
    program = await office.as_agent("ada")
    await program.create("/spaces/lab/messages", {"text": "/stop"})
    for text in ("/stopped", "please /stop", "/nothing"):
        await office.post("lab", text)
    assert [run["status"] for run in await office.runs()] == ["thinking"]
    ada.release()
    await office.run_finished("ada")


@pytest.mark.one_database
async def test_typing_always_ends(offices: Offices) -> None:
    seen = asyncio.Event()

    @tool(effect="pure")
    async def ponder(context: ToolContext) -> dict[str, Any]:
        """Ponder, for as long as it takes."""
        await seen.wait()
        return {}

    office = await offices.open(families={"slow": (ponder,)})
    await office.agent("ada", steps=[step(call("ponder")), say("done")], tools=["messaging", "slow"])
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "hello")
    await office.event("agent_typing")
    seen.set()
    run = await office.run_finished("ada")
    assert run["status"] == "completed"
    await office.event("agent_done", lambda event: event["runId"] == run["id"])


@pytest.mark.one_database
async def test_typing_ends_when_a_run_breaks(office: Driver) -> None:
    """The drive ends by an exception that nobody foresaw, and not at its own end."""
    await puppet(office, "ada", answers=[ZeroDivisionError("nobody foresaw this")])
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.post("lab", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("failed", "broken")
    told = [event["type"] for event in office.events if event["type"] in ("agent_typing", "agent_done")]
    assert told == ["agent_typing", "agent_done"]
