"""Who may use which route: every route of the router, as every kind of caller. A route without a row fails.

The rows are about `team`, a private space of the owner, Pia and Ada, and about what is Ada's; a second table is about
`ring`, which is public, and other things. Callers stand in rising order of what they may do; each who may gets a
fresh thing to try it on.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from bullpen.testing import snapshot
from tests.bridges.chats import bury
from tests.driver import Api, Json
from tests.feed.streams import following
from tests.feed.worlds import World
from tests.files.offering import give, picture
from tests.openapi import find_response_models, list_routes

# No token, a wrong one, a token for tools, another agent, an outsider, an admin who is an outsider too, a member, the
# agent, the owner with a token that may only read, the owner.
CALLERS = ("none", "wrong", "tools", "pong", "otto", "anna", "pia", "ada", "reader", "owner")
Statuses = tuple[int, ...]


def statuses(written: str) -> Statuses:
    found = tuple(int(status) for status in written.split())
    assert len(found) == len(CALLERS)
    return found


#                     none wrong tools pong otto anna pia ada reader owner
ANYBODY = statuses("   200  200   200  200  200  200 200 200   200   200")
EVERYBODY = statuses(" 401  401   200  200  200  200 200 200   200   200")
PEOPLE = statuses("    401  401   403  403  200  200 200 403   200   200")
SERVED = statuses("    401  401   200  403  200  200 200 403   200   200")  # and a token that answers its calls
MAKERS = statuses("    401  401   403  403  200  200 200 403   403   200")
MANAGERS = statuses("  401  401   403  403  403  200 403 403   403   200")
OWNERS = statuses("    401  401   403  403  403  403 403 403   403   200")
OWN = statuses("       401  401   403  403  403  200 403 200   403   200")  # the agent's own, and the managers'
AGENTS_SEEN = statuses("401 401  404  200  200  200 200 200   200   200")  # all who may know of the agent
PLANNERS = statuses("  401  401   403  403  403  404 403 200   403   200")  # the same, if they are in the space
INSIDE = statuses("    401  401   404  404  404  404 200 200   200   200")
SPEAK = statuses("     401  401   404  404  404  404 200 200   403   200")
MANAGE = statuses("    401  401   404  404  404  404 200 403   403   200")
KEEP = statuses("      401  401   404  404  404  404 403 403   403   200")  # whoever made the space
AUTHOR = statuses("    401  401   404  404  404  404 200 403   403   403")
CARD = statuses("      401  401   403  403  403  403 200 403   403   200")  # the people there
PROGRAM = statuses("   401  401   200  403  403  403 403 200   403   200")  # the agent, its programs, owners
UNSEEN = statuses("    401  401   200  404  404  404 404 200   404   200")  # the same, for those who may look
OWN_WEBHOOK = statuses("401 401 404  404  404  404 200 404   404   403")
OTHERS_RUN = statuses("401  401   404  404  404  404 403 403   403   200")  # of somebody else: the managers'
JOURNAL = statuses("   401  401   404  404  404  404 403 200   403   200")

_numbers = itertools.count(1)


def fresh(prefix: str) -> str:
    return f"{prefix}{next(_numbers)}"


def answers(statuses: Statuses, success: int) -> Statuses:
    """The same, for a route whose success is not 200."""
    return tuple(success if status == 200 else status for status in statuses)


Prepare = Callable[[World, str], Awaitable[tuple[str, Json | None]]]


@dataclass(frozen=True, slots=True)
class Row:
    statuses: Statuses
    prepare: Prepare


def on(path: str, body: Json | None = None) -> Prepare:
    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        return path.format(**{f"{place}_run": id for place, id in world.runs.items()}), body

    return prepare


async def new_agent(world: World, caller: str) -> tuple[str, Json | None]:
    return "/agents", {"id": fresh("agent"), "name": "New", "model": "script:echo"}


async def agent_to_delete(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.agent(fresh("agent"), steps=[])
    return f"/agents/{made['id']}", None


async def block(world: World, caller: str) -> tuple[str, Json | None]:
    await world.office.ask("PUT", "/agents/ada/blocks/mood", json={"content": "calm"})
    return "/agents/ada/blocks/mood", None


async def block_history(world: World, caller: str) -> tuple[str, Json | None]:
    path, _ = await block(world, caller)
    return f"{path}/history", None


async def block_to_revert(world: World, caller: str) -> tuple[str, Json | None]:
    path, _ = await block(world, caller)
    return f"{path}/revert", {"version": 1}


async def goal(world: World, caller: str) -> tuple[str, Json | None]:
    await world.office.ask("PUT", "/agents/ada/goals", json={"goals": [{"id": "g", "description": "win"}]})
    return "/agents/ada/goals/g", None


async def kept_memory(world: World, caller: str) -> tuple[str, Json | None]:
    await world.office.ask("PUT", "/agents/ada/memories", json={"memories": [{"key": "k", "value": "v"}]})
    return "/agents/ada/memories?key=k", None


DAILY = {"id": "p", "name": "n", "instruction": "i", "cron": "0 9 * * *"}


async def plan(world: World, caller: str) -> tuple[str, Json | None]:
    await world.office.ask("PUT", "/agents/ada/plans", params={"spaceId": "lobby"}, json={"plans": [DAILY]})
    return "/agents/ada/plans/p", None


async def new_passage(world: World, caller: str) -> tuple[str, Json | None]:
    return "/agents/ada/passages", {"content": fresh("fact ")}


async def new_passage_of_team(world: World, caller: str) -> tuple[str, Json | None]:
    return "/spaces/team/passages", {"content": fresh("fact ")}


def passage_of_team(body: Json | None = None) -> Prepare:
    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        made = await world.office.create("/spaces/team/passages", {"content": fresh("fact ")})
        return f"/passages/{made['id']}", body

    return prepare


async def new_space(world: World, caller: str) -> tuple[str, Json | None]:
    return "/spaces", {"id": fresh("space")}


async def new_member(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.agent(fresh("agent"), steps=[])
    return "/spaces/team/members", {"memberId": made["id"]}


async def old_member(world: World, caller: str) -> tuple[str, Json | None]:
    _, body = await new_member(world, caller)
    assert body is not None
    await world.office.create("/spaces/team/members", body)
    return f"/spaces/team/members/{body['memberId']}", None


async def pias_message(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world["pia"].create("/spaces/team/messages", {"text": "hers"})
    return f"/messages/{made['id']}", {"text": "changed"}


async def deletable(world: World, caller: str) -> tuple[str, Json | None]:
    return (await pias_message(world, caller))[0], None


async def unpinned(world: World, caller: str) -> tuple[str, Json | None]:
    path, _ = await pias_message(world, caller)
    return f"{path}/pin", None


async def pinned(world: World, caller: str) -> tuple[str, Json | None]:
    path, _ = await unpinned(world, caller)
    await world.office.ask("PUT", path)
    return path, None


async def reaction(world: World, caller: str) -> tuple[str, Json | None]:
    path, _ = await pias_message(world, caller)
    return f"{path}/reactions", {"emoji": "👍"}


async def own_reaction(world: World, caller: str) -> tuple[str, Json | None]:
    path, body = await reaction(world, caller)
    if caller in ("pia", "ada", "owner"):
        await world[caller].create(path, body or {})
    return f"{path}/👍", None


async def new_token(world: World, caller: str) -> tuple[str, Json | None]:
    return "/tokens", {"name": "one more", "agentId": "ada"}


async def set_variable(world: World, caller: str) -> tuple[str, Json | None]:
    await world.office.ask("PUT", "/variables/CITY", json={"value": "Rome"})
    return "/variables/CITY", None


async def set_policy(world: World, caller: str) -> tuple[str, Json | None]:
    body = {"agentId": "ada", "toolName": "send_message", "decision": "allow"}
    return f"/policies/{(await world.office.ask('PUT', '/policies', json=body))['id']}", None


async def set_budget(world: World, caller: str) -> tuple[str, Json | None]:
    body = {"kind": "agent", "subjectId": "ada", "amount": 5}
    return f"/budgets/{(await world.office.ask('PUT', '/budgets', json=body))['id']}", None


async def old_token(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/tokens", {"name": "short", "agentId": "ada"})
    return f"/tokens/{made['id']}", None


async def new_person(world: World, caller: str) -> tuple[str, Json | None]:
    return "/people", {"name": fresh("Somebody ")}


async def some_person(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/people", {"name": fresh("Somebody ")})
    return f"/people/{made['id']}", {"disabled": True}


async def seen_person(world: World, caller: str) -> tuple[str, Json | None]:
    return (await some_person(world, caller))[0], None


async def old_invite(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/invites", {})
    return f"/invites/{made['id']}", None


async def open_invite(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/invites", {})
    return "/invites/accept", {"code": made["code"], "name": fresh("Guest "), "password": "correct horse"}


async def invite_to_look_at(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/invites", {})
    return "/invites/look", {"code": made["code"]}


async def no_session(world: World, caller: str) -> tuple[str, Json | None]:
    return "/sessions/ses_none", None


async def portrait(world: World, caller: str) -> tuple[str, Json | None]:
    made = await give(world.office, picture(size=(8, 8)))
    await world.office.ask("PATCH", f"/people/{world.office.owner_id}", json={"avatar": made["id"]})
    return f"/avatars/{world.office.owner_id}", None


async def unknown_name(world: World, caller: str) -> tuple[str, Json | None]:
    return "/session", {"name": fresh("Nemo "), "password": "correct horse"}


async def message_to_ask_about(world: World, caller: str) -> tuple[str, Json | None]:
    return f"/messages/{world.messages['pia']['id']}/why", None


async def space_to_erase(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.space(fresh("space"))
    return f"/spaces/{made['id']}", None


async def person_to_erase(world: World, caller: str) -> tuple[str, Json | None]:
    return f"{(await some_person(world, caller))[0]}/erase", None


async def agent_to_erase(world: World, caller: str) -> tuple[str, Json | None]:
    return f"{(await agent_to_delete(world, caller))[0]}/erase", None


async def pias_file(world: World, caller: str) -> tuple[str, Json | None]:
    made = await give(world["pia"], space="team")
    return f"/files/{made['id']}", None


async def pias_picture(world: World, caller: str) -> tuple[str, Json | None]:
    made = await give(world["pia"], picture(size=(8, 8)), space="team")
    return f"/files/{made['id']}/thumbnail", None


async def pias_content(world: World, caller: str) -> tuple[str, Json | None]:
    return f"{(await pias_file(world, caller))[0]}/content", None


async def pias_own_file(world: World, caller: str) -> tuple[str, Json | None]:
    return f"/files/{(await give(world['pia']))['id']}", None


async def new_tool(world: World, caller: str) -> tuple[str, Json | None]:
    return "/tools", {"name": fresh("tool"), "description": "d", "inputSchema": {}, "executionType": "internal"}


async def old_tool(world: World, caller: str) -> tuple[str, Json | None]:
    path, body = await new_tool(world, caller)
    return f"{path}/{(await world.office.create(path, body or {}))['name']}", {"description": "other"}


async def tool_to_delete(world: World, caller: str) -> tuple[str, Json | None]:
    return (await old_tool(world, caller))[0], None


def about(text: str, deed: str = "", body: Json | None = None) -> Prepare:
    """Something to do with a call of Ada's that waits for somebody."""

    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        return f"/pending/{(await world.open_call(text))['callId']}{deed}", body

    return prepare


async def result(world: World, caller: str) -> tuple[str, Json | None]:
    call = await world.open_call()
    return f"/runs/{call['runId']}/tool-results", {"callId": call["callId"], "result": 1}


def pias_task(deed: str = "", body: Json | None = None) -> Prepare:
    """Something to do with a task that Pia has given Ada."""

    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        made = await world["pia"].create("/tasks", HOURLY)
        if deed == "/resume":
            await world["pia"].create(f"/tasks/{made['id']}/pause", {})
        return f"/tasks/{made['id']}{deed}", body

    return prepare


HOURLY = {"spaceId": "team", "agentId": "ada", "prompt": "look", "scheduleType": "interval", "scheduleValue": "1h"}


STANDUP = {"description": "Who did what", "instructions": "Ask everybody."}


def pias_skill(deed: str = "", body: Json | None = None) -> Prepare:
    """Something to do with a skill that Pia has stored, and that Ada would change."""

    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        path = f"/spaces/team/skills/{fresh('skill')}"
        await world["pia"].ask("PUT", path, json=STANDUP)
        proposed = await world["ada"].ask("PUT", path, json={**STANDUP, "instructions": fresh("Ask nobody ")})
        given = {"hash": proposed["proposal"]["hash"]} if deed == "/approve" else body
        return f"{path}{deed}", given

    return prepare


async def skill_file(world: World, caller: str) -> tuple[str, Json | None]:
    return "/spaces/team/skills/import", {"text": f"---\nname: {fresh('skill')}\ndescription: d\n---\nDo it."}


def a_connection(deed: str = "", body: Json | None = None) -> Prepare:
    """One that is there for each who asks, at an address that nobody has opened."""

    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        for each in await world.office.items("/models"):
            await world.office.ask("DELETE", f"/models/{each['id']}")
        asked = {"provider": "openai-chat", "name": "Local", "baseUrl": "http://127.0.0.1:9/v1"}
        made = await world.office.create("/models", asked)
        return f"/models/{made['id']}{deed}", body

    return prepare


async def old_hook(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/hooks", {"agentId": "ada", "name": "bell"})
    return f"/hooks/{made['id']}", None


async def rung(world: World, caller: str) -> tuple[str, Json | None]:
    made = await world.office.create("/hooks", {"agentId": "ada", "name": "bell"})
    return f"http://office/hooks/{made['url'].rpartition('/')[2]}", {"text": "it rings"}


def pias_webhook(deed: str = "", body: Json | None = None) -> Prepare:
    """It leads to where nothing may be asked, so nothing is."""

    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        pia = world["pia"]
        there = await pia.items("/webhooks")
        made = there[0] if there else await pia.create("/webhooks", {"url": "http://127.0.0.1:9/"})
        return f"/webhooks/{made['id']}{deed}", body

    return prepare


def dead_entry(deed: str = "") -> Prepare:
    """Something that could not be sent by a bridge that was connected once."""

    async def prepare(world: World, caller: str) -> tuple[str, Json | None]:
        return f"/bridges/mem/dead/{await bury(world.office, fresh('msg'))}{deed}", None

    return prepare


async def dead_entries(world: World, caller: str) -> tuple[str, Json | None]:
    await bury(world.office, fresh("msg"))
    return "/bridges/mem/dead", None


async def paused(world: World, caller: str) -> tuple[str, Json | None]:
    await world.office.create("/agents/ping/pause", {})
    return "/agents/ping/resume", None


TABLE: dict[str, Row] = {
    "POST /api/agents": Row(answers(MANAGERS, 201), new_agent),
    "GET /api/agents": Row(EVERYBODY, on("/agents")),
    "GET /api/agents/{id}": Row(statuses("401 401 404 200 200 200 200 200 200 200"), on("/agents/ada")),
    "PATCH /api/agents/{id}": Row(MANAGERS, on("/agents/ada", {"description": "d"})),
    "DELETE /api/agents/{id}": Row(answers(MANAGERS, 204), agent_to_delete),
    "POST /api/agents/pause": Row(MANAGERS, on("/agents/pause")),
    "POST /api/agents/resume": Row(MANAGERS, on("/agents/resume")),
    "POST /api/agents/{id}/pause": Row(MANAGERS, on("/agents/ping/pause")),
    "POST /api/agents/{id}/resume": Row(MANAGERS, paused),
    "GET /api/agents/{id}/prompt": Row(OWN, on("/agents/ada/prompt")),
    "GET /api/agents/{id}/instructions/history": Row(OWN, on("/agents/ada/instructions/history")),
    "GET /api/agents/{id}/inbox": Row(OWN, on("/agents/ada/inbox")),
    "POST /api/agents/{id}/trigger": Row(answers(MANAGERS, 202), on("/agents/ada/trigger", {"serviceName": "bell"})),
    "GET /api/agents/{id}/blocks": Row(OWN, on("/agents/ada/blocks")),
    "GET /api/agents/{id}/blocks/{label}": Row(OWN, block),
    "PUT /api/agents/{id}/blocks/{label}": Row(OWN, on("/agents/ada/blocks/mood", {"content": "wild"})),
    "DELETE /api/agents/{id}/blocks/{label}": Row(answers(OWN, 204), block),
    "GET /api/agents/{id}/blocks/{label}/history": Row(OWN, block_history),
    "POST /api/agents/{id}/blocks/{label}/revert": Row(OWN, block_to_revert),
    "GET /api/agents/{id}/passages": Row(AGENTS_SEEN, on("/agents/ada/passages")),
    "POST /api/agents/{id}/passages": Row(answers(OWN, 201), new_passage),
    "GET /api/spaces/{id}/passages": Row(INSIDE, on("/spaces/team/passages")),
    "POST /api/spaces/{id}/passages": Row(answers(SPEAK, 201), new_passage_of_team),
    "GET /api/passages/{id}": Row(INSIDE, passage_of_team()),
    "PATCH /api/passages/{id}": Row(SPEAK, passage_of_team({"tags": ["corrected"]})),
    "DELETE /api/passages/{id}": Row(answers(SPEAK, 204), passage_of_team()),
    "GET /api/agents/{id}/goals": Row(OWN, on("/agents/ada/goals")),
    "PUT /api/agents/{id}/goals": Row(OWN, on("/agents/ada/goals", {"goals": [{"description": "win"}]})),
    "DELETE /api/agents/{id}/goals/{goalId}": Row(answers(OWN, 204), goal),
    "GET /api/agents/{id}/memories": Row(OWN, on("/agents/ada/memories")),
    "PUT /api/agents/{id}/memories": Row(OWN, on("/agents/ada/memories", {"memories": [{"key": "k", "value": "v"}]})),
    "DELETE /api/agents/{id}/memories": Row(answers(OWN, 204), kept_memory),
    "GET /api/agents/{id}/plans": Row(OWN, on("/agents/ada/plans")),
    "PUT /api/agents/{id}/plans": Row(PLANNERS, on("/agents/ada/plans?spaceId=team", {"plans": [DAILY]})),
    "DELETE /api/agents/{id}/plans/{planId}": Row(answers(OWN, 204), plan),
    "POST /api/spaces": Row(answers(MAKERS, 201), new_space),
    "GET /api/spaces": Row(EVERYBODY, on("/spaces")),
    "GET /api/spaces/{id}": Row(INSIDE, on("/spaces/team")),
    "PATCH /api/spaces/{id}": Row(MANAGE, on("/spaces/team", {"name": "Team"})),
    "GET /api/spaces/{id}/contents": Row(OWNERS, on("/spaces/team/contents")),
    "POST /api/spaces/{id}/members": Row(answers(MANAGE, 201), new_member),
    "DELETE /api/spaces/{id}/members/{member_id}": Row(answers(MANAGE, 204), old_member),
    "GET /api/spaces/{id}/pins": Row(INSIDE, on("/spaces/team/pins")),
    "POST /api/spaces/{id}/typing": Row(statuses("401 401 404 404 404 404 204 403 403 204"), on("/spaces/team/typing")),
    "POST /api/spaces/{id}/read": Row(SPEAK, on("/spaces/team/read", {"seq": 1})),
    "POST /api/spaces/{id}/preview": Row(SPEAK, on("/spaces/team/preview", {"text": "@ada hello"})),
    "POST /api/spaces/{space_id}/messages": Row(answers(SPEAK, 201), on("/spaces/team/messages", {"text": "hello"})),
    "GET /api/spaces/{space_id}/messages": Row(INSIDE, on("/spaces/team/messages")),
    "GET /api/messages/{id}": Row(INSIDE, deletable),
    "GET /api/messages/{id}/why": Row(INSIDE, message_to_ask_about),
    "PATCH /api/messages/{id}": Row(AUTHOR, pias_message),
    "DELETE /api/messages/{id}": Row(AUTHOR, deletable),
    "PUT /api/messages/{id}/pin": Row(SPEAK, unpinned),
    "DELETE /api/messages/{id}/pin": Row(answers(SPEAK, 204), pinned),
    "POST /api/messages/{id}/reactions": Row(answers(SPEAK, 201), reaction),
    "DELETE /api/messages/{id}/reactions/{emoji}": Row(SPEAK, own_reaction),
    "POST /api/files": Row(answers(SPEAK, 201), on("/files?spaceId=team")),
    "GET /api/files": Row(INSIDE, on("/files?spaceId=team")),
    "GET /api/files/{id}": Row(INSIDE, pias_file),
    "DELETE /api/files/{id}": Row(statuses("401 401 404 404 404 404 204 403 403 204"), pias_file),
    "GET /api/files/{id}/content": Row(INSIDE, pias_content),
    "GET /api/files/{id}/thumbnail": Row(INSIDE, pias_picture),
    "GET /api/search": Row(EVERYBODY, on("/search?q=hello")),
    "GET /api/events": Row(EVERYBODY, on("/events")),
    "GET /api/runs": Row(EVERYBODY, on("/runs")),
    "GET /api/runs/{id}": Row(INSIDE, on("/runs/{team_run}")),
    "GET /api/runs/{id}/messages": Row(JOURNAL, on("/runs/{team_run}/messages")),
    "GET /api/runs/{id}/steps/{step}/request": Row(JOURNAL, on("/runs/{team_run}/steps/1/request")),
    "GET /api/runs/{id}/trace": Row(JOURNAL, on("/runs/{team_run}/trace")),
    "POST /api/runs/{id}/cancel": Row(answers(SPEAK, 409), on("/runs/{team_run}/cancel")),  # it has finished
    "POST /api/runs/{id}/retry": Row(answers(OTHERS_RUN, 201), on("/runs/{team_run}/retry")),
    "POST /api/setup": Row(
        answers(ANYBODY, 409), on("/setup", {"code": "x", "name": "Nemo", "password": "correct horse"})
    ),
    "POST /api/session": Row(answers(ANYBODY, 401), unknown_name),
    "DELETE /api/session": Row(answers(EVERYBODY, 204), on("/session")),
    "GET /api/me": Row(EVERYBODY, on("/me")),
    "POST /api/me/password": Row(
        statuses("401 401 403 403 403 403 403 403 403 403"),
        on("/me/password", {"current": "not it", "password": "correct horse"}),
    ),
    "GET /api/people": Row(PEOPLE, on("/people")),
    "POST /api/people": Row(answers(MANAGERS, 201), new_person),
    "GET /api/people/{id}": Row(PEOPLE, seen_person),
    "PATCH /api/people/{id}": Row(MANAGERS, some_person),
    "GET /api/avatars/{id}": Row(PEOPLE, portrait),
    "GET /api/sessions": Row(PEOPLE, on("/sessions")),
    "DELETE /api/sessions/{id}": Row(statuses("401 401 404 404 404 404 404 404 404 404"), no_session),
    "POST /api/invites": Row(answers(MANAGERS, 201), on("/invites", {})),
    "GET /api/invites": Row(MANAGERS, on("/invites")),
    "DELETE /api/invites/{id}": Row(answers(MANAGERS, 204), old_invite),
    "POST /api/invites/look": Row(ANYBODY, invite_to_look_at),
    "POST /api/invites/accept": Row(answers(ANYBODY, 201), open_invite),
    "POST /api/tokens": Row(answers(OWNERS, 201), new_token),
    "GET /api/tokens": Row(PEOPLE, on("/tokens")),
    "DELETE /api/tokens/{id}": Row(statuses("401 401 404 404 404 404 404 404 404 204"), old_token),
    "GET /api/spaces/{id}/export": Row(MANAGE, on("/spaces/team/export")),
    "GET /api/people/{id}/export": Row(
        statuses("401 401 403 403 200 403 403 403 403 200"), on("/people/psn_otto/export")
    ),
    "GET /api/agents/{id}/export": Row(OWNERS, on("/agents/ada/export")),
    "DELETE /api/spaces/{id}": Row(OWNERS, space_to_erase),
    "POST /api/people/{id}/erase": Row(OWNERS, person_to_erase),
    "POST /api/agents/{id}/erase": Row(OWNERS, agent_to_erase),
    "GET /healthz": Row(ANYBODY, on("http://office/healthz")),
    "GET /readyz": Row(ANYBODY, on("http://office/readyz")),
    "GET /metrics": Row(OWNERS, on("http://office/metrics")),
    "GET /api/models": Row(MANAGERS, on("/models")),
    "POST /api/models": Row(answers(MANAGERS, 201), on("/models", {"provider": "anthropic"})),
    "PATCH /api/models/{id}": Row(MANAGERS, a_connection(body={"name": "Clouds"})),
    "DELETE /api/models/{id}": Row(answers(MANAGERS, 204), a_connection()),
    "GET /api/models/{id}/list": Row(MANAGERS, a_connection("/list")),
    "POST /api/models/check": Row(MANAGERS, on("/models/check", {"model": "script:echo"})),
    "GET /api/usage": Row(MANAGERS, on("/usage")),
    "GET /api/budgets": Row(MANAGERS, on("/budgets")),
    "PUT /api/budgets": Row(MANAGERS, on("/budgets", {"kind": "agent", "subjectId": "ada", "amount": 5})),
    "DELETE /api/budgets/{id}": Row(answers(MANAGERS, 204), set_budget),
    "GET /api/audit": Row(OWNERS, on("/audit")),
    "GET /api/audit/check": Row(OWNERS, on("/audit/check")),
    "GET /api/variables": Row(PEOPLE, on("/variables")),
    "PUT /api/variables/{name}": Row(MANAGERS, on("/variables/CITY", {"value": "Rome"})),
    "DELETE /api/variables/{name}": Row(answers(MANAGERS, 204), set_variable),
    "GET /api/policies": Row(MANAGERS, on("/policies")),
    "PUT /api/policies": Row(
        MANAGERS, on("/policies", {"agentId": "ada", "toolName": "do_nothing", "decision": "allow"})
    ),
    "DELETE /api/policies/{id}": Row(answers(MANAGERS, 204), set_policy),
    "POST /api/tools": Row(answers(MANAGERS, 201), new_tool),
    "GET /api/tools": Row(PEOPLE, on("/tools")),
    "GET /api/tools/{name}": Row(SERVED, on("/tools/callDesk")),
    "PATCH /api/tools/{name}": Row(MANAGERS, old_tool),
    "DELETE /api/tools/{name}": Row(answers(MANAGERS, 204), tool_to_delete),
    "GET /api/pending": Row(EVERYBODY, on("/pending")),
    "GET /api/pending/{call_id}": Row(INSIDE, about("ask us")),
    "POST /api/pending/{call_id}/resolve": Row(CARD, about("ask us", "/resolve", {"result": "Yes."})),
    "POST /api/pending/{call_id}/cancel": Row(SPEAK, about("ask us", "/cancel")),
    "POST /api/pending/{call_id}/progress": Row(PROGRAM, about("call the desk", "/progress", {"fraction": 0.5})),
    "POST /api/runs/{run_id}/tool-results": Row(PROGRAM, result),
    "GET /api/tasks": Row(EVERYBODY, on("/tasks")),
    "POST /api/tasks": Row(answers(SPEAK, 201), on("/tasks", HOURLY)),
    "GET /api/tasks/{id}": Row(INSIDE, pias_task()),
    "PATCH /api/tasks/{id}": Row(MANAGE, pias_task(body={"prompt": "look twice"})),
    "DELETE /api/tasks/{id}": Row(answers(SPEAK, 204), pias_task()),
    "POST /api/tasks/{id}/pause": Row(SPEAK, pias_task("/pause")),
    "POST /api/tasks/{id}/resume": Row(SPEAK, pias_task("/resume")),
    "POST /api/tasks/{id}/run": Row(answers(SPEAK, 202), pias_task("/run")),
    "GET /api/tasks/{id}/firings": Row(INSIDE, pias_task("/firings")),
    "GET /api/chats": Row(MANAGERS, on("/chats")),
    "PUT /api/chats/{jid}": Row(MANAGERS, on("/chats/tg:-1", {"name": "Family"})),
    "GET /api/bridges": Row(OWNERS, on("/bridges")),
    "GET /api/bridges/{id}/dead": Row(OWNERS, dead_entries),
    "POST /api/bridges/{id}/dead/{entry_id}/retry": Row(OWNERS, dead_entry("/retry")),
    "DELETE /api/bridges/{id}/dead/{entry_id}": Row(answers(OWNERS, 204), dead_entry()),
    "GET /api/skills": Row(EVERYBODY, on("/skills")),
    "GET /api/spaces/{id}/commands": Row(INSIDE, on("/spaces/team/commands")),
    "POST /api/spaces/{id}/skills/import": Row(answers(SPEAK, 201), skill_file),
    "PUT /api/spaces/{id}/skills/{name}": Row(SPEAK, pias_skill(body=STANDUP)),
    "GET /api/spaces/{id}/skills/{name}": Row(INSIDE, pias_skill()),
    "GET /api/spaces/{id}/skills/{name}/export": Row(INSIDE, pias_skill("/export")),
    "DELETE /api/spaces/{id}/skills/{name}": Row(answers(SPEAK, 204), pias_skill()),
    "POST /api/spaces/{id}/skills/{name}/approve": Row(MANAGE, pias_skill("/approve")),
    "POST /api/spaces/{id}/skills/{name}/reject": Row(answers(MANAGE, 204), pias_skill("/reject")),
    # Pia has stored it herself: whoever may undo what agents store is told that there is nothing to undo.
    "POST /api/spaces/{id}/skills/{name}/undo": Row(answers(MANAGE, 409), pias_skill("/undo", {})),
    "POST /api/spaces/{id}/skills/{name}/invoke": Row(answers(MANAGE, 202), pias_skill("/invoke", {"parameters": ""})),
    "GET /api/hooks": Row(MANAGERS, on("/hooks")),
    "POST /api/hooks": Row(answers(MANAGERS, 201), on("/hooks", {"agentId": "ada", "name": "bell"})),
    "DELETE /api/hooks/{id}": Row(answers(MANAGERS, 204), old_hook),
    "POST /hooks/{token}": Row(answers(ANYBODY, 202), rung),
    "GET /api/webhooks": Row(PEOPLE, on("/webhooks")),
    "POST /api/webhooks": Row(answers(MAKERS, 201), on("/webhooks", {"url": "http://127.0.0.1:9/"})),
    "PATCH /api/webhooks/{id}": Row(OWN_WEBHOOK, pias_webhook(body={"events": ["mention"]})),
    "DELETE /api/webhooks/{id}": Row(statuses("401 401 404 404 404 404 204 404 404 204"), pias_webhook()),
    "GET /api/webhooks/{id}/deliveries": Row(
        statuses("401 401 404 404 404 404 200 404 404 200"), pias_webhook("/deliveries")
    ),
    "POST /api/webhooks/{id}/test": Row(OWN_WEBHOOK, pias_webhook("/test")),
    "GET /api/keys": Row(OWNERS, on("/keys")),
    "POST /api/keys/rotate": Row(OWNERS, on("/keys/rotate")),
    "POST /api/apply": Row(OWNERS, on("/apply", {"agents": [], "spaces": []})),
}

# The same, where it is another space or another thing: a public one, a DM of agents, a run in no space, nothing at all.
MORE: list[tuple[str, Statuses, Prepare]] = [
    ("GET", statuses("   401 401 404 200 200 200 200 404 200 200"), on("/spaces/ring")),
    ("GET", statuses("   401 401 404 200 403 403 200 404 200 200"), on("/spaces/ring/messages")),
    ("POST", statuses("  401 401 404 201 403 403 201 404 403 201"), on("/spaces/ring/messages", {"text": "hello"})),
    ("POST", statuses("  401 401 404 200 403 403 200 404 403 200"), on("/spaces/ring/read", {"seq": 0})),
    ("PATCH", statuses(" 401 401 404 403 403 403 200 404 403 200"), on("/spaces/ring", {"name": "Ring"})),
    ("POST", statuses("  401 401 404 403 403 403 201 404 403 201"), on("/spaces/ring/members", {"memberId": "pong"})),
    ("DELETE", statuses("401 401 404 403 403 403 404 404 403 404"), on("/spaces/ring/members/psn_nobody")),
    ("GET", statuses("   401 401 404 200 404 404 404 404 404 200"), on("/spaces/dm-ping-pong")),
    ("GET", statuses("   401 401 404 200 404 404 404 404 404 200"), on("/spaces/dm-pong-ping/messages")),
    (
        "POST",
        statuses("  401 401 404 201 404 404 404 404 404 403"),
        on("/spaces/dm-ping-pong/messages", {"text": "hi"}),
    ),
    ("GET", statuses("   401 401 404 404 404 404 200 200 200 200"), on("/tasks?spaceId=team")),
    ("GET", statuses("   401 401 404 404 404 404 200 200 404 404"), on("/tasks?spaceId=den")),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/tasks/tsk_none")),
    ("GET", statuses("   401 401 404 404 404 404 200 200 200 200"), on("/skills?spaceId=team")),
    ("GET", statuses("   401 401 404 404 404 404 200 200 404 404"), on("/skills?spaceId=den")),
    ("GET", statuses("   401 401 404 404 404 404 200 200 404 404"), on("/spaces/den/commands")),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/spaces/team/skills/none")),
    ("GET", statuses("   401 401 404 404 404 404 200 200 404 404"), on("/spaces/den")),
    ("GET", statuses("   401 401 404 404 404 404 200 200 404 404"), on("/runs/{den_run}")),
    ("GET", statuses("   401 401 404 404 404 404 403 200 404 404"), on("/runs/{den_run}/messages")),
    ("GET", statuses("   401 401 404 404 404 404 404 200 404 200"), on("/runs/{nowhere_run}")),
    ("GET", statuses("   401 401 404 404 404 404 404 200 404 200"), on("/runs/{nowhere_run}/trace")),
    (
        "PUT",
        KEEP,
        on("/variables/CITY", {"value": "Rome", "scope": {"kind": "space", "id": "team"}}),
    ),
    (
        "PUT",
        statuses("   401 401 403 403 200 403 403 403 403 403"),
        on("/variables/CITY", {"value": "Rome", "scope": {"kind": "person", "id": "psn_otto"}}),
    ),
    ("POST", statuses("  401 401 403 201 201 201 201 201 403 201"), on("/files")),
    ("POST", statuses("  401 401 404 201 403 403 201 404 403 201"), on("/files?spaceId=ring")),
    ("GET", EVERYBODY, on("/files")),
    ("GET", UNSEEN, about("call the desk")),
    ("POST", UNSEEN, about("call the desk", "/cancel")),
    ("POST", PROGRAM, about("call the desk", "/resolve", {"result": 1})),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/pending/call_nothing")),
    ("GET", statuses("   401 401 404 404 404 404 200 404 404 404"), pias_own_file),
    ("DELETE", statuses("401 401 404 404 404 404 204 404 404 404"), pias_own_file),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/files/fil_nothing")),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/spaces/nowhere")),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/messages/msg_nothing")),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/runs/run_nothing")),
    ("GET", statuses("   401 401 404 404 404 404 404 404 404 404"), on("/agents/nobody")),
]


# ── trying ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def callers(world: World) -> dict[str, Api]:
    tools = await world.office.create("/tokens", {"name": "sdk", "agentId": "ada", "tools": ["callDesk"]})
    reader = await world.office.create("/tokens", {"name": "reader", "scopes": ["read"]})
    anna = await world.office.create("/people", {"name": "Anna", "role": "admin"})
    admin = await world.office.create("/tokens", {"name": "Anna", "personId": anna["id"]})
    return {
        "none": Api(world.office.office, None),
        "wrong": Api(world.office.office, "bp_" + "x" * 43),
        "tools": Api(world.office.office, tools["token"]),
        "pong": await world.office.as_agent("pong"),
        "anna": Api(world.office.office, admin["token"]),
        "reader": Api(world.office.office, reader["token"]),
        **world.people,
    }


async def attempt(world: World, caller: Api, method: str, path: str, body: Json | None) -> tuple[int, Any]:
    if path == "/events":
        async with following(world.office, caller) as stream:
            if stream.status == 200:
                return 200, None
            await stream.until_ended()
            return stream.status, orjson.loads(stream.body)
    form = {"file": ("note.txt", b"hello")} if (method, path.partition("?")[0]) == ("POST", "/files") else None
    response = await caller.http.request(method, path, json=body, files=form)
    caller.http.cookies.clear()  # who was let in now is still the same caller next time
    is_json = response.headers.get("content-type") == "application/json"
    return response.status_code, response.json() if is_json else None


@pytest.mark.one_database
@pytest.mark.proves("A16", "A9")
async def test_each_caller_gets_the_answer_in_the_table(world: World) -> None:
    everybody = await callers(world)
    tried = [(route, row.statuses, row.prepare) for route, row in TABLE.items()] + MORE
    wrong = []
    for name, statuses, prepare in tried:
        method = name.split()[0]
        path, body, used = "", None, True
        for caller, expected in zip(CALLERS, statuses, strict=True):
            # Whoever is refused leaves it as it was for the next who is. Wrong names are counted, so each has its own.
            if used or expected < 400 or prepare is unknown_name:
                path, body = await prepare(world, caller)
            used = expected < 400
            status, answer = await attempt(world, everybody[caller], method, path, body)
            if status != expected:
                wrong.append(f"{method} {path} as {caller}: {status}, not {expected}: {answer}")
            elif status >= 400:
                assert set(answer) == {"error"}, (method, path, caller)
            elif caller == "owner" and name in TABLE and answer is not None:
                check_shape(name, find_response_models()[name], answer)
    assert not wrong, "\n".join(wrong)


# Somebody's wrong guesses and refused deeds may be written down; nothing else.
MAY_CHANGE = {"audit"}


@pytest.mark.one_database
@pytest.mark.proves("A16", "B2")
async def test_a_refused_request_changes_no_row_of_any_table(world: World) -> None:
    """Every route, as everybody who is refused there. Twice only where something was written, and then looked at."""
    everybody = await callers(world)
    url = world.office.office.settings.database_url
    tried = [(route, row.statuses, row.prepare) for route, row in TABLE.items()] + MORE
    refusals = 0
    with closing(Watch(url)) as watch:
        for name, statuses, prepare in tried:
            refused = [caller for caller, status in zip(CALLERS, statuses, strict=True) if status >= 400]
            if not refused or prepare is unknown_name:  # whose guesses are counted
                continue
            path, body = await prepare(world, refused[0])
            await world.office.idle()
            watch.changed()
            asked = (name.split()[0], path, body)
            await refuse(world, [everybody[caller] for caller in refused], *asked)
            refusals += len(refused)
            if watch.changed():
                before = (await snapshot.read(url)).tables
                await refuse(world, [everybody[caller] for caller in refused], *asked)
                after = (await snapshot.read(url)).tables
                wrong = [table for table in before if table not in MAY_CHANGE and before[table] != after[table]]
                assert not wrong, (*asked, wrong)
    assert refusals > 500


async def refuse(world: World, everybody: list[Api], method: str, path: str, body: Json | None) -> None:
    for caller in everybody:
        status, answer = await attempt(world, caller, method, path, body)
        assert status >= 400, (method, path, answer)


class Watch:
    """Tells whether somebody may have changed the database since it was last asked."""

    def __init__(self, url: str) -> None:
        self._file = None if url.startswith("postgres") else sqlite3.connect(url.removeprefix("sqlite:///"))
        self._seen = -1

    def changed(self) -> bool:
        if self._file is None:
            return True  # PostgreSQL has no such number: look at the rows each time
        before = self._seen
        (self._seen,) = self._file.execute("PRAGMA data_version").fetchone()
        return self._seen != before

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


# What needs no right to read: who one is, and what is open to anybody.
TOLD_TO_ALL = {"GET /api/me", "GET /healthz", "GET /readyz"}


@pytest.mark.one_database
@pytest.mark.proves("A15", "A16")
async def test_without_the_right_to_read_nothing_is_listed(world: World) -> None:
    """A token that may only post, and one that may only answer calls of a tool, for every route that lists or shows."""
    posting = await world.office.create("/tokens", {"name": "poster", "scopes": ["post"]})
    pias = await world["pia"].create("/tokens", {"name": "poster", "scopes": ["post"]})
    tools = await world.office.create("/tokens", {"name": "sdk", "agentId": "ada", "tools": ["callDesk"]})
    reading = [(route, row.prepare) for route, row in TABLE.items() if route.startswith("GET ")]
    wrong = []
    for route, prepare in reading:
        path, _ = await prepare(world, "owner")
        for name, made in (("owner", posting), ("pia", pias), ("tools", tools)):
            if (name, route) == ("tools", "GET /api/tools/{name}"):
                continue  # the definition of the very tool that it names
            if route in TOLD_TO_ALL or path == "/events":  # tests/feed follows streams as these
                continue
            answer = await Api(world.office.office, made["token"]).http.get(path)
            if answer.status_code not in (403, 404) and answer.json() != {"items": []}:
                wrong.append(f"{path} as {name}: {answer.status_code} {answer.text[:200]}")
    assert not wrong, "\n".join(wrong)


def check_shape(route: str, model: Any, answer: Any) -> None:
    """What is answered is what OpenAPI says is answered: no field more, none less."""
    assert model is not None, f"{route} answers something that nothing describes"
    described = model.model_validate(answer).model_dump(mode="json", by_alias=True, exclude_none=True)
    # A schema may say that null is a default; that is data, and told as it is.
    assert without_nulls(described) == without_nulls(answer), route


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.proves("A16")
def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert set(TABLE) == set(find_response_models()) == set(list_routes())
