"""Free text reaches nobody. Whoever was addressed and only wrote gets one corrective step. design.md §6.7."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver, Json
from tests.path.puppets import puppet, told
from tests.path.scripts import call, say, step

pytestmark = pytest.mark.one_database

CORRECTION = (
    "What you wrote reached nobody: text outside a tool call is not sent. If you meant to say it, call send_message "
    "now. If you meant to stay silent, call do_nothing."
)
MUSING = step(text="It is four o'clock.")


async def answered(office: Driver, id: str, steps: list[Json], **fields: Any) -> Json:
    """One run of a new agent that a person spoke to directly."""
    await office.agent(id, steps=steps, tools=["messaging", "memory"], **fields)
    await office.space(f"to-{id}", [id], wake={"people": "all"})
    await office.post(f"to-{id}", "what time is it?")
    return await office.run_finished(id)


def corrections(journal: list[Json]) -> int:
    return sum(1 for entry in journal if entry["type"] == "user_message" and entry["content"] == CORRECTION)


async def test_an_addressed_agent_writing_plain_text_is_corrected_once(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[MUSING, say("It is four o'clock.")])
    await office.space("general", ["ada"])
    await office.post("general", "@ada what time is it?")
    run = await office.run_finished("ada")
    assert (run["outcome"], run["stopReason"]) == ("spoke", "done")
    assert await office.texts("general") == ["@ada what time is it?", "It is four o'clock."]
    assert told(ada.shown[1])[-1] == CORRECTION
    assert corrections(await office.journal(run["id"])) == 1
    # Having spoken, it may add a thought that nobody reads, and is not corrected for that.
    assert len(ada.shown) == 3


async def test_text_that_stays_unsent_is_dropped(office: Driver) -> None:
    run = await answered(office, "ada", [MUSING, MUSING, MUSING])
    assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "unsent_text", "done")
    assert (run["messageIds"], run.get("silenceReason")) == ([], None)
    assert await office.texts("to-ada") == ["what time is it?"]
    assert corrections(await office.journal(run["id"])) == 1


async def test_unsent_text_is_delivered_for_an_agent_configured_so(office: Driver) -> None:
    run = await answered(
        office, "ada", [MUSING, step(text="It is five o'clock."), say("never")], onUnsentText="deliver"
    )
    assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "unsent_text", "done")
    _, delivered = await office.messages("to-ada")
    assert (delivered["text"], delivered["authorId"], delivered["runId"]) == ("It is five o'clock.", "ada", run["id"])
    assert run["messageIds"] == [delivered["id"]]
    journal = await office.journal(run["id"])
    assert [(entry["type"], entry.get("toolName")) for entry in journal[-3:]] == [
        ("assistant_message", None),
        ("tool_call_message", "send_message"),
        ("tool_return_message", "send_message"),
    ]
    assert journal[-2]["args"] == {"text": "It is five o'clock."}
    assert journal[-1]["result"]["messageId"] == delivered["id"]


async def test_plain_text_after_speaking_reacting_or_silence_is_not_corrected(office: Driver) -> None:
    stories = {
        "reacted": call("react_to_message", messageId="{{trigger.messageId}}", emoji="🕓"),
        "silent": call("do_nothing"),
        "spoke": call("send_message", text="four"),
    }
    for outcome, instead in stories.items():
        run = await answered(office, outcome, [step(instead), MUSING, say("never")])
        assert run["outcome"] == outcome
        assert corrections(await office.journal(run["id"])) == 0
        assert "never" not in await office.texts(f"to-{outcome}")


async def test_only_storing_memory_is_corrected_and_counts_as_acted(office: Driver) -> None:
    run = await answered(office, "ada", [step(call("store_memory", content="they ask for the time")), MUSING, MUSING])
    assert run["outcome"] == "acted"
    assert corrections(await office.journal(run["id"])) == 1


async def test_choosing_silence_after_the_correction_is_silence(office: Driver) -> None:
    run = await answered(office, "ada", [MUSING, step(call("do_nothing")), MUSING])
    assert (run["outcome"], run["silenceReason"]) == ("silent", "agent_chose_silence")


async def test_blank_text_is_no_text(office: Driver) -> None:
    run = await answered(office, "ada", [step(text=" \n ")])
    assert run["outcome"] == "silent"
    assert corrections(await office.journal(run["id"])) == 0


async def test_an_unaddressed_agents_plain_text_is_neither_corrected_nor_delivered(office: Driver) -> None:
    """Addressed: a person's DM, mention, reply or trigger word, or being the only agent there."""
    steps = [MUSING, say("corrected")]
    for id in ("ada", "bo"):
        await office.agent(id, steps=steps, onUnsentText="deliver")
    bo = await office.as_agent("bo")
    await office.space("both", ["ada", "bo"], wake={"people": "all", "agents": "all"}, trigger="Andy")
    await office.space("alone", ["ada"], wake={"people": "all"})
    await office.dm("ada", office.owner_id)
    await office.dm("ada", "bo")

    async def outcome(speaker: Any, space: str, text: str, **more: str) -> str:
        """Of Ada's run that this causes."""
        posted = await speaker.create(f"/spaces/{space}/messages", {"text": text, **more})
        await office.idle()
        (run,) = [run for run in await office.runs(agentId="ada") if run["trigger"]["messageId"] == posted["id"]]
        return str(run["outcome"])

    assert await outcome(office, "both", "hello everyone") == "unsent_text"
    assert await office.texts("both") == ["hello everyone"]
    assert await outcome(bo, "both", "@ada hello") == "unsent_text"
    assert await outcome(bo, "dm-ada-bo", "hello") == "unsent_text"
    assert await outcome(office, "both", "@ada hello") == "spoke"
    assert await outcome(office, "both", "andy, hello") == "spoke"
    assert await outcome(office, "alone", "hello") == "spoke"
    assert await outcome(office, f"dm-ada-{office.owner_id}", "hello") == "spoke"
    said = [message for message in await office.messages("both") if message["authorId"] == "ada"]
    assert await outcome(office, "both", "go on", replyTo=said[-1]["id"]) == "spoke"


@pytest.mark.parametrize("listed, ending", [("skip", "call skip."), ("memory", "write nothing.")])
async def test_the_correction_names_only_tools_the_agent_has(office: Driver, listed: str, ending: str) -> None:
    ada = await puppet(office, "ada", steps=[MUSING, say("four")], tools=["send_message", listed])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "what time is it?")
    await office.run_finished("ada")
    assert told(ada.shown[1])[-1] == CORRECTION.replace("call do_nothing.", ending)


async def test_an_agent_that_cannot_speak_is_not_corrected(office: Driver) -> None:
    mute = await puppet(office, "mute", steps=[MUSING, MUSING], tools=["memory", "do_nothing"])
    await office.space("general", ["mute"], wake={"people": "all"})
    await office.post("general", "what time is it?")
    run = await office.run_finished("mute")
    assert (run["outcome"], len(mute.shown)) == ("unsent_text", 1)
