"""DMs: exactly two members, one id whichever way round, private to the two. design.md §6.21."""

from __future__ import annotations

import pytest

from tests.driver import Driver, Json
from tests.path.scripts import SILENT


@pytest.mark.proves("S0-11")
async def test_either_order_of_the_two_ids_names_the_dm(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.agent("mary-ann", steps=SILENT)
    plain = await office.dm(office.owner_id, "ada")
    hyphen = await office.dm("mary-ann", "ada")
    assert plain["id"] == f"dm-ada-{office.owner_id}"
    assert hyphen["id"] == "dm-ada--mary-ann"
    assert (hyphen["kind"], hyphen["private"], hyphen["members"]) == ("dm", True, ["mary-ann", "ada"])
    for name in (f"dm-ada-{office.owner_id}", f"dm-{office.owner_id}-ada"):
        assert (await office.get(f"/spaces/{name}"))["id"] == plain["id"]
        await office.post(name, f"to {name}")
    assert len(await office.messages(plain["id"])) == 2
    assert (await office.get("/spaces/dm-mary-ann--ada"))["id"] == hyphen["id"]
    await office.get("/spaces/dm-mary-ann-ada", status=404)


@pytest.mark.one_database
async def test_a_dm_has_exactly_two_members_and_not_its_creator(office: Driver) -> None:
    for id in ("ada", "bo", "cy"):
        await office.agent(id)
    made = await office.dm("bo", "ada")
    assert (made["id"], sorted(made["members"])) == ("dm-ada-bo", ["ada", "bo"])
    wrong: list[Json] = [
        {"members": ["ada"]},
        {"members": ["ada", "ada"]},
        {"members": ["ada", "bo", "cy"]},
        {"members": []},
        {"members": ["ada", "nobody"]},
        {"members": ["ada", "cy"], "id": "dm-ada-bo"},
        {"members": ["ada", "cy"], "id": "our-talk"},
    ]
    for body in wrong:
        answer = await office.create("/spaces", {"kind": "dm", **body}, status=422)
        assert answer["error"]["fields"], body
    named = await office.create("/spaces", {"kind": "dm", "members": ["ada", "cy"], "id": "dm-cy-ada"})
    assert named["id"] == "dm-ada-cy"
    await office.create("/spaces", {"kind": "dm", "members": ["ada", "bo"]}, status=409)
    await office.create("/spaces/dm-ada-bo/members", {"memberId": "cy"}, status=409)
    await office.ask("DELETE", "/spaces/dm-ada-bo/members/ada", status=409)
    await office.ask("PATCH", "/spaces/dm-ada-bo", json={"private": False}, status=422)


@pytest.mark.one_database
async def test_ids_that_would_make_dm_names_ambiguous_are_refused(office: Driver) -> None:
    for id in ("a--b", "dm-ada", "dm-ada-bo", "-ada", "_ada", "Ada", "a b", "", "x" * 65):
        await office.create("/agents", {"id": id, "name": "X", "model": "script:echo"}, status=422)
        await office.create("/spaces", {"id": id}, status=422)
    await office.agent("a-b_c")
    await office.create("/agents", {"id": "a-b_c", "name": "X", "model": "script:echo"}, status=409)
    await office.create("/agents", {"id": office.owner_id, "name": "X", "model": "script:echo"}, status=409)


async def test_owners_can_read_dms_between_agents_but_not_a_persons(office: Driver) -> None:
    for id in ("ada", "bo"):
        await office.agent(id, steps=SILENT)
    peter, api = await office.person("Peter")
    await office.dm("ada", "bo")
    await office.dm("ada", peter)
    ada = await office.as_agent("ada")
    await ada.create("/spaces/dm-ada-bo/messages", {"text": "between agents"})
    private = f"dm-ada-{peter}"
    await api.create(f"/spaces/{private}/messages", {"text": "between us"})
    assert await office.texts("dm-ada-bo") == ["between agents"]
    await office.create("/spaces/dm-ada-bo/messages", {"text": "hello?"}, status=403)
    for path in (f"/spaces/{private}", f"/spaces/{private}/messages"):
        await office.get(path, status=404)
    await office.create(f"/spaces/{private}/messages", {"text": "hello?"}, status=404)
    for path in ("/spaces/dm-ada-bo", "/spaces/dm-ada-bo/messages"):
        await api.get(path, status=404)
    assert {space["id"] for space in await office.items("/spaces")} == {"dm-ada-bo"}
    assert {space["id"] for space in await api.items("/spaces")} == {private}
    bo = await office.as_agent("bo")
    assert {space["id"] for space in await bo.items("/spaces")} == {"dm-ada-bo"}
