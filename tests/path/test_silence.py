"""Silence is a choice: it leaves the room untouched, and stands in the run log with its reason. design.md §6.6."""

from __future__ import annotations

import logging

import pytest

from bullpen.wire import STORED_EVENTS
from tests.driver import Driver, Json
from tests.path.following import followed
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step


async def everything(office: Driver) -> Json:
    """All that others could notice."""
    return {
        "messages": await office.messages("general"),
        "blocks": await office.items("/agents/ada/blocks"),
        "passages": await office.items("/agents/ada/passages"),
        "others": await office.runs(agentId="bo"),
    }


@pytest.mark.proves("S0-26", "S0-27", "S0-29", "S1-10")
async def test_doing_nothing_changes_nothing_but_the_run_log(office: Driver, caplog: pytest.LogCaptureFixture) -> None:
    memory: Json = {"tools": ["messaging", "memory"], "blocks": {"mood": "calm"}}
    ada = await puppet(office, "ada", steps=SILENT, held=True, **memory)
    await office.agent("bo")
    await office.space("general", ["ada", "bo"], wake={"agents": "all"})
    await office.post("general", "@ada anything?")
    await ada.asked(1)
    before = await everything(office)
    with caplog.at_level(logging.INFO, "bullpen.runs"):
        ada.release()
        run = await office.run_finished("ada")
        await office.idle()
    assert await everything(office) == before
    told = [event["type"] for event in office.events if event.get("runId") == run["id"]]
    assert [type for type in told if type in STORED_EVENTS] == [
        "run_started",
        "tool.started",
        "tool.done",
        "run_finished",
    ]
    journal = await office.journal(run["id"])
    assert [(entry["type"], entry.get("toolName")) for entry in journal] == [
        ("user_message", None),
        ("assistant_message", None),
        ("tool_call_message", "do_nothing"),
        ("tool_return_message", "do_nothing"),
        ("assistant_message", None),
    ]
    assert (journal[2]["args"], journal[3]["result"], journal[3]["isError"]) == ({}, {"action": "none"}, False)
    assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "silent", "done")
    assert (run["silenceReason"], run["messageIds"]) == ("agent_chose_silence", [])
    (line,) = [record.getMessage() for record in caplog.records if "agent_chose_silence" in record.getMessage()]
    assert run["id"] in line


@pytest.mark.proves("S0-26")
async def test_a_follower_sees_only_start_and_end_of_silent_runs(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "all"})
    peter, api = await office.person("Peter")
    await office.create("/spaces/general/members", {"memberId": peter})
    async with followed(office, api) as seen:
        await office.post("general", "hello")
        await seen.until(lambda event: event["type"] == "run_finished")
    told = [event["type"] for event in seen.events if event["type"] not in ("agent_typing", "agent_done")]
    assert told == ["message_created", "run_started", "run_finished"]


@pytest.mark.proves("S0-28", "S0-27")
@pytest.mark.one_database
async def test_the_system_prompt_explains_silence_and_unsent_plain_text(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    system = ada.shown[0].system
    assert "call do_nothing" in system
    assert "Silence is a good answer." in system
    assert "Text that you write outside a tool call reaches nobody" in system


@pytest.mark.proves("S4-21", "S1-10")
@pytest.mark.one_database
async def test_skip_ends_the_run_and_do_nothing_continues_it(office: Driver) -> None:
    """design.md §6.6: `skip(reason?)` also ends the run."""
    turns = [
        {
            "when": "skip",
            "steps": [step(call("skip", reason="not my field"), call("send_message", text="too late")), say("x")],
        },
        {"when": "bare", "steps": [step(call("skip")), say("x")]},
        {"when": "nul", "steps": [step(call("skip", reason="odd \x00 reason")), say("x")]},
        {"when": "nothing", "steps": [step(call("do_nothing")), say("on second thought")]},
    ]
    await office.agent("ada", turns)
    for name in ("skip", "bare", "nul", "nothing"):
        await office.space(name, ["ada"], wake={"people": "all"})
        await office.post(name, name)
    await office.idle()
    runs = {run["spaceId"]: run for run in await office.runs(agentId="ada")}
    for name, reason in (("skip", "not my field"), ("bare", "agent_chose_silence"), ("nul", "odd  reason")):
        run = runs[name]
        assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "silent", "skipped"), run
        assert run["silenceReason"] == reason
        assert await office.texts(name) == [name]
    assert await office.results(runs["skip"]["id"]) == [
        {"action": "skipped", "reason": "not my field"},
        {"error": "Not run: you ended this run before it."},
    ]
    assert await office.results(runs["bare"]["id"]) == [{"action": "skipped"}]
    assert runs["nothing"]["outcome"] == "spoke"
    assert "silenceReason" not in runs["nothing"]
    assert await office.texts("nothing") == ["nothing", "on second thought"]
