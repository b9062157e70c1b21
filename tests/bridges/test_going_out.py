"""What is said in a space that is a chat elsewhere goes there: once, in order, as it is by then."""

from __future__ import annotations

import pytest

from bullpen.bridges.types import Pace
from bullpen.testing.bridges import MemoryBridge
from tests.bridges.chats import entries, family, sent, update
from tests.driver import Offices
from tests.path.scripts import call, say, step


async def test_messages_arrive_in_order(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    for n in range(20):
        await office.post("family", f"line {n}")
    rows = await sent(office, 20)
    assert bridge.texts("1") == [f"line {n}" for n in range(20)]
    assert [row["status"] for row in rows] == ["sent"] * 20
    assert bridge.faults == []
    assert {arrival.author for arrival in bridge.arrived} == {"Olga"}


async def test_an_agents_answer_goes_out_and_its_reaction(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    react = step(call("react_to_message", messageId="{{trigger.messageId}}", emoji="👀"))
    await office.agent("ada", steps=[say("on my way"), react])
    await office.create("/spaces/family/members", {"memberId": "ada"})
    await office.post("family", "@ada come")
    await sent(office, 3)
    assert bridge.texts("1") == ["@ada come", "on my way"]
    [reaction] = [arrival for arrival in bridge.arrived if arrival.kind == "reaction"]
    assert (reaction.emoji, reaction.added, reaction.author) == ("👀", True, "Ada")
    assert reaction.remote_id == bridge.arrived[0].remote_id
    assert bridge.faults == []


async def test_edits_deletes_replies_and_reactions_go_out(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    first = await office.post("family", "a tpyo")
    await office.post("family", "an answer", replyTo=first["id"])
    gone = await office.post("family", "never mind")
    await sent(office, 3)
    await office.ask("PATCH", f"/messages/{first['id']}", json={"text": "a typo"})
    await office.ask("DELETE", f"/messages/{gone['id']}")
    await office.create(f"/messages/{first['id']}/reactions", {"emoji": "👍"})
    await sent(office, 6)
    await office.ask("DELETE", f"/messages/{first['id']}/reactions/👍")
    await sent(office, 7)
    assert bridge.texts("1") == ["a typo", "an answer"]
    assert bridge.arrived[1].reply_to == bridge.arrived[0].remote_id
    reactions = [(arrival.emoji, arrival.added) for arrival in bridge.arrived if arrival.kind == "reaction"]
    assert reactions == [("👍", True), ("👍", False)]
    assert bridge.faults == []


async def test_what_is_deleted_before_it_is_sent_never_leaves(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge, drive=False)
    message = await office.post("family", "a secret plan")
    await office.ask("PATCH", f"/messages/{message['id']}", json={"text": "a plan"})
    await office.ask("DELETE", f"/messages/{message['id']}")
    later = await office.post("family", "first words")
    await office.ask("PATCH", f"/messages/{later['id']}", json={"text": "second words"})
    office.office.bridges.start()
    rows = await sent(office, 5)
    assert [row["status"] for row in rows] == ["dropped", "dropped", "dropped", "sent", "sent"]
    assert bridge.arrived[0].text == "second words"
    assert "plan" not in str(bridge.arrived)


async def test_only_spaces_of_a_connected_bridge_are_queued(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await office.space("other", kind="group", bridge="tg:-100")
    await office.space("plain")
    for space in ("other", "plain"):
        message = await office.post(space, "nobody elsewhere hears this")
        await office.create(f"/messages/{message['id']}/reactions", {"emoji": "👍"})
    assert await entries(office) == []


async def test_a_long_message_arrives_in_parts(offices: Offices) -> None:
    bridge = MemoryBridge(part_length=10)
    office = await family(offices, bridge)
    message = await office.post("family", "0123456789abcdefghij!")
    await office.post("family", "next")
    await sent(office, 2)
    assert [arrival.text for arrival in bridge.arrived] == ["0123456789", "abcdefghij", "!", "next"]
    await office.ask("DELETE", f"/messages/{message['id']}")
    await sent(office, 3)
    assert bridge.texts("1") == ["next"]


async def test_chats_are_paced_and_do_not_wait_for_each_other(offices: Offices) -> None:
    bridge = MemoryBridge(paces=(Pace(20, 0.5),), chat_paces=(Pace(2, 0.25),))
    office = await family(offices, bridge)
    await office.space("work", kind="group", bridge="mem:2")
    for n in range(6):
        await office.post("family", f"family {n}")
        await office.post("work", f"work {n}")
    await sent(office, 12)
    assert bridge.texts("1") == [f"family {n}" for n in range(6)]
    assert bridge.texts("2") == [f"work {n}" for n in range(6)]
    assert bridge.faults == []


async def test_a_waiting_chat_keeps_its_order_and_delays_no_other(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await office.space("work", kind="group", bridge="mem:2")
    bridge.wait_seconds = 1.0
    bridge.will("wait")
    await office.post("family", "one")
    await office.post("family", "two")
    await office.until(lambda: is_waiting(office))
    await office.post("work", "meanwhile")
    await sent(office, 3)
    assert [arrival.text for arrival in bridge.arrived] == ["meanwhile", "one", "two"]
    assert all(row["failures"] == 0 for row in await entries(office)), "being asked to wait is no failure"


async def is_waiting(office: object) -> bool:
    found = await entries(office)  # type: ignore[arg-type]
    return bool(found and found[0]["error"])


@pytest.mark.one_database
async def test_a_message_from_the_chat_does_not_go_back_there(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    received = await office.office.bridges.receive("mem", update("1", "hello from there"))
    assert received.status == "posted"
    await office.post("family", "and hello from here")
    await sent(office, 1)
    assert [arrival.text for arrival in bridge.arrived] == ["and hello from here"]
    # What came from there is only its author's to change there.
    assert len(await entries(office)) == 1
