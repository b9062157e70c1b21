"""The SDK's skills and commands, against a real office."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.client import Conflict, Invalid, NotFound
from tests.client.offices import sdk
from tests.driver import Driver
from tests.skills.offices import studio

pytestmark = pytest.mark.one_database

SAID: dict[str, Any] = {"description": "Who did what", "instructions": "Ask everybody."}


async def test_skills_are_stored_proposed_approved_started_and_deleted(office: Driver) -> None:
    await studio(office)
    async with sdk(office) as bp:
        made = await bp.skills.store("studio", "standup", **SAID, parameters="[day]", agent="ada")
        assert (made.status, made.agent_id, made.parameters) == ("active", "ada", "[day]")
        assert [skill.name for skill in await bp.skills.list(space="studio")] == ["standup"]
        assert [command.name for command in await bp.spaces("studio").commands()][-1] == "standup"
        text = "---\nname: standup\ndescription: Another\n---\nSay boo."
        proposed = await bp.skills.import_text("studio", text)
        assert proposed.proposal is not None
        with pytest.raises(Conflict):
            await bp.skills.approve("studio", "standup", made.hash)
        approved = await bp.skills.approve("studio", "standup", proposed.proposal.hash)
        assert (approved.instructions, approved.approved_by) == ("Say boo.", office.owner_id)
        begun = await bp.skills.invoke("studio", "standup", "today")
        run = await office.run_finished("ada")
        assert (begun.thread_id, run["trigger"]["skill"]) == (run["threadId"], "standup")
        await bp.skills.store("studio", "standup", description="Waits", instructions="Wait.", status="proposed")
        assert (await bp.skills.approve("studio", "standup")).instructions == "Wait."
        await bp.skills.store("studio", "standup", **SAID, status="proposed")
        await bp.skills.reject("studio", "standup")
        assert (await bp.skills.get("studio", "standup")).proposal is None
        with pytest.raises(Invalid):
            await bp.skills.store("studio", "help", **SAID)
        assert "Wait." in await bp.skills.export_text("studio", "standup")
        await bp.skills.delete("studio", "standup")
        with pytest.raises(NotFound):
            await bp.skills.get("studio", "standup")
        folder = await bp.skills.import_text("studio", "---\ndescription: d\n---\nx", folder="stand-up", active=True)
        assert (folder.name, folder.status) == ("stand_up", "active")
