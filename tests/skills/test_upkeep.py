"""Skills in what is exported, erased and restored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import orjson
import pytest
from sqlalchemy import text

from bullpen.storage import Row, Statement, Transaction
from tests.driver import Api, Driver
from tests.skills.offices import STANDUP, stored, studio

SECRET = "zanzibar"


async def told_of(office: Driver, path: str) -> list[str]:
    response = await office.http.get(f"{path}/export")
    lines = [orjson.loads(line) for line in response.content.splitlines()]
    return [line["skill"]["name"] for line in lines if line["type"] == "skill"]


async def team(office: Driver) -> tuple[str, Api]:
    await studio(office)
    id, pia = await office.person("Pia")
    await office.create("/spaces/studio/members", {"memberId": id})
    return id, pia


async def test_exports_contain_the_skills_of_a_space_or_author(office: Driver) -> None:
    id, pia = await team(office)
    await stored(office, "mine")
    await stored(pia, "hers")
    await stored(await office.as_agent("ada"), "adas")
    assert sorted(await told_of(office, "/spaces/studio")) == ["adas", "hers", "mine"]
    assert await told_of(office, f"/people/{id}") == ["hers"]
    assert await told_of(office, "/agents/ada") == ["adas"]


async def _all(tx: Transaction, statement: Statement) -> Sequence[Row]:
    return await tx.all(statement)


async def _everything(office: Driver) -> str:
    """All that the database holds, as text."""
    tables = ("skills", "messages", "inbox_items", "runs", "run_messages", "events", "prompts")
    found = []
    for table in tables:
        whole = Statement(text(f"SELECT * FROM {table}"))
        found += [str(tuple(row)) for row in await office.office.store.read(partial(_all, statement=whole))]
    return "\n".join(found)


@pytest.mark.parametrize("whose", ["person", "agent", "space"])
async def test_erasure_removes_every_word_of_the_subjects_skills(office: Driver, whose: str) -> None:
    id, pia = await team(office)
    writer = pia if whose == "person" else await office.as_agent("ada") if whose == "agent" else office
    said = {"description": f"d {SECRET}", "instructions": f"Do\n{SECRET}.", "parameters": f"p {SECRET}"}
    kept = await stored(writer, "first", **said)
    if whose == "agent":
        await office.create("/spaces/studio/skills/first/approve", {"hash": kept["hash"]})
    await office.post("studio", "/first today")
    await office.run_finished("ada")
    await stored(office, "second")
    await stored(writer, "second", status="proposed", **said)
    path = {"person": f"/people/{id}/erase", "agent": "/agents/ada/erase", "space": "/spaces/studio"}[whose]
    await office.ask("DELETE" if whose == "space" else "POST", path)
    assert SECRET not in await _everything(office)
    if whose != "space":
        [left] = await office.items("/skills")
        assert (left["name"], left["instructions"], "proposal" in left) == ("second", STANDUP["instructions"], False)
        assert whose != "agent" or "agentId" not in left


async def test_erasing_an_approver_keeps_the_skill_without_their_name(office: Driver) -> None:
    id, pia = await team(office)
    proposed = await stored(await office.as_agent("ada"))
    await pia.create("/spaces/studio/skills/standup/approve", {"hash": proposed["hash"]})
    await office.create(f"/people/{id}/erase", {})
    left = await office.get("/spaces/studio/skills/standup")
    assert (left["status"], "approvedBy" in left) == ("active", False)
    assert id not in str(left)


async def test_erasing_a_person_deletes_the_skills_of_their_dms(office: Driver) -> None:
    id, _ = await team(office)
    space = (await office.dm("ada", id))["id"]
    await stored(await office.as_agent("ada"), space=space)
    await office.create(f"/people/{id}/erase", {})
    assert SECRET not in await _everything(office)
    rows = await office.office.store.read(lambda tx: tx.all(Statement(text("SELECT space_id FROM skills"))))
    assert list(rows) == []
