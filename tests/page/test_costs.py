"""Costs and budgets on the page."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.page.house import House, Visit

SPENDS = {
    "calls": [{"tool": "read_messages", "args": {}}],
    "usage": {"inputTokens": 1200, "outputTokens": 30, "cost": 2},
}


async def spending(house: House, name: str, **fields: Any) -> tuple[str, str]:
    """An agent that has spent two dollars in a room of its own."""
    agent = await house.agent(name, SPENDS, **fields)
    room = await house.room(agent)
    await house.post(room, "go")
    await house.reads(f"/agents/{agent}", lambda now: now["costToday"] >= 2)
    return agent, room


async def test_costs_are_shown_by_each_of_five(house: House, visit: Visit) -> None:
    agent, room = await spending(house, "Pricey")
    page = await visit.load("/rooms")
    await page.get_by_title("Spent today by all agents").click()
    await expect(page.get_by_role("heading", name="Costs", exact=True)).to_be_visible()
    await expect(page.get_by_role("table", name="Costs by Day").get_by_role("row")).not_to_have_count(0)
    for by, name in (("Agent", agent.capitalize()), ("Room", room), ("Model", "script"), ("Person", "Olga")):
        await page.get_by_role("button", name=by, exact=True).click()
        row = page.get_by_role("table", name=f"Costs by {by}").get_by_role("row").filter(has_text=name).first
        await expect(row.get_by_text(re.compile(r"\$\d"))).to_be_visible()


async def test_costs_are_downloaded_as_a_table(house: House, visit: Visit, tmp_path: Path) -> None:
    agent, _ = await spending(house, "Dearly")
    page = await visit.load("/costs?by=agent")
    await expect(page.get_by_role("row").filter(has_text=agent.capitalize())).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="CSV").click()
    file = tmp_path / "costs.csv"
    await (await download.value).save_as(file)
    rows = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    mine = next(row for row in rows if row["id"] == agent)
    assert (mine["Agent"], float(mine["dollars"])) == (agent.capitalize(), 2.0)


async def test_a_budget_is_made_changed_and_deleted(house: House, visit: Visit) -> None:
    agent = await house.agent("Thrifty")
    name = agent.capitalize()
    page = await visit.load("/costs")
    await page.get_by_role("button", name="New budget").click()
    dialog = page.get_by_role("dialog", name="New budget")
    await dialog.get_by_label("For").select_option("An agent")
    await dialog.get_by_label("Which").select_option(name)
    await dialog.get_by_label("At most, in dollars").fill("3")
    await dialog.get_by_role("button", name="Save").click()
    meter = page.get_by_role("meter", name=re.compile(f"Used of {name}"))
    await expect(meter).to_have_attribute("aria-valuenow", "0")
    await page.get_by_role("button", name=f"Change the limit of {name}").click()
    await page.get_by_role("dialog").get_by_label("At most, in dollars").fill("4.5")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await expect(page.get_by_text("$0.00 of $4.50")).to_be_visible()
    await page.get_by_role("button", name=f"Delete the limit of {name}").click()
    await expect(meter).to_have_count(0)
    kept = (await house.ask("GET", "/budgets", params={"subjectId": agent}))["items"]
    assert kept == []


async def test_raising_a_used_up_limit_lets_work_go_on(house: House, visit: Visit) -> None:
    says = {"calls": [{"tool": "send_message", "args": {"text": "now I can"}}]}
    agent = await house.agent("Stopped", SPENDS, says, limits={"maxCostPerDay": 1.0})
    room = await house.room(agent)
    await house.post(room, "go")
    await house.reads(f"/agents/{agent}", lambda now: bool(now.get("pausedReason")))
    page = await visit.load(f"/costs?budget=lim_{agent}_usd")
    dialog = page.get_by_role("dialog", name=f"Limit of {agent.capitalize()}")
    await expect(dialog.get_by_label("At most, in dollars")).to_have_value("1")
    await dialog.get_by_label("At most, in dollars").fill("20")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("$2.00 of $20.00")).to_be_visible()
    await visit.room(room)
    await expect(page.get_by_role("log").get_by_text("now I can")).to_be_visible()


@pytest.mark.fresh_page
async def test_the_first_script_stays_small(house: House, visit: Visit) -> None:
    """Models and costs are loaded where they are looked at."""
    asked: list[str] = []
    visit.context.on("request", lambda request: asked.append(request.url))
    page = await visit.load("/runs")
    await expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    assert not [url for url in asked if re.search(r"/(Models|Costs|ConnectModel)-", url)]
    await visit.go("/models")
    await expect(page.get_by_role("heading", name=re.compile("^Models"))).to_be_visible()
    assert [url for url in asked if "/Models-" in url]
