"""`@tool` and `bp.serve_tools`: functions of this process as an agent's tools, over real HTTP."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import pytest
from pydantic import BaseModel, Field, computed_field, field_validator

from bullpen.client import (
    AlreadyExists,
    Bullpen,
    Call,
    Forbidden,
    FunctionTool,
    Gone,
    Invalid,
    NotFound,
    Unauthenticated,
    tool,
)
from bullpen.client import serving as serving_tools
from bullpen.define import Misfit
from bullpen.wire.nouns import PendingCall, RunMessage
from tests import effort
from tests.cli.processes import output, serving
from tests.client.cutting import cutting
from tests.client.holding import holding
from tests.client.relaying import Relay, listening
from tests.path.scripts import Json, call, say, step, turn
from tests.waits import BOUND, until

NOW = Call("call_1", "x", "ada", "run_1", None, "2026-01-01T00:00:00Z")


@pytest.fixture
async def bp(door: tuple[str, str]) -> AsyncIterator[Bullpen]:
    async with Bullpen(*door) as connected:
        yield connected


@asynccontextmanager
async def served(bp: Bullpen, *functions: FunctionTool[..., Any], **more: Any) -> AsyncIterator[asyncio.Task[None]]:
    """Somebody serves these meanwhile."""
    task = asyncio.create_task(bp.serve_tools(*functions, **more))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def nothing() -> None:
    """Nothing."""


async def agent(bp: Bullpen, name: str, *calls: Json, tools: list[Any]) -> str:
    """An agent that makes these calls when it is spoken to, in a space of its own; then it says what came first."""
    turns = [
        {"kind": "tool_result", "steps": [say("came later")]},
        turn("", step(*calls), say("then {{results[0]}}")),
    ]
    model = {"provider": "script", "turns": turns}
    await bp.agents.create(id=name, name=name, model=model, tools=["messaging", *tools])
    await bp.spaces.create(id=f"room-{name}", name=name, members=[name], wake={"people": "all"})
    return f"room-{name}"


async def results(bp: Bullpen, name: str) -> list[Any]:
    """What the calls of the agent's first run came to, once it is over."""

    async def over() -> bool:
        return any(run.finished_at is not None for run in await bp.runs.list(agent=name))

    await until(over)
    first = (await bp.runs.list(agent=name)).items[-1]
    journal: list[RunMessage] = (await bp.runs.messages(first.id)).items
    return [entry.result for entry in journal if entry.type == "tool_return_message"]


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(BOUND):
        await event.wait()


def open_calls(bp: Bullpen, tool_name: str) -> Callable[[], Any]:
    async def look() -> list[PendingCall]:
        return [each for each in await bp.pending.list(limit=200) if each.tool_name == tool_name]

    return look


# ── a signature as a definition ─────────────────────────────────────────────────────────────────────────────────────


class Place(BaseModel):
    """Where."""

    title: str
    floor_number: int = 1


@tool(visible=False, timeout=10_000)
async def book_room(
    room_name: str,
    on: date,
    call: Call,
    seats: Annotated[int, Field(ge=1, description="How many people.")] = 4,
    kind: Literal["quiet", "loud"] = "quiet",
    place: Place | None = None,
    copy: bool = False,
) -> str:
    """Book a room.

    It is yours for the day.
    """
    return f"{room_name} for {seats} on {on:%A}, {kind}, {call.id}"


@pytest.mark.proves("S4-02")
def test_a_signature_is_a_tools_definition() -> None:
    assert book_room.definition == {
        "name": "book_room",
        "description": "Book a room.\n\nIt is yours for the day.",
        "executionType": "external",
        "visible": False,
        "isAsync": False,
        "timeout": 10_000,
        "inputSchema": {
            "type": "object",
            "additionalProperties": False,
            "required": ["roomName", "on"],
            "properties": {
                "roomName": {"type": "string"},
                "on": {"type": "string", "format": "date"},
                "seats": {"type": "integer", "minimum": 1, "default": 4, "description": "How many people."},
                "kind": {"type": "string", "enum": ["quiet", "loud"], "default": "quiet"},
                "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
                "copy": {"type": "boolean", "default": False},
            },
            "$defs": {
                "Place": {
                    "type": "object",
                    "description": "Where.",
                    "required": ["title"],
                    "properties": {
                        "title": {"type": "string"},
                        "floor_number": {"type": "integer", "default": 1},
                    },
                }
            },
        },
    }


async def test_a_tool_is_still_the_function_it_was() -> None:
    assert await book_room("Fir", date(2026, 1, 5), NOW) == "Fir for 4 on Monday, quiet, call_1"
    assert book_room.__name__ == "book_room"

    @tool
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert double(4) == 8


def test_tool_arguments_accept_both_spellings_and_become_hinted_types() -> None:
    args = book_room.arguments({"room_name": "Fir", "on": "2026-01-05", "place": {"title": "x"}}, NOW)
    assert args == {"room_name": "Fir", "on": date(2026, 1, 5), "place": Place(title="x"), "call": NOW}


@pytest.mark.parametrize(
    "given, words",
    [
        (None, "must be a JSON object"),
        ({}, "roomName: Field required"),
        ({"roomName": "a", "room_name": "b", "on": "2026-01-05"}, "give one of them"),
        ({"roomName": "a", "on": "tomorrow"}, "on: "),
        ({"roomName": "a", "on": "2026-01-05", "seats": 0}, "seats: "),
        ({"roomName": "a", "on": "2026-01-05", "colour": 1}, "colour: Extra inputs"),
        ({"roomName": "a", "on": "2026-01-05", "call": {}}, "call: Extra inputs"),
    ],
)
def test_mismatched_tool_arguments_are_refused_with_the_reason(given: Any, words: str) -> None:
    with pytest.raises(Misfit, match=words):
        book_room.arguments(given, NOW)


def test_an_unusable_function_is_refused_when_declared_as_a_tool() -> None:
    def silent(x: int) -> None: ...

    def untyped(x) -> None:  # type: ignore[no-untyped-def]
        """It."""

    def endless(*xs: int) -> None:
        """It."""

    for function, words in ((silent, "docstring"), (untyped, "a type for x"), (endless, "have names")):
        with pytest.raises(TypeError, match=words):
            tool(function)


def test_importing_the_tool_decorator_loads_nothing_heavy() -> None:
    heavy = "{'pydantic', 'httpx', 'sqlalchemy', 'fastapi', 'yaml'}"
    program = f"import sys; from bullpen import tool; print({heavy} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=BOUND)
    assert said.stdout == "set()\n"


# ── definitions on the server ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_tool_is_made_read_listed_changed_and_deleted(bp: Bullpen) -> None:
    made = await bp.tools.create(name="chart", description="A chart", input_schema={}, execution_type="internal")
    assert (made.visible, made.timeout) == (False, 30_000)
    assert await bp.tools.get("chart") == made
    assert "chart" in {each.name for each in await bp.tools.list(limit=200)}
    assert (await bp.tools.update("chart", visible=True)).visible
    with pytest.raises(AlreadyExists):
        await bp.tools.create(name="chart", description="A chart", input_schema={}, execution_type="internal")
    await bp.tools.delete("chart")
    with pytest.raises(NotFound):
        await bp.tools.get("chart")


async def test_an_agent_created_with_a_function_has_that_tool(bp: Bullpen) -> None:
    def version(description: str, seats: int) -> FunctionTool[..., Any]:
        async def seat_guests(number: int = seats) -> None: ...

        return tool(description=description)(seat_guests)

    made = await bp.agents.create(id="host", name="Host", model="script:echo", tools=["messaging", version("Seat.", 4)])
    assert made.tools == ["messaging", "seat_guests"]
    first = await bp.tools.get("seat_guests")
    await bp.agents.update("host", tools=[version("Seat.", 4)])
    assert await bp.tools.get("seat_guests") == first, "the same definition changes nothing"
    await bp.agents.update("host", tools=[version("Seat them.", 5)])
    second = await bp.tools.get("seat_guests")
    assert (second.description, second.input_schema["properties"]["number"]["default"]) == ("Seat them.", 5)


async def test_defining_a_function_cannot_replace_another_kind_of_tool(bp: Bullpen) -> None:
    await bp.tools.create(name="taken", description="x", input_schema={}, execution_type="internal")
    with pytest.raises(AlreadyExists, match="internal tool"):
        await bp.tools.define(tool(name="taken")(nothing))
    with pytest.raises((Invalid, AlreadyExists)):
        await bp.tools.define(tool(name="send_message")(nothing))


# ── carrying out calls ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-42", "S4-05", "S4-10")
async def test_a_served_call_runs_here_and_returns_its_result_inline(bp: Bullpen) -> None:
    @tool(visible=False)
    async def fetch_report(quarter: str, call: Call) -> dict[str, Any]:
        """Fetch the report of a quarter."""
        return {"quarter": quarter, "by": call.agent_id, "place": Place(title="x")}

    @tool(visible=False)
    def slow_sum(numbers: list[int]) -> dict[str, Any]:
        """Add."""
        return {"sum": sum(numbers), "thread": threading.current_thread().name}

    calls = [call("fetch_report", quarter="Q3"), call("slow_sum", numbers=[1, 2])]
    room = await agent(bp, "reporter", *calls, tools=[fetch_report, slow_sum])
    async with served(bp, fetch_report, slow_sum):
        await bp.spaces(room).send("go")
        first, second, *_ = await results(bp, "reporter")
    assert first == {"quarter": "Q3", "by": "reporter", "place": {"title": "x", "floor_number": 1}}
    assert second["sum"] == 3
    assert second["thread"].startswith("bullpen-tool"), "a plain function may block"


@pytest.mark.proves("I13", "S4-42")
async def test_calls_made_while_no_backend_ran_are_picked_up(bp: Bullpen) -> None:
    @tool(is_async=True)
    async def find_me(number: int) -> int:
        """Find."""
        done.append(number)
        return number

    done: list[int] = []
    room = await agent(bp, "away", *(call("find_me", number=n) for n in range(5)), tools=[find_me])
    await bp.spaces(room).send("go")
    look = open_calls(bp, "find_me")
    await until(lambda: _as_many(look, 5))
    async with served(bp, find_me, concurrency=1):
        await until(lambda: _as_many(look, 0))
    assert done == [0, 1, 2, 3, 4], "each once, the oldest first"


async def _as_many(look: Callable[[], Any], count: int) -> bool:
    return len(await look()) == count


async def test_tool_failures_are_reported_to_the_agent(bp: Bullpen, caplog: pytest.LogCaptureFixture) -> None:
    @tool(visible=False)
    async def explode(how: str) -> Any:
        """Fail."""
        match how:
            case "raise":
                raise ValueError("no such thing")
            case "odd":
                return object()
            case "nan":
                return float("nan")
            case "half":
                return "\ud800"
            case "huge":
                return "x" * 5_000_000
        raise asyncio.CancelledError

    ways = ["raise", "odd", "nan", "half", "huge", "cancel"]
    room = await agent(bp, "breaker", *(call("explode", how=way) for way in ways), tools=[explode])
    async with served(bp, explode):
        await bp.spaces(room).send("go")
        found = dict(zip(ways, await results(bp, "breaker"), strict=False))
    assert found["raise"] == {"error": "ValueError: no such thing"}
    assert "PydanticSerializationError" in found["odd"]["error"]
    assert found["nan"]["error"].startswith("ValueError: ")
    assert found["half"]["error"].startswith("UnicodeEncodeError: ")
    assert found["huge"]["error"].startswith("The result could not be taken: ")
    assert found["cancel"] == {"error": "CancelledError: it was stopped"}
    assert any(record.exc_info for record in caplog.records if "explode" in record.getMessage())


class Picky(BaseModel):
    """A model whose own code fails, on the way in and on the way out."""

    word: str

    @field_validator("word")
    @classmethod
    def _known(cls, word: str) -> str:
        return {"yes": "yes", "out": "out"}[word]

    @computed_field
    def length(self) -> int:
        return {"yes": 3}[self.word]


async def test_a_failing_argument_or_result_conversion_fails_only_its_call(bp: Bullpen) -> None:
    @tool(visible=False)
    async def choose(picky: Picky) -> Picky:
        """Choose."""
        return picky

    words = ["in", "out", "yes"]
    room = await agent(bp, "chooser", *(call("choose", picky={"word": word}) for word in words), tools=[choose])
    async with served(bp, choose, concurrency=1) as serving_:
        await bp.spaces(room).send("go")
        found = dict(zip(words, await results(bp, "chooser"), strict=False))
        assert not serving_.done()
    assert found["in"] == {"error": "KeyError: 'in'"}
    assert "KeyError: 'out'" in found["out"]["error"]
    assert found["yes"] == {"word": "yes", "length": 3}


async def test_serving_warns_about_a_tool_nobody_defined(
    bp: Bullpen, door: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def unheard_of() -> None:
        """Nothing."""

    @tool
    async def unnamed() -> None:
        """Nothing."""

    made = await bp.tokens.create("backend", tools=["unheard_of"])
    async with Bullpen(door[0], made.token) as backend, served(backend, unheard_of, unnamed):
        await until(lambda: _logged(caplog, "nobody has defined that tool"))
        await until(lambda: _logged(caplog, "does not name unnamed"))


async def test_a_token_for_tools_is_told_what_it_is_for(bp: Bullpen, door: tuple[str, str]) -> None:
    made = await bp.tokens.create("backend", tools=["ours_alone"])
    async with Bullpen(door[0], made.token) as backend:
        with pytest.raises(Forbidden, match=r"only answers calls of ours_alone: GET /api/pending"):
            await backend.people.list()


@pytest.mark.proves("C14", "I12")
async def test_a_token_for_one_tool_serves_and_sees_nothing_else(bp: Bullpen, door: tuple[str, str]) -> None:
    for name in ("ours", "theirs"):
        await bp.tools.create(name=name, description="x", input_schema={}, execution_type="external", visible=False)

    @tool(name="ours")
    async def ours(number: int) -> int:
        """It."""
        return number

    calls = [call("ours", number="many"), call("ours", number=2), call("theirs", secret="not yours")]
    room = await agent(bp, "limited", *calls, tools=["ours", "theirs"])
    made = await bp.tokens.create("backend", tools=["ours"])
    async with Bullpen(door[0], made.token) as backend, backend.events() as events, served(backend, ours):
        await bp.spaces(room).send("go")
        (theirs,) = await until(open_calls(bp, "theirs"))
        assert [each for each in await backend.pending.list() if each.tool_name != "ours"] == []
        with pytest.raises(Forbidden):
            await backend.runs.submit_result(theirs.run_id, theirs.call_id, "forged")
        with pytest.raises((NotFound, Forbidden)):
            await backend.pending.get(theirs.call_id)
        await bp.pending.resolve(theirs.call_id, "real")
        first, second, third, *_ = await results(bp, "limited")
        told = [await anext(events) for _ in range(4)]
    assert first == {"error": first["error"]}
    assert "number: Input should be a valid integer" in first["error"]
    assert (second, third) == (2, "real")
    assert {event["call"]["toolName"] for event in told} == {"ours"}


async def test_no_more_calls_run_at_once_than_were_asked_for(bp: Bullpen) -> None:
    @tool(is_async=True, visible=False)
    async def count_me() -> int:
        """Count."""
        running.add(asyncio.current_task())
        most.append(len(running))
        if len(most) >= 2:
            both.set()
        await both.wait()
        running.discard(asyncio.current_task())
        return 1

    running: set[Any] = set()
    most: list[int] = []
    both = asyncio.Event()
    room = await agent(bp, "crowd", *(call("count_me") for _ in range(6)), tools=[count_me])
    async with served(bp, count_me, concurrency=2):
        await bp.spaces(room).send("go")
        await until(lambda: _as_many(_resolved(bp, "count_me"), 6))
    assert max(most) == 2


def _resolved(bp: Bullpen, tool_name: str) -> Callable[[], Any]:
    async def look() -> list[PendingCall]:
        return [each for each in await bp.pending.list(status="resolved", limit=200) if each.tool_name == tool_name]

    return look


async def test_a_call_that_nobody_waits_for_any_more_is_stopped(bp: Bullpen) -> None:
    @tool(visible=False)
    async def wait_long() -> None:
        """Wait."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    begun, stopped = asyncio.Event(), asyncio.Event()
    room = await agent(bp, "waiter", call("wait_long"), tools=[wait_long])
    async with served(bp, wait_long):
        await bp.spaces(room).send("go")
        await soon(begun)
        (waiting,) = await open_calls(bp, "wait_long")()
        await bp.pending.cancel(waiting.call_id)
        await soon(stopped)
        assert "cancelled this call" in (await results(bp, "waiter"))[0]["error"]


@pytest.mark.parametrize("effect, begun", [("once", 1), ("idempotent", 2)])
async def test_a_dead_programs_call_is_repeated_only_if_harmless(
    bp: Bullpen, caplog: pytest.LogCaptureFixture, effect: Literal["once", "idempotent"], begun: int
) -> None:
    caplog.set_level("INFO", "bullpen.client")
    name = f"charge_{effect}"
    ids: list[str] = []

    @tool(name=name, effect=effect, timeout=60_000, variables=[{"name": "SHOP", "required": False}])
    async def charge(call: Call) -> None:
        """Charge."""
        ids.append(call.id)
        await asyncio.Event().wait()

    room = await agent(bp, f"cashier-{effect}", call(name), tools=[charge])
    defined = await bp.tools.get(name)
    assert (defined.effect, [each.name for each in defined.variables]) == (effect, ["SHOP"])
    async with served(bp, charge, grace=0.0):
        await bp.spaces(room).send("go")
        await until(lambda: _so_many(ids, 1))
    async with served(bp, charge, grace=0.0):
        await until(lambda: _logged(caplog, "is under way elsewhere") if begun == 1 else _so_many(ids, 2))
    assert (len(ids), len(set(ids))) == (begun, 1)
    (waiting,) = await open_calls(bp, name)()
    await bp.pending.cancel(waiting.call_id)


async def test_a_running_call_can_report_progress_that_others_see(bp: Bullpen, door: tuple[str, str]) -> None:
    @tool(visible=True, timeout=60_000)
    def dig(call: Call, depth: int) -> str:
        """Dig."""
        call.progress(0.5, "half way down")  # from a thread of its own
        assert go_on.wait(BOUND)
        return f"{depth} m"

    go_on = threading.Event()
    room = await agent(bp, "digger", call("dig", depth=3), tools=[dig])
    async with Bullpen(*door) as watcher, watcher.events(space=room) as events, served(bp, dig):
        await bp.spaces(room).send("go")
        async with asyncio.timeout(BOUND):
            while (told := await anext(events)).type != "tool.progress":
                pass
        assert (told["call"]["toolName"], told["call"]["progress"]["fraction"]) == ("dig", 0.5)
        (waiting,) = await open_calls(bp, "dig")()
        assert (waiting.progress.fraction, waiting.progress.message) == (0.5, "half way down")
        go_on.set()
        assert (await results(bp, "digger"))[0] == "3 m"
    with pytest.raises(Gone, match="answered this call already"):
        await bp.pending.progress(waiting.call_id, fraction=0.9)


async def test_heartbeats_report_running_calls_and_stop_those_nobody_awaits(bp: Bullpen) -> None:
    @tool(visible=False)
    async def wait_longer() -> None:
        """Wait."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    stopped = asyncio.Event()
    room = await agent(bp, "patient", call("wait_longer"), tools=[wait_longer])

    async def heard() -> list[PendingCall]:
        return [each for each in await open_calls(bp, "wait_longer")() if each.progress is not None]

    async with served(bp, wait_longer, heartbeat=0.05):
        await bp.spaces(room).send("go")
        (waiting,) = await until(heard)
        assert waiting.progress is not None
        assert waiting.progress.fraction is None
        await bp.pending.cancel(waiting.call_id)
        await soon(stopped)


async def test_an_answer_from_somebody_else_stands_and_serving_goes_on(
    bp: Bullpen, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(visible=False)
    async def race(who: int) -> str:
        """Race."""
        begun.set()
        await go.wait()
        return f"us {who}"

    begun, go = asyncio.Event(), asyncio.Event()
    room = await agent(bp, "racer", call("race", who=1), call("race", who=2), tools=[race])
    async with served(bp, race):
        await bp.spaces(room).send("go")
        await soon(begun)
        (waiting,) = await open_calls(bp, "race")()
        await bp.pending.resolve(waiting.call_id, "them")
        go.set()
        assert (await results(bp, "racer"))[:2] == ["them", "us 2"]
        await until(lambda: _logged(caplog, "was answered by somebody else"))


async def _so_many(found: list[str], count: int) -> bool:
    return len(found) == count


async def _logged(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return any(words in record.getMessage() for record in caplog.records)


async def test_on_shutdown_short_calls_finish_and_long_ones_stay_open(bp: Bullpen) -> None:
    @tool(visible=False, is_async=True)
    async def linger(how: str) -> str:
        """Linger."""
        begun.append(how)
        if how == "long" and len(begun) < 3:
            await asyncio.Event().wait()
        await ending.wait()
        return how

    begun: list[str] = []
    ending = asyncio.Event()
    room = await agent(bp, "lingerer", call("linger", how="short"), call("linger", how="long"), tools=[linger])
    serving_ = asyncio.create_task(bp.serve_tools(linger, grace=1.0))
    await bp.spaces(room).send("go")
    await until(lambda: _began(begun, 2))
    serving_.cancel()
    ending.set()
    with pytest.raises(asyncio.CancelledError):
        await serving_
    (done,) = await _resolved(bp, "linger")()
    (left,) = await open_calls(bp, "linger")()
    assert (done.result, left.args) == ("short", {"how": "long"})
    async with served(bp, linger):
        await until(lambda: _as_many(_resolved(bp, "linger"), 2))
    assert sorted(begun) == ["long", "long", "short"]


async def _began(begun: list[str], count: int) -> bool:
    return len(begun) == count


async def test_a_token_that_was_revoked_ends_the_serving(bp: Bullpen, door: tuple[str, str]) -> None:
    await bp.tools.create(name="ended", description="x", input_schema={}, execution_type="external")
    made = await bp.tokens.create("backend", tools=["ended"])
    async with Bullpen(door[0], made.token) as backend:
        task = asyncio.create_task(backend.serve_tools(tool(name="ended")(nothing)))
        await asyncio.sleep(0)
        await bp.tokens.delete(made.id)
        with pytest.raises(Unauthenticated):
            await task


async def test_serving_with_invalid_arguments_is_refused_at_once(bp: Bullpen) -> None:
    with pytest.raises(ValueError, match="Name the functions"):
        await bp.serve_tools()
    with pytest.raises(ValueError, match="Two functions"):
        await bp.serve_tools(book_room, book_room)
    with pytest.raises(ValueError, match="at least 1"):
        await bp.serve_tools(book_room, concurrency=0)


# ── when things break ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("C10", "S4-42", "I13")
async def test_a_restarted_server_receives_the_result_of_an_earlier_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(visible=False, timeout=600_000)
    async def survive(number: int) -> int:
        """Survive."""
        begun.append(number)
        await go.wait()
        return number

    begun: list[int] = []
    go = asyncio.Event()
    data = tmp_path / "data"
    token = output(data, "token", "create", "--name", "Ruth", "--owner")
    async with (
        asyncio.timeout(2 * BOUND),
        listening(Relay()) as network,
        Bullpen(network.url, token, patience=0.2) as bp,
    ):
        with serving(data) as server:
            network.lead_to(server.url)
            room = await agent(bp, "survivor", call("survive", number=7), tools=[survive])
            task = asyncio.create_task(bp.serve_tools(survive))
            await bp.spaces(room).send("go")
            await until(lambda: _any(begun))
            server.stop(signal.SIGKILL)
        go.set()  # the result is there, and nobody to give it to
        await until(lambda: _logged(caplog, "Trying again"))
        with serving(data) as server:
            network.lead_to(server.url)
            assert (await results(bp, "survivor"))[0] == 7
            await bp.spaces(room).send("once more")
            await until(lambda: _as_many(_resolved(bp, "survive"), 2))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert begun == [7, 7], "once for each call"


async def _any(found: list[int]) -> bool:
    return bool(found)


async def test_a_stale_list_does_not_rerun_an_answered_call(bp: Bullpen, door: tuple[str, str]) -> None:
    @tool(visible=False, is_async=True)
    async def told_twice(number: int) -> int:
        """Once."""
        begun.append(number)
        await go.wait()
        return number

    begun: list[int] = []
    go = asyncio.Event()
    room = await agent(bp, "twice", call("told_twice", number=1), tools=[told_twice])
    async with holding(door[0]) as network, Bullpen(network.url, door[1]) as backend, served(backend, told_twice):
        await soon(network.asked)  # for the list, while there is none: it is asked once there is a call
        await bp.spaces(room).send("go")
        await until(lambda: _any(begun))
        network.may_ask.set()
        await soon(network.answered)
        go.set()
        await until(lambda: _at_rest(bp, "twice"))
        network.may_answer.set()
        await soon(network.delivered)
        await bp.spaces(room).send("go")
        await until(lambda: _as_many(_resolved(bp, "told_twice"), 2))
    assert begun == [1, 1], "once for each call"


class Ailing(httpx.AsyncHTTPTransport):
    """A server that cannot take results for a while: its disk is full, or something in it is broken."""

    def __init__(self, *answers: int) -> None:
        super().__init__()
        self.answers = list(answers)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.answers and request.url.path.endswith("/tool-results"):
            error = {"code": "disk_full", "message": "There is no room."}
            return httpx.Response(self.answers.pop(0), json={"error": error}, request=request)
        return await super().handle_async_request(request)


async def test_a_result_is_retried_until_a_failing_server_accepts_it(
    bp: Bullpen, door: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(visible=False, timeout=600_000)
    async def keep_at_it(number: int) -> int:
        """Keep at it."""
        begun.append(number)
        return number

    begun: list[int] = []
    monkeypatch.setattr(serving_tools, "pause", lambda attempt: 0.0)
    room = await agent(bp, "stubborn", call("keep_at_it", number=7), tools=[keep_at_it])
    ailing = Ailing(*[507] * 10, *[500] * 10, 503)
    async with Bullpen(*door, transport=ailing) as backend, served(backend, keep_at_it):
        await bp.spaces(room).send("go")
        assert (await results(bp, "stubborn"))[0] == 7
    assert (begun, ailing.answers) == ([7], [])


@pytest.mark.proves("I13", "S4-42")
async def test_however_often_the_connection_is_cut_each_call_runs_once(bp: Bullpen, door: tuple[str, str]) -> None:
    @tool(visible=False, is_async=True)
    async def steady(number: int) -> int:
        """Steady."""
        begun.append(number)
        return number

    begun: list[int] = []
    room = await agent(bp, "steady", *(call("steady", number=n) for n in range(15)), tools=[steady])
    async with cutting(door[0]) as network, Bullpen(network.url, door[1]) as backend, served(backend, steady):
        rounds = 0
        while rounds < effort.count(50, sample=3) or network.cuts <= 3:
            await bp.spaces(room).send("go")
            await until(lambda: _at_rest(bp, "steady"))
            rounds += 1
    seen = [each async for each in _every_call(bp, "steady")]
    assert sorted(begun) == sorted(rounds * list(range(15)))
    assert [each.result for each in seen] == [each.args["number"] for each in seen]


async def _at_rest(bp: Bullpen, name: str) -> bool:
    """No call is open, and nothing waits for the agent: it is `queued` from the commit that takes a result."""
    open_now = [call for call in await bp.pending.list(limit=200) if call.agent_id == name]
    return not open_now and (await bp.agents.get(name)).state == "idle"


async def _every_call(bp: Bullpen, tool_name: str) -> AsyncIterator[PendingCall]:
    cursor = None
    while True:
        page = await bp.pending.list(status="resolved", limit=200, cursor=cursor)
        for each in page:
            if each.tool_name == tool_name:
                yield each
        cursor = page.next
        if cursor is None:
            return
