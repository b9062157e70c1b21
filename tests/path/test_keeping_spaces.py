"""Whoever is in a space may name it and bring others; what changes it for everybody is for those who keep it."""

from __future__ import annotations

import pytest

from tests.driver import Api, Driver
from tests.driver import Json as Fields


async def lab(office: Driver) -> tuple[Api, Api, str]:
    """A private room that Mia has made, and that Bo is in; and Bo's id."""
    _, mia = await office.person("Mia")
    bo_id, bo = await office.person("Bo")
    await office.agent("ada")
    await mia.create("/spaces", {"id": "lab", "kind": "channel", "name": "Lab", "private": True, "members": [bo_id]})
    return mia, bo, bo_id


@pytest.mark.parametrize("change", [{"private": False}, {"archived": True}, {"folder": "other"}])
@pytest.mark.one_database
async def test_only_its_keeper_changes_a_space_for_everybody(office: Driver, change: Fields) -> None:
    mia, bo, _ = await lab(office)
    refused = await bo.ask("PATCH", "/spaces/lab", json=change, status=403)
    assert "person who made 'lab'" in refused["error"]["message"]
    await mia.ask("PATCH", "/spaces/lab", json=change)


@pytest.mark.one_database
async def test_every_member_may_name_a_space_and_bring_others(office: Driver) -> None:
    _, bo, _ = await lab(office)
    carl, _ = await office.person("Carl")
    changed = await bo.ask("PATCH", "/spaces/lab", json={"name": "Labs", "topic": "Tea", "private": True})
    assert (changed["name"], changed["topic"]) == ("Labs", "Tea")
    for member in (carl, "ada"):
        await bo.create("/spaces/lab/members", {"memberId": member})
    await bo.ask("DELETE", "/spaces/lab/members/ada", status=204)


async def test_only_its_keeper_removes_people_from_a_space(office: Driver) -> None:
    mia, bo, bo_id = await lab(office)
    mia_id = (await mia.get("/me"))["id"]
    await bo.ask("DELETE", f"/spaces/lab/members/{mia_id}", status=403)
    await mia.ask("DELETE", f"/spaces/lab/members/{bo_id}", status=204)
    await bo.ask("GET", "/spaces/lab", status=404)


async def test_a_private_room_is_left_to_those_in_it(office: Driver) -> None:
    mia, bo, _ = await lab(office)
    mia_id = (await mia.get("/me"))["id"]
    await mia.ask("DELETE", f"/spaces/lab/members/{mia_id}", status=204)
    await mia.ask("PATCH", "/spaces/lab", json={"archived": True}, status=404)
    await office.ask("PATCH", "/spaces/lab", json={"archived": True}, status=404)  # owners do not see into it
    await bo.ask("PATCH", "/spaces/lab", json={"archived": True})


async def test_a_public_room_without_its_maker_is_kept_by_owners(office: Driver) -> None:
    mia, bo, _ = await lab(office)
    await mia.ask("PATCH", "/spaces/lab", json={"private": False})
    mia_id = (await mia.get("/me"))["id"]
    await mia.ask("DELETE", f"/spaces/lab/members/{mia_id}", status=204)
    await bo.ask("PATCH", "/spaces/lab", json={"archived": True}, status=403)
    await office.ask("PATCH", "/spaces/lab", json={"archived": True})


async def test_a_value_for_a_room_is_set_by_its_keeper(office: Driver) -> None:
    mia, bo, _ = await lab(office)
    value = {"value": "Rome", "type": "text", "scope": {"kind": "space", "id": "lab"}}
    await bo.ask("PUT", "/variables/CITY", json=value, status=403)
    await mia.ask("PUT", "/variables/CITY", json=value)


@pytest.mark.one_database
async def test_a_rooms_model_is_chosen_by_who_manages_agents(office: Driver) -> None:
    mia, _, _ = await lab(office)
    await mia.create("/spaces/lab/members", {"memberId": office.owner_id})
    await mia.ask("PATCH", "/spaces/lab", json={"model": "script:echo"}, status=403)
    await mia.ask("POST", "/spaces", json={"kind": "channel", "name": "Own", "model": "script:echo"}, status=403)
    await office.ask("PATCH", "/spaces/lab", json={"model": "script:echo"})


@pytest.mark.one_database
async def test_both_sides_of_a_dm_keep_it(office: Driver) -> None:
    mia, bo, bo_id = await lab(office)
    dm = await mia.create("/spaces", {"kind": "dm", "members": [(await mia.get("/me"))["id"], bo_id]})
    value = {"value": "Rome", "type": "text", "scope": {"kind": "space", "id": dm["id"]}}
    for side in (mia, bo):
        await side.ask("PUT", "/variables/CITY", json=value)
