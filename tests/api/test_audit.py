"""The audit log: what is noted, who may read it, and that nobody can change it unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from bullpen.audit import rules
from bullpen.audit.types import Entry
from bullpen.storage import Transaction
from bullpen.storage.statements import Statement
from bullpen.storage.tables import audit
from tests.driver import Driver, Json, Offices

QUIET: list[Json] = []


@pytest.fixture
async def office(offices: Offices) -> Driver:
    """Nobody is driven and nobody follows: what is counted here is done by requests."""
    return await offices.open(drive=False, watch=False)


async def noted(office: Driver, **params: Any) -> list[Json]:
    return await office.items("/audit", **{"limit": 200, **params})


async def said(office: Driver, **params: Any) -> list[tuple[str, str]]:
    """Oldest first."""
    return [(row["action"], row["objectId"]) for row in await noted(office, **params)][::-1]


async def test_audit_records_agent_space_and_member_changes_with_their_actor(office: Driver) -> None:
    pia, _ = await office.person("Pia")
    already = len(await noted(office))
    await office.agent("ada", steps=QUIET)
    await office.ask("PATCH", "/agents/ada", json={"description": "Secret plans", "instructions": "Whisper."})
    await office.space("hall", ["ada"], private=True)
    await office.ask("PATCH", "/spaces/hall", json={"name": "Another name"})
    await office.create("/spaces/hall/members", {"memberId": pia})
    await office.ask("DELETE", f"/spaces/hall/members/{pia}")
    await office.ask("DELETE", "/agents/ada")
    rows = (await noted(office))[::-1][already:]
    assert [(row["action"], row["objectKind"], row["objectId"]) for row in rows] == [
        ("agent.created", "agent", "ada"),
        ("agent.changed", "agent", "ada"),
        ("space.created", "space", "hall"),
        ("space.changed", "space", "hall"),
        ("member.added", "space", "hall"),
        ("member.removed", "space", "hall"),
        ("agent.deleted", "agent", "ada"),
    ]
    assert {(row["actorKind"], row["actorId"]) for row in rows} == {("person", office.owner_id)}
    assert rows[1]["detail"] == {"fields": ["description", "instructions"]}
    assert rows[4]["detail"] == {"memberId": pia}
    everything = (await office.http.get("/audit", params={"limit": 200})).text
    assert "Secret plans" not in everything
    assert "Whisper" not in everything
    assert "Another name" not in everything


async def test_own_joins_and_leaves_and_empty_changes_are_not_audited(office: Driver) -> None:
    await office.space("hall")
    project = {
        "agents": [{"id": "bo", "name": "Bo", "model": "script:echo"}],
        "spaces": [{"id": "den", "members": ["bo"]}],
    }
    await office.create("/apply", project)
    pia, api = await office.person("Pia")
    before = len(await noted(office))
    await api.create("/spaces/hall/members", {"memberId": pia})
    await api.ask("DELETE", f"/spaces/hall/members/{pia}")
    await office.create("/apply", project)
    await office.ask("POST", "/spaces", json={"id": "hall"}, status=409)
    assert len(await noted(office)) == before


async def test_audit_rows_are_paged_and_filter_by_action_actor_object(office: Driver) -> None:
    for name in ("a1", "a2", "a3"):
        await office.agent(name, steps=QUIET)
    await office.space("hall", ["a1"])
    assert await said(office, action="agent.created") == [("agent.created", id) for id in ("a1", "a2", "a3")]
    assert await said(office, objectId="hall") == [("space.created", "hall")]
    assert await said(office, actorId="nobody") == []
    assert len(await said(office, actorId=office.owner_id, objectId="a2")) == 1
    first = await office.get("/audit", params={"limit": 2})
    second = await office.get("/audit", params={"limit": 2, "cursor": first["next"]})
    numbers = [row["number"] for row in [*first["items"], *second["items"]]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == 4
    for odd in ("-1", "x", "9" * 30, "0.5"):
        await office.get("/audit", params={"cursor": odd}, status=422)
    await office.get("/audit", params={"action": "a" * 201}, status=422)


async def test_a_row_costs_no_commit_of_its_own(office: Driver) -> None:
    store = office.office.store
    before, rows = store.commits, len(await noted(office))
    await office.agent("ada", steps=QUIET)
    assert store.commits == before + 1
    assert len(await noted(office)) == rows + 1


async def test_a_change_that_fails_leaves_no_row(office: Driver) -> None:
    await office.agent("ada", steps=QUIET)
    before = await noted(office)
    await office.ask("POST", "/agents", json={"id": "ada", "name": "A", "model": "script:echo"}, status=409)
    assert await noted(office) == before


async def test_concurrent_audit_writes_form_one_chain(office: Driver) -> None:
    await asyncio.gather(*(office.agent(f"agent{n}", steps=QUIET) for n in range(20)))
    rows = await noted(office, limit=200)
    assert sorted(row["number"] for row in rows) == list(range(1, len(rows) + 1))
    check = await office.get("/audit/check")
    assert check == {"ok": True, "rows": len(rows), "hash": rows[0]["hash"]}


# ── what somebody with a hand in the database might do ──────────────────────────────────────────────────────────────


async def change(tx: Transaction, number: int, /, **values: Any) -> None:
    await tx.run(Statement(update(audit).where(audit.c.number == number).values(**values)))


async def remove(tx: Transaction, number: int) -> None:
    await tx.run(Statement(delete(audit).where(audit.c.number == number)))


async def add_at_the_end(tx: Transaction, last: int) -> None:
    """Even with a hash that fits: the head does not know of it."""
    before = await tx.one(Statement(select(audit.c.hash).where(audit.c.number == last)))
    assert before is not None
    forged = Entry(last + 1, tx.clock.now(), "person", "mallory", "token.created", "token", "tok_x", {})
    values = {**{name: getattr(forged, name) for name in Entry.__slots__}, "detail": "{}"}
    await tx.run(Statement(insert(audit)), **{**values, "hash": rules.chained(before[0], forged)})


async def add_in_the_middle(tx: Transaction, last: int) -> None:
    """Everything behind it moves up by one."""
    for number in range(last, 2, -1):
        await change(tx, number, number=number + 1)
    row = await tx.one(Statement(select(audit).where(audit.c.number == 2)))
    assert row is not None
    await tx.run(Statement(insert(audit)), **dict(zip(audit.c.keys(), (3, *row[1:]), strict=True)))


TAMPERED: dict[str, tuple[Callable[[Transaction, int], Any], Callable[[int], int], str]] = {
    "actor": (lambda tx, last: change(tx, 2, actor_id="somebody"), lambda last: 2, "row 2 was changed"),
    "time": (lambda tx, last: change(tx, 2, at="2001-01-01T00:00:00Z"), lambda last: 2, "row 2 was changed"),
    "action": (lambda tx, last: change(tx, 1, action="agent.praised"), lambda last: 1, "row 1 was changed"),
    "detail": (lambda tx, last: change(tx, 2, detail='{"a":1}'), lambda last: 2, "row 2 was changed"),
    "hash": (lambda tx, last: change(tx, 2, hash="0" * 64), lambda last: 2, "row 2 was changed"),
    "first removed": (lambda tx, last: remove(tx, 1), lambda last: 1, "row 1 is missing"),
    "middle removed": (lambda tx, last: remove(tx, 2), lambda last: 2, "row 2 is missing"),
    "last removed": (remove, lambda last: last, "missing"),
    "added at the end": (add_at_the_end, lambda last: last + 1, "was added"),
    "added in the middle": (add_in_the_middle, lambda last: 3, "row 3 was changed"),
}


@pytest.mark.proves("N6", "V14")
@pytest.mark.parametrize("name", TAMPERED)
async def test_the_first_broken_audit_link_is_named(office: Driver, name: str) -> None:
    for agent in ("a1", "a2", "a3", "a4"):
        await office.agent(agent, steps=QUIET)
    last = len(await noted(office))
    assert (await office.get("/audit/check"))["ok"] is True
    tamper, where, reason = TAMPERED[name]
    await office.office.store.transact(lambda tx: tamper(tx, last))
    check = await office.get("/audit/check")
    assert check["ok"] is False
    assert check["brokenAt"] == where(last)
    assert check["rows"] == where(last) - 1
    assert reason in check["reason"]
