"""Where what an agent learns is kept, and what it may read where: DMs, private channels, public ones, none."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.memory import rules
from bullpen.memory.rules import Situation
from tests.driver import Driver
from tests.path.scripts import call, step, turn

TOOLS = ["messaging", "memory"]
SECRET = "the surprise party is on Friday"
KEEP = call("store_memory", content=SECRET)
FIND = call("search_memory", query="party")


class Room:
    """Ada does in each space what she is told by a word."""

    def __init__(self, office: Driver, dm: str) -> None:
        self.office = office
        self.dm = dm
        self._runs = 0

    async def ask(self, space: str, what: str) -> list[Any]:
        await self.office.post(space, what)
        self._runs += 1
        run = await self.office.run_finished("ada", nth=self._runs)
        return await self.office.results(run["id"])

    async def finds(self, space: str) -> list[str]:
        *_, result = await self.ask(space, "find")
        return [passage["content"] for passage in result["passages"]]


async def house(office: Driver, *turns: Any, **agent: Any) -> Room:
    """Two public channels, two private ones and a DM."""
    both = [turn("keep", step(KEEP)), turn("find", step(FIND)), *turns]
    await office.agent("ada", both, tools=TOOLS, **agent)
    for name, private in (("hall", False), ("studio", False), ("attic", True), ("cellar", True)):
        await office.space(name, ["ada"], private=private, wake={"people": "all"})
    return Room(office, (await office.dm("ada", office.owner_id))["id"])


@pytest.mark.parametrize("scope", ["space", "agent"])
async def test_what_is_learned_in_public_is_found_everywhere(office: Driver, scope: str) -> None:
    room = await house(office, scope=scope)
    await room.ask("hall", "keep")
    for space in ("hall", "studio", "attic", room.dm):
        assert await room.finds(space) == [SECRET]


@pytest.mark.parametrize("private", ["attic", "dm"])
async def test_what_is_learned_in_private_is_found_there_alone(office: Driver, private: str) -> None:
    room = await house(office)
    there = room.dm if private == "dm" else private
    await room.ask(there, "keep")
    assert await room.finds(there) == [SECRET]
    for space in {"hall", "attic", "cellar", room.dm} - {there}:
        assert await room.finds(space) == []


async def test_across_spaces_opens_what_was_learned_in_private(office: Driver) -> None:
    room = await house(office, memory={"acrossSpaces": True})
    assert (await office.get("/agents/ada"))["memory"] == {"acrossSpaces": True}
    await room.ask("attic", "keep")
    for space in ("hall", "cellar", room.dm):
        assert await room.finds(space) == [SECRET]
    await office.ask("PATCH", "/agents/ada", json={"memory": {"acrossSpaces": False}})
    assert await room.finds("hall") == []
    assert await room.finds("attic") == [SECRET]


async def test_a_group_keeps_to_itself_even_across_spaces(office: Driver) -> None:
    room = await house(office, memory={"acrossSpaces": True})
    await office.space("family", ["ada"], kind="group", folder="family", trigger="@Ada")
    await room.ask("attic", "keep")
    assert await room.finds("hall") == [SECRET]
    *_, found = await room.ask("family", "@Ada find")
    assert found == {"passages": []}
    await room.ask("family", "@Ada keep")
    assert await room.finds("hall") == [SECRET]


async def test_what_was_read_in_private_is_kept_there(office: Driver) -> None:
    room = await house(office, turn("look", step(call("read_messages", spaceId="attic")), step(KEEP)))
    await office.post("attic", "psst")
    await office.run_finished("ada")
    room._runs = 1
    await room.ask("hall", "look")
    assert await room.finds("hall") == []
    assert await room.finds("attic") == [SECRET]


async def test_what_is_read_in_two_private_spaces_is_refused_elsewhere(office: Driver) -> None:
    reading = step(call("read_messages", spaceId="attic"), call("read_messages", spaceId="cellar"))
    room = await house(office, turn("look", reading, step(KEEP, call("memory_save", content=SECRET))))
    *_, kept, saved = await room.ask("hall", "look")
    assert "several private spaces" in kept["error"]
    assert "stays there" in saved["error"]
    assert await office.items("/agents/ada/passages") == await office.items("/spaces/hall/passages") == []


# ── the store of a space ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S2-61", "S2-62")
async def test_a_space_remembers_for_all_its_agents_and_no_others(office: Driver) -> None:
    save = call("memory_save", content="the wifi is called owl", metadata={"room": "hall"})
    search = call("memory_search", query="WIFI called")
    for id in ("ada", "bo"):
        await office.agent(id, [turn("save", step(save)), turn("look", step(search))], tools=TOOLS)
    for name in ("hall", "studio"):
        await office.space(name, ["ada", "bo"])
    await office.post("hall", "@ada save")
    [saved] = await office.results((await office.run_finished("ada"))["id"])
    await office.post("hall", "@bo look")
    [found] = await office.results((await office.run_finished("bo"))["id"])
    [result] = found["results"]
    assert (result["id"], result["content"]) == (saved["passageId"], "the wifi is called owl")
    assert (result["metadata"], result["similarity"]) == ({"room": "hall"}, 1.0)
    await office.post("studio", "@bo look")
    assert await office.results((await office.run_finished("bo", nth=2))["id"]) == [{"results": []}]
    [shown] = await office.items("/spaces/hall/passages", q="wifi")
    assert shown["learned"]["spaceId"] == shown["spaceId"] == "hall"
    assert (shown["learned"]["personId"], "agentId" in shown) == (office.owner_id, False)
    assert await office.items("/agents/ada/passages") == []


async def test_a_space_memory_outside_any_space_is_refused(office: Driver) -> None:
    calls = [call("memory_save", content="x"), call("memory_search", query="x")]
    await office.agent("ada", steps=[step(*calls)], tools=TOOLS)
    await office.create("/agents/ada/trigger", {"serviceName": "clock"})
    for result in await office.results((await office.run_finished("ada"))["id"]):
        assert "You are in no space now" in result["error"]


async def test_a_result_says_how_much_of_the_query_it_holds(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("memory_search", query="blue kettle", limit=2))], tools=TOOLS)
    await office.space("hall", ["ada"], wake={"people": "all"})
    for content in ("a blue kettle", "a red kettle", "a green kettle", "a cup"):
        await office.create("/spaces/hall/passages", {"content": content})
    await office.post("hall", "go")
    [found] = await office.results((await office.run_finished("ada"))["id"])
    first, second = found["results"]
    assert (first["content"], first["similarity"]) == ("a blue kettle", 1.0)
    assert (second["content"], 0 < second["similarity"] < 1) == ("a green kettle", True)


# ── the rule itself ─────────────────────────────────────────────────────────────────────────────────────────────────

CASES: dict[str, tuple[Situation, str | None, tuple[str | None, ...]]] = {
    "nowhere": (Situation("a"), "agent:a", (None,)),
    "public": (Situation("a", active="hall"), "agent:a", (None,)),
    "private": (Situation("a", active="x", private=frozenset("x")), "agent:a/space:x", (None, "x")),
    "both": (Situation("a", active="x", private=frozenset("xy")), "agent:a/space:x", (None, "x")),
    "read one": (Situation("a", active="hall", private=frozenset("x")), "agent:a/space:x", (None,)),
    "read two": (Situation("a", active="hall", private=frozenset("xy")), None, (None,)),
    "read many": (Situation("a", active="hall", private=frozenset("*")), None, (None,)),
    "group": (Situation("a", stays_in="g", active="g", across=True), "agent:a/group:g", ("g",)),
    "across": (Situation("a", True, active="x", private=frozenset("x")), "agent:a/space:x", (None, "x")),
    "across two": (Situation("a", True, active="hall", private=frozenset("xy")), "agent:a", (None,)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_rule_says_where_memory_is_kept_and_read(name: str) -> None:
    situation, scope, spaces = CASES[name]
    place = rules.keep(situation)
    assert (None if place is None else place.scope) == scope
    assert rules.read_spaces(situation) == spaces
    if place is not None and not situation.across:
        assert place.scope in rules.read_scopes(situation) or name == "read one"
