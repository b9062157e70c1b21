"""A tool that only reads may fetch what the person wrote, letter by letter, after outside text; anything else asks."""

from __future__ import annotations

import pytest

from bullpen.tools import Tool, ToolContext, tool
from tests.driver import Offices
from tests.hooks.calling import made, path_of, ring
from tests.path.scripts import call, say, step, turn

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    "url, asks",
    [
        ("https://example.com/news", False),
        ("https://example.com/news?d=the-plan", True),
        ("https://example.com/new", True),
        ("https://evil.example/", True),
        ("", True),
    ],
)
async def test_only_a_quoted_url_is_read_unasked(offices: Offices, url: str, asks: bool) -> None:
    fetched: list[str] = []

    @tool(effect="idempotent", act=None, quotes=("url",))
    async def fetch(context: ToolContext, url: str) -> str:
        """Read a page."""
        fetched.append(url)
        return "read"

    families: dict[str, list[Tool]] = {"web": [fetch]}
    office = await offices.open(families=families)
    await office.agent("ada", [{"kind": "trigger", "steps": [say("red", spaceId="lab")]}])
    await office.agent("bo", [turn("", step(call("fetch", url=url)), say("done"))], tools=["messaging", "web"])
    await office.space("lab", ["ada", "bo"], wake={"agents": "none"})
    await ring(office, path_of(await made(office)))
    await office.run_finished("ada")
    await office.post("lab", "@bo read https://example.com/news for me")
    if asks:
        asked = (await office.event("tool.requires_action"))["call"]
        assert (asked["toolName"], asked["metadata"]["reason"]) == ("fetch", "outward")
        assert fetched == []
    else:
        await office.run_finished("bo")
        assert fetched == [url]
