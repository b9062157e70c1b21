"""Calls that somebody approved after their run had gone on: carried out by whoever drives the thread next.

They come before the thread looks at its inbox, under their own ids, with the rights that are left of whoever caused
them, and through the same door as every other call. Their journal is their row: how far a call has come is kept there,
and what comes of it is delivered by inbox, in the commit that has the effect or learns of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bullpen.agents import rows as agent_rows
from bullpen.engine import leases
from bullpen.engine.leases import Lease
from bullpen.errors import Broken
from bullpen.events.actions import in_turn
from bullpen.observe.redact import concerning
from bullpen.runs import actions, concern, rows, rules
from bullpen.runs.types import CallPlace, Mark
from bullpen.runs.view import view_approved
from bullpen.storage import Transaction
from bullpen.tools import approvals, pending
from bullpen.tools import rows as tool_rows
from bullpen.tools.configs import made
from bullpen.tools.door import Door
from bullpen.tools.execute import execute_late
from bullpen.tools.quotes import ReadCall
from bullpen.tools.registry import listed_by
from bullpen.tools.types import RunView, Tool, ToolCall, ToolResult, Waiting
from bullpen.wire import Agent

if TYPE_CHECKING:
    from bullpen.runs.loop import World


@dataclass(slots=True)
class LateJournal:
    """Where such a call is recorded, for `bullpen.tools`. A mark is kept with the run that made the call."""

    lease: Lease
    approval: Waiting
    owner: str
    found: Mark | None = None  # somebody died over this call
    marked: bool = False

    async def check(self, tx: Transaction) -> None:
        await leases.check(tx, self.lease)
        if self.marked or self.found is not None:
            await rows.put_mark(tx, self.approval.run_id, None)

    async def mark(self, tx: Transaction, call: ToolCall) -> None:
        await rows.put_mark(tx, self.approval.run_id, rules.next_mark(self.found, call.id, self.owner))
        self.marked = True

    async def started(self, tx: Transaction, call: ToolCall, args: Any, shown_in: str | None) -> None:
        """Followers were told when somebody was asked to approve it."""

    async def settled(self, tx: Transaction, result: ToolResult, shown_in: str | None) -> None:
        actions.tell_settled(tx, self._place, result)
        came = result.value if result.is_error else {"result": result.value}
        said = {**came, **approvals.who(self.approval)}
        await pending.by_inbox(tx, self.approval, said, outside=result.effects.outside, ends=False)

    async def park(self, tx: Transaction) -> None:
        raise Broken("There is no run that could wait.")

    def read_calls(self, names: Collection[str]) -> list[ReadCall]:
        return []  # its run is over

    def stoppable(self) -> AbstractContextManager[None]:
        return nullcontext()  # nor one that could be stopped

    @property
    def _place(self) -> CallPlace:
        approval = self.approval
        return CallPlace(approval.space_id, approval.agent_id, approval.run_id, visible=approval.visible)


async def carry_out(world: World, lease: Lease) -> None:
    """All of the thread's, in the order they were asked for."""
    for approval in await world.store.read(lambda tx: tool_rows.select_approved(tx, lease.thread_id)):
        if world.stopping:
            raise asyncio.CancelledError("the server stops; the call is carried out by the next")
        await _carry_out_one(world, lease, approval)


async def _carry_out_one(world: World, lease: Lease, approval: Waiting) -> None:
    async def read(tx: Transaction) -> tuple[RunView, Tool | None, Mark | None] | None:
        agent = await agent_rows.select_definition(tx, approval.agent_id)
        if agent is None:
            return None  # whoever deleted it has seen to its calls
        made_by = await rows.select_run(tx, approval.run_id)
        view = await view_approved(tx, approval, agent, made_by)
        return view, await _tool(tx, world, approval.tool_name, agent), None if made_by is None else made_by.mark

    found = await world.store.read(read)
    if found is None:
        return
    run, tool, mark = found
    if mark is not None:
        mark = await world.store.transact(partial(_heed_mark, world=world, lease=lease, approval=approval, mark=mark))
    cause = approval.cause
    concerned = concern.of(approval.thread_id, approval.agent_id, [approval.space_id], [(cause.kind, cause.id)])
    concerned.kept.add(approval.tool_name)
    await world.store.read(lambda tx: concern.add_line(tx, concerned, approval.thread_id))
    with concerning(concerned):
        door = Door(run, world.store, LateJournal(lease, approval, world.owner, mark), world.means)
        hopeless = mark is not None and rules.is_hopeless(mark)
        await execute_late(door, approval, tool, rules.died_twice(approval.tool_name) if hopeless else None)


async def _heed_mark(tx: Transaction, world: World, lease: Lease, approval: Waiting, mark: Mark) -> Mark | None:
    """Its agent is told by its inbox when the call is given up; the people of the space are told here."""
    if mark.call_id != approval.call_id:
        return None
    await in_turn(tx, approval.space_id or approval.agent_id)
    await leases.check(tx, lease)
    mark = rules.find_mark(mark, world.owner)
    await rows.put_mark(tx, approval.run_id, mark)
    if rules.is_hopeless(mark) and world.say is not None and approval.space_id is not None:
        await world.say(tx, approval.space_id, rules.died_twice(approval.tool_name))
    return mark


async def _tool(tx: Transaction, world: World, name: str, agent: Agent) -> Tool | None:
    """As it is now, if the agent still has it."""
    config = None if world.registry.find(name) is not None else await tool_rows.select_tool(tx, name)
    defined = {} if config is None else {name: made(config)}
    return next((tool for tool in world.registry.listed(listed_by(agent), defined) if tool.name == name), None)
