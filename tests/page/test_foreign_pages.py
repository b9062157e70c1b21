"""Pages of other people, open in the browser of somebody who is signed in here: they change nothing and read nothing.

The foreign pages are real: on another port of this host, which browsers call the same site and send cookies to, and
under another name, which they call another site.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser

from bullpen.testing import snapshot
from tests.page.house import House
from tests.waits import BOUND

# Each way in which a page can make a browser ask somebody else for something. `load` ends when there was an answer.
ATTACKS = """
async (target) => {
  const body = JSON.stringify({ text: "FORGED" });
  const messages = target.url + "/api/spaces/" + target.room + "/messages";
  const attempts = {};
  const read = async (name, url, options) => {
    try {
      const answer = await fetch(url, { credentials: "include", ...options });
      attempts[name] = answer.type === "opaque" ? "opaque" : answer.status + " " + (await answer.text());
    } catch (error) { attempts[name] = "blocked"; }
  };
  for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
    for (const mode of ["no-cors", "cors"]) {
      await read(`post ${type} ${mode}`, messages, { method: "POST", mode, body, headers: { "content-type": type } });
    }
  }
  await read("beacon", messages, { method: "POST", mode: "no-cors", keepalive: true, body: new Blob([body]) });
  await read("delete", target.url + "/api/spaces/" + target.room, { method: "DELETE" });
  await read("sign out", target.url + "/api/session", { method: "DELETE", mode: "cors" });
  await read("token", target.url + "/api/tokens", { method: "POST", mode: "no-cors", body: '{"name":"theirs"}' });
  await read("read", messages, { mode: "cors" });
  await read("me", target.url + "/api/me", { mode: "cors" });
  const form = new FormData();
  form.append("file", new Blob(["FORGED"]), "forged.txt");
  const files = target.url + "/api/files?spaceId=" + target.room;
  await read("upload", files, { method: "POST", mode: "no-cors", body: form });
  attempts["events"] = await new Promise((resolve) => {
    const source = new EventSource(target.url + "/api/events", { withCredentials: true });
    source.onopen = () => { source.close(); resolve("opened"); };
    source.onerror = () => { source.close(); resolve("blocked"); };
  });
  attempts["form"] = await new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.name = "frame";
    document.body.append(frame);
    const form = document.createElement("form");
    form.method = "POST"; form.enctype = "text/plain"; form.action = messages; form.target = "frame";
    const input = document.createElement("input");
    input.name = '{"text":"FORGED","x":"'; input.value = '"}';
    form.append(input);
    document.body.append(form);
    frame.onload = () => resolve("answered");
    form.submit();
  });
  return attempts;
}
"""
# What belongs to time passing and not to a request.
RESTLESS = {"leases", "meta"}


@asynccontextmanager
async def foreign_page() -> AsyncIterator[int]:
    """The port of a server with an empty page on it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<!doctype html><title>theirs</title>"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + page)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def tables(house: House) -> dict[str, list[Any]]:
    found = (await snapshot.read(f"sqlite:///{house.data / 'bullpen.db'}")).tables
    return {name: rows for name, rows in found.items() if name not in RESTLESS}


@pytest.mark.proves("B2", "B3", "B4", "B11")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_foreign_page_changes_and_reads_nothing(house: House, browser: Browser, host: str) -> None:
    room = await house.room(wake={"people": "none", "agents": "none"})
    await house.post(room, "PRIVATE WORDS")
    context = await browser.new_context()
    await context.add_cookies([house.cookie])  # type: ignore[list-item]
    try:
        async with foreign_page() as port:
            page = await context.new_page()
            page.set_default_timeout(1000 * BOUND)
            await page.goto(f"http://{host}:{port}/")
            before = await tables(house)
            answers = await page.evaluate(ATTACKS, {"url": house.url, "room": room})
            after = await tables(house)
        assert len(answers) == 15
        assert answers["events"] == answers["read"] == answers["me"] == "blocked"
        assert "PRIVATE" not in json.dumps(answers)
        assert [name for name in before if before[name] != after[name]] == []
        ours = await context.new_page()
        await ours.goto(f"{house.url}/rooms/{room}")
        assert (await ours.evaluate("async () => (await fetch('/api/me')).status")) == 200, "she is still signed in"
    finally:
        await context.close()
