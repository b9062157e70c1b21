"""From a typed Python function to a tool: its schema, its checks, and the spellings it accepts.

The JSON Schema that the model sees and the check of its arguments come from one pydantic model, so they cannot
differ. Arguments are named as the founding document of the tool names them (`spaceId`, `task_id`); the other spelling
is accepted. How a signature is read is `bullpen.define`, which the SDK's tools share.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from bullpen.access.types import Grant
from bullpen.define import Misfit, arranged, input_schema, parameters_of, spellings, validated
from bullpen.errors import BadArguments
from bullpen.tools.types import DEFAULT_TIMEOUT_MS, STATELESS, Act, Effect, Executor, Tool
from bullpen.wire.nouns import Decision, VariableDefinition

Function = Callable[..., Awaitable[Any]]


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
    prepare: Function | None = None,
    wary: bool = False,
    keeps: tuple[str, ...] = (),
    quotes: tuple[str, ...] = (),
    policy: Decision | None = None,
    proposes: bool = False,
    executor: Executor = STATELESS,
    camel: bool = True,
) -> Callable[[Function], Tool]:
    """Make a tool of an async function whose first parameter is the context. Its docstring is what the model reads."""

    def make(function: Function) -> Tool:
        # Strict: the model saw "integer", so "5" is not one.
        parameters = parameters_of(
            function, left_out=list(inspect.signature(function).parameters)[:1], strict=True, camel=camel
        )
        return Tool(
            name=function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            function=function,
            input_schema=input_schema(parameters),
            parse=partial(_parse, function.__name__, parameters, spellings(parameters, aliases)),
            effect=effect,
            act=act,
            visible=visible,
            timeout_ms=timeout_ms,
            changes=changes,
            touches=touches,
            grant=grant,
            variables=tuple(variables),
            prepare=prepare,
            wary=wary,
            keeps=keeps,
            quotes=quotes,
            policy=policy,
            proposes=proposes,
            executor=executor,
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
