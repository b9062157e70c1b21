"""From a typed function to a tool: its schema, its checks, its spellings, and what a call may do."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from bullpen.errors import BadArguments, CannotStart, Invalid
from bullpen.tools import Tool, ToolContext, rules, tool
from bullpen.tools.registry import Registry
from bullpen.tools.types import Effect


@tool(aliases={"spaceId": ["channelId"]})
async def paint(
    context: ToolContext,
    space_id: str,
    brush_size: Annotated[int, Field(ge=1, le=9, description="In points.")] = 3,
    title: str | None = None,
) -> dict[str, Any]:
    """Paint the wall.

    Twice, if need be.
    """
    return {}


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    assert (paint.name, paint.description) == ("paint", "Paint the wall.\n\nTwice, if need be.")
    assert paint.input_schema == {
        "type": "object",
        "properties": {
            "spaceId": {"type": "string"},
            "brushSize": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "In points."},
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["spaceId"],
        "additionalProperties": False,
    }
    assert (paint.effect, paint.visible, paint.timeout_ms, paint.act) == ("once", False, 30_000, "acted")


@pytest.mark.parametrize(
    "given_, expected",
    [
        ({"spaceId": "a"}, ("a", 3, None)),
        ({"space_id": "a", "brush_size": 4}, ("a", 4, None)),
        ({"channelId": "a", "title": "t"}, ("a", 3, "t")),
        ({"channel_id": "a", "brushSize": 9, "title": None}, ("a", 9, None)),
        ({"spaceId": "a", "channelId": "a"}, ("a", 3, None)),
    ],
)
def test_every_spelling_of_an_argument_is_understood(given_: dict[str, Any], expected: tuple[Any, ...]) -> None:
    args = paint.parse(given_)
    assert (args["space_id"], args["brush_size"], args["title"]) == expected


@pytest.mark.parametrize(
    "given_, why",
    [
        ({}, "spaceId: Field required"),
        ({"spaceId": "a", "channelId": "b"}, "channelId says the same as spaceId, with another value"),
        ({"spaceId": 1}, "spaceId: Input should be a valid string"),
        ({"spaceId": "a", "brushSize": "3"}, "brushSize: Input should be a valid integer"),
        ({"spaceId": "a", "brushSize": 3.0}, "brushSize: Input should be a valid integer"),
        ({"spaceId": "a", "brushSize": True}, "brushSize: Input should be a valid integer"),
        ({"spaceId": "a", "brushSize": 10}, "brushSize: Input should be less than or equal to 9"),
        ({"spaceId": "a", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"spaceId": "a", "context": {}}, "context: Extra inputs are not permitted"),
        ([], "must be a JSON object"),
        ("spaceId", "must be a JSON object"),
        (None, "must be a JSON object"),
    ],
)
def test_invalid_tool_arguments_are_refused_with_the_reason(given_: Any, why: str) -> None:
    with pytest.raises(BadArguments) as caught:
        paint.parse(given_)
    assert why in caught.value.message


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.sampled_from(["spaceId", "channelId", "brushSize", "title", "x"]), JSON))
def test_arguments_are_accepted_or_refused_and_nothing_else(given_: dict[str, Any]) -> None:
    try:
        args = paint.parse(given_)
    except BadArguments:
        return
    assert isinstance(args["space_id"], str)
    assert 1 <= args["brush_size"] <= 9


def named(name: str) -> Tool:
    async def function(context: ToolContext) -> None:
        """Nothing."""

    function.__name__ = name
    return tool()(function)


def test_an_agent_gets_its_listed_tools_in_order_without_duplicates() -> None:
    registry = Registry({"one": [named("a"), named("b")], "two": [named("c")]})
    assert registry.names == ["a", "b", "c"]
    assert [found.name for found in registry.listed(["c", "one", "a", "gone"])] == ["c", "a", "b"]
    assert registry.listed([]) == []
    registry.check(["one", "c"])
    with pytest.raises(Invalid, match=r"no tool or family named 'gone'. Known: one, two, a, b, c"):
        registry.check(["a", "gone"])


def test_two_tools_with_one_name_stop_the_server() -> None:
    with pytest.raises(CannotStart, match=r"Two tools are named 'a': in .*test_tools.py"):
        Registry({"one": [named("a")], "two": [named("a")]})


@pytest.mark.parametrize("effect, again", [("tx", True), ("pure", True), ("idempotent", True), ("once", False)])
def test_only_repeatable_tools_run_again_after_a_crash(effect: Effect, again: bool) -> None:
    async def function(context: ToolContext) -> None:
        """Nothing."""

    assert rules.may_run_again(tool(effect=effect)(function)) is again
