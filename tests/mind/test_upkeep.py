"""Goals, memories and plans in what is exported, erased, backed up and forgotten."""

from __future__ import annotations

import orjson
import pytest

from bullpen.settings import RetentionSettings
from bullpen.testing import snapshot
from bullpen.upkeep import retention
from tests.driver import Driver, Json, Offices
from tests.mind.minds import later, mind, plans, told, woken
from tests.path.scripts import call, step

SECRET = "quite secret"
WRITE: list[Json] = [
    step(call("set_goals", goals=[{"description": SECRET}])),
    step(call("set_memories", memories=[{"key": "k", "value": SECRET}])),
    plans(later(SECRET)),
]


async def exported(office: Driver, path: str) -> list[str]:
    response = await office.http.get(path)
    lines = [orjson.loads(line) for line in response.content.splitlines()]
    return [line["type"] for line in lines if line["type"] in ("goal", "memory", "plan")]


@pytest.mark.parametrize("kind", ["agents", "people", "spaces"])
async def test_an_export_holds_what_is_theirs(offices: Offices, kind: str) -> None:
    office, _ = await mind(offices, *WRITE)
    await told(office)
    id = {"agents": "ada", "people": office.driver.owner_id, "spaces": "desk"}[kind]
    found = await exported(office.driver, f"/{kind}/{id}/export")
    assert found == (["goal", "memory", "plan"] if kind == "agents" else ["plan"])


@pytest.mark.parametrize("whose", ["person", "agent", "space"])
async def test_whoever_is_erased_leaves_no_plan(offices: Offices, whose: str) -> None:
    office, _ = await mind(offices, *WRITE)
    id, pia = await office.driver.person("Pia")
    await office.driver.create("/spaces/desk/members", {"memberId": id})
    await pia.create("/spaces/desk/messages", {"text": "hello"})
    await office.driver.idle()
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=2)
    path = {"person": f"/people/{id}/erase", "agent": "/agents/ada/erase", "space": "/spaces/desk"}[whose]
    await office.driver.ask("DELETE" if whose == "space" else "POST", path)
    rows = await snapshot.read(office.driver.office.settings.database_url)
    assert rows["plans"] == rows["task_firings"] == []
    assert [item for item in rows["inbox_items"] if item["kind"] == "plan"] == []
    if whose == "agent":
        assert rows["goals"] == rows["memories"] == []
        assert SECRET not in str([rows[table] for table in ("events", "prompts", "run_messages", "inbox_items")])


async def test_a_deleted_agent_is_not_woken_and_its_plan_rests(offices: Offices) -> None:
    office, _ = await mind(offices, *WRITE)
    await told(office)
    await office.driver.ask("DELETE", "/agents/ada")
    await office.wait(hours=3)
    assert await woken(office) == []
    rows = await snapshot.read(office.driver.office.settings.database_url)
    assert [(plan["status"], plan["reason"]) for plan in rows["plans"]] == [("paused", "Its agent, Ada, is gone.")]


async def test_a_plan_that_is_long_over_is_forgotten(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later(), later(cron="0 0 1 1 *")))
    await told(office)
    await office.wait(hours=2)
    settings = RetentionSettings(journals_days=90, events_days=0, sessions_days=0)
    store = office.driver.office.store
    assert (await retention.forget(store, settings)).plans == 0
    await office.wait(days=91)
    assert (await retention.forget(store, settings)).plans == 1
    assert len(await office.driver.items("/agents/ada/plans")) == 1
    assert await office.driver.items("/agents/ada/plans", status="completed") == []
