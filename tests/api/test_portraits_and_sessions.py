"""Pictures of people and agents, where somebody is signed in, invites that lead somewhere, instructions over time."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

from tests.driver import Api, Driver, Offices
from tests.files.offering import faults, give, picture
from tests.refusals import refused

PASSWORD = "correct horse battery"


async def small(api: Api, id: str) -> tuple[int, int]:
    answer = await api.http.get(f"/avatars/{id}")
    assert answer.is_success, answer.text
    return Image.open(BytesIO(answer.content)).size


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_person_shows_a_picture_of_their_own(office: Driver) -> None:
    mia_id, mia = await office.person("Mia")
    await office.space("den", [mia_id])
    made = await give(mia, picture("PNG", (800, 800)), "me.png")
    changed = await mia.ask("PATCH", f"/people/{mia_id}", json={"avatar": made["id"]})
    assert changed["avatar"] == made["id"]
    assert (await small(office, mia_id))[0] <= 320
    den = await office.get("/spaces/den")
    assert {m["id"]: m.get("avatar") for m in den["memberDetails"]}[mia_id] == made["id"]
    assert await faults(office) == []

    other = await give(mia, picture("PNG", (300, 300)), "other.png")
    await mia.ask("PATCH", f"/people/{mia_id}", json={"avatar": other["id"]})
    await refused(mia, "GET", f"/files/{made['id']}", 404)  # nothing shows it any more
    assert (await mia.ask("PATCH", f"/people/{mia_id}", json={"avatar": None})).get("avatar") is None
    await refused(office, "GET", f"/avatars/{mia_id}", 404)
    assert await faults(office) == []


async def test_nobody_takes_the_file_of_somebody_else_as_a_picture(office: Driver) -> None:
    mia_id, mia = await office.person("Mia")
    stan_id, stan = await office.person("Stan")
    private = await give(mia, picture("PNG", (300, 300)), "private.png")
    await refused(stan, "PATCH", f"/people/{stan_id}", 422, json={"avatar": private["id"]})
    await refused(stan, "PATCH", f"/people/{mia_id}", 403, json={"avatar": None})
    text = await give(mia, b"hello", "note.txt")
    await refused(mia, "PATCH", f"/people/{mia_id}", 422, json={"avatar": text["id"]})
    assert (await mia.ask("PATCH", f"/people/{mia_id}", json={"avatar": private["id"]}))["avatar"] == private["id"]
    # Whoever manages people may take a picture away, and cannot choose one for them.
    assert (await office.ask("PATCH", f"/people/{mia_id}", json={"avatar": None})).get("avatar") is None
    assert await faults(office) == []


async def test_an_agent_has_a_picture_and_loses_it_when_erased(office: Driver) -> None:
    made = await give(office, picture("PNG", (300, 300)), "ada.png")
    agent = await office.agent("ada", steps=[], avatar=made["id"])
    assert agent["avatar"] == made["id"]
    assert await small(office, "ada") == (300, 300)
    assert (await office.ask("PATCH", "/agents/ada", json={"avatar": "🦊"}))["avatar"] == "🦊"
    await refused(office, "GET", "/avatars/ada", 404)
    again = await give(office, picture("PNG", (300, 300)), "again.png")
    await office.ask("PATCH", "/agents/ada", json={"avatar": again["id"]})
    await office.ask("POST", "/agents/ada/erase")
    await refused(office, "GET", "/avatars/ada", 404)
    assert await faults(office) == []


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_people_see_where_they_are_signed_in(offices: Offices) -> None:
    office = await offices.open()
    made = await office.create("/people", {"name": "Mia", "password": PASSWORD})
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    here, there = Api(office.office, None), Api(office.office, None)
    here.http.headers["user-agent"] = firefox
    there.http.headers["user-agent"] = "curl/8\x1b[31m"
    for each in (here, there):
        await each.create("/session", {"name": "Mia", "password": PASSWORD})
    found = await here.items("/sessions")
    assert {(one["device"], one["current"]) for one in found} == {("Firefox on Linux", True), ("curl/8[31m", False)}
    assert {one["personId"] for one in found} == {made["id"]}

    other = next(one for one in found if not one["current"])
    await here.ask("DELETE", f"/sessions/{other['id']}", status=204)
    await refused(there, "GET", "/me", 401)
    assert len(await here.items("/sessions")) == 1
    await refused(here, "DELETE", f"/sessions/{other['id']}", 404)


async def test_only_owners_see_and_end_sessions_of_others(office: Driver) -> None:
    await office.create("/people", {"name": "Mia", "password": PASSWORD})
    await office.create("/people", {"name": "Stan", "password": PASSWORD})
    mia, stan = Api(office.office, None), Api(office.office, None)
    for each, name in ((mia, "Mia"), (stan, "Stan")):
        await each.create("/session", {"name": name, "password": PASSWORD})
    (of_mia,) = await mia.items("/sessions")
    assert [one["name"] for one in await stan.items("/sessions", personId=of_mia["personId"])] == ["Stan"]
    await refused(stan, "DELETE", f"/sessions/{of_mia['id']}", 404)
    assert {one["name"] for one in await office.items("/sessions")} == {"Mia", "Stan"}
    assert [one["id"] for one in await office.items("/sessions", personId=of_mia["personId"])] == [of_mia["id"]]
    await office.ask("DELETE", f"/sessions/{of_mia['id']}", status=204)
    await refused(mia, "GET", "/me", 401)


# ── invites ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_invite_says_who_invites_and_leads_into_spaces(office: Driver) -> None:
    await office.space("welcome", name="Welcome", private=True)
    made = await office.create("/invites", {"spaceIds": ["welcome"]})
    assert made["localOnly"] is True
    stranger = Api(office.office, None)
    shown = await stranger.ask("POST", "/invites/look", json={"code": made["code"]}, status=200)
    assert (shown["invitedBy"], shown["spaces"], shown["role"]) == ("Olga", ["Welcome"], "member")
    await refused(stranger, "POST", "/invites/look", 404, json={"code": "nonsense-nonsense"})
    joined = await stranger.create("/invites/accept", {"code": made["code"], "name": "Mia", "password": PASSWORD})
    assert joined["id"] in (await stranger.get("/spaces/welcome"))["members"]
    await refused(stranger, "POST", "/invites/look", 410, json={"code": made["code"]})


async def test_an_invite_cannot_open_what_its_maker_cannot(office: Driver) -> None:
    await office.space("den", private=True)
    made = await office.create("/people", {"name": "Adi", "role": "admin"})
    token = await office.create("/tokens", {"name": "adi", "personId": made["id"]})
    adi = Api(office.office, token["token"])
    await refused(adi, "POST", "/invites", 404, json={"spaceIds": ["den"]})
    await office.space("open")
    await refused(adi, "POST", "/invites", 403, json={"spaceIds": ["open"]})
    await office.ask("POST", "/spaces/den/members", json={"memberId": made["id"]})
    invite = await adi.create("/invites", {"spaceIds": ["den"]})
    await office.ask("DELETE", f"/spaces/den/members/{made['id']}", status=204)
    late = Api(office.office, None)
    joined = await late.create("/invites/accept", {"code": invite["code"], "name": "Mia", "password": PASSWORD})
    assert joined["id"] not in (await office.get("/spaces/den"))["members"]


# ── instructions ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_instructions_keep_their_history_with_who_changed_them(office: Driver) -> None:
    await office.agent("ada", steps=[], instructions="Be kind.\nBe brief.")
    await office.ask("PATCH", "/agents/ada", json={"instructions": "Be kind.\nBe exact."})
    await office.ask("PATCH", "/agents/ada", json={"name": "Ada L."})  # no other version
    found = await office.items("/agents/ada/instructions/history")
    assert [(one["version"], one["content"], one["by"]) for one in found] == [
        (2, "Be kind.\nBe exact.", office.owner_id),
        (1, "Be kind.\nBe brief.", office.owner_id),
    ]
    compared = await office.get("/agents/ada/instructions/history", params={"from": 1, "to": 2, "limit": 1})
    assert compared["diff"].splitlines()[-3:] == [" Be kind.", "-Be brief.", "+Be exact."]
    assert compared["next"] == "2"
    await refused(office, "GET", "/agents/ada/instructions/history", 404, params={"from": 1, "to": 9})
    _, mia = await office.person("Mia")
    await refused(mia, "GET", "/agents/ada/instructions/history", 403)


@pytest.mark.one_database
async def test_an_agent_that_never_changed_has_one_version(office: Driver) -> None:
    await office.agent("bo", steps=[])
    assert [one["version"] for one in await office.items("/agents/bo/instructions/history")] == [1]
    await office.ask("PATCH", "/agents/bo", json={"instructions": "New."})
    found = await office.items("/agents/bo/instructions/history")
    assert [(one["version"], one["content"]) for one in found] == [(2, "New."), (1, "")]
