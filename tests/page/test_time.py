"""Tasks, commands and skills: what agents do by the clock, what people write with a slash, and what waits for a yes."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import expect

from tests.page.house import House, Visit

# A page that is too busy to draw: whoever types fast does not wait for it.
HOLD_FRAMES = """() => { window.held = []; window.draws = requestAnimationFrame;
window.requestAnimationFrame = each => window.held.push(each) }"""
RELEASE_FRAMES = """() => { window.requestAnimationFrame = window.draws; for (const each of window.held) each() }"""


def says(text: str) -> dict[str, Any]:
    return {"calls": [{"tool": "send_message", "args": {"text": text}}]}


async def test_a_task_is_scheduled_seen_run_paused_and_cancelled(house: House, visit: Visit) -> None:
    agent = await house.agent("Dawn", says("Good morning!"))
    room = await house.room(agent)
    page = await visit.go(f"/tasks?spaceId={room}")
    await expect(page.get_by_text("No tasks match")).to_be_visible()
    await page.get_by_role("button", name="New task").click()
    dialog = page.get_by_role("dialog", name="New task")
    await dialog.get_by_label("What to do").fill("Say good morning.")
    await dialog.get_by_label("When").select_option("at times written as cron")
    await dialog.get_by_role("textbox", name=re.compile("^Times")).fill("every morning")
    await dialog.get_by_role("button", name="Schedule it").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await dialog.get_by_role("textbox", name=re.compile("^Times")).fill("0 9 * * *")
    await dialog.get_by_role("button", name="Schedule it").click()
    await expect(page.get_by_role("heading", name=re.compile(f"Task · {agent.capitalize()}"))).to_be_visible()
    await expect(page.get_by_role("list", name="Due next").get_by_role("listitem")).to_have_count(5)
    await expect(page.get_by_role("list", name="Due next").get_by_text("09:00").first).to_be_visible()
    await page.get_by_role("button", name="Run now").click()
    came = page.get_by_role("list", name="What came of it").get_by_role("listitem")
    await expect(came).to_have_count(1)
    await expect(came.get_by_text("spoke · by hand")).to_be_visible()
    await expect(came.get_by_role("link", name="Its run")).to_be_visible()
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("status").get_by_text("paused")).to_be_visible()
    await expect(page.get_by_text("not due until somebody resumes it").first).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("list", name="Due next").get_by_role("listitem")).to_have_count(5)
    await page.get_by_role("link", name="All tasks").click()
    await page.get_by_label("Room", exact=True).select_option(room)
    await page.get_by_role("link", name=re.compile("Say good morning")).click()
    await page.get_by_role("button", name="Cancel task").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel task").click()
    await expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()
    await house.reads(f"/tasks?spaceId={room}", lambda tasks: tasks["items"] == [])
    await visit.room(room)
    await expect(page.get_by_text("Good morning!", exact=True)).to_be_visible()


async def test_a_slash_offers_commands_and_the_office_answers(house: House, visit: Visit) -> None:
    agent = await house.agent("Hal", says("Here."))
    room = await house.room(agent, wake={"people": "mention", "agents": "none"})
    page = await visit.room(room)
    box = page.get_by_label(f"Message {room}")
    await box.press_sequentially("/sta")
    await expect(page.get_by_role("option", name="/status")).to_be_visible()
    await box.press("Enter")
    await expect(box).to_have_value("/status ")
    await box.press("Enter")
    answer = page.get_by_role("log").get_by_text(re.compile(agent.capitalize()))
    await expect(answer.first).to_be_visible()
    await box.press_sequentially("/help")
    await box.press("Enter")
    await expect(page.get_by_role("log").get_by_text("/why").first).to_be_visible()


async def test_a_skill_stored_at_once_is_undone_by_a_click(house: House, visit: Visit) -> None:
    stores = {
        "tool": "store_skill",
        "args": {"name": "walk", "description": "A walk", "instructions": "Say where to."},
    }
    agent = await house.agent("Wim", {"calls": [stores]}, tools=["messaging", "skills"])
    room = await house.room(agent)
    page = await visit.room(room)
    await house.post(room, "please remember how we do this")
    log = page.get_by_role("log")
    notice = log.get_by_text(f"{agent.capitalize()} stored the skill /walk, as Olga had asked.")
    await expect(notice).to_be_visible()
    await page.get_by_role("button", name="Undo", exact=True).click()
    await expect(log.get_by_text("Olga took the change back: /walk is gone.")).to_be_visible()
    await expect(page.get_by_role("button", name="Undo", exact=True)).to_have_count(0)
    skills = (await house.ask("GET", "/skills", params={"spaceId": room}))["items"]
    assert skills == []


async def test_an_agents_proposed_skill_becomes_a_command_once_approved(house: House, visit: Visit) -> None:
    stores = {
        "tool": "store_skill",
        "args": {"name": "standup", "description": "Who did what", "instructions": "Ask everybody what they did."},
    }
    turns = [
        {"when": "remember", "steps": [{"calls": [stores]}, says("I proposed it.")]},
        {"when": "the team", "steps": [says("What did you do yesterday?")]},
    ]
    agent = await house.agent("Sage", turns=turns, tools=["messaging", "skills"], policy={"store_skill": "ask"})
    room = await house.room(agent)
    page = await visit.room(room)
    await house.post(room, "please remember how we do this")
    await expect(page.get_by_text("I proposed it.", exact=True)).to_be_visible()
    await page.get_by_role("link", name=re.compile("Waiting for you")).click()
    proposed = page.get_by_role("listitem").filter(has_text=f"{agent.capitalize()} would store the skill /standup")
    await expect(proposed.get_by_text("+Ask everybody what they did.")).to_be_visible()
    await proposed.get_by_role("button", name="Approve").click()
    await expect(proposed).to_have_count(0)
    await visit.room(room)
    box = page.get_by_label(f"Message {room}")
    await box.press_sequentially("/stand")
    await expect(page.get_by_role("option", name="/standup")).to_be_visible()
    await page.evaluate(HOLD_FRAMES)
    await box.press("Tab")
    await box.press_sequentially("the ")
    await page.evaluate(RELEASE_FRAMES)
    await box.press_sequentially("team")
    await expect(box).to_have_value("/standup the team")
    await box.press("Enter")
    await expect(page.get_by_text("What did you do yesterday?", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Room details").click()
    panel = page.get_by_role("complementary", name=re.compile("details", re.I))
    await expect(panel.get_by_text("/standup")).to_be_visible()
