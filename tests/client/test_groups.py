"""The SDK's groups, against a real office."""

from __future__ import annotations

import pytest

from bullpen.client import AlreadyExists, Invalid
from tests.client.offices import sdk
from tests.driver import Driver

pytestmark = pytest.mark.one_database


async def test_a_chat_that_a_bridge_reports_is_registered_once(office: Driver) -> None:
    await office.agent("ada", steps=[{}])
    async with sdk(office) as bp:
        seen = await bp.groups.report("tg:-1", "Family")
        assert (seen.jid, seen.space_id, seen.seen_at is not None) == ("tg:-1", None, True)
        assert [chat.name for chat in await bp.groups.chats(registered=False)] == ["Family"]
        group = await bp.groups.register("tg:-1", "Family", "family", "@Andy", members=["ada"], provider="script")
        assert (group.id, group.kind, group.bridge, group.provider) == ("family", "group", "tg:-1", "script")
        assert [chat.space_id for chat in await bp.groups.chats(registered=True)] == ["family"]
        assert [space.id for space in await bp.groups.list()] == ["family"]
        with pytest.raises(AlreadyExists):
            await bp.groups.register("tg:-1", "Again", "again", "@Andy")
        with pytest.raises(Invalid):
            await bp.groups.register("tg:-2", "Bad", "../bad", "@Andy")
