"""Somebody has been at the database: a row that was tampered with stops its run, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import run_messages, runs
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
TAMPERED = {
    "a trigger": (runs, {"trigger": PICKLE}),
    "a payload": (runs, {"payload": YAML}),
    "the sources": (runs, {"outside": PYTHON}),
    "a mark": (runs, {"mark": PYTHON}),
    "a result": (run_messages, {"result": PICKLE}),
}


@pytest.mark.proves("N2")
@pytest.mark.parametrize("name", TAMPERED)
async def test_a_tampered_row_stops_its_run_alone(
    office: Driver, name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    await office.create("/tools", ASK)
    steps = [step(call("search_memory", query="tea")), step(call("fetch")), say("all is well")]
    await office.agent("ada", steps=steps, tools=["messaging", "memory", "fetch"])
    await office.agent("bo", steps=[say("still here")])
    await office.space("lab", ["ada"], wake={"people": "all"})
    await office.space("hall", ["bo"], wake={"people": "all"})
    await office.post("lab", "go")
    asked = (await office.event("tool.requires_action"))["call"]
    table, values = TAMPERED[name]

    async def tamper(tx: Transaction) -> int:
        where = table.c.agent_id == "ada" if table is runs else table.c.type == "tool_return_message"
        return await tx.run(Statement(update(table).where(where).values(**values)))

    assert await office.office.store.transact(tamper) == 1
    await office.create(f"/pending/{asked['callId']}/resolve", {"result": {"n": 1}}, status=200)

    async def gave_up() -> bool:
        return any("cannot go on" in record.message for record in caplog.records)

    await until(gave_up, seconds=15)
    await office.post("hall", "are you there?")
    assert (await office.run_finished("bo"))["outcome"] == "spoke"
    assert await office.texts("lab") == ["go"], "the run went on from a row that nobody could read"
    assert not (tmp_path / "tampered").exists()
