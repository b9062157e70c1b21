"""Cards in a space that is a chat elsewhere: the chat sees which tool waits and how it ended, and no arguments."""

from __future__ import annotations

import pytest

from bullpen.testing.bridges import MemoryBridge
from tests.bridges.chats import entries, family, sent
from tests.driver import Driver, Offices
from tests.path.scripts import Json, call, say, step

PRIVATE = "Fire Peter"
LINK = "https://office.example/rooms/family"
CARD: Json = {"name": "confirm", "description": "Ask", "inputSchema": {}, "executionType": "space"}
SHOW: Json = {**CARD, "name": "show", "executionType": "internal", "visible": True}
NEEDS: Json = {**SHOW, "name": "look", "variables": [{"name": "KEY", "type": "secret"}]}


async def asks(office: Driver, *tools: Json) -> None:
    for tool in tools:
        await office.create("/tools", tool)
    names = [tool["name"] for tool in tools]
    await office.agent(
        "ada", steps=[step(*(call(name, title=PRIVATE) for name in names)), say("done")], tools=["messaging", *names]
    )
    await office.create("/spaces/family/members", {"memberId": "ada"})
    await office.post("family", "@ada go")


async def waiting(office: Driver) -> str:
    return str((await office.event("tool.requires_action"))["call"]["callId"])


@pytest.mark.parametrize(
    "tool, asked, answer, ended",
    [
        (CARD, "an answer", {"ok": True}, "confirm: done, Olga answered."),
        ({**SHOW, "policy": "ask"}, "approval", {"approved": True}, "show: done, Olga answered."),
        ({**SHOW, "policy": "ask"}, "approval", {"approved": False}, "show: not approved, Olga answered."),
        (NEEDS, "values", {"env": {"KEY": "sk-0123456789"}}, "look: done, Olga answered."),
    ],
    ids=["card", "approved", "rejected", "values"],
)
async def test_a_chat_sees_a_card_wait_and_end(
    offices: Offices, tool: Json, asked: str, answer: Json, ended: str
) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge, public_url="https://office.example")
    await asks(office, tool)
    call_id = await waiting(office)
    await sent(office, 2)
    assert bridge.texts("1") == ["@ada go", f"{tool['name']} waits for {asked}. Answer it in Bullpen: {LINK}"]
    assert [arrival.author for arrival in bridge.arrived] == ["Olga", "Ada"]
    await office.create(f"/pending/{call_id}/resolve", {"result": answer}, status=200)
    await office.run_finished("ada")
    await office.until(lambda: _says(bridge, ended))
    assert bridge.texts("1")[0] == "@ada go"
    assert PRIVATE not in str(bridge.arrived)
    assert "sk-0123" not in str(bridge.arrived)
    assert bridge.faults == []


async def _says(bridge: MemoryBridge, line: str) -> bool:
    return line in bridge.texts("1") and "done" in bridge.texts("1")


@pytest.mark.one_database
async def test_a_call_that_waits_for_nobody_stays_in_its_space(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await asks(office, SHOW)
    await office.run_finished("ada")
    await sent(office, 2)
    assert bridge.texts("1") == ["@ada go", "done"]


async def test_a_card_answered_before_it_is_sent_never_leaves(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await family(offices, bridge)
    await office.office.bridges.stop()
    await asks(office, CARD)
    await office.create(f"/pending/{await waiting(office)}/resolve", {"result": {}}, status=200)
    await office.run_finished("ada")
    office.office.bridges.start()
    rows = await sent(office, 4)
    assert [row["status"] for row in rows] == ["sent", "dropped", "dropped", "sent"]
    assert bridge.texts("1") == ["@ada go", "done"]


@pytest.mark.one_database
async def test_cards_of_a_space_without_a_chat_are_not_queued(offices: Offices) -> None:
    office = await family(offices, MemoryBridge())
    await office.create("/tools", CARD)
    await office.agent("ada", steps=[step(call("confirm")), say("done")], tools=["messaging", "confirm"])
    await office.space("plain", ["ada"], wake={"people": "all"})
    await office.post("plain", "go")
    await office.create(f"/pending/{await waiting(office)}/resolve", {"result": {}}, status=200)
    await office.run_finished("ada")
    assert await entries(office) == []
