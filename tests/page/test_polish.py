"""Small things that people notice: words, times, heights, gaps, and what moves under their hands."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Browser, FloatRect, Locator, expect

from tests.files.offering import picture
from tests.page.house import House, Visit, row, write
from tests.page.views import newcomer
from tests.waits import until

QUIET = {"people": "none", "agents": "none"}
DRAG = """kind => { const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File(['x'], 'x.txt'));
document.querySelector('#main').dispatchEvent(new DragEvent(kind, {bubbles: true, dataTransfer})) }"""
CITY = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}}


def calls(tool: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "args": args}]}


async def box(of: Locator) -> FloatRect:
    found = await of.bounding_box()
    assert found is not None
    return found


@pytest.mark.proves("B-page-27")
async def test_a_new_task_says_once_which_time_is_wrong(house: House, visit: Visit) -> None:
    agent = await house.agent("Dawn", {})
    room = await house.room(agent)
    page = await visit.go(f"/tasks?spaceId={room}")
    await page.get_by_role("button", name="New task").click()
    dialog = page.get_by_role("dialog", name="New task")
    await dialog.get_by_label("What to do").fill("Say good morning.")
    await dialog.get_by_label("When").select_option("at times written as cron")
    await dialog.get_by_role("textbox", name=re.compile("^Times")).fill("99 9 * * *")
    await dialog.get_by_role("button", name="Schedule it").click()
    await expect(dialog.get_by_role("alert")).to_have_count(1)
    await expect(dialog.get_by_role("button", name="Schedule it")).to_be_in_viewport()
    await dialog.get_by_label("When").select_option("at a time of day")
    await dialog.get_by_label(re.compile("^Time")).fill("07:30")
    await dialog.get_by_label("Sat").check()
    await dialog.get_by_label("Mon").uncheck()
    await dialog.get_by_role("button", name="Schedule it").click()
    await expect(page.get_by_text("Tue, Wed, Thu, Fri, Sat at 07:30")).to_be_visible()
    await expect(page.get_by_role("list", name="Due next").get_by_text("07:30").first).to_be_visible()


@pytest.mark.proves("B-page-28")
async def test_a_file_beside_a_picture_is_as_tall_as_itself(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    ids = []
    for name, body in (("wide.png", picture()), ("rows.csv", b"a,b\n1,2\n")):
        made = await house.ask("POST", "/files", params={"spaceId": room}, files={"file": (name, body)})
        ids.append(made["id"])
    await house.post(room, "both", attachments=ids)
    page = await visit.room(room)
    card = page.get_by_role("link", name=re.compile(r"rows\.csv"))
    await expect(page.get_by_role("img", name="wide.png")).to_be_visible()
    assert (await box(card))["height"] < 60


@pytest.mark.fresh_page
@pytest.mark.proves("B-page-29")
async def test_a_tablet_breaks_no_label_and_says_who_woke_whom(house: House, visit: Visit) -> None:
    agent = await house.agent("Nora", calls("do_nothing"))
    room = await house.room(agent)
    await house.post(room, "please")
    await house.reads(f"/runs?spaceId={room}", lambda page: bool(page["items"]))
    await visit.page.set_viewport_size({"width": 768, "height": 900})
    page = await visit.go(f"/runs?agentId={agent}")
    told = page.get_by_text(f"woken by Olga in #{room}")
    await expect(told).to_be_visible()
    assert (await box(told))["width"] > 60
    assert (await box(page.get_by_role("button", name="Search or jump to")))["height"] < 44


@pytest.mark.proves("B-page-30")
async def test_the_tour_covers_nothing_and_remembers_a_hello(house: House, browser: Browser) -> None:
    agent = await house.agent("Mo", {})
    room, other = await house.room(agent, wake=QUIET), await house.room(agent, wake=QUIET)
    visit = Visit(house, browser)
    await visit.open(await newcomer(house))
    page = await visit.load(f"/rooms/{room}")
    await page.get_by_role("button", name="Join this room").click()
    for n in range(8):
        await house.post(room, f"line {n}\n\nand more\n\nand more")
    tour = page.get_by_role("region", name="Start here")
    hello = tour.get_by_role("listitem").filter(has_text="Say hello")
    await expect(hello.get_by_label("to do")).to_be_visible()
    last = row(visit.page, "line 7")
    await expect(last).to_be_in_viewport()
    await last.hover()
    tools = last.locator("[data-tools]")
    await expect(tools).to_be_visible()
    above = (await box(tour))["y"]
    for each in (last, tools):
        found = await box(each)
        assert found["y"] + found["height"] <= above + 1
    await write(page, room, "hello there")
    await expect(tour).to_have_count(0)  # that was the last of it
    page = await visit.load(f"/rooms/{other}")
    await expect(page.get_by_role("button", name="Join this room")).to_be_visible()
    await expect(tour).to_have_count(0)
    await visit.close()


@pytest.mark.proves("B-page-31")
async def test_a_card_stays_under_the_hands_that_type_in_it(house: House, visit: Visit) -> None:
    await house.tool("form")
    asks = calls("form", title="Where to?", schema=CITY)
    agent = await house.agent("Fay", asks, tools=["messaging", "form"])
    room = await house.room(agent, wake={"people": "mention", "agents": "none"})
    for n in range(12):
        await house.post(room, f"line {n}\n\nand more")
    page = await visit.room(room)
    await house.post(room, f"@{agent} ask me")
    city = page.get_by_role("region", name=re.compile("Where to")).get_by_label("City")
    await city.click()
    await city.press_sequentially("Lis")
    before = (await box(city))["y"]
    for n in range(3):
        await house.post(room, f"meanwhile {n}\n\nand more\n\nand more")
    await house.messages_once_there(room, 17)
    await city.press_sequentially("bon")
    await expect(city).to_have_value("Lisbon")
    assert abs((await box(city))["y"] - before) < 2


@pytest.mark.proves("B-page-32")
async def test_a_wrong_field_is_told_in_words(house: House, visit: Visit) -> None:
    await house.tool("form")
    mail = {"type": "object", "properties": {"mail": {"type": "string", "format": "email", "title": "Mail"}}}
    agent = await house.agent("Fay", calls("form", title="Who?", schema=mail), tools=["messaging", "form"])
    room = await house.room(agent)
    await house.post(room, "go")
    page = await visit.room(room)
    form = page.get_by_role("region", name=re.compile("Who"))
    await form.get_by_label("Mail").fill("nobody")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form.get_by_text(re.compile("mail address"))).to_be_visible()
    await expect(form.get_by_text("does not match format")).to_have_count(0)


@pytest.mark.proves("B-page-34")
async def test_text_is_set_as_it_is_read(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    await house.post(room, "- [ ] buy bread\n- [x] call **Mara**")
    await house.post(room, "مرحبا @Olga كيف الحال")
    for n in range(4):
        await house.post(room, f"one of a row {n}")
    await visit.room(room)
    item = row(visit.page, "buy bread").get_by_role("listitem").first
    await expect(item).to_have_css("list-style-type", "none")
    tick = await box(item.get_by_role("checkbox"))
    words = await item.evaluate(
        "li => { const range = document.createRange(); range.selectNodeContents(li.lastChild);"
        " return range.getBoundingClientRect().x }"
    )
    assert words - (tick["x"] + tick["width"]) >= 6
    mention = row(visit.page, "مرحبا").locator("bdi", has_text="Olga")
    await expect(mention).to_have_text("@Olga")
    tops = [(await box(row(visit.page, f"one of a row {n}")))["y"] for n in range(4)]
    gaps = [after - before for before, after in pairwise(tops)]
    assert max(gaps) - min(gaps) < 1


@pytest.mark.fresh_page
@pytest.mark.proves("B-page-34")
async def test_lines_of_the_office_begin_where_messages_do(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(wake=QUIET)
    await house.post(room, "a message")
    page = await visit.room(room)
    joined = page.get_by_role("log").get_by_text("joined.")

    async def is_told() -> bool:
        """Who joins before the page listens is a member, and no line."""
        await house.ask("POST", f"/spaces/{room}/members", json={"memberId": house.ids["Bo"]})
        sign = len(await house.messages(room))
        await house.post(room, f"sign {sign}")
        await expect(row(page, f"sign {sign}")).to_be_visible()
        if await joined.count():
            return True
        await house.ask("DELETE", f"/spaces/{room}/members/{house.ids['Bo']}")
        return False

    await until(is_told)
    for density in ("comfortable", "compact"):
        await page.evaluate("density => { document.documentElement.dataset.density = density }", density)
        words = await box(row(visit.page, "a message").get_by_text("a message"))
        line = await box(joined.last.locator("xpath=ancestor::div[1]/*[name()='svg']"))
        assert abs(words["x"] - line["x"]) < 2, density


@pytest.mark.proves("B-page-35")
async def test_dragged_files_show_where_they_can_be_dropped(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    page = await visit.room(room)
    told = page.get_by_text("Drop files here to attach them")
    await page.evaluate(DRAG, "dragover")
    await expect(told).to_be_visible()
    await expect(told).to_have_css("border-style", "dashed")
    await page.evaluate(DRAG, "drop")
    await expect(told).to_have_count(0)
    await expect(page.get_by_text("x.txt")).to_be_visible()
    await page.get_by_role("button", name=re.compile(r"x\.txt")).click()


@pytest.mark.proves("B-page-7")
async def test_what_has_happened_is_never_in_the_future(house: House, browser: Browser) -> None:
    agent = await house.agent("Nora", calls("do_nothing"))
    room = await house.room(agent)
    visit = Visit(house, browser)
    page = await visit.open(house.cookie)
    await page.clock.install(time=datetime.now(UTC) - timedelta(minutes=5))  # a device whose clock is behind
    await visit.load(f"/runs?agentId={agent}")
    await expect(page.get_by_text("No runs match")).to_be_visible()
    await house.post(room, "please")
    line = page.get_by_role("link", name=re.compile("woken by Olga"))
    await expect(line.get_by_text("just now")).to_be_visible()
    await page.clock.fast_forward(120_000)
    await expect(line.get_by_text("just now")).to_be_visible()
    await expect(page.get_by_text(re.compile(r"^in \d"))).to_have_count(0)
    await visit.close()


@pytest.mark.proves("B-page-10")
async def test_why_not_says_the_rule_that_the_room_shows(house: House, visit: Visit) -> None:
    speaks, other = await house.agent("Ada", calls("send_message", text="Forty-two.")), await house.agent("Bea", {})
    room = await house.room(speaks, wake=QUIET)
    await house.ask("PATCH", f"/spaces/{room}", json={"wake": {"people": "all", "agents": "mention"}})
    page = await visit.room(room)
    await house.post(room, "how many?")
    await expect(row(visit.page, "Forty-two.")).to_be_visible()
    await house.ask("POST", f"/spaces/{room}/members", json={"memberId": other})
    await house.post(room, "and again?")
    await expect(row(visit.page, "Forty-two.")).to_have_count(2)
    await row(visit.page, "Forty-two.").last.get_by_role("button", name="Why this?").click()
    panel = page.get_by_role("complementary", name="Why?")
    reason = panel.get_by_text(re.compile("agents' messages wake only agents that they mention"))
    await expect(reason).to_be_visible()
    assert "space" not in (await reason.inner_text()).casefold()


@pytest.mark.proves("B-page-11")
async def test_a_run_says_whose_answer_woke_it(house: House, visit: Visit) -> None:
    await house.tool("confirm")
    agent = await house.agent("Ask", calls("confirm", question="Go?"), {}, tools=["messaging", "confirm"])
    room = await house.room(agent)
    page = await visit.room(room)
    await house.post(room, "go")
    await page.get_by_role("region", name=re.compile("Go")).get_by_role("button", name="Yes").click()

    line = page.get_by_role("link", name=re.compile("woken by the answer to confirm")).first
    await visit.go(f"/runs?agentId={agent}")
    await line.click()
    await expect(page.get_by_text("Woken by Olga’s answer to confirm")).to_be_visible()
    await expect(page.get_by_text("came later")).to_have_count(0)
