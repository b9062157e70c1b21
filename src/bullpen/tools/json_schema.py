"""JSON Schemas that others write: which are refused, and how arguments are checked against one.

A schema is attacker input. Nothing is ever fetched for it: references stay inside the schema, and the library is told
to stay offline besides. Patterns run in linear time, and those that nest unbounded repeats are refused all the same,
since whoever else reads the schema (a page, an SDK) may run them with a slower engine.

What a check may take is bounded when the schema is defined, by the ways that lead through it and by the size of its
patterns. A check that is known to be small happens here. Any other one, also against a schema that an earlier version
let in, happens in a child process: see tools/check_apart.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson
from pydantic.alias_generators import to_camel, to_snake

from bullpen import patterns
from bullpen.apart.schemas import build_validator, find_errors
from bullpen.errors import BadArguments, Invalid
from bullpen.patterns import BadPattern
from bullpen.tools.check_apart import CheckApart
from bullpen.tools.schema_paths import REFERENCES, count_paths

MAX_BYTES: Final = 65_536
MAX_DEPTH: Final = 32
MAX_PATHS: Final = 5_000
MAX_PATTERNS: Final = 50_000  # letters, of all patterns together
FIELD: Final = "inputSchema"

# What is checked in this process. To see whether arguments fit takes some ten nanoseconds for each way, to say why they
# do not takes some fifty microseconds and nine kilobytes.
LIGHT_PATHS: Final = 1_000
LIGHT_PATTERNS: Final = 10_000
MOST_WORK: Final = 10_000_000  # ways through the schema, times bytes of arguments
MOST_WORK_TO_EXPLAIN: Final = 20_000


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
    if (problem := find_excess(schema)) is not None:
        raise _refused(problem)
    try:
        build_validator(schema)
    except ValueError as error:
        raise _refused(f"is no JSON Schema: {_first_line(error)}") from None


def find_excess(schema: Mapping[str, Any]) -> str | None:
    """What there is too much of, if a check against the schema could take too long. Linear in the schema's size."""
    weight = _weigh(schema)
    if weight.paths > MAX_PATHS:
        return (
            f"can be gone through in more than {MAX_PATHS} ways: nested anyOf, allOf, oneOf and $ref multiply. "
            "Use fewer alternatives, or fewer levels of them"
        )
    if weight.patterns > MAX_PATTERNS:
        return "has patterns that are too large together: use maxLength in place of long repeats"
    return None


@dataclass(frozen=True, slots=True)
class _Weight:
    paths: int
    patterns: int
    recursive: bool

    @property
    def light(self) -> bool:
        return not self.recursive and self.paths <= LIGHT_PATHS and self.patterns <= LIGHT_PATTERNS


def _weigh(schema: Mapping[str, Any]) -> _Weight:
    paths = count_paths(schema)
    try:
        letters = sum(patterns.measure(pattern) for _, part in _walk(schema) for pattern in _patterns(part))
    except (BadPattern, Invalid):  # of an earlier version, which had other rules
        letters = patterns.ENDLESS
    return _Weight(paths.count, letters, paths.recursive)


def _check_part(place: str, part: Mapping[str, Any]) -> None:
    for name in REFERENCES:
        reference = part.get(name)
        if isinstance(reference, str) and not reference.startswith("#"):
            raise _refused(f"refers to {reference[:80]!r} at {place}: only references inside the schema are followed")
    if "$id" in part and place != "the top":
        raise _refused(f"has an $id at {place}: leave it out")
    for pattern in _patterns(part):
        if patterns.is_explosive(pattern):
            raise _refused(f"has the pattern {pattern[:80]!r}, which may take for ever: do not repeat a repeat")


def _patterns(part: Mapping[str, Any]) -> list[str]:
    found = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    if isinstance(part.get("patternProperties"), Mapping):
        found += [str(pattern) for pattern in part["patternProperties"]]
    return found


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


def _refused(problem: str) -> Invalid:
    return Invalid(f"The tool's {FIELD} {problem}.", fields={FIELD: problem})


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]


# ── checking arguments ──────────────────────────────────────────────────────────────────────────────────────────────


def check_arguments(tool: str, schema: bytes, given: Any) -> Mapping[str, Any]:
    """The arguments under the names that the schema has, or BadArguments that says what to write instead.

    Raises CheckApart if that is not known to be cheap; once that is settled, this knows the answer.
    """
    if not isinstance(given, dict):
        raise BadArguments(f"The arguments of {tool} must be a JSON object.")
    meant = _spelled(tool, _names(schema), given)
    arguments = orjson.dumps(meant)
    wrong = _find_errors_here(schema, meant, len(arguments))
    if wrong is None:
        apart = CheckApart(tool, schema, arguments)
        wrong = apart.recall()
        if wrong is None:
            raise apart
    if wrong:
        raise BadArguments(f"The arguments of {tool} do not fit: {'; '.join(wrong)}.")
    return meant


def _find_errors_here(schema: bytes, meant: Mapping[str, Any], size: int) -> list[str] | None:
    """What is wrong with the arguments. None: it may take more than a moment to say."""
    weight = _weight(schema)
    work = weight.paths * size
    if not weight.light or work > MOST_WORK:
        return None
    validator = _validator(schema)
    if validator.is_valid(meant):
        return []
    if work > MOST_WORK_TO_EXPLAIN:
        return None
    return find_errors(validator, meant)


@lru_cache(maxsize=512)
def _weight(schema: bytes) -> _Weight:
    return _weigh(orjson.loads(schema))


@lru_cache(maxsize=128)
def _validator(schema: bytes) -> Any:
    """Only of light ones: it stays in memory."""
    return build_validator(orjson.loads(schema))


@lru_cache(maxsize=512)
def _names(schema: bytes) -> frozenset[str]:
    properties = orjson.loads(schema).get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _spelled(tool: str, names: frozenset[str], given: dict[str, Any]) -> dict[str, Any]:
    """The same object, if it is written as the schema has it; snake_case and camelCase stand for each other.

    One argument in two spellings is refused: a policy would judge one of them, and a server might read the other.
    """
    if names.issuperset(given):
        return given
    meant = {key: _meant(key, names) for key in given}
    spelled: dict[str, str] = {}
    for key, name in meant.items():
        twin = spelled.setdefault(to_snake(name), key)
        if twin != key and not (key in names and twin in names):
            raise BadArguments(f"The arguments of {tool} have both {twin} and {key}, which mean the same. Give one.")
    if meant == {key: key for key in given}:
        return given
    return {meant[key]: value for key, value in given.items()}


def _meant(key: str, names: frozenset[str]) -> str:
    if key in names:
        return key
    return next((other for other in (to_camel(key), to_snake(key)) if other in names), key)
