"""What OpenAPI says of a request's fields is what is enforced: every body, every field, every way to get it wrong.

The cases are made from the published schema, so a field or a limit that is new is tried by itself. Each wrong body is
refused with 422, names the field, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.bodies import GOOD, address, bodies, resolved
from tests.driver import Json
from tests.feed.worlds import World

# Good bodies that are refused all the same, here: the office has an owner, who has no password, and Nemo comes once.
REFUSED = {
    "PUT /api/agents/{id}/plans": {422},  # this agent works in one space at a time, and none is named
    "POST /api/setup": {409},
    "POST /api/session": {401},
    "POST /api/me/password": {403},
    "POST /api/invites/look": {404},
    "POST /api/invites/accept": {404},
    "POST /api/people": {201, 409},
    "PATCH /api/webhooks/{id}": {404},
    "PATCH /api/models/{id}": {404},
    "PATCH /api/tasks/{id}": {404},
    "PATCH /api/passages/{id}": {404},
    "POST /api/spaces/{id}/skills/{name}/approve": {409},
    "POST /api/spaces/{id}/skills/{name}/undo": {409},
    "POST /api/tools": {201, 409},
    "POST /api/runs/{run_id}/tool-results": {404},
    "POST /api/pending/{call_id}/resolve": {404},
    "POST /api/pending/{call_id}/progress": {404},
    "POST /api/runs/{id}/retry": {404},
}
# Whatever else is sent is ignored: see wire/requests.py.
LENIENT = {"POST /api/session"}


def here(*values: Any) -> Iterator[tuple[str, Any]]:
    return (("", value) for value in values)


def wrong(schema: Json) -> Iterator[tuple[str, Any]]:
    """Values that a field of this schema must not have, and where the complaint should point within the field."""
    schema = resolved(schema)
    match schema.get("type"):
        case "string":
            yield from here(5, True, [], {})
            if "enum" in schema:
                yield "", "no such thing"
            if "maxLength" in schema:
                yield "", "x" * (schema["maxLength"] + 1)
            if "minLength" in schema:
                yield "", ""
            if "enum" not in schema:
                yield "", "nul \x00"
        case "boolean":
            yield from here("perhaps", 7, [], {})
        case "integer" | "number":
            yield from here("many", [], {})
            if "minimum" in schema:
                yield "", schema["minimum"] - 1
            if "exclusiveMinimum" in schema:
                yield "", schema["exclusiveMinimum"]
            if "maximum" in schema:
                yield "", 2 * schema["maximum"] + 1
        case "array":
            yield from here("x", 5, {"a": 1})
            if "maxItems" in schema:
                yield "", ["x"] * (schema["maxItems"] + 1)
            if schema.get("items"):
                yield from ((f".0{inner}", [value]) for inner, value in wrong(schema["items"]))
        case "object":
            yield from here("x", 5, [])
            for name, inner in schema.get("properties", {}).items():
                yield from ((f".{name}{where}", {name: value}) for where, value in wrong(inner))
            if "properties" in schema:
                yield "?", {"noSuchField": 1}
        case None:
            return  # anything goes: judged by whoever uses it


def cases(route: str, schema: Json) -> Iterator[tuple[str, Json]]:
    """Wrong bodies, and the field that is at fault."""
    good = GOOD[route]
    for name, field in schema["properties"].items():
        for where, value in wrong(field):
            yield f"{name}{where}", {**good, name: value}
    for name in schema.get("required", []):
        yield name, {key: value for key, value in good.items() if key != name}
    if route not in LENIENT:
        yield "noSuchField", {**good, "noSuchField": 1}


@pytest.mark.one_database
@pytest.mark.proves("N4")
async def test_every_body_field_is_validated_and_named_in_the_error(world: World) -> None:
    tried = 0
    for route, schema in bodies():
        method, path = address(route, world)
        for field, body in cases(route, schema):
            response = await world.office.http.request(method, path, json=body)
            told = response.json()
            assert response.status_code == 422, (route, field, body, told)
            named = field.partition("?")[0]  # within an object that refuses unknown fields in its own way
            assert any(name.startswith(named.split(".0")[0]) for name in told["error"]["fields"]), (field, told)
            tried += 1
    assert tried > 350
    untouched = {message["text"] for message in await world.office.messages("team")}
    assert untouched == {message["text"] for message in await world["pia"].items("/spaces/team/messages")}
    assert not {"hello", "x"} & untouched


async def test_every_good_body_is_accepted_in_both_spellings(world: World) -> None:
    for route, _ in bodies():
        method, path = address(route, world)
        for body in (GOOD[route], {snake(name): value for name, value in GOOD[route].items()}):
            response = await world.office.http.request(method, path, json=body)
            expected = REFUSED.get(route, {200, 201, 202, 204})
            assert response.status_code in expected, (route, response.text)


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def test_every_route_with_a_body_has_a_valid_example_here() -> None:
    assert set(GOOD) == {route for route, _ in bodies()}
