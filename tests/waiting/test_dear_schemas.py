"""Schemas that take long to check: refused, or checked apart; a call whose check dies is settled, and the office lives.

What becomes of a process that dies all the same is in tests/durability/test_deaths_in_checks.py.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import AsyncExitStack
from typing import Any

import pytest
from sqlalchemy import select

from bullpen.apart.pool import Answer, ProcessPool
from bullpen.storage import Statement
from bullpen.storage.tables import runs
from bullpen.tools import check_apart
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.net.servers import Asked, answer, world
from tests.path.scripts import Json, call, say, step, turn
from tests.waiting.dear_schemas import RECURSIVE, nested, store_as_before
from tests.waiting.gateways import connect, gateway
from tests.waits import until

SORT: Json = {
    "name": "sort",
    "description": "Sort something",
    "inputSchema": {"type": "object"},
    "executionType": "internal",
}
MARKS = Statement(select(runs.c.mark).where(runs.c.mark.is_not(None)))


async def asked(office: Driver, *wishes: Json, **fields: Any) -> list[Any]:
    """What an agent is told about its calls."""
    await office.agent("ada", steps=[step(*wishes), say("done")], tools=["messaging", "sort"], **fields)
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.post("lab", "go")
    run = await office.run_finished()
    assert run["stopReason"] == "done"
    return (await office.results(run["id"]))[: len(wishes)]


async def marks(office: Driver) -> list[str]:
    return [row[0] for row in await office.office.store.read(lambda tx: tx.all(MARKS))]


# ── defining ────────────────────────────────────────────────────────────────────────────────────────────────────────


def through_children(levels: int) -> Json:
    """Doubles with each step into the arguments, and not at one place."""
    twice = {f"d{n}": {"anyOf": [{"properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}}}] * 2} for n in range(levels)}
    return {"type": "object", "$ref": "#/$defs/d0", "$defs": {**twice, f"d{levels}": {"type": "string"}}}


def behind_anchors(levels: int) -> Json:
    twice = {f"d{n}": {"$anchor": f"a{n}", "allOf": [{"$ref": f"#a{n + 1}"}] * 2} for n in range(levels)}
    return {"type": "object", "$ref": "#a0", "$defs": {**twice, "end": {"$anchor": f"a{levels}"}}}


@pytest.mark.proves("I14", "L11")
@pytest.mark.one_database
@pytest.mark.parametrize(
    "schema",
    [
        nested(24),
        through_children(24),
        behind_anchors(24),
        {**nested(24), "unevaluatedProperties": False},
        {"type": "object", "allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"type": "object", "properties": {f"p{n}": {"pattern": f"^[^a]{{300}}{n}$"} for n in range(100)}},
        {"type": "object", "properties": {"a": {"items": {"enum": [[n] for n in range(6000)]}}}},
    ],
    ids=["anyOf", "children", "anchors", "unevaluated", "itself", "patterns", "enum"],
)
async def test_a_schema_that_multiplies_is_refused_when_it_is_defined(office: Driver, schema: Json) -> None:
    refused = await office.ask("POST", "/tools", json={**SORT, "inputSchema": schema}, status=422)
    assert "inputSchema" in refused["error"]["fields"]
    await office.create("/tools", SORT)
    await office.ask("PATCH", "/tools/sort", json={"inputSchema": schema}, status=422)
    await office.ask("POST", "/apply", json={"tools": [{**SORT, "inputSchema": schema}]}, status=422)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "schema",
    [
        nested(8),
        RECURSIVE,
        {"type": "object", "properties": {f"p{n}": {"enum": list("abcdefgh")} for n in range(300)}},
        {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,200}$"}}},
    ],
    ids=["few levels", "recursive", "broad", "pattern"],
)
async def test_an_honest_schema_is_still_accepted(office: Driver, schema: Json) -> None:
    await office.create("/tools", {**SORT, "inputSchema": schema})


# ── checking ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("I14", "L11")
async def test_a_stored_exponential_schema_fails_its_call_and_nothing_else(office: Driver) -> None:
    await office.create("/tools", SORT)
    await store_as_before(office.office.store, "sort", nested())
    failed, fits = await asked(office, call("sort", a=1), call("sort", a="x"))
    assert failed["code"] == "check_failed"
    assert "could not be checked" in failed["error"]
    assert fits == {"success": True, "args": {"a": "x"}}
    assert await marks(office) == []


async def test_a_recursive_schema_is_checked_apart_and_explains_itself(office: Driver) -> None:
    await office.create("/tools", {**SORT, "inputSchema": RECURSIVE})
    wrong, fits = await asked(office, call("sort", left={"left": {"n": "x"}}), call("sort", left={"right": {"n": 1}}))
    assert "left.left.n" in wrong["error"]
    assert fits["args"] == {"left": {"right": {"n": 1}}}


@pytest.mark.proves("L15")
@pytest.mark.one_database
async def test_an_ordinary_check_starts_no_process(office: Driver) -> None:
    properties = {"n": {"type": "integer"}, "to": {"enum": ["a", "b"]}, "tags": {"items": {"pattern": "^[a-z]+$"}}}
    await office.create("/tools", {**SORT, "inputSchema": {"type": "object", "properties": properties}})
    wrong, fits = await asked(office, call("sort", n="x"), call("sort", n=1, to="a", tags=["x"] * 300))
    assert "n: " in wrong["error"]
    assert fits["success"]
    assert office.office.pool.process_ids == []


@pytest.mark.one_database
async def test_many_wrong_arguments_are_explained_apart(office: Driver) -> None:
    choices = {"items": {"anyOf": [{"const": n} for n in range(400)]}}
    await office.create("/tools", {**SORT, "inputSchema": {"type": "object", "properties": {"tags": choices}}})
    wrong, fits = await asked(office, call("sort", tags=["x"] * 400), call("sort", tags=[7] * 400))
    assert wrong.get("code") == "check_failed" or "tags.0" in wrong["error"]
    assert fits["success"]


async def test_edited_arguments_are_checked_apart_before_the_approval(office: Driver) -> None:
    await office.create("/tools", {**SORT, "inputSchema": RECURSIVE, "policy": "ask"})
    model = {"provider": "script", "turns": [turn("", step(call("sort", n=1)), say("done"))]}
    await office.create("/agents", {"id": "ada", "name": "Ada", "model": model, "tools": ["messaging", "sort"]})
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.post("lab", "go")
    waiting = (await office.event("tool.requires_action"))["call"]
    path = f"/pending/{waiting['callId']}/resolve"
    answer = {"approved": True, "hash": waiting["hash"]}
    refused = await office.create(path, {"result": {**answer, "args": {"left": {"n": "x"}}}}, status=422)
    assert "left.n" in refused["error"]["fields"]["result.args"]
    await office.create(path, {"result": {**answer, "args": {"left": {"n": 5}}}})
    run = await office.run_finished()
    (result, *_) = await office.results(run["id"])
    assert result["args"] == {"left": {"n": 5}}


# ── the mark ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def under_check(office: Driver, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An agent's call is being checked, and goes on when this is set."""
    go_on, run = asyncio.Event(), ProcessPool.run

    async def wait(*asked: Any, **limits: Any) -> Answer:
        await go_on.wait()
        return await run(*asked, **limits)

    monkeypatch.setattr(ProcessPool, "run", wait)
    monkeypatch.setattr(check_apart, "_verdicts", OrderedDict())  # nobody has asked this before
    await office.agent("ada", steps=[step(call("sort", n=1)), say("done")], tools=["messaging", "sort"])
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.post("lab", "go")
    await until(lambda: marks(office))
    return go_on


@pytest.mark.parametrize("kind", ["internal", "external"])
async def test_a_mark_names_its_call_until_the_next_commit(
    office: Driver, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    await office.create("/tools", {**SORT, "inputSchema": RECURSIVE, "executionType": kind})
    go_on = await under_check(office, monkeypatch)
    (mark,) = await marks(office)
    (run,) = await office.runs()
    (entry,) = [entry for entry in await office.journal(run["id"]) if entry["type"] == "tool_call_message"]
    assert entry["callId"] in mark
    go_on.set()
    if kind == "external":
        await office.event("tool.requires_action")
    else:
        await office.run_finished()
    assert await marks(office) == []


async def test_a_tool_that_works_outside_has_no_mark(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    await office.create("/tools", gateway("sort", inputSchema=RECURSIVE))
    seen: list[list[str]] = []

    async def look(asked: Asked, writer: asyncio.StreamWriter) -> None:
        seen.append(await marks(office))
        writer.write(answer(b"{}", content_type="application/json"))

    async with world() as outer:
        connect(office, outer)
        await outer.server(look)
        (await under_check(office, monkeypatch)).set()
        await office.run_finished()
    assert seen == [[]]


async def test_a_server_that_stops_in_a_check_leaves_no_mark(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open()
        await office.create("/tools", {**SORT, "inputSchema": RECURSIVE})
        await under_check(office, monkeypatch)
    monkeypatch.undo()
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(drive=False)
        assert await marks(office) == []
        (run,) = await office.runs()
        assert run["status"] == "acting"


# ── one argument in two spellings ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_one_argument_in_two_spellings_is_refused(office: Driver) -> None:
    schema = {"type": "object", "properties": {"dueAmount": {"type": "integer"}}}
    await office.create("/tools", {**SORT, "inputSchema": schema})
    both, extra, fits = await asked(
        office,
        call("sort", dueAmount=5, due_amount=500),
        call("sort", dueAmount=5, otherName=1, other_name=2),
        call("sort", due_amount=5),
    )
    for refused in (both, extra):
        assert "mean the same" in refused["error"]
    assert fits["args"] == {"dueAmount": 5}
