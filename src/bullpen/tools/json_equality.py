"""When two JSON values are equal. Python says that true equals 1; JSON does not.

Used where a repeated answer is told from another one, and by the conditions of policies. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def equal_json(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal_json, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal_json(one[name], other[name]) for name in one)
    return bool(one == other)
