"""Whom a run's spending counts for: its agent, its space, whoever caused it, the whole office; also through others."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.access import rows as access_rows
from bullpen.budgets import actions as budgets
from bullpen.budgets import rows, rules
from bullpen.budgets.types import DOLLAR, Spent, Subject
from bullpen.engine.leases import Lease
from bullpen.runs import holds
from bullpen.storage import Transaction
from tests.budgets.spending import budget, looking, paused, saying, sums, told, url_of
from tests.driver import Api, Driver
from tests.path.scripts import turn
from tests.refusals import refused


async def two_in_a_row(office: Driver) -> None:
    """Ada is asked, and asks Bo."""
    await office.agent("ada", turns=[turn("go", saying("@bo please", 0.4))])
    await office.agent("bo", turns=[turn("please", looking(0.4), saying("done", 0.1))])
    await office.space("general", ["ada", "bo"], wake={"people": "mention", "agents": "mention"})


@pytest.mark.parametrize("kind", ["space", "person", "office"])
async def test_work_agents_cause_counts_for_the_original_person_and_space(office: Driver, kind: str) -> None:
    await two_in_a_row(office)
    subject = {"space": "general", "person": office.owner_id, "office": None}[kind]
    await budget(office, kind, subject, 0.8)
    await office.post("general", "@ada go")
    agent = await paused(office, "bo")
    name = {
        "space": "The budget of #general",
        "person": "The budget of Olga",
        "office": "The budget of the whole office",
    }[kind]
    assert agent["pausedReason"] == f"{name} for today is used up."
    (kept,) = await office.items("/budgets")
    assert (kept["kind"], kept["spent"], kept["reached"]) == (kind, 0.8, True)
    assert kept.get("subjectId") == subject
    assert "done" not in await office.texts("general")
    await office.create("/agents/bo/resume", {})
    assert (await office.run_finished("bo"))["stopReason"] == "done"
    assert (await office.items("/usage", by="person"))[0]["cost"] == 0.9
    spending, journal = await sums(url_of(office))
    assert spending == journal


async def test_one_persons_used_up_budget_does_not_block_others(office: Driver) -> None:
    """A run that one person's budget stops is ended as soon as somebody else waits for its thread."""
    await office.agent(
        "ada", turns=[turn("first", looking(0.5), saying("never", 0.1)), turn("second", saying("yes", 0.1))]
    )
    pia_id, pia = await office.person("Pia")
    await office.space("general", ["ada", pia_id], wake={"people": "all"})
    await budget(office, "person", pia_id, 0.5)
    await pia.create("/spaces/general/messages", {"text": "first"})
    await paused(office, "ada")
    # More of her own waits with it.
    await pia.create("/spaces/general/messages", {"text": "first again"})
    await office.office.tidy()
    assert (await office.get("/agents/ada"))["state"] == "paused"
    await office.post("general", "second")
    await office.office.tidy()
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("completed", "max_cost")
    assert run["error"] == "The budget of Pia for today is used up."
    await office.until(lambda: _says(office, "yes"))
    assert len(told(office, "budget_reached")) == 1


async def _says(office: Driver, text: str) -> bool:
    return text in await office.texts("general")


async def test_an_overspent_space_does_not_stop_its_agent_in_others(office: Driver) -> None:
    await office.agent(
        "ada",
        turns=[turn("dear", looking(0.5), saying("never", 0.1)), turn("cheap", saying("yes", 0.1))],
        scope="agent",
    )
    for id in ("dear", "cheap"):
        await office.space(id, ["ada"], wake={"people": "all"})
    await budget(office, "space", "dear", 0.5)
    await office.post("dear", "dear")
    await paused(office, "ada")
    await office.post("cheap", "cheap")
    await office.office.tidy()
    await office.run_finished("ada", nth=2)
    assert await office.texts("cheap") == ["cheap", "yes"]


async def _task(office: Driver) -> str:
    body = {"spaceId": "general", "prompt": "look", "scheduleType": "interval", "scheduleValue": "1h"}
    return str((await office.create("/tasks", body))["id"])


async def test_what_a_task_causes_counts_for_the_task(office: Driver) -> None:
    await office.agent("ada")
    await office.space("general", ["ada"])
    id = await _task(office)
    await budget(office, "task", id, 0.5)
    subject = Subject("ada", task_id=id)
    await office.office.store.transact(
        lambda tx: budgets.spend(tx, subject, Spent("script:x", nanodollars=DOLLAR // 2))
    )
    (kept,) = await office.items("/budgets")
    assert (kept["kind"], kept["subjectId"], kept["spent"], kept["reached"]) == ("task", id, 0.5, True)
    assert await office.office.store.read(lambda tx: rows.select_standings_of(tx, Subject("ada"))) == []
    (standing,) = await office.office.store.read(lambda tx: rows.select_standings_of(tx, subject))
    assert rules.is_reached(standing)


# ── rights ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _admin(office: Driver) -> Api:
    _, api = await office.person("Adam")

    async def promote(tx: Transaction) -> None:
        person = await access_rows.select_person(tx, "psn_adam")
        assert person is not None
        await access_rows.update_person(tx, person.model_copy(update={"role": "admin"}))

    await office.office.store.transact(promote)
    return api


@pytest.mark.one_database
async def test_admins_set_agent_space_and_task_budgets_owners_set_all(office: Driver) -> None:
    await office.agent("ada")
    await office.space("general", ["ada"])
    admin = await _admin(office)
    pia_id, pia = await office.person("Pia")
    bodies: dict[str, dict[str, Any]] = {
        "agent": {"kind": "agent", "subjectId": "ada", "amount": 1},
        "space": {"kind": "space", "subjectId": "general", "amount": 1},
        "task": {"kind": "task", "subjectId": await _task(office), "amount": 1},
        "person": {"kind": "person", "subjectId": pia_id, "amount": 1},
        "office": {"kind": "office", "amount": 1},
    }
    for kind, body in bodies.items():
        await refused(pia, "PUT", "/budgets", 403, json=body)
        await refused(await office.as_agent("ada"), "PUT", "/budgets", 403, json=body)
        await admin.ask("PUT", "/budgets", status=200 if kind in ("agent", "space", "task") else 403, json=body)
        made = await office.ask("PUT", "/budgets", json=body)
        await admin.ask("DELETE", f"/budgets/{made['id']}", status=204 if kind in ("agent", "space", "task") else 403)
    assert {row["kind"] for row in await office.items("/budgets")} == {"person", "office"}
    await refused(pia, "GET", "/budgets", 403)
    actions = [row["action"] for row in await office.items("/audit", limit=200)]
    assert actions.count("budget.set") == 8
    assert actions.count("budget.deleted") == 3


@pytest.mark.one_database
async def test_an_admin_cannot_extend_the_office_budget_by_resuming_agents(office: Driver) -> None:
    await office.agent("ada", steps=[looking(0.5), saying("done", 0.1)])
    await budget(office, "office", None, 0.5)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    await refused(await _admin(office), "POST", "/agents/ada/resume", 403)
    assert (await office.get("/agents/ada"))["state"] == "paused"
    await office.create("/agents/ada/resume", {})
    await office.run_finished("ada")


@pytest.mark.parametrize(
    "body, status",
    [
        ({"kind": "agent", "subjectId": "nobody", "amount": 1}, 404),
        ({"kind": "space", "subjectId": "nowhere", "amount": 1}, 404),
        ({"kind": "person", "subjectId": "psn_nobody", "amount": 1}, 404),
        ({"kind": "agent", "amount": 1}, 422),
        ({"kind": "office", "subjectId": "ada", "amount": 1}, 422),
        ({"kind": "office", "amount": -1}, 422),
        ({"kind": "office", "amount": 1e12}, 422),
        ({"kind": "office", "amount": 1e16, "unit": "tokens"}, 422),
        ({"kind": "planet", "amount": 1}, 422),
        ({"kind": "office", "amount": 1, "period": "week"}, 422),
        ({"kind": "office", "amount": 1, "unit": "EUR"}, 422),
    ],
)
@pytest.mark.one_database
async def test_a_budget_with_an_invalid_subject_or_amount_is_refused(
    office: Driver, body: dict[str, Any], status: int
) -> None:
    await refused(office, "PUT", "/budgets", status, json=body)
    assert await office.items("/budgets") == []


@pytest.mark.one_database
async def test_a_budget_in_an_agents_definition_is_changed_there(office: Driver) -> None:
    await office.agent("ada", limits={"maxCostPerDay": 2.5, "maxTokensPerDay": 1000})
    found = {row["unit"]: row for row in await office.items("/budgets", kind="agent", subjectId="ada")}
    assert {unit: (row["amount"], row["origin"]) for unit, row in found.items()} == {
        "USD": (2.5, "limits"),
        "tokens": (1000, "limits"),
    }
    wrong = await office.ask("DELETE", f"/budgets/{found['USD']['id']}", status=409)
    assert "PATCH /api/agents/ada" in wrong["error"]["message"]
    await office.ask("PATCH", "/agents/ada", json={"limits": {"maxCostPerDay": 3}})
    (kept,) = await office.items("/budgets")
    assert (kept["unit"], kept["amount"]) == ("USD", 3)
    many = {"kind": "agent", "subjectId": "ada", "amount": 5e12, "unit": "tokens", "period": "month"}
    assert (await office.ask("PUT", "/budgets", json=many))["amount"] == 5e12
    await office.ask("PATCH", "/agents/ada", json={"limits": {"maxTokensPerDay": 5 * 10**12}})
    assert {row["amount"] for row in await office.items("/budgets", kind="agent")} == {5e12}
    assert await office.items("/budgets", kind="space") == []


async def test_a_budget_raise_while_a_run_pauses_is_not_missed(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is looked at once more in the transaction that puts the run aside."""
    await office.agent("ada", steps=[looking(0.5), saying("done", 0.1)])
    await budget(office, "agent", "ada", 0.5)
    await office.space("general", ["ada"], wake={"people": "all"})
    seen: list[Lease] = []
    real = holds.hold

    async def late(tx: Transaction, lease: Lease, *more: Any) -> Any:
        if not seen:
            seen.append(lease)
            await budgets.put(
                tx,
                (await office.office.local_owner()),
                kind="agent",
                subject_id="ada",
                period="day",
                unit="USD",
                amount=5,
            )
        return await real(tx, lease, *more)

    monkeypatch.setattr(holds, "hold", late)
    await office.post("general", "go")
    await office.run_finished("ada")
    assert seen
