"""What outside text causes is asked about with its source, and people may allow just that: agent, tool and source."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.hooks.calling import made, path_of, ring
from tests.path.scripts import Json, call, say, step, turn
from tests.path.scripts import turn as spoken

PLAN: Json = {"prompt": "read the news", "scheduleType": "cron", "scheduleValue": "0 9 * * *"}


async def planner(office: Driver, *hooks: str, **fields: Any) -> None:
    """Bo plans something whenever somebody speaks, in a room where Ada has told what these hooks said."""
    rung = {"kind": "trigger", "steps": [say("red", spaceId="lab")]}
    await office.agent("ada", [rung])
    drop = spoken("drop", step(call("delete_skill", name="standup")))
    turns = [drop, turn("", step(call("schedule_task", **PLAN)), say("done"))]
    await office.agent("bo", turns, tools=["messaging", "tasks", "skills"], **fields)
    await office.space("lab", ["ada", "bo"], wake={"agents": "none"})
    for nth, name in enumerate(hooks, 1):
        await hear(office, name, nth)


async def hear(office: Driver, hook: str, nth: int) -> None:
    await ring(office, path_of(await made(office, name=hook)))
    await office.run_finished("ada", nth=nth)


async def asked(office: Driver, nth: int = 1) -> Json:
    found: Json = (await office.event("tool.requires_action", nth=nth))["call"]
    return found


async def answer(office: Driver, call_: Json, status: int = 200, **said: Any) -> Json:
    found: Json = await office.create(f"/pending/{call_['callId']}/resolve", {"result": said}, status=status)
    return found


async def says(office: Driver, text: str, nth: int) -> list[Any]:
    await office.post("lab", f"@bo {text}")
    return await office.results((await office.run_finished("bo", nth=nth))["id"])


async def allow(office: Driver, **more: Any) -> Json:
    body = {"agentId": "bo", "toolName": "schedule_task", "decision": "allow", **more}
    found: Json = await office.ask("PUT", "/policies", json=body)
    return found


async def test_always_for_a_source_stops_the_asking_for_it_alone(office: Driver) -> None:
    await planner(office, "ci")
    await office.post("lab", "@bo go")
    first = await asked(office)
    assert first["metadata"]["reason"] == "lasting"
    assert first["metadata"]["outside"] == ["hook:ci"]
    await answer(office, first, approved=True, always="source")
    await office.run_finished("bo")
    (policy,) = await office.items("/policies")
    named = {name: policy.get(name) for name in ("agentId", "toolName", "source", "spaceId", "decision")}
    assert named == {
        "agentId": "bo",
        "toolName": "schedule_task",
        "source": "hook:ci",
        "spaceId": None,
        "decision": "allow",
    }
    assert "taskId" in (await says(office, "again", 2))[0], "nobody is asked for this source any more"
    await hear(office, "mail", 2)
    await office.post("lab", "@bo and again")
    assert (await asked(office, 2))["metadata"]["outside"] == ["hook:ci", "hook:mail"], "two sources: both are needed"


@pytest.mark.one_database
async def test_once_allows_one_call(office: Driver) -> None:
    await planner(office, "ci")
    for nth in (1, 2):
        await office.post("lab", "@bo go")
        await answer(office, await asked(office, nth), approved=True)
        await office.run_finished("bo", nth=nth)
    assert await office.items("/policies") == []
    assert len(await office.items("/tasks")) == 2


@pytest.mark.one_database
async def test_two_sources_need_both_to_be_allowed(office: Driver) -> None:
    await planner(office, "ci", "mail")
    await allow(office, source="hook:ci")
    await office.post("lab", "@bo go")
    await answer(office, await asked(office), approved=False)
    await office.run_finished("bo")
    await allow(office, source="hook:mail")
    assert "taskId" in (await says(office, "go", 2))[0]


NARROW: dict[str, Json] = {
    "another agent": {"agentId": "ada"},
    "another tool": {"toolName": "delete_skill"},
    "another source": {"source": "hook:c"},
    "another space": {"spaceId": "attic"},
    "other arguments": {"when": {"path": "prompt", "op": "contains", "value": "weather"}},
}


@pytest.mark.parametrize("other", NARROW)
@pytest.mark.one_database
async def test_a_policy_never_widens_beyond_what_it_names(office: Driver, other: str) -> None:
    await planner(office, "ci")
    await office.space("attic", ["bo"])
    await allow(office, **{"source": "hook:ci", **NARROW[other]})
    await office.post("lab", "@bo go")
    assert (await asked(office))["toolName"] == "schedule_task"
    assert await office.items("/tasks") == []


@pytest.mark.one_database
async def test_a_source_that_is_allowed_lifts_no_other_policy(office: Driver) -> None:
    await planner(office, "ci", policy={"schedule_task": "ask"})
    await allow(office, source="hook:ci")
    await office.post("lab", "@bo go")
    call_ = await asked(office)
    assert "reason" not in call_["metadata"], "the agent's definition asks, whatever it has read"
    refused = await answer(office, call_, 422, approved=True, always="source")
    assert "A policy asks for this call" in refused["error"]["message"]
    await allow(office, decision="deny")
    await answer(office, call_, approved=True)
    await office.run_finished("bo")
    assert await office.items("/tasks") == []


@pytest.mark.parametrize("decision", ["ask", "deny"])
@pytest.mark.one_database
async def test_a_source_can_be_asked_about_or_denied(office: Driver, decision: str) -> None:
    await planner(office, policy={"schedule_task": "allow"})
    await allow(office, source="hook:ci", decision=decision)
    assert "taskId" in (await says(office, "go", 1))[0], "nothing was read from there"
    await hear(office, "ci", 1)
    await office.post("lab", "@bo go")
    if decision == "ask":
        await answer(office, await asked(office), approved=False)
    refused = (await office.results((await office.run_finished("bo", nth=2))["id"]))[0]
    assert "error" in refused


@pytest.mark.one_database
@pytest.mark.parametrize("source", ["more", "not a source", "https://example.com/", "x" * 101])
async def test_a_policy_for_no_possible_source_is_refused(office: Driver, source: str) -> None:
    await planner(office)
    body = {"agentId": "bo", "toolName": "schedule_task", "decision": "allow", "source": source}
    refused = await office.ask("PUT", "/policies", json=body, status=422)
    assert list(refused["error"]["fields"]) == ["source"]


async def test_one_agent_tool_and_source_has_one_decision(office: Driver) -> None:
    await planner(office)
    first = await allow(office, source="hook:ci")
    again = await allow(office, source="hook:ci", decision="ask")
    other = await allow(office, source="hook:mail")
    assert first["id"] == again["id"] != other["id"]
    found = {(each["source"], each["decision"]) for each in await office.items("/policies")}
    assert found == {("hook:ci", "ask"), ("hook:mail", "allow")}
    noted = [row["detail"]["source"] for row in await office.items("/audit", action="policy.set")]
    assert sorted(noted) == ["hook:ci", "hook:ci", "hook:mail"]
