"""Lines that break without a word, sessions that end, rooms that go, and several tabs: the page goes on by itself."""

from __future__ import annotations

import asyncio
import re
import signal
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from bullpen.testing import NO_LIMITS
from tests.cli.processes import free_port, running
from tests.page.house import PASSWORD, House, Visit, claimed, cookie_in, row, write
from tests.waits import until

QUIET = {"people": "none", "agents": "none"}
# What a line that is dead but not closed is like: nothing comes, and nobody says so.
WATCH_STREAMS = """window.streams = []; const Real = EventSource;
window.EventSource = class extends Real { constructor(...args) { super(...args); window.streams.push(this) } };"""
DEAFEN = "for (const each of window.streams) each.onopen = each.onmessage = each.onerror = null"
# Live regions are emptied soon after they were heard.
LISTEN = """window.heard = []; new MutationObserver(() => { for (const each of document.querySelectorAll('[aria-live]'))
if (each.textContent) window.heard.push(each.getAttribute('aria-live') + ' ' + each.textContent) })
.observe(document.body, {subtree: true, childList: true, characterData: true})"""

# 49 more messages that another tab could not send.
FILL = """() => { const key = Object.keys(localStorage).find(each => each.includes('outbox'));
const item = JSON.parse(localStorage[key]);
const later = n => new Date(Date.parse(item.createdAt) + n).toISOString();
const other = n => ({...item, clientMessageId: item.clientMessageId + n, createdAt: later(n), failed: 'Refused once.'});
for (let n = 1; n < 50; n++) localStorage[key + n] = JSON.stringify(other(n));
window.dispatchEvent(new StorageEvent('storage', {key: null})) }"""


def rail(page: Page, room: str) -> Any:
    return page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(room))


async def another(visit: Visit, room: str) -> Page:
    """A second tab of the same browser."""
    page = await visit.context.new_page()
    await page.goto(f"{visit.house.url}/rooms/{room}")
    await expect(page.get_by_role("log")).to_be_visible()
    return page


# ── the door ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def change_password(house: House, name: str, before: str, after: str) -> None:
    """On another device: whoever is signed in elsewhere is signed out."""
    async with httpx.AsyncClient(base_url=f"{house.url}/api", headers={"Origin": house.url}) as http:
        assert (await http.post("/session", json={"name": name, "password": before})).is_success
        body = {"current": before, "password": after}
        assert (await http.post("/me/password", json=body)).is_success


async def sign_in(page: Page, name: str, password: str) -> None:
    await expect(page.get_by_role("heading", name="Sign in again")).to_be_visible()
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_role("button", name="Sign in").click()


async def test_signing_in_again_resumes_all_tabs_only_for_that_person(house: House, browser: Browser) -> None:
    await house.cookie_of("Bo")
    sina = (await house.ask("POST", "/people", json={"name": "Sina", "password": PASSWORD}))["id"]
    async with httpx.AsyncClient(base_url=f"{house.url}/api") as http:
        cookie = cookie_in(await http.post("/session", json={"name": "Sina", "password": PASSWORD}), house.url)
    room = await house.room(sina, private=True, wake=QUIET)
    visit = Visit(house, browser)
    page = await visit.open(cookie)
    await visit.room(room)
    second = await another(visit, room)
    await write(page, room, "before it ended")
    await expect(row(second, "before it ended")).to_be_visible()
    await page.get_by_label(f"Message {room}").fill("half a sentence")

    await change_password(house, "Sina", PASSWORD, "a new and longer phrase")
    await expect(second.get_by_role("heading", name="Sign in again")).to_be_visible()
    await sign_in(page, "Sina", "a new and longer phrase")
    await expect(page.get_by_label(f"Message {room}")).to_have_value("half a sentence")
    await house.post(room, "said afterwards")
    for each in (page, second):
        await expect(row(each, "said afterwards")).to_be_visible()

    await change_password(house, "Sina", "a new and longer phrase", PASSWORD)
    await sign_in(page, "Bo", PASSWORD)
    for each in (page, second):
        await expect(each.get_by_text("This room does not exist, or you are not in it.")).to_be_visible()
        await expect(each.get_by_text("said afterwards")).to_have_count(0)
        await expect(rail(each, room)).to_have_count(0)
    await visit.close()


# ── dead lines ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.fresh_page
async def test_a_line_that_is_dead_without_being_closed_is_noticed(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    await visit.context.add_init_script(WATCH_STREAMS)
    await visit.page.clock.install()
    page = await visit.room(room)
    await house.post(room, "while it lives")
    await expect(row(page, "while it lives")).to_be_visible()
    await page.evaluate(DEAFEN)
    await house.post(room, "into deaf ears")
    await page.clock.fast_forward(60_000)
    await expect(row(page, "into deaf ears")).to_be_visible()
    await house.post(room, "and heard again")
    await expect(row(page, "and heard again")).to_be_visible()
    assert await page.evaluate("window.streams.length") == 2


@pytest.mark.fresh_page
async def test_presence_is_corrected_after_the_connection_was_lost(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(house.ids["Bo"], wake=QUIET)
    page = await visit.room(room)
    await page.get_by_role("button", name="Room details").click()
    line = page.get_by_role("complementary", name="Room details").get_by_role("listitem").filter(has_text="Bo")
    await other.room(room)
    await expect(line.get_by_text("here")).to_be_visible()
    second = await another(visit, f"{room}?panel=details")
    theirs = second.get_by_role("complementary", name="Room details").get_by_role("listitem").filter(has_text="Bo")
    await expect(theirs.get_by_text("here")).to_be_visible()  # a tab that came later was told, too
    await visit.context.set_offline(True)
    await expect(page.get_by_text("No connection to the office.").first).to_be_visible()
    await other.page.close()
    await visit.context.set_offline(False)
    await expect(page.get_by_text("You can keep writing")).to_have_count(0)
    for each in (line, theirs):
        await expect(each.get_by_text("here")).to_have_count(0)


@pytest.mark.fresh_page
async def test_any_tab_can_ask_to_try_again_and_counts_down(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    page = await visit.room(room)
    second = await another(visit, room)
    visit.expected = ["ERR_", "EventSource"]
    over = asyncio.Event()

    async def hang(route: Any) -> None:
        await over.wait()
        await route.abort()

    await page.route("**/api/me", hang)  # it would try by itself
    await visit.context.route("**/api/events*", lambda route: route.abort())
    await visit.context.set_offline(True)
    await expect(page.get_by_text("This device is offline.")).to_be_visible()
    await visit.context.set_offline(False)
    strip = second.get_by_text(re.compile(r"Trying again in \d+ s"))
    await expect(strip).to_be_visible()
    said = "{kind: 'link', link: 'retrying', retryAt: Date.now() + 59e3, here: {}}"
    await page.evaluate(f"new BroadcastChannel('bullpen').postMessage({said})")
    await expect(second.get_by_text(re.compile(r"Trying again in [2-5]\d s"))).to_be_visible()
    await visit.context.unroute("**/api/events*")
    await second.get_by_role("button", name="Try now").click()
    await expect(strip).to_have_count(0)
    await house.post(room, "there you are")
    await expect(row(second, "there you are")).to_be_visible()
    over.set()


async def test_messages_missing_after_a_restore_disappear_from_the_page(browser: Browser, tmp_path: Path) -> None:
    data, port = tmp_path / "data", str(free_port())
    with running(data, "serve", "--port", port, **NO_LIMITS) as first:
        first.wait_for("ready on")
        async with claimed(first, data) as own:
            room = await own.room(wake=QUIET)
            await own.post(room, "kept in the backup")
            (kept,) = [path for path in data.rglob("*.db") if path.is_file()]
            with sqlite3.connect(kept) as there, sqlite3.connect(tmp_path / "backup") as copy:
                there.backup(copy)
            visit = Visit(own, browser)
            page = await visit.open(own.cookie)
            visit.expected = ["ERR_", "EventSource"]
            await visit.room(room)
            for number in range(3):
                await own.post(room, f"a ghost {number}")
            await expect(row(page, "a ghost 2")).to_be_visible()
            first.stop(signal.SIGKILL)
            await expect(page.get_by_text("No connection to the office.").first).to_be_visible()
            for path in kept.parent.glob(f"{kept.name}*"):
                path.unlink()
            (tmp_path / "backup").rename(kept)
            with running(data, "serve", "--port", port, **NO_LIMITS) as second:
                second.wait_for("ready on")
                await visit.try_now()
                await expect(page.get_by_text("a ghost")).to_have_count(0)
                await own.post(room, "in the second life")
                await expect(row(page, "in the second life")).to_be_visible()
                await expect(row(page, "kept in the backup")).to_be_visible()
                await expect(page.get_by_text("a ghost")).to_have_count(0)
                await visit.close()


# ── a server that is newer ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.fresh_page
async def test_a_page_older_than_its_server_offers_to_reload(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    page = await visit.room(room)
    older = page.get_by_text("This page is older than its server.")

    async def from_a_newer_server(route: Any) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, headers={**answer.headers, "bullpen-build": "another"})

    await page.get_by_label(f"Message {room}").fill("half a thought")
    await page.get_by_role("link", name="Agents").first.click()
    await expect(older).to_have_count(0)
    await page.route("**/api/tasks*", from_a_newer_server)
    await page.get_by_role("link", name="Tasks").first.click()
    await expect(older).to_be_visible()
    await visit.room(room)
    await expect(page.get_by_label(f"Message {room}")).to_have_value("half a thought")
    await page.unroute("**/api/tasks*")
    await page.get_by_role("button", name="Reload").click()
    await expect(older).to_have_count(0)
    await expect(page.get_by_label(f"Message {room}")).to_have_value("half a thought")


@pytest.mark.fresh_page
async def test_a_page_asks_once_for_the_agents(house: House, visit: Visit) -> None:
    name = await house.agent("once")
    page = await visit.go("/rooms")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/agents?" in request.url else None)
    await visit.load("/agents")
    await expect(page.get_by_text(name).first).to_be_visible()
    assert len(asked) == 1


# ── rooms that go ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_removed_room_says_so_and_returns_on_rejoining(house: House, other: Visit) -> None:
    bo = house.ids["Bo"]
    room = await house.room(bo, private=True, wake=QUIET)
    await house.post(room, "between us")
    page = await other.room(room)
    await expect(row(page, "between us")).to_be_visible()
    gone = page.get_by_role("heading", name="This room is not here any more")
    await house.ask("DELETE", f"/spaces/{room}/members/{bo}")
    await expect(gone).to_be_visible()
    await expect(page.get_by_text("between us")).to_have_count(0)
    await house.ask("POST", f"/spaces/{room}/members", json={"memberId": bo})
    await expect(row(page, "between us")).to_be_visible()
    await expect(page.get_by_label(f"Message {room}")).to_be_visible()
    await house.ask("DELETE", f"/spaces/{room}")
    await expect(gone).to_be_visible()
    await page.get_by_role("link", name="Go to another room").click()
    await expect(gone).to_have_count(0)


async def test_returning_to_a_room_shows_where_unread_begins(house: House, other: Visit) -> None:
    room, elsewhere = await house.room(house.ids["Bo"], wake=QUIET), await house.room(house.ids["Bo"], wake=QUIET)
    await house.post(room, "read at first")
    page = await other.room(room, load=True)
    await expect(page.get_by_role("separator", name="1 new")).to_be_visible()
    bo = await house.cookie_of("Bo")
    async with httpx.AsyncClient(base_url=f"{house.url}/api", cookies={bo["name"]: bo["value"]}) as http:

        async def all_read() -> bool:
            return bool((await http.get(f"/spaces/{room}")).json()["unread"] == 0)

        await until(all_read)
    await rail(page, elsewhere).click()
    await expect(page.get_by_label(f"Message {elsewhere}")).to_be_visible()
    for number in range(30):
        await house.post(room, f"unread line {number}")
    await expect(rail(page, room).get_by_label("30 unread")).to_be_visible()
    await rail(page, room).click()
    await expect(page.get_by_role("separator", name="30 new")).to_be_in_viewport()
    await expect(row(page, "unread line 0")).to_be_in_viewport()


# ── tabs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.fresh_page
async def test_outboxes_and_drafts_of_two_tabs_stay_with_their_person(house: House, visit: Visit) -> None:
    await house.cookie_of("Bo")
    first, second = await house.room(house.ids["Bo"], wake=QUIET), await house.room(house.ids["Bo"], wake=QUIET)
    one = await visit.room(first)
    two = await another(visit, second)
    await visit.context.set_offline(True)
    for page, room, text in ((one, first, "held by one"), (two, second, "held by two"), (one, first, "one more")):
        await write(page, room, text)
        await expect(row(page, text)).to_be_visible()
    await one.get_by_label(f"Message {first}").fill("begun in one")
    await two.get_by_label(f"Message {second}").fill("begun in two")
    for page, room in ((one, second), (two, first)):  # each knows of the other's
        await expect(rail(page, room).get_by_label("draft")).to_be_visible()
    await one.close()
    await two.close()
    await visit.context.set_offline(False)
    page = await another(visit, first)
    assert await house.texts(first, 2) == ["held by one", "one more"]
    assert await house.texts(second, 1) == ["held by two"]
    await expect(page.get_by_label(f"Message {first}")).to_have_value("begun in one")
    await rail(page, second).click()
    await expect(page.get_by_label(f"Message {second}")).to_have_value("begun in two")
    await page.close()
    await visit.context.add_cookies([await house.cookie_of("Bo")])  # type: ignore[list-item]
    page = await another(visit, first)
    await expect(page.get_by_label(f"Message {first}")).to_have_value("")


@pytest.mark.fresh_page
async def test_a_message_beyond_the_outbox_limit_stays_in_its_field(house: House, visit: Visit) -> None:
    room = await house.room(wake=QUIET)
    page = await visit.room(room)
    await visit.context.set_offline(True)
    await write(page, room, "held back")
    await expect(row(page, "held back")).to_be_visible()
    await page.evaluate(FILL)
    await expect(page.get_by_text("Not sent. Refused once.").first).to_be_visible()
    await write(page, room, "one too many")
    await expect(page.get_by_text("50 messages wait on this device already.")).to_be_visible()
    await expect(page.get_by_label(f"Message {room}")).to_have_value("one too many")
    await visit.context.set_offline(False)
    assert await house.texts(room, 1) == ["held back"]
    await expect(page.get_by_text("Goes out when the connection is back.")).to_have_count(0)
    await write(page, room, "one too many")
    assert await house.texts(room, 2) == ["held back", "one too many"]


# ── who is called ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.fresh_page
async def test_screen_readers_announce_a_waiting_card_and_every_disconnect(house: House, visit: Visit) -> None:
    await house.tool("confirm")
    ask = {"calls": [{"tool": "confirm", "args": {"question": "Send it?"}}]}
    agent = await house.agent("Vox", ask, tools=["messaging", "confirm"])
    room = await house.room(agent)
    page = await visit.room(room)
    await page.evaluate(LISTEN)
    await house.post(room, "go")
    call = f"assertive {agent.capitalize()} waits for you: Send it?"
    await page.wait_for_function("call => window.heard.includes(call)", arg=call)
    lost = "assertive No connection to the office. It is tried again by itself."
    for _ in range(2):
        await page.evaluate("window.heard = []")
        await visit.context.set_offline(True)
        await page.wait_for_function("lost => window.heard.includes(lost)", arg=lost)
        await visit.context.set_offline(False)
        await expect(page.get_by_text("You can keep writing")).to_have_count(0)
        await expect(page.locator("[aria-live=assertive]")).to_have_text("")
    assert f"polite {agent.capitalize()}: " not in await page.evaluate("window.heard")


async def test_a_muted_room_calls_nobody_but_marks_a_mention(house: House, visit: Visit, other: Visit) -> None:
    room, elsewhere = await house.room(house.ids["Bo"], wake=QUIET), await house.room(wake=QUIET)
    page = await visit.room(room, load=True)
    await page.get_by_role("button", name="Room details").click()
    await page.get_by_label("Mute on this device").check()
    await expect(rail(page, room).get_by_label("muted")).to_be_visible()
    await page.get_by_role("button", name="Room details").click()
    await rail(page, elsewhere).click()
    await expect(page.get_by_label(f"Message {elsewhere}")).to_be_visible()
    theirs = await other.room(room)
    await write(theirs, room, "nothing urgent")
    await write(theirs, room, "but this, @Olga")
    await expect(rail(page, room).get_by_label("1 mentions")).to_be_visible()
    await write(theirs, room, "and so on")
    await page.reload()
    await expect(rail(page, room).get_by_label("1 mentions")).to_be_visible()
    await expect(rail(page, room)).not_to_have_attribute("data-unread", "true")
    await house.reads(f"/spaces/{room}", lambda space: space["unread"] == 3)
