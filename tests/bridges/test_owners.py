"""Owners see how bridges are and what could not be sent, and decide about it: by HTTP, the SDK and the command line."""

from __future__ import annotations

import pytest

from bullpen.doctor import database as doctor
from bullpen.testing.bridges import MemoryBridge
from tests.bridges.chats import entries, family, sent
from tests.client.offices import sdk
from tests.driver import Driver, Offices

pytestmark = pytest.mark.one_database


async def dead_letter(offices: Offices, bridge: MemoryBridge) -> Driver:
    office = await family(offices, bridge)
    bridge.reason = "The bot was removed from the chat."
    bridge.will("refuse")
    await office.post("family", "hello?")
    await sent(office, 1)
    return office


async def test_owners_see_health_queue_and_dead_entries(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await dead_letter(offices, bridge)
    await office.office.bridges.stop()
    await office.post("family", "waiting")
    [listed] = await office.items("/bridges")
    [_, waiting] = await entries(office)
    assert listed == {
        "id": "mem",
        "status": "ok",
        "health": "All is well.",
        "queued": 1,
        "oldestAt": waiting["created_at"],
        "dead": 1,
    }
    bridge.will("fail")
    assert (await office.items("/bridges"))[0]["status"] == "failing"
    [dead] = await office.items("/bridges/mem/dead")
    assert (dead["kind"], dead["chat"], dead["spaceId"], dead["error"]) == ("message", "mem:1", "family", bridge.reason)
    assert (dead["attempts"], dead["repeated"], dead["status"]) == (1, False, "dead")
    await office.get("/bridges/tg/dead", status=404)


async def test_a_dead_entry_is_sent_after_all(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await dead_letter(offices, bridge)
    await office.post("family", "later")
    await sent(office, 2)
    bridge.in_order = False
    [dead] = await office.items("/bridges/mem/dead")
    assert (await office.create(f"/bridges/mem/dead/{dead['id']}/retry", {}))["status"] == "queued"
    await sent(office, 2)
    assert bridge.texts("1") == ["later", "hello?"]
    await office.create(f"/bridges/mem/dead/{dead['id']}/retry", {}, status=409)
    [noted] = await office.items("/audit", action="outbox.retried")
    assert (noted["objectId"], noted["actorId"]) == (dead["id"], office.owner_id)


async def test_a_dropped_entry_is_never_sent(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await dead_letter(offices, bridge)
    [dead] = await office.items("/bridges/mem/dead")
    await office.ask("DELETE", f"/bridges/mem/dead/{dead['id']}", status=204)
    assert await office.items("/bridges/mem/dead") == []
    assert [entry["status"] for entry in await entries(office)] == ["dropped"]
    for id in (dead["id"], "0", "99999", "x", "9" * 30):
        wanted = 409 if id == dead["id"] else 404
        await office.ask("DELETE", f"/bridges/mem/dead/{id}", status=wanted)
    await office.ask("DELETE", f"/bridges/tg/dead/{dead['id']}", status=404)


async def test_only_owners_see_and_decide(offices: Offices) -> None:
    office = await dead_letter(offices, MemoryBridge())
    _, pia = await office.person("Pia")
    [dead] = await office.items("/bridges/mem/dead")
    await pia.get("/bridges", status=403)
    await pia.get("/bridges/mem/dead", status=403)
    await pia.create(f"/bridges/mem/dead/{dead['id']}/retry", {}, status=403)
    await pia.ask("DELETE", f"/bridges/mem/dead/{dead['id']}", status=403)


async def test_a_bridge_that_runs_no_more_is_off_and_queues(offices: Offices) -> None:
    office = await family(offices, MemoryBridge())
    office.office.bridges._senders.clear()
    await office.post("family", "for later")
    [listed] = await office.items("/bridges")
    assert (listed["status"], listed["queued"]) == ("off", 1)


async def test_the_sdk_lists_retries_and_drops(offices: Offices) -> None:
    bridge = MemoryBridge()
    office = await dead_letter(offices, bridge)
    bridge.will("refuse")
    await office.post("family", "anybody?")
    await sent(office, 2)
    async with sdk(office) as bp:
        assert [(each.id, each.dead) for each in await bp.bridges.list()] == [("mem", 2)]
        page = await bp.bridges.dead("mem", limit=1)
        [newest] = page
        [oldest] = await bp.bridges.dead("mem", limit=1, cursor=page.next)
        await bp.bridges.drop("mem", newest.id)
        assert (await bp.bridges.retry("mem", oldest.id)).status == "queued"
        await sent(office, 2)
        assert (await bp.bridges.list()).items[0].dead == 0
    assert bridge.texts("1") == ["hello?"]


async def test_doctor_names_dead_entries(offices: Offices) -> None:
    office = await dead_letter(offices, MemoryBridge())
    patient = doctor.Patient(office.office.settings, office.office.store, running=True)
    [finding] = await doctor.bridged(patient)
    assert (finding.level, "1 that are dead" in finding.message) == ("warning", True)
    await office.ask("DELETE", f"/bridges/mem/dead/{(await entries(office))[0]['number']}", status=204)
    [finding] = await doctor.bridged(patient)
    assert finding.level == "ok"
