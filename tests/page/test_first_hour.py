"""The first hour of an owner, without a terminal after the link: from claiming to a budget, clicks counted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, expect

from bullpen.testing import NO_LIMITS
from bullpen.testing.model_server import KEY, model_server, plays, plays_in_two
from bullpen.testing.wires import Text, Wanted
from tests.cli.processes import serving
from tests.page.house import BOUND_MS, PASSWORD, row, write

SILENT = Text("")


class Hand:
    """Somebody's hand on a mouse. A choice in a list counts as a click; what is typed does not."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    async def click(self, what: Locator) -> None:
        self.clicks += 1
        await what.click()

    async def choose(self, what: Locator, option: str) -> None:
        self.clicks += 1
        await what.select_option(option)

    @contextmanager
    def at_most(self, clicks: int) -> Iterator[None]:
        before = self.clicks
        yield
        assert self.clicks - before <= clicks


def says(id: str, text: str) -> Wanted:
    return Wanted(id, "send_message", f'{{"text": "{text}"}}')


async def claim(page: Page, link: str) -> None:
    await page.goto(link)
    await page.get_by_label("Your name").fill("Mara")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_label("Password", exact=True).press("Enter")
    await expect(page.get_by_role("heading", name="Welcome, Mara")).to_be_visible()


async def connect_local_model(hand: Hand, url: str) -> None:
    page = hand.page
    await hand.click(page.get_by_role("main").get_by_role("button", name="Connect a model"))
    form = page.get_by_role("dialog").get_by_role("form", name="Connect a model")
    await hand.choose(form.get_by_label("Provider"), "Another server")
    await form.get_by_label("Address").fill(url)
    await form.get_by_label("Key").fill(KEY)
    await form.get_by_label("Key").press("Enter")
    await hand.click(page.get_by_role("dialog").get_by_role("button", name="Check and use"))
    await expect(page.get_by_text("is connected.")).to_be_visible()


async def make_agent(hand: Hand) -> None:
    page = hand.page
    await hand.click(page.get_by_role("navigation", name="Main", exact=True).get_by_role("link", name="Agents"))
    await hand.click(page.get_by_role("button", name="New agent"))
    dialog = page.get_by_role("dialog", name="New agent")
    await dialog.get_by_label("Name", exact=True).fill("Ada")
    await dialog.get_by_label("Instructions").fill("You count things.")
    await expect(dialog.get_by_label(re.compile("^Model"))).to_have_value("a-model")
    await hand.click(dialog.get_by_role("button", name="Make agent"))
    await expect(page.get_by_role("heading", name="Ada")).to_be_visible()


async def make_room(hand: Hand) -> None:
    page = hand.page
    await hand.click(page.get_by_role("button", name="New room"))
    dialog = page.get_by_role("dialog", name="New room")
    await dialog.get_by_label("Name").fill("office")
    await dialog.get_by_label("When do agents wake?").select_option("For every message of a person")
    await dialog.get_by_label("Ada").check()
    await dialog.get_by_role("button", name="Make room").click()
    await expect(page.get_by_label("Message office", exact=True)).to_be_visible()


async def invite(hand: Hand) -> str:
    page = hand.page
    await hand.click(page.get_by_role("navigation", name="Main", exact=True).get_by_role("link", name="People"))
    await hand.click(page.get_by_role("button", name="Make a link"))
    await expect(page.locator("[data-invite]")).to_contain_text("#invite=")
    link = await page.locator("[data-invite]").inner_text()
    await hand.click(page.get_by_role("button", name="Copy"))
    return link


async def join(browser: Browser, link: str) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(link)
    await page.get_by_label("Your name").fill("Bo")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_label("Password", exact=True).press("Enter")
    await expect(row(page, "Hello, I am Ada")).to_be_visible()
    await context.close()


async def limit_the_day(hand: Hand) -> None:
    page = hand.page
    await hand.click(page.get_by_title("Spent today by all agents"))
    await hand.click(page.get_by_role("button", name="New budget"))
    await page.get_by_role("dialog").get_by_label("At most, in dollars").fill("5")
    await page.get_by_role("dialog").get_by_label("At most, in dollars").press("Enter")
    await expect(page.get_by_role("meter", name=re.compile("Used of the whole office", re.I))).to_be_visible()


async def test_the_first_hour_takes_few_clicks_and_no_terminal(browser: Browser, tmp_path: Path) -> None:
    rest = asyncio.Event()
    async with model_server(plays(Text("yes"))) as local:
        with serving(tmp_path / "data", **NO_LIMITS) as process:
            context = await browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            context.set_default_timeout(BOUND_MS)
            expect.set_options(timeout=BOUND_MS)
            page = await context.new_page()
            hand = Hand(page)
            await claim(page, process.wait_for("#claim=").split()[-1])
            with hand.at_most(3):
                await connect_local_model(hand, local.url)
            with hand.at_most(3):
                await make_agent(hand)
            await make_room(hand)

            local.gives(plays_in_two(says("c1", "Hello, I am Ada and I count what there is to count."), rest=rest))
            await write(page, "office", "hello?")
            await expect(row(page, "Hello, I am Ada")).to_be_visible()
            assert "to count" not in await row(page, "Hello, I am Ada").inner_text()
            local.gives(plays(SILENT))
            rest.set()
            await expect(row(page, "I count what there is to count.")).to_be_visible()

            with hand.at_most(3):
                link = await invite(hand)
            await join(browser, link)

            await hand.click(page.get_by_role("navigation", name="Main", exact=True).get_by_role("link", name="Agents"))
            await hand.click(page.get_by_role("link", name="Ada"))
            await hand.click(page.get_by_role("tab", name="Tools"))
            await hand.choose(page.get_by_label("May it use send_message?"), "ask")
            await hand.click(page.get_by_role("navigation", name="Rooms").get_by_role("link", name="office"))
            local.gives(plays(says("c2", "Seven sheep.")), plays(SILENT))
            await write(page, "office", "how many sheep?")
            with hand.at_most(1):
                await hand.click(page.get_by_role("region").get_by_role("button", name="Approve"))
                await expect(row(page, "Seven sheep.").last).to_be_visible()

            again = asyncio.Event()
            local.gives(plays_in_two(Text("I think about it, and then again"), rest=again), plays(SILENT))
            await write(page, "office", "and tomorrow?")
            with hand.at_most(1):
                await hand.click(page.get_by_role("button", name="Stop Ada").first)
                await expect(page.get_by_role("log").get_by_text("Mara stopped Ada.")).to_be_visible()
            again.set()

            await limit_the_day(hand)
            await context.close()
