"""Tokens: shown once, kept as a hash, and exactly as strong as their holder."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bullpen.storage import Statement, Transaction, metadata
from tests.api.test_bad_input import refused
from tests.driver import Api, Driver


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer bp_wrong", "Basic dXNlcjpwYXNz", "bp_wrong"])
async def test_without_a_known_token_nothing_is_answered(office: Driver, header: str) -> None:
    stranger = Api(office.office, None)
    response = await stranger.http.get("/spaces", headers={"Authorization": header} if header else {})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "unauthenticated"


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


async def test_an_owners_token_is_not_made_over_the_network(office: Driver) -> None:
    await refused(office, "POST", "/tokens", 403, json={"name": "spare", "owner": True})
