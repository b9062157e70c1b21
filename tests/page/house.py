"""An office as the page's tests use it: made over HTTP, looked at through a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from tests.cli.processes import Process
from tests.waits import BOUND, until

Json = dict[str, Any]
BOUND_MS = 1000 * BOUND
PASSWORD = "a phrase that is long"
COOKIES = re.compile(r"([\w-]*bullpen[\w-]*)=([^;]+)")
_numbers = count(1)


class House:
    def __init__(self, url: str, http: httpx.AsyncClient, cookie: Json, data: Path) -> None:
        self.url = url
        self.http = http  # as Olga, the owner
        self.cookie = cookie
        self.data = data
        self._cookies: dict[str, Json] = {}
        self.ids: dict[str, str] = {}

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.http.request(method, path, **more)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def agent(self, name: str, *steps: Json, turns: Sequence[Json] = (), **fields: Any) -> str:
        """An agent on a script of one turn; its id is its name and a number, so that tests do not meet."""
        id = f"{name.lower()}{next(_numbers)}"
        script = list(turns) or [{"steps": list(steps)}]
        body = {"id": id, "name": id.capitalize(), "model": {"provider": "script", "turns": script}, **fields}
        await self.ask("POST", "/agents", json=body)
        return id

    async def room(self, *members: str, **fields: Any) -> str:
        id = f"room{next(_numbers)}"
        wake = {"people": "all", "agents": "mention"}
        made = await self.ask(
            "POST", "/spaces", json={"id": id, "name": id, "members": members, "wake": wake, **fields}
        )
        return str(made["id"])

    async def tool(self, name: str, **fields: Any) -> str:
        body = {
            "name": name,
            "description": f"The tool {name}.",
            "inputSchema": {"type": "object"},
            "executionType": "space",
            "isAsync": True,
            **fields,
        }
        answer = await self.http.post("/tools", json=body)
        assert answer.status_code in (201, 409), answer.text
        return name

    async def post(self, space: str, text: str, **more: Any) -> Json:
        made: Json = await self.ask("POST", f"/spaces/{space}/messages", json={"text": text, **more})
        return made

    async def messages(self, space: str) -> list[Json]:
        found: list[Json] = (await self.ask("GET", f"/spaces/{space}/messages", params={"limit": 200}))["items"]
        return found

    async def messages_once_there(self, space: str, count: int) -> list[Json]:
        """The messages of a room, as soon as there are so many. A page shows a message before it is stored."""

        async def enough() -> list[Json]:
            found = await self.messages(space)
            return found if len(found) >= count else []

        return await until(enough)

    async def texts(self, space: str, count: int) -> list[str]:
        """What they say."""
        return [message["text"] for message in await self.messages_once_there(space, count)]

    async def reads(self, path: str, holds: Callable[[Any], bool]) -> None:
        """Wait until what the server answers is so."""

        async def is_so() -> bool:
            return holds(await self.ask("GET", path))

        await until(is_so)

    async def cookie_of(self, name: str) -> Json:
        """Somebody else's session; made when first asked for."""
        if name not in self._cookies:
            made = await self.ask("POST", "/people", json={"name": name, "password": PASSWORD})
            self.ids[name] = made["id"]
            async with httpx.AsyncClient(base_url=f"{self.url}/api") as http:
                answer = await http.post("/session", json={"name": name, "password": PASSWORD})
            self._cookies[name] = cookie_in(answer, self.url)
        return self._cookies[name]


def cookie_in(answer: httpx.Response, url: str) -> Json:
    assert answer.is_success, answer.text
    (name, value), *_ = [(cookie.name, cookie.value) for cookie in answer.cookies.jar]
    return {"name": name, "value": value, "url": url}


@asynccontextmanager
async def claimed(process: Process, data: Path) -> AsyncIterator[House]:
    """The office, with Olga for its owner."""
    line = next((line for line in process.out.so_far() if "#claim=" in line), "") or process.wait_for("#claim=")
    link = line.split()[-1]
    url = link.partition("/#")[0]
    code = link.partition("#claim=")[2]
    async with httpx.AsyncClient(base_url=f"{url}/api") as http:
        answer = await http.post("/setup", json={"code": code, "name": "Olga", "password": PASSWORD})
        cookie = cookie_in(answer, url)
        token = (await http.post("/tokens", json={"name": "tests"}, headers={"Origin": url})).json()["token"]
    async with httpx.AsyncClient(
        base_url=f"{url}/api", headers={"Authorization": f"Bearer {token}"}, timeout=BOUND
    ) as http:
        made = House(url, http, cookie, data)
        made.ids["Olga"] = answer.json()["id"]
        yield made


class Printer:
    """A server that the tool `print_poster` asks, and that answers when it may."""

    def __init__(self) -> None:
        self.url = ""
        self.may_answer = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await self.may_answer.wait()
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        writer.write(f"{head}{{}}".encode())
        await writer.drain()
        writer.close()


class Visit:
    """Somebody's browser: a page, and what it must not do."""

    def __init__(self, house: House, browser: Browser) -> None:
        self.house = house
        self.browser = browser
        self.problems: list[str] = []
        self.expected: list[str] = []  # parts of what may stand in `problems`

    async def open(self, cookie: Json | None, **options: Any) -> Page:
        self.context: BrowserContext = await self.browser.new_context(
            viewport={"width": 1280, "height": 800}, reduced_motion="reduce", **options
        )
        self.context.set_default_timeout(BOUND_MS)
        expect.set_options(timeout=BOUND_MS)
        if cookie is not None:
            await self.context.add_cookies([cookie])  # type: ignore[list-item]
        # The tour has a test of its own; elsewhere it would only be in the way.
        await self.context.add_init_script("for (const id of ['" + "','".join(self.house.ids.values()) + SKIP)
        self.context.on("page", self._watch)
        self.page = await self.context.new_page()
        return self.page

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.problems.append(f"threw: {error}"))
        page.on("console", self._heard)
        page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(f"said: {message.text}")

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != urlsplit(self.house.url).netloc:
            self.problems.append(f"asked {request.url}")

    async def go(self, path: str) -> Page:
        """To this place, as a click leads there. The page is loaded only if it is not open, or there already."""
        url = f"{self.house.url}{path}"
        is_open = self.page.url.startswith(self.house.url) and self.page.url != url
        if not (is_open and await self.page.evaluate(LEAD, path)):
            await self.load(path)
        return self.page

    async def load(self, path: str) -> Page:
        """The same for somebody who types the address: the whole page begins anew."""
        await self.page.goto(f"{self.house.url}{path}")
        return self.page

    async def room(self, space: str, *, load: bool = False) -> Page:
        """`load` where counts matter: a page that is open learns of a new room a moment later."""
        await (self.load if load else self.go)(f"/rooms/{space}")
        await expect(self.page.get_by_role("log", name=f"Messages in {space}", exact=True)).to_be_visible()
        return self.page

    async def try_now(self) -> None:
        """Ask the page to connect again at once, if it has not yet by itself."""
        button = self.page.get_by_role("button", name="Try now")
        await button.evaluate_all("buttons => buttons.forEach(button => button.click())")

    async def is_clean(self) -> bool:
        """Whether the next test finds the page as if it had just been opened. All that it has said was heard then."""
        if self.page.is_closed() or len(self.context.pages) != 1:
            return False
        if self.page.url == "about:blank":
            return True
        await self.page.unroute_all(behavior="ignoreErrors")
        await self.page.mouse.move(0, 0)
        await self.page.evaluate(DISMISS_NOTES)
        return not await self.page.evaluate(LEFT_BEHIND)

    async def close(self) -> None:
        await self.context.close()
        self.judge()

    def judge(self) -> None:
        """Fail if the page did anything that it must not do; then begin a new list."""
        surprising = [each for each in self.problems if not any(part in each for part in self.expected)]
        self.problems, self.expected = [], []
        assert not surprising, surprising


class Pages:
    """The page of each person. It stays open from one test to the next, since loading it costs more than most tests.

    A test that leaves anything behind (a draft, a dialog, a note, a setting) takes its page with it.
    """

    def __init__(self, house: House, browser: Browser) -> None:
        self._house = house
        self._browser = browser
        self._open: dict[str, Visit] = {}

    async def enter(self, name: str, cookie: Json, *, fresh: bool) -> Visit:
        if fresh:
            await self._close(name)
        if name not in self._open:
            self._open[name] = Visit(self._house, self._browser)
            await self._open[name].open(cookie)
        return self._open[name]

    async def leave(self, name: str, *, keep: bool) -> None:
        visit = self._open[name]
        if not (keep and await visit.is_clean()):
            await self._close(name)
        visit.judge()

    async def _close(self, name: str) -> None:
        if visit := self._open.pop(name, None):
            await visit.context.close()

    async def close(self) -> None:
        for name in list(self._open):
            await self._close(name)


# The page's own way to be sent somewhere; nobody listens at the door.
LEAD = """path => { dispatchEvent(new CustomEvent('bullpen:go', {detail: path}));
return location.pathname + location.search === path }"""
DISMISS_NOTES = "() => { for (const each of document.querySelectorAll('[aria-label=Dismiss]')) each.click() }"
# What outlives a change of place.
LEFT_BEHIND = """() => Object.keys(localStorage).some(key => !key.startsWith('bullpen.tour.'))
|| sessionStorage.length > 0 || document.querySelector('[role=dialog], [aria-label=Dismiss]') !== null
|| !navigator.onLine || document.body.innerText.includes('No connection to the office.')
|| innerWidth !== 1280 || innerHeight !== 800 || !matchMedia('(prefers-reduced-motion: reduce)').matches"""
SKIP = "']) try { localStorage.setItem('bullpen.tour.' + id, 'true') } catch {}"


def row(page: Page, text: str) -> Locator:
    """A message in the room that is open, by what it says."""
    return page.get_by_role("log").get_by_role("article").filter(has_text=text)


async def offered(message: Locator, button: str) -> Locator:
    """A button that a message offers while the pointer is over it. The message may still be on its way."""
    found = message.get_by_role("button", name=button, exact=True)

    async def is_there() -> bool:
        await message.hover()
        return await found.is_visible()

    await until(is_there)
    return found


async def write(page: Page, room: str, text: str) -> None:
    box = page.get_by_label(f"Message {room}", exact=True)
    await box.fill(text)
    await box.press("Enter")


async def edit_last(page: Page, room: str) -> None:
    """Arrow up in an empty box edits one's last message, once it has been stored."""
    box = page.get_by_label(f"Message {room}", exact=True)

    async def is_open() -> bool:
        if await page.get_by_label("Edit message").is_visible():
            return True
        await box.press("ArrowUp")
        return False

    await until(is_open)
