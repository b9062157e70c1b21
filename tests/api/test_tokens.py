"""Tokens: shown once, kept as a hash, and exactly as strong as their holder."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bullpen.storage import Statement, Transaction, metadata
from tests.driver import Api, Driver, Offices
from tests.feed.worlds import World
from tests.refusals import refused


@pytest.fixture
async def office(offices: Offices) -> Driver:
    return await offices.open(drive=False, watch=False)


@pytest.mark.one_database
@pytest.mark.proves("A9")
async def test_without_a_known_token_nothing_is_answered(office: Driver) -> None:
    stranger = Api(office.office, None)
    good = office.token or ""
    for header in (
        "",
        "Bearer",
        "Bearer ",
        "Bearer bp_wrong",
        "Basic dXNlcjpwYXNz",
        good,
        f"Token {good}",
        f"Bearer {good}x",
    ):
        response = await stranger.http.get("/spaces", headers={"Authorization": header} if header else {})
        assert response.status_code == 401, header
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"]["code"] == "unauthenticated"
    for odd in (f"bearer {good}", f"BEARER  {good} "):
        assert (await stranger.http.get("/spaces", headers={"Authorization": odd})).status_code == 200
    assert (await stranger.http.get("/spaces", params={"token": good, "access_token": good})).status_code == 401


@pytest.mark.one_database
async def test_an_unauthenticated_request_is_refused_before_its_input_is_checked(office: Driver) -> None:
    stranger = Api(office.office, None)
    for path in ("/tokens", "/spaces", "/agents", "/apply"):
        await refused(stranger, "POST", path, 401, json={"noSuchField": 1})
    await refused(stranger, "POST", "/tokens", 401, json={"name": "x", "owner": True})
    await refused(stranger, "GET", "/runs", 401, params={"limit": 0})


async def test_a_revoked_token_is_refused_at_once(office: Driver) -> None:
    await office.agent("ada")
    made = await office.create("/tokens", {"name": "ada's", "agentId": "ada"}, status=201)
    agent = Api(office.office, made["token"])
    assert (await agent.get("/me"))["id"] == "ada"
    assert made["id"] in [token["id"] for token in await office.items("/tokens")]
    await office.ask("DELETE", f"/tokens/{made['id']}", status=204)
    await refused(agent, "GET", "/me", 401)
    assert made["id"] not in [token["id"] for token in await office.items("/tokens")]


async def test_the_token_of_a_deleted_agent_is_refused(office: Driver) -> None:
    await office.agent("ada")
    agent = await office.as_agent("ada")
    await office.ask("DELETE", "/agents/ada", status=204)
    await refused(agent, "GET", "/me", 401)


@pytest.mark.proves("A14")
async def test_no_row_of_any_table_holds_a_token(office: Driver) -> None:
    await office.agent("ada")
    issued = [office.token or "", (await office.create("/tokens", {"name": "x", "agentId": "ada"}))["token"]]

    async def everything(tx: Transaction) -> str:
        return repr([list(map(tuple, await tx.all(Statement(select(table))))) for table in metadata.sorted_tables])

    dump = await office.office.store.read(everything)
    assert "ada" in dump
    assert not [token for token in issued if token in dump or token.removeprefix("bp_") in dump]


@pytest.mark.one_database
async def test_an_agents_token_acts_as_that_agent_and_no_further(office: Driver) -> None:
    await office.agent("ada")
    await office.space("hall", ["ada"])
    agent = await office.as_agent("ada")
    message = await agent.create("/spaces/hall/messages", {"text": "by token"}, status=201)
    assert (message["authorId"], message["authorKind"]) == ("ada", "agent")
    await refused(agent, "POST", "/agents", 403, json={"name": "B", "model": "script:echo"})
    await refused(agent, "POST", "/spaces", 403, json={"id": "den"})
    await refused(agent, "POST", "/tokens", 403, json={"name": "more"})
    await refused(agent, "GET", "/tokens", 403)
    await refused(agent, "POST", "/apply", 403, json={})


@pytest.mark.one_database
async def test_an_owners_token_is_not_made_over_the_network(office: Driver) -> None:
    await refused(office, "POST", "/tokens", 403, json={"name": "spare", "owner": True})


@pytest.mark.one_database
async def test_a_value_is_shown_once_and_never_listed(office: Driver) -> None:
    await office.agent("ada")
    made = await office.create("/tokens", {"name": "once", "agentId": "ada"})
    assert set(made) == {"id", "token"}
    listed = next(token for token in await office.items("/tokens") if token["id"] == made["id"])
    assert set(listed) == {"id", "name", "kind", "agentId", "createdAt"}
    for path in ("/tokens", "/me", "/people", "/agents/ada", "/spaces"):
        assert made["token"].removeprefix("bp_") not in (await office.http.get(path)).text


@pytest.mark.one_database
@pytest.mark.parametrize("holder", ["agent", "person"])
async def test_a_tools_token_acts_as_nobody_and_reads_nothing(world: World, holder: str) -> None:
    """It will answer calls of its tools; it reads, says and changes nothing, whoever it was made for."""
    of = {"agent": {"agentId": "ada"}, "person": {"personId": world.office.owner_id}}[holder]
    made = await world.office.create("/tokens", {"name": "sdk", "tools": ["show_clock"], **of})
    tools = Api(world.office.office, made["token"])
    me = await tools.get("/me")
    assert (me["kind"], me["id"], me["grants"]) == ("tools", made["id"], [])
    assert await tools.items("/spaces") == await tools.items("/runs") == await tools.items("/agents") == []
    for space_id in ("team", "lobby", "ring", "den"):
        await refused(tools, "GET", f"/spaces/{space_id}/messages", 404)
        await refused(tools, "POST", f"/spaces/{space_id}/messages", 404, json={"text": "as somebody else"})
    await refused(tools, "GET", "/agents/ada/blocks", 403)
    await refused(tools, "GET", "/people", 403)
    await refused(tools, "POST", f"/runs/{world.runs['team']}/cancel", 404)
    await refused(tools, "GET", "/agents/ada", 404)


@pytest.mark.one_database
async def test_only_an_agent_and_owners_see_its_instructions_and_model(world: World) -> None:
    hidden = {"instructions", "model", "limits", "blocks"}
    for name, sees in (("owner", True), ("ada", True), ("pia", False), ("otto", False)):
        assert (hidden <= set(await world[name].get("/agents/ada"))) is sees, name
        listed = next(agent for agent in await world[name].items("/agents") if agent["id"] == "ada")
        assert ({"instructions", "model"} <= set(listed)) is sees, name
