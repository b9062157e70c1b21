"""A token lives no longer than the one it was made with: it ends with it, by time and by hand."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.testing import FakeClock
from tests.driver import Api, Driver, Offices
from tests.path.scripts import Json
from tests.refusals import refused


async def made_with(api: Api, office: Driver, **more: object) -> tuple[Json, Api]:
    found = await api.create("/tokens", {"name": "t", **more}, status=201)
    return found, Api(office.office, found["token"])


@pytest.mark.parametrize("more", [{}, {"days": 400}, {"agentId": "ada"}, {"agentId": "ada", "tools": ["x"]}], ids=str)
async def test_a_token_made_with_a_short_one_ends_with_it(offices: Offices, more: Json) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, drive=False, watch=False)
    await office.agent("ada")
    _, short = await made_with(office, office, days=1)
    child, api = await made_with(short, office, **more)
    await made_with(office, office, days=1)
    ends = {token["id"]: token.get("expiresAt") for token in await office.items("/tokens")}
    assert len({end for end in ends.values() if end is not None}) == 1, "all of them end at the same time"
    assert ends[child["id"]] is not None
    await api.get("/pending" if "tools" in more else "/me")
    clock.advance(86_400 + 1)
    await refused(short, "GET", "/me", 401)
    await refused(api, "GET", "/me", 401)


async def test_a_shorter_time_than_its_makers_is_kept(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock, drive=False, watch=False)
    _, month = await made_with(office, office, days=30)
    _, day = await made_with(month, office, days=1)
    clock.advance(86_400 + 1)
    await refused(day, "GET", "/me", 401)
    await month.get("/me")


async def test_revoking_a_token_revokes_all_that_came_of_it(offices: Offices) -> None:
    office = await offices.open(drive=False, watch=False)
    first, parent = await made_with(office, office)
    _, child = await made_with(parent, office)
    _, grandchild = await made_with(child, office)
    _, sibling = await made_with(office, office)
    await office.ask("DELETE", f"/tokens/{first['id']}", status=204)
    for api in (parent, child, grandchild):
        await refused(api, "GET", "/me", 401)
    await sibling.get("/me")
    revoked = [row for row in await office.items("/audit") if row["action"] == "token.revoked"]
    assert len(revoked) == 3


async def test_a_child_cannot_be_made_while_its_maker_is_revoked(offices: Offices) -> None:
    """Whichever comes first, nothing of the family works afterwards."""
    office = await offices.open(drive=False, watch=False)
    for _ in range(5):
        first, parent = await made_with(office, office)
        making = [parent.http.post("/tokens", json={"name": "c"}) for _ in range(4)]
        _, *answers = await asyncio.gather(office.ask("DELETE", f"/tokens/{first['id']}", status=204), *making)
        for answer in answers:
            assert answer.status_code in (201, 401)
            if answer.status_code == 201:
                await refused(Api(office.office, answer.json()["token"]), "GET", "/me", 401)


async def test_erasing_a_person_revokes_what_their_tokens_made(offices: Offices) -> None:
    office = await offices.open(drive=False, watch=False)
    await office.agent("ada")
    person = await office.create("/people", {"name": "Pia", "role": "owner"})
    _, theirs = await made_with(office, office, personId=person["id"])
    _, agent = await made_with(theirs, office, agentId="ada")
    await agent.get("/me")
    await office.ask("POST", f"/people/{person['id']}/erase")
    await refused(agent, "GET", "/me", 401)
