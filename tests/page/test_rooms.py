"""Rooms: who is there, what is said, live, and what one does with it."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import orjson
import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from bullpen.testing.model_server import ModelServer, plays, plays_in_two
from bullpen.testing.wires import Text, Wanted
from tests.files.offering import picture
from tests.page.house import House, Visit, edit_last, offered, row, write
from tests.waits import BOUND, until

MODEL = "anthropic:claude-test"


def says(text: str, **more: str) -> dict[str, Any]:
    return {"calls": [{"tool": "send_message", "args": {"text": text, **more}}]}


async def nothing_left_to_send(page: Page) -> bool:
    return not await page.evaluate("Object.keys(localStorage).some(key => key.includes('outbox'))")


@pytest.mark.fresh_page
async def test_a_message_reaches_everybody_at_once_and_an_agent_answers(
    house: House, visit: Visit, other: Visit
) -> None:
    agent = await house.agent("Ada", says("Signups are **up 16 %**."), description="Research; counts things.")
    room = await house.room(agent, house.ids["Bo"])
    page, theirs = await visit.room(room), await other.room(room)
    await write(page, room, "how are signups?")
    for each in (page, theirs):
        await expect(each.get_by_text("how are signups?")).to_have_count(1)
        await expect(each.get_by_role("log").locator("strong", has_text="up 16 %")).to_be_visible()
        await expect(each.get_by_text("agent · research").first).to_be_visible()
    await expect(page.get_by_label(f"Message {room}")).to_have_value("")
    assert await house.texts(room, 2) == ["how are signups?", "Signups are **up 16 %**."]


async def test_text_appears_as_it_is_written_and_becomes_the_message(
    house: House, visit: Visit, provider: ModelServer
) -> None:
    words = "It begins with a first word, goes on for quite a while, and comes to its very last word."
    call = Wanted("toolu_1", "send_message", '{"text": "' + words + '"}')
    rest = asyncio.Event()
    provider.gives(plays_in_two(call, rest=rest), plays(Text("")))
    agent = await house.agent("Slow")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": MODEL, "tools": ["send_message"]})
    room = await house.room(agent)
    page = await visit.room(room)
    await write(page, room, "tell me")
    await expect(page.get_by_role("status").filter(has_text=re.compile("is (thinking|writing)"))).to_be_visible()
    written = row(page, "It begins")
    await expect(written).to_be_visible()
    early = await written.inner_text()
    assert "very last word" not in early
    rest.set()
    await expect(row(page, "very last word")).to_have_count(1)
    await expect(row(page, "It begins")).to_have_count(1)
    await expect(page.get_by_text("Why this?")).to_be_visible()


@pytest.mark.proves("B-page-1")
async def test_text_grows_only_in_the_room_it_is_for(
    house: House, visit: Visit, other: Visit, provider: ModelServer
) -> None:
    """Its agent is in three rooms, is asked in one, and answers in another."""
    agent = await house.agent("Slow")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": MODEL, "tools": ["send_message"]})
    asked, meant, third = [await house.room(agent, house.ids["Bo"]) for _ in range(3)]
    words = "It begins with a first word, goes on for quite a while, and comes to its very last word."
    call = Wanted("toolu_3", "send_message", orjson.dumps({"spaceId": meant, "text": words}).decode())
    rest = asyncio.Event()
    provider.gives(plays_in_two(call, rest=rest), plays(Text("")))
    page, theirs = await visit.room(meant), await other.room(asked)
    await write(theirs, asked, "tell me")
    await expect(row(page, "It begins")).to_be_visible()
    assert "very last word" not in await row(page, "It begins").inner_text()
    await expect(row(theirs, "It begins")).to_have_count(0)
    await other.room(third)
    await expect(row(theirs, "It begins")).to_have_count(0)
    rest.set()
    await expect(row(page, "very last word")).to_have_count(1)
    await expect(row(page, "It begins")).to_have_count(1)
    assert await house.texts(asked, 1) == ["tell me"]


async def test_text_that_will_not_be_sent_disappears(house: House, visit: Visit, provider: ModelServer) -> None:
    agent = await house.agent("Slow")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": MODEL, "tools": ["send_message"]})
    room, elsewhere = await house.room(agent), await house.room(agent)
    words = "It begins with a first word, goes on for quite a while, and comes to its very last word."
    written = orjson.dumps({"spaceId": room, "text": words}).decode()[:-1] + f', "spaceId": "{elsewhere}"}}'
    rest = asyncio.Event()
    provider.gives(plays_in_two(Wanted("toolu_4", "send_message", written), rest=rest), plays(Text("")))
    page = await visit.room(room)
    await write(page, room, "tell me")
    await expect(row(page, "It begins")).to_be_visible()
    rest.set()
    await expect(row(page, "It begins")).to_have_count(0)
    assert await house.texts(room, 1) == ["tell me"]


async def test_counts_and_mention_badges_come_and_go(house: House, visit: Visit, other: Visit) -> None:
    room, elsewhere = await house.room(house.ids["Bo"]), await house.room(house.ids["Bo"])
    page = await visit.room(elsewhere, load=True)
    theirs = await other.room(room)
    link = page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(room))
    await write(theirs, room, "one")
    await expect(link.get_by_label("1 unread")).to_be_visible()
    await write(theirs, room, "and two for @Olga")
    await expect(link.get_by_label("1 mentions")).to_be_visible()
    await page.bring_to_front()
    await link.click()
    await expect(page.get_by_role("separator", name="2 new")).to_be_visible()
    await expect(page.get_by_text("@Olga").first).to_be_visible()

    async def read() -> bool:
        space = await house.ask("GET", f"/spaces/{room}")
        return bool(space["unread"] == 0)

    await until(read)


async def test_bursts_are_followed_unless_the_reader_has_scrolled_up(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    await expect(page.get_by_role("combobox", name=f"Message {room}")).to_be_visible()
    long = "\n".join(f"- point {number}" for number in range(12))

    async def burst(first: int) -> None:
        await asyncio.gather(*(house.post(room, f"burst {n} of it\n\n{long}") for n in range(first, first + 40)))
        await house.post(room, f"the end of burst {first}")

    await burst(0)
    await expect(row(page, "the end of burst 0")).to_be_in_viewport()
    await burst(100)
    await expect(row(page, "the end of burst 100")).to_be_in_viewport()
    await page.get_by_role("log").hover()
    await page.mouse.wheel(0, -1500)
    await expect(page.get_by_role("button", name="Newest")).to_be_visible()
    await burst(200)
    await expect(page.get_by_role("button", name=re.compile("new|Newest"))).to_be_visible()
    assert await row(page, "the end of burst 200").count() == 0
    await page.get_by_role("button", name=re.compile("new|Newest")).click()
    await expect(row(page, "the end of burst 200")).to_be_in_viewport()


async def test_where_unread_begins_is_one_click_away(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(house.ids["Bo"])
    for number in range(70):
        await house.post(room, f"line {number} of many")
    theirs = await other.room(room, load=True)
    await expect(row(theirs, "line 69 of many")).to_be_in_viewport()
    await theirs.get_by_role("button", name="First unread").click()
    await expect(theirs.get_by_role("separator", name="70 new")).to_be_in_viewport()
    await expect(row(theirs, "line 0 of many")).to_be_in_viewport()


async def test_a_room_is_made_joined_left_and_somebody_invited(house: House, visit: Visit, other: Visit) -> None:
    page = await visit.room(await house.room())
    await page.get_by_role("button", name="New room").click()
    dialog = page.get_by_role("dialog", name="New room")
    await dialog.get_by_label("Name").fill("launch week")
    await dialog.get_by_role("button", name="Make room").click()
    await expect(page.get_by_role("heading", name="launch week").first).to_be_visible()
    theirs = await other.load(page.url.removeprefix(house.url))
    await theirs.get_by_role("button", name="Join this room").click()
    await expect(theirs.get_by_label("Message launch week")).to_be_visible()
    await page.get_by_role("button", name="Room details").click()
    panel = page.get_by_role("complementary", name="Room details")
    await expect(panel.get_by_text("Bo")).to_be_visible()
    agent = await house.agent("Guest")
    await page.reload()
    await panel.get_by_label("Invite somebody").select_option(agent)
    await panel.get_by_role("button", name="Add").click()
    await expect(panel.get_by_role("listitem").filter(has_text=agent.capitalize())).to_be_visible()
    await theirs.get_by_role("button", name="Room details").click()
    await theirs.get_by_role("button", name="Leave this room").click()
    await expect(panel.get_by_role("listitem").filter(has_text="Bo")).to_have_count(0)


async def test_one_replies_reacts_edits_and_deletes(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(house.ids["Bo"])
    page, theirs = await visit.room(room), await other.room(room)
    await write(page, room, "first thoguht")
    mine = row(page, "first thoguht")
    await (await offered(mine, "More")).click()
    await page.get_by_role("menuitem", name="Edit").click()
    await page.get_by_label("Edit message").fill("first thought")
    await page.get_by_role("button", name="Save").click()
    await expect(row(theirs, "first thought").get_by_text("edited")).to_be_visible()
    await (await offered(row(theirs, "first thought"), "React")).click()
    await theirs.get_by_role("button", name="React with 🎉").click()
    await expect(row(page, "first thought").get_by_role("button", name=re.compile("🎉, 1: Bo"))).to_be_visible()
    await row(page, "first thought").get_by_role("button", name=re.compile("🎉")).click()
    await expect(row(theirs, "first thought").get_by_role("button", name=re.compile("🎉, 2"))).to_be_visible()
    await (await offered(row(theirs, "first thought"), "Reply")).click()
    await theirs.get_by_role("combobox", name="Reply").fill("an answer to it")
    await theirs.get_by_role("combobox", name="Reply").press("Enter")
    await expect(row(page, "an answer to it").get_by_text("Olga: first thought")).to_be_visible()
    await (await offered(row(page, "first thought").first, "More")).click()
    await page.get_by_role("menuitem", name="Delete…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(theirs.get_by_role("log").get_by_text("This message was deleted.")).to_be_visible()


async def test_an_edit_does_not_overwrite_a_newer_one(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    await write(page, room, "as it was")
    await edit_last(page, room)
    (message,) = [each for each in await house.messages(room) if each["text"] == "as it was"]
    await house.ask("PATCH", f"/messages/{message['id']}", json={"text": "changed elsewhere"})
    await page.get_by_label("Edit message").fill("changed here")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("This message was edited after you read it")).to_be_visible()
    assert [each["text"] for each in await house.messages(room)] == ["changed elsewhere"]


async def test_files_are_dropped_shown_and_heard(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    chooser = page.locator("input[type=file]")
    voice = b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead" + bytes(20)
    await chooser.set_input_files(
        [
            FilePayload(name="small.png", mimeType="image/png", buffer=picture()),
            FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"three words here"),
            FilePayload(name="voice.ogg", mimeType="audio/ogg", buffer=voice),
        ]
    )
    await expect(page.get_by_text("notes.txt")).to_be_visible()
    await write(page, room, "look at these")
    await expect(page.get_by_role("img", name="small.png")).to_be_visible()
    link = page.get_by_role("link", name=re.compile("notes.txt"))
    await expect(link).to_have_attribute("href", re.compile(r"^/api/files/fil_.*/content$"))
    await expect(page.get_by_label("Voice: voice.ogg")).to_be_visible()
    # Dropping: the browser hands files over in an event.
    await page.evaluate(
        """() => { const transfer = new DataTransfer(); transfer.items.add(new File(['x'], 'dropped.txt'));
        const drop = new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true});
        document.querySelector('main').dispatchEvent(drop) }"""
    )
    await expect(page.get_by_text("dropped.txt")).to_be_visible()


async def test_history_is_endless_and_thousands_of_messages_stay_light(house: House, visit: Visit) -> None:
    room = await house.room(wake={"people": "none", "agents": "none"})
    for begin in range(0, 160, 40):
        await asyncio.gather(*(house.post(room, f"line {number:04}") for number in range(begin, begin + 40)))
    page = await visit.room(room)
    last = (await house.messages(room))[-1]["text"]
    await expect(row(page, last)).to_be_visible()
    assert await page.get_by_role("article").count() < 60
    log = page.get_by_role("log")
    first = (await house.ask("GET", f"/spaces/{room}/messages", params={"after": 0, "limit": 1}))["items"][0]["text"]

    async def at_the_beginning() -> bool:
        await log.evaluate("element => { element.scrollTop = 0 }")
        return await page.get_by_text("This is where it begins.").is_visible()

    await until(at_the_beginning)
    await expect(row(page, first)).to_be_visible()
    await page.get_by_role("button", name=re.compile("Newest|new")).click()
    await expect(row(page, last)).to_be_visible()


async def test_a_draft_is_kept_and_search_leads_to_the_message(house: House, visit: Visit) -> None:
    room, elsewhere = await house.room(), await house.room()
    await house.post(room, "the walrus likes turnips")
    for number in range(30):
        await house.post(room, f"something else {number}")
    page = await visit.room(room)
    await page.get_by_label(f"Message {room}").fill("half a thou")
    await page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(elsewhere)).click()
    await expect(page.get_by_label(f"Message {elsewhere}")).to_be_visible()
    await page.reload()
    link = page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(room))
    await expect(link.get_by_label("draft")).to_be_visible()
    await link.click()
    await expect(page.get_by_label(f"Message {room}")).to_have_value("half a thou")
    await page.get_by_role("button", name="Search in this room").click()
    await page.get_by_label("Words").fill("turnips")
    await page.get_by_label("Words").press("Enter")
    await expect(page.locator("mark", has_text="turnips")).to_be_visible()
    await page.get_by_role("link", name=re.compile("walrus")).click()
    await expect(row(page, "the walrus likes")).to_be_in_viewport()


async def test_a_since_date_search_starts_at_the_users_local_midnight(house: House, browser: Browser) -> None:
    visit = Visit(house, browser)
    page = await visit.open(house.cookie, timezone_id="Asia/Tokyo")
    await visit.go("/search?q=anything")
    async with page.expect_request(lambda request: "/api/search" in request.url and "after=" in request.url) as asked:
        await page.get_by_label("since").fill("2026-03-02")
    assert parse_qs(urlsplit((await asked.value).url).query)["after"] == ["2026-03-01T15:00:00.000Z"]
    await visit.close()


async def test_arrow_up_edits_ones_last_message_even_far_above(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(house.ids["Bo"], wake={"people": "none", "agents": "none"})
    await house.post(room, "what I said long ago")
    async with httpx.AsyncClient(base_url=f"{house.url}/api", headers={"Origin": house.url}) as http:
        cookie = await house.cookie_of("Bo")
        http.cookies.set(cookie["name"], cookie["value"])
        long = "\n".join(f"- point {number}" for number in range(12))
        for number in range(20):
            await http.post(f"/spaces/{room}/messages", json={"text": f"line {number}\n\n{long}"})
    page = await visit.room(room, load=True)
    await page.get_by_role("button", name=re.compile("Newest|new")).click()
    await expect(row(page, "line 19")).to_be_in_viewport()
    await expect(row(page, "what I said long ago")).to_have_count(0)
    await page.get_by_label(f"Message {room}").press("ArrowUp")
    await expect(page.get_by_label("Edit message")).to_have_value("what I said long ago")
    await expect(page.get_by_label("Edit message")).to_be_in_viewport()


async def test_an_at_sign_offers_members_and_says_who_wakes(house: House, visit: Visit) -> None:
    agent = await house.agent("Otto", says("Here."))
    room = await house.room(agent, wake={"people": "mention", "agents": "none"})
    page = await visit.room(room)
    box = page.get_by_label(f"Message {room}")
    await box.press_sequentially("hello")
    await expect(page.get_by_text("Wakes no agent")).to_be_visible()
    await box.press_sequentially(f" @{agent[:4]}")
    await expect(page.get_by_role("option", name=re.compile(agent.capitalize()))).to_be_visible()
    await box.press("Enter")
    await expect(box).to_have_value(f"hello @{agent.capitalize()} ")
    await expect(page.get_by_text(f"Wakes {agent.capitalize()}")).to_be_visible()
    await box.press("Enter")
    await expect(row(page, "Here.")).to_be_visible()


@pytest.mark.fresh_page
async def test_a_message_written_offline_is_sent_once_after_reconnecting(house: House, visit: Visit) -> None:
    room = await house.room(wake={"people": "none", "agents": "none"})
    page = await visit.room(room)
    await write(page, room, "before")
    await expect(row(page, "before")).to_be_visible()
    await until(partial(nothing_left_to_send, page))
    await visit.context.set_offline(True)
    await expect(page.get_by_text("No connection to the office.").first).to_be_visible()
    await write(page, room, "while away")
    await write(page, room, "and another")
    await expect(row(page, "while away")).to_be_visible()
    await expect(page.get_by_text("2 messages will go out then")).to_be_visible()
    await house.post(room, "said meanwhile")
    await visit.context.set_offline(False)
    await expect(row(page, "said meanwhile")).to_be_visible()
    await expect(page.get_by_text("You can keep writing")).to_have_count(0)
    found = await house.texts(room, 4)
    assert sorted(found) == ["and another", "before", "said meanwhile", "while away"]
    assert found.index("while away") < found.index("and another")
    await expect(row(page, "while away")).to_have_count(1)


async def test_a_lost_post_response_creates_no_duplicate_message(house: House, visit: Visit) -> None:
    room = await house.room(wake={"people": "none", "agents": "none"})
    page = await visit.room(room)
    lost = 0

    async def lose(route: Any) -> None:
        nonlocal lost
        if route.request.method == "POST" and lost < 1:
            lost += 1
            await route.fetch()  # it arrived
            await route.abort("connectionreset")  # and nobody hears of it
        else:
            await route.continue_()

    await page.route(re.compile(r"/api/spaces/.*/messages$"), lose)
    await write(page, room, "only once")
    await expect(row(page, "only once")).to_have_count(1)
    await until(partial(nothing_left_to_send, page))
    assert [message["text"] for message in await house.messages(room)] == ["only once"]
    await expect(row(page, "only once")).to_have_count(1)


@pytest.mark.fresh_page
async def test_people_who_are_here_have_a_mark(house: House, visit: Visit, other: Visit) -> None:
    room = await house.room(house.ids["Bo"])
    page = await visit.room(room)
    await page.get_by_role("button", name="Room details").click()
    line = page.get_by_role("complementary", name="Room details").get_by_role("listitem").filter(has_text="Bo")
    await other.room(room)
    await expect(line.get_by_text("here")).to_be_visible()
    await other.page.close()
    await expect(line.get_by_text("here")).to_have_count(0)


@pytest.mark.parametrize("link", ["space", "copied"])
async def test_links_of_messages_lead_to_them(house: House, visit: Visit, link: str) -> None:
    room = await house.room()
    wanted = await house.post(room, "this one here")
    for number in range(40):
        await house.post(room, f"filler {number}")
    address = f"/#space={room}&message={wanted['id']}" if link == "space" else f"/rooms/{room}?message={wanted['id']}"
    page = await visit.load(address)
    await expect(row(page, "this one here")).to_be_in_viewport()


async def test_files_attach_to_whichever_room_or_thread_they_land_on(house: House, visit: Visit) -> None:
    room = await house.room()
    root = await house.post(room, "the root of it")
    page = await visit.go(f"/rooms/{room}?panel=thread:{root['id']}")
    panel = page.get_by_role("complementary", name="Replies")
    await expect(panel.get_by_text("No replies yet.")).to_be_visible()
    drop = """(element, name) => { const transfer = new DataTransfer(); transfer.items.add(new File(['x'], name));
        const options = {dataTransfer: transfer, bubbles: true, cancelable: true};
        element.dispatchEvent(new DragEvent('drop', options)) }"""
    await page.locator("main").evaluate(drop, "for-the-room.txt")
    await panel.get_by_text("No replies yet.").evaluate(drop, "for-the-thread.txt")
    await expect(page.locator("main").get_by_role("button", name="Remove for-the-room.txt")).to_be_visible()
    await expect(panel.get_by_role("button", name="Remove for-the-thread.txt")).to_be_visible()
    await expect(page.get_by_role("button", name=re.compile("^Remove "))).to_have_count(2)


async def test_a_refused_reply_reopens_in_its_thread_with_its_files(house: House, visit: Visit) -> None:
    room = await house.room(wake={"people": "none", "agents": "none"})
    root = await house.post(room, "the root of it")
    page = await visit.room(room)

    async def refuse(route: Any) -> None:
        if route.request.method != "POST":
            await route.continue_()
            return
        await route.fulfill(status=422, json={"error": {"code": "invalid", "message": "Not like this."}})

    await page.route(re.compile(r"/api/spaces/.*/messages$"), refuse)
    await row(page, "the root of it").hover()
    await row(page, "the root of it").get_by_role("button", name="Reply").click()
    panel = page.get_by_role("complementary", name="Replies")
    reply = panel.get_by_role("combobox", name="Reply")
    chosen = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"three words here")
    await panel.locator("input[type=file]").set_input_files([chosen])
    await reply.fill("it is a lie")
    await reply.press("Enter")
    await expect(panel.get_by_text("Not sent. Not like this.")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_label(f"Message {room}", exact=True).fill("something else")
    await row(page, "it is a lie").get_by_role("button", name="Edit").click()
    await expect(reply).to_have_value("it is a lie")
    await expect(panel.get_by_role("button", name="Remove notes.txt")).to_be_visible()
    await expect(page.get_by_label(f"Message {room}", exact=True)).to_have_value("something else")
    await page.unroute(re.compile(r"/api/spaces/.*/messages$"))
    await reply.fill("it is a like")
    await reply.press("Enter")
    await expect(panel.get_by_role("link", name=re.compile("notes.txt"))).to_be_visible()
    (_, told) = await house.messages_once_there(room, 2)
    assert (told["text"], told["replyTo"], len(told["attachments"])) == ("it is a like", root["id"], 1)


async def test_replies_from_long_ago_are_all_there(house: House, visit: Visit) -> None:
    room = await house.room(wake={"people": "none", "agents": "none"})
    root = await house.post(room, "the root of it")
    await house.post(room, "an early reply", replyTo=root["id"])
    for begin in range(0, 240, 40):
        await asyncio.gather(*(house.post(room, f"line {number}") for number in range(begin, begin + 40)))
    await house.post(room, "a late reply", replyTo=root["id"])
    page = await visit.go(f"/rooms/{room}?panel=thread:{root['id']}")
    panel = page.get_by_role("complementary", name="Replies")
    await expect(panel.get_by_role("article")).to_have_count(3)
    await expect(panel.get_by_text("an early reply")).to_be_visible()
    await expect(panel.get_by_text("a late reply")).to_be_visible()


async def test_an_upload_whose_answer_was_lost_is_kept_once(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    answers: list[int] = []

    async def lose_the_first(route: Any) -> None:
        answer = await route.fetch()
        answers.append(answer.status)
        await (route.abort() if len(answers) == 1 else route.fulfill(response=answer))

    await page.route("**/api/files?*", lose_the_first)
    chosen = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"three words here")
    await page.locator("input[type=file]").set_input_files([chosen])
    await write(page, room, "see the file")
    (sent,) = await house.messages_once_there(room, 1)
    assert answers == [201, 201]
    files = (await house.ask("GET", "/files", params={"spaceId": room}))["items"]
    assert [file["id"] for file in files] == [sent["attachments"][0]["id"]]


async def test_a_message_awaiting_its_upload_sends_despite_switching_rooms(house: House, visit: Visit) -> None:
    room, elsewhere = await house.room(), await house.room()
    page = await visit.room(room)
    let_through = asyncio.Event()

    async def hold(route: Any) -> None:
        await let_through.wait()
        await route.continue_()

    await page.route("**/api/files?*", hold)
    chosen = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"three words here")
    await page.locator("input[type=file]").set_input_files([chosen])
    await write(page, room, "see the file")
    await expect(page.get_by_text("Goes out when the files are there")).to_be_visible()
    await page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(elsewhere)).click()
    await expect(page.get_by_label(f"Message {elsewhere}")).to_be_visible()
    let_through.set()
    found = await house.messages_once_there(room, 1)
    assert [(each["text"], each["attachments"][0]["name"]) for each in found] == [("see the file", "notes.txt")]
    await page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(room)).click()
    await expect(page.get_by_label(f"Message {room}")).to_have_value("")
    await expect(page.get_by_role("button", name="Remove notes.txt")).to_have_count(0)


async def test_a_late_wake_preview_is_not_shown_for_newer_text(house: House, visit: Visit) -> None:
    agent = await house.agent("Otto", says("Here."))
    room = await house.room(agent, wake={"people": "mention", "agents": "none"})
    page = await visit.room(room)
    asked, let_through = asyncio.Event(), asyncio.Event()

    async def hold(route: Any) -> None:
        if agent in route.request.post_data:
            asked.set()
            await let_through.wait()
        await route.continue_()

    await page.route("**/preview", hold)
    box = page.get_by_label(f"Message {room}")
    await box.fill(f"@{agent} hello")
    async with asyncio.timeout(BOUND):
        await asked.wait()
    await box.fill("hello, nobody")
    await expect(page.get_by_text("Wakes no agent")).to_be_visible()
    async with page.expect_response(lambda answer: "/preview" in answer.url):
        let_through.set()
    await box.fill("hello, nobody at all")
    await expect(page.get_by_text(re.compile("^Wakes"))).to_have_count(0)
    await expect(page.get_by_text("Wakes no agent")).to_be_visible()


@pytest.mark.fresh_page
async def test_a_disconnect_while_an_agent_writes_leaves_one_whole_message(
    house: House, visit: Visit, provider: ModelServer
) -> None:
    words = "It begins with a first word, goes on for quite a while, and comes to its very last word."
    call = Wanted("toolu_7", "send_message", '{"text": "' + words + '"}')
    rest = asyncio.Event()
    provider.gives(plays_in_two(call, rest=rest), plays(Text("")))
    agent = await house.agent("Slow")
    await house.ask("PATCH", f"/agents/{agent}", json={"model": MODEL, "tools": ["send_message"]})
    room = await house.room(agent)
    page = await visit.room(room)
    await write(page, room, "tell me")
    await expect(row(page, "It begins")).to_be_visible()
    await visit.context.set_offline(True)
    await expect(page.get_by_text("No connection to the office.").first).to_be_visible()
    rest.set()

    async def completed() -> bool:
        runs = (await house.ask("GET", "/runs", params={"spaceId": room}))["items"]
        return bool(runs[0]["status"] == "completed")

    await until(completed)
    await visit.context.set_offline(False)
    await expect(row(page, "very last word")).to_have_count(1)
    await expect(row(page, "It begins")).to_have_count(1)
    await expect(page.get_by_role("status").filter(has_text=re.compile("is (thinking|writing)"))).to_have_count(0)
    await expect(page.get_by_text("Why this?")).to_be_visible()
