"""Schemas that others write: which are refused, and how arguments are checked against one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import orjson
import pytest

from bullpen.errors import BadArguments, Invalid
from bullpen.tools import check_apart
from bullpen.tools.check_apart import CheckApart
from bullpen.tools.json_schema import check_arguments, check_schema
from tests.waiting.dear_schemas import RECURSIVE, nested

DEEP: dict[str, Any] = {"type": "object"}
for _ in range(40):
    DEEP = {"type": "object", "properties": {"a": DEEP}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"q": {"type": "string", "maxLength": 9}}, "required": ["q"]},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "integer"}}},
        {"properties": {"a": {"pattern": "^[a-z]+(-[a-z]{1,20}){0,3}$"}, "b": {"pattern": r"^(ab|cd)+$"}}},
        {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}},  # names, not keywords
    ],
)
def test_a_self_contained_schema_is_accepted(schema: dict[str, Any]) -> None:
    check_schema(schema)


@pytest.mark.proves("D18", "I14")
@pytest.mark.parametrize(
    "schema, why",
    [
        ({"$ref": "http://169.254.169.254/x"}, "only references inside"),
        ({"properties": {"a": {"items": [{"$ref": "file:///etc/passwd"}]}}}, "only references inside"),
        ({"allOf": [{"$dynamicRef": "other.json#x"}]}, "only references inside"),
        ({"properties": {"a": {"$id": "http://evil/", "$ref": "#"}}}, "has an \\$id"),
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, "do not repeat a repeat"),
        ({"properties": {"a": {"pattern": "(x|(y*z)*)*"}}}, "do not repeat a repeat"),
        ({"patternProperties": {"^(.*,){1,}(.*)*$": {}}}, "do not repeat a repeat"),
        ({"properties": {"a": {"pattern": "(?<=a)b"}}}, "no JSON Schema"),
        ({"properties": {"a": {"pattern": "["}}}, "do not repeat a repeat|no JSON Schema"),
        ({"properties": {"a": {"type": "nonsense"}}}, "no JSON Schema"),
        ({"type": "array"}, "type object"),
        ({"description": "x" * 70_000}, "larger than"),
        (DEEP, "nests deeper"),
        ([], "must be an object"),
        ("{}", "must be an object"),
        (None, "must be an object"),
    ],
)
def test_a_dangerous_or_invalid_schema_is_refused_with_a_reason(schema: Any, why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        check_schema(schema)
    assert "inputSchema" in refused.value.fields


def test_invalid_arguments_are_refused_with_place_and_reason() -> None:
    schema = orjson.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    assert check_arguments("count", schema, {"n": 1, "more": [1]}) == {"n": 1, "more": [1]}
    wrong: list[Any] = [{}, {"n": "1"}, [], None, "n"]
    for given in wrong:
        with pytest.raises(BadArguments, match="count"):
            check_arguments("count", schema, given)


def test_camel_and_snake_case_arguments_map_to_the_schemas_names() -> None:
    properties = {"dueDate": {"type": "string"}, "line_no": {"type": "integer"}, "n": {}}
    schema = orjson.dumps({"type": "object", "properties": properties, "additionalProperties": False})
    meant = {"dueDate": "today", "line_no": 4, "n": 1}
    assert check_arguments("note", schema, meant) is meant
    assert check_arguments("note", schema, {"due_date": "today", "lineNo": 4, "n": 1}) == meant
    for both in ({"dueDate": "today", "due_date": "tomorrow"}, {"due-date": "today"}):
        with pytest.raises(BadArguments, match="note"):
            check_arguments("note", schema, both)


CHOICES = {"type": "object", "properties": {"tags": {"items": {"anyOf": [{"const": n} for n in range(400)]}}}}


@pytest.mark.parametrize(
    "schema, arguments",
    [
        (nested(), {"a": "x"}),
        (RECURSIVE, {"n": 1}),
        (CHOICES, {"tags": ["x"] * 400}),
        (CHOICES, {"tags": [7] * 40_000}),
    ],
    ids=["many ways", "recursive", "much to explain", "much to look at"],
)
def test_what_is_not_known_to_be_cheap_is_checked_apart(
    schema: dict[str, Any], arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_apart, "_verdicts", OrderedDict())  # nobody has asked this before
    with pytest.raises(CheckApart):
        check_arguments("sort", orjson.dumps(schema), arguments)
    assert check_arguments("sort", orjson.dumps(CHOICES), {"tags": [7] * 400}), "this is cheap"


def test_names_that_a_schema_tells_apart_are_two_arguments() -> None:
    schema = orjson.dumps({"type": "object", "properties": {"dueDate": {}, "due_date": {}}})
    both = {"dueDate": 1, "due_date": 2, "more": 3}
    assert check_arguments("note", schema, both) == both
