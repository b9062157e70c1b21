"""From a typed Python function to a tool: its schema, its checks, and the spellings it accepts.

The JSON Schema that the model sees and the check of its arguments come from one pydantic model, so they cannot
differ. Arguments are named as the founding documents name them (camelCase); the other spelling is accepted.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.alias_generators import to_camel, to_snake
from pydantic.fields import FieldInfo

from bullpen.access.types import Grant
from bullpen.errors import BadArguments
from bullpen.tools.types import DEFAULT_TIMEOUT_MS, Act, Effect, Tool
from bullpen.wire.nouns import VariableDefinition

Function = Callable[..., Awaitable[Any]]


def tool(
    *,
    effect: Effect = "once",
    act: Act | None = "acted",
    visible: bool = False,
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    aliases: Mapping[str, Sequence[str]] | None = None,
    changes: tuple[str, ...] = (),
    grant: Grant | None = None,
    variables: Sequence[VariableDefinition] = (),
    prepare: Function | None = None,
) -> Callable[[Function], Tool]:
    """Make a tool of an async function whose first parameter is the context. Its docstring is what the model reads."""

    def make(function: Function) -> Tool:
        parameters = _parameters(function)
        return Tool(
            name=function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            function=function,
            parameters=parameters,
            input_schema=_schema(parameters),
            spellings=_spellings(parameters, aliases or {}),
            effect=effect,
            act=act,
            visible=visible,
            timeout_ms=timeout_ms,
            changes=changes,
            grant=grant,
            variables=tuple(variables),
            prepare=prepare,
        )

    return make


def _parameters(function: Function) -> type[BaseModel]:
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    # Strict: the model saw "integer", so "5" is not one.
    config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)
    return create_model(function.__name__, __config__=config, **fields)


def _schema(parameters: type[BaseModel]) -> dict[str, Any]:
    schema = parameters.model_json_schema(by_alias=True)
    shown: dict[str, Any] = _without_titles({"type": "object", "properties": schema.get("properties", {}), **schema})
    return shown


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        named = node.get("properties")
        kept = {k: _without_titles(v) for k, v in node.items() if k not in {"title", "properties"}}
        if isinstance(named, dict):
            kept["properties"] = {k: _without_titles(v) for k, v in named.items()}
        return kept
    return [_without_titles(inner) for inner in node] if isinstance(node, list) else node


def _spellings(parameters: type[BaseModel], aliases: Mapping[str, Sequence[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, field in parameters.model_fields.items():
        wire = _wire_name(name, field)
        for spelling in (wire, name, *aliases.get(wire, ())):
            found[spelling] = found[to_snake(spelling)] = found[to_camel(to_snake(spelling))] = wire
    return found


def _wire_name(name: str, field: FieldInfo) -> str:
    return field.alias or to_camel(name)


def parse_arguments(tool: Tool, given: Any) -> BaseModel:
    """Checked arguments, or BadArguments that says what to write instead."""
    if not isinstance(given, dict):
        raise BadArguments(f"The arguments of {tool.name} must be a JSON object.")
    canonical: dict[str, Any] = {}
    for key, value in given.items():
        name = tool.spellings.get(key, key)
        if name in canonical and canonical[name] != value:
            raise BadArguments(f"{key} says the same as {name}, with another value: give one of them.")
        canonical[name] = value
    try:
        return tool.parameters.model_validate(canonical)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:8])
        raise BadArguments(f"The arguments of {tool.name} do not fit: {wrong}.") from None
