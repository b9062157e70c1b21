"""What people tell the office itself in a space: `/stop`, and whom. Done in the commit that keeps the message.

Here is what it does to runs; the sentence that the space is told is posted by whoever took the message.
"""

from __future__ import annotations

from contextlib import suppress

from bullpen.agents import rows as agent_rows
from bullpen.errors import Broken, RunAlreadyFinished
from bullpen.runs import actions, rows
from bullpen.spaces import rules
from bullpen.spaces.types import Author, Room
from bullpen.storage import Transaction


async def carry_out(tx: Transaction, room: Room, author: Author, text: str) -> tuple[list[str], str]:
    """The runs that were asked to stop, whose drivers are told after the commit; and what to say about it."""
    match rules.command(text):
        case ("stop", whom):
            return await _stop(tx, room, author, whom)
    raise Broken(f"{text!r} was taken for a command.")


async def _stop(tx: Transaction, room: Room, author: Author, whom: str) -> tuple[list[str], str]:
    """Whatever is under way in this space, or of those who are mentioned. What waits in an inbox is not touched."""
    found = await rows.select_under_way_in(tx, room.id)
    names = await agent_rows.select_names(tx, sorted({run.agent_id for run in found}))
    meant = [
        run
        for run in found
        if not whom or rules.mentions(whom, id=run.agent_id, name=names.get(run.agent_id, run.agent_id))
    ]
    for run in meant:
        with suppress(RunAlreadyFinished):  # just now
            await actions.request_cancel(tx, run)
    who = ", ".join(sorted({names.get(run.agent_id, run.agent_id) for run in meant}))
    said = f"{author.name} stopped {who}." if meant else "There was nothing to stop."
    return [run.id for run in meant], said
