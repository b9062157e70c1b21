"""A toolkit is definitions for the model and handlers for dispatch, made for one agent in one run."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from bullpen import ids
from bullpen.inbox.types import Cause
from bullpen.llm.types import ToolTurn
from bullpen.storage import Transaction
from bullpen.tools.execute import Toolkit, get_toolkit
from bullpen.tools.quotes import ReadCall
from bullpen.tools.types import RunView, ToolCall, ToolResult, content
from bullpen.wire import Agent
from tests.driver import Driver
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, raw, say, step

pytestmark = pytest.mark.one_database

MEMORY = ["update_memory", "search_memory", "store_memory", "memory_save", "memory_search"]
SIX = ["send_message", "react_to_message", "do_nothing", "update_memory", "search_memory", "store_memory"]


@dataclass
class Kept:
    """A journal that only remembers."""

    settled_calls: list[ToolResult] = field(default_factory=list)

    def stoppable(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def check(self, tx: Transaction) -> None: ...

    async def mark(self, tx: Transaction, call: ToolCall) -> None: ...

    async def asked(self, tx: Transaction, call: ToolCall) -> None: ...

    async def park(self, tx: Transaction) -> None: ...

    async def started(self, tx: Transaction, call: ToolCall, args: Any, shown_in: str | None) -> None: ...

    def read_calls(self, names: Collection[str]) -> list[ReadCall]:
        return []

    async def settled(self, tx: Transaction, result: ToolResult, shown_in: str | None) -> None:
        self.settled_calls.append(result)


async def toolkit_of(office: Driver, agent_id: str) -> Toolkit:
    agent = Agent.model_validate(await office.get(f"/agents/{agent_id}"))
    view = RunView(
        id=ids.run(),
        thread_id=ids.thread(),
        agent=agent,
        cause=Cause("person", office.owner_id, "post,read_space"),
        depth=0,
        chain_id=ids.chain(),
    )
    return get_toolkit(
        agent,
        view,
        registry=office.office.registry,
        store=office.office.store,
        journal=Kept(),
        means=office.office.world.means,
    )


def asks(tool: str, **args: Any) -> ToolCall:
    return ToolCall(ids.call(), tool, orjson.dumps(args).decode())


def over(result: ToolResult | None) -> ToolResult:
    """What came of a call that nobody has to wait for."""
    assert result is not None
    return result


@pytest.mark.proves("S0-01")
async def test_an_agent_has_exactly_the_six_tools_it_lists(office: Driver) -> None:
    """design.md §6.19: exactly those it lists; no list means `messaging`."""
    ada = await puppet(office, "ada", steps=[step(call("read_messages"), call("skip"))], tools=SIX)
    bo = await puppet(office, "bo")
    await office.space("general", ["ada", "bo"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("bo")
    assert [spec.name for spec in ada.tools[0]] == SIX
    run = await office.run_finished("ada")
    assert await office.results(run["id"]) == [
        {"error": "There is no tool named 'read_messages' among yours."},
        {"error": "There is no tool named 'skip' among yours."},
    ]
    assert [spec.name for spec in bo.tools[0]] == [
        *["send_message", "react_to_message", "read_messages", "list_spaces"],
        *["enter_space", "leave_space", "do_nothing", "skip"],
    ]


async def test_an_unknown_tool_cannot_be_listed(office: Driver) -> None:
    answer = await office.create("/agents", {"name": "X", "model": "script:echo", "tools": ["fly"]}, status=422)
    assert "There is no tool or family named 'fly'" in answer["error"]["fields"]["tools"]


@pytest.mark.proves("S0-02", "S0-03", "S0-04")
async def test_a_toolkit_holds_definitions_and_a_handler_for_each(office: Driver) -> None:
    await office.agent("ada", tools=SIX)
    await office.space("general", ["ada"])
    toolkit = await toolkit_of(office, "ada")
    assert [definition.name for definition in toolkit.definitions] == SIX
    assert list(toolkit.handlers) == SIX
    for definition in toolkit.definitions:
        assert definition.description
        schema = definition.input_schema
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert isinstance(schema["properties"], dict)
        orjson.dumps(schema)
    sent = await toolkit.handlers["send_message"](asks("send_message", text="by hand"), "general")
    assert [message["id"] for message in await office.messages("general")] == [over(sent).value["messageId"]]
    assert over(await toolkit.dispatch(asks("do_nothing"), "general")).value == {"action": "none"}
    assert over(await toolkit.dispatch(asks("fly"), "general")).value == {
        "error": "There is no tool named 'fly' among yours."
    }


@pytest.mark.proves("S0-03", "S0-10", "S0-25", "S0-41", "S1-02", "S1-03")
async def test_the_schemas_are_those_of_the_founding_documents(office: Driver) -> None:
    """design.md §6.1: send_message(text, spaceId?) where seed 000 requires channelId and seed 001 has content alone."""
    ada = await puppet(office, "ada", tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    shown = {spec.name: spec for spec in ada.tools[0]}

    def signature(name: str) -> dict[str, bool]:
        """Each parameter, and whether it is required."""
        schema = shown[name].input_schema
        return {parameter: parameter in schema.get("required", []) for parameter in schema["properties"]}

    assert {name: signature(name) for name in shown} == {
        "send_message": {"text": True, "spaceId": False, "replyTo": False},
        "react_to_message": {"messageId": True, "emoji": True},
        "read_messages": {"spaceId": False, "offset": False, "limit": False, "query": False},
        "list_spaces": {},
        "enter_space": {"spaceId": True},
        "leave_space": {},
        "do_nothing": {},
        "skip": {"reason": False},
        "update_memory": {"label": True, "content": True, "reason": False},
        "search_memory": {"query": True, "tags": False, "limit": False},
        "store_memory": {"content": True, "tags": False, "supersedes": False, "expires": False},
        "memory_save": {"content": True, "metadata": False, "supersedes": False, "expires": False},
        "memory_search": {"query": True, "limit": False},
    }
    assert shown["send_message"].input_schema["properties"]["text"]["type"] == "string"
    assert "You may call this several times, or not at all." in shown["send_message"].description
    assert "you may call it several times, or not at all" in ada.shown[0].system


SMUGGLED = ["agentId", "agent_id", "authorId", "userId", "personaId", "runId", "agent"]


@pytest.mark.proves("S0-05", "S0-31", "S1-04")
async def test_no_tool_argument_changes_the_acting_agent(office: Driver) -> None:
    calls = [
        call(tool, **args, **{name: "bo"})
        for name in SMUGGLED
        for tool, args in (
            ("update_memory", {"label": "mood", "content": "stolen"}),
            ("store_memory", {"content": "stolen"}),
            ("send_message", {"text": "stolen"}),
        )
    ]
    await office.agent("ada", steps=[step(*calls)], tools=["messaging", "memory"])
    await office.agent("bo", blocks={"mood": "calm"})
    await office.space("general", ["ada", "bo"])
    await office.post("general", "@ada hello")
    run = await office.run_finished("ada")
    results = await office.results(run["id"])
    assert len(results) == len(calls)
    for smuggling, result in zip(calls, results, strict=True):
        assert "Extra inputs are not permitted" in result["error"], smuggling
    assert await office.texts("general") == ["@ada hello"]
    assert (await office.get("/agents/bo/blocks/mood"))["content"] == "calm"
    assert await office.items("/agents/bo/passages") == []
    assert await office.items("/agents/ada/blocks") == []


@pytest.mark.proves("S0-06")
async def test_two_toolkits_reach_only_the_rows_of_their_own_agent(office: Driver) -> None:
    for id in ("ada", "bo"):
        await office.agent(id, tools=["memory"])
    ada, bo = await toolkit_of(office, "ada"), await toolkit_of(office, "bo")
    await ada.dispatch(asks("store_memory", content="the key is under the mat"), None)
    await ada.dispatch(asks("update_memory", label="mood", content="glad"), None)
    await bo.dispatch(asks("update_memory", label="mood", content="grim"), None)
    assert over(await bo.dispatch(asks("search_memory", query="key"), None)).value == {"passages": []}
    found = over(await ada.dispatch(asks("search_memory", query="key"), None)).value["passages"]
    assert [passage["content"] for passage in found] == ["the key is under the mat"]
    assert (await office.get("/agents/ada/blocks/mood"))["content"] == "glad"
    assert (await office.get("/agents/bo/blocks/mood"))["content"] == "grim"


@pytest.mark.proves("S1-04", "S1-07")
async def test_tools_are_bound_per_run_and_may_change_between_runs(office: Driver) -> None:
    """Seed 001's createMessageTool(config): stream, author and the way to post are bound when the run begins."""
    ada = await puppet(office, "ada", steps=[say("here")], tools=["send_message"])
    for space in ("red", "blue"):
        await office.space(space, ["ada"], wake={"people": "all"})
    await office.post("red", "hello")
    first = await office.run_finished("ada")
    await office.ask("PATCH", "/agents/ada", json={"tools": ["send_message", "memory"]})
    await office.post("blue", "hello")
    second = await office.run_finished("ada", nth=2)
    assert [spec.name for spec in ada.tools[0]] == ["send_message"]
    assert [spec.name for spec in ada.tools[-1]] == ["send_message", *MEMORY]
    for run, space in ((first, "red"), (second, "blue")):
        (sent,) = [message for message in await office.messages(space) if message["authorKind"] == "agent"]
        assert (sent["authorId"], sent["runId"], sent["text"]) == ("ada", run["id"], "here")


WRONG: list[tuple[Json, str]] = [
    (call("send_message"), "text: Field required"),
    (call("send_message", text=5), "text: Input should be a valid string"),
    (call("send_message", text=None), "text: Input should be a valid string"),
    (call("send_message", text="x", spaceId=5), "spaceId: Input should be a valid string"),
    (call("send_message", text="x", content="y"), "content says the same as text, with another value"),
    (call("send_message", text=""), "text must have 1 to 32768 characters"),
    (call("send_message", text="x" * 32_769), "text must have 1 to 32768 characters"),
    (call("react_to_message", messageId="m"), "emoji: Field required"),
    (call("do_nothing", why="because"), "why: Extra inputs are not permitted"),
    (call("update_memory", label=1, content="x"), "label: Input should be a valid string"),
    (call("update_memory", label="", content="x"), "label: String should have at least 1 character"),
    (call("search_memory", query=["x"]), "query: Input should be a valid string"),
    (call("store_memory", content="x", tags="x"), "tags: Input should be a valid list"),
    (call("store_memory", content="x", tags=[1]), "tags.0: Input should be a valid string"),
    (call("read_messages", limit="5"), "limit: Input should be a valid integer"),
    (call("read_messages", limit=101), "limit: Input should be less than or equal to 100"),
    (call("read_messages", offset=-1), "offset: Input should be greater than or equal to 0"),
    (raw("send_message", '["text"]'), "must be a JSON object"),
    (raw("send_message", '"text"'), "must be a JSON object"),
]


@pytest.mark.proves("S0-10", "S0-45", "S3-38")
async def test_arguments_violating_the_schema_return_errors_saying_why(office: Driver) -> None:
    steps = [step(*(wrong for wrong, _ in WRONG))]
    ada = await puppet(office, "ada", steps=steps, tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    results = await office.results(run["id"])
    assert len(results) == len(WRONG)
    for (wrong, why), result in zip(WRONG, results, strict=True):
        assert why in result["error"], wrong
    assert await office.texts("general") == ["hello"]
    # The model was shown the very bounds that it was held to.
    schemas = {spec.name: spec.input_schema["properties"] for spec in ada.tools[0]}
    assert schemas["read_messages"]["limit"]["maximum"] == 100
    assert schemas["read_messages"]["offset"]["minimum"] == 0
    assert schemas["update_memory"]["label"]["minLength"] == 1


async def test_both_spellings_and_the_founding_documents_names_are_understood(office: Driver) -> None:
    steps = [
        step(
            call("send_message", content="one", channelId="general"),
            call("send_message", text="two", space_id="general"),
            call("send_message", text="three", channel_id="general"),
            call("react_to_message", message_id="{{trigger.messageId}}", emoji="👍"),
        )
    ]
    await office.agent("ada", steps=steps)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    messages = await office.messages("general")
    assert [message["text"] for message in messages] == ["hello", "one", "two", "three"]
    assert messages[0]["reactions"] == [{"emoji": "👍", "memberIds": ["ada"]}]


@pytest.mark.proves("S0-48")
async def test_the_model_reads_a_result_as_one_json_text(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[step(call("do_nothing"), call("fly"))])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    turns = [turn for turn in ada.shown[1].turns if isinstance(turn, ToolTurn)]
    assert [turn.content for turn in turns] == [
        [{"type": "text", "text": '{"action":"none"}'}],
        [{"type": "text", "text": '{"error":"There is no tool named \'fly\' among yours."}'}],
    ]
    assert [turn.is_error for turn in turns] == [False, True]
    result = await (await toolkit_of(office, "ada")).dispatch(asks("do_nothing"), None)
    assert content(over(result)) == {"content": [{"type": "text", "text": '{"action":"none"}'}]}
