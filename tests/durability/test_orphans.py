"""What is left behind for somebody who is gone."""

from __future__ import annotations

from bullpen.agents import rows as agent_rows
from bullpen.operations.say import author_of
from bullpen.spaces import actions as spaces
from bullpen.spaces.types import PostingRules
from bullpen.storage import Transaction
from bullpen.testing import invariants, snapshot
from bullpen.testing.crash import calm, mortal_office, settings_for
from bullpen.testing.serving import owner_of
from tests.databases import Database

GHOST = {"id": "ghost", "name": "Ghost", "model": "script:echo"}
ROOM = {"id": "room", "members": ["ghost"], "wake": {"people": "all"}}


async def test_posts_during_an_agents_deletion_do_not_wake_it_forever(database: Database) -> None:
    """On PostgreSQL a post and a deletion can pass each other: the item is written after the inbox was emptied."""
    async with mortal_office(settings_for(database.url, str(database.data))) as (opened, commits):
        async with owner_of(opened) as bp:
            await bp.apply(agents=[GHOST], spaces=[ROOM])
        owner = await opened.local_owner()

        async def speak_as_it_goes(tx: Transaction) -> None:
            room = await spaces.writable_room(tx, owner, "room")
            await spaces.post(tx, room, author_of(owner), "are you there?", PostingRules())
            await agent_rows.delete_agent(tx, "ghost")

        await opened.store.transact(speak_as_it_goes)
        await calm(opened, commits, seconds=20)
    seen = await snapshot.read(database.url)
    assert seen.runs == []
    assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
