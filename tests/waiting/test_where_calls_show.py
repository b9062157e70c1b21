"""A defined tool knows no space: where its calls show, and how they look, is decided for it."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.feed.streams import Stream, following
from tests.path.scripts import Json, call, say, step, turn
from tests.waiting.calls import ASK, FETCH, with_tool


async def cards(office: Driver, space_id: str) -> list[Json]:
    return [message for message in await office.items(f"/spaces/{space_id}/messages") if message["type"] == "tool"]


@pytest.mark.proves("S4-01", "S4-18")
@pytest.mark.one_database
async def test_a_call_shows_in_the_entered_space_with_unchanged_arguments(
    office: Driver,
) -> None:
    await office.create("/tools", ASK)
    here, there = call("confirmAction", what="here?"), call("confirmAction", what="there?")
    script = [turn("go", step(here, call("enter_space", spaceId="attic"), there))]
    await office.agent("ada", script, tools=["messaging", "confirmAction"])
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.space("attic", ["ada"])
    await office.post("lab", "go")
    await office.run_finished()
    for space_id, args in (("lab", {"what": "here?"}), ("attic", {"what": "there?"})):
        (card,) = await cards(office, space_id)
        assert card["metadata"]["args"] == args
        found = await office.get(f"/pending/{card['metadata']['callId']}")
        assert (found["spaceId"], found["args"]) == (space_id, args)


CHART: Json = {
    "name": "displayChart",
    "description": "Show a chart",
    "inputSchema": {"type": "object", "properties": {"of": {"type": "string"}}},
    "executionType": "internal",
    "visible": True,
}


def told_of(stream: Stream, type: str) -> list[tuple[str, str]]:
    """Which calls, by their space and arguments."""
    found = [event for event in stream.events if event["type"] == type and "toolName" in event["call"]]
    return [(event["spaceId"], str(event["call"].get("args") or event.get("text"))) for event in found]


@pytest.mark.proves("M8", "S4-18")
async def test_a_call_made_after_moving_is_streamed_only_there(
    office: Driver,
) -> None:
    """The call that it makes in the answer in which it leaves is the hardest: it grows before it is made."""
    _, anna = await office.person("Anna")
    _, pia = await office.person("Pia")
    await office.create("/tools", CHART)
    first, second = (call("displayChart", of=f"quite secret {n} " + "word " * 300) for n in ("one", "two"))
    script = [turn("", step(call("enter_space", spaceId="vault"), first), step(second), say("done", spaceId="lab"))]
    await office.agent("ada", script, tools=["messaging", "displayChart"])
    await office.space("lab", ["psn_anna", "ada"], wake={"people": "all", "agents": "none"})
    await office.space("vault", ["psn_pia", "ada"], private=True, wake={"people": "none", "agents": "none"})
    async with following(office, anna) as outside, following(office, pia) as inside:
        await anna.create("/spaces/lab/messages", {"text": "go"})
        await office.run_finished()
        await outside.until_text("done")
        await office.post("vault", "end")
        await inside.until_text("end")
        assert told_of(outside, "tool.started") == told_of(outside, "tool.done") == []
        assert told_of(inside, "tool.done") == [("vault", str(wish["args"])) for wish in (first, second)]
        started, done = (
            [(event["spaceId"], event["call"]["callId"]) for event in inside.events if event["type"] == type]
            for type in ("tool.started", "tool.done")
        )
        assert started == done
        assert b"quite secret" not in outside.body
        grown = told_of(inside, "tool.streaming")
        assert {space_id for space_id, _ in grown} == {"vault"}
        assert not [text for _, text in grown if "secret one" in text], "nobody knew yet where that would be"


@pytest.mark.proves("S4-18")
@pytest.mark.one_database
async def test_an_invisible_tools_call_is_not_shown_to_space_members(office: Driver) -> None:
    _, pia = await office.person("Pia")
    call_ = await with_tool(office, FETCH, query="x")
    await office.create("/spaces/lab/members", {"memberId": "psn_pia"})
    assert await cards(office, "lab") == []
    assert await pia.items("/pending") == []
    await pia.ask("GET", f"/pending/{call_['callId']}", status=404)
    assert [each["callId"] for each in await office.items("/pending")] == [call_["callId"]]


@pytest.mark.proves("S4-04")
@pytest.mark.one_database
async def test_a_card_names_its_tool_and_definitions_cannot_style_it(office: Driver) -> None:
    refused = await office.ask("POST", "/tools", json={**ASK, "display": {"customUI": "Confirm"}}, status=422)
    assert "display" in refused["error"]["fields"]
    await with_tool(office, ASK, what="Book it?")
    (card,) = await cards(office, "lab")
    assert card["metadata"]["toolName"] == "confirmAction"
    assert set(card["metadata"]) == {"toolName", "callId", "args"}


@pytest.mark.proves("S4-24")
@pytest.mark.one_database
async def test_a_pending_call_has_everything_needed_to_answer_it(office: Driver) -> None:
    asked = await with_tool(office, ASK, what="Book it?")
    found = await office.get(f"/pending/{asked['callId']}")
    assert found == {
        "callId": asked["callId"],
        "kind": "space",
        "agentId": "ada",
        "runId": asked["runId"],
        "spaceId": "lab",
        "toolName": "confirmAction",
        "args": {"what": "Book it?"},
        "status": "pending",
        "createdAt": asked["createdAt"],
        "expiresAt": asked["expiresAt"],
        "metadata": {},  # where it came from, if the agent had read text from outside
    }
    assert found["createdAt"] < found["expiresAt"]
    (card,) = await cards(office, "lab")
    assert card["metadata"]["callId"] == found["callId"]
