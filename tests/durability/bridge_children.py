"""An office that is a chat elsewhere, and dies: after a commit, before something is sent, or before that is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bullpen.bridges.types import Update
from bullpen.cli.loop import run_on_fast_loop
from bullpen.client import Bullpen
from bullpen.outbox import rows
from bullpen.storage import Transaction
from bullpen.testing import invariants, snapshot
from bullpen.testing.bridges import Fate, MemoryBridge
from bullpen.testing.crash import calm, mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.serving import owner_of
from tests.durability.story import say, script, turn

AGENT = {
    "id": "ada",
    "name": "Ada",
    "tools": ["messaging"],
    "model": script(turn("", [say("send_message", text="first answer"), say("send_message", text="second answer")])),
}
SPACE = {"id": "family", "kind": "group", "members": ["ada"], "trigger": "@Andy", "bridge": "mem:1"}
# As people in the chat see it at the end.
EXPECTED = ["one", "two", "first answer", "second answer", "three, mended", "five"]


def bridge(
    report: Report,
    *,
    url: str,
    data: str,
    die_after: int | None = None,
    die_at: int | None = None,
    fate: Fate = "deliver",
) -> None:
    run_on_fast_loop(_bridge(report, url, data, die_after, die_at, fate))


async def _bridge(report: Report, url: str, data: str, die_after: int | None, die_at: int | None, fate: Fate) -> None:
    """With `die_at`, the so-and-so-many-th attempt in this life meets its fate."""
    other = MemoryBridge(journal=Path(data) / "journal", part_length=8)
    if die_at is not None:
        other.will(*(["deliver"] * (die_at - 1)), fate)  # type: ignore[arg-type]
    async with mortal_office(settings_for(url, data), die_after=die_after, bridges=[other]) as (opened, commits):
        async with owner_of(opened) as bp:
            await bp.apply(agents=[AGENT], spaces=[SPACE])
            before = commits.count
            await _talk(bp)
            update = Update("u1", "1", "Family", "77", "Ann", "m1", "@Andy good morning")
            await opened.bridges.receive("mem", update)
            await calm(opened, commits)
            await _change(bp)
            while await opened.store.read(_unsent):
                await asyncio.sleep(0.02)
        after = commits.count
    seen = invariants.Seen(await snapshot.read(url), at_rest=True, arrivals=other.arrived)
    entries = sorted(seen.rows["outbox"], key=lambda entry: entry["number"])
    report(
        {
            "violations": [*invariants.violations(seen), *other.faults],
            "shown": other.shown("1"),
            "attempts": len(other.arrived),
            "repeated": [entry["number"] for entry in entries if entry["repeated_part"] is not None],
            "statuses": sorted({entry["status"] for entry in entries}),
            "of": [before, after],
        }
    )


async def _talk(bp: Bullpen) -> None:
    for text in ("one", "two"):
        await bp.spaces("family").send(text, client_message_id=text)


async def _change(bp: Bullpen) -> None:
    """Each may be done again by the life after a kill."""
    space = bp.spaces("family")
    three = await space.send("three", client_message_id="three")
    if three.edited_at is None:
        await bp.messages(three.id).edit("three, mended")
    four = await space.send("four", client_message_id="four")
    if four.deleted_at is None:
        await bp.messages(four.id).delete()
    five = await space.send("five", client_message_id="five")
    await bp.messages(five.id).react("👍")


async def _unsent(tx: Transaction) -> bool:
    return await rows.select_next_chat(tx, "mem", "") is not None
