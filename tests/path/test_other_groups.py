"""Whoever is not in a group does not get into it through an agent that is.

From a DM, a channel or the main group an agent reaches another group only for somebody who is a member of it, or who
manages groups from the main group. It is as if the group were not there, whichever tool is tried, and it is the person
at the beginning of the chain who counts.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Api, Driver, Json
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step, turn

pytestmark = pytest.mark.one_database

TOOLS = ["messaging", "tasks", "skills"]
LATER = {"prompt": "look", "scheduleType": "interval", "scheduleValue": "1h"}
SECRET = "the cake is a surprise"
SKILL = {"name": "mine", "description": "Mine.", "instructions": "Obey."}


class House:
    """A main group, a channel and a private family, with Ada in all of them; Pia and Quinn are members of the office.

    Nobody but the owner is in the family. Pia has a DM with Ada.
    """

    def __init__(self, office: Driver) -> None:
        self.office = office
        self.people: dict[str, Api] = {}
        self.places = {"main": "home", "channel": "team"}
        self.deeds: list[Json] = []

    async def furnish(self, scope: str = "space") -> None:
        office = self.office
        ids = {}
        for name in ("pia", "quinn"):
            ids[name], self.people[name] = await office.person(name)
        await office.agent("ada", tools=TOOLS, scope=scope)
        await office.space("home", ["ada", *ids.values()], kind="group", main=True)
        await office.space("team", ["ada", *ids.values()], wake={"people": "all"})
        await office.space("family", ["ada"], kind="group", folder="family", trigger="@Ada", private=True)
        self.places["dm"] = (
            await self.people["pia"].create("/spaces", {"kind": "dm", "members": [ids["pia"], "ada"]})
        )["id"]
        said = await office.post("family", SECRET)
        task = await office.create("/tasks", {"spaceId": "family", "agentId": "ada", **LATER})
        await office.ask("PUT", "/spaces/family/skills/deed", json={"description": "d", "instructions": "i"})
        self.deeds = [
            call("read_messages", spaceId="family"),
            call("send_message", text="psst", spaceId="family"),
            call("react_to_message", messageId=said["id"], emoji="👍"),
            call("enter_space", spaceId="family"),
            call("send_message", text="psst"),
            call("schedule_task", **LATER),
            call("list_tasks"),
            call("cancel_task", taskId=task["id"]),
            call("store_skill", **SKILL),
            call("delete_skill", name="deed"),
        ]

    async def play(self, *turns: Json, agent: str = "ada") -> None:
        await self.office.ask("PATCH", f"/agents/{agent}", json={"model": {"provider": "script", "turns": list(turns)}})

    async def results(self, nth: int = 1) -> list[Any]:
        """What came of the calls of Ada's n-th run; she says so herself, since the owner does not look into a DM."""
        ada = await self.office.as_agent("ada")

        async def over() -> list[Json]:
            return [run for run in await ada.items("/runs", agentId="ada") if "finishedAt" in run][::-1]

        async def is_over() -> bool:
            return len(await over()) >= nth

        await self.office.until(is_over)
        journal = await ada.items(f"/runs/{(await over())[nth - 1]['id']}/messages")
        return [entry["result"] for entry in journal if entry["type"] == "tool_return_message"]

    async def check_untouched(self) -> None:
        office = self.office
        assert await office.texts("family") == [SECRET]
        [message] = await office.messages("family")
        assert message.get("reactions", []) == []
        assert len(await office.items("/tasks", spaceId="family")) == 1
        assert [skill["name"] for skill in await office.items("/skills", spaceId="family")] == ["deed"]


@pytest.fixture
async def house(office: Driver) -> House:
    made = House(office)
    await made.furnish()
    return made


@pytest.mark.proves("G3", "S2-06")
@pytest.mark.parametrize("place", ["dm", "main", "channel"])
async def test_from_other_spaces_a_group_is_hidden_from_non_members(house: House, place: str) -> None:
    await house.play(turn("act", step(*house.deeds)))
    await house.people["pia"].create(f"/spaces/{house.places[place]}/messages", {"text": "act"})
    results = await house.results()
    assert all("error" in result for result in results[:4]), results
    assert SECRET not in str(results)
    assert "family" not in str(results).replace("'family'", ""), "it is not even listed"
    await house.check_untouched()


async def test_a_member_of_both_spaces_can_reach_one_from_another(house: House) -> None:
    await house.office.create("/spaces/family/members", {"memberId": "psn_pia"})
    await house.play(turn("act", step(*house.deeds)))
    await house.people["pia"].create(f"/spaces/{house.places['dm']}/messages", {"text": "act"})
    results = await house.results()
    assert [result for result in results if "error" in result] == []
    assert results[0]["messages"][0]["text"] == SECRET


async def test_owners_reach_other_peoples_groups_from_the_main_group_only(house: House) -> None:
    await house.people["pia"].create("/spaces", {"id": "hers", "kind": "group", "members": ["ada"], "private": True})
    await house.play(turn("tell", say("dinner", spaceId="hers")))
    for place in ("home", "team"):
        await house.office.post(place, "tell")
    results = [(await house.results(nth))[0] for nth in (1, 2)]
    assert sorted("error" in result for result in results) == [False, True]
    assert [m["text"] for m in await house.people["pia"].items("/spaces/hers/messages")] == ["dinner"]


async def test_a_second_agent_has_only_the_original_askers_access(house: House) -> None:
    office = house.office
    await office.agent("bo", [turn("pass", say("@ada act"))])
    await office.create("/spaces/team/members", {"memberId": "bo"})
    await office.ask("PATCH", "/spaces/team", json={"wake": {"people": "mention", "agents": "mention"}})
    await house.play(turn("act", step(*house.deeds)))
    await house.people["pia"].create("/spaces/team/messages", {"text": "@bo pass"})
    results = await house.results()
    assert all("error" in result for result in results[:4]), results
    await house.check_untouched()


async def test_a_run_for_two_people_reaches_only_groups_of_both(house: House) -> None:
    """Quinn's words came first, Pia's last: it works for both."""
    office = house.office
    await office.create("/spaces/family/members", {"memberId": "psn_pia"})
    cy = await puppet(office, "cy", [turn("wait", *SILENT), turn("act", step(house.deeds[0]))], held=True)
    for space in ("team", "family"):
        await office.create(f"/spaces/{space}/members", {"memberId": "cy"})
    await office.ask("DELETE", "/spaces/team/members/ada")
    for joined, nth in ((False, 2), (True, 4)):
        if joined:
            cy.hold()
            await office.create("/spaces/family/members", {"memberId": "psn_quinn"})
        await house.people["pia"].create("/spaces/team/messages", {"text": "wait"})
        await cy.asked(len(cy.shown) + 1)
        for name in ("quinn", "pia"):
            await house.people[name].create("/spaces/team/messages", {"text": "act"})
        cy.release()
        run = await office.run_finished("cy", nth=nth)
        assert run["trigger"]["items"] == 2
        assert ("error" in (await office.results(run["id"]))[0]) is not joined


async def test_one_mind_handles_two_people_in_two_places_separately(office: Driver) -> None:
    """So that it works for one of them in the other's place for neither."""
    house = House(office)
    await house.furnish(scope="agent")
    await office.ask("DELETE", "/spaces/home/members/psn_pia")
    await house.play(turn("ada, yes", say("yes", spaceId="home")))
    await office.create("/agents/ada/pause", {})
    await house.people["pia"].create(f"/spaces/{house.places['dm']}/messages", {"text": "hm"})
    await house.people["quinn"].create("/spaces/home/messages", {"text": "ada, yes?"})
    await office.create("/agents/ada/resume", {})
    assert [result["status"] for result in await house.results(2)] == ["sent"]
    assert (await office.texts("home"))[-1] == "yes"
