"""Who receives a message, whether it wakes them, how deep the chain is, and whose rights count. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullpen.access import rules as access
from bullpen.access.types import Grant
from bullpen.inbox.types import Item, Recipient
from bullpen.wire.nouns import WakePolicy

ALONE: Final = frozenset({"task", "plan"})  # kinds of items that have a run of their own


def wakes(policy: WakePolicy, *, mentioned: bool, trigger: str | None, triggered: bool) -> bool:
    """Does a message wake this agent? A group without a trigger word is woken by mentions instead."""
    match policy:
        case "all":
            return True
        case "mention":
            return mentioned
        case "trigger":
            return mentioned if trigger is None else triggered
        case "none":
            return False


def depth_of_run(author_kind: str, message_depth: int) -> int:
    """A person's message wakes runs of depth 0; an agent's, runs one deeper than the run that spoke."""
    return message_depth + 1 if author_kind == "agent" else 0


def chain_goes_on(author_kind: str, message_depth: int, recipient: Recipient, limit: int) -> bool:
    own = limit if recipient.chain_limit is None else recipient.chain_limit
    return author_kind != "agent" or message_depth < own


def drained(items: Sequence[Item]) -> Sequence[Item]:
    """The items one run takes: from the oldest on, as long as their causes hold equal grants.

    Ten quick messages are one run; an owner's and a guest's are two, since what a run may do is what its cause may. A
    task or a plan has a run of its own: what it costs, and whether it failed, is counted. So has what is done once
    more. What several people say in several spaces is not mixed: a run that works for all of them could not act for one
    in a group that another is not in.
    """
    count = 0
    spaces: set[str | None] = set()
    causes: set[str] = set()
    for item in items:
        spaces.add(item.space_id)
        causes.add(item.cause.id)
        if len(spaces) > 1 and len(causes) > 1:
            break
        if item.cause.grants != items[0].cause.grants:
            break
        if count and not ALONE.isdisjoint((item.kind, items[0].kind)):
            break
        if item.retry != items[0].retry:
            break
        count += 1
    return items[:count]


def held_now(kind: str, role: str | None, *, there: bool) -> frozenset[Grant]:
    """What whoever caused an item holds by now. Nothing, for a person without a role or an agent that is not there:
    nobody works on behalf of somebody who may not come in any more."""
    match kind:
        case "person":
            return frozenset() if role is None else access.grants_of(role)
        case "agent":
            return access.AGENT if there else frozenset()
        case "system":
            return access.GRANTS
        case _:
            return frozenset()
