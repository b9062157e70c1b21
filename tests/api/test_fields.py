"""What OpenAPI says of a request's fields is what is enforced: every body, every field, every way to get it wrong.

The cases are made from the published schema, so a field or a limit that is new is tried by itself. Each wrong body is
refused with 422, names the field, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from bullpen.api.server import build
from tests.driver import Json
from tests.feed.worlds import World

# A good body for each route that takes one: the smallest that its schema allows.
GOOD: dict[str, Json] = {
    "POST /api/agents": {"name": "New", "model": "script:echo"},
    "PATCH /api/agents/{id}": {},
    "POST /api/agents/{id}/trigger": {"serviceName": "bell"},
    "PUT /api/agents/{id}/blocks/{label}": {"content": "c"},
    "POST /api/agents/{id}/passages": {"content": "c"},
    "POST /api/spaces": {},
    "PATCH /api/spaces/{id}": {},
    "POST /api/spaces/{id}/members": {"memberId": "psn_otto"},
    "POST /api/spaces/{id}/read": {"seq": 0},
    "POST /api/spaces/{space_id}/messages": {"text": "hello"},
    "PATCH /api/messages/{id}": {"text": "hello"},
    "POST /api/messages/{id}/reactions": {"emoji": "👍"},
    "POST /api/tokens": {"name": "t"},
    "POST /api/apply": {},
    "POST /api/spaces/{id}/preview": {"text": "hello"},
    "POST /api/setup": {"code": "x", "name": "Nemo", "password": "correct horse"},
    "POST /api/session": {"name": "Nemo", "password": "correct horse"},
    "POST /api/me/password": {"current": "x", "password": "correct horse"},
    "POST /api/people": {"name": "Nemo"},
    "PATCH /api/people/{id}": {},
    "PUT /api/variables/{name}": {"value": "Rome"},
    "POST /api/tools": {"name": "new", "description": "d", "inputSchema": {}, "executionType": "internal"},
    "PATCH /api/tools/{name}": {},
    "POST /api/runs/{run_id}/tool-results": {"callId": "call_none", "result": 1},
    "POST /api/pending/{call_id}/resolve": {"result": 1},
    "POST /api/pending/{call_id}/progress": {},
    "POST /api/models/check": {"model": "script:echo"},
    "PUT /api/policies": {"agentId": "ada", "toolName": "send_message", "decision": "allow"},
    "PUT /api/budgets": {"kind": "agent", "subjectId": "ada", "period": "day", "unit": "USD", "amount": 5},
    "POST /api/tasks": {
        "spaceId": "team",
        "agentId": "ada",
        "prompt": "look",
        "scheduleType": "interval",
        "scheduleValue": "1h",
    },
    "PATCH /api/tasks/{id}": {},
    "PUT /api/chats/{jid}": {"name": "Family"},
    "PUT /api/spaces/{id}/skills/{name}": {"description": "Who did what", "instructions": "Ask everybody."},
    "POST /api/spaces/{id}/skills/import": {"text": "---\nname: standup\ndescription: Who did what\n---\nAsk."},
    "POST /api/spaces/{id}/skills/{name}/approve": {"hash": "0" * 64},
    "POST /api/spaces/{id}/skills/{name}/invoke": {},
    "POST /api/hooks": {"agentId": "ada", "name": "bell"},
    "POST /api/webhooks": {"url": "http://127.0.0.1:9/"},
    "PATCH /api/webhooks/{id}": {},
    "POST /api/invites": {},
    "POST /api/invites/accept": {"code": "x", "name": "Nemo", "password": "correct horse"},
}
# Good bodies that are refused all the same, here: the office has an owner, who has no password, and Nemo comes once.
REFUSED = {
    "POST /api/setup": {409},
    "POST /api/session": {401},
    "POST /api/me/password": {403},
    "POST /api/invites/accept": {404},
    "POST /api/people": {201, 409},
    "PATCH /api/webhooks/{id}": {404},
    "PATCH /api/tasks/{id}": {404},
    "POST /api/spaces/{id}/skills/{name}/approve": {409},
    "POST /api/tools": {201, 409},
    "POST /api/runs/{run_id}/tool-results": {404},
    "POST /api/pending/{call_id}/resolve": {404},
    "POST /api/pending/{call_id}/progress": {404},
}
# Whatever else is sent is ignored: see wire/requests.py.
LENIENT = {"POST /api/session"}
PLACES = {
    "{label}": "mood",
    "{jid}": "tg:-1",
    "skills/{name}": "skills/standup",
    "{name}": "CITY",
    "{space_id}": "team",
    "{member_id}": "psn_otto",
    "{run_id}": "run_none",
    "{call_id}": "call_none",
}
IDS = {
    "agents": "ada",
    "spaces": "team",
    "people": "psn_otto",
    "webhooks": "whk_none",
    "tasks": "tsk_none",
    "messages": "the owner's message",
}


@cache
def api() -> Json:
    return build(None).openapi()


def resolved(schema: Json) -> Json:
    """The schema itself, without null: leaving a field out is always allowed where null is."""
    if "$ref" in schema:
        return resolved(api()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return resolved({**choice, **{k: v for k, v in schema.items() if k not in ("anyOf", "title")}})
    return schema


def bodies() -> Iterator[tuple[str, Json]]:
    for path, methods in api()["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            # The form of an upload, and what is said to a hook, have their own tests: tests/files, tests/hooks.
            if "application/json" in content and path != "/hooks/{token}":
                schema = content["application/json"]["schema"]
                yield f"{method.upper()} {path}", resolved(schema)


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


def address(route: str, world: World) -> tuple[str, str]:
    method, _, path = route.partition(" ")
    path = path.replace("/tools/{name}", "/tools/callDesk")
    for name, value in PLACES.items():
        path = path.replace(name, value)
    noun = path.split("/")[2]
    id = world.messages["owner"]["id"] if noun == "messages" else IDS.get(noun, "")
    return method, path.replace("{id}", id).removeprefix("/api")


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
