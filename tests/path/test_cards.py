"""A visible tool's call is a message like any other, which nobody can answer and which wakes nobody."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from pydantic import Field

from bullpen.errors import ToolFailed
from bullpen.settings import EngineSettings
from bullpen.tools import Tool, ToolContext, tool
from tests.databases import Database
from tests.driver import Driver, Json, Offices
from tests.path.following import followed
from tests.path.puppets import puppet, window
from tests.path.scripts import SILENT, call, say, step, turn


@tool(effect="tx", visible=True)
async def show_chart(context: ToolContext, title: str, barColours: list[str] | None = None) -> dict[str, Any]:  # noqa: N803
    """Show a chart to everyone in the space."""
    return {"chart": title, "snake_key": 1}


@tool(effect="tx", visible=True)
async def fail_openly(context: ToolContext, how: Annotated[str, Field(max_length=10)]) -> dict[str, Any]:
    """Fail where everyone sees it."""
    if how == "crash":
        raise RuntimeError("secret inner words")
    raise ToolFailed("It did not work.")


@dataclass
class Slow:
    """A visible tool whose work is outside our database, under the test's hand."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def tool(self) -> Tool:
        @tool(visible=True, timeout_ms=15_000)
        async def print_poster(context: ToolContext) -> dict[str, Any]:
            """Print a poster."""
            self.begun.set()
            await self.go_on.wait()
            return {"printed": True}

        return print_poster


async def gallery(offices: Offices, *more: Tool) -> Driver:
    return await offices.open(families={"gallery": [show_chart, fail_openly, *more]})


TOOLS = ["messaging", "gallery"]


@pytest.mark.proves("S4-29")
async def test_visible_calls_are_numbered_stored_and_streamed_like_messages(offices: Offices) -> None:
    office = await gallery(offices)
    chart = call("show_chart", title="Q3", barColours=["red"])
    await office.agent(
        "ada", steps=[step(call("send_message", text="look"), chart, call("send_message", text="see?"))], tools=TOOLS
    )
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "show me")
    run = await office.run_finished("ada")
    messages = await office.messages("general")
    assert [(message["seq"], message["type"]) for message in messages] == [
        (1, "text"),
        (2, "text"),
        (3, "tool"),
        (4, "text"),
    ]
    card = messages[2]
    calls = [entry for entry in await office.journal(run["id"]) if entry["type"] == "tool_call_message"]
    assert card["metadata"] == {
        "toolName": "show_chart",
        "callId": calls[1]["callId"],
        "args": {"title": "Q3", "barColours": ["red"]},
        "result": {"chart": "Q3", "snake_key": 1},
    }
    assert (card["status"], card["authorId"], card["authorKind"]) == ("complete", "ada", "agent")
    assert (card["runId"], card["depth"], card["text"]) == (run["id"], 0, "")
    assert await office.get(f"/messages/{card['id']}") == card
    assert [e["message"] for e in office.events if e["type"] == "message_created"] == messages
    assert run["outcome"] == "spoke"
    # A card is not one of the run's own words.
    assert card["id"] not in run["messageIds"]


@pytest.mark.proves("S4-29")
async def test_a_slow_calls_card_appears_immediately_and_completes_in_place(
    offices: Offices,
) -> None:
    slow = Slow()
    office = await gallery(offices, slow.tool())
    await office.agent("ada", steps=[step(call("print_poster"))], tools=TOOLS)
    await office.space("general", ["ada"], wake={"people": "all"})
    peter, api = await office.person("Peter")
    await office.create("/spaces/general/members", {"memberId": peter})
    async with followed(office, api) as seen:
        await office.post("general", "print it")
        await asyncio.wait_for(slow.begun.wait(), 10)
        (_, card) = await office.messages("general")
        assert (card["status"], card["type"], card["seq"]) == ("streaming", "tool", 2)
        assert "result" not in card["metadata"]
        slow.go_on.set()
        run = await office.run_finished("ada")
        await seen.until(lambda event: event["type"] == "run_finished")
    (_, done) = await office.messages("general")
    assert done == {**card, "status": "complete", "metadata": {**card["metadata"], "result": {"printed": True}}}
    assert run["outcome"] == "acted"
    shown = ("message_", "tool.started", "tool.done", "tool.error")
    told = [event for event in seen.events if event["type"].startswith(shown)]
    assert [event["type"] for event in told] == [
        *["message_created", "tool.started", "message_created", "tool.done", "message_updated"]
    ]
    assert told[-1]["message"] == done


async def test_a_card_completes_even_if_its_agent_was_removed_meanwhile(offices: Offices) -> None:
    slow = Slow()
    office = await gallery(offices, slow.tool())
    await office.agent("ada", steps=[step(call("print_poster"))], tools=TOOLS)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "print it")
    await asyncio.wait_for(slow.begun.wait(), 10)
    await office.ask("DELETE", "/spaces/general/members/ada")
    slow.go_on.set()
    await office.run_finished("ada")
    (_, card) = await office.messages("general")
    assert (card["status"], card["metadata"]["result"]) == ("complete", {"printed": True})


async def test_a_crashed_call_in_a_cancelled_run_has_unknown_outcome(
    database: Database,
) -> None:
    slow = Slow()
    engine = EngineSettings(lease_seconds=0.4)

    async def opened(stack: AsyncExitStack, *, drive: bool) -> Driver:
        families = {"gallery": [slow.tool()]}
        return await Offices(database, stack).open(families=families, engine=engine, drive=drive)

    async with AsyncExitStack() as stack:
        office = await opened(stack, drive=True)
        calls = [call("print_poster"), call("do_nothing")]
        await office.agent("ada", steps=[step(*calls)], tools=TOOLS)
        await office.space("general", ["ada"], wake={"people": "all"})
        await office.post("general", "print it")
        await asyncio.wait_for(slow.begun.wait(), 10)
    async with AsyncExitStack() as stack:
        office = await opened(stack, drive=False)
        (running,) = await office.runs()
        await office.create(f"/runs/{running['id']}/cancel", {})
    async with AsyncExitStack() as stack:
        office = await opened(stack, drive=True)
        await office.idle()
        (run,) = await office.runs()
        assert (run["status"], run["stopReason"]) == ("cancelled", "cancelled")
        unknown = "print_poster was interrupted while it ran; whether it took effect is unknown. It was not run again."
        assert await office.results(run["id"]) == [
            {"error": unknown, "outcome": "unknown"},
            {"error": "Not run: the run was cancelled."},
        ]
        (_, card, stopped) = await office.messages("general")
        assert stopped["text"] == "Olga stopped Ada."
        assert (card["status"], card["metadata"]["error"]) == ("error", unknown)
        assert card["metadata"]["outcome"] == "unknown"


@pytest.mark.proves("S4-29")
@pytest.mark.one_database
async def test_a_failed_calls_card_shows_the_error_without_its_internals(offices: Offices) -> None:
    office = await gallery(offices)
    calls = [call("fail_openly", how="politely"), call("fail_openly", how="crash"), call("fail_openly", how="x" * 11)]
    await office.agent("ada", steps=[step(*calls)], tools=TOOLS)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    run = await office.run_finished("ada")
    _, *cards = await office.messages("general")
    errors = [result["error"] for result in await office.results(run["id"])]
    assert [(card["status"], card["metadata"]["error"]) for card in cards] == [("error", error) for error in errors]
    assert errors[0] == "It did not work."
    assert errors[1] == "fail_openly failed inside (RuntimeError). Try something else, or tell a person."
    assert "how: String should have at most 10 characters" in errors[2]
    assert all("result" not in card["metadata"] for card in cards)


@pytest.mark.proves("S4-30")
@pytest.mark.one_database
async def test_nobody_can_reply_to_a_card(offices: Offices) -> None:
    office = await gallery(offices)
    turns = [
        turn("show", step(call("show_chart", title="Q3"))),
        turn("reply", step(call("send_message", text="mine", replyTo="{{trigger.text}}"))),
    ]
    await office.agent("ada", [turns[0]], tools=TOOLS)
    await office.space("general", ["ada"], wake={"people": "all", "agents": "none"})
    await office.post("general", "show")
    await office.run_finished("ada")
    (_, card) = await office.messages("general")
    body = {"text": "nice", "replyTo": card["id"]}
    answer = await office.create("/spaces/general/messages", body, status=422)
    assert answer["error"]["fields"] == {"replyTo": "is a tool message"}
    await office.agent("bo", steps=[step(call("send_message", text="nice", replyTo=card["id"]))])
    await office.create("/spaces/general/members", {"memberId": "bo"})
    await office.post("general", "anyone?")
    run = await office.run_finished("bo")
    assert await office.results(run["id"]) == [{"error": "A tool message cannot be replied to."}]
    assert await office.texts("general") == ["show", "", "anyone?"]


@pytest.mark.proves("S4-31")
@pytest.mark.one_database
async def test_a_card_wakes_no_agent_under_any_policy(offices: Offices) -> None:
    office = await gallery(offices)
    await office.agent(
        "ada", [turn("show", step(call("show_chart", title="@bo Andy, look!"), call("do_nothing")))], tools=TOOLS
    )
    bo = await puppet(office, "bo", [turn("well", say("I see."))])
    for policy in ("all", "mention", "trigger"):
        wake = {"people": "mention", "agents": policy}
        await office.space(policy, ["ada", "bo"], wake=wake, trigger="Andy")
        await office.post(policy, "@ada show")
    await office.idle()
    assert bo.shown == []
    assert [run["agentId"] for run in await office.runs()] == ["ada"] * 3
    assert await office.items("/agents/bo/inbox") == []
    # It is there to be seen by whoever looks next.
    await office.post("all", "@bo well?")
    await office.run_finished("bo")
    assert [line for line in window(bo.shown[0]) if line.startswith("Ada (card): show_chart(title=")]


@pytest.mark.proves("S4-14")
@pytest.mark.one_database
async def test_a_visible_tool_without_a_space_returns_the_agreed_error(offices: Offices) -> None:
    office = await gallery(offices)
    steps: list[Json] = [step(call("leave_space"), call("show_chart", title="Q3")), *SILENT]
    await office.agent("ada", steps=steps, tools=TOOLS)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "show me")
    run = await office.run_finished("ada")
    assert (await office.results(run["id"]))[1] == {
        "error": 'Tool "show_chart" is visible but you are not in a space. Call enter_space first.'
    }
    assert await office.texts("general") == ["show me"]
