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
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from bullpen.testing.model_server import Asked, Behaviour, chunked
from bullpen.testing.wires import Answer, Part, frames
from tests.cli.processes import Process
from tests.waits import BOUND, until

Json = dict[str, Any]
BOUND_MS = 1000 * BOUND
QUIET = {"people": "none", "agents": "none"}  # nobody wakes
PASSWORD = "a phrase that is long"
COOKIES = re.compile(r"([\w-]*bullpen[\w-]*)=([^;]+)")
_numbers = count(1)


class House:
    def __init__(self, url: str, http: httpx.AsyncClient, cookie: Json, data: Path) -> None:
        self.url = url
        self.http = http  # as Olga, the owner
        self.cookie = cookie
        self.data = data
        self._cookies: dict[str, Json] = {"Olga": cookie}
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
            async with httpx.AsyncClient(base_url=f"{self.url}/api", timeout=BOUND) as http:
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
    async with httpx.AsyncClient(base_url=f"{url}/api", timeout=BOUND) as http:
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


def plays_in_two(*parts: Part, go_on: asyncio.Event) -> Behaviour:
    """A model's answer, of which the second half comes when it may."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        written = frames(asked.wire, Answer(parts), str(asked.json.get("model")))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number, frame in enumerate(written):
            if number == len(written) // 2:
                await writer.drain()
                await go_on.wait()
            writer.write(chunked(frame))
        writer.write(b"0\r\n\r\n")

    behave.parts = parts  # type: ignore[attr-defined]
    return behave


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
        """Load the page anew."""
        await self.page.goto(f"{self.house.url}{path}")
        return self.page

    async def move(self, path: str) -> Page:
        """To another place as a link would lead there, without loading the page anew. That costs a fifth."""
        if not self.page.url.startswith(self.house.url):
            return await self.go(path)
        await self.page.evaluate("path => history.pushState(null, '', path)", path)
        return self.page

    async def room(self, space: str) -> Page:
        """A room that is called by its id."""
        await self.move(f"/rooms/{space}")
        await expect(self.page).to_have_title(f"{space} · Bullpen")
        await expect(self.page.get_by_role("log")).to_be_visible()
        return self.page

    async def try_now(self) -> None:
        """Ask the page to connect again at once, if it has not yet by itself."""
        button = self.page.get_by_role("button", name="Try now")
        await button.evaluate_all("buttons => buttons.forEach(button => button.click())")

    async def rest(self) -> None:
        """Between two tests: leave nothing open, and go where nothing happens."""
        for page in self.context.pages:
            if page is not self.page:
                await page.close()
        await self.page.unroute_all(behavior="ignoreErrors")
        await self.page.mouse.move(0, 0)
        await self.move("/settings")
        await expect(self.page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()
        await expect(self.page.get_by_role("dialog")).to_have_count(0)

    async def close(self) -> None:
        await self.context.close()
        self.check()

    def check(self) -> None:
        """Nothing has gone wrong in the page that the test did not expect."""
        surprising = [each for each in self.problems if not any(part in each for part in self.expected)]
        assert not surprising, surprising


class SharedVisit:
    """One loaded page of somebody for many tests, since loading it is most of what a test costs."""

    def __init__(self, house: House, browser: Browser, name: str) -> None:
        self._house, self._browser, self._name = house, browser, name
        self._visit: Visit | None = None

    async def borrow(self) -> Visit:
        if self._visit is None:
            self._visit = Visit(self._house, self._browser)
            await self._visit.open(await self._house.cookie_of(self._name))
            await self._visit.go("/settings")
        self._visit.problems, self._visit.expected = [], []
        return self._visit

    async def give_back(self, visit: Visit, *, as_new: bool) -> None:
        """A page whose test failed is of no use to the next."""
        if as_new:
            await visit.rest()
            visit.check()
        else:
            self._visit = None
            await visit.context.close()

    async def close(self) -> None:
        if self._visit is not None:
            await self._visit.close()


SKIP = "']) try { localStorage.setItem('bullpen.tour.' + id, 'true') } catch {}"
