"""Copies with some fields changed are what dataclasses.replace makes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest

from bullpen.replacing import make, replace


@dataclass(frozen=True, slots=True)
class Pair:
    left: int
    right: str = "r"


@dataclass(frozen=True)
class Triple(Pair):
    more: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Open:
    """Its fields are copied together."""

    left: int
    right: str = "r"
    more: list[int] = field(default_factory=list)


@dataclass
class Named:
    one: int
    two: int = field(default=2, kw_only=True)


@dataclass
class Counted:
    one: int
    seen: int = field(default=0, init=False)


@pytest.mark.parametrize(
    "value, changes",
    [
        (Pair(1), {"left": 2}),
        (Pair(1, "x"), {}),
        (Triple(1, "x", [3]), {"right": "y", "more": [4]}),
        (Open(1), {}),
        (Open(1, "x", [3]), {"right": "y"}),
        (Named(1, two=3), {"one": 5}),
        (Counted(1), {"one": 5}),
    ],
)
def test_a_copy_is_what_the_standard_library_makes(value: Any, changes: dict[str, Any]) -> None:
    copy, wanted = replace(value, **changes), dataclasses.replace(value, **changes)
    assert (copy, type(copy)) == (wanted, type(wanted))


def test_what_is_not_changed_is_shared() -> None:
    value, open_value = Triple(1, "x", [3]), Open(1, "x", [3])
    assert replace(value, left=2).more is value.more
    assert replace(open_value, left=2).more is open_value.more
    assert open_value.left == 1


@pytest.mark.parametrize("value", [Pair(1), Open(1)])
def test_an_unknown_field_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, KeyError), match="middle"):
        replace(value, middle=1)


def test_an_open_object_is_made_of_its_fields() -> None:
    assert make(Open, {"left": 1, "right": "x", "more": []}) == Open(1, "x", [])
