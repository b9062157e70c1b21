"""Whatever a transcript holds, what goes out is what providers take: paired, in order, alternating, nothing empty.

Judged three ways: by the strict checks of our own server, by the official SDKs' types, and by sending the same
conversation with the SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from bullpen.llm import claude
from bullpen.llm.elsewhere import DIALECTS
from bullpen.llm.types import (
    AssistantTurn,
    Attachment,
    CallWish,
    Reply,
    Thinking,
    ToolSpec,
    ToolTurn,
    Turn,
    UserTurn,
)
from bullpen.testing.model_server import ModelServer, plays, says
from bullpen.testing.wire_checks import problems
from bullpen.testing.wires import Part, Text, Thought, Wanted, Wire
from tests.llm.speaking import PROVIDERS, SDKS, SEND, WIRES, World, request, shown


@cache
def official_types() -> dict[Wire, TypeAdapter[Any]]:
    """The SDKs' types of a request. Importing the SDKs takes seconds, so a test does that, not the collection."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return {
        "messages": TypeAdapter(MessageCreateParamsStreaming),
        "responses": TypeAdapter(ResponseCreateParamsStreaming),
        "chat": TypeAdapter(CompletionCreateParamsStreaming),
    }


def result(id: str, text: str = "done", *, is_error: bool = False) -> ToolTurn:
    return ToolTurn(id, "send_message", [{"type": "text", "text": text}], is_error)


def wish(id: str, arguments: str = '{"text": "x"}', name: str = "send_message") -> CallWish:
    return CallWish(id, name, arguments)


NO_ARGUMENTS = ["", "[]", "null", '{"half', "{} {}", "\ud800"]
PICTURE, PAPER, FILM = (Attachment("a", kind, "aGk=") for kind in ("image/png", "application/pdf", "video/mp4"))
OTHERS = Thinking("anthropic", "other", {"type": "thinking", "thinking": "x", "signature": "?"})
HARD: dict[str, list[Turn]] = {
    "nothing at all": [],
    "nothing but spaces": [UserTurn(" \n"), AssistantTurn("  "), UserTurn("")],
    "two people in a row": [UserTurn("one"), UserTurn("two"), UserTurn("three")],
    "begins with an answer": [AssistantTurn("I was saying …"), UserTurn("go on")],
    "ends with an answer": [UserTurn("hello"), AssistantTurn("hello yourself")],
    "two answers in a row": [UserTurn("hello"), AssistantTurn("one"), AssistantTurn("two", [wish("a")]), result("a")],
    "a call without a result": [UserTurn("hello"), AssistantTurn("", [wish("a"), wish("b")]), result("a")],
    "a result without a call": [UserTurn("hello"), result("z"), AssistantTurn("", [wish("a")]), result("a")],
    "results in another order": [
        UserTurn("hello"),
        AssistantTurn("", [wish("a"), wish("b"), wish("c")]),
        result("c", "3"),
        result("a", "1"),
        result("b", "2"),
    ],
    "a message between a call and its result": [
        UserTurn("hello"),
        AssistantTurn("", [wish("a"), wish("b")]),
        result("a"),
        UserTurn("hurry up"),
        result("b"),
    ],
    "an id used again": [
        UserTurn("hello"),
        AssistantTurn("", [wish("a"), wish("a")]),
        result("a", "first"),
        result("a", "second"),
        AssistantTurn("", [wish("a")]),
        result("a", "third"),
    ],
    "odd ids and names": [
        UserTurn("hello"),
        AssistantTurn("", [wish("", name=""), wish("call|1/2", name="send message"), wish("x" * 90, name="y" * 5000)]),
        result(""),
        result("call|1/2"),
        result("x" * 90),
    ],
    "arguments that are none": [
        UserTurn("hello"),
        AssistantTurn(
            "", [wish(f"c{n}", text) for n, text in enumerate(["", "[]", "null", '{"half', "{} {}", "\ud800"])]
        ),
        *[result(f"c{n}", "no", is_error=True) for n in range(6)],
    ],
    "an empty result": [UserTurn("hello"), AssistantTurn("", [wish("a")]), result("a", ""), UserTurn("and?")],
    "half a character": [UserTurn("half \ud83d here"), AssistantTurn("\udc00", [wish("a")]), result("a", "\ud83d")],
    "pictures and papers": [
        UserTurn(
            "look",
            attachments=[Attachment("cat.png", "image/png", "aGk="), Attachment("a.pdf", "application/pdf", "aGk=")],
        ),
        UserTurn("", attachments=[Attachment("film.mp4", "video/mp4", "aGk=")]),
    ],
    "results with pictures": [
        UserTurn("hello"),
        AssistantTurn("", [wish("a"), wish("b"), wish("c")]),
        replace(result("a"), attachments=[PICTURE, PAPER]),
        result("b"),
        replace(result("c", ""), attachments=[PICTURE, FILM]),
        UserTurn("and this?", attachments=[PICTURE]),
        AssistantTurn("", [wish("d")]),
        replace(result("d"), attachments=[PICTURE]),
        AssistantTurn("", [wish("e")]),
        replace(result("e"), attachments=[PICTURE]),
    ],
    "thoughts of another model": [
        UserTurn("hello"),
        AssistantTurn(
            "", [wish("a")], [Thinking("anthropic", "other", {"type": "thinking", "thinking": "x", "signature": "?"})]
        ),
        result("a"),
    ],
}
EVERYTHING = {"thinking": 2048, "effort": "low", "maxTokens": 900, "temperature": 0.5, "images": True}
TOOLS = [
    SEND,
    ToolSpec("mcp__files__" + "long_" * 20, "d" * 5000, {}),
    ToolSpec("with alternatives", "", {"anyOf": [{"type": "object"}], "$defs": {"x": {"type": "string"}}}),
]


def _made(value: Any) -> Any:
    """Pydantic validates what it calls an iterable only when somebody iterates."""
    if isinstance(value, dict):
        return {name: _made(inner) for name, inner in value.items()}
    return [_made(inner) for inner in value] if isinstance(value, list) or hasattr(value, "__next__") else value


def is_taken(wire: Wire, body: dict[str, Any], seals: dict[str, str] | None = None) -> None:
    assert problems(wire, body, seals or {}) == []
    assert _made(official_types()[wire].validate_python(body)) == body


@pytest.mark.proves("B-wire", "S2-04")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("turns", HARD.values(), ids=list(HARD))
@pytest.mark.parametrize(
    "more", [{}, {"thinking": 2048, "effort": "low", "maxTokens": 900, "images": True}], ids=["", "full"]
)
def test_every_hard_history_becomes_a_valid_provider_request(
    wire: Wire, turns: list[Turn], more: dict[str, Any]
) -> None:
    is_taken(wire, request(wire, shown(*turns), TOOLS, **more))


# ── any history at all ──────────────────────────────────────────────────────────────────────────────────────────────

words = st.text(max_size=12)
ids = st.sampled_from(["a", "b", "c", "", "odd id", "x" * 70])
turns = st.lists(
    st.builds(UserTurn, words, stable=st.booleans())
    | st.builds(AssistantTurn, words, st.lists(st.builds(CallWish, ids, words, words), max_size=3))
    | st.builds(ToolTurn, ids, words, words.map(lambda text: [{"type": "text", "text": text}]), st.booleans()),
    max_size=12,
)


@pytest.mark.parametrize("wire", WIRES)
@given(history=turns)
def test_any_generated_history_becomes_a_valid_provider_request(wire: Wire, history: list[Turn]) -> None:
    assert problems(wire, request(wire, shown(*history)), {}) == []


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def results_of(wire: Wire, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Which result each call got, in order."""
    match wire:
        case "messages":
            for message in body["messages"]:
                for block in message["content"]:
                    if block["type"] == "tool_result":
                        yield block["tool_use_id"], block["content"][0]["text"]
        case "responses":
            for item in body["input"]:
                if item.get("type") == "function_call_output":
                    yield item["call_id"], item["output"]
        case "chat":
            for message in body["messages"]:
                if message["role"] == "tool":
                    yield message["tool_call_id"], message["content"]


@pytest.mark.parametrize("wire", WIRES)
def test_results_go_to_their_calls(wire: Wire) -> None:
    body = request(wire, shown(*HARD["results in another order"]))
    assert list(results_of(wire, body)) == [("a", "1"), ("b", "2"), ("c", "3")]
    body = request(wire, shown(*HARD["a call without a result"]))
    assert list(results_of(wire, body)) == [("a", "done"), ("b", "There is no result of this call.")]
    again = [text for _, text in results_of(wire, request(wire, shown(*HARD["an id used again"])))]
    assert again == ["first", "second", "third"]


# ── the same bytes ──────────────────────────────────────────────────────────────────────────────────────────────────

LONG: list[Turn] = [UserTurn("what there was before", stable=True), UserTurn("hello")]
for _n in range(20):
    LONG += [AssistantTurn(f"step {_n}", [wish(f"c{_n}")]), result(f"c{_n}")]


def unmarked(body: dict[str, Any]) -> dict[str, Any]:
    """Without the marks for the cache."""
    plain: dict[str, Any] = orjson.loads(orjson.dumps(body).replace(b',"cache_control":{"type":"ephemeral"}', b""))
    return plain


def said_in(wire: Wire, body: dict[str, Any]) -> tuple[bytes, list[bytes]]:
    """What comes before the conversation, and the conversation, as bytes."""
    plain = unmarked(body)
    conversation = plain.pop("input" if wire == "responses" else "messages")
    return orjson.dumps(plain), [orjson.dumps(each) for each in conversation]


@pytest.mark.parametrize("wire", WIRES)
def test_a_longer_conversation_starts_with_the_shorter_ones_exact_bytes(wire: Wire) -> None:
    head, whole = said_in(wire, request(wire, shown(*LONG)))
    for steps in range(1, 20):
        head_then, then = said_in(wire, request(wire, shown(*LONG[: 2 + 2 * steps])))
        assert head_then == head
        assert whole[: len(then)] == then


def test_what_stays_the_same_is_marked_for_the_cache() -> None:
    body = request("messages", shown(*LONG))
    assert "cache_control" in body["system"][-1]
    marked = [
        (number, block.get("text") or block.get("tool_use_id"))
        for number, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    # The stable part, the result that the step before has written to the cache, and the newest.
    assert marked == [(0, "what there was before"), (38, "c18"), (40, "c19")]


# ── thinking ────────────────────────────────────────────────────────────────────────────────────────────────────────

THOUGHTS: list[Part] = [
    Thought("First.", "seal1"),
    Text("One."),
    Thought("Second.", "seal2"),
    Wanted("c1", "send_message", '{"text":"x"}'),
]


def taken_up(reply: Reply) -> AssistantTurn:
    return AssistantTurn(reply.text, reply.calls, reply.thinking)


@pytest.mark.parametrize("wire", ["messages", "responses"])
async def test_thoughts_go_back_where_they_stood_unchanged(wire: Wire, world: World, server: ModelServer) -> None:
    server.knows(*[part for part in THOUGHTS if isinstance(part, Thought)])
    server.gives(plays(*THOUGHTS))
    reply = await world.ask(server, wire, thinking=2048)
    history = shown(UserTurn("hello"), taken_up(reply), result("c1"))
    await world.ask(server, wire, history, thinking=2048)
    assert server.problems == []
    sent = server.asked[1].json
    if wire == "messages":
        kinds = [block["type"] for block in sent["messages"][1]["content"]]
        assert kinds == ["thinking", "text", "thinking", "tool_use"]
        assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    else:
        kinds = [item.get("type", item.get("role")) for item in sent["input"]]
        assert kinds == ["user", "reasoning", "assistant", "reasoning", "function_call", "function_call_output"]
        assert sent["include"] == ["reasoning.encrypted_content"]
    # Another model of the same provider cannot read them, and is not shown them.
    await world.ask(server, wire, history, thinking=2048, name="another")
    assert server.problems == []
    assert b"seal1" not in server.asked[2].body
    if wire == "messages":  # calls are under way that began without a thought of this model
        assert "thinking" not in server.asked[2].json


CLAUDES = [
    "claude-3-5-haiku-20241022",
    "claude-sonnet-4-20250514",
    "claude-opus-4-1",
    "claude-haiku-4-5",
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5",
    "claude-fable-5-1",
    "claude-mythos-5",
    "claude-mythos-preview",
]


@pytest.mark.proves("B-wire")
@pytest.mark.parametrize("name", CLAUDES)
def test_each_claude_family_gets_the_thinking_options_it_accepts(name: str) -> None:
    """What each takes is what another library has found out."""
    from pydantic_ai.profiles.anthropic import anthropic_model_profile

    known: Any = anthropic_model_profile(name)
    asked = {wanted: request("messages", shown(), name=name, thinking=wanted) for wanted in (None, True, 2048, False)}
    said = {wanted: body.get("thinking", {}).get("type") for wanted, body in asked.items()}
    assert said[None] is None
    assert said[True] == ("adaptive" if known["anthropic_supports_adaptive_thinking"] else "enabled")
    assert said[2048] in ("adaptive", "enabled")
    assert not (said[2048] == "enabled" and known["anthropic_disallows_budget_thinking"])
    quiet = "between_tools" if known["anthropic_disables_thinking_with_between_tools"] else "disabled"
    can_be_off = known["thinking_enabled_by_default"] and not known["thinking_always_enabled"]
    assert said[False] == (quiet if can_be_off else None)
    warm = request("messages", shown(), name=name, temperature=0.5)
    assert not ("temperature" in warm and known["anthropic_disallows_sampling_settings"])
    for body in asked.values():
        is_taken("messages", body)
        assert body["max_tokens"] <= (known["anthropic_max_output_tokens"] or 128_000)
    assert claude.thinks_unasked(name) == known["thinking_enabled_by_default"]
    assert claude.binds(name) == known["anthropic_binds_thinking_blocks"]


@pytest.mark.proves("B-wire")
@pytest.mark.parametrize("name", ["claude-sonnet-5", "claude-sonnet-5-5"])
async def test_unrequested_thinking_is_sent_back_to_the_model(name: str, world: World, server: ModelServer) -> None:
    server.gives(plays(*THOUGHTS))
    reply = await world.ask(server, "messages", name=name)
    history = shown(UserTurn("hello"), taken_up(reply), result("c1"))
    await world.ask(server, "messages", history, name=name)
    assert server.problems == []
    assert server.asked[1].body.count(b"seal") == 2


async def test_sealed_thinking_is_returned_only_after_its_original_context(world: World, server: ModelServer) -> None:
    server.gives(plays(*THOUGHTS))
    first = taken_up(await world.ask(server, "messages", name="claude-sonnet-5-5"))
    again: list[Part] = [Thought("Third.", "seal3"), Wanted("c2", "send_message", '{"text":"y"}')]
    server.gives(plays(*again))
    turns: list[Turn] = [UserTurn("hello"), first, result("c1")]
    second = taken_up(await world.ask(server, "messages", shown(*turns), name="claude-sonnet-5-5"))
    server.gives(plays(Text("done")))
    longer: list[Turn] = [*turns, second, result("c2")]
    cut: list[Turn] = [UserTurn("hello"), first, result("c1", "left out"), second, result("c2")]
    for history, seals in [
        (shown(*longer), 3),
        (shown(*longer, UserTurn("more")), 3),
        (shown(*cut), 2),  # what stands before the first of them is the same
        (shown(*longer, system="You are Bo."), 0),
    ]:
        await world.ask(server, "messages", history, name="claude-sonnet-5-5")
        assert server.problems == []
        assert server.asked[-1].body.count(b'"seal') == seals


async def test_the_sdk_sends_the_same_conversation(world: World, server: ModelServer) -> None:
    """An answer goes back as the SDK sends it back, its thoughts included."""
    import anthropic

    server.knows(*[part for part in THOUGHTS if isinstance(part, Thought)])
    server.gives(plays(*THOUGHTS))
    reply = await world.ask(server, "messages", thinking=2048)
    await world.ask(server, "messages", shown(UserTurn("hello"), taken_up(reply), result("c1")), thinking=2048)
    mine = server.asked[1].json
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key=server.key, max_retries=0) as client:
        first = {**server.asked[0].json}
        del first["stream"]
        async with client.messages.stream(**first) as stream:
            message = await stream.get_final_message()
        returned = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "done"}]}
        content: Any = message.content
        spoken: Any = [
            *first["messages"],
            {"role": "assistant", "content": content},
            {"role": "user", "content": [returned]},
        ]
        async with client.messages.stream(**{**first, "messages": spoken}) as stream:
            await stream.get_final_message()
    theirs = server.asked[3].json
    assert unmarked(mine) == unmarked(_without_nulls(theirs))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("wire", WIRES)
async def test_the_sdk_is_answered_when_it_sends_what_we_send(wire: Wire, server: ModelServer) -> None:
    server.gives(plays(Text("fine")))
    for turns in HARD.values():
        body = request(wire, shown(*turns), TOOLS)
        assert (await SDKS[wire](server, body)).text == "fine"
        assert server.asked[-1].json == body
    assert server.problems == []


async def test_commentary_text_is_sent_back_with_its_phase(world: World, server: ModelServer) -> None:
    server.gives(
        plays(
            Thought("Hm.", "seal1"),
            Text("I look.", phase="commentary"),
            Text("It is so.", phase="final_answer"),
            Wanted("c1", "send_message", '{"text":"x"}'),
        )
    )
    reply = await world.ask(server, "responses")
    body = request("responses", shown(UserTurn("hello"), taken_up(reply), result("c1")))
    is_taken("responses", body, server.seals)
    assert [item for item in body["input"] if item.get("role") == "assistant"] == [
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"role": "assistant", "content": "It is so.", "phase": "final_answer"},
    ]


async def test_a_reseller_gets_reasoning_back_and_its_reported_cost_counts(world: World, server: ModelServer) -> None:
    def chunk(**delta: Any) -> bytes:
        return b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": delta}]}) + b"\n\n"

    def detail(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "reasoning.text", "index": 0, "format": "x-v1", "text": text, **more}

    call = {"index": 0, "id": "c1", "function": {"name": "send_message", "arguments": "{}"}}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.0125}
    server.gives(
        says(
            chunk(reasoning="H", reasoning_details=[detail("H")]),
            chunk(reasoning="m.", reasoning_details=[detail("m.", signature=None)]),
            chunk(reasoning_details=[detail("", signature="sealed")]),
            chunk(tool_calls=[call]),
            b"data: " + orjson.dumps({**end, "usage": usage}) + b"\n\n",
            b"data: [DONE]\n\n",
        )
    )
    reply = await world.ask(server, "chat", name="anthropic/claude-sonnet-4.5")
    assert reply.usage.cost == 0.0125
    body = request("chat", shown(UserTurn("hi"), taken_up(reply), result("c1")), name="anthropic/claude-sonnet-4.5")
    assert body["messages"][2]["reasoning_details"] == [detail("Hm.", signature="sealed")]


async def test_server_reasoning_is_returned_only_when_the_agent_enables_it(world: World, server: ModelServer) -> None:
    server.gives(plays(Thought("Hm.", ""), Wanted("c1", "send_message", '{"text":"x"}')))
    reply = await world.ask(server, "chat")
    history = shown(UserTurn("hello"), taken_up(reply), result("c1"))
    await world.ask(server, "chat", history)
    await world.ask(server, "chat", history, thinking=True)
    assert "reasoning_content" not in server.asked[1].json["messages"][2]
    assert server.asked[2].json["messages"][2]["reasoning_content"] == "Hm."


def test_every_provider_has_a_wire() -> None:
    assert set(DIALECTS) == set(PROVIDERS.values())
