"""What an agent remembers, on the page: read, written, put back and shared."""

from __future__ import annotations

import re
from typing import Any

import httpx
from playwright.async_api import expect

from tests.page.house import House, Visit


def says(text: str) -> dict[str, Any]:
    return {"calls": [{"tool": "send_message", "args": {"text": text}}]}


async def test_a_block_is_written_compared_and_put_back(house: House, visit: Visit) -> None:
    agent = await house.agent("Mina", says("Hm."), blocks={"mood": "quiet"}, tools=["messaging"])
    page = await visit.go(f"/agents/{agent}?tab=Memory")
    block = page.get_by_role("article", name="mood")
    box = block.get_by_role("textbox", name="mood")
    await expect(block.get_by_text("5 / 4,000")).to_be_visible()
    await box.fill("very quiet")
    await block.get_by_role("button", name="Save").click()
    await expect(block.get_by_text("Version 2")).to_be_visible()
    await block.get_by_role("button", name="What mood was").click()
    versions = block.get_by_role("list", name="Versions of mood").get_by_role("listitem")
    await expect(versions).to_have_count(2)
    await expect(versions.first.get_by_text("Olga")).to_be_visible()
    await versions.first.get_by_role("button", name="What changed").click()
    await expect(block.get_by_label("What changed in version 2")).to_contain_text("+very quiet")
    await versions.last.get_by_role("button", name="Use it again").click()
    await expect(box).to_have_value("quiet")
    await expect(versions.first).to_contain_text("Back to version 1.")
    await house.reads(f"/agents/{agent}", lambda now: now["blocks"]["mood"] == "quiet")
    # What the agent writes meanwhile shows at once.
    await house.ask("PUT", f"/agents/{agent}/blocks/mood", json={"content": "loud"})
    await expect(box).to_have_value("loud")


async def test_a_text_that_is_too_long_cannot_be_saved(house: House, visit: Visit) -> None:
    agent = await house.agent("Lena", says("Hm."), blocks={"mood": "quiet"})
    await house.ask("PUT", f"/agents/{agent}/blocks/mood", json={"content": "quiet", "limit": 8})
    page = await visit.go(f"/agents/{agent}?tab=Memory")
    block = page.get_by_role("article", name="mood")
    meter = block.get_by_role("meter", name="Characters of mood")
    await expect(meter).to_have_attribute("aria-valuetext", "5 / 8 characters")
    await block.get_by_role("textbox").fill("very quiet")
    await expect(block.get_by_role("alert")).to_have_text("10 / 8: too long")
    await expect(block.get_by_role("button", name="Save")).to_be_disabled()
    await block.get_by_role("button", name="Discard").click()
    await expect(block.get_by_role("textbox")).to_have_value("quiet")


async def test_a_block_is_shared_and_its_reader_shows_it(house: House, visit: Visit) -> None:
    agent = await house.agent("Gina", says("Hm."), blocks={"team": "We ship on Friday."}, tools=["messaging"])
    reader = await house.agent("Hugo", says("Hm."))
    page = await visit.go(f"/agents/{agent}?tab=Memory")
    await page.get_by_role("button", name="Limit and sharing of team").click()
    dialog = page.get_by_role("dialog", name="Limit and sharing of team")
    await dialog.get_by_label(re.compile("What it is for")).fill("What we plan.")
    await dialog.get_by_label(reader.capitalize(), exact=True).select_option("reads it")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    block = page.get_by_role("article", name="team")
    await expect(block.get_by_text(f"{reader.capitalize()} reads it")).to_be_visible()
    await expect(block.get_by_text("What we plan.")).to_be_visible()
    page = await visit.go(f"/agents/{reader}?tab=Memory")
    await expect(block.get_by_text(re.compile(f"shared by {agent.capitalize()}.*, to read"))).to_be_visible()
    assert await block.get_by_role("textbox").get_attribute("readonly") is not None


async def test_a_run_says_which_blocks_it_was_shown(house: House, visit: Visit) -> None:
    agent = await house.agent("Olaf", says("Yes."), blocks={"mood": "quiet"}, tools=["messaging"])
    room = await house.room(agent)
    await house.post(room, "hello")
    await house.messages_once_there(room, 2)
    [run] = (await house.ask("GET", "/runs", params={"agentId": agent}))["items"]
    page = await visit.go(f"/runs/{run['id']}")
    shown = page.get_by_text(re.compile("^1 block of memory, "))
    await shown.click()
    await expect(page.get_by_text(re.compile(r"mood, version 1, \d+ tokens"))).to_be_visible()


async def ring(house: House, agent: str) -> None:
    """A webhook of the agent: what it reads then comes from outside."""
    hook = await house.ask("POST", "/hooks", json={"agentId": agent, "name": "ci"})
    async with httpx.AsyncClient() as http:
        assert (await http.post(hook["url"], json={"text": "the build is red"})).is_success


async def test_passages_are_found_corrected_and_deleted(house: House, visit: Visit) -> None:
    store = {"calls": [{"tool": "store_memory", "args": {"content": "The build is red.", "tags": ["ci"]}}]}
    agent = await house.agent("Pia", turns=[{"steps": [store]}], tools=["memory"])
    await ring(house, agent)
    await house.reads(f"/agents/{agent}/passages", lambda found: len(found["items"]) == 1)
    page = await visit.go(f"/agents/{agent}?tab=Memory")
    section = page.get_by_role("region", name="Passages")
    rows = section.get_by_role("list").first.get_by_role("listitem")
    await expect(rows.get_by_text("written after reading text from outside")).to_be_visible()
    await expect(rows.get_by_role("link", name="this run")).to_have_attribute("href", re.compile("^/runs/run_"))
    # A person adds one, which is then the newest.
    await section.get_by_role("button", name="Add a passage").click()
    dialog = page.get_by_role("dialog", name="Add a passage")
    await dialog.get_by_label("What to remember").fill("Deliveries go to the back door.")
    await dialog.get_by_label(re.compile("^Tags")).fill("studio, doors")
    await dialog.get_by_role("button", name="Add passage").click()
    await expect(rows).to_have_count(2)
    await expect(rows.first).to_contain_text("Deliveries go to the back door.")
    await expect(rows.first.get_by_role("link", name="Olga")).to_be_visible()
    # Search finds while one types; a tag narrows it down.
    box = section.get_by_role("searchbox", name="Search passages")
    await box.press_sequentially("deliv")
    await expect(rows).to_have_count(1)
    await box.fill("zebra")
    await expect(section.get_by_text(re.compile("^No passage holds these words"))).to_be_visible()
    await box.fill("")
    await section.get_by_role("button", name="ci", exact=True).click()
    await expect(rows).to_have_text([re.compile("The build is red")])
    await section.get_by_role("button", name="Show all").click()
    await expect(rows).to_have_count(2)
    # Corrected words are no longer those from outside.
    await rows.last.get_by_role("button", name=re.compile("^Edit")).click()
    dialog = page.get_by_role("dialog", name="Edit passage")
    await dialog.get_by_label(re.compile("^What to remember")).fill("The build was red.")
    await dialog.get_by_role("button", name="Save").click()
    await expect(rows.last).to_contain_text("The build was red.")
    await expect(rows.last).to_contain_text(re.compile("Corrected .* by Olga"))
    await expect(section.get_by_text("written after reading text from outside")).to_have_count(0)
    # Deleting asks first.
    await rows.last.get_by_role("button", name=re.compile("^Delete")).click()
    question = page.get_by_role("dialog", name="Delete this passage?")
    await question.get_by_role("button", name="Keep it").click()
    await expect(rows).to_have_count(2)
    await rows.last.get_by_role("button", name=re.compile("^Delete")).click()
    await question.get_by_role("button", name="Delete").click()
    await expect(rows).to_have_count(1)
    await expect(section.get_by_role("heading", name="Passages")).to_be_focused()


async def test_goals_memories_and_plans_are_added_and_deleted(house: House, visit: Visit) -> None:
    agent = await house.agent("Vera", says("Hm."), tools=["mind"])
    room = await house.room(agent)
    page = await visit.go(f"/agents/{agent}?tab=Memory")
    goals, facts, plans = (page.get_by_role("region", name=name) for name in ("Goals", "Memories", "Plans"))
    await goals.get_by_role("button", name="Add a goal").click()
    await page.get_by_label("What it wants").fill("Finish the report")
    await page.get_by_role("button", name="Add goal").click()
    await goals.get_by_role("button", name="Edit “Finish the report”").click()
    await page.get_by_label("How it stands").select_option("reached")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(goals.get_by_role("listitem")).to_contain_text("reached")
    await facts.get_by_role("button", name="Add a memory").click()
    await page.get_by_label("Key").fill("office hours")
    await page.get_by_label("Value").fill("nine to five")
    await page.get_by_role("button", name="Add memory").click()
    await expect(facts.get_by_role("listitem")).to_contain_text("office hours: nine to five")
    # A time that cannot be read is refused, and what was filled in stays.
    await plans.get_by_role("button", name="Add a plan").click()
    dialog = page.get_by_role("dialog", name="Add a plan")
    await dialog.get_by_label("Name").fill("greet")
    await dialog.get_by_label("What to do then").fill("Say good morning.")
    await dialog.get_by_label("When").select_option("again and again")
    await dialog.get_by_label(re.compile("^Times")).fill("soon")
    await dialog.get_by_role("button", name="Add plan").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("five fields")
    await dialog.get_by_label(re.compile("^Times")).fill("0 9 * * 1-5")
    await dialog.get_by_role("button", name="Add plan").click()
    plan = plans.get_by_role("listitem")
    await expect(plan).to_contain_text(re.compile(r"Say good morning\.Next .*09:00"))
    await expect(plan.get_by_role("link", name=f"#{room}")).to_be_visible()
    for section, named in ((goals, "Finish the report"), (facts, "office hours"), (plans, "greet")):
        await section.get_by_role("button", name=f"Delete “{named}”").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
        await expect(section.get_by_role("listitem")).to_have_count(0)
    for path in ("goals", "memories", "plans"):
        assert (await house.ask("GET", f"/agents/{agent}/{path}"))["items"] == []


async def test_a_room_shows_what_it_remembers(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    await visit.go(f"/rooms/{room}?panel=details")
    section = page.get_by_role("region", name="What this room remembers")
    await section.get_by_role("button", name="New passage").click()
    await page.get_by_label("What to remember").fill("We ship on Friday.")
    await page.get_by_role("button", name="Add passage").click()
    await expect(section.get_by_role("listitem")).to_contain_text("We ship on Friday.")
    [kept] = (await house.ask("GET", f"/spaces/{room}/passages"))["items"]
    assert kept["content"] == "We ship on Friday."
