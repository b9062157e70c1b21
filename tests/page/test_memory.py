"""What an agent remembers, on the page: read, written, put back and shared."""

from __future__ import annotations

import re
from typing import Any

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
