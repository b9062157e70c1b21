"""What is written in a chat elsewhere becomes a message of its space: once, by a person who exists or by a guest."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.access import accounts
from bullpen.access import rules as access
from bullpen.testing import FakeClock, invariants, snapshot
from bullpen.testing.bridges import MemoryBridge
from bullpen.upkeep import retention
from tests.bridges.chats import entries, family, sent, update
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.path.scripts import say


async def link(office: Driver, account: str, person_id: str) -> None:
    await office.office.store.transact(lambda tx: accounts.link(tx, access.SYSTEM, "mem", account, person_id))


async def whole(database: Database) -> list[str]:
    return invariants.violations(invariants.Seen(await snapshot.read(database.url), at_rest=True))


async def test_a_stranger_becomes_a_guest_and_wakes_the_agent(offices: Offices, database: Database) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await office.agent("ada", steps=[say("hello {{trigger.text}}")])
    await office.create("/spaces/family/members", {"memberId": "ada"})
    received = await office.office.bridges.receive("mem", update("1", "@ada good morning"))
    await office.run_finished("ada")
    await sent(office, 1)
    assert bridge.texts("1") == ["hello @ada good morning"]
    message = await office.get(f"/messages/{received.message_id}")
    [guest] = [person for person in await office.items("/people") if person["role"] == "guest"]
    assert (message["authorId"], message["authorKind"], guest["name"]) == (guest["id"], "person", "Ann (mem)")
    assert guest["id"] in (await office.get("/spaces/family"))["members"]
    await office.office.bridges.receive("mem", update("2", "and good night"))
    assert len([person for person in await office.items("/people") if person["role"] == "guest"]) == 1
    assert await whole(database) == []


@pytest.mark.proves("B-inbound")
async def test_an_update_counts_once_also_after_a_restart(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    receive = office.office.bridges.receive
    first, *others = await asyncio.gather(*(receive("mem", update("9", "just once")) for _ in range(5)))
    statuses = sorted(received.status for received in (first, *others))
    assert statuses == ["duplicate"] * 4 + ["posted"]
    if office.office.store.shared:
        office = await offices.open(bridges=[bridge])
    assert (await office.office.bridges.receive("mem", update("9", "just once"))).status == "duplicate"
    assert await office.texts("family") == ["just once"]
    assert (await office.office.bridges.receive("tg", update("9", "another bridge"))).status == "unregistered"


async def test_a_linked_account_speaks_as_its_person(offices: Offices) -> None:
    office = await family(offices, MemoryBridge())
    pia_id, _ = await office.person("Pia")
    await office.office.bridges.receive("mem", update("1", "who am I"))
    await link(office, "77", pia_id)
    await office.office.bridges.receive("mem", update("2", "now I am Pia"))
    first, second = await office.messages("family")
    assert first["authorId"] != pia_id
    assert second["authorId"] == pia_id
    assert pia_id in (await office.get("/spaces/family"))["members"]


@pytest.mark.one_database
async def test_what_disabled_people_say_elsewhere_is_refused(offices: Offices) -> None:
    office = await family(offices, MemoryBridge())
    pia_id, _ = await office.person("Pia")
    await link(office, "77", pia_id)
    await office.ask("PATCH", f"/people/{pia_id}", json={"disabled": True})
    refused = await office.office.bridges.receive("mem", update("1", "let me in"))
    assert (refused.status, "disabled" in (refused.reason or "")) == ("refused", True)
    again = await office.office.bridges.receive("mem", update("1", "let me in"))
    assert again.status == "duplicate"
    assert await office.messages("family") == []


@pytest.mark.one_database
async def test_a_guest_cannot_sign_in_and_looks_like_nobody_else(offices: Offices) -> None:
    office = await family(offices, MemoryBridge())
    for n, name in enumerate(("Olga", "Olga", "0lga", "\u202egnirts", "")):
        await office.office.bridges.receive("mem", update(str(n), "hello", account=f"a{n}", account_name=name))
    guests = [person for person in await office.items("/people") if person["role"] == "guest"]
    names = {person["name"] for person in guests}
    assert names == {"Olga (mem)", "Olga (mem a1)", "0lga (mem a2)", "gnirts (mem)", "Guest (mem)"}
    await office.create("/tokens", {"name": "t", "personId": guests[0]["id"]}, status=409)
    await office.ask("PATCH", f"/people/{guests[0]['id']}", json={"password": "long enough it is"}, status=409)
    await office.create("/people", {"name": "X", "role": "guest"}, status=422)
    await office.create("/invites", {"role": "guest"}, status=422)


@pytest.mark.one_database
async def test_a_chat_nobody_registered_is_reported_and_nothing_more(offices: Offices) -> None:
    office = await family(offices, MemoryBridge())
    received = await office.office.bridges.receive("mem", update("1", "anybody?", address="99", chat_name="Strangers"))
    assert received.status == "unregistered"
    found = await office.items("/chats", registered=False)
    assert [(chat["jid"], chat["name"]) for chat in found] == [("mem:99", "Strangers")]
    assert [person["role"] for person in await office.items("/people")] == ["owner"]


async def test_replies_lead_to_the_right_message_both_ways(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    question = await office.post("family", "tea?")
    await sent(office, 1)
    there = bridge.arrived[0].remote_id
    received = await office.office.bridges.receive("mem", update("1", "yes please", reply_to=there))
    assert (await office.get(f"/messages/{received.message_id}"))["replyTo"] == question["id"]
    await office.post("family", "here you are", replyTo=received.message_id)
    await sent(office, 2)
    assert bridge.arrived[1].reply_to == "m1"
    unknown = await office.office.bridges.receive("mem", update("2", "to nothing", reply_to="r999"))
    assert "replyTo" not in await office.get(f"/messages/{unknown.message_id}")


async def test_a_command_from_the_chat_is_answered_there(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await office.office.bridges.receive("mem", update("1", "/help"))
    await sent(office, 1)
    [answer] = bridge.texts("1")
    assert answer.startswith("You can write here:")
    assert len(await entries(office)) == 1


@pytest.mark.one_database
@pytest.mark.parametrize("text", ["", "nul \x00 in it", "x" * 40_000])
async def test_what_cannot_be_a_message_is_refused_with_a_reason(offices: Offices, text: str) -> None:
    office = await family(offices, MemoryBridge())
    refused = await office.office.bridges.receive("mem", update("1", text))
    assert refused.status == "refused"
    assert refused.reason
    assert refused.reason.startswith("This cannot be a message here: ")
    assert await office.messages("family") == []


async def test_a_person_edits_here_what_they_said_there(offices: Offices) -> None:
    """Nobody but its author can change a message there, so the change stays here."""
    office = await family(offices, MemoryBridge())
    await link(office, "77", office.owner_id)
    received = await office.office.bridges.receive("mem", update("1", "a tpyo"))
    await office.ask("PATCH", f"/messages/{received.message_id}", json={"text": "a typo"})
    await office.ask("DELETE", f"/messages/{received.message_id}")
    assert await entries(office) == []
    assert [m["text"] for m in await office.messages("family")] == [""]


async def test_old_updates_and_sent_entries_are_forgotten(offices: Offices) -> None:
    clock = FakeClock()
    office = await family(offices, MemoryBridge(), clock=clock)
    await office.office.bridges.receive("mem", update("1", "long ago"))
    await office.post("family", "long ago, too")
    await sent(office, 1)
    store, settings = office.office.store, office.office.settings.retention
    assert (await retention.forget(store, settings)).deliveries == 0
    clock.advance((settings.journals_days + 1) * 86_400)
    assert (await retention.forget(store, settings)).deliveries == 2
    assert await entries(office) == []
