"""People, rooms and agents, looked after by the owner without a terminal."""

from __future__ import annotations

import re
from io import BytesIO

import httpx
from PIL import Image
from playwright.async_api import Browser, expect

from tests.page.house import PASSWORD, House, Visit, cookie_in
from tests.waits import until


def portrait() -> bytes:
    out = BytesIO()
    Image.new("RGB", (200, 200), (40, 120, 200)).save(out, "PNG")
    return out.getvalue()


async def test_the_owner_changes_roles_and_signs_people_out(house: House, visit: Visit, browser: Browser) -> None:
    made = await house.ask("POST", "/people", json={"name": "Zoe", "password": PASSWORD})
    async with httpx.AsyncClient(base_url=f"{house.url}/api") as http:
        cookie = cookie_in(await http.post("/session", json={"name": "Zoe", "password": PASSWORD}), house.url)
    theirs = Visit(house, browser)
    await (await theirs.open(cookie)).goto(f"{house.url}/settings")
    await expect(theirs.page.get_by_role("heading", name="Settings")).to_be_visible()

    page = await visit.load("/people")
    await page.get_by_label("Role of Zoe").select_option("admin")
    await house.reads(f"/people/{made['id']}", lambda person: person["role"] == "admin")
    await page.get_by_text("Where Zoe is signed in").click()
    await page.get_by_role("button", name=re.compile("^Sign out on")).click()
    await expect(page.get_by_text("Nowhere: no browser is signed in.")).to_be_visible()
    await expect(theirs.page.get_by_role("heading", name=re.compile("Sign in"))).to_be_visible()
    await page.get_by_role("button", name="Disable Zoe").click()
    await expect(page.get_by_role("button", name="Enable Zoe")).to_be_visible()
    await house.reads(f"/people/{made['id']}", lambda person: person.get("disabledAt") is not None)
    await page.get_by_role("button", name="Undo").last.click()
    await house.reads(f"/people/{made['id']}", lambda person: person.get("disabledAt") is None)
    await theirs.context.close()


async def test_somebody_changes_their_name_and_picture(house: House, visit: Visit, browser: Browser) -> None:
    made = await house.ask("POST", "/people", json={"name": "Yan", "password": PASSWORD})
    async with httpx.AsyncClient(base_url=f"{house.url}/api") as http:
        cookie = cookie_in(await http.post("/session", json={"name": "Yan", "password": PASSWORD}), house.url)
    room = await house.room(made["id"])
    theirs = Visit(house, browser)
    page = await theirs.open(cookie)
    await page.goto(f"{house.url}/settings")
    await page.get_by_label("Your name").fill("Yannick")
    await page.get_by_role("button", name="Change name").click()
    await house.reads(f"/people/{made['id']}", lambda person: person["name"] == "Yannick")
    chosen = {"name": "me.png", "mimeType": "image/png", "buffer": portrait()}
    await page.get_by_label("Choose a picture").set_input_files(chosen)  # type: ignore[arg-type]
    await expect(page.get_by_role("button", name="Take it away")).to_be_visible()
    await house.reads(f"/people/{made['id']}", lambda person: person.get("avatar", "").startswith("fil_"))
    await expect(page.get_by_text("this one")).to_be_visible()
    await theirs.close()
    # Others see it, in a page that was open before.
    mine = await visit.room(room)
    await mine.get_by_role("button", name="Room details").click()
    member = mine.get_by_role("complementary").get_by_role("listitem").filter(has_text="Yannick")
    drawn = "image => image.complete && image.naturalWidth > 0"
    await until(lambda: member.locator("img").evaluate(drawn))


async def test_a_room_is_renamed_archived_restored_and_deleted(house: House, visit: Visit) -> None:
    room = await house.room()
    await house.post(room, "to be kept")
    page = await visit.room(room)
    await page.get_by_role("button", name="Room details").click()
    panel = page.get_by_role("complementary").filter(has_text="Members")
    await panel.get_by_label("Topic").fill("What is left of it")
    await panel.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("main").get_by_text("What is left of it")).to_be_visible()
    await panel.get_by_role("button", name="Archive this room").click()
    await expect(page.get_by_text("This room is archived.")).to_be_visible()
    await expect(page.get_by_label(f"Message {room}")).to_have_count(0)
    await expect(page.get_by_role("log").get_by_text("to be kept")).to_be_visible()
    await expect(page.get_by_text("Archived (")).to_be_visible()
    await page.get_by_role("button", name="Restore it").click()
    await expect(page.get_by_label(f"Message {room}")).to_be_visible()
    await panel.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text(re.compile(r"3 messages"))).to_be_visible()
    await expect(dialog.get_by_role("button", name="Delete for good")).to_be_disabled()
    await dialog.get_by_role("textbox").fill(room)
    await dialog.get_by_role("button", name="Delete for good").click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("navigation", name="Rooms").get_by_text(room, exact=True)).to_have_count(0)
    assert (await house.http.get(f"/spaces/{room}")).status_code == 404


async def test_an_agent_joins_rooms_and_gets_old_instructions_back(house: House, visit: Visit) -> None:
    agent = await house.agent("Ada", {"calls": []}, instructions="Be kind.")
    room = await house.room()
    await house.ask("PATCH", f"/agents/{agent}", json={"instructions": "Be exact."})
    page = await visit.load(f"/agents/{agent}?tab=Rooms")
    await page.get_by_label("Add it to a room").select_option(room)
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("list", name="Rooms").get_by_text(f"#{room}")).to_be_visible()
    assert agent in (await house.ask("GET", f"/spaces/{room}"))["members"]
    await page.get_by_role("button", name=re.compile("^Take out")).click()
    await expect(page.get_by_text("It is in no room that you see")).to_be_visible()
    await page.get_by_role("tab", name="Instructions").click()
    await page.get_by_text("Earlier instructions").click()
    await page.get_by_role("button", name="What changed").click()
    changes = page.get_by_label("What changed in version 2")
    await expect(changes).to_contain_text("-Be kind.")
    await expect(changes).to_contain_text("+Be exact.")
    await page.get_by_role("button", name="Use it again").click()
    await house.reads(f"/agents/{agent}", lambda found: found["instructions"] == "Be kind.")
