"""The SDK's hooks and webhooks, against a real office."""

from __future__ import annotations

import pytest

from bullpen.client import NotFound
from tests.client.offices import sdk
from tests.driver import Driver
from tests.hooks.receivers import URL, one

pytestmark = pytest.mark.one_database


async def test_hooks_are_made_listed_and_revoked(office: Driver) -> None:
    await office.agent("ada", steps=[])
    async with sdk(office) as bp:
        made = await bp.hooks.create("ada", "ci")
        assert "/hooks/bp_hook_" in made.url
        assert [hook.id for hook in await bp.hooks.list(agent="ada")] == [made.id]
        await bp.hooks.revoke(made.id)
        with pytest.raises(NotFound):
            await bp.hooks.revoke(made.id)
        assert list(await bp.hooks.list()) == []


async def test_webhooks_are_made_tried_changed_looked_into_and_deleted(office: Driver) -> None:
    await office.agent("ada", steps=[])
    await office.space("lab", ["ada"])
    async with one(office), sdk(office) as bp:
        made = await bp.webhooks.create(URL, events=("mention",), members=("ada",))
        assert (made.events, made.members, made.secret[:6]) == (["mention"], ["ada"], "whsec_")
        assert (await bp.webhooks.test(made.id)).delivered
        assert not (await bp.webhooks.update(made.id, enabled=False)).enabled
        changed = await bp.webhooks.update(made.id, enabled=True, events=["mention", "tool.requires_action"])
        assert (changed.enabled, changed.events) == (True, ["mention", "tool.requires_action"])
        await office.post("lab", "@ada hello")
        (delivery,) = await bp.webhooks.deliveries(made.id)
        assert (delivery.type, delivery.webhook_id) == ("mention", made.id)
        assert [webhook.id for webhook in await bp.webhooks.list()] == [made.id]
        await bp.webhooks.delete(made.id)
        assert list(await bp.webhooks.list()) == []
