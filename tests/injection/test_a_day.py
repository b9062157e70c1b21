"""A day of ordinary office life asks for few approvals: every call goes through the door, and people answer as they do.

Four agents in three rooms look up the weather and orders elsewhere, read files, ask by cards, plan, remember, tell each
other and keep a skill. Whoever is asked because of outside text allows it for good where that is offered, or each
time anew. The figure is printed: `pytest -s tests/injection/test_a_day.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bullpen.testing.clock import FakeClock
from tests.driver import Driver, Offices
from tests.files.offering import give
from tests.net.servers import answer, says, world
from tests.path.scripts import Json, call, say, step, turn
from tests.waiting.gateways import connect, gateway

CITIES = ["Rome", "Oslo", "Lima", "Bern", "Riga", "Cairo", "Kyoto", "Quito", "Malta", "Delhi", "Perth", "Tunis"]
CHORES = ["call the dentist", "pay the rent", "water the plants", "send the invoice to Bo", "order paper"]
CHORES += ["book the train", "ask Anna for the keys", "clean the fridge", "read the contract", "charge the camera"]
CHORES += ["buy stamps", "print the menu"]
SOURCES = {"weather": "weather.example.com", "orders": "orders.example.com"}
QUERY: Json = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
CONFIRM: Json = {"name": "confirm", "description": "Ask", "inputSchema": {}, "executionType": "space"}
HIRED = ["messaging", "memory", "tasks", "skills", "weather", "orders", "confirm"]


def elsewhere(name: str) -> Json:
    """A tool that somebody has connected: a request with what the model wrote."""
    where = {"url": f"http://{SOURCES[name]}/look", "method": "GET"}
    return gateway(name, inputSchema=QUERY, execution=where, visible=False)


def plans(chore: str) -> Json:
    """A model puts it in its own way, with the person's words."""
    at = {"schedule_type": "cron", "schedule_value": "0 9 * * 1"}
    return call("schedule_task", prompt=f"Remind Olga to {chore}.", **at)


def turns_of(number: int) -> dict[str, list[Json]]:
    """What each agent does when it hears the words of this hour."""
    city, chore = CITIES[number], CHORES[number]
    note = f"Olga prefers {city} to Paris"
    weather = [step(call("weather", q=city)), say(f"It is mild in {city}.")]
    order = [step(call("orders", q=str(number))), step(call("search_memory", query="Olga")), say("It was sent.")]
    pass_on = [say(f"@cy the weather of {city} is mild"), say("I told Cy.")]
    show = [step(call("confirm", title=f"Menu {number}?")), say("Thank you.")]
    read = [
        step(call("read_messages", limit=5)),
        step(call("react_to_message", messageId="{{results[0].messages[0].id}}", emoji="👍")),
    ]
    skill = call("store_skill", name=f"walk_{number}", description="A walk", instructions=f"1. Go to {city}.")
    return {
        "ada": [turn(f"weather in {city}", *weather), turn(f"tell Cy about {city}", *pass_on)],
        "bo": [turn(f"order {number}", *order), turn(f"menu {number}", *show)],
        "cy": [
            turn(f"to {chore}", step(plans(chore)), say("I will.")),
            turn(f"prefer {city}", step(call("store_memory", content=note)), say("Noted.")),
            turn(f"of {city} is mild", step(call("do_nothing"))),
        ],
        "dee": [
            turn(f"file {number}", *read, say("I have seen it.")),
            turn(f"walk {number}", step(skill), say("Kept.")),
        ],
    }


def spoken(number: int) -> list[tuple[str, str]]:
    """What Olga says in this hour, and where."""
    city, chore = CITIES[number], CHORES[number]
    return [
        ("general", f"@ada what is the weather in {city}?"),
        ("sales", f"@bo where is order {number}?"),
        ("general", f"@cy remind me every Monday at nine to {chore}"),
        ("general", f"@dee look at file {number}"),
        ("desk", f"@cy remember that I prefer {city} to Paris"),
        ("general", f"@ada tell Cy about {city}"),
        ("sales", f"@bo confirm menu {number}"),
        ("desk", f"@dee keep walk {number}"),
    ]


class People:
    """Answer whatever waits for them, and count what they had to approve."""

    def __init__(self, office: Driver, always: str | None) -> None:
        self.office, self.always = office, always
        self.approved: list[Json] = []
        self._seen = 0

    async def answer(self) -> None:
        asked = [event["call"] for event in self.office.events if event["type"] == "tool.requires_action"]
        for each in asked[self._seen :]:
            self._seen += 1
            result: Any = {"ok": True}
            if each["kind"] == "approval":
                self.approved.append(each)
                result = {"approved": True} | ({"always": self.always} if self.always else {})
            await self.office.create(f"/pending/{each['callId']}/resolve", {"result": result}, status=200)

    async def until_quiet(self) -> None:
        async def rests() -> bool:
            await self.answer()
            return all(agent["state"] == "idle" for agent in await self.office.items("/agents"))

        await self.office.until(rests)
        await self.office.idle()


async def live(office: Driver, hours: Sequence[int], people: People) -> int:
    """The calls of a day."""
    for number in hours:
        for space, text in spoken(number):
            attached = {}
            if "file" in text:
                file = await give(office, name=f"minutes-{number}.txt")
                attached = {"attachments": [file["id"]]}
            await office.post(space, text, **attached)
            await people.until_quiet()
    return len([event for event in office.events if event["type"] == "tool.started"])


@pytest.mark.one_database
@pytest.mark.parametrize("always, most", [("source", 50), (None, 5)], ids=["for good", "each time"])
async def test_a_day_of_office_life_asks_for_few_approvals(
    offices: Offices, always: str | None, most: int, capsys: pytest.CaptureFixture[str]
) -> None:
    office = await offices.open(clock=FakeClock("2026-06-01T08:00:00Z"))
    for config in (elsewhere("weather"), elsewhere("orders"), CONFIRM):
        await office.create("/tools", config)
    hours = range(len(CITIES)) if always else range(5)
    for id in ("ada", "bo", "cy", "dee"):
        turns = [each for number in hours[::-1] for each in turns_of(number)[id]]
        await office.agent(id, turns, tools=HIRED)
    for space, fields in (("general", {}), ("sales", {"private": True}), ("desk", {"private": True})):
        await office.space(space, ["ada", "bo", "cy", "dee"], wake={"agents": "mention"}, **fields)
    people = People(office, always)
    async with world() as outer:
        connect(office, outer)
        for host, address in zip(SOURCES.values(), ("93.184.216.34", "93.184.216.35"), strict=True):
            await outer.server(says(answer(b"mild, and sent")), name=host, address=address)
        calls = await asyncio.wait_for(live(office, hours, people), 300)
    asked = len(people.approved)
    with capsys.disabled():
        how = "for good where offered" if always else "each time anew"
        print(f"\na day: {calls} tool calls, {asked} approvals (allowed {how}): one in {calls // max(asked, 1)}")
    failed = [event for event in office.events if event["type"] == "tool.error"]
    assert failed == []
    assert calls >= (200 if always else 80)
    assert any(run["outside"] for run in await office.runs()), "the day had text from outside in it"
    assert asked * most <= calls
    assert {call_["toolName"] for call_ in people.approved} <= {"weather", "orders"}, "only what leaves is asked about"
