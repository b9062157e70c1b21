"""What a defined tool must be like, and the tool that it makes.

A definition is data that anybody with the right may send; which of its fields go together is said here, in sentences.
How a call is carried out is the executor's business, one module for each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

import orjson

from bullpen.errors import Invalid
from bullpen.tools.executors import answered, gateway, internal
from bullpen.tools.json_schema import check_arguments
from bullpen.tools.types import Effect, Tool
from bullpen.variables import rules as variables
from bullpen.wire.nouns import ExecutionType, ToolConfig, VariableDefinition

# What an approval covers: change any of these, and it does not count any more.
DEEDS = ("name", "input_schema", "execution_type", "execution", "variables")


def check(config: ToolConfig) -> None:
    if config.execution_type == "gateway":
        if config.execution is None:
            raise _refused("execution", 'a gateway tool needs a URL: {"url": "https://…", "method": "GET"}')
        if config.is_async:
            raise _refused("isAsync", "a gateway tool answers within its call, so it cannot be asynchronous")
        gateway.check(config)
    elif config.execution is not None:
        raise _refused("execution", f"only a gateway tool has one; this tool is {config.execution_type}")
    if config.execution_type == "internal" and config.is_async:
        raise _refused("isAsync", "an internal tool is over at once")
    if config.effect is not None and config.execution_type not in ("gateway", "external"):
        raise _refused("effect", f"only gateway and external tools have one; this tool is {config.execution_type}")


def _refused(field: str, problem: str) -> Invalid:
    return Invalid(f"The tool cannot be used like this: {problem}.", fields={field: problem})


def visible_by_default(execution_type: ExecutionType) -> bool:
    return execution_type != "internal"


def hash_of(config: ToolConfig) -> str:
    deeds = config.model_dump(mode="json", include=set(DEEDS))
    if config.effect is not None:  # left out otherwise: what was approved before there were any still counts
        deeds["effect"] = config.effect
    return sha256(orjson.dumps(deeds, option=orjson.OPT_SORT_KEYS)).hexdigest()


def declared(config: ToolConfig) -> tuple[VariableDefinition, ...]:
    """What it says it needs, and what its URL and headers refer to besides."""
    named = {definition.name: definition for definition in config.variables}
    if config.execution is not None:
        for name in variables.references(config.execution.model_dump()):
            named.setdefault(name, VariableDefinition(name=name, type="secret"))
    return tuple(named.values())


def made(config: ToolConfig) -> Tool:
    function, effect = _FUNCTIONS[config.execution_type](config)
    schema = orjson.dumps(config.input_schema)
    return Tool(
        name=config.name,
        description=config.description,
        function=function,
        input_schema=dict(config.input_schema),
        parse=partial(check_arguments, config.name, schema),
        effect=effect,
        visible=config.visible,
        timeout_ms=config.timeout,
        expires_ms=config.expires_after,
        variables=declared(config),
        sent_to=gateway.sent_to(config) if config.execution_type == "gateway" else {},
        awaits=config.execution_type if config.execution_type in ("external", "space") else None,
        is_async=config.is_async,
        carries=gateway.carries(config) if config.execution_type == "gateway" else None,
        use=f"gateway:{config.name}" if config.execution_type == "gateway" else "",
        policy=config.policy,
        hash=hash_of(config),
    )


Made = tuple[Callable[..., Any], Effect]
_FUNCTIONS: Mapping[ExecutionType, Callable[[ToolConfig], Made]] = {
    "gateway": gateway.make_function,
    "internal": internal.make_function,
    "external": answered.make_function,
    "space": answered.make_function,
}
