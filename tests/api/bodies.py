"""Request bodies, from the published schema: a good one for each route, and where to send it in `world`."""

from __future__ import annotations

from collections.abc import Iterator

from tests.driver import Json
from tests.feed.worlds import World
from tests.openapi import read_openapi

# A good body for each route that takes one: the smallest that its schema allows.
GOOD: dict[str, Json] = {
    "POST /api/agents": {"name": "New", "model": "script:echo"},
    "PATCH /api/agents/{id}": {},
    "POST /api/agents/{id}/trigger": {"serviceName": "bell"},
    "PUT /api/agents/{id}/blocks/{label}": {"content": "c"},
    "POST /api/agents/{id}/blocks/{label}/revert": {"version": 1},
    "POST /api/agents/{id}/passages": {"content": "c"},
    "POST /api/spaces/{id}/passages": {"content": "c"},
    "PATCH /api/passages/{id}": {},
    "PUT /api/agents/{id}/goals": {"goals": [{"description": "win"}]},
    "PUT /api/agents/{id}/memories": {"memories": [{"key": "k", "value": "v"}]},
    "PUT /api/agents/{id}/plans": {"plans": [{"name": "n", "instruction": "i", "cron": "0 9 * * *"}]},
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
    "POST /api/models": {"provider": "anthropic"},
    "PATCH /api/models/{id}": {},
    "POST /api/runs/{id}/retry": {"clientRetryId": "once"},
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
    "POST /api/spaces/{id}/skills/{name}/undo": {"hash": "0" * 64},
    "POST /api/spaces/{id}/skills/{name}/invoke": {},
    "POST /api/hooks": {"agentId": "ada", "name": "bell"},
    "POST /api/webhooks": {"url": "http://127.0.0.1:9/"},
    "PATCH /api/webhooks/{id}": {},
    "POST /api/invites": {},
    "POST /api/invites/look": {"code": "x"},
    "POST /api/invites/accept": {"code": "x", "name": "Nemo", "password": "correct horse"},
}
PLACES = {
    "{label}": "mood",
    "{jid}": "tg:-1",
    "skills/{name}": "skills/standup",
    "{name}": "CITY",
    "{space_id}": "team",
    "{member_id}": "psn_otto",
    "{run_id}": "run_none",
    "{call_id}": "call_none",
    "{entry_id}": "1",
}
IDS = {
    "agents": "ada",
    "spaces": "team",
    "people": "psn_otto",
    "webhooks": "whk_none",
    "models": "con_none",
    "bridges": "mem",
    "tasks": "tsk_none",
    "passages": "psg_none",
    "runs": "run_none",
    "messages": "the owner's message",
}


def resolved(schema: Json) -> Json:
    """The schema itself, without null: leaving a field out is always allowed where null is."""
    if "$ref" in schema:
        return resolved(read_openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return resolved({**choice, **{k: v for k, v in schema.items() if k not in ("anyOf", "title")}})
    return schema


def bodies() -> Iterator[tuple[str, Json]]:
    for path, methods in read_openapi()["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            # The form of an upload, and what is said to a hook, have their own tests: tests/files, tests/hooks.
            if "application/json" in content and path != "/hooks/{token}":
                schema = content["application/json"]["schema"]
                yield f"{method.upper()} {path}", resolved(schema)


def address(route: str, world: World) -> tuple[str, str]:
    method, _, path = route.partition(" ")
    path = path.replace("/tools/{name}", "/tools/callDesk")
    for name, value in PLACES.items():
        path = path.replace(name, value)
    noun = path.split("/")[2]
    id = world.messages["owner"]["id"] if noun == "messages" else IDS.get(noun, "")
    return method, path.replace("{id}", id).removeprefix("/api")
