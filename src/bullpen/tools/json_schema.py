"""JSON Schemas that others write: which are refused, and how arguments are checked against one.

A schema is attacker input. Nothing is ever fetched for it: references stay inside the schema, and the library is told
to stay offline besides. Patterns run in linear time, and those that nest unbounded repeats are refused all the same,
since whoever else reads the schema (a page, an SDK) may run them with a slower engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import orjson
from pydantic.alias_generators import to_camel, to_snake

from bullpen.errors import BadArguments, Invalid

# How the standard library reads a pattern. It is not typed, and has no public name.
_parser: Final[Any] = import_module("re._parser")
_constants: Final[Any] = import_module("re._constants")

MAX_BYTES: Final = 65_536
MAX_DEPTH: Final = 32
MAX_COMPILED: Final = 1_000_000  # bytes that one pattern may take when it is compiled
MANY: Final = 10  # a repeat that often may as well be without bound, for what is inside
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
FIELD: Final = "inputSchema"


def check_schema(schema: Any) -> None:
    """Return, or raise Invalid with a sentence that says what to write instead."""
    if not isinstance(schema, Mapping):
        raise _refused('must be an object, as in {"type": "object", "properties": {…}}')
    if len(orjson.dumps(schema)) > MAX_BYTES:
        raise _refused(f"is larger than {MAX_BYTES} bytes")
    if schema.get("type", "object") != "object":
        raise _refused("must have the type object: a tool's arguments have names")
    for place, inner in _walk(schema):
        _check_part(place, inner)
    try:
        _validator(orjson.dumps(schema))
    except ValueError as error:
        raise _refused(f"is no JSON Schema: {_first_line(error)}") from None


def _check_part(place: str, part: Mapping[str, Any]) -> None:
    for name in REFERENCES:
        reference = part.get(name)
        if isinstance(reference, str) and not reference.startswith("#"):
            raise _refused(f"refers to {reference[:80]!r} at {place}: only references inside the schema are followed")
    if "$id" in part and place != "the top":
        raise _refused(f"has an $id at {place}: leave it out")
    patterns = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    if isinstance(part.get("patternProperties"), Mapping):
        patterns += [str(pattern) for pattern in part["patternProperties"]]
    for pattern in patterns:
        if _is_explosive(pattern):
            raise _refused(f"has the pattern {pattern[:80]!r}, which may take for ever: do not repeat a repeat")


def _walk(schema: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    level: list[tuple[str, Any]] = [("the top", schema)]
    for _ in range(MAX_DEPTH):
        inner: list[tuple[str, Any]] = []
        for place, part in level:
            if isinstance(part, Mapping):
                yield place, part
                inner += [(str(name), value) for name, value in part.items() if isinstance(value, Mapping | list)]
            else:
                inner += [(place, value) for value in part if isinstance(value, Mapping | list)]
        level = inner
        if not level:
            return
    raise _refused(f"nests deeper than {MAX_DEPTH} levels")


def _is_explosive(pattern: str) -> bool:
    """Does it repeat, often, something that itself repeats without bound? Unreadable counts as yes.

    Alternatives that begin alike, as in (a|aa)*, are not seen: that is no simple question, and our engine is linear.
    """
    try:
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return True
    return _nests(parsed, inside=False)


def _nests(parsed: Any, *, inside: bool) -> bool:
    for operator, argument in parsed:
        name = str(operator)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, repeated = argument
            unbounded = most == _constants.MAXREPEAT
            if (unbounded and inside) or _nests(repeated, inside=inside or most >= MANY):
                return True
        elif any(_nests(part, inside=inside) for part in _parts(name, argument)):
            return True
    return False


def _parts(name: str, argument: Any) -> list[Any]:
    if name == "SUBPATTERN":
        return [argument[-1]]
    if name == "BRANCH":
        return list(argument[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    if name == "ATOMIC_GROUP":
        return [argument]
    return []


def _refused(problem: str) -> Invalid:
    return Invalid(f"The tool's {FIELD} {problem}.", fields={FIELD: problem})


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]


# ── checking arguments ──────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema),
        offline=True,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED),
        validate_formats=False,
    )


def check_arguments(tool: str, schema: bytes, given: Any) -> Mapping[str, Any]:
    """The arguments under the names that the schema has, or BadArguments that says what to write instead."""
    if not isinstance(given, dict):
        raise BadArguments(f"The arguments of {tool} must be a JSON object.")
    meant = _spelled(_names(schema), given)
    wrong = []
    for error in _validator(schema).iter_errors(meant):
        where = ".".join(str(part) for part in error.instance_path) or "arguments"
        wrong.append(f"{where}: {error.message[:200]}")
        if len(wrong) == 8:
            break
    if wrong:
        raise BadArguments(f"The arguments of {tool} do not fit: {'; '.join(wrong)}.")
    return meant


@lru_cache(maxsize=512)
def _names(schema: bytes) -> frozenset[str]:
    properties = orjson.loads(schema).get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _spelled(names: frozenset[str], given: dict[str, Any]) -> dict[str, Any]:
    """The same object, if it is written as the schema has it; snake_case and camelCase stand for each other."""
    if names.issuperset(given):
        return given
    meant = {key: _meant(key, names) for key in given}
    if meant == {key: key for key in given} or len(set(meant.values())) < len(meant):
        return given
    return {meant[key]: value for key, value in given.items()}


def _meant(key: str, names: frozenset[str]) -> str:
    if key in names:
        return key
    return next((other for other in (to_camel(key), to_snake(key)) if other in names), key)
