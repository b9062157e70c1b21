"""Tools as Python functions: what `from bullpen import tool` gives.

The signature is the schema: type hints say what a model may send, the docstring is what it reads. Arguments have
camelCase names on the wire, and the other spelling is accepted. Imports the standard library alone until a schema is
asked for, since whoever writes a project's files should not wait for a server. The SDK serves such tools
(client/serving.py), and the server's own tools use the same reading of a signature (tools/schema.py).
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, get_type_hints, overload

if TYPE_CHECKING:
    from pydantic import BaseModel

P = ParamSpec("P")
R = TypeVar("R")

Policy = Literal["allow", "ask", "deny"]
Effect = Literal["pure", "idempotent", "once"]

DEFAULT_TIMEOUT_MS = 30_000
TOLD = 8  # how many things that are wrong with a call are named
# What stands under these is somebody's value, not a schema.
_VALUES = frozenset({"default", "const", "enum", "examples"})
_NAMED = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})


class Misfit(ValueError):
    """Arguments that do not fit a signature. The message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Call:
    """The call that is being answered. A function gets it for a parameter of this type, which no model sees.

    `id` is the same however often the call is carried out: a good key for whatever must happen once.
    """

    id: str
    tool_name: str
    agent_id: str
    run_id: str
    space_id: str | None
    created_at: str
    report: Callable[[float | None, str | None], None] | None = field(default=None, repr=False, compare=False)

    def progress(self, fraction: float | None = None, message: str | None = None) -> None:
        """Say how far it is (0 to 1), for people who wait. Returns at once, from any thread; the last word counts."""
        if self.report is not None:
            self.report(fraction, message)


# ── a function as a tool ────────────────────────────────────────────────────────────────────────────────────────────


class FunctionTool(Generic[P, R]):
    """An external tool: a function of this process, which is still called as before."""

    __name__: str

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        visible: bool = False,
        is_async: bool = False,
        timeout: int = DEFAULT_TIMEOUT_MS,
        expires_after: int | None = None,
        policy: Policy | None = None,
        variables: Sequence[Mapping[str, Any]] = (),
        effect: Effect | None = None,
    ) -> None:
        self.function = function
        update_wrapper(self, function)
        self.name: str = name or function.__name__
        self.description: str = description or inspect.cleandoc(function.__doc__ or "")
        self.visible = visible
        self.is_async = is_async
        self.timeout = timeout
        self.expires_after = expires_after
        self.policy = policy
        self.variables = [dict(variable) for variable in variables]
        self.effect = effect
        _check(self.name, self.description, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema, draft 2020-12."""
        return input_schema(self._parameters)

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as POST /api/tools takes it."""
        said = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "executionType": "external",
            "visible": self.visible,
            "isAsync": self.is_async,
            "timeout": self.timeout,
        }
        more = {
            "expiresAfter": self.expires_after,
            "policy": self.policy,
            "variables": self.variables,
            "effect": self.effect,
        }
        return said | {name: value for name, value in more.items() if value}

    def arguments(self, given: Any, call: Call) -> dict[str, Any]:
        """What to call the function with. Raises Misfit if this is not what its signature says."""
        parameters = self._parameters
        canonical = json.dumps(arranged(self.name, spellings(parameters), given))
        checked = validated(self.name, lambda: parameters.model_validate_json(canonical))
        # What was not said is the function's own default.
        args = {name: getattr(checked, name) for name in checked.model_fields_set}
        return args if self._call_parameter is None else {**args, self._call_parameter: call}

    @cached_property
    def _call_parameter(self) -> str | None:
        hints = get_type_hints(self.function)
        return next((name for name, hint in hints.items() if hint is Call and name != "return"), None)

    @cached_property
    def _parameters(self) -> type[BaseModel]:
        left_out = () if self._call_parameter is None else (self._call_parameter,)
        return parameters_of(self.function, left_out=left_out)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    visible: bool = False,
    is_async: bool = False,
    timeout: int = DEFAULT_TIMEOUT_MS,
    expires_after: int | None = None,
    policy: Policy | None = None,
    variables: Sequence[Mapping[str, Any]] = (),
    effect: Effect | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Any = None, /, **fields: Any) -> Any:
    """Make an external tool of a function, async or not: agents call it, and this process carries it out.

    The fields are those of a tool's definition. `timeout` is in milliseconds: how long an agent waits for the result.
    `expires_after`: how long one is taken at all (30 days). `visible=True` shows each call in the space. `variables`
    are values that must be set before the tool can be called. `effect` says what a call that was begun may do when the
    process dies: "pure" (it changes nothing) and "idempotent" (with its id as the key) are offered again, and so is a
    call of a tool that says nothing; "once" is never begun again, and the agent reads that its outcome is unknown.
    """
    if function is not None:
        return FunctionTool(function)
    return lambda function: FunctionTool(function, **fields)


def _check(name: str, description: str, function: Callable[..., Any]) -> None:
    """Refuse what could never be a tool, where it is written."""
    if not description:
        raise TypeError(f"{name} needs a docstring: it is what the model reads about the tool.")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{name} cannot have {parameter}: a tool's arguments have names.")
        if parameter.annotation is parameter.empty:
            raise TypeError(f"{name} needs a type for {parameter.name}, as in {parameter.name}: str")


# ── a signature as a schema ─────────────────────────────────────────────────────────────────────────────────────────


def parameters_of(
    function: Callable[..., Any], *, left_out: Sequence[str] = (), strict: bool = False, camel: bool = True
) -> type[BaseModel]:
    """The arguments of a function as a pydantic model. `strict`: "5" is no number. `camel`: as on the wire."""
    from pydantic import ConfigDict, create_model
    from pydantic.alias_generators import to_camel

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in left_out:
            fields[name] = (hints[name], ... if parameter.default is parameter.empty else parameter.default)
    config = ConfigDict(
        strict=strict,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel if camel else str,
        populate_by_name=True,
        protected_namespaces=(),
    )
    with warnings.catch_warnings():
        # A parameter may be named `copy` or `schema`; that these are methods of a model does not matter here.
        warnings.filterwarnings("ignore", message="Field name", category=UserWarning)
        return create_model(function.__name__, __config__=config, **fields)


def input_schema(parameters: type[BaseModel]) -> dict[str, Any]:
    schema = parameters.model_json_schema(by_alias=True)
    shown: dict[str, Any] = _without_titles({"type": "object", "properties": schema.get("properties", {}), **schema})
    return shown


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _kept(key, inner) for key, inner in node.items() if key != "title"}
    return [_without_titles(inner) for inner in node] if isinstance(node, list) else node


def _kept(key: str, inner: Any) -> Any:
    if key in _VALUES:
        return inner
    if key in _NAMED and isinstance(inner, dict):
        return {name: _without_titles(schema) for name, schema in inner.items()}
    return _without_titles(inner)


def spellings(parameters: type[BaseModel], aliases: Mapping[str, Sequence[str]] | None = None) -> dict[str, str]:
    """Each way of writing an argument's name, and the name it has on the wire."""
    from pydantic.alias_generators import to_camel, to_snake

    found: dict[str, str] = {}
    for name, parameter in parameters.model_fields.items():
        wire = parameter.alias or to_camel(name)
        for spelling in (wire, name, *(aliases or {}).get(wire, ())):
            found[spelling] = found[to_snake(spelling)] = found[to_camel(to_snake(spelling))] = wire
    return found


def arranged(tool: str, known: Mapping[str, str], given: Any) -> dict[str, Any]:
    """The arguments under the names they have on the wire."""
    if not isinstance(given, Mapping):
        raise Misfit(f"The arguments of {tool} must be a JSON object.")
    canonical: dict[str, Any] = {}
    for key, value in given.items():
        meant = known.get(key, key)
        if meant in canonical and canonical[meant] != value:
            raise Misfit(f"{key} says the same as {meant}, with another value: give one of them.")
        canonical[meant] = value
    return canonical


def validated(tool: str, validate: Callable[[], BaseModel]) -> BaseModel:
    from pydantic import ValidationError

    try:
        return validate()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:TOLD])
        raise Misfit(f"The arguments of {tool} do not fit: {wrong}.") from None


__all__ = ["Call", "FunctionTool", "Misfit", "tool"]
