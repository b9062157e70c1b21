"""A copy of a dataclass with some fields changed: `dataclasses.replace` at half the cost.

A run makes dozens of such copies, of classes with up to 38 fields, and the one of the standard library looks at every
field anew. This one keeps by class how to read all of them at once. Types are checked as for the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["replace"]

Shape = tuple[Callable[[Any], Sequence[Any]], Mapping[str, int]]

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value, /, **changes):
        shape = _shape(type(value))
        if shape is None:
            return dataclasses.replace(value, **changes)
        read, places = shape
        values = list(read(value))
        for name, new in changes.items():
            values[places[name]] = new
        return type(value)(*values)


@cache
def _shape(kind: type[Any]) -> Shape | None:
    """How to read all fields, and where each stands. None: they are not simply the arguments of the class, in order."""
    fields = dataclasses.fields(kind)
    if len(fields) < 2 or not all(field.init and not field.kw_only for field in fields):
        return None
    names = [field.name for field in fields]
    return attrgetter(*names), {name: place for place, name in enumerate(names)}
