"""Agents that answer each other stop: depth is inherited, and at the limit nobody wakes. design.md §6.4."""

from __future__ import annotations

import pytest

from bullpen.settings import LimitSettings
from tests.driver import Driver, Json, Offices
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, say, step, turn

STOPPED = "The agents have answered each other 4 times in a row and stop here. Say something to go on."


def stops(office: Driver) -> list[Json]:
    return [event for event in office.events if event["type"] == "chain_stopped"]


async def links(office: Driver, **which: str) -> list[tuple[str, int]]:
    return [(run["agentId"], run["depth"]) for run in await office.runs(**which)]


@pytest.mark.proves("S0-14", "S0-15", "L3")
async def test_agents_answering_each_other_in_a_dm_stop_after_four(office: Driver) -> None:
    ping = [turn("start", say("ping", spaceId="dm-ada-bo")), turn("pong", say("ping"))]
    await office.agent("ada", ping)
    await office.agent("bo", [turn("ping", say("pong"))])
    await office.space("home", ["ada"], wake={"people": "all"})
    await office.dm("ada", "bo")
    for round in (1, 2):
        await office.post("home", "start")
        await office.event("chain_stopped", nth=round)
        await office.event("message_created", lambda event: event["message"]["text"] == STOPPED, nth=round)
        await office.idle()
        assert (await links(office))[-4:] == [("ada", 0), ("bo", 1), ("ada", 2), ("bo", 3)]
        said = await office.messages("dm-ada-bo")
        assert [(message["authorId"], message["text"], message["depth"]) for message in said[-5:]] == [
            ("ada", "ping", 0),
            ("bo", "pong", 1),
            ("ada", "ping", 2),
            ("bo", "pong", 3),
            ("system", STOPPED, 0),
        ]
        assert (said[-1]["type"], said[-1]["authorKind"]) == ("system", "system")
        # The last message was shown like any other, and only nobody woke.
        created = [event["message"] for event in office.events if event["type"] == "message_created"]
        assert created[-2:] == said[-2:]
        assert len(said) == 5 * round
        assert len(stops(office)) == round
        assert stops(office)[-1]["chain"]["messageId"] == said[-2]["id"]
    assert len(await office.runs()) == 8


@pytest.mark.proves("S0-16", "L3", "L4")
async def test_a_channels_mention_chain_inherits_depth_and_stops_once(office: Driver) -> None:
    """design.md §6.3 and §6.4: outside DMs the space's policy wakes, here by mention; depth is inherited there too."""
    await office.agent("ada", [turn("", say("what says @bo?"))])
    await office.agent("bo", [turn("", step(*[{"tool": "send_message", "args": {"text": "ask @ada"}}] * 2))])
    await office.space("general", ["ada", "bo"])
    await office.post("general", "@ada go")
    await office.event("chain_stopped")
    await office.idle()
    assert max(depth for _, depth in await links(office)) == 3
    notices = [message for message in await office.messages("general") if message["type"] == "system"]
    # The last run of Bo tried twice; the chain was stopped once, with one event and one message.
    assert [message["text"] for message in notices] == [STOPPED]
    assert len(stops(office)) == 1
    assert (await links(office))[:2] == [("ada", 0), ("bo", 1)]


@pytest.mark.one_database
async def test_a_message_that_wakes_nobody_stops_no_chain(office: Driver) -> None:
    await office.agent("ada", [turn("", say("what says @bo?"))])
    await office.agent("bo", [turn("", say("thinking aloud"))])
    await office.space("general", ["ada", "bo"])
    await office.post("general", "@ada go")
    await office.run_finished("bo")
    await office.idle()
    assert await links(office) == [("ada", 0), ("bo", 1)]
    assert stops(office) == []
    assert await office.texts("general") == ["@ada go", "what says @bo?", "thinking aloud"]


@pytest.mark.one_database
async def test_the_chain_limit_is_a_setting_that_agents_can_override(offices: Offices) -> None:
    office = await offices.open(limits=LimitSettings(chain_depth=1))
    turns = [turn("", say("@ada @bo @cy"))]
    await office.agent("ada", turns)
    await office.agent("bo", turns, limits={"maxChainDepth": 0})
    await office.agent("cy", turns, limits={"maxChainDepth": 2})
    await office.space("general", ["ada", "bo", "cy"])
    await office.post("general", "@ada go")
    await office.event("chain_stopped")
    await office.idle()
    # Ada's words have depth 0: Bo wants none of that, Cy may. Cy's have depth 1: too deep for Ada. Nobody is left.
    assert await links(office) == [("ada", 0), ("cy", 1)]
    assert len(stops(office)) == 1


async def test_a_run_of_several_items_takes_the_deepest_depth(office: Driver) -> None:
    cy = await puppet(office, "cy", [turn("hello", say("heard you"))], held=True)
    await office.agent("bo", [turn("go", say("@cy hello"), say("@dee carry on"))])
    await office.agent("dee", [turn("carry on", say("@cy hello again"))])
    await office.space("general", ["cy", "bo", "dee"])
    await office.post("general", "@cy wait")
    await cy.asked(1)
    await office.post("general", "@bo go")
    await office.run_finished("dee")
    cy.release()
    second = await office.run_finished("cy", nth=2)
    assert (second["depth"], second["trigger"]["items"]) == (2, 2)
    (message,) = [message for message in await office.messages("general") if message["authorId"] == "cy"]
    assert message["depth"] == 2
    assert await links(office, agentId="cy") == [("cy", 0), ("cy", 2)]


async def test_a_person_who_speaks_begins_a_new_chain(office: Driver) -> None:
    await office.agent("ada", [turn("", say("@bo?"))])
    await office.agent("bo", [turn("", *SILENT)])
    await office.space("general", ["ada", "bo"])
    peter, api = await office.person("Peter")
    await office.create("/spaces/general/members", {"memberId": peter})
    for speaker in (office, api):
        await speaker.create("/spaces/general/messages", {"text": "@ada go"})
        await office.idle()
    assert await links(office) == [("ada", 0), ("bo", 1)] * 2
