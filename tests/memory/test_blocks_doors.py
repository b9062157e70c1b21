"""Blocks through the client: written, shared, compared, put back and deleted."""

from __future__ import annotations

import pytest

from bullpen.client import ApiError
from tests.client.offices import sdk
from tests.driver import Driver

pytestmark = pytest.mark.one_database


async def test_the_client_writes_compares_and_reverts_blocks(office: Driver) -> None:
    for id in ("ada", "bo", "cy"):
        await office.agent(id)
    async with sdk(office) as bp:
        made = await bp.blocks.set("ada", "mood", "calm", description="How you feel.", limit=10, reason="To begin.")
        assert (made.version, made.limit, made.description, made.shared) == (1, 10, "How you feel.", None)
        shared = await bp.blocks.set("ada", "mood", "glad", readers=["bo"], writers=["cy"])
        assert shared.shared is not None
        assert (shared.shared.readers, shared.shared.writers) == (["bo"], ["cy"])
        [read] = await bp.blocks.list("bo")
        assert (read.shared_by, read.may_write) == ("ada", False)
        with pytest.raises(ApiError, match="11 characters"):
            await bp.blocks.set("ada", "mood", "x" * 11)
        assert "-calm\n+glad" in await bp.blocks.diff("ada", "mood", 1, 2)
        assert (await bp.blocks.revert("ada", "mood", 1, reason="Better so.")).content == "calm"
        history = await bp.blocks.history("ada", "mood", limit=2)
        assert [(each.version, each.reason) for each in history] == [(3, "Better so."), (2, None)]
        assert history.next == "2"
        assert (await bp.blocks.set("ada", "mood", "calm", readers=[])).shared is None
        await bp.blocks.delete("ada", "mood")
        await bp.blocks.delete("ada", "mood", history=True)
        with pytest.raises(ApiError):
            await bp.blocks.history("ada", "mood")


async def test_the_client_reads_what_is_kept_for_one_space(office: Driver) -> None:
    await office.agent("ada")
    await office.space("back", ["ada"], private=True)
    async with sdk(office) as bp:
        await bp.blocks.set("ada", "mood", "sly", space="back")
        assert (await bp.blocks.get("ada", "mood", space="back")).space_id == "back"
        assert [each.content for each in await bp.blocks.list("ada", space="back")] == ["sly"]
        assert (await bp.blocks.list("ada")).items == []
        assert len(await bp.blocks.history("ada", "mood", space="back")) == 1
        await bp.blocks.set("ada", "mood", "open", space="back")
        assert (await bp.blocks.revert("ada", "mood", 1, space="back")).content == "sly"
        await bp.blocks.delete("ada", "mood", space="back")
