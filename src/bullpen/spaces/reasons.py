"""Why a message woke an agent, or did not: SQL, and the judgement.

Read from what was kept (the inbox item, the policy that the message met), and only for the rest judged again, by the
rules that posting uses. What became of an agent that was woken is its run's to say: see api/why.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, bindparam, or_, select

from bullpen.inbox import rules as inbox_rules
from bullpen.inbox.types import Recipient
from bullpen.spaces import rows, rules
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, Mapped
from bullpen.storage.paused import all_paused
from bullpen.storage.tables import agents, inbox_items, members, threads
from bullpen.wire import Message
from bullpen.wire.nouns import WhyCode


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent that a message could have woken. `joined_at` is None for one that is not in the space now."""

    id: str
    name: str
    chain_limit: int | None
    joined_at: str | None
    paused: bool


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is left of handing the message to an agent."""

    rank: int
    run_id: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    code: WhyCode
    reason: str


_PAUSED = or_(agents.c.paused_at.is_not(None), all_paused)
_CANDIDATES = Mapped(
    Candidate,
    agents,
    others={"chain_limit": agents.c.max_chain_depth, "joined_at": members.c.joined_at, "paused": _PAUSED},
    paused=FLAG,
)
_IN_SPACE = and_(members.c.member_id == agents.c.id, members.c.space_id == bindparam("space_id"))
_SELECT_MEMBERS = Statement(
    select(*_CANDIDATES.columns).select_from(members.join(agents, _IN_SPACE)).order_by(members.c.position)
)
_SELECT_THESE = Statement(
    select(*_CANDIDATES.columns).select_from(agents.outerjoin(members, _IN_SPACE)).where(any_of(agents.c.id, "ids"))
)
_DELIVERY = (threads.c.agent_id, inbox_items.c.rank, inbox_items.c.claimed_by)
_DELIVERED = inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id)
_SELECT_DELIVERED = Statement(
    select(*_DELIVERY)
    .select_from(_DELIVERED)
    .where(
        any_of(threads.c.agent_id, "ids"),
        or_(threads.c.anchor == bindparam("space_id"), threads.c.anchor == ""),
        inbox_items.c.key == bindparam("key"),
    )
)
# The thread of a skill was made for it.
_SELECT_STARTED = Statement(
    select(*_DELIVERY)
    .select_from(_DELIVERED)
    .where(any_of(threads.c.agent_id, "ids"), threads.c.scope == "fresh", inbox_items.c.key == bindparam("key"))
)
# Several who were woken together; some may have left the space since.
_SELECT_BATCH = Statement(
    select(*_DELIVERY)
    .select_from(_DELIVERED)
    .where(inbox_items.c.batch == bindparam("message_id"))
    .order_by(inbox_items.c.rank)
)


async def select_candidates(tx: Transaction, message: Message, agent_id: str | None) -> list[Candidate]:
    """The agents of the space in join order, and those that were woken and have left; or the one asked for."""
    if agent_id is not None:
        return await _select_these(tx, message, [agent_id])
    found = _CANDIDATES.read_all(await tx.all(_SELECT_MEMBERS, space_id=message.space_id))
    woken = await tx.values(_SELECT_BATCH, message_id=message.id)
    left = [id for id in woken if id not in {candidate.id for candidate in found}]
    if left:
        found += await _select_these(tx, message, left)
    return found


async def _select_these(tx: Transaction, message: Message, ids: list[str]) -> list[Candidate]:
    return _CANDIDATES.read_all(await tx.all(_SELECT_THESE, space_id=message.space_id, ids=ids))


async def select_deliveries(tx: Transaction, message: Message, agent_ids: list[str]) -> dict[str, Delivery]:
    found = await tx.all(_SELECT_DELIVERED, space_id=message.space_id, ids=agent_ids, key=f"message:{message.id}")
    if not found and message.author_kind == "person":
        found = await tx.all(_SELECT_STARTED, ids=agent_ids, key=f"skill:{message.id}")
    return {agent_id: Delivery(rank, run_id) for agent_id, rank, run_id in found}


async def judge(
    tx: Transaction, message: Message, agent_id: str | None, chain_limit: int
) -> tuple[str, list[tuple[Candidate, Delivery | None, Verdict]]]:
    """The policy that the message met; and for each agent of the space, or for one, whether it was woken, and why."""
    candidates = await select_candidates(tx, message, agent_id)
    deliveries = await select_deliveries(tx, message, [candidate.id for candidate in candidates])
    policy = await _policy(tx, message)
    replied = None if message.reply_to is None else await rows.select_message(tx, message.reply_to)
    replied_to = None if replied is None else replied.author_id
    found = []
    for candidate in candidates:
        delivery = deliveries.get(candidate.id)
        verdict = (
            delivered(candidate, delivery)
            if delivery is not None
            else not_delivered(message, candidate, policy=policy, replied_to=replied_to, chain_limit=chain_limit)
        )
        found.append((candidate, delivery, verdict))
    return policy, found


async def _policy(tx: Transaction, message: Message) -> str:
    """The one it met; for a message from before that was kept, the one that holds now."""
    met = await rows.select_wake(tx, message.id)
    room = await rows.select_room(tx, message.space_id)
    if met is not None or room is None:
        return met or "none"
    now = room.wake_agents if message.author_kind == "agent" else room.wake_people
    return rules.written(now, room.trigger)


_WHOSE = {"person": "people's", "agent": "agents'", "system": "the office's"}

# ── the judgement ───────────────────────────────────────────────────────────────────────────────────────────────────


def delivered(agent: Candidate, delivery: Delivery) -> Verdict:
    if delivery.run_id is not None:
        return Verdict("woken", f"{agent.name} was woken by this message.")
    if agent.paused:
        return Verdict("paused", f"{agent.name} is paused. The message is in its inbox and waits there.")
    if delivery.rank > 0:
        return Verdict(
            "waiting", f"{agent.name} waits for its turn: of the agents woken, {delivery.rank} come before it."
        )
    return Verdict("waiting", f"{agent.name} is queued and has not begun yet.")


def not_delivered(
    message: Message, agent: Candidate, *, policy: str, replied_to: str | None, chain_limit: int
) -> Verdict:
    if message.author_kind == "system":
        return Verdict("system_message", "System messages wake nobody.")
    if message.type == "tool":
        return Verdict("tool_card", "A tool call that is shown wakes nobody.")
    if agent.id == message.author_id:
        return Verdict("author", f"{agent.name} wrote it, and nobody wakes themselves.")
    if agent.joined_at is None or agent.joined_at > message.created_at:
        return Verdict("not_a_member", f"{agent.name} was not in the room when this was posted.")
    kind, _, name = policy.partition(":")
    if kind == rules.COMMAND:
        return Verdict("command", "It is a word to the office itself, which wakes nobody.")
    if kind == rules.SKILL:
        return Verdict("skill", f"It started the skill /{name}, and wakes nobody but the agent that follows it.")
    if policy == "none":
        return Verdict("policy", f"In this room {_WHOSE[message.author_kind]} messages wake nobody.")
    missing = _missing(message, agent, policy, replied_to)
    if missing is not None:
        return missing
    recipient = Recipient(agent.id, agent.name, "space", agent.chain_limit, None)
    if not inbox_rules.chain_goes_on(message.author_kind, message.depth, recipient, chain_limit):
        links = f"{message.depth + 1} links of agents waking each other"
        return Verdict("chain_limit", f"The chain ended here, after {links}. A person's message begins a new one.")
    if message.edited_at is not None:
        return Verdict("not_kept", "It was edited since, and edits wake nobody; what it said before is not kept.")
    return Verdict("not_kept", "It was handed over, but nothing about it is kept any more.")


def _missing(message: Message, agent: Candidate, policy: str, replied_to: str | None) -> Verdict | None:
    """What the policy asks for and the message does not have. None: it has what it takes."""
    kind, _, trigger = policy.partition(":")
    whose = _WHOSE[message.author_kind]
    if kind == "all":
        return None
    if message.deleted_at is not None:
        return Verdict("deleted", f"The message was deleted, so what it said is gone. The policy was {policy}.")
    if kind == "trigger" and trigger:
        if rules.says(message.text, trigger):
            return None
        return Verdict(
            "no_trigger_word",
            f"In this room {whose} messages wake agents by the word {trigger!r}. It is not in this one.",
        )
    if rules.mentions(message.text, id=agent.id, name=agent.name) or replied_to == agent.id:
        return None
    return Verdict(
        "not_mentioned",
        f"In this room {whose} messages wake only agents that they mention. This one does not mention {agent.name}.",
    )
