"""People read, add, correct and delete passages: who may, what is told, and what is audited."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.driver import Driver
from tests.path.scripts import call, step

TOOLS = ["messaging", "memory"]


async def learned(office: Driver, space: str = "hall", **fields: Any) -> Any:
    """A passage that Ada has stored in a space."""
    await office.agent("ada", steps=[step(call("store_memory", content="Pia likes tea"))], tools=TOOLS)
    await office.space(space, ["ada"], wake={"people": "all"}, **fields)
    said = await office.post(space, "go")
    run = await office.run_finished("ada")
    [stored] = await office.results(run["id"])
    return said, run, stored["passageId"]


async def test_a_passage_says_where_it_was_learned(office: Driver) -> None:
    said, run, id = await learned(office)
    passage = await office.get(f"/passages/{id}")
    at = passage["createdAt"]
    where = {"spaceId": "hall", "runId": run["id"], "messageId": said["id"], "personId": office.owner_id, "at": at}
    assert (passage["agentId"], passage["learned"]) == ("ada", where)
    assert "spaceId" not in passage  # it is for everywhere
    told = await office.event("passage_stored")
    assert (told["spaceId"], told["agentId"], told["runId"]) == ("hall", "ada", run["id"])
    assert told["passage"] == {"id": id}


async def test_people_read_passages_of_spaces_that_they_may_read(office: Driver) -> None:
    *_, id = await learned(office, private=True)
    await office.create("/agents/ada/passages", {"content": "written by the owner"})
    pia_id, pia = await office.person("pia")
    assert await pia.items("/agents/ada/passages") == []
    await pia.ask("GET", f"/passages/{id}", status=404)
    await office.create("/spaces/hall/members", {"memberId": pia_id})
    assert [each["content"] for each in await pia.items("/agents/ada/passages")] == ["Pia likes tea"]
    assert [each["content"] for each in await pia.items("/agents/ada/passages", q="tea owner")] == ["Pia likes tea"]
    assert (await pia.get(f"/passages/{id}"))["content"] == "Pia likes tea"
    await office.ask("DELETE", f"/spaces/hall/members/{office.owner_id}")
    assert [each["content"] for each in await office.items("/agents/ada/passages")] == ["written by the owner"]
    await office.ask("GET", f"/passages/{id}", status=404)


async def test_members_change_what_is_for_their_space_and_nothing_else(office: Driver) -> None:
    *_, private = await learned(office, private=True)
    everywhere = await office.create("/agents/ada/passages", {"content": "public knowledge"})
    pia_id, pia = await office.person("pia")
    await office.create("/spaces/hall/members", {"memberId": pia_id})
    await pia.ask("PATCH", f"/passages/{everywhere['id']}", json={"content": "lies"}, status=404)
    corrected = await pia.ask("PATCH", f"/passages/{private}", json={"content": "Pia likes coffee", "tags": ["pia"]})
    assert (corrected["updatedBy"], corrected["tags"]) == (pia_id, ["pia"])
    assert [each["id"] for each in await pia.items("/agents/ada/passages", q="coffee")] == [private]
    assert await pia.items("/agents/ada/passages", q="tea") == []
    await pia.ask("DELETE", f"/passages/{private}")
    assert await pia.items("/agents/ada/passages") == []
    actions = [each["action"] for each in await office.items("/audit")]
    assert {"passage.corrected", "passage.deleted"} <= set(actions)


async def test_members_add_to_a_space_and_outsiders_do_not(office: Driver) -> None:
    await office.space("hall", private=True)
    pia_id, pia = await office.person("pia")
    await pia.create("/spaces/hall/passages", {"content": "x"}, status=404)
    await pia.ask("GET", "/spaces/hall/passages", status=404)
    await office.create("/spaces/hall/members", {"memberId": pia_id})
    made = await pia.create("/spaces/hall/passages", {"content": "the key is under the mat"})
    assert (made["learned"]["personId"], made["spaceId"]) == (pia_id, "hall")
    again = await office.create("/spaces/hall/passages", {"content": "the key is under the mat"}, status=200)
    assert again["id"] == made["id"]
    await pia.create("/agents/ada/passages", {"content": "x"}, status=403)


async def test_a_correction_that_another_passage_says_already_is_a_conflict(office: Driver) -> None:
    await office.space("hall")
    one = await office.create("/spaces/hall/passages", {"content": "one"})
    two = await office.create("/spaces/hall/passages", {"content": "two"})
    await office.ask("PATCH", f"/passages/{two['id']}", json={"content": "one"}, status=409)
    await office.ask("PATCH", f"/passages/{one['id']}", json={"expiresAt": "1 hour"})
    assert "expiresAt" in await office.get(f"/passages/{one['id']}")
    await office.ask("PATCH", f"/passages/{one['id']}", json={"expiresAt": None})
    assert "expiresAt" not in await office.get(f"/passages/{one['id']}")


@pytest.mark.parametrize("query", ["", "fact"])
async def test_lists_and_searches_are_read_page_by_page(office: Driver, query: str) -> None:
    await office.space("hall")
    for number in range(7):
        await office.create("/spaces/hall/passages", {"content": f"fact {number}"})
    found: list[str] = []
    page: dict[str, Any] = {"next": None}
    while "next" in page:
        cursor = {} if page["next"] is None else {"cursor": page["next"]}
        page = await office.get("/spaces/hall/passages", params={"q": query, "limit": 3, **cursor})
        found += [each["content"] for each in page["items"]]
    assert found == [f"fact {number}" for number in reversed(range(7))]


async def test_erasing_an_agent_space_or_person_takes_its_passages(office: Driver) -> None:
    await office.agent("ada", tools=TOOLS)
    await office.space("hall", ["ada"])
    pia_id, pia = await office.person("pia")
    await office.create("/spaces/hall/members", {"memberId": pia_id})
    by_pia = await pia.create("/spaces/hall/passages", {"content": "from pia"})
    by_owner = await office.create("/spaces/hall/passages", {"content": "from the owner"})
    of_ada = await office.create("/agents/ada/passages", {"content": "of ada"})
    erasing = (
        ("POST", f"/people/{pia_id}/erase", by_pia),
        ("DELETE", "/spaces/hall", by_owner),
        ("POST", "/agents/ada/erase", of_ada),
    )
    for method, path, gone in erasing:
        assert (await office.get(f"/passages/{gone['id']}"))["id"] == gone["id"]
        await office.ask(method, path)
        await office.until(partial(is_gone, office, gone["id"]))


async def is_gone(office: Driver, id: str) -> bool:
    return (await office.http.get(f"/passages/{id}")).status_code == 404
