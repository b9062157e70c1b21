"""A defined tool knows no space: where its calls show, and how they look, is decided for it."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.path.scripts import Json, call, step, turn
from tests.waiting.test_pending import ASK, FETCH, with_tool


async def cards(office: Driver, space_id: str) -> list[Json]:
    return [message for message in await office.items(f"/spaces/{space_id}/messages") if message["type"] == "tool"]


@pytest.mark.proves("S4-01", "S4-18")
async def test_a_call_shows_in_the_space_the_agent_has_entered_and_its_arguments_stay_as_they_were(
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


@pytest.mark.proves("S4-18")
async def test_a_call_of_an_invisible_tool_shows_nowhere_and_is_told_to_nobody_but_its_own(office: Driver) -> None:
    _, pia = await office.person("Pia")
    call_ = await with_tool(office, FETCH, query="x")
    await office.create("/spaces/lab/members", {"memberId": "psn_pia"})
    assert await cards(office, "lab") == []
    assert await pia.items("/pending") == []
    await pia.ask("GET", f"/pending/{call_['callId']}", status=404)
    assert [each["callId"] for each in await office.items("/pending")] == [call_["callId"]]


@pytest.mark.proves("S4-04")
async def test_a_card_carries_its_tools_name_and_a_definition_has_no_say_in_how_it_looks(office: Driver) -> None:
    refused = await office.ask("POST", "/tools", json={**ASK, "display": {"customUI": "Confirm"}}, status=422)
    assert "display" in refused["error"]["fields"]
    await with_tool(office, ASK, what="Book it?")
    (card,) = await cards(office, "lab")
    assert card["metadata"]["toolName"] == "confirmAction"
    assert set(card["metadata"]) == {"toolName", "callId", "args"}


@pytest.mark.proves("S4-24")
async def test_a_pending_call_says_all_that_is_needed_to_answer_it(office: Driver) -> None:
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
