"""Models that are elsewhere: the one way from a transcript to a provider and back, whatever it speaks.

A `Dialect` is what a provider's pages say: where to ask, how a request is written, how an answer is read. Keys are
variables, found for the run that asks and opened in the last function before the socket. The key that belongs to a
provider goes to that provider, or where the operator's own settings send it, and to no base URL that an agent names.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bullpen.errors import ModelRefused
from bullpen.llm import anthropic, conversation, openai_chat, openai_responses, spec, streaming
from bullpen.llm.failures import About
from bullpen.llm.spec import ModelSpec
from bullpen.llm.streaming import Answer, Question
from bullpen.llm.types import OnDelta, Reach, Reply, TokenUsage, ToolSpec, Transcript
from bullpen.net import urls
from bullpen.variables.types import SecretRef, Value
from bullpen.wire.nouns import VariableDefinition

CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Dialect:
    provider: str
    base: str
    path: str
    key: str  # the variable that holds the provider's own key
    quiet: float
    headers: Callable[[str], dict[str, str]]
    request: Callable[[ModelSpec, Transcript, Sequence[ToolSpec]], dict[str, Any]]
    answer: Callable[[ModelSpec, About, Mapping[str, str]], Answer]
    bound_to: Callable[[ModelSpec, Mapping[str, Any]], str] = lambda spec, made: ""  # see Thinking.bound


DIALECTS: Mapping[str, Dialect] = {
    dialect.provider: dialect
    for dialect in (
        Dialect(
            anthropic.PROVIDER,
            anthropic.BASE,
            anthropic.PATH,
            anthropic.KEY,
            anthropic.QUIET,
            anthropic.headers,
            anthropic.request,
            anthropic.MessagesAnswer,
            anthropic.bound_to,
        ),
        Dialect(
            openai_responses.PROVIDER,
            openai_responses.BASE,
            openai_responses.PATH,
            openai_responses.KEY,
            openai_responses.QUIET,
            openai_responses.headers,
            openai_responses.request,
            openai_responses.ResponsesAnswer,
        ),
        Dialect(
            openai_chat.PROVIDER,
            openai_chat.BASE,
            openai_chat.PATH,
            openai_chat.KEY,
            openai_chat.QUIET,
            openai_chat.headers,
            openai_chat.request,
            openai_chat.ChatAnswer,
        ),
    )
}


def build(written: dict[str, Any], reach: Reach) -> RemoteModel:
    """The model of a spec whose provider is one of DIALECTS. Raises Invalid."""
    said = spec.read(written)
    return RemoteModel(DIALECTS[said.provider], said, reach)


@dataclass(frozen=True, slots=True)
class RemoteModel:
    dialect: Dialect
    spec: ModelSpec
    reach: Reach
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def variables(self) -> list[VariableDefinition]:
        """What must be looked up before it can be asked."""
        name = self._key_name()
        return [VariableDefinition(name=name, type="secret", required=False)] if name else []

    @property
    def takes_pictures(self) -> bool:
        said = self.spec.settings.images
        # Servers of one's own that speak as OpenAI does often have models that read text alone.
        known = self.dialect.provider != openai_chat.PROVIDER or self.spec.base_url is None
        return known if said is None else said

    def request(self, transcript: Transcript, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """What `ask` sends, without the key."""
        return self.dialect.request(self.spec, transcript, tools)

    def given(self, values: Mapping[str, Value]) -> RemoteModel:
        return replace(self, values=values)

    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        base = self.base()
        url = urls.parse(base.rstrip("/") + self.dialect.path)
        name, value = self.key()
        about = About(f"{self.spec.provider}:{self.spec.name}", str(url.origin), _where(name, value))
        word = f"var{secrets.token_hex(12)}" if value is not None else ""
        made = self.request(transcript, tools)
        body = conversation.encoded(made)
        question = Question(
            str(url),
            self.dialect.headers(word),
            body,
            {} if value is None else {word: partial(self.reach.vault.text, value)},
            self.spec.settings.timeout or self.dialect.quiet,
            about,
        )
        answer = self.dialect.answer(self.spec, about, conversation.names_of(tools))
        reply = await streaming.ask(self.reach.egress(), question, answer, on_delta)
        if reply.thinking and (bound := self.dialect.bound_to(self.spec, made)):
            reply = replace(reply, thinking=[replace(thought, bound=bound) for thought in reply.thinking])
        return replace(reply, usage=reply.usage if reply.usage.output_tokens else _guessed(body, reply))

    def about(self) -> About:
        return About(f"{self.spec.provider}:{self.spec.name}", str(urls.parse(self.base()).origin), _where(*self.key()))

    # ── where to, and with which key ────────────────────────────────────────────────────────────────────────────────

    def base(self) -> str:
        base = self.spec.base_url or self.reach.base_urls.get(self.dialect.provider) or self.dialect.base
        # With or without the version: both are written, and both are meant.
        return base.rstrip("/").removesuffix("/v1") if self.dialect.path.startswith("/v1/") else base

    def _key_name(self) -> str | None:
        return self.spec.api_key_variable or (self.dialect.key if self.spec.base_url is None else None)

    def key(self) -> tuple[str, Value | None]:
        name = self._key_name()
        value = None if name is None else self.values.get(name)
        named = self.spec.api_key_variable is not None
        # Where the operator sends it, there may be a server that wants none.
        at_home = self.spec.base_url is None and self.dialect.provider not in self.reach.base_urls
        if value is None and (named or at_home):
            error = ModelRefused(
                f"{self.spec.provider}:{self.spec.name} needs a key. Set the variable {name}, or {name} in the "
                "environment of the server."
            )
            error.problem = "key"
            raise error
        return name or "", value


def _where(name: str, value: Value | None) -> str:
    if value is None:
        return ""
    return f"the variable {name} of {value.scope}" if isinstance(value, SecretRef) else f"the variable {name}"


def _guessed(body: bytes, reply: Reply) -> TokenUsage:
    """Some servers do not count. A budget that nobody counts is none."""
    said = len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.calls)
    return TokenUsage(len(body) // CHARACTERS_A_TOKEN, max(1, said // CHARACTERS_A_TOKEN))
