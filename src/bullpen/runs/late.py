"""Calls that somebody approved after their run had gone on: carried out by whoever drives the thread next.

They come before the thread looks at its inbox, under their own ids, with the rights that are left of whoever caused
them, and through the same door as every other call. Their journal is their row: how far a call has come is kept there,
and what comes of it is delivered by inbox, in the commit that has the effect or learns of it.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bullpen.agents import rows as agent_rows
from bullpen.engine import leases
from bullpen.engine.leases import Lease
from bullpen.errors import Broken
from bullpen.inbox import rows as inbox_rows
from bullpen.observe.redact import concerning
from bullpen.runs import actions, concern, rows
from bullpen.runs.types import Run
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Transaction
from bullpen.tools import approvals, pending
from bullpen.tools import rows as tool_rows
from bullpen.tools.configs import made
from bullpen.tools.execute import execute_late
from bullpen.tools.types import RunView, Tool, ToolCall, ToolResult, Waiting
from bullpen.wire import Agent

if TYPE_CHECKING:
    from bullpen.runs.loop import World


@dataclass(frozen=True, slots=True)
class LateJournal:
    """Where such a call is recorded, for `bullpen.tools`."""

    lease: Lease
    approval: Waiting

    async def check(self, tx: Transaction) -> None:
        await leases.check(tx, self.lease)

    async def asked(self, tx: Transaction, call: ToolCall) -> None:
        raise Broken("What has been approved is not asked for like a new call.")

    async def started(self, tx: Transaction, call: ToolCall, args: Any, shown_in: str | None) -> None:
        if not call.started:
            self._tell(tx, "tool.started", call, args)

    async def settled(self, tx: Transaction, result: ToolResult, shown_in: str | None) -> None:
        if not result.call.started:
            self._tell(tx, "tool.started", result.call, result.args)
        self._tell(tx, "tool.error" if result.is_error else "tool.done", result.call, result.args, result=result.value)
        came = result.value if result.is_error else {"result": result.value}
        said = {**came, "approvedBy": self.approval.answered_by, **approvals.edited(self.approval)}
        await pending.by_inbox(tx, self.approval, said, outside=result.effects.outside)

    async def park(self, tx: Transaction) -> None:
        raise Broken("There is no run that could wait.")

    def stoppable(self) -> AbstractContextManager[None]:
        return nullcontext()  # nor one that could be stopped

    def _tell(self, tx: Transaction, type: str, call: ToolCall, args: Any, **more: Any) -> None:
        place = (self.approval.space_id, self.approval.agent_id, self.approval.run_id)
        actions.tell_call(tx, type, place, call, args, visible=self.approval.visible, **more)


async def carry_out(world: World, lease: Lease) -> None:
    """All of the thread's, in the order they were asked for."""
    for approval in await world.store.read(lambda tx: tool_rows.select_approved(tx, lease.thread_id)):
        if world.stopping:
            raise asyncio.CancelledError("the server stops; the call is carried out by the next")
        await _carry_out_one(world, lease, approval)


async def _carry_out_one(world: World, lease: Lease, approval: Waiting) -> None:
    async def read(tx: Transaction) -> tuple[RunView, Tool | None] | None:
        agent = await agent_rows.select_definition(tx, approval.agent_id)
        if agent is None:
            return None  # whoever deleted it has seen to its calls
        return await _view(tx, world, approval, agent), await _tool(tx, world, approval.tool_name, agent)

    found = await world.store.read(read)
    if found is None:
        return
    journal = LateJournal(lease, approval)
    run, tool = found
    cause = approval.cause
    concerned = concern.of(approval.thread_id, approval.agent_id, [approval.space_id], [(cause.kind, cause.id)])
    concerned.kept.add(approval.tool_name)
    await world.store.read(lambda tx: concern.add_line(tx, concerned, approval.thread_id))
    with concerning(concerned):
        await execute_late(approval, tool=tool, run=run, store=world.store, journal=journal, means=world.means)


async def _tool(tx: Transaction, world: World, name: str, agent: Agent) -> Tool | None:
    """As it is now, if the agent still has it."""
    config = None if world.registry.find(name) is not None else await tool_rows.select_tool(tx, name)
    defined = {} if config is None else {name: made(config)}
    return next((tool for tool in world.registry.listed(agent.tools, defined) if tool.name == name), None)


async def _home(tx: Transaction, approval: Waiting, run: Run | None) -> Room | None:
    """Where its run was woken, which may be forgotten by now; else where it asked."""
    id = approval.space_id if run is None else run.space_id
    return None if id is None else await space_rows.select_room(tx, id)


async def _view(tx: Transaction, world: World, approval: Waiting, agent: Agent) -> RunView:
    run = await rows.select_run(tx, approval.run_id)
    settings = world.settings
    return RunView(
        id=approval.run_id,
        thread_id=approval.thread_id,
        agent=agent,
        grants=await inbox_rows.select_held(tx, approval.cause),
        home=await _home(tx, approval, run),
        cause_kind=approval.cause.kind,
        cause_id=approval.cause.id,
        depth=approval.depth,
        chain_id=approval.chain_id,
        message_count=0 if run is None else len(run.message_ids),
        limits=agent.limits,
        chain_limit=settings.limits.chain_depth,
        group_wait_ms=int(settings.engine.group_wait_seconds * 1000),
        agents_per_minute=settings.limits.agent_messages_per_minute,
        outside=approval.outside,
    )
