"""The main views of the page as pictures: an office is started, people and agents talk in it, and it is looked at."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from tests.page.browsers import ARGUMENTS, find_chromium

ROOT = Path(__file__).parents[1]
EMOJI = ROOT / "ui/node_modules/@fontsource/noto-color-emoji/files/noto-color-emoji-emoji-400-normal.woff2"
PASSWORD = "a phrase for pictures"
SIZES = {"1280": (1280, 800), "390": (390, 844)}
Json = dict[str, Any]

DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
SIGNUPS = [41, 47, 52, 49, 61, 38, 35]
BEFORE = [36, 39, 44, 45, 50, 33, 31]
ROWS = [{"day": day, "this week": now, "last week": then} for day, now, then in zip(DAYS, SIGNUPS, BEFORE, strict=True)]
ANSWER = """Signups are **up 16 %** on last week (323 against 278).

- Friday did most of it: the newsletter went out at 10:00
- Weekend is flat, as always

The query is saved as `signups_14d`."""


OFFERED = ("qwen3:32b", "gemma3:12b", "llama3.3:70b")
# What a step of a model of the middle costs.
USAGE = {"inputTokens": 4200, "cachedTokens": 3100, "outputTokens": 180, "cost": 0.0087}


def call(tool: str, **args: Any) -> Json:
    return {"calls": [{"tool": tool, "args": args}], "usage": USAGE}


def say(text: str) -> Json:
    return call("send_message", text=text)


class Scene:
    """An office with something going on in it."""

    def __init__(self, url: str, http: httpx.Client, models: str) -> None:
        self.url = url
        self.http = http
        self.models = models

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.http.request(method, path, **more)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def set_up(self) -> None:
        card = {"description": "A card.", "inputSchema": {"type": "object"}}
        shown = {**card, "executionType": "internal", "visible": True}
        self.ask("POST", "/tools", json={**shown, "name": "query_metrics"})
        self.ask("POST", "/tools", json={**shown, "name": "show_chart"})
        self.ask("POST", "/tools", json={**shown, "name": "refund_order", "policy": "ask", "timeout": 3_600_000})
        turns = {
            "ada": [
                {
                    "when": "(?i)signups",
                    "steps": [
                        call("query_metrics", metric="signups", days=14),
                        call("show_chart", title="Signups per day", type="line", rows=ROWS),
                        say(ANSWER),
                    ],
                },
                {
                    "when": "(?i)subject line",
                    "steps": [
                        call(
                            "choose",
                            question="Which subject line for Friday?",
                            options=["Your week, in one chart", "Friday is the new Monday", "What 323 people did"],
                        )
                    ],
                },
            ],
            "iris": [{"steps": [call("do_nothing")]}],
            "nils": [
                {
                    "when": "(?i)refund",
                    "steps": [
                        call("refund_order", orderId=1042, amount="48.50 EUR", reason="parcel lost", notify=True)
                    ],
                }
            ],
        }
        about = {"ada": "Research; counts things.", "iris": "Operations; keeps it running.", "nils": "Finance; pays."}
        for id, script in turns.items():
            tools = ["messaging", "do_nothing", "query_metrics", "show_chart", "refund_order", "choose"]
            model = {"provider": "script", "turns": script}
            body = {"id": id, "name": id.capitalize(), "description": about[id], "model": model, "tools": tools}
            limits = {"limits": {"maxCostPerDay": 2}}
            self.ask("POST", "/agents", json={**body, **limits, "instructions": f"You are {id.capitalize()}."})
        wake = {"people": "mention", "agents": "mention"}
        members = ["ada", "iris", "nils"]
        self.ask("POST", "/spaces", json={"id": "launch-week", "name": "launch-week", "members": members, "wake": wake})
        for agent, prompt, kind, value in (
            ("iris", "Look whether the shop answers, and say so only if it does not.", "interval", "30m"),
            ("ada", "Say good morning, and how signups went yesterday.", "cron", "0 9 * * 1-5"),
        ):
            task = {"spaceId": "launch-week", "agentId": agent, "prompt": prompt}
            self.ask("POST", "/tasks", json={**task, "scheduleType": kind, "scheduleValue": value})
        self.ask("PUT", "/budgets", json={"kind": "office", "period": "month", "unit": "USD", "amount": 1})
        self.connect()
        self.post("Morning! @Ada how do signups compare with last week? @Iris anything on your side?", "ada", "iris")
        first = self.newest("Signups are")
        self.ask("POST", f"/messages/{first}/reactions", json={"emoji": "🎉"})
        self.post("@Ada we need a subject line for Friday.", "ada")
        self.post("And @Nils, please refund order 1042 if the parcel really is lost.", "nils")

    def connect(self) -> None:
        """A server of one's own, with models and prices. Nobody asks it anything but what it offers."""
        opened = {"provider": "openai-chat", "baseUrl": f"{self.models}/v1", "confirm": self.models}
        made = self.ask("POST", "/models", json={**opened, "name": "Ollama"})
        priced = {"price": {"input": 0.4, "output": 1.2, "cached": 0.1}, "contextTokens": 128_000}
        free = {"price": {"input": 0, "output": 0}, "contextTokens": 32_000}
        body = {"models": {OFFERED[0]: priced, OFFERED[1]: free}, "defaultModel": OFFERED[0]}
        self.ask("PATCH", f"/models/{made['id']}", json=body)

    def post(self, text: str, *agents: str) -> None:
        self.ask("POST", "/spaces/launch-week/messages", json={"text": text})
        for _ in range(200):
            states = {agent["id"]: agent["state"] for agent in self.ask("GET", "/agents")["items"]}
            if all(states[agent] in ("idle", "waiting") for agent in agents):
                return
        raise SystemExit(f"{agents} did not finish")

    def newest(self, text: str) -> str:
        items = self.ask("GET", "/spaces/launch-week/messages")["items"]
        return str(next(each["id"] for each in reversed(items) if each["text"].startswith(text)))


class Offers(BaseHTTPRequestHandler):
    """A server of models that says which it has."""

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": name} for name in OFFERED]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def offering() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Offers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def started() -> Iterator[tuple[Scene, Json]]:
    with tempfile.TemporaryDirectory() as folder, offering() as models:
        # None of one's own settings: what is pictured is what everybody gets.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BULLPEN_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "bullpen", "serve", "--port", "0", "--demo", "office"],
            env={**kept, "BULLPEN_DATA": f"{folder}/data", "PYTHONUNBUFFERED": "1"},
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            link = next(line.split()[-1] for line in process.stdout if "#claim=" in line)
            url, _, code = link.partition("/#claim=")
            with httpx.Client(base_url=f"{url}/api", headers={"Origin": url}, timeout=30) as http:
                made = http.post("/setup", json={"code": code, "name": "Mara", "password": PASSWORD})
                made.raise_for_status()
                name, value = next(iter(http.cookies.items()))
                scene = Scene(url, http, models)
                scene.set_up()
                yield scene, {"name": name, "value": value, "url": url}
        finally:
            process.terminate()
            process.wait(20)


def views(scene: Scene) -> dict[str, str]:
    run = next(each for each in scene.ask("GET", "/runs", params={"agentId": "ada"})["items"][::-1])
    message = scene.newest("Signups are")
    return {
        "room": "/rooms/launch-week",
        "chart": f"/rooms/launch-week?message={message}",
        "why": f"/rooms/launch-week?panel=why:{message}",
        "general": "/rooms/general",
        "rooms": "/rooms",
        "waiting": "/pending",
        "runs": "/runs",
        "run": f"/runs/{run['id']}",
        "tasks": "/tasks",
        "task": f"/tasks/{scene.ask('GET', '/tasks')['items'][0]['id']}",
        "agents": "/agents",
        "agent": "/agents/mira",
        "tools": "/agents/ada?tab=Tools",
        "people": "/people",
        "models": "/models",
        "costs": "/costs?by=agent",
        "details": "/rooms/launch-week?panel=details",
        "search": "/search?q=friday",
        "settings": "/settings",
    }


def picture(page: Page, path: Path) -> None:
    font = base64.b64encode(EMOJI.read_bytes()).decode()
    style = f'@font-face {{ font-family: "Noto Color Emoji"; src: url(data:font/woff2;base64,{font}) }}'
    page.add_style_tag(content=style)
    page.wait_for_timeout(900)
    page.screenshot(path=path)


def take(folder: Path) -> None:
    """All views, by all sizes and themes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with sync_playwright() as playwright, started() as (scene, cookie):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for size, theme in ((size, theme) for size in SIZES for theme in ("light", "dark")):
            _take(browser, scene, cookie, folder, size, theme)
        browser.close()
    print(f"{len(list(folder.iterdir()))} pictures in {folder}")


def _take(browser: Browser, scene: Scene, cookie: Json, folder: Path, size: str, theme: str) -> None:
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=2 if size == "390" else 1,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        bypass_csp=True,  # for the font of the emoji alone, which this machine need not have
        has_touch=size == "390",
    )
    page = context.new_page()
    page.goto(f"{scene.url}/#invite=somebody")
    page.get_by_role("button", name="Join").wait_for()
    picture(page, folder / f"door-{size}-{theme}.png")
    context.add_cookies([cookie])  # type: ignore[list-item]
    for name, path in views(scene).items():
        if name == "rooms" and size != "390":
            continue
        # The tour is shown in the demo's own room, and out of the way elsewhere.
        kept = "removeItem(key)" if name == "general" else "setItem(key, 'true')"
        page.evaluate(f"key => localStorage.{kept}", f"bullpen.tour.{scene.ask('GET', '/me')['id']}")
        page.goto(f"{scene.url}{path}")
        page.locator("main:visible, aside:visible").first.wait_for()
        picture(page, folder / f"{name}-{size}-{theme}.png")
    page.goto(f"{scene.url}/rooms/launch-week")
    page.get_by_role("log").wait_for()
    page.keyboard.press("Control+k")
    picture(page, folder / f"palette-{size}-{theme}.png")
    context.close()
