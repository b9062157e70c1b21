"""How many ways lead through a JSON Schema, counted without going them. Pure, and linear in the schema's size.

Whoever checks arguments goes from a schema to the schemas in it and to those it refers to. Two references to a schema
that has two references itself are four ways; 24 such levels fit into 1.6 KB and are 16 million. Each part is counted
once, after all that it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
ENDLESS: Final = 1 << 40

# What stands under these is a value, not a schema. The first of them are compared with what is given.
_COMPARED: Final = frozenset({"enum", "const"})
_VALUES: Final = _COMPARED | {"default", "examples", "required", "dependentRequired", "type"}
_DEFINITIONS: Final = frozenset({"$defs", "definitions"})  # counted where something refers to them
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
# These go on to a part of what is given. All others, those we do not know too, look at the same thing once more.
_BELOW: Final = frozenset(
    {
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "contains",
    }
)
_LOOKS_TWICE: Final = ("unevaluatedProperties", "unevaluatedItems")  # asks again what its neighbours have looked at


@dataclass(frozen=True, slots=True)
class Paths:
    count: int  # for arguments that go round no loop
    recursive: bool  # it leads back into itself: how many there are depends on the arguments


@dataclass(slots=True)
class _Part:
    own: int
    times: int
    beside: list[int] = field(default_factory=list)  # look at the same value
    below: list[int] = field(default_factory=list)  # look at a part of it


def count_paths(schema: Mapping[str, Any]) -> Paths:
    parts = _read(schema)
    order = _sort(parts, lambda part: [*part.beside, *part.below])
    loops = parts.keys() - set(order)
    rest = _sort({id: parts[id] for id in loops}, lambda part: [other for other in part.beside if other in loops])
    if len(rest) < len(loops):
        return Paths(ENDLESS, recursive=True)  # leads back to itself with nothing left out: of no use to anybody
    counts: dict[int, int] = {}
    for id in [*order, *rest]:
        part = parts[id]
        beside = sum(counts[other] for other in part.beside)
        below = sum(counts[other] for other in part.below if id not in loops or other not in loops)
        counts[id] = min(part.own + part.times * beside + below, ENDLESS)
    return Paths(max(counts.values()), recursive=bool(loops))


def _sort(parts: Mapping[int, _Part], leads_to: Callable[[_Part], Iterable[int]]) -> list[int]:
    """Each after all that it leads to. Those that lead into a loop are left out."""
    waits_for = dict.fromkeys(parts, 0)
    waiting: dict[int, list[int]] = {id: [] for id in parts}
    for id, part in parts.items():
        for other in leads_to(part):
            waits_for[id] += 1
            waiting[other].append(id)
    order = [id for id, left in waits_for.items() if not left]
    for done in order:  # which grows
        for id in waiting[done]:
            waits_for[id] -= 1
            if not waits_for[id]:
                order.append(id)
    return order


def _read(schema: Mapping[str, Any]) -> dict[int, _Part]:
    """All that can be reached from the top, by the identity of its mapping."""
    anchors = dict(_anchors(schema))
    found: dict[int, _Part] = {}
    waiting: list[Mapping[str, Any]] = [schema]
    while waiting:
        given = waiting.pop()
        if id(given) in found:
            continue
        part = found[id(given)] = _Part(1 + _compared(given), 2 if any(name in given for name in _LOOKS_TWICE) else 1)
        for keyword, other in _leads_to(schema, anchors, given):
            (part.below if keyword in _BELOW else part.beside).append(id(other))
            waiting.append(other)
    return found


def _leads_to(
    schema: Mapping[str, Any], anchors: Mapping[str, Mapping[str, Any]], part: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for keyword, value in part.items():
        if keyword in _VALUES or keyword in _DEFINITIONS:
            continue
        if keyword in REFERENCES and isinstance(value, str):
            inner: Iterable[Any] = [_target(schema, anchors, value)]
        elif keyword in _NAMED and isinstance(value, Mapping):
            inner = value.values()
        else:
            inner = value if isinstance(value, list) else [value]
        for other in inner:
            if isinstance(other, Mapping):
                yield keyword, other


def _target(schema: Mapping[str, Any], anchors: Mapping[str, Mapping[str, Any]], reference: str) -> Any:
    pointer = unquote(reference.removeprefix("#"))
    if not pointer.startswith("/"):
        return anchors.get(pointer, schema)
    place: Any = schema
    for written in pointer[1:].split("/"):
        name = written.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping):
            place = place.get(name)
        elif isinstance(place, list) and name.isdecimal() and len(name) < 6 and int(name) < len(place):
            place = place[int(name)]
        else:
            return None
    return place


def _anchors(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(keyword), str):
                    yield part[keyword], part
        waiting += [value for value in _inside(part) if isinstance(value, Mapping | list)]


def _compared(part: Mapping[str, Any]) -> int:
    """How many values are compared with what is given."""
    waiting: list[Any] = [part[keyword] for keyword in _COMPARED if keyword in part]
    count = 0
    while waiting:
        value = waiting.pop()
        count += 1
        waiting += _inside(value)
    return count


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()
