"""Services fail, answers get lost, processes pile up: nothing is lost, and nothing is doubled without the mark."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import update

from bullpen.bridges import sender as sending
from bullpen.errors import Unavailable
from bullpen.observe.redact import MASK
from bullpen.outbox import actions, rules
from bullpen.outbox.types import Outgoing, Result, Retry, Sent
from bullpen.settings import EngineSettings
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import bridges
from bullpen.testing import FakeClock
from bullpen.testing.bridges import Fate, MemoryBridge
from bullpen.wire.nouns import OutboxStatus
from tests.bridges.chats import QUIET, entries, family, sent
from tests.databases import Database
from tests.driver import Driver, Json, Offices
from tests.upkeep.copies import back_up, bring_back


async def statuses(office: Driver) -> list[str]:
    return [row["status"] for row in await entries(office)]


async def look(office: Driver) -> None:
    """A look, and whatever it began."""
    await office.office.bridges.look()
    [sender] = office.office.bridges._senders.values()

    async def rests() -> bool:
        return not sender.working

    await office.until(rests)


async def awake(office: Driver) -> None:
    """Forget that a chat waits: a test's clock is faster than the timers."""
    [sender] = office.office.bridges._senders.values()
    sender._resting.clear()
    await look(office)


@pytest.mark.proves("B-outbox")
async def test_a_lost_answer_is_sent_again_once_and_marked(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    bridge.will("lose")
    message = await office.post("family", "did you get this?")
    await office.post("family", "next")
    rows = await sent(office, 2)
    assert [arrival.repeated for arrival in bridge.arrived] == [False, True, False]
    assert [row["repeated_part"] for row in rows] == [0, None]
    assert bridge.faults == []
    assert (await office.get(f"/messages/{message['id']}"))["metadata"] == {"delivery": "repeated"}
    told = await office.event("message_updated")
    assert told["message"]["metadata"] == {"delivery": "repeated"}


@pytest.mark.proves("B-outbox")
async def test_a_twice_lost_answer_waits_for_an_owner(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    bridge.will("lose", "lose")
    await office.post("family", "hello?")
    await office.post("family", "next")
    rows = await sent(office, 2)
    assert [(row["status"], row["error"]) for row in rows] == [("dead", rules.TWICE), ("sent", None)]
    assert [arrival.text for arrival in bridge.arrived] == ["hello?", "hello?", "next"]


@pytest.mark.one_database
async def test_a_bridge_that_never_answers_is_given_up(offices: Offices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SECONDS", 0.05)
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    bridge.will("hang", "hang")
    await office.post("family", "hello?")
    [row] = await sent(office, 1)
    assert (row["status"], row["attempts"]) == ("dead", 2)


async def test_failures_back_off_in_order_and_end_dead(offices: Offices) -> None:
    clock = FakeClock()
    bridge = MemoryBridge()
    office = await family(offices, bridge, clock=clock, engine=QUIET)
    count = len(rules.WAITS) + 1
    failing: list[Fate] = ["fail"] * count
    bridge.will(*failing)
    await office.post("family", "one")
    await office.post("family", "two")
    for number in range(1, count + 1):
        await office.until(lambda n=number: attempted(office, n))  # type: ignore[misc]
        await look(office)
        assert bridge.arrived == [] or number == count, "nothing overtakes what is tried again"
        clock.advance(3600 * 1.2 + 1)
        await awake(office)
    rows = await sent(office, 2)
    assert [row["status"] for row in rows] == ["dead", "sent"]
    assert rows[0]["error"] == f"{count} attempts have failed. {bridge.reason}"
    assert bridge.texts("1") == ["two"]


async def attempted(office: Driver, times: int) -> bool:
    [first, *_] = await entries(office)
    return bool(first["attempts"] >= times and first["status"] != "sending")


async def test_what_is_refused_is_dead_at_once(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    bridge.reason = "bot was kicked, token whsec_" + "a" * 32
    bridge.will("refuse")
    message = await office.post("family", "hello?")
    await sent(office, 1)
    await office.ask("PATCH", f"/messages/{message['id']}", json={"text": "hello!"})
    rows = await sent(office, 2)
    assert [row["status"] for row in rows] == ["dead", "dropped"]
    assert MASK in rows[0]["error"]
    assert rows[1]["error"] == actions.NEVER_THERE


@pytest.mark.proves("B-outbox")
async def test_an_outage_after_sending_repeats_nothing(offices: Offices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "AGAIN_SECONDS", 0.01)
    settle, left = actions.settle, 5

    async def away(tx: Transaction, item: Outgoing, result: Result) -> OutboxStatus | None:
        nonlocal left
        if left:
            left -= 1
            raise Unavailable("The database is not there.")
        return await settle(tx, item, result)

    monkeypatch.setattr(actions, "settle", away)
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await office.post("family", "one")
    await office.post("family", "two")
    rows = await sent(office, 2)
    assert ([arrival.text for arrival in bridge.arrived], left) == (["one", "two"], 0)
    assert [row["repeated_part"] for row in rows] == [None, None]


async def test_only_one_of_several_processes_sends(offices: Offices) -> None:
    bridge = MemoryBridge()
    first = await family(offices, bridge, engine=QUIET)
    if not first.office.store.shared:
        return  # one process owns a SQLite file
    second = await offices.open(bridges=[bridge], engine=QUIET, watch=False)
    for n in range(15):
        await (first if n % 2 else second).post("family", f"line {n}")
    await sent(first, 15)
    assert bridge.texts("1") == [f"line {n}" for n in range(15)]
    assert bridge.faults == []


async def test_another_process_takes_over_when_the_lease_ends(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge, engine=QUIET)
    if not office.office.store.shared:
        return  # one process owns a SQLite file

    async def held_by_the_dead(tx: Transaction) -> None:
        await tx.run(Statement(update(bridges).values(owner="dead", until=2**60)))

    await office.office.store.transact(held_by_the_dead)
    await office.post("family", "hello?")
    await look(office)
    assert (bridge.arrived, await statuses(office)) == ([], ["queued"])

    async def over(tx: Transaction) -> None:
        await tx.run(Statement(update(bridges).values(until=1)))

    await office.office.store.transact(over)
    await awake(office)
    await sent(office, 1)
    assert bridge.texts("1") == ["hello?"]


async def test_a_late_sender_cannot_undo_what_another_did(offices: Offices) -> None:
    """Both have begun the same entry: the second because the first was silent for too long."""
    office = await family(offices, MemoryBridge(), drive=False)
    store = office.office.store
    await office.post("family", "hello?")
    first = await store.transact(lambda tx: actions.take(tx, "mem", "mem:1", "first"))
    await store.transact(lambda tx: tx.run(Statement(update(bridges).values(until=1))))
    second = await store.transact(lambda tx: actions.take(tx, "mem", "mem:1", "second"))
    assert isinstance(first, Outgoing)
    assert isinstance(second, Outgoing)
    assert (first.repeated, second.repeated, first.key == second.key) == (False, True, True)
    settle = actions.settle
    assert await store.transact(lambda tx: settle(tx, first, Sent("r1"))) == "sent"
    assert await store.transact(lambda tx: settle(tx, second, Retry("no"))) is None
    assert await statuses(office) == ["sent"]


async def test_the_clock_put_back_brings_attempts_forward(offices: Offices) -> None:
    clock = FakeClock()
    bridge = MemoryBridge()
    office = await family(offices, bridge, clock=clock, engine=QUIET)
    bridge.wait_seconds = 1000.0
    bridge.will("wait")
    await office.post("family", "later")
    await office.until(lambda: attempted(office, 1))
    clock.advance(-86_400)
    assert await office.office.clock_watch.look()
    await awake(office)
    await sent(office, 1)
    assert bridge.texts("1") == ["later"]


async def test_a_restored_office_sends_nothing_twice(database: Database, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        office = await family(Offices(database, stack), MemoryBridge(), drive=False)
        await office.post("family", "sent after the backup")
    file, bridge = tmp_path / "backup.jsonl", MemoryBridge()
    await back_up(database, file)
    await bring_back(database, file, force=True)
    async with AsyncExitStack() as stack:
        again = await Offices(database, stack).open(bridges=[bridge])
        await again.office.bridges.look()
        assert [(row["status"], row["error"]) for row in await entries(again)] == [("dead", rules.RESTORED)]
        assert bridge.arrived == []


async def test_a_space_that_left_the_chat_sends_nothing_there(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge, drive=False)
    await office.post("family", "not for them any more")
    await office.ask("PATCH", "/spaces/family", json={"bridge": None})
    office.office.bridges.start()
    [row] = await sent(office, 1)
    assert (row["status"], row["error"], bridge.arrived) == ("dropped", actions.ELSEWHERE, [])


async def test_an_erased_person_is_deleted_there_and_leaves_no_account(offices: Offices, database: Database) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    pia_id, pia = await office.person("Pia")
    await office.create("/spaces/family/members", {"memberId": pia_id})
    await pia.create("/spaces/family/messages", {"text": "forget me"})
    await sent(office, 1)
    await office.create(f"/people/{pia_id}/erase", {})
    await sent(office, 2)
    assert bridge.texts("1") == []
    await office.ask("DELETE", "/spaces/family")
    assert await entries(office) == []


async def test_a_stopped_office_leaves_what_waits_queued(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge, engine=EngineSettings(lease_seconds=3600))
    bridge.wait_seconds = 30.0
    bridge.will("wait")
    await office.post("family", "one")
    await office.until(lambda: attempted(office, 1))
    async with asyncio.timeout(2):
        await office.office.bridges.stop()
    await office.post("family", "two")
    assert await statuses(office) == ["queued", "queued"]
    found: list[Json] = await entries(office)
    assert found[0]["error"] == "Too many requests."
