"""The SDK's tasks, against a real office."""

from __future__ import annotations

import pytest

from bullpen.client import Invalid, NotFound
from tests.client.offices import sdk
from tests.driver import Driver

pytestmark = pytest.mark.one_database


async def test_tasks_are_made_changed_paused_run_looked_into_and_cancelled(office: Driver) -> None:
    await office.agent("ada", steps=[{}])
    await office.space("studio", ["ada"])
    async with sdk(office) as bp:
        made = await bp.tasks.create("studio", "look", "interval", "1h", missed="none", context_mode="isolated")
        assert (made.agent_id, made.missed, made.context_mode, len(made.next_runs)) == ("ada", "none", "isolated", 5)
        assert [task.id for task in await bp.tasks.list(space="studio", agent="ada")] == [made.id]
        changed = await bp.tasks.update(
            made.id, schedule_type="cron", schedule_value="0 9 * * *", timezone="Asia/Tokyo"
        )
        assert (changed.timezone, changed.next_run is not None) == ("Asia/Tokyo", True)
        assert (await bp.tasks.pause(made.id)).status == "paused"
        assert (await bp.tasks.resume(made.id)).status == "active"
        firing = await bp.tasks.run(made.id)
        assert (firing.status, firing.manual) == ("fired", True)
        await office.run_finished("ada")
        (kept,) = await bp.tasks.firings(made.id)
        assert (kept.run_status, kept.outcome) == ("completed", "silent")
        with pytest.raises(Invalid):
            await bp.tasks.create("studio", "look", "interval", "1ms")
        await bp.tasks.cancel(made.id)
        with pytest.raises(NotFound):
            await bp.tasks.get(made.id)
