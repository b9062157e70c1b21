"""What the policies say about one call, and which spaces it touches.

tools/policies.py decides, purely; here is read what it needs. Nothing is changed, and nothing is remembered: what was
denied a moment ago is denied.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from bullpen.errors import RequestError, ToolError
from bullpen.replacing import replace
from bullpen.storage import Transaction
from bullpen.storage.statements import storable
from bullpen.tools import outward, policies, rules
from bullpen.tools import rows as tool_rows
from bullpen.tools.door import Door
from bullpen.tools.types import AskReason, Proposes, Tool, ToolCall
from bullpen.wire.nouns import Decision


@dataclass(frozen=True, slots=True)
class Judged:
    decision: Decision
    spaces: tuple[str, ...]  # for which it was judged
    reason: AskReason | None = None  # why it asks, if no policy says so
    proposes: Proposes | None = None  # instead of asking, if the tool can


async def judge(tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> Judged:
    """What the policies say about this call; and whether text from outside may have led to it."""
    run = door.run
    targets = await _find_targets(tx, door, tool, call, args)
    spaces = _touched(door, targets)
    found = await tool_rows.select_rules(tx, run.agent.id, spaces, tool.name, tool.hash)
    of_agent = run.agent.policy.get(tool.name)
    shown = _name_arguments(tool, args)

    def decide(among: tuple[str, ...], of_tool: Decision | None) -> Decision:
        return policies.decide_for_all(among, found, shown, of_agent=of_agent, of_tool=of_tool)

    decision = decide(spaces, tool.policy)
    of_sources = policies.about_sources(spaces, found, shown, run.outside)
    if of_sources is not None:  # it may be stricter, and allows nothing that these others do not
        decision = policies.strictest([decision, of_sources])
    if decision == "ask" and tool.proposes:
        by_default = of_sources != "ask" and decide(spaces, None) == "allow"
        return Judged("ask", spaces, proposes="default" if by_default else "policy")
    if decision == "allow" and rules.repeats(tool, run):
        return Judged("ask", spaces, "repeat")
    if decision != "allow" or of_sources == "allow" or (why := await _why_ask(tx, door, tool, args, targets)) is None:
        return Judged(decision, spaces)
    # Whoever allows the tool there, in whatever place, has allowed this too.
    reason, there = why
    decision = decide(there or spaces, tool.policy or "ask")
    return Judged(decision, spaces, reason if decision == "ask" else None)


async def _why_ask(
    tx: Transaction, door: Door, tool: Tool, args: Mapping[str, Any], targets: frozenset[str]
) -> tuple[AskReason, tuple[str, ...]] | None:
    """Why somebody is asked although no policy says so, and for which spaces a policy may allow it; none: for all."""
    run = door.run
    kept = [str(args.get(name) or "") for name in tool.keeps]
    if tool.wary and run.outside and not run.are_own(kept):
        return "lasting", ()
    if not outward.is_suspect(run):
        return None
    if await outward.sends_arguments(tx, door, tool, args):
        return "outward", ()
    there = await _wider(tx, door, tool, targets)
    return ("outward", there) if there else None


async def find_spaces(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]
) -> tuple[str, ...]:
    """The spaces that the call touches now, for a call that was judged before."""
    if tool.touches is None:
        return door.spaces or ()
    return _touched(door, await _find_targets(tx, door, tool, call, args))


async def would_tell(tx: Transaction, door: Door) -> bool:
    """Would a card in this space tell people what they could not read, and nobody has allowed it?"""
    if door.approval is not None:
        return door.approval.asked_unseen
    if door.space_id is None or not outward.is_suspect(door.run):
        return False
    return bool(await outward.select_wider(tx, door.run, [door.space_id]))


async def _wider(tx: Transaction, door: Door, tool: Tool, targets: frozenset[str]) -> tuple[str, ...]:
    """Where the call would tell people what they could not read."""
    shown_in = {door.space_id} if tool.visible and door.space_id is not None else set()
    return tuple(sorted(await outward.select_wider(tx, door.run, shown_in | (targets if tool.speaks else set()))))


async def _find_targets(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]
) -> frozenset[str]:
    """The spaces the tool says; if it says nothing, the one its run was woken in, which it works for."""
    if tool.touches is None:
        return frozenset() if door.run.home is None else frozenset({door.run.home.id})
    context = replace(door, spaces=None).context(tool, call, tx)
    with suppress(ToolError, RequestError):  # what it names is not there, and the tool says so itself
        return frozenset(filter(storable, await tool.touches(context, args)))
    return frozenset()


def _touched(door: Door, targets: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(targets if door.space_id is None else targets | {door.space_id}))


def _name_arguments(tool: Tool, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as conditions name them: one value has one name, whichever of them the model used.

    A built-in tool's are named as its schema has them, or as in Python. What was left out is not there.
    """
    if tool.hash:
        return args
    given = {name: to_jsonable_python(value) for name, value in args.items() if value is not None}
    return {**given, **{to_camel(name): value for name, value in given.items()}}
