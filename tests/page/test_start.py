"""The way in and the first minute: claim, sign in, invite, the demo, the tour, connecting a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bullpen.testing import NO_LIMITS
from tests.cli.processes import serving
from tests.page.house import BOUND_MS, PASSWORD, House, Visit, claimed


async def test_one_claims_the_demo_office_and_finds_it_alive(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--demo", "office", **NO_LIMITS) as process:
        link = process.wait_for("#claim=").split()[-1]
        context = await browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        context.set_default_timeout(BOUND_MS)
        page = await context.new_page()
        await page.goto(link.partition("#")[0])
        await expect(page.get_by_role("heading", name="Nobody owns this office yet")).to_be_visible()
        await page.goto(link)
        await page.get_by_label("Your name").fill("Mara")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Claim this office").click()
        await expect(page).not_to_have_url(re.compile("claim"))
        log = page.get_by_role("log")
        await expect(log.get_by_text("Welcome to Halfmoon!")).to_be_visible()
        card = page.get_by_role("region", name=re.compile("Which sketch"))
        tour = page.get_by_role("region", name="Start here")
        await expect(tour.get_by_text("Answer Wren’s card")).to_be_visible()
        await card.get_by_label("Letters as lanterns").check()
        await card.get_by_role("button", name="Send answer").click()
        await expect(log.get_by_text("Good choice. I sharpen the pencil.")).to_be_visible()
        await expect(tour.get_by_text("A card is answered")).to_be_visible()
        await page.get_by_label("Message General").fill("hello everyone")
        await page.get_by_label("Message General").press("Enter")
        await expect(log.get_by_text("The kettle is on")).to_be_visible()
        await tour.get_by_role("button", name="Skip tour").click()
        await page.reload()
        await expect(log).to_be_visible()
        await expect(tour).to_have_count(0)
        await context.close()


async def test_sign_in_reports_a_wrong_password_and_sign_out_works(house: House, browser: Browser) -> None:
    await house.cookie_of("Bo")
    visit = Visit(house, browser)
    page = await visit.open(None)
    await visit.go("/runs")
    await page.get_by_label("Name").fill("Bo")
    await page.get_by_label("Password", exact=True).fill("not this one")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert").filter(has_text="The name or the password is wrong.")).to_be_visible()
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    await page.get_by_role("link", name="Settings").click()
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await visit.close()


@pytest.mark.proves("B-page-38")
async def test_an_invite_link_brings_somebody_in_once(house: House, visit: Visit, browser: Browser) -> None:
    room = await house.room()
    await house.post(room, "here we talk")
    page = await visit.go("/people")
    await page.get_by_label("Into which room").select_option(room)
    await page.get_by_role("button", name="Make a link").click()
    await expect(page.get_by_text("This link opens on this machine only.")).to_be_visible()
    link = await page.locator("[data-invite]").inner_text()
    guest = Visit(house, browser)
    theirs = await guest.open(None)
    await theirs.goto(link)
    await expect(theirs.get_by_text(f"Olga invites you to #{room}")).to_be_visible()
    await theirs.get_by_label("Your name").fill("Ines")
    await theirs.get_by_label("Password", exact=True).fill(PASSWORD)
    await theirs.get_by_role("button", name="Join").click()
    await expect(theirs.get_by_role("log").get_by_text("here we talk")).to_be_visible()
    await expect(theirs).not_to_have_url(re.compile("invite"))
    await theirs.get_by_label(f"Message {room}").fill("hello, I am new")
    await theirs.get_by_label(f"Message {room}").press("Enter")
    await expect(theirs.get_by_role("log").get_by_text("hello, I am new")).to_be_visible()
    await theirs.context.clear_cookies()
    await theirs.goto(link)
    await theirs.reload()
    await theirs.goto("about:blank")
    await theirs.goto(link)
    await expect(theirs.get_by_role("alert")).to_contain_text("This invite was used")
    await guest.close()


async def test_the_owner_of_an_empty_office_sees_how_to_begin(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data", **NO_LIMITS) as process:
        async with claimed(process, tmp_path / "data") as own:
            visit = Visit(own, browser)
            page = await visit.open(own.cookie)
            await visit.go("/")
            await expect(page.get_by_role("heading", name="Welcome, Olga")).to_be_visible()
            await page.get_by_role("main").get_by_role("button", name="New room").click()
            dialog = page.get_by_role("dialog", name="New room")
            await dialog.get_by_label("Group").check()
            await dialog.get_by_label("Name").fill("family")
            await dialog.get_by_label("Trigger word").fill("@Andy")
            await dialog.get_by_role("button", name="Make group").click()
            await expect(page.get_by_label("Message family")).to_be_visible()
            (made,) = (await own.ask("GET", "/spaces"))["items"]
            assert (made["kind"], made["trigger"], made["private"]) == ("group", "@Andy", True)
            assert made["wake"]["people"] == "trigger"
            await visit.close()
