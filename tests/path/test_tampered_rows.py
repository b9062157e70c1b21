"""Somebody has been at the database: a row that was tampered with stops its run, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Column, Table, Text, bindparam, select, update
from sqlalchemy.sql import ColumnElement

from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import inbox_items, pending_calls, run_messages, runs, threads
from tests import effort
from tests.driver import Driver
from tests.path.scripts import Json, call, say, step
from tests.waits import until

# What loaders of other formats would carry out.
PICKLE = "cos\nsystem\n(S'touch tampered'\ntR."
YAML = "!!python/object/apply:os.system ['touch tampered']"
PYTHON = "__import__('os').system('touch tampered')"
ASK: Json = {
    "name": "fetch",
    "description": "Fetch data",
    "inputSchema": {"type": "object", "properties": {}},
    "executionType": "external",
    "visible": False,
}
# Breaks the run: it ends as failed, and says why.
TAMPERED: dict[str, tuple[Table, str, Any]] = {
    "a trigger": (runs, "trigger", PICKLE),
    "a payload": (runs, "payload", YAML),
    "the sources": (runs, "outside", PYTHON),
    "a mark": (runs, "mark", PYTHON),
    "a status nobody knows": (runs, "status", PYTHON),
    "a status that is over": (runs, "status", "completed"),
    "a result": (run_messages, "result", PICKLE),
    "a type of entry": (run_messages, "type", PYTHON),
    "the scope of its thread": (threads, "scope", PYTHON),
    "the state of a call": (pending_calls, "status", PYTHON),
    "the arguments of a call": (pending_calls, "args", YAML),
}
COLUMNS_OF_ITEMS = ["payload", "kind", "addressed"]
COLUMNS = [
    (table, column.name)
    for table in (runs, run_messages, threads, inbox_items, pending_calls)
    for column in table.c
    if not column.primary_key
]


async def waiting_run(office: Driver, agent: str, room: str) -> Json:
    """A run that waits for a program, after a step of its own."""
    steps = [step(call("search_memory", query="tea")), step(call("fetch")), say("all is well")]
    await office.agent(agent, steps=steps, tools=["messaging", "memory", "fetch"])
    await office.space(room, [agent], wake={"people": "all"})
    await office.post(room, "go")

    async def asked() -> Any:
        return [each for each in await office.items("/pending") if each["agentId"] == agent]

    (found,) = await until(asked)
    run: Json = found
    return run


async def tamper(office: Driver, table: Table, run_id: str, column: str, value: Any) -> None:
    """In the rows that belong to the run."""
    thread = select(runs.c.thread_id).where(runs.c.id == bindparam("id_")).scalar_subquery()
    owner: dict[str, ColumnElement[str]] = {
        "runs": runs.c.id,
        "threads": threads.c.id,
        "inbox_items": inbox_items.c.claimed_by,
        "run_messages": run_messages.c.run_id,
        "pending_calls": pending_calls.c.run_id,
    }
    where = [owner[table.name] == (thread if table is threads else bindparam("id_"))]
    if table is run_messages:
        where.append(run_messages.c.type == "tool_return_message")

    async def body(tx: Transaction) -> int:
        return await tx.run(
            Statement(update(table).where(*where).values({column: bindparam("value")})), id_=run_id, value=value
        )

    assert await office.office.store.transact(body) > 0


async def answers(office: Driver) -> None:
    """Somebody else, after all that."""
    await office.agent("bo", steps=[say("still here")])
    await office.space("hall", ["bo"], wake={"people": "all"})
    await office.post("hall", "are you there?")
    assert (await office.run_finished("bo"))["outcome"] == "spoke"


async def rests(office: Driver) -> None:
    """Nothing is driven, and nothing is tried again when the engine looks for what was forgotten."""
    engine = office.office.engine
    await until(lambda: _is_idle(office))
    await engine.sweep()
    await until(lambda: _is_idle(office))


async def _is_idle(office: Driver) -> bool:
    return not office.office.engine.drives


@pytest.mark.proves("N2")
@pytest.mark.parametrize("name", TAMPERED)
async def test_a_tampered_row_ends_its_run_alone(
    office: Driver, name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    await office.create("/tools", ASK)
    asked = await waiting_run(office, "ada", "lab")
    await tamper(office, TAMPERED[name][0], asked["runId"], *TAMPERED[name][1:])
    answer = await office.http.post(f"/pending/{asked['callId']}/resolve", json={"result": {"n": 1}})
    if answer.status_code == 500:  # it is the call that cannot be read
        await office.create(f"/runs/{asked['runId']}/cancel", {}, status=200)
    run = await office.run_finished("ada")
    if answer.status_code == 200:
        assert (run["status"], run["stopReason"]) == ("failed", "broken")
    assert "Somebody has changed it in the database." in run["error"] or run["status"] == "cancelled"
    assert TAMPERED[name][1] in (run["error"] + caplog.text)
    tried = sum("cannot go on" in record.message for record in caplog.records)
    await rests(office)
    await answers(office)
    assert tried == sum("cannot go on" in record.message for record in caplog.records) <= 1, "it is tried for ever"
    assert "all is well" not in await office.texts("lab"), "the run went on from a row that nobody could read"
    assert not (tmp_path / "tampered").exists()
    assert run["id"] in [each["id"] for each in await office.items("/runs")]


@pytest.mark.proves("N2")
@pytest.mark.parametrize(
    "column, value", [("payload", PICKLE), ("kind", PYTHON), ("addressed", PYTHON)], ids=COLUMNS_OF_ITEMS
)
async def test_a_tampered_item_ends_the_run_that_takes_it(office: Driver, column: str, value: str) -> None:
    if column == "addressed" and office.office.store.shared:
        pytest.skip("PostgreSQL keeps no text in a column of numbers")
    await office.agent("ada", steps=[say("all is well")])
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.create("/agents/ada/pause", {}, status=200)
    await office.post("lab", "go")

    async def body(tx: Transaction) -> int:
        return await tx.run(Statement(update(inbox_items).values({column: bindparam("value")})), value=value)

    assert await office.office.store.transact(body) == 1
    await office.create("/agents/ada/resume", {}, status=200)
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("failed", "broken")
    assert f"inbox_items cannot be read: {column}" in run["error"]
    await rests(office)
    await answers(office)
    assert await office.texts("lab") == ["go"]
    await office.post("lab", "and now?")
    assert (await office.run_finished("ada", nth=2))["outcome"] == "spoke"


def hostile(column: Column[Any], office: Driver) -> Any:
    """What the database lets somebody write there, and what no reader expects."""
    if isinstance(column.type, Text):
        return PYTHON
    return -1 if office.office.store.shared else PICKLE  # SQLite keeps text in a column of numbers


@pytest.mark.proves("N2")
@pytest.mark.parametrize("table", sorted({table.name for table, _ in COLUMNS}))
async def test_no_tampered_column_is_tried_for_ever(
    office: Driver, table: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    await office.create("/tools", ASK)
    columns = effort.pick([(each, name) for each, name in COLUMNS if each.name == table], sample=4)
    for number, (each, name) in enumerate(columns):
        asked = await waiting_run(office, f"ada{number}", f"lab{number}")
        await tamper(office, each, asked["runId"], name, hostile(each.c[name], office))
        await office.http.post(f"/pending/{asked['callId']}/resolve", json={"result": {"n": 1}})
        await office.http.post(f"/runs/{asked['runId']}/cancel")
        await rests(office)
        tried = sum("cannot go on" in record.message for record in caplog.records)
        await rests(office)
        assert tried == sum("cannot go on" in record.message for record in caplog.records), f"{name}: tried for ever"
        for listing in ("/runs", "/pending", f"/agents/ada{number}/inbox"):
            await office.items(listing)
        caplog.clear()
    await answers(office)
    assert not (tmp_path / "tampered").exists()
