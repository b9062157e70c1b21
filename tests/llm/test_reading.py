"""The same streamed bytes, read by the official SDKs and by us, come to the same; however they are cut."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bullpen.llm import conversation
from bullpen.llm.failures import About
from bullpen.llm.openai_chat import ChatAnswer
from bullpen.llm.streaming import Events
from bullpen.llm.types import CallDelta, TextDelta, ToolSpec
from bullpen.testing.model_server import ModelServer, cut, model_server, plays, says
from bullpen.testing.wires import Answer, Part, Text, Thought, Wanted, Wire, frames
from tests import effort
from tests.llm import speaking
from tests.llm.speaking import SDKS, WIRES, World, ours, request, shown, spec

ANSWERS: dict[str, list[Part]] = {
    "a text": [Text("It rained in Łódź, 東京 and 🏙️.")],
    "a call": [Wanted("call_1", "send_message", '{"text": "hello, \\"world\\" 🌍"}')],
    "a call without arguments": [Wanted("call_1", "do_nothing")],
    "text and calls": [
        Text("Two."),
        Wanted("a1", "one", '{"n": 1}'),
        Wanted("a2", "two", '{"deep": [{"x": {}}]}'),
    ],
    "thinking first": [Thought("Let me see.", "seal1"), Text("So."), Wanted("call_1", "send_message", '{"text": "x"}')],
    "thinking in between": [
        Thought("First.", "seal1"),
        Text("One."),
        Thought("Second.", "seal2"),
        Wanted("call_1", "send_message", '{"text": "x"}'),
    ],
    "nothing": [],
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("parts", ANSWERS.values(), ids=list(ANSWERS))
async def test_the_sdk_and_we_read_the_same(wire: Wire, parts: list[Part], world: World, server: ModelServer) -> None:
    server.gives(plays(*parts, cuts=7))
    body = request(wire, shown())
    theirs = await SDKS[wire](server, body)
    reply = await world.ask(server, wire)
    assert _comparable(wire, ours(reply)) == _comparable(wire, theirs)
    # The SDK was given what we would send; both sent the very same.
    assert server.asked[0].json == server.asked[1].json == body
    assert server.problems == []
    assert reply.stop == "end"


def _comparable(wire: Wire, read: speaking.Read) -> Any:
    # One object for all thinking of an answer: it has no place among the rest.
    return read if wire != "chat" else (read.text, read.calls, [block for block, *_ in read.thoughts], read.tokens)


async def test_thinking_that_cannot_be_read_is_kept(world: World, server: ModelServer) -> None:
    server.gives(plays(Thought("", "sealed"), Text("So.")))
    reply = await world.ask(server, "messages")
    theirs = await SDKS["messages"](server, request("messages", shown()))
    assert ours(reply) == theirs
    assert [dict(thought.block) for thought in reply.thinking] == [{"type": "redacted_thinking", "data": "sealed"}]


# ── any answer, any cuts ────────────────────────────────────────────────────────────────────────────────────────────

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(words, values, max_size=3).map(lambda value: orjson.dumps(value).decode())
names = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
texts = st.builds(Text, words.filter(bool))
wishes = st.builds(Wanted, names, names, arguments)
thoughts = st.builds(Thought, words.filter(bool), names)


@st.composite
def answers(draw: st.DrawFn) -> list[Part]:
    """As models write them: thoughts and texts, then calls with ids of their own."""
    said = draw(st.lists(texts | thoughts, max_size=3))
    wanted = draw(st.lists(wishes, max_size=3, unique_by=lambda wish: wish.id))
    return [*said, *wanted]


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=effort.count(200, sample=12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=answers(), seed=st.integers(0, 2**32), piece=st.sampled_from([1, 3, 8, 1000]))
def test_any_answer_however_split_is_read_as_the_sdk_does(
    wire: Wire, parts: list[Part], seed: int, piece: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def body() -> None:
        made = speaking.world(tmp_path_factory.getbasetemp())
        async with made.egress, model_server(plays(*parts, cuts=seed, piece=piece)) as server:
            theirs = await SDKS[wire](server, request(wire, shown()))
            assert _comparable(wire, ours(await made.ask(server, wire))) == _comparable(wire, theirs)

    asyncio.run(body())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_events_are_the_same_wherever_the_bytes_are_cut(wire: Wire, end: bytes) -> None:
    parts = [part for answer in ANSWERS.values() for part in answer]
    whole = b": a comment\n\n" + b"".join(frames(wire, Answer(parts)))
    expected = Events().feed(whole)
    assert len(expected) > 30
    for seed in range(effort.count(200, sample=30)):
        events = Events()
        found = [event for piece in cut(whole.replace(b"\n", end), seed) for event in events.feed(piece)]
        assert found == expected, seed
        assert events.waiting == 0


def test_data_over_several_lines_is_one_event() -> None:
    events = Events()
    assert events.feed(b'event: x\ndata: {"a":\ndata:1}\nid: 7\n') == []
    assert events.waiting > 0
    assert events.feed(b"\n") == [b'{"a":\n1}']
    assert events.waiting == 0


# ── growing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wire", WIRES)
async def test_text_and_arguments_are_shown_as_they_grow(wire: Wire, world: World, server: ModelServer) -> None:
    written = '{"text": "one two three four five"}'
    server.gives(plays(Text("Thinking aloud."), Wanted("c1", "send_message", written)))
    await world.ask(server, wire)
    said = [text for kind, text in world.seen if kind is TextDelta]
    wanted = [text for kind, text in world.seen if kind is CallDelta]
    assert (said[-1], wanted[-1]) == ("Thinking aloud.", written)
    assert said == sorted(said, key=len)
    assert len(wanted) >= 4
    assert all(written.startswith(each) for each in wanted)


# ── servers that are a little different ─────────────────────────────────────────────────────────────────────────────


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}) + b"\n\n"


def call(**fields: Any) -> bytes:
    return chunk({"tool_calls": [fields]})


ODD = {
    "no numbers": [
        call(id="a", function={"name": "one", "arguments": "{}"}),
        call(id="b", function={"name": "two", "arguments": '{"n":2}'}),
        chunk({}, "tool_calls"),
    ],
    "one number for all": [
        call(index=0, id="a", function={"name": "one", "arguments": "{}"}),
        call(index=0, id="b", function={"name": "two", "arguments": '{"n":2}'}),
        chunk({}, "stop"),
    ],
    "the name again and again": [
        call(index=0, id="a", function={"name": "one", "arguments": "{"}),
        call(index=0, id="a", function={"name": "one", "arguments": "}"}),
        call(index=1, id="b", function={"name": "two", "arguments": '{"n"'}),
        call(index=1, id="b", function={"name": "two", "arguments": ":2}"}),
        chunk({}, "tool_calls"),
        b"data: [DONE]\n\n",
    ],
    "arguments as an object": [
        call(index=0, id="a", function={"name": "one", "arguments": ""}),
        call(index=1, id="b", function={"name": "two", "arguments": {"n": 2}}),
        chunk({"content": None}, "tool_calls"),
    ],
}


@pytest.mark.parametrize("stream", ODD.values(), ids=list(ODD))
async def test_servers_that_are_a_little_different_are_understood(
    stream: list[bytes], world: World, server: ModelServer
) -> None:
    server.gives(says(*stream))
    reply = await world.ask(server, "chat")
    assert ours(reply).calls == [("a", "one", {}), ("b", "two", {"n": 2})]
    # It did not count, so we did: a budget that nobody counts is none.
    assert reply.usage.input_tokens > 10
    assert reply.usage.output_tokens > 0


def test_a_tool_name_altered_for_the_provider_is_restored() -> None:
    long = ToolSpec("mcp__a server__" + "x" * 80, "…", {})
    sent = conversation.name_for(long.name)
    assert len(sent) <= 64
    assert conversation.name_for(long.name) == sent
    answer = ChatAnswer(spec("chat"), About("m", "s"), conversation.names_of([long]))
    answer.feed({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": sent}}]}}]})
    answer.feed({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    answer.end()
    assert [each.name for each in answer.reply().calls] == [long.name]
