"""What people do in a room all day: stop, ask again, find, pin, mark unread; and what the room tells them meanwhile."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from bullpen.testing.model_server import ModelServer, plays, plays_in_two
from bullpen.testing.wires import Text, Wanted
from tests.page.house import House, Visit, offered, write
from tests.waits import until

MODEL = "anthropic:claude-test"
CITY = {"type": "object", "properties": {"city": {"type": "string", "minLength": 3}}, "required": ["city"]}


DRAG = """kind => { const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File(['x'], 'x.txt'));
document.querySelector('#main').dispatchEvent(new DragEvent(kind, {bubbles: true, dataTransfer})) }"""


def says(text: str, **more: str) -> dict[str, Any]:
    return {"calls": [{"tool": "send_message", "args": {"text": text, **more}}]}


def row(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("log").get_by_role("article").filter(has_text=text)


async def choose(page: Page, message: Locator, what: str) -> None:
    await (await offered(message, "More")).click()
    await page.get_by_role("menuitem", name=what, exact=True).click()


@pytest.mark.proves("B-page-2")
async def test_a_writing_agent_is_stopped_from_the_room(house: House, visit: Visit, provider: ModelServer) -> None:
    words = "It begins with a first word, goes on for quite a while, and comes to its very last word."
    rest = asyncio.Event()
    provider.gives(
        plays_in_two(Wanted("toolu_1", "send_message", '{"text": "' + words + '"}'), rest=rest), plays(Text(""))
    )
    agent = await house.agent("Slow")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": MODEL, "tools": ["send_message"]})
    room = await house.room(agent)
    page = await visit.room(room)
    await write(page, room, "tell me")
    growing = row(page, "It begins")
    stop = page.get_by_role("button", name=f"Stop {agent.capitalize()}")
    await expect(growing.get_by_role("button", name=f"Stop {agent.capitalize()}")).to_be_visible()
    await expect(stop).to_have_count(2)  # on the message, and beside "is writing"
    await growing.get_by_role("button", name=agent.capitalize(), exact=True).click()
    card = page.get_by_role("complementary", name="Agent")
    await expect(card.get_by_role("button", name=f"Stop {agent.capitalize()}")).to_be_visible()
    await stop.first.click()
    await expect(page.get_by_role("log").get_by_text(f"Olga stopped {agent.capitalize()}.")).to_be_visible()
    await expect(stop).to_have_count(0)
    rest.set()
    await expect(page.get_by_role("log").get_by_role("button", name=re.compile("^(Try|Ask) again$"))).to_be_visible()


@pytest.mark.proves("B-page-3")
async def test_paused_agents_look_paused_before_anybody_writes(house: House, visit: Visit) -> None:
    agent, awake = await house.agent("Rest", says("back")), await house.agent("Up", {})
    room = await house.room(agent, awake)
    page = await visit.room(room)
    await house.ask("POST", f"/agents/{agent}/pause")
    name = agent.capitalize()
    told = page.get_by_text(f"{name} is paused and gets what you write when somebody lets it go on.")
    await expect(told).to_be_visible()
    box = page.get_by_label(f"Message {room}", exact=True)
    await box.fill("are you there?")
    await expect(page.get_by_text(f"Wakes {awake.capitalize()} · {name} is paused: gets it later")).to_be_visible()
    await box.press("Enter")
    await page.get_by_role("button", name=f"Let {name} go on").click()
    await expect(row(page, "back")).to_be_visible()
    await expect(told).to_have_count(0)


@pytest.mark.proves("B-page-4", "B-page-13")
async def test_a_new_agent_is_in_every_list_at_once(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    agent = (await house.agent("Nova", {})).capitalize()
    await page.get_by_role("button", name="New room").click()
    dialog = page.get_by_role("dialog", name="New room")
    await expect(dialog.get_by_label("Name")).to_be_focused()
    await expect(dialog.get_by_label(agent)).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search or jump to").fill(agent)
    await expect(page.get_by_role("option", name=re.compile(agent)).first).to_be_visible()
    await page.keyboard.press("Escape")
    box = page.get_by_label(f"Message {room}", exact=True)
    await box.press_sequentially(f"@{agent[:5]}")
    await expect(page.get_by_role("option", name=re.compile(agent))).to_be_visible()
    await box.fill("")
    await page.get_by_role("button", name="New message").click()
    await expect(page.get_by_role("dialog", name="Write to").get_by_label("Name")).to_be_focused()
    await page.get_by_role("dialog", name="Write to").get_by_label("Name").fill(agent)  # the list shows some of many
    await expect(page.get_by_role("dialog", name="Write to").get_by_text(agent)).to_be_visible()
    await page.keyboard.press("Escape")


@pytest.mark.proves("B-page-5")
async def test_a_model_without_a_price_is_not_called_free(house: House, visit: Visit, provider: ModelServer) -> None:
    provider.gives(plays(Wanted("toolu_1", "send_message", '{"text": "here"}')), plays(Text("")))
    agent = await house.agent("Dear")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": "anthropic:nobody-knows", "tools": ["send_message"]})
    room = await house.room(agent)
    page = await visit.room(room)
    await write(page, room, "hello")
    await expect(row(page, "here").get_by_text("No price set")).to_be_visible()
    await page.get_by_role("button", name="Why this?").click()
    panel = page.get_by_role("complementary", name="Why?")
    await expect(panel.get_by_text("No price set").first).to_be_visible()
    await expect(panel.get_by_text("free")).to_have_count(0)


@pytest.mark.proves("B-page-8")
async def test_a_failed_call_is_not_called_silence(house: House, visit: Visit) -> None:
    agent = await house.agent("Try", {"calls": [{"tool": "read_messages", "args": {"spaceId": "nowhere"}}]}, {})
    room = await house.room(agent)
    page = await visit.room(room)
    await house.post(room, f"@{agent}, look elsewhere")
    await house.reads(f"/runs?spaceId={room}", lambda page: bool(page["items"]) and "finishedAt" in page["items"][0])
    await house.post(room, "that is over")
    await expect(page.get_by_text("that is over")).to_be_visible()
    await expect(page.get_by_text("chose not to answer")).to_have_count(0)
    (run, *_) = (await house.ask("GET", f"/runs?spaceId={room}"))["items"][-1:]
    assert "outcome" not in run


async def test_a_question_is_asked_again_as_it_was_or_edited(house: House, visit: Visit) -> None:
    agent = await house.agent(
        "Ada", turns=[{"when": "blue", "steps": [says("It is blue.")]}, {"steps": [says("It is red.")]}]
    )
    room = await house.room(agent)
    page = await visit.room(room)
    await write(page, room, "which colour?")
    await choose(page, row(page, "It is red.").first, "Ask again")
    await expect(row(page, "which colour?")).to_have_count(2)
    await expect(row(page, "It is red.")).to_have_count(2)
    await choose(page, row(page, "It is red.").first, "Edit and ask again")
    await page.get_by_label("Edit message").fill("which colour, is it blue?")
    await page.get_by_role("button", name="Save and ask again").click()
    await expect(row(page, "It is blue.")).to_be_visible()
    await expect(row(page, "It is red.")).to_have_count(2)


async def test_a_room_keeps_pins_counts_replies_and_stays_unread(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(house.ids["Bo"])
    page = await visit.room(room, load=True)
    first = await house.post(room, "read **this** first")
    await house.post(room, "an answer", replyTo=first["id"])
    await house.post(room, "another answer", replyTo=first["id"])
    theirs = await other.room(room)
    asked = row(page, "read this first")
    await expect(asked.first.get_by_role("button", name="2 replies")).to_be_visible()
    await expect(row(page, "an answer").get_by_text(re.compile("Olga: read this first")).first).to_be_visible()
    await choose(page, asked.first, "Pin")
    for each in (page, theirs):
        await expect(row(each, "read this first").first.get_by_text("pinned", exact=True)).to_be_visible()
    await theirs.get_by_role("button", name="Room details").click()
    kept = theirs.get_by_role("list", name="Pinned messages")
    await expect(kept.get_by_text("read this first")).to_be_visible()
    await kept.get_by_role("button", name="Take the pin away").click()
    await expect(asked.first.get_by_text("pinned", exact=True)).to_have_count(0)

    await theirs.get_by_role("button", name="Close").click()
    await theirs.get_by_label(f"Message {room}", exact=True).press_sequentially("I am wri")
    await expect(page.get_by_text("Bo is typing")).to_be_visible()
    await write(theirs, room, "I am writing")
    await expect(row(page, "I am writing")).to_be_visible()
    await expect(page.get_by_text("Bo is typing")).to_have_count(0)

    await choose(page, row(page, "I am writing"), "Mark unread from here")
    await house.reads(f"/spaces/{room}", lambda space: space["unread"] == 1)
    await expect(page.get_by_role("separator", name="1 new")).to_be_visible()
    await expect(page).to_have_title(re.compile(rf"^\(\d+\) {room}"))


async def test_a_section_of_rooms_folds_and_keeps_what_is_unread(house: House, visit: Visit, other: Visit) -> None:
    quiet, loud = await house.room(house.ids["Bo"]), await house.room(house.ids["Bo"])
    page = await visit.room(quiet, load=True)
    rail = page.get_by_role("navigation", name="Rooms")
    await rail.get_by_role("button", name=re.compile("^Rooms")).click()
    await expect(rail.get_by_role("link", name=loud)).to_have_count(0)
    theirs = await other.room(loud)
    await write(theirs, loud, "over here")
    await expect(rail.get_by_role("link", name=re.compile(loud))).to_be_visible()
    await page.reload()
    await expect(rail.get_by_role("button", name=re.compile("^Rooms"))).to_have_attribute("aria-expanded", "false")
    await rail.get_by_role("button", name=re.compile("^Rooms")).click()
    await expect(rail.get_by_role("link", name=re.compile(quiet))).to_be_visible()


@pytest.mark.proves("B-page-14")
async def test_a_room_is_searched_while_one_types(house: House, visit: Visit) -> None:
    room = await house.room()
    await house.post(room, "the marmalade is in the cupboard")
    for n in range(3):
        await house.post(room, f"something else {n}")
    page = await visit.room(room)
    await page.get_by_role("button", name="Search in this room").click()
    await expect(page.get_by_label("Words in this room")).to_be_focused()
    await page.keyboard.type("marma")
    panel = page.get_by_role("complementary", name="Search in this room")
    await expect(panel.locator("mark", has_text="marma")).to_be_visible()
    await panel.get_by_role("link").first.click()
    await expect(page.get_by_label("Words in this room")).to_have_value("marma")
    await expect(row(page, "marmalade")).to_have_attribute("data-found", "true")


@pytest.mark.proves("B-page-12", "B-page-17", "B-page-18", "B-page-19")
async def test_nothing_lies_over_what_is_read_or_pressed(house: House, visit: Visit) -> None:
    await house.tool("confirm")
    asks = {"calls": [{"tool": "confirm", "args": {"question": "Send it?"}}]}
    agent = await house.agent("Ask", asks, tools=["messaging", "confirm"])
    room = await house.room(agent, wake={"people": "mention", "agents": "none"})
    page = await visit.room(room)
    await house.post(room, f"@{agent} ask me")
    await expect(page.get_by_role("status").filter(has_text="waits for you")).to_be_visible()
    for n in range(30):
        await house.post(room, f"line {n}\n\nand more\n\nand more")
    last = row(page, "line 29")
    await expect(last).to_be_in_viewport()
    pill = page.get_by_role("button", name="1 card waits above")
    await expect(pill).to_be_visible()
    assert await apart(pill, last)
    box = page.get_by_label(f"Message {room}", exact=True)
    await box.fill("\n".join("a field that grows" for _ in range(9)))
    await expect(last).to_be_in_viewport(ratio=0.9)
    await box.fill("")
    await choose(page, last, "Copy link")
    note = page.get_by_role("status").filter(has_text=re.compile("Link copied|let the page copy"))
    await expect(note).to_be_visible()
    assert await apart(note, page.get_by_role("button", name="Send", exact=True))
    await page.evaluate(DRAG, "dragover")
    await expect(page.get_by_text("Drop files here to attach them")).to_be_visible()
    await page.evaluate(DRAG, "dragleave")
    await expect(page.get_by_text("Drop files here to attach them")).to_have_count(0)


async def apart(one: Locator, other: Locator) -> bool:
    a, b = await one.bounding_box(), await other.bounding_box()
    assert a is not None
    assert b is not None
    across = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
    return across or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]


@pytest.mark.proves("B-page-33")
async def test_an_unknown_command_is_not_posted_unasked(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    box = page.get_by_label(f"Message {room}", exact=True)
    await box.press_sequentially("/la")
    await expect(page.get_by_role("option")).to_have_count(0)

    async def is_known() -> bool:
        await box.press("Enter")
        return await page.get_by_text("There is no command /la.").is_visible()

    await until(is_known)
    assert await house.messages(room) == []
    await box.press("Enter")
    assert await house.texts(room, 1) == ["/la"]


@pytest.mark.proves("B-page-9")
async def test_a_run_shows_the_prompt_that_was_sent(house: House, visit: Visit) -> None:
    agent = await house.agent("Ada", says("four"), instructions="Count the sheep.")
    room = await house.room(agent)
    await house.post(room, "how many?")
    await house.messages_once_there(room, 2)
    await house.reads(f"/runs?spaceId={room}", lambda page: "finishedAt" in page["items"][0])
    (run,) = (await house.ask("GET", f"/runs?spaceId={room}"))["items"]
    page = await visit.go(f"/runs/{run['id']}")
    await page.get_by_role("button", name="What it was shown").first.click()
    await expect(page.get_by_text(re.compile(r"^[\d,]+ of [\d,]+ tokens, .*% of what fits"))).to_be_visible()
    parts = page.locator("details").filter(has_text=re.compile(r"tokens · .*%"))
    await parts.filter(has_text="instructions").first.click()
    await expect(page.get_by_text("Count the sheep.")).to_be_visible()
    tools = parts.filter(has_text="tools (")
    await tools.locator("summary").first.click()
    await expect(tools.get_by_text("send_message")).to_be_visible()


@pytest.mark.proves("B-page-16")
async def test_one_notice_says_that_a_budget_is_used_up(house: House, visit: Visit) -> None:
    spends = await house.agent(
        "Otto",
        {"calls": [{"tool": "read_messages", "args": {}}], "usage": {"cost": 2.0}},
        says("done"),
        limits={"maxCostPerDay": 1.0},
    )
    room = await house.room(spends)
    page = await visit.room(room)
    await house.post(room, "go")
    told = page.get_by_text(re.compile(f"budget of .*{spends.capitalize()}"))
    await expect(told).to_have_count(1)
    await page.get_by_role("button", name="Raise the limit").click()
    dialog = page.get_by_role("dialog", name="Raise the limit")
    await dialog.get_by_label(re.compile(f"a day of {spends.capitalize()}")).fill("5")
    await dialog.get_by_role("button", name="Raise it").click()
    await expect(row(page, "done")).to_be_visible()
    await expect(page.get_by_role("button", name="Raise the limit")).to_have_count(0)


@pytest.mark.fresh_page
@pytest.mark.proves("B-page-20", "B-page-21")
async def test_wide_tables_scroll_on_a_phone_and_actions_stay_whole(house: House, visit: Visit) -> None:
    room = await house.room()
    head = "| Customer | Amount | Currency | Reference | Responsible |\n|---|---|---|---|---|\n"
    await house.post(room, head + "| Northwind Traders | 1,234,567.00 | EUR | 2026-11-18/0042 | Margarethe |\n")
    await house.post(room, "the last line")
    await visit.page.set_viewport_size({"width": 390, "height": 844})
    page = await visit.room(room)
    table = page.get_by_role("group", name="Table")
    assert await table.evaluate("box => box.scrollWidth > box.clientWidth")
    heights = await table.locator("td").evaluate_all("cells => cells.map(cell => cell.offsetHeight)")
    assert max(heights) < 90, "numbers are not broken over lines"
    last = row(page, "the last line")
    await last.evaluate("row => row.focus()")
    tools = last.locator("[data-tools]")
    await expect(tools).to_be_visible()
    log, offered_ = await page.get_by_role("log").bounding_box(), await tools.bounding_box()
    assert log is not None
    assert offered_ is not None
    assert offered_["y"] + offered_["height"] <= log["y"] + log["height"] + 1
