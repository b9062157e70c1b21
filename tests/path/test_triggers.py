"""Something outside happened: an agent is woken with it, in a thread made for that alone, in no space."""

from __future__ import annotations

import pytest

from bullpen.settings import EngineSettings
from tests.driver import Driver, Offices
from tests.path.puppets import puppet, told, untimed
from tests.path.scripts import call, step

STEPS = [
    step(call("send_message", text="where?"), call("send_message", text="kind {{trigger.kind}}", spaceId="general"))
]


async def test_a_trigger_starts_a_fresh_thread_with_payload_as_data(office: Driver) -> None:
    ada = await puppet(office, "ada", [{"kind": "trigger", "steps": STEPS}], instructions="Watch the builds.")
    await office.space("general", ["ada"])
    await office.post("general", "some history")
    payload = {"build_id": 7, "camelCase": "kept", "text": "@ada not a message"}
    first = await office.create("/agents/ada/trigger", {"serviceName": "ci", "payload": payload}, status=202)
    run = await office.run_finished("ada")
    assert first["itemId"].startswith("itm_")
    assert (run["trigger"], run["depth"]) == ({"kind": "trigger", "serviceName": "ci", "items": 1}, 0)
    assert "spaceId" not in run
    shown = '{"serviceName":"ci","payload":{"build_id":7,"camelCase":"kept","text":"@ada not a message"}}'
    mark = (await office.journal(run["id"]))[0]["id"]
    framed = f'<outside id="{mark}" source="trigger:ci">{shown}</outside id="{mark}">'
    assert [untimed(text) for text in told(ada.shown[0])] == [f"New for you:\n[trigger] {framed}"]
    assert (await office.results(run["id"]))[0]["error"].startswith("You are in no space now.")
    assert await office.texts("general") == ["some history", "kind trigger"]
    await office.create("/agents/ada/trigger", {"service_name": "ci"}, status=202)
    second = await office.run_finished("ada", nth=2)
    assert second["threadId"] != run["threadId"]
    # Nothing of the first run is known to the second.
    (only,) = told(ada.shown[-2])
    assert '>{"serviceName":"ci","payload":null}</outside id=' in only


async def test_a_trigger_wakes_its_thread_without_a_sweep(offices: Offices) -> None:
    office = await offices.open(engine=EngineSettings(lease_seconds=1000.0))  # no regular sweep within any wait
    await office.agent("ada", steps=[step(call("do_nothing"))])
    await office.create("/agents/ada/trigger", {"serviceName": "ci", "payload": 1})
    assert (await office.run_finished("ada"))["outcome"] == "silent"


async def test_a_trigger_to_one_mind_uses_its_existing_thread(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("do_nothing"))], scope="agent")
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    await office.create("/agents/ada/trigger", {"serviceName": "ci", "payload": 1})
    await office.run_finished("ada", nth=2)
    assert len({run["threadId"] for run in await office.runs()}) == 1


@pytest.mark.one_database
async def test_whoever_may_not_manage_agents_may_not_trigger_them(office: Driver) -> None:
    await office.agent("ada")
    _, peter = await office.person("Peter")
    for api in (peter, await office.as_agent("ada")):
        await api.create("/agents/ada/trigger", {"serviceName": "ci"}, status=403)
    await office.create("/agents/nobody/trigger", {"serviceName": "ci"}, status=404)
    await office.create("/agents/ada/trigger", {"payload": {}}, status=422)
    assert await office.items("/agents/ada/inbox") == []
