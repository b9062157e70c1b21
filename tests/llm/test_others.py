"""Providers that we do not speak to ourselves: by a library, but out by our own door."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from bullpen.errors import ContextTooLong, EgressError, Invalid, ModelError, ModelRefused, ModelUnavailable
from bullpen.llm import others
from bullpen.llm.failures import About
from bullpen.llm.types import AssistantTurn, Attachment, Reach, ToolTurn, UserTurn
from bullpen.testing.model_server import ModelServer, breaks_off, fails, plays, says
from bullpen.testing.wires import PATHS, Text, Wanted
from bullpen.variables.types import SETTINGS, SecretRef
from tests.llm.speaking import KEY_NAME, SEND, World, shown

CALL = Wanted("abcdefgh1", "send_message", '{"text": "hello"}')


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "small"}
    return b"data: " + orjson.dumps({**head, "choices": [choice], **more}) + b"\n\n"


def model(world: World, server: ModelServer, name: str = "mistral:small", **more: Any) -> others.OtherModel:
    server.strict = False
    written = {"provider": "providers", "name": name, "baseUrl": server.url, "apiKeyVariable": KEY_NAME, **more}
    made = others.build(written, Reach(lambda: world.egress, world.vault))
    return made.given({KEY_NAME: SecretRef(KEY_NAME, SETTINGS)})


@pytest.fixture(autouse=True)
def _listed(world: World, server: ModelServer) -> None:
    world.egress.allowance.set("model", [server.url])


async def test_a_librarys_requests_go_out_through_our_egress(world: World, server: ModelServer) -> None:
    function = {"name": "send_message", "arguments": CALL.arguments}
    server.gives(
        says(
            chunk({"role": "assistant", "content": "So."}),
            chunk({"tool_calls": [{"index": 0, "id": CALL.id, "function": function}]}),
            chunk({}, "tool_calls", usage={"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}),
            b"data: [DONE]\n\n",
        )
    )
    seen: list[str] = []
    reply = await model(world, server).ask(shown(), [SEND], lambda delta: seen.append(delta.so_far))
    assert (reply.text, [(c.id, c.name) for c in reply.calls]) == ("So.", [("abcdefgh1", "send_message")])
    assert seen[-1].replace(" ", "") == CALL.arguments.replace(" ", "")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    history = shown(
        UserTurn("hello"),
        AssistantTurn(reply.text, reply.calls, reply.thinking),
        ToolTurn("abcdefgh1", "send_message", [{"type": "text", "text": "sent"}], is_error=False),
    )
    server.gives(plays(Text("done")))
    assert (await model(world, server).ask(history, [SEND])).text == "done"
    roles = [message["role"] for message in server.asked[1].json["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize(
    "behaviour, kind",
    [
        (fails(429, {"message": "slow"}, Retry_After="3"), ModelUnavailable),
        (fails(500), ModelUnavailable),
        (fails(401), ModelRefused),
        (fails(400, {"message": "prompt is too long for the context window"}), ContextTooLong),
        (breaks_off(CALL, before=3), ModelUnavailable),
        (breaks_off(CALL, before=3, cleanly=False), ModelUnavailable),
    ],
)
async def test_a_librarys_failures_become_our_model_errors(
    world: World, server: ModelServer, behaviour: Any, kind: type[ModelError]
) -> None:
    server.gives(behaviour)
    with pytest.raises(ModelError) as caught:
        await model(world, server).ask(shown(), [SEND])
    assert type(caught.value) is kind, caught.value.message


async def test_a_library_gets_pictures_only_if_the_agent_enables_them(world: World, server: ModelServer) -> None:
    server.gives(plays(Text("red")))
    seen = shown(UserTurn("what is this?", attachments=[Attachment("red.png", "image/png", "aGk=")]))
    for said in ({}, {"images": True}):
        asked = model(world, server, settings=said)
        assert asked.takes_pictures == bool(said)
        assert (await asked.ask(seen, [SEND])).text == "red"
    assert [b"data:image/png;base64,aGk=" in asked.body for asked in server.asked] == [False, True]


@pytest.mark.parametrize("name, path", [("groq:small", "/openai/v1/chat/completions"), ("mistral:small", None)])
async def test_a_library_does_not_retry_by_itself(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str, path: str | None
) -> None:
    """Asking again is for whoever drives the run: a library that does so as well would multiply it."""
    if path is not None:
        monkeypatch.setitem(PATHS, path, "chat")
    server.gives(fails(500))
    with pytest.raises(ModelUnavailable):
        await model(world, server, name).ask(shown(), [SEND])
    assert len(server.asked) == 1


def test_a_cancellation_is_raised_despite_an_earlier_error() -> None:
    def stay_away() -> None:
        """As a library does that was hung up on."""
        with others._told(About("m", "s")):
            try:
                raise EgressError("It hung up.")
            except EgressError:
                raise asyncio.CancelledError  # noqa: B904

    with pytest.raises(asyncio.CancelledError):
        stay_away()


async def test_a_library_cannot_reach_an_unlisted_host(world: World, server: ModelServer) -> None:
    world.egress.allowance.set("model", [])
    with pytest.raises(ModelRefused, match=r"egress\.listed"):
        await model(world, server).ask(shown(), [SEND])
    assert server.asked == []


async def test_a_library_with_its_own_transport_is_refused(world: World, server: ModelServer) -> None:
    for name in ("bedrock:nova", "nobody:x"):
        with pytest.raises(ModelRefused, match="cannot be asked"):
            await model(world, server, name).ask(shown(), [SEND])


def test_a_missing_library_is_named_when_the_agent_is_defined(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Invalid, match="providers:PROVIDER:MODEL"):
        model(world, server, "mistral")
    monkeypatch.setattr(others, "find_spec", lambda name: None)
    with pytest.raises(Invalid, match=r'pip install "bullpen\[providers\]"'):
        model(world, server)
