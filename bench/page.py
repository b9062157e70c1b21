"""The page in a real Chromium: how soon it can be used, what a frame of a long room costs, whether it grows.

CPU time of the browser's main thread is measured, not frames a second: a machine without a screen shows frames when it
likes. A frame that costs less than 16 ms can be shown sixty times a second.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import httpx
from playwright.async_api import Browser, CDPSession, Page, async_playwright

from bench import rooms
from bench.budgets import Figures
from bench.measure import folder
from bench.post import BODY
from bench.servers import Connection, Server, asking, bullpen, connected, of_models
from tests.page.browsers import ARGUMENTS, find_chromium

BUILT = Path(__file__).parents[1] / "src" / "bullpen" / "web" / "page"
Speak: TypeAlias = Callable[..., Awaitable[str]]

LONG, SHORT = 10_000, 1_000
HOUR, MINUTES = 3_600, 300  # messages of a busy room: one a second
FRAMES = 600
CLIENTS = 8
BOUND_MS = 30_000
STREAMED, BEFORE, FEW = 20_000, 5_000, 500  # bytes that grow, in a room of so many messages
MODEL = f"anthropic:says-{STREAMED}"

# A hard flick, 12,000 pixels a second at sixty frames a second, in the middle of everything that is loaded.
SCROLL = """async frames => {
  const list = document.querySelector('[role=log]');
  list.scrollTop = list.scrollHeight / 2;
  for (let at = 0; at < frames; at++) {
    await new Promise(requestAnimationFrame);
    list.scrollTop -= 200;
  }
}"""
# Noted by the page itself: whoever asks from outside asks only now and then.
NOTE = """new MutationObserver(() => {
  if (!window.usable && document.querySelector('textarea')) window.usable = performance.now();
}).observe(document, {childList: true, subtree: true});"""


async def measure(*, quick: bool) -> Figures:
    long, hour = (SHORT, MINUTES) if quick else (LONG, HOUR)
    with folder() as data:
        async with rooms.opened(data, drive=False, model=MODEL) as made:
            token = await made.token()
            await made.make("stream", 1, FEW if quick else BEFORE)
        with of_models() as provider, bullpen(data, **asking(provider)) as server:
            speak = partial(_speak, server, token)
            async with _browser() as browser:
                async with connected(server, token) as (line,):
                    reader = await _reader(browser, server, line)
                    await _room(line, "long", reader.id)
                    await _room(line, "busy", reader.id)
                    await line.post("/api/spaces/stream-0/members", json.dumps({"memberId": reader.id}).encode())
                first = await speak("long", long)
                return {
                    **await _streaming(browser, reader, server, token),
                    "page.script": _script_size(),
                    **await _loading(reader),
                    **await _scrolling(reader, first),
                    **await _an_hour(reader, speak, hour),
                }


def _script_size() -> float:
    """What a first look at a room loads, in KB of gzip: what index.html names."""
    index = (BUILT / "index.html").read_text()
    names = [path for path in (BUILT / "assets").glob("*.js") if path.name in index]
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in names) / 1000


async def _loading(reader: Reader) -> Figures:
    """From asking for the address to a field that can be written in; with nothing in the browser's cache."""
    took = []
    for _ in range(5):
        async with reader.visit() as page:
            await page.add_init_script(NOTE)
            await page.goto(reader.address("long"), wait_until="commit")
            await page.get_by_role("combobox", name="Message long").wait_for()
            took.append(float(await page.evaluate("window.usable")))
    return {"page.interactive": sorted(took)[len(took) // 2]}


async def _scrolling(reader: Reader, first: str) -> Figures:
    async with reader.visit() as page:
        await page.goto(reader.address("long") + f"?message={first}")
        await page.get_by_text("message 0 of").first.wait_for()
        tools = await page.context.new_cdp_session(page)
        await tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = await _busy(tools)
        await page.evaluate(SCROLL, FRAMES)
        return {"page.frame": (await _busy(tools) - before) / FRAMES * 1000}


async def _streaming(browser: Browser, reader: Reader, server: Server, token: str) -> Figures:
    """The longest task of the page's main thread while an answer grows, in CPU: a busy machine makes none longer."""
    async with reader.visit() as page, connected(server, token) as (line,):
        await page.goto(reader.address("stream-0"))
        await page.get_by_role("combobox", name="Message").wait_for()
        await page.wait_for_load_state("networkidle")
        await browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
        await line.post("/api/spaces/stream-0/messages", BODY)
        await page.get_by_text("That is the end.").first.wait_for()
        tasks = _tasks_in(await browser.stop_tracing())
    return {"page.longest_task": max(tasks), "page.streaming": sum(tasks)}


def _tasks_in(trace: bytes) -> list[float]:
    """Milliseconds of CPU of each task of the busiest renderer's main thread."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    mains = {(e["pid"], e["tid"]) for e in events if e.get("args", {}).get("name") == "CrRendererMain"}
    by_thread: dict[tuple[int, int], list[float]] = {main: [0.0] for main in mains}
    for event in events:
        if (event["pid"], event["tid"]) in mains and event["name"].endswith("RunTask") and "tdur" in event:
            by_thread[event["pid"], event["tid"]].append(event["tdur"] / 1000)
    return max(by_thread.values(), key=sum)


async def _an_hour(reader: Reader, speak: Speak, messages: int) -> Figures:
    """What the page holds in memory after a third of the messages and after all of them; what showing one costs."""
    async with reader.visit() as page:
        await page.goto(reader.address("busy"))
        await page.get_by_role("combobox", name="Message busy").wait_for()
        tools = await page.context.new_cdp_session(page)
        await tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = await _busy(tools)
        await speak("busy", messages // 3)
        early = await _heap(page, tools, messages // 3)
        await speak("busy", messages - messages // 3, messages // 3)
        late = await _heap(page, tools, messages)
        busy = await _busy(tools) - before
    return {"page.event": busy / messages * 1000, "page.heap": late, "page.heap_growth": late / early}


# ── the browser ─────────────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield opened
        await opened.close()


class Reader:
    """Somebody who is in the rooms and has signed in."""

    def __init__(self, browser: Browser, url: str, id: str, cookie: dict[str, str]) -> None:
        self.id = id
        self._browser = browser
        self._url = url
        self._cookie = cookie

    @asynccontextmanager
    async def visit(self) -> AsyncIterator[Page]:
        context = await self._browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(BOUND_MS)
        await context.add_cookies([self._cookie])  # type: ignore[list-item]
        yield await context.new_page()
        await context.close()

    def address(self, room: str) -> str:
        return f"{self._url}/rooms/{room}"


async def _reader(browser: Browser, server: Server, line: Connection) -> Reader:
    who = {"name": "Mara", "password": "a phrase for measuring"}
    made = json.loads(await line.post("/api/people", json.dumps(who).encode()))
    url = f"http://127.0.0.1:{server.port}"
    async with httpx.AsyncClient(base_url=url) as http:
        (await http.post("/api/session", json=who)).raise_for_status()
        name, value = next(iter(http.cookies.items()))
    return Reader(browser, url, made["id"], {"name": name, "value": value, "url": url})


async def _busy(tools: CDPSession) -> float:
    found: list[dict[str, Any]] = (await tools.send("Performance.getMetrics"))["metrics"]
    return next(float(each["value"]) for each in found if each["name"] == "TaskDuration")


async def _heap(page: Page, tools: CDPSession, last: int) -> float:
    await page.get_by_text(f"message {last - 1} of").first.wait_for()
    await tools.send("HeapProfiler.collectGarbage")
    return float((await tools.send("Runtime.getHeapUsage"))["usedSize"]) / 1e6


# ── the rooms ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def _room(line: Connection, id: str, member: str) -> None:
    body = {"id": id, "name": id, "kind": "channel", "members": [member]}
    await line.post("/api/spaces", json.dumps(body).encode())


async def _speak(server: Server, token: str, room: str, messages: int, start: int = 0) -> str:
    """The first and the last come first and last, the others in whatever order. The id of the first."""
    address = f"/api/spaces/{room}/messages"

    async def some(line: Connection, numbers: range) -> bytes:
        said = b""
        for number in numbers:
            said = await line.post(address, json.dumps({"text": _text(number)}).encode())
        return said

    last = start + messages - 1
    async with connected(server, token, CLIENTS) as lines:
        first = await some(lines[0], range(start, start + 1))
        await asyncio.gather(*(some(line, range(start + 1 + at, last, CLIENTS)) for at, line in enumerate(lines)))
        await some(lines[0], range(last, last + 1))
    return str(json.loads(first)["id"])


def _text(number: int) -> str:
    """As long and as marked up as what agents say."""
    marked = f"message {number} of many: **bold**, `code` and a [link](/rooms/long)\n\n- a point\n- and another one\n\n"
    return marked + "A sentence of some length that fills the line, and goes on. " * (number % 4)
