"""Models of all other providers, by a library that knows them: the extra `providers`, imported when one is asked.

The library writes requests and reads answers; the way out stays ours: its HTTP client gets a transport that asks
through `net`, so what a provider's code may reach is judged like everything else. Providers whose code insists on a
connection of its own are refused. Slower than our own formats by far, and good enough for whoever needs one of these.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from time import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullpen.errors import ContextTooLong, EgressError, Invalid, ModelError, ModelRefused, ModelUnavailable
from bullpen.llm import conversation, failures, spec, streaming
from bullpen.llm.conversation import EMPTY, Said, Step
from bullpen.llm.failures import About
from bullpen.llm.models import USE
from bullpen.llm.spec import ModelSpec
from bullpen.llm.types import (
    CallDelta,
    CallWish,
    Delta,
    OnDelta,
    Reach,
    Reply,
    TextDelta,
    Thinking,
    TokenUsage,
    ToolSpec,
    Transcript,
)
from bullpen.net.types import Limits
from bullpen.variables.types import Value
from bullpen.wire.nouns import VariableDefinition

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as TheirModel

PROVIDER: Final = "providers"
LIBRARY: Final = "pydantic_ai"
QUIET: Final = 180.0
INSTALL: Final = 'Install what it needs: pip install "bullpen[providers]".'


def build(written: dict[str, Any], reach: Reach) -> OtherModel:
    """The model of a spec like `providers:google:gemini-…`. Raises Invalid."""
    said = spec.read(written)
    if find_spec(LIBRARY) is None:
        message = f"The provider of {said.name!r} is not installed. {INSTALL}"
        raise Invalid(message, fields={"model": message})
    if not said.name.partition(":")[2]:
        message = "Write it as providers:PROVIDER:MODEL, for example providers:google:gemini-3-pro."
        raise Invalid(message, fields={"model": message})
    return OtherModel(said, reach)


@dataclass(frozen=True, slots=True)
class OtherModel:
    spec: ModelSpec
    reach: Reach
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def variables(self) -> list[VariableDefinition]:
        return [VariableDefinition(name=self._key_name(), type="secret", required=False)]

    @property
    def takes_pictures(self) -> bool:
        return self.spec.settings.images is True  # some of these do; which, only the agent's maker knows

    def given(self, values: Mapping[str, Value]) -> OtherModel:
        return replace(self, values=values)

    def _key_name(self) -> str:
        maker = self.spec.name.partition(":")[0]
        return self.spec.api_key_variable or f"{maker.upper().replace('-', '_')}_API_KEY"

    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        about = About(f"{PROVIDER}:{self.spec.name}", "its provider", f"the variable {self._key_name()}")
        await asyncio.to_thread(importlib.import_module, "pydantic_ai.direct")  # takes a second, the first time
        with _told(about):
            async with self._model(about) as model:
                return await self._answer(model, transcript, tools, on_delta, about)

    @asynccontextmanager
    async def _model(self, about: About) -> AsyncIterator[TheirModel]:
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider_class

        value = self.values.get(self._key_name())
        if value is None:
            raise ModelRefused(f"{about.model} needs a key. Set the variable {self._key_name()}.")
        maker = self.spec.name.partition(":")[0]
        made = infer_provider_class(maker)
        takes = inspect.signature(made.__init__).parameters
        if "http_client" not in takes or "api_key" not in takes:
            raise ModelRefused(f"{about.model} cannot be asked: its library would go out by a way of its own.")
        quiet = self.spec.settings.timeout or QUIET
        http = _http_of(takes["http_client"].annotation)
        transport = _through(http, self.reach, quiet)
        async with http.AsyncClient(transport=transport, timeout=None, trust_env=False) as client:
            more: dict[str, Any] = {"base_url": self.spec.base_url} if self.spec.base_url else {}
            provider = made(api_key=self.reach.vault.text(value), http_client=client, **more)  # type: ignore[call-arg]
            yield infer_model(self.spec.name, lambda _: provider)

    async def _answer(
        self,
        model: TheirModel,
        transcript: Transcript,
        tools: Sequence[ToolSpec],
        on_delta: OnDelta | None,
        about: About,
    ) -> Reply:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        defined = [
            ToolDefinition(
                name=conversation.name_for(tool.name),
                description=tool.description,
                parameters_json_schema=conversation.schema_for(tool.input_schema),
            )
            for tool in tools
        ]
        settings: Any = self.spec.settings.model_dump(include={"max_tokens", "temperature"}, exclude_none=True)
        settings["max_retries"] = 0  # whoever drives the run asks again, and counts
        async with model_request_stream(
            model,
            _messages(self.spec, transcript),
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(function_tools=defined, allow_text_output=True),
        ) as stream:
            growing = _Growing()
            async for event in stream:
                grown = growing.feed(event)
                if grown is not None and on_delta is not None:
                    on_delta(grown)
            return _reply(self.spec, stream.get(), conversation.names_of(tools), about)


# ── the conversation ────────────────────────────────────────────────────────────────────────────────────────────────


def _messages(spec: ModelSpec, transcript: Transcript) -> list[ModelMessage]:
    from pydantic_ai.messages import BinaryContent, ModelRequest, SystemPromptPart, ToolReturnPart, UserPromptPart

    messages: list[ModelMessage] = []
    waiting: list[Any] = [SystemPromptPart(transcript.system)] if transcript.system.strip() else []
    for each in conversation.conversation(transcript.turns):
        if isinstance(each, Said):
            text = "\n\n".join(each.texts) or EMPTY
            files = [BinaryContent(b64decode(file.data), media_type=file.type) for file in each.attachments]
            waiting.append(UserPromptPart([*files, text] if files and spec.settings.images else text))
            continue
        messages += [ModelRequest(parts=waiting), _answered(spec, each)]
        waiting = [
            ToolReturnPart(
                result.call.name,
                "\n".join(result.told(takes_files=bool(spec.settings.images))),
                tool_call_id=result.call.id,
            )
            for result in each.results
        ]
        shown = [file for result in each.results for file in result.attachments]
        if shown and spec.settings.images:
            files = [BinaryContent(b64decode(file.data), media_type=file.type) for file in shown]
            waiting.append(UserPromptPart([*files, "These pictures belong to the results above."]))
    return [*messages, ModelRequest(parts=waiting)]


def _answered(spec: ModelSpec, step: Step) -> ModelResponse:
    """Its own answer as it came, with our ids for its calls; or what we know of it."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart

    calls = [ToolCallPart(r.call.name, r.call.arguments, tool_call_id=r.call.id) for r in step.results]
    for thought in step.thinking:
        if thought.provider == PROVIDER and thought.model == spec.name:
            (kept,) = ModelMessagesTypeAdapter.validate_python([thought.block])
            wanted = [part for part in kept.parts if isinstance(part, ToolCallPart)]
            if isinstance(kept, ModelResponse) and len(wanted) == len(calls):
                for part, result in zip(wanted, step.results, strict=True):
                    part.tool_call_id = result.call.id
                return kept
    return ModelResponse(parts=[*([TextPart(step.text)] if step.text else []), *calls])


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


class _Growing:
    """What people may watch. The answer itself is the library's."""

    def __init__(self) -> None:
        self._text = TextDelta()
        self._calls: dict[int, CallDelta] = {}

    def feed(self, event: Any) -> Delta | None:
        from pydantic_ai.messages import (
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
            ToolCallPart,
            ToolCallPartDelta,
        )

        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._text.add(text)
                return self._text
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                self._calls[index] = CallDelta(
                    len(self._calls), part.tool_name, part.args_as_json_str() if part.args else ""
                )
                return self._calls[index]
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=str() as more)) if index in self._calls:
                self._calls[index].add(more)
                return self._calls[index]
        return None


def _reply(spec: ModelSpec, response: ModelResponse, names: Mapping[str, str], about: About) -> Reply:
    from pydantic_ai.messages import ModelMessagesTypeAdapter, TextPart, ToolCallPart

    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    counted = response.usage
    usage = TokenUsage.counted(
        counted.input_tokens, counted.output_tokens, counted.cache_read_tokens, counted.cache_write_tokens
    )
    match response.finish_reason:
        case None | "error":
            raise ModelUnavailable(f"{about} ended its answer too early; nothing of it was done.")
        case "content_filter":
            raise failures.declined(about)
        case "length":
            return Reply(text, (), usage, "length")
    calls = [
        CallWish(part.tool_call_id, names.get(part.tool_name, part.tool_name), part.args_as_json_str())
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    (kept,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return Reply(text, calls, usage, thinking=[Thinking(PROVIDER, spec.name, kept)] if calls else ())


# ── what goes wrong, and the way out ────────────────────────────────────────────────────────────────────────────────


class _told:  # noqa: N801, a block: `with _told(about):`
    """What the library raises becomes one of our errors."""

    def __init__(self, about: About) -> None:
        self._about = about

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # Who is cancelled is cancelled, whatever went wrong before that.
        if isinstance(error, Exception) and (ours := _ours(error, self._about)) is not None:
            raise ours from None


def _ours(error: Exception, about: About) -> ModelError | None:
    from pydantic_ai import exceptions

    inner: BaseException | None = error
    while inner is not None:  # our own refusal may be wrapped in theirs
        if isinstance(inner, EgressError):
            return streaming.of_egress(inner, about)
        inner = inner.__cause__ or inner.__context__
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return ContextTooLong(f"What {about} was shown is more than it can take.")
    if isinstance(error, exceptions.ModelHTTPError):
        body = error.body if isinstance(error.body, str) else orjson.dumps(error.body, default=str)
        data = body.encode() if isinstance(body, str) else body
        return failures.of_status(error.status_code, error.headers or {}, data, about, now=time())
    if isinstance(error, exceptions.ContentFilterError):
        return failures.declined(about)
    if isinstance(error, exceptions.ModelAPIError | exceptions.UnexpectedModelBehavior):
        return failures.of_event(failures.Told("", str(error)), about)
    if isinstance(error, exceptions.UserError | ImportError | ValueError):
        return ModelRefused(f"{about.model} cannot be asked: {error}. {INSTALL}")
    return None


def _http_of(annotation: object) -> Any:
    """Which of two libraries that are nearly one a provider wants its client from: its code insists."""
    if "httpx.AsyncClient" in str(annotation):
        import httpx

        return httpx
    import httpx2

    return httpx2


def _through(http: Any, reach: Reach, quiet: float) -> Any:
    limits = Limits(
        total=None,
        connect=min(streaming.CONNECT, quiet),
        answer=quiet,
        idle=quiet,
        body_bytes=streaming.MOST_BYTES,
        hops=0,
    )
    ours = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}

    class Body(http.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, asked: Any, response: Any) -> None:
            self._asked, self._response = asked, response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._response.iter():
                yield piece

        async def aclose(self) -> None:
            await self._asked.__aexit__(None, None, None)

    class Through(http.AsyncBaseTransport):  # type: ignore[misc]
        async def handle_async_request(self, request: Any) -> Any:
            headers = [(name, value) for name, value in request.headers.items() if name.lower() not in ours]
            body = await request.aread()
            asked = reach.egress().stream(
                USE, request.method, str(request.url), headers=headers, body=body or None, limits=limits
            )
            response = await asked.__aenter__()
            told = {name: value for name, value in response.headers.items() if name != "content-encoding"}
            return http.Response(response.status, headers=told, stream=Body(asked, response))

    return Through()
