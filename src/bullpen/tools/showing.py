"""Where the words of a call may be shown while the model writes it: in the space in which they are sure to be posted.

Asked again and again while they grow, since memberships, policies and limits change. Nothing is changed here. A call
whose words were shown somewhere is posted there or fails: `check_target`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bullpen.errors import BadArguments
from bullpen.replacing import replace
from bullpen.storage import Transaction
from bullpen.tools import outward, rules
from bullpen.tools import rows as tool_rows
from bullpen.tools.door import Door
from bullpen.tools.types import RunView, Tool, ToolCall


@dataclass(frozen=True, slots=True)
class Before:
    """What the calls before it in the same answer may change, as nobody has carried them out yet."""

    messages: int = 0  # that they send
    moves: bool = False  # they take the agent elsewhere
    reads: bool = False  # they may bring text from outside


def check_target(tool: Tool, call: ToolCall, args: Mapping[str, Any], active: str | None) -> None:
    """Raise BadArguments if the words were shown in another space than the one that they would be posted in."""
    shown_in = None if call.streamed is None else call.streamed.words_in
    if tool.words is None or shown_in is None:
        return
    target = tool.words.find_target(args, active)
    if target != shown_in:
        raise BadArguments(
            f"Nothing was sent. While you wrote it, this message was shown in {shown_in!r}, and then you named another "
            f"space. Call {tool.name} again, and write {tool.words.place} once, before {tool.words.text}."
        )


async def find_space(tx: Transaction, door: Door, tool: Tool, named: str | None, before: Before) -> str | None:
    """The space in which what the call says is posted if nothing changes. None: none, or nobody can tell yet."""
    if tool.words is None or not may_call(door.run, tool, before):
        return None
    call = ToolCall("", tool.name, "")
    space_id = await tool.words.find_space(replace(door, spaces=None).context(tool, call, tx), named)
    if space_id is None or (before.moves and not named):
        return None
    run = door.run
    spaces = tuple(sorted({space_id} | ({door.space_id} if door.space_id is not None else set())))
    decided = await tool_rows.select_rules(tx, run.agent.id, spaces, tool.name, tool.hash)
    if any(rule.decision != "allow" for rule in decided):
        return None
    if before.moves and await tool_rows.is_guarded(tx, run.agent.id, tool.name):
        return None  # the space it is in by then counts as well
    return None if await would_ask(tx, run, space_id, before) else space_id


async def would_ask(tx: Transaction, run: RunView, space_id: str, before: Before) -> bool:
    """Would somebody have to be asked, because people there could not read what the run was shown?"""
    if not run.seen_in or not (run.outside or before.reads):
        return False
    return bool(await outward.select_wider(tx, run, [space_id]))


def may_call(run: RunView, tool: Tool, before: Before) -> bool:
    """As far as can be said without its arguments."""
    here = replace(run, message_count=run.message_count + before.messages)
    if rules.not_granted(tool, run) is not None or rules.over_budget(tool, here) is not None:
        return False
    if run.agent.policy.get(tool.name, "allow") != "allow" or (tool.policy or "allow") != "allow":
        return False
    return not (tool.wary and (run.outside or before.reads))
