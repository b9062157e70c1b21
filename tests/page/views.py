"""Every view of the page with everything open, for those who look at all of them: an office with a bit of everything,
and the way to each view."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
from playwright.async_api import Page, expect

from bullpen.testing.model_server import ModelServer
from tests.page.house import PASSWORD, House, Visit, cookie_in, offered
from tests.waits import until

CITY = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}, "required": ["city"]}
_numbers = count(1)


async def busy_room(house: House) -> str:
    """A chart, a question, code, and an approval."""
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


@dataclass
class Scene:
    """What there is to be looked at."""

    house: House
    room: str  # a bit of everything
    held: str  # with runs that are put aside, and a limit that is used up
    form: str  # with a form to fill in
    agent: str
    run: str
    task: str
    connection: str
    message: str


async def set_scene(house: House, provider: ModelServer) -> Scene:
    room = await busy_room(house)
    members = (await house.ask("GET", f"/spaces/{room}"))["members"]
    agent = next(id for id in members if id.startswith("ada"))
    await house.ask("PATCH", f"/agents/{agent}", json={"instructions": "Be exact."})
    await house.ask("PUT", f"/agents/{agent}/blocks/mood", json={"content": "calm"})
    await remember(house, agent, room)
    await house.reads(f"/runs?spaceId={room}", lambda page: any("finishedAt" in run for run in page["items"]))
    runs = (await house.ask("GET", "/runs", params={"spaceId": room}))["items"]
    schedule = {"scheduleType": "cron", "scheduleValue": "0 9 * * *"}
    task = await house.ask("POST", "/tasks", json={"spaceId": room, "agentId": agent, "prompt": "Wake up.", **schedule})
    connection = await house.ask("POST", "/models", json={"provider": "anthropic", "name": "Looked at"})
    messages = await house.messages(room)
    made = Scene(
        house,
        room,
        await room_with_held_runs(house),
        await room_with_a_form(house),
        agent,
        next(run["id"] for run in runs if "finishedAt" in run),
        task["id"],
        connection["id"],
        next(message["id"] for message in messages if "- one" in message["text"]),
    )
    await house.cookie_of("Bo")
    await house.ask("POST", "/invites", json={"role": "member", "spaceIds": [room]})
    return made


async def room_with_held_runs(house: House) -> str:
    away = await house.agent("Una", {"awaySeconds": 3600})
    spends = {"calls": [{"tool": "read_messages", "args": {}}], "usage": {"cost": 2.0}}
    poor = await house.agent("Otto", spends, limits={"maxCostPerDay": 1.0})
    paused = await house.agent("Rest")
    room = await house.room(away, poor, paused)
    await house.ask("POST", f"/agents/{paused}/pause")
    await house.post(room, "go")
    await house.reads(f"/agents/{poor}", lambda now: bool(now.get("pausedReason")))
    return room


async def room_with_a_form(house: House) -> str:
    await house.tool("form")
    form = {"calls": [{"tool": "form", "args": {"title": "Where to?", "schema": CITY}}]}
    agent = await house.agent("Fay", form, tools=["messaging", "form"])
    room = await house.room(agent)
    await house.post(room, "a form, please")
    return room


async def remember(house: House, agent: str, room: str) -> None:
    """One of each kind of memory."""
    kept = {"content": "Deliveries go to the side door.", "tags": ["studio"]}
    await house.ask("POST", f"/agents/{agent}/passages", json=kept)
    await house.ask("POST", f"/spaces/{room}/passages", json=kept)
    await house.ask("PUT", f"/agents/{agent}/goals", json={"goals": [{"description": "Count", "priority": 2}]})
    await house.ask("PUT", f"/agents/{agent}/memories", json={"memories": [{"key": "hours", "value": "nine to five"}]})
    plan = {"name": "greet", "instruction": "Say good morning.", "cron": "0 9 * * *"}
    await house.ask("PUT", f"/agents/{agent}/plans", params={"spaceId": room}, json={"plans": [plan]})


async def newcomer(house: House) -> Any:
    """Somebody who is in no room yet and has not seen the tour."""
    name = f"Newcomer {next(_numbers)}"
    await house.ask("POST", "/people", json={"name": name, "password": PASSWORD})
    async with httpx.AsyncClient(base_url=f"{house.url}/api") as http:
        return cookie_in(await http.post("/session", json={"name": name, "password": PASSWORD}), house.url)


# ── the way to each ─────────────────────────────────────────────────────────────────────────────────────────────────


async def settled(page: Page) -> None:
    await expect(page.get_by_label("Loading")).to_have_count(0)


async def walk(visit: Visit, scene: Scene) -> AsyncIterator[str]:
    """Go to one after another; its name is given when everything in it is there."""
    async for name in _rooms(visit, scene):
        yield name
    async for name in _dialogs_of_a_room(visit, scene):
        yield name
    async for name in _work(visit, scene):
        yield name
    async for name in _dialogs_of_work(visit, scene):
        yield name
    async for name in _way_in(visit, scene):
        yield name


async def _rooms(visit: Visit, scene: Scene) -> AsyncIterator[str]:
    page = visit.page
    await visit.go("/rooms")
    await expect(page.get_by_role("navigation", name="Rooms")).to_be_visible()
    yield "rooms"
    await visit.room(scene.room)
    await expect(page.get_by_role("region", name=re.compile("Approval wanted"))).to_be_visible()
    await expect(page.locator("svg.recharts-surface").first).to_be_attached()
    yield "room"
    await page.get_by_role("region", name=re.compile("Approval wanted")).get_by_role("button", name="Edit…").click()
    yield "approval being edited"
    await page.get_by_role("button", name="As asked").click()
    await visit.room(scene.held)
    await expect(page.get_by_role("link", name="See the run").first).to_be_visible()
    await expect(page.get_by_role("button", name="Raise the limit")).to_be_visible()
    yield "runs put aside"
    panels = (
        ("details", "Room details"),
        ("search", "Search in this room"),
        (f"thread:{scene.message}", "Replies"),
        (f"why:{scene.message}", "Why?"),
        (f"agent:{scene.agent}", "Agent"),
        (f"run:{scene.run}", "Run"),
    )
    for panel, name in panels:
        await visit.go(f"/rooms/{scene.room}?panel={panel}")
        await expect(page.get_by_role("complementary", name=name)).to_be_visible()
        if panel == "search":
            await page.get_by_label("Words in this room").fill("fig")
            await expect(page.get_by_role("complementary", name=name).locator("mark").first).to_be_visible()
        await settled(page)
        yield f"panel {name}"


async def _dialogs_of_a_room(visit: Visit, scene: Scene) -> AsyncIterator[str]:
    page = await visit.room(scene.room)
    row = page.get_by_role("log").get_by_role("article").filter(has_text="and a refund")
    await (await offered(row, "React")).click()
    await expect(page.get_by_role("button", name="React with 🎉")).to_be_visible()
    yield "reactions"
    await page.keyboard.press("Escape")
    await (await offered(row, "More")).click()
    await expect(page.get_by_role("menuitem", name="Delete…")).to_be_visible()
    yield "menu of a message"
    await page.get_by_role("menuitem", name="Delete…").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    yield "dialog: delete a message"
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Search or jump to")).to_be_visible()
    yield "palette"
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("combobox", name="Search or jump to")).to_have_count(0)
    await page.get_by_role("log").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    yield "dialog: shortcuts"
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Shortcuts")).to_have_count(0)
    await visit.go("/rooms")
    for button, name in (("New room", "New room"), ("New message", "Write to")):
        await page.get_by_role("button", name=button, exact=True).first.click()
        await expect(page.get_by_role("dialog", name=name)).to_be_visible()
        yield f"dialog: {name}"
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
    await visit.room(scene.held)
    await page.get_by_role("button", name="Raise the limit").first.click()
    await expect(page.get_by_role("dialog", name="Raise the limit")).to_be_visible()
    await settled(page)
    yield "dialog: raise the limit"
    await page.keyboard.press("Escape")


async def _work(visit: Visit, scene: Scene) -> AsyncIterator[str]:
    page = visit.page
    tabs = ("Instructions", "Rooms", "Model+and+limits", "Tools", "Memory", "Runs")
    paths = (
        "/people",
        "/models",
        *(f"/costs?by={by}" for by in ("day", "agent", "space", "model", "person")),
        "/pending",
        "/runs",
        f"/runs/{scene.run}",
        "/tasks",
        f"/tasks/{scene.task}",
        "/agents",
        *(f"/agents/{scene.agent}?tab={tab}" for tab in tabs),
        "/search?q=figures",
        "/settings",
    )
    for path in paths:
        await visit.go(path)
        await expect(page.locator("main h1")).to_be_visible()
        await settled(page)
        if path == "/people":
            await page.get_by_text("Where Bo is signed in").click()
            await page.get_by_role("button", name="Make a link").click()
            await expect(page.locator("[data-invite]")).to_be_visible()
        elif path.startswith("/runs/"):
            await page.get_by_role("button", name="What it was shown").first.click()
            await expect(page.get_by_text(re.compile("% of what fits"))).to_be_visible()
        elif path.endswith("tab=Instructions"):
            await page.get_by_text("Earlier instructions").click()
            await page.get_by_role("button", name="What changed").first.click()
            await expect(page.get_by_label(re.compile("^What changed in version"))).to_be_visible()
        yield re.sub(r"\b(run|tsk)_\w+", r"\1", path)


async def _dialogs_of_work(visit: Visit, scene: Scene) -> AsyncIterator[str]:
    page = visit.page
    dialogs = (
        ("/agents", "New agent", "New agent"),
        ("/tasks", "New task", "New task"),
        ("/models", "Connect a model", "Connect a model"),
        ("/models", "Price of a-model", "Price of a-model"),
        ("/models", "Edit", "Edit Looked at"),
        ("/models", "Remove…", "Remove Looked at"),
        ("/costs", "New budget", "New budget"),
    )
    for path, button, name in dialogs:
        await visit.go(path)
        await page.get_by_role("main").get_by_role("button", name=button, exact=True).first.click()
        await expect(page.get_by_role("dialog", name=name)).to_be_visible()
        await settled(page)
        yield f"dialog: {name}"
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)


async def _way_in(visit: Visit, scene: Scene) -> AsyncIterator[str]:
    page = visit.page
    cookies = await visit.context.cookies()
    await visit.context.clear_cookies()
    await visit.load("/")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    yield "door"
    await page.goto("about:blank")  # only what follows the # is new, so it would not be loaded
    await visit.load("/#invite=nobody")
    await expect(page.get_by_role("button", name="Join")).to_be_visible()
    yield "invite"
    await visit.context.add_cookies([await newcomer(scene.house)])
    await visit.load("/")
    await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    yield "welcome"
    await visit.load(f"/rooms/{scene.form}")
    await page.get_by_role("button", name=re.compile("^Join ")).click()
    await expect(page.get_by_role("region", name="Start here")).to_be_visible()
    await expect(page.get_by_role("region", name="Where to?").get_by_label("City")).to_be_visible()
    yield "tour and form"
    await visit.context.clear_cookies()
    await visit.context.add_cookies(cookies)  # type: ignore[arg-type]
