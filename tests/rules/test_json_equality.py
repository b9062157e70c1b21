"""Two values are equal if they are the same JSON."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.tools.json_equality import equal_json

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.0, 1.0, 0.5]) | st.text(max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=1), inner, max_size=3)
)


@pytest.mark.parametrize(
    "one, other, equal",
    [
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (1, 1.0, True),
        ([1], [True], False),
        ({"a": {"b": [0]}}, {"a": {"b": [False]}}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, 2], [1], False),
        ("1", 1, False),
        (None, False, False),
        ([], {}, False),
    ],
)
def test_true_is_not_one_at_any_depth(one: Any, other: Any, equal: bool) -> None:
    assert equal_json(one, other) is equal
    assert equal_json(other, one) is equal


@given(VALUES)
def test_a_value_equals_itself_read_back_from_json(value: Any) -> None:
    assert equal_json(value, orjson.loads(orjson.dumps(value)))
