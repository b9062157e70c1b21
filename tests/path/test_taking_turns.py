"""Agents woken by one message answer one after another, and each sees what the earlier ones said. design.md §6.5."""

from __future__ import annotations

from bullpen.settings import EngineSettings
from tests.driver import Driver, Offices
from tests.path.puppets import Puppet, puppet, window
from tests.path.scripts import say


async def three(office: Driver) -> tuple[Puppet, Puppet, Puppet]:
    """Cy, Ada and Bo, who joined in that order."""
    cy, ada, bo = [await puppet(office, id, steps=[say(f"{id} was here")]) for id in ("cy", "ada", "bo")]
    await office.space("general", ["cy", "ada"], wake={"people": "all", "agents": "none"})
    await office.create("/spaces/general/members", {"memberId": "bo"})
    return cy, ada, bo


async def test_agents_answer_in_joining_order_and_see_earlier_answers(office: Driver) -> None:
    cy, ada, bo = await three(office)
    cy.hold()
    await office.post("general", "hello")
    await cy.asked(1)
    # The others have their item, and are not even queued.
    for id in ("ada", "bo"):
        assert (await office.get(f"/agents/{id}"))["state"] == "idle"
        assert [item["payload"]["text"] for item in await office.items(f"/agents/{id}/inbox")] == ["hello"]
    cy.release()
    await office.run_finished("bo")
    assert [run["agentId"] for run in await office.runs()] == ["cy", "ada", "bo"]
    assert window(cy.shown[0]) == []
    assert window(ada.shown[0]) == ["Olga: hello", "Cy: cy was here"]
    assert window(bo.shown[0]) == ["Olga: hello", "Cy: cy was here", "Ada: ada was here"]
    told = [(e["type"], e["agentId"]) for e in office.events if e["type"] in ("run_started", "run_finished")]
    assert told == [(type, id) for id in ("cy", "ada", "bo") for type in ("run_started", "run_finished")]


async def test_the_next_agent_waits_only_briefly_for_a_slow_one(offices: Offices) -> None:
    office = await offices.open(engine=EngineSettings(lease_seconds=2.0, group_wait_seconds=0.2))
    cy, ada, bo = await three(office)
    cy.hold()
    await office.post("general", "hello")
    await office.run_finished("bo")
    await office.run_finished("ada")
    (run,) = await office.runs(agentId="cy")
    assert run["status"] == "thinking"
    assert window(ada.shown[0]) == []
    assert len(bo.shown) == len(ada.shown) == 2
    cy.release()
    await office.idle()
    assert [run["outcome"] for run in await office.runs()] == ["spoke"] * 3


async def test_an_agent_woken_early_also_takes_its_queued_message(office: Driver) -> None:
    cy, _, bo = await three(office)
    await office.ask("PATCH", "/spaces/general", json={"wake": {"people": "mention"}})
    cy.hold()
    await office.post("general", "@cy @ada @bo hello")
    await cy.asked(1)
    await office.post("general", "@ada now")
    run = await office.run_finished("ada")
    assert run["trigger"]["items"] == 2
    assert run["trigger"]["messageId"] == (await office.messages("general"))[1]["id"]
    # Cy is still at it, so it is not yet Bo's turn.
    assert bo.shown == []
    cy.release()
    await office.run_finished("bo")
    await office.idle()
    assert [run["agentId"] for run in await office.runs()] == ["cy", "ada", "bo"]
    assert window(bo.shown[0])[-2:] == ["Ada: ada was here", "Cy: cy was here"]


async def test_the_turn_passes_on_after_a_cancellation_or_deletion(office: Driver) -> None:
    cy, ada, _ = await three(office)
    cy.hold()
    ada.hold()
    await office.post("general", "hello")
    await cy.asked(1)
    (running,) = await office.runs(agentId="cy")
    await office.create(f"/runs/{running['id']}/cancel", {})
    await ada.asked(1)
    await office.ask("DELETE", "/agents/ada")
    ada.release()
    run = await office.run_finished("bo")
    assert run["outcome"] == "spoke"
    ended = {run["agentId"]: run["stopReason"] for run in await office.runs()}
    assert (ended["cy"], ended["bo"]) == ("cancelled", "done")
