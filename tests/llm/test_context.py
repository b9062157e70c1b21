"""What a provider is sent: never too much, the same bytes as before wherever it can be, and nothing lost for good."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise, takewhile
from typing import Any

import orjson
import pytest
from PIL import Image

from bullpen.runs import bounds
from bullpen.testing import snapshot
from bullpen.testing.model_server import Asked, Behaviour, ModelServer, fails, plays
from bullpen.testing.wires import Text, Wanted, Wire
from tests.driver import Driver, Offices
from tests.files.offering import give, picture
from tests.llm.offices import SILENT, ada, an_office, say
from tests.llm.speaking import PROVIDERS, WIRES
from tests.path.talk import talk

pytestmark = pytest.mark.one_database

READ = Wanted("c1", "read_messages", '{"limit": 2}')
TOO_LONG = fails(400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}})


# ── the same bytes ──────────────────────────────────────────────────────────────────────────────────────────────────


def unmarked(value: Any) -> Any:
    """Without the marks that say up to where something may be remembered: they are no part of what is remembered."""
    if isinstance(value, dict):
        return {name: unmarked(inner) for name, inner in value.items() if name != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def sent(asked: Asked) -> bytes:
    """The request up to the last thing said. Tools and system come first; what was said is last."""
    body = orjson.dumps(unmarked(asked.json)) if asked.wire == "messages" else asked.body
    assert body.endswith(b"]}")
    assert list(asked.json)[-1] in ("messages", "input")
    return body[:-2]


def marked(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Everything that the provider is asked to remember up to, in order."""
    if isinstance(value, dict):
        if "cache_control" in value:
            yield path, value
        value = list(value.items())
    else:
        value = list(enumerate(value)) if isinstance(value, list) else []
    for name, inner in value:
        yield from marked(inner, f"{path}/{name}")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_request_begins_with_the_bytes_of_the_one_before(
    wire: Wire, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    await ada(office, f"{PROVIDERS[wire]}:a-model", tools=["messaging", "memory"], blocks={"b": "2", "a": "1"})
    server.gives(plays(SILENT))
    await talk(office, "general", (f"a word before, number {n}" for n in range(1, 13)))
    await office.run_finished("ada")
    server.asked.clear()
    server.gives(plays(Text("Hm."), READ), plays(say("hello", "c2")), plays(SILENT))
    await office.post("general", "hello")
    await office.run_finished("ada", nth=2)
    first, second, third = map(sent, server.asked)
    assert second.startswith(first)
    assert third.startswith(second)
    # The next run begins the same way, up to the newest message that its window showed.
    server.gives(plays(SILENT))
    await office.post("general", "hello again")
    await office.run_finished("ada", nth=3)
    next_run = sent(server.asked[3])
    same = bytes(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, next_run, strict=False)))
    assert b"number 12" in same
    assert server.problems == []


async def test_the_provider_is_told_what_to_remember(offices: Offices, server: ModelServer) -> None:
    """Tools and system, whole pieces of the window, and the last two things said: four marks are the most it takes."""
    office = await an_office(offices, server)
    await ada(office, "anthropic:a-model")
    server.gives(plays(SILENT))
    await talk(office, "general", (f"a word before, number {n}" for n in range(1, 13)))
    await office.run_finished("ada")
    server.asked.clear()
    server.gives(plays(READ), plays(SILENT))
    await office.post("general", "hello")
    await office.run_finished("ada", nth=2)
    first, second = (dict(marked(asked.json)) for asked in server.asked)
    said = server.asked[0].json["messages"][0]["content"]
    assert list(first) == ["/system/0", "/messages/0/content/0", f"/messages/0/content/{len(said) - 1}"]
    assert "number 10" in first["/messages/0/content/0"]["text"]
    assert "number 11" not in first["/messages/0/content/0"]["text"]
    assert len(second) == 4
    assert server.problems == []


# ── not too much ────────────────────────────────────────────────────────────────────────────────────────────────────


def size(asked: Asked) -> int:
    said = asked.json.get("messages") or asked.json["input"]
    return bounds.tokens(orjson.dumps(said).decode())


@pytest.mark.parametrize("wire", WIRES)
async def test_long_messages_and_results_do_not_overflow(wire: Wire, offices: Offices, server: ModelServer) -> None:
    """A hundred long messages, each read again by a tool, ten times over: a context of 8,000 tokens holds."""
    office = await an_office(offices, server)
    await ada(office, f"{PROVIDERS[wire]}:a-model", limits={"contextTokens": 8000})
    server.gives(plays(SILENT))
    await talk(office, "general", (f"{n:03} " + "long words " * 200 for n in range(40)))
    await office.run_finished("ada")
    server.asked.clear()
    reading = [plays(Wanted(f"c{n}", "read_messages", '{"limit": 40}')) for n in range(10)]
    server.gives(*reading, plays(SILENT))
    await office.post("general", "the newest, " + "wörter " * 3000)
    run = await office.run_finished("ada", nth=2)
    assert run["status"] == "completed"
    assert server.problems == []
    assert len(server.asked) == 11
    assert max(map(size, server.asked)) <= 8000
    last = server.asked[-1].body.decode()
    assert "more characters are not shown" in last
    assert "is left out by now" in last
    # In steps, so that most requests begin with the one before.
    bodies = [sent(asked) for asked in server.asked]
    assert sum(later.startswith(earlier) for earlier, later in pairwise(bodies)) >= 5
    # The journal has everything.
    results = await office.results(run["id"])
    assert [len(result["messages"]) for result in results] == [40] * 10


@pytest.mark.parametrize("wire", WIRES)
async def test_a_too_long_prompt_is_retried_once_at_half_size(
    wire: Wire, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    await ada(office, f"{PROVIDERS[wire]}:a-model", limits={"contextTokens": 20_000})
    server.gives(plays(SILENT))
    await talk(office, "general", (f"{n:03} " + "long words " * 100 for n in range(38)))
    await office.run_finished("ada")
    server.asked.clear()
    server.gives(TOO_LONG, plays(READ), plays(say("it fits")), plays(SILENT))
    await office.post("general", "hello")
    run = await office.run_finished("ada", nth=2)
    assert run["outcome"] == "spoke", run
    whole, half, *_ = map(size, server.asked)
    assert half < whole * 2 / 3
    assert len(server.asked) == 4
    assert server.problems == []


async def test_a_prompt_still_too_long_fails_the_run_with_advice(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "anthropic:a-model")
    server.gives(TOO_LONG)
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("failed", "model_refused")
    assert "contextTokens" in run["error"]
    assert len(server.asked) == 2


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("takes", [None, False])
async def test_a_model_that_takes_pictures_sees_those_it_was_sent(
    wire: Wire, takes: bool | None, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    await ada(office, {"provider": PROVIDERS[wire], "name": "a-model", "settings": {"images": takes}})
    server.gives(plays(say("a red square")), plays(SILENT))
    red = await give(office, picture(), "red.png")
    text = await give(office, b"plain", "note.txt")
    await office.post("general", "what is this?", attachments=[red["id"], text["id"]])
    run = await office.run_finished("ada")
    assert server.problems == []
    first = server.asked[0].body
    assert (b"iVBORw0KGgo" in first) == (takes is None)
    assert first.count(b"iVBORw0KGgo") == int(takes is None)
    for file in (red, text):
        assert file["id"].encode() in first
    assert run["outside"] == ["file"]


PAPER = b"%PDF-1.4 one page"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_sees_attachments_of_batched_messages_and_later_arrivals(
    wire: Wire, offices: Offices, server: ModelServer
) -> None:
    """A photo and then the question, taken up together; and a document while it works."""
    office = await an_office(offices, server)
    go_on = asyncio.Event()

    async def thinks_long(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        await plays(READ)(asked, writer)

    server.gives(thinks_long, plays(say("a red square and a paper")), plays(SILENT))
    await ada(office, {"provider": PROVIDERS[wire], "name": "a-model"}, onNewMessage="steer")
    red, paper = await give(office, picture(), "red.png"), await give(office, PAPER, "paper.pdf")
    locked = await give(office, PAPER + b" /Encrypt 1", "locked.pdf")
    await office.create("/agents/ada/pause", {})
    await office.post("general", "", attachments=[red["id"]])
    await office.post("general", "what is this?")
    await office.create("/agents/ada/resume", {})
    await server.was_asked(1)
    await office.post("general", "and this?", attachments=[paper["id"], locked["id"]])
    go_on.set()
    await office.run_finished("ada")
    assert server.problems == []
    drawn, written = b"iVBORw0KGgo", b64encode(PAPER)
    counts = [(asked.body.count(drawn), asked.body.count(written)) for asked in server.asked]
    assert counts == [(1, 0), (1, 1), (1, 1)]
    assert sent(server.asked[2]).startswith(sent(server.asked[1]))


def shown_pictures(asked: Asked) -> list[tuple[str, bytes]]:
    """The pictures of results that a model got, each with the call or the role it stands with."""
    match asked.wire:
        case "messages":
            blocks = [block for message in asked.json["messages"] for block in message["content"]]
            return [
                (block["tool_use_id"], b64decode(part["source"]["data"]))
                for block in blocks
                if block["type"] == "tool_result"
                for part in block["content"]
                if part["type"] == "image"
            ]
        case "responses":
            return [
                (item["call_id"], b64decode(part["image_url"].partition(",")[2]))
                for item in asked.json["input"]
                if item.get("type") == "function_call_output" and not isinstance(item["output"], str)
                for part in item["output"]
                if part["type"] == "input_image"
            ]
        case "chat":
            return [
                (message["role"], b64decode(part["image_url"]["url"].partition(",")[2]))
                for message in asked.json["messages"]
                if message["role"] == "user" and not isinstance(message["content"], str)
                for part in message["content"]
                if part["type"] == "image_url"
            ]


def reads(file: Any, id: str = "c1", **args: Any) -> Wanted:
    return Wanted(id, "read_file", orjson.dumps({"file_id": file["id"], **args}).decode())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("takes", [True, False])
async def test_a_picture_that_is_read_is_shown_with_its_result(
    wire: Wire, takes: bool, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    await office.space("general", wake={"people": "all"})
    red = await give(office, picture(size=(4000, 2000)), "red.png", space="general")
    model = {"provider": PROVIDERS[wire], "name": "a-model", "settings": {"images": takes}}
    await office.agent("ada", model=model, tools=["messaging", "files"])
    await office.create("/spaces/general/members", {"memberId": "ada"})
    server.gives(plays(reads(red)), plays(say("a red square", id="c2")), plays(SILENT))
    await office.post("general", "what is on the picture?")
    run = await office.run_finished("ada")
    assert server.problems == []
    for asked in server.asked[1:]:
        found = shown_pictures(asked)
        assert len(found) == int(takes)
        assert (NOT_SHOWN in asked.body) != takes
        for _, data in found:
            drawn = Image.open(BytesIO(data))
            assert (drawn.format, drawn.size) == ("JPEG", (1568, 784))
    assert sent(server.asked[2]).startswith(sent(server.asked[1]))
    assert run["outside"] == ["file"]
    [entry, *_] = [each for each in await office.journal(run["id"]) if each["type"] == "tool_return_message"]
    assert entry["result"]["width"] == 4000
    seen = await office.get(f"/runs/{run['id']}/steps/2/request")
    assert "[image/jpeg: red.png]" in str(seen["parts"])


NOT_SHOWN = b"Its picture is not shown here"


async def put_aside(office: Driver) -> None:
    """Until nobody drives the run that was paused."""

    async def holds() -> bool:
        owned = "SELECT count(*) FROM leases WHERE owner IS NOT NULL"
        [(count,)] = await snapshot.ask(office.office.settings.database_url, owned)
        return not count

    await office.until(holds)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_picture_that_is_gone_is_not_shown_again(wire: Wire, offices: Offices, server: ModelServer) -> None:
    """Nor is one that was changed: what stands in the journal is its hash."""
    office = await an_office(offices, server)
    await office.space("general", wake={"people": "all"})
    red = await give(office, picture(), "red.png")
    message = await office.post("general", "a picture", attachments=[red["id"]])
    await office.agent("ada", model={"provider": PROVIDERS[wire], "name": "a-model"}, tools=["messaging", "files"])
    await office.create("/spaces/general/members", {"memberId": "ada"})
    go_on = asyncio.Event()

    async def waits(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        await plays(say("a red square", id="c2"))(asked, writer)

    server.gives(plays(reads(red)), waits, plays(SILENT))
    await office.post("general", "what is on it?")
    await server.was_asked(2)
    assert len(shown_pictures(server.asked[1])) == 1
    await office.create("/agents/ada/pause", {})
    go_on.set()
    await put_aside(office)
    await office.ask("DELETE", f"/messages/{message['id']}")
    await office.create("/agents/ada/resume", {})
    server.gives(plays(say("gone", id="c3")), plays(SILENT))
    await office.run_finished("ada")
    assert server.problems == []
    assert shown_pictures(server.asked[-1]) == []
    assert NOT_SHOWN in server.asked[-1].body


# ── nothing is lost for good ────────────────────────────────────────────────────────────────────────────────────────


def looks_for(fact: str, query: str) -> Behaviour:
    """A model that says the fact if it is shown it, and looks for it if not. Having said it, it rests."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        body = asked.body.decode()
        if f"It is {fact}." in body:
            answer = plays(SILENT)
        elif fact in body:
            answer = plays(say(f"It is {fact}."))
        else:
            answer = plays(Wanted("c1", "read_messages", orjson.dumps({"query": query}).decode()))
        await answer(asked, writer)

    return behave


async def far_back(office: Driver, first: str) -> None:
    """Something is said, and then five hundred other things."""
    await office.post("general", first)
    await office.idle()
    for start in range(0, 500, 100):
        await talk(office, "general", (f"about something else, {n}" for n in range(start, start + 100)))


@pytest.mark.parametrize("wire", WIRES)
async def test_a_fact_500_messages_back_is_found_with_a_tool(wire: Wire, offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await office.agent("ada", model=f"{PROVIDERS[wire]}:a-model")
    await office.space("general", ["ada"])
    server.gives(looks_for("4711-blue", "the vault"))
    await far_back(office, "the code of the vault is 4711-blue")
    await office.post("general", "@ada what was the code of the vault?")
    await office.run_finished("ada")
    assert (await office.texts("general"))[-1] == "It is 4711-blue."
    assert len(server.asked) == 3
    assert b"4711-blue" not in server.asked[0].body
    assert server.problems == []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("who", ["the agent said it", "the agent was told it"])
async def test_a_fact_500_messages_back_is_known_from_run_summaries(
    wire: Wire, who: str, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    await office.agent("ada", model=f"{PROVIDERS[wire]}:a-model")
    await office.space("general", ["ada"])
    mine = who == "the agent said it"
    server.gives(plays(say("it is 4711-blue" if mine else "I will remember that", "c1")), plays(SILENT))
    asked = "@ada choose a code for the vault" if mine else "@ada the code of the vault is 4711-blue"
    await far_back(office, asked)
    server.asked.clear()
    server.gives(looks_for("4711-blue", "the vault"))
    await office.post("general", "@ada what was the code of the vault?")
    await office.run_finished("ada", nth=2)
    assert (await office.texts("general"))[-1] == "It is 4711-blue."
    assert len(server.asked) == 2, "no tool was needed"
    assert server.problems == []
