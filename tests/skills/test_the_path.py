"""A skill is stored, becomes a command of its space, and is followed by a run that has no past."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.path.puppets import puppet
from tests.path.scripts import say
from tests.skills.offices import INSTRUCTIONS, STANDUP, TOOLS, call, stored, studio, told, turn

STORE = call("store_skill", name="standup", **STANDUP)


@pytest.mark.proves("S2-08", "S2-48", "S2-49")
async def test_a_stored_skill_becomes_a_command_in_a_fresh_thread(office: Driver) -> None:
    await studio(office, turn("keep it", STORE), policy={"store_skill": "allow"})
    kept = await told(office, "keep it")
    assert (kept["status"], kept["command"]) == ("active", "/standup")
    said = await office.post("studio", "/standup on  monday ")
    run = await office.run_finished("ada", nth=2)
    assert run["trigger"] == {
        "kind": "skill",
        "items": 1,
        "spaceId": "studio",
        "messageId": said["id"],
        "authorId": office.owner_id,
        "skill": "standup",
    }
    assert (await office.texts("studio"))[-2:] == ["/standup on  monday ", "done: on  monday"]
    earlier = await office.runs()
    assert run["threadId"] != earlier[0]["threadId"]
    assert (run["depth"], run["outcome"]) == (0, "spoke")


@pytest.mark.proves("S2-49")
async def test_a_skill_run_sees_its_instructions_but_no_history(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("as you wish")], tools=TOOLS)
    await office.space("studio", ["ada"], wake={"people": "all"})
    await office.post("studio", "the code word is heron")
    await office.run_finished("ada")
    await stored(office)
    await office.post("studio", "/standup today")
    await office.run_finished("ada", nth=2)
    shown = ada.shown[-1]
    text = "\n".join(turn.text for turn in shown.turns if hasattr(turn, "text"))
    assert INSTRUCTIONS in text
    assert "/standup today" in text
    assert "heron" not in text
    assert shown.trigger.text == "today"
