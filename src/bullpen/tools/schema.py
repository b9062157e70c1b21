"""From a typed Python function to a tool: its schema, its checks, and the spellings it accepts.

The JSON Schema that the model sees and the check of its arguments come from one pydantic model, so they cannot
differ. Arguments are named as the founding document of the tool names them (`spaceId`, `task_id`); the other spelling
is accepted. How a signature is read is `bullpen.define`, which the SDK's tools share.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import BaseModel

from bullpen.access.types import Grant
from bullpen.define import Misfit, arranged, input_schema, parameters_of, spellings, validated
from bullpen.errors import BadArguments
from bullpen.tools.quotes import READERS, Carries
from bullpen.tools.types import DEFAULT_TIMEOUT_MS, STATELESS, Act, Effect, Executor, Tool, ToolContext, Words
from bullpen.wire.nouns import Decision, VariableDefinition

Function = Callable[..., Awaitable[Any]]


class Speaks(NamedTuple):
    """What a tool that says something tells of itself: see `Words`."""

    text: str
    place: str
    longest: int
    find_space: Callable[[ToolContext, str | None], Awaitable[str | None]]


def tool(
    *,
    effect: Effect = "once",
    act: Act | None = "acted",
    visible: bool = False,
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    aliases: Mapping[str, Sequence[str]] | None = None,
    changes: tuple[str, ...] = (),
    touches: Callable[..., Awaitable[Iterable[str]]] | None = None,
    grant: Grant | None = None,
    variables: Sequence[VariableDefinition] = (),
    local: bool = False,
    prepare: Function | None = None,
    wary: bool = False,
    keeps: tuple[str, ...] = (),
    carries: Carries = None,
    policy: Decision | None = None,
    proposes: bool = False,
    executor: Executor = STATELESS,
    camel: bool = True,
    words: Speaks | None = None,
) -> Callable[[Function], Tool]:
    """Make a tool of an async function whose first parameter is the context. Its docstring is what the model reads."""

    def make(function: Function) -> Tool:
        # Strict: the model saw "integer", so "5" is not one.
        parameters = parameters_of(
            function, left_out=list(inspect.signature(function).parameters)[:1], strict=True, camel=camel
        )
        known = spellings(parameters, aliases)
        return Tool(
            name=function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            function=function,
            input_schema=input_schema(parameters),
            parse=partial(_parse, function.__name__, parameters, known),
            effect=effect,
            act=act,
            visible=visible,
            timeout_ms=timeout_ms,
            changes=changes,
            touches=touches,
            grant=grant,
            variables=tuple(variables),
            local=local,
            prepare=prepare,
            wary=wary,
            keeps=keeps,
            carries=READERS.get(function.__name__) if carries is None else carries,
            policy=policy,
            proposes=proposes,
            executor=executor,
            words=None if words is None else Words(known, *words),
        )

    return make


def _parse(name: str, parameters: type[BaseModel], known: Mapping[str, str], given: Any) -> Mapping[str, Any]:
    """Checked arguments, or BadArguments that says what to write instead."""
    try:
        canonical = arranged(name, known, given)
        checked = validated(name, lambda: parameters.model_validate(canonical))
    except Misfit as error:
        raise BadArguments(str(error)) from None
    return {field: getattr(checked, field) for field in parameters.model_fields}
