"""Runs and agents: what happened and why, what did not and why not, and looking after them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import expect

from bullpen.testing.model_server import ModelServer, stalls
from bullpen.testing.wires import Text
from tests.page.house import House, Visit


def says(text: str) -> dict[str, Any]:
    return {"text": "I know this one.", "calls": [{"tool": "send_message", "args": {"text": text}}]}


async def test_messages_and_silences_can_both_be_explained(house: House, visit: Visit) -> None:
    speaks = await house.agent("Ada", says("Forty-two."))
    silent = await house.agent("Iris", {"calls": [{"tool": "do_nothing", "args": {}}]})
    room = await house.room(speaks, silent, wake={"people": "mention", "agents": "none"})
    await house.post(room, f"@{speaks} and @{silent}, how many?")
    page = await visit.room(room)
    await expect(page.get_by_text(f"{silent.capitalize()} read this and chose not to answer.")).to_be_visible()
    await page.get_by_role("button", name="Why this?").click()
    panel = page.get_by_role("complementary", name="Why?")
    await expect(panel.get_by_text("Woken by Olga")).to_be_visible()
    await expect(panel.get_by_text("I know this one.")).to_be_visible()
    await expect(panel.get_by_text("send_message")).to_be_visible()
    await expect(panel.get_by_text("Finished: spoke")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)
    # Why not: an agent that nobody mentioned.
    await house.post(room, "and what of this?")
    asked = page.get_by_role("article").filter(has_text="and what of this?")
    await asked.hover()
    await asked.get_by_role("button", name="Why?", exact=True).click()
    await expect(panel.get_by_text("not woken").first).to_be_visible()
    await expect(panel.get_by_text(re.compile("mention")).first).to_be_visible()
    await expect(panel.get_by_role("button", name="Change the rule").first).to_be_visible()


async def test_runs_can_be_listed_filtered_and_read_in_full(house: House, visit: Visit) -> None:
    agent = await house.agent("Nora", says("Read me."))
    await house.agent("Vera", says("Not me."))
    room = await house.room(agent)
    await house.post(room, "please")
    page = await visit.go(f"/runs?agentId={agent}")
    line = page.get_by_role("link", name=re.compile("woken by Olga"))
    await expect(line).to_have_count(1)
    await expect(line.get_by_text("spoke")).to_be_visible()
    await page.get_by_label("Status").select_option("failed")
    await expect(page.get_by_text("No runs match")).to_be_visible()
    await page.get_by_role("button", name="Clear the filters").click()
    await page.goto(f"{house.url}/runs?agentId={agent}")
    # However long its journal is: here each page of it has one entry.
    in_ones = lambda route: route.continue_(url=route.request.url.replace("limit=200", "limit=1"))  # noqa: E731
    await page.route(re.compile(r"/api/runs/.*/messages"), in_ones)
    await line.click()
    await expect(page.get_by_role("heading", name=re.compile(f"Run · {agent.capitalize()}"))).to_be_visible()
    steps = page.get_by_role("list", name="What happened")
    for part in ("Woken by Olga", "please", "Thought", "send_message", "Finished: spoke", "nothing left to do"):
        await expect(steps.get_by_text(part).first).to_be_attached()
    await expect(page.get_by_text("Tokens in, out")).to_be_visible()


async def test_a_run_shows_step_costs_and_whom_it_waited_for(house: House, visit: Visit) -> None:
    await house.tool("confirm")
    asks = {"text": "I had better ask.", "calls": [{"tool": "confirm", "args": {"question": "Go?"}}]}
    costs = {"usage": {"inputTokens": 1200, "outputTokens": 34, "cost": 0.25}}
    goes_on = {"calls": [{"tool": "send_message", "args": {"text": "Done."}}]}
    turns = [{"when": "^please$", "steps": [asks | costs, goes_on]}]
    agent = await house.agent("Nora", turns=turns, tools=["messaging", "confirm"])
    room = await house.room(agent)
    await house.post(room, "please")
    page = await visit.room(room)
    await page.get_by_role("region", name=re.compile("Question: Go")).get_by_role("button", name="Yes").click()
    await expect(page.get_by_role("log").get_by_text("Done.")).to_be_visible()
    run = (await house.ask("GET", "/runs", params={"spaceId": room}))["items"][-1]["id"]
    await visit.go(f"/runs/{run}")
    steps = page.get_by_role("list", name="What happened").get_by_role("listitem")
    first = steps.filter(has_text="Step 1").first
    await expect(first.get_by_text(re.compile(r"1,200 \+ 34 tokens · \$0\.25"))).to_be_visible()
    await expect(first.get_by_text("I had better ask.")).to_be_visible()
    await expect(first.get_by_text(re.compile("waited for an answer · Olga: Yes"))).to_be_visible()
    second = steps.filter(has_text="Step 2").first
    await expect(second.get_by_text("send_message")).to_be_visible()
    await second.get_by_role("link", name="Show what was said").click()
    await expect(page.get_by_role("log").get_by_text("Done.")).to_be_in_viewport()


async def test_a_run_under_way_is_seen_live_and_stopped(house: House, visit: Visit, provider: ModelServer) -> None:
    provider.gives(stalls(Text("thinking about it"), after=3))
    agent = await house.agent("Thinker")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": "anthropic:claude-test"})
    room = await house.room(agent)
    page = await visit.room(room)
    await page.get_by_label(f"Message {room}").fill("think")
    await page.get_by_label(f"Message {room}").press("Enter")
    await expect(page.get_by_role("status").filter(has_text="is thinking")).to_be_visible()
    await page.get_by_role("link", name="Runs").first.click()
    await page.get_by_role("link", name=re.compile(agent.capitalize())).first.click()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_role("status").filter(has_text="stopped")).to_be_visible()
    end = page.get_by_role("list", name="What happened").get_by_role("listitem").last
    await expect(end).to_have_text(re.compile(r"^Olga stopped it\s*\d\d:\d\d:\d\d"))
    await expect(page.get_by_text("Stopped by")).to_have_count(0)


async def test_an_agent_is_looked_at_changed_paused_and_talked_to(house: House, visit: Visit) -> None:
    agent = await house.agent(
        "Wren", says("Hm."), instructions="Say little.", blocks={"mood": "quiet"}, tools=["messaging"]
    )
    page = await visit.go("/agents")
    name = agent.capitalize()
    await page.get_by_role("link", name=name).click()
    box = page.get_by_role("textbox", name=re.compile("^Instructions"))
    await expect(box).to_have_value("Say little.")
    await box.fill("Say less.")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await house.reads(f"/agents/{agent}", lambda now: now["instructions"] == "Say less.")
    await page.get_by_role("button", name="Undo").click()
    await expect(box).to_have_value("Say little.")
    await house.reads(f"/agents/{agent}", lambda now: now["instructions"] == "Say little.")
    await page.get_by_role("tab", name="Memory").click()
    await page.get_by_role("textbox", name="mood").fill("very quiet")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved", exact=True).first).to_be_visible()
    await house.reads(f"/agents/{agent}", lambda now: now["blocks"]["mood"] == "very quiet")
    await page.get_by_role("tab", name="Tools").click()
    await page.get_by_label("May it use messaging?").or_(page.get_by_label("May it use send_message?")).first.wait_for()
    await page.get_by_role("button", name=f"Pause {name}").click()
    await expect(page.get_by_role("button", name=f"Resume {name}")).to_be_visible()
    await page.get_by_role("button", name=f"Resume {name}").click()
    await expect(page.get_by_role("button", name=f"Pause {name}")).to_be_visible()
    await page.get_by_role("button", name="Talk to it").click()
    await page.get_by_label(f"Message {name}").fill("hello you")
    await page.get_by_label(f"Message {name}").press("Enter")
    await expect(page.get_by_role("log").get_by_text("Hm.")).to_be_visible()


async def test_an_agent_is_made_and_given_tools_and_loses_them(house: House, visit: Visit) -> None:
    await house.tool("count_sheep", executionType="internal", visible=True, isAsync=False)
    page = await visit.load("/agents")  # no event tells an open page of a new tool
    await page.get_by_role("button", name="New agent").click()
    dialog = page.get_by_role("dialog", name="New agent")
    await dialog.get_by_label("Name", exact=True).fill("Linnea")
    await dialog.get_by_label("What it is for").fill("Counts sheep.")
    await dialog.get_by_label("Instructions").fill("Count slowly.")
    await dialog.get_by_label("It runs on").select_option("Another model, by its name")
    await dialog.get_by_label("Model", exact=True).fill("nobody:knows")
    await dialog.get_by_role("button", name="Make agent").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_label("It runs on").select_option("script")
    await dialog.get_by_role("button", name="Make agent").click()
    await expect(page.get_by_role("heading", name="Linnea")).to_be_visible()
    await expect(page.get_by_role("form", name="Model")).to_be_visible()
    made = next(each for each in (await house.ask("GET", "/agents"))["items"] if each["name"] == "Linnea")
    assert (made["instructions"], made["description"]) == ("Count slowly.", "Counts sheep.")
    await page.get_by_role("tab", name="Tools").click()
    await page.get_by_label("Give it a tool").select_option("count_sheep")
    await expect(page.get_by_label("May it use count_sheep?")).to_be_visible()
    await house.reads(f"/agents/{made['id']}", lambda now: "count_sheep" in now["tools"])
    await page.get_by_role("button", name="Take count_sheep away").click()
    await expect(page.get_by_label("May it use count_sheep?")).to_have_count(0)
    await house.reads(f"/agents/{made['id']}", lambda now: now["tools"] == made["tools"])


@pytest.mark.proves("B-page-16")
async def test_a_room_shows_unavailable_models_and_used_up_budgets(house: House, visit: Visit) -> None:
    away = await house.agent("Una", {"awaySeconds": 3600})
    spends = await house.agent(
        "Otto",
        {"calls": [{"tool": "read_messages", "args": {}}], "usage": {"cost": 2.0}},
        limits={"maxCostPerDay": 1.0},
    )
    room = await house.room(away, spends)
    page = await visit.room(room)
    await house.post(room, "go")
    held = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="See the run"))
    await expect(
        held.filter(has_text=f"{away.capitalize()} waits for its model, which is asked again at")
    ).to_be_visible()
    told = page.get_by_text(f"The budget of {spends.capitalize()} for today is used up.")
    await expect(told).to_have_count(1)  # in the room where it happened, and nowhere else
    await page.reload()
    await expect(told).to_have_count(1)
    await expect(page.get_by_role("button", name="Raise the limit")).to_be_visible()
    await expect(held).to_have_count(1)
    await held.filter(has_text="waits for its model").get_by_role("link").click()
    await expect(page.get_by_role("status").get_by_text("waits for its model")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Olga stopped it").first).to_be_visible()
    await visit.room(room)
    await expect(held).to_have_count(0)
