"""Everything that goes wrong with a provider comes to one of our errors, with a sentence, and nothing of it is done."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from typing import Any

import orjson
import pytest

from bullpen.errors import ContextTooLong, ModelDeclined, ModelError, ModelRefused, ModelUnavailable
from bullpen.llm import streaming
from bullpen.llm.failures import retry_after
from bullpen.testing.model_server import (
    KEY,
    Behaviour,
    ModelServer,
    breaks_off,
    fails,
    hangs_up,
    plays,
    says,
    stalls,
)
from bullpen.testing.wires import Answer, Text, Wanted, Wire, frames
from tests.llm.speaking import KEY_NAME, SEND, WIRES, World, shown
from tests.waits import BOUND

CALL = Wanted("c1", "send_message", '{"text": "launch the rocket"}')


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


STATUSES: dict[str, tuple[Behaviour, type[ModelError], str]] = {
    "too many requests": (fails(429, error("slow down"), Retry_After="7"), ModelUnavailable, "slow down"),
    "broken": (fails(500), ModelUnavailable, "500"),
    "a gateway's page": (fails(502, b"<html>Bad Gateway</html>", Content_Type="text/html"), ModelUnavailable, "502"),
    "away": (fails(503, b""), ModelUnavailable, "overloaded"),
    "took too long": (fails(504, error("upstream")), ModelUnavailable, "too long"),
    "overloaded": (fails(529, error("Overloaded", type="overloaded_error")), ModelUnavailable, "529"),
    "wrong key": (fails(401, error(f"Incorrect API key provided: {KEY}")), ModelRefused, KEY_NAME),
    "forbidden": (fails(403, error("no")), ModelRefused, f"the variable {KEY_NAME} of settings"),
    "unknown model": (fails(404, error("model: a-model", type="not_found_error")), ModelRefused, "name"),
    "too long": (
        fails(400, error("prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error")),
        ContextTooLong,
        "more than it can take",
    ),
    "too long, by code": (fails(400, error("x", code="context_length_exceeded")), ContextTooLong, "more than"),
    "too large": (fails(413, error("x", type="request_too_large")), ContextTooLong, "more than"),
    "no credit": (fails(429, error("You exceeded your quota", code="insufficient_quota")), ModelRefused, "no credit"),
    "too fast for an account that pays little": (
        fails(429, error("Rate limit reached. Add a payment method: /account/billing", code="rate_limit_exceeded")),
        ModelUnavailable,
        "Rate limit reached",
    ),
    "too fast for a plan": (
        fails(429, error("Check your plan and billing details. Please retry in 26s.", status="RESOURCE_EXHAUSTED")),
        ModelUnavailable,
        "retry in 26s",
    ),
    "low balance": (fails(400, error("Your credit balance is too low")), ModelRefused, "no credit"),
    "something else": (fails(400, error("tools.0: no such thing")), ModelRefused, "tools.0: no such thing"),
    "says the key back": (fails(400, error(f"no such thing: {KEY}")), ModelRefused, "no such thing"),
    "filtered": (fails(400, error("bad words", code="content_filter")), ModelDeclined, "declined"),
    "another shape of error": (fails(422, {"detail": "no model"}), ModelRefused, "no model"),
    "a plain text": (fails(418, b"I am a teapot"), ModelRefused, "I am a teapot"),
    "a page instead": (fails(200, b"<html>Sign in</html>", Content_Type="text/html"), ModelRefused, "base URL"),
    "JSON instead": (fails(200, {"choices": []}), ModelRefused, "does not stream"),
    "an error that looks well": (fails(200, error("try later", code=429)), ModelUnavailable, "try later"),
    "hangs up": (hangs_up(), ModelUnavailable, "closed the connection"),
    "ends too early": (breaks_off(CALL, before=3), ModelUnavailable, "nothing of it was done"),
    "hangs up in the middle": (breaks_off(CALL, before=3, cleanly=False), ModelUnavailable, "too early"),
    "no events at all": (says(b": nothing\n\n"), ModelUnavailable, "too early"),
    "not JSON": (says(b"data: {half\n\n"), ModelUnavailable, "makes no sense"),
    "not an object": (says(b"data: 7\n\n"), ModelUnavailable, "makes no sense"),
    "refuses": (plays(Text("I cannot."), stop="refused"), ModelDeclined, "declined to answer"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("row", STATUSES.values(), ids=list(STATUSES))
async def test_each_failure_has_its_error_and_its_sentence(
    wire: Wire, row: tuple[Behaviour, type[ModelError], str], world: World, server: ModelServer
) -> None:
    behaviour, kind, words = row
    server.gives(behaviour)
    with pytest.raises(ModelError) as caught:
        await world.ask(server, wire)
    assert type(caught.value) is kind, caught.value.message
    assert words in caught.value.message
    assert "a-model" in caught.value.message
    assert KEY not in f"{caught.value.message} {caught.value!r} {caught.value.__cause__!r}"


def failed(code: str) -> bytes:
    return orjson.dumps({"type": "response.failed", "response": {"error": {"code": code, "message": "x"}}})


def broke_off(type: str, message: str) -> bytes:
    return orjson.dumps({"type": "error", "error": {"type": type, "message": message}})


IN_STREAM: list[tuple[Wire, bytes, type[ModelError]]] = [
    ("messages", broke_off("overloaded_error", "Overloaded"), ModelUnavailable),
    ("messages", broke_off("invalid_request_error", "prompt is too long"), ContextTooLong),
    ("messages", broke_off("authentication_error", "no"), ModelRefused),
    ("responses", b'{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}', ModelUnavailable),
    ("responses", failed("server_error"), ModelUnavailable),
    ("responses", failed("invalid_prompt"), ModelRefused),
    (
        "responses",
        b'{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}',
        ModelDeclined,
    ),
    ("chat", b'{"error":{"message":"Provider returned error","code":502}}', ModelUnavailable),
    ("chat", b'{"error":"out of memory"}', ModelUnavailable),
    ("chat", b'{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}', ModelDeclined),
]


@pytest.mark.parametrize("wire, event, kind", IN_STREAM)
async def test_an_error_event_inside_a_stream_is_raised(
    wire: Wire, event: bytes, kind: type[ModelError], world: World, server: ModelServer
) -> None:
    begun = frames(wire, Answer([CALL]))[:3]
    server.gives(says(*begun, b"data: " + event + b"\n\n"))
    with pytest.raises(ModelError) as caught:
        await world.ask(server, wire)
    assert type(caught.value) is kind, caught.value.message


# ── unfinished answers ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B-unfinished")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("after", [0, 1, 4, 7])
async def test_a_stream_that_stalls_is_given_up(wire: Wire, after: int, world: World, server: ModelServer) -> None:
    server.gives(stalls(CALL, after=after))
    async with asyncio.timeout(BOUND):
        with pytest.raises(ModelUnavailable, match="takes too long"):
            await world.ask(server, wire, timeout=0.2)


@pytest.mark.proves("B-unfinished")
@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_cut_off_anywhere_is_never_accepted_as_complete(
    wire: Wire, world: World, server: ModelServer
) -> None:
    """Wherever it ends, cleanly: only a stream with its end is an answer."""
    whole = frames(wire, Answer([Text("So."), CALL]))
    # In Chat Completions the reason for the end is the end; the count of tokens and [DONE] may be left out.
    last = len(whole) - (3 if wire == "chat" else 1)
    for kept in range(len(whole)):
        server.gives(says(*whole[:kept]))
        if kept > last:
            assert [call.id for call in (await world.ask(server, wire)).calls] == ["c1"]
            continue
        with pytest.raises(ModelUnavailable):
            await world.ask(server, wire)


TOO_EARLY: list[tuple[Wire, bytes]] = [
    # While the arguments of a call are still being written; without a word on why it ended.
    ("messages", b'{"type":"message_stop"}'),
    ("messages", b'{"type":"content_block_stop","index":0}\n\ndata: {"type":"message_stop"}'),
    ("responses", b'{"type":"response.completed","response":{"status":"completed","output":[]}}'),
    ("chat", b"[DONE]"),
    ("chat", b'{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}\n\ndata: [DONE]'),
    ("chat", b'{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}\n\ndata: [DONE]'),
]


@pytest.mark.proves("B-unfinished")
@pytest.mark.parametrize("wire, end", TOO_EARLY)
async def test_a_premature_end_event_is_an_error(wire: Wire, end: bytes, world: World, server: ModelServer) -> None:
    begun = frames(wire, Answer([CALL]))[:5]
    server.gives(says(*begun, b"data: " + end + b"\n\n"))
    with pytest.raises(ModelUnavailable, match="too early"):
        await world.ask(server, wire)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_cut_at_its_token_limit_yields_no_calls(wire: Wire, world: World, server: ModelServer) -> None:
    server.gives(plays(Text("I will launch"), CALL, stop="length"))
    reply = await world.ask(server, wire)
    assert (reply.text, list(reply.calls), reply.stop) == ("I will launch", [], "length")
    assert reply.usage.output_tokens == 20


# ── without end ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_endless_answer_is_refused(world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MOST_BYTES", 200_000)
    monkeypatch.setattr(streaming, "MOST_EVENT", 50_000)
    server.gives(says(*[b": " + b"x" * 1000 + b"\n\n"] * 300))
    with pytest.raises(ModelRefused, match="without end"):
        await world.ask(server, "messages")
    server.gives(says(b"data: ", *[b"x" * 1000] * 100))
    with pytest.raises(ModelRefused, match="an event without end"):
        await world.ask(server, "chat")
    server.gives(says(*[b"data: " + b"x" * 1000 + b"\n"] * 100))
    with pytest.raises(ModelRefused, match="an event without end"):
        await world.ask(server, "chat")


async def test_malformed_events_are_errors_and_not_crashes(world: World, server: ModelServer) -> None:
    for wire, event in [
        ("messages", b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}'),
        ("messages", b'{"type":"content_block_stop","index":0}'),
        ("messages", b'{"type":"content_block_start","content_block":{"type":"tool_use","id":1,"name":[]}}'),
        ("responses", b'{"type":"response.function_call_arguments.delta","output_index":9,"delta":"x"}'),
        ("responses", b'{"type":"response.completed","response":{"output":[{"type":"message"}]}}'),
        ("chat", b'{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}'),
        ("chat", b'{"choices":[{"delta":{"content":{"a":1}}}]}'),
    ]:
        server.gives(says(b"data: " + event + b"\n\n"))
        with pytest.raises(ModelUnavailable, match="makes no sense"):
            await world.ask(server, wire)  # type: ignore[arg-type]


# ── when to come back ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": formatdate(1_000_060, usegmt=True)}, 60.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e30"}, 86_400.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=1_000_000.0) == seconds


async def test_the_retry_after_time_is_reported_to_the_caller(world: World, server: ModelServer) -> None:
    server.gives(fails(429, error("slow down"), Retry_After="7"))
    with pytest.raises(ModelUnavailable) as caught:
        await world.ask(server, "messages")
    assert caught.value.retry_after == 7.0


# ── connections ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wire", WIRES)
async def test_one_connection_serves_many_answers(wire: Wire, world: World, server: ModelServer) -> None:
    server.gives(plays(Text("yes")))
    for _ in range(5):
        await world.ask(server, wire)
    assert server.connections == 1


async def test_leaving_in_the_middle_of_an_answer_hangs_up(world: World, server: ModelServer) -> None:
    server.gives(stalls(CALL, after=4))
    asking = asyncio.ensure_future(world.ask(server, "messages"))
    await server.was_asked(1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    server.gives(plays(Text("yes")))
    assert (await world.ask(server, "messages")).text == "yes"
    assert server.connections == 2


@pytest.mark.proves("B-model-key")
@pytest.mark.parametrize("wire", WIRES)
async def test_the_key_is_added_only_just_before_sending(
    wire: Wire, world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.gives(plays(Text("yes")))
    stream, given = world.egress.stream, list[Any]()

    def watched(*args: Any, **more: Any) -> Any:
        given.append((args, more))
        return stream(*args, **more)

    monkeypatch.setattr(world.egress, "stream", watched)
    await world.ask(server, wire)
    assert len(given) == 1
    assert KEY not in str(given)
    assert KEY in str(server.asked[0].headers)


async def test_a_private_server_that_nobody_listed_is_not_asked(world: World, server: ModelServer) -> None:
    model = world.model(server, "chat")
    world.egress.allowance.set("model", [])
    with pytest.raises(ModelRefused, match=r"list it for model: egress\.listed"):
        await model.ask(shown(), [SEND])
    assert server.asked == []
