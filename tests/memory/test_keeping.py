"""What is stored once, what replaces what, what is forgotten, and how much fits."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.settings import MemorySettings, RetentionSettings
from bullpen.testing.clock import FakeClock
from bullpen.upkeep import retention
from tests.driver import Driver, Json
from tests.path.scripts import call, step


async def remembering(office: Driver, *calls: Json, id: str = "ada", **space: Any) -> list[Any]:
    """What the calls of one run of a new agent came to."""
    await office.agent(id, steps=[step(*calls)], tools=["messaging", "memory"])
    await office.space(f"{id}-home", [id], wake={"people": "all"}, **space)
    await office.post(f"{id}-home", "go")
    return await office.results((await office.run_finished(id))["id"])


async def contents(office: Driver, **params: Any) -> list[str]:
    return [each["content"] for each in await office.items("/agents/ada/passages", **params)]


async def test_a_near_duplicate_is_kept_and_names_the_earlier(office: Driver) -> None:
    first, near, far = await remembering(
        office,
        call("store_memory", content="Anna's flight to Lisbon leaves on Monday at nine from gate four"),
        call("store_memory", content="Anna's flight to Lisbon leaves on Monday at ten from gate four"),
        call("store_memory", content="The kettle in the kitchen has to be replaced before summer"),
    )
    assert list(first) == list(far) == ["passageId"]
    assert near["similarTo"] == first["passageId"]
    assert f"supersedes: {first['passageId']}" in near["hint"]
    assert len(await contents(office)) == 3


async def test_what_is_superseded_is_not_found_until_its_successor_goes(office: Driver) -> None:
    await office.agent("ada", tools=["memory"])
    old = await office.create("/agents/ada/passages", {"content": "The code is 1234"})
    new = await office.create("/agents/ada/passages", {"content": "The code is 9876", "supersedes": old["id"]})
    assert new["supersedes"] == old["id"]
    assert (await office.get(f"/passages/{old['id']}"))["supersededBy"] == new["id"]
    assert await contents(office) == await contents(office, q="code") == ["The code is 9876"]
    assert await contents(office, q="12") == []
    await office.ask("DELETE", f"/passages/{new['id']}")
    assert await contents(office) == await contents(office, q="code") == ["The code is 1234"]


async def test_only_a_passage_of_the_same_place_can_be_superseded(office: Driver) -> None:
    await office.agent("bo", tools=["memory"])
    other = await office.create("/agents/bo/passages", {"content": "Bo's own"})
    (refused,) = await remembering(office, call("store_memory", content="mine", supersedes=other["id"]))
    assert "no passage" in refused["error"]
    assert [each["content"] for each in await office.items("/agents/bo/passages")] == ["Bo's own"]


async def test_an_expired_passage_is_not_found_and_then_deleted(offices: Any) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    await remembering(
        office,
        call("store_memory", content="the door is open", expires="1 hour"),
        call("store_memory", content="the door is red", expires="2 days"),
        call("store_memory", content="the door is old", expires="yesterday"),
    )
    assert await contents(office, q="door") == ["the door is red", "the door is open"]
    clock.advance(7200)
    assert await contents(office, q="door") == await contents(office) == ["the door is red"]
    done = await retention.forget(office.office.store, RetentionSettings())
    assert done.passages == 1


async def test_storing_again_what_has_expired_brings_it_back(offices: Any) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    await office.agent("ada", tools=["memory"])
    body = {"content": "the door is open"}
    first = await office.create("/agents/ada/passages", {**body, "expiresAt": "1 hour"})
    clock.advance(7200)
    again = await office.create("/agents/ada/passages", body, status=200)
    assert again["id"] == first["id"]
    assert await contents(office, q="door") == ["the door is open"]


async def test_a_full_memory_refuses_more_and_says_why(offices: Any) -> None:
    office = await offices.open(memory=MemorySettings(passages_per_scope=2))
    *_, refused = await remembering(office, *(call("store_memory", content=f"fact {n}") for n in range(3)))
    assert "There are 2 passages here already" in refused["error"]
    [first, _] = await office.items("/agents/ada/passages")
    await office.ask("DELETE", f"/passages/{first['id']}")
    await office.create("/agents/ada/passages", {"content": "fact 4"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "x" * 20_001},
        {"tags": ["t"] * 51},
        {"metadata": {"a": "x" * 20_000}},
        {"metadata": {f"k{n}": 1 for n in range(101)}},
        {"expiresAt": "soon"},
        {"expiresAt": "2001-01-01"},
        {"content": ""},
    ],
)
@pytest.mark.one_database
async def test_a_passage_that_is_too_much_is_refused(office: Driver, wrong: Json) -> None:
    await office.agent("ada", tools=["memory"])
    await office.create("/agents/ada/passages", {"content": "c", **wrong}, status=422)
