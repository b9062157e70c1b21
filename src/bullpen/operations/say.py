"""Say something in a space: the one place where a slash is understood, for the page, programs and bridges alike.

A person's message may give the office a command, which is answered in the space, or start a skill of the space. Every
other message is an ordinary one, whatever it begins with. All of it happens in the transaction that keeps the message.
Agents give no commands: what they write is only said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.errors import Conflict
from bullpen.events.actions import in_turn
from bullpen.inbox.types import Cause
from bullpen.operations import slash
from bullpen.skills import actions as skills
from bullpen.skills import rows as skill_rows
from bullpen.skills.types import Skill
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces import rules as space_rules
from bullpen.spaces.types import Author, Draft, PostingRules, Room
from bullpen.storage import Transaction
from bullpen.wire import Message
from bullpen.wire.nouns import Invoked


@dataclass(frozen=True, slots=True)
class Understood:
    """What a `/word` means in a space. Without a skill it is a command of the office."""

    name: str
    parameters: str
    skill: Skill | None = None

    @property
    def starts(self) -> bool:
        """A skill that still waits for approval starts nothing: the office says so, as it answers a command."""
        return self.skill is not None and self.skill.active is not None

    @property
    def kept(self) -> str:
        """What is kept with the message instead of the policy it met."""
        return f"{space_rules.SKILL if self.starts else space_rules.COMMAND}:{self.name}"


@dataclass(frozen=True, slots=True)
class Said:
    draft: Draft
    started: tuple[str, str] | None = None  # of a skill: its agent and its thread


def author_of(principal: Principal) -> Author:
    """Somebody who speaks for themselves, not in a run: they are the cause of what follows."""
    cause = Cause(principal.kind, principal.id, access.written(principal.grants))
    kind = "agent" if principal.kind == "agent" else "person"
    return Author(id=principal.id, kind=kind, name=principal.name, cause=cause)  # type: ignore[arg-type]


async def say(
    tx: Transaction,
    caller: Principal,
    space_id: str,
    text: str,
    posting: PostingRules,
    *,
    attachments: Sequence[str] = (),
    reply_to: str | None = None,
    client_message_id: str | None = None,
) -> Said:
    """Post a message and do what it asks for."""
    await in_turn(tx, ids.canonical_space(space_id))  # so that events have the order of the messages' numbers
    room = await spaces.writable_room(tx, caller, space_id)
    return await say_in(
        tx,
        room,
        author_of(caller),
        text,
        posting,
        attachments=attachments,
        reply_to=reply_to,
        client_message_id=client_message_id,
    )


async def say_in(
    tx: Transaction,
    room: Room,
    author: Author,
    text: str,
    posting: PostingRules,
    *,
    attachments: Sequence[str] = (),
    reply_to: str | None = None,
    client_message_id: str | None = None,
) -> Said:
    """For a caller who knows that the author may speak in this room, and has its turn."""
    found = await _understand(tx, room, author, text)
    kept = None if found is None else found.kept
    draft = await spaces.post(
        tx,
        room,
        author,
        text,
        posting,
        attachments=attachments,
        reply_to=reply_to,
        client_message_id=client_message_id,
        command=kept,
    )
    if found is None or not draft.created:
        return Said(draft)
    if found.skill is not None and not found.starts:
        await spaces.announce(tx, room.id, await skills.tell_waiting(tx, found.skill), reply_to=draft.id)
        return Said(draft)
    if found.skill is not None:
        started = await skills.start(tx, room, found.skill, draft, found.parameters)
        if started is None:
            await spaces.announce(tx, room.id, skills.NOBODY, reply_to=draft.id)
        return Said(draft, started)
    given = slash.GivenCommand(room, draft, found.parameters, posting.chain_limit)
    await spaces.announce(tx, room.id, await slash.COMMANDS[found.name].carry_out(tx, given), reply_to=draft.id)
    return Said(draft)


async def _understand(tx: Transaction, room: Room, author: Author, text: str) -> Understood | None:
    """What the message means, if it is more than a message."""
    found = space_rules.slash(text) if author.kind == "person" else None
    if found is None:
        return None
    name, parameters = found
    if name in slash.COMMANDS:
        return Understood(name, parameters)
    skill = await skill_rows.select_skill(tx, room.id, name)
    return None if skill is None else Understood(name, parameters, skill)


async def preview(
    tx: Transaction, caller: Principal, space_id: str, text: str, *, reply_to: str | None, chain_limit: int
) -> list[str]:
    """The agents that this would wake, if the caller said it now. Nothing is changed."""
    room = await spaces.writable_room(tx, caller, space_id)
    if not text:
        return []
    author = author_of(caller)
    found = await _understand(tx, room, author, text)
    if found is None:
        return await spaces.preview(tx, room, author, text, reply_to=reply_to, chain_limit=chain_limit)
    if found.skill is None or found.skill.active is None:
        return []
    agent = await skills.follower(tx, room, found.skill.active, found.parameters)
    return [] if agent is None else [agent.agent_id]


# ── starting a skill by its name ────────────────────────────────────────────────────────────────────────────────────


async def invoke_skill(
    tx: Transaction,
    caller: Principal,
    space_id: str,
    name: str,
    parameters: str,
    posting: PostingRules,
    *,
    client_message_id: str | None,
) -> Invoked:
    """Start a skill as if the caller had written `/name parameters`: the message is there to be seen.

    The same `client_message_id` again starts nothing, and answers what was started before.
    """
    key, text = client_message_id, f"/{name} {parameters}".rstrip()
    await in_turn(tx, ids.canonical_space(space_id))
    if key is not None and (known := await space_rows.select_by_client_id(tx, caller.id, key)) is not None:
        return await _invoked_before(tx, caller, space_id, name, text, known)
    skill = await skills.get(tx, caller, space_id, name, "invoke_skill")
    if skill.active is None:
        raise Conflict(f"/{name} waits for somebody's approval, and cannot be started before.")
    room = await spaces.writable_room(tx, caller, space_id)
    said = await say_in(tx, room, author_of(caller), text, posting, client_message_id=key)
    if said.started is None:
        raise Conflict(skills.NOBODY)
    agent_id, thread_id = said.started
    where = {"message_id": said.draft.id, "space_id": said.draft.space_id}
    return Invoked(**where, name=name, agent_id=agent_id, thread_id=thread_id)


async def _invoked_before(
    tx: Transaction, caller: Principal, space_id: str, name: str, text: str, known: Message
) -> Invoked:
    """What an invocation with this key came to. The skill itself may have been changed or deleted since."""
    room = await spaces.room_for(tx, caller, "invoke_skill", space_id)
    same = known.text == text or known.edited_at or known.deleted_at
    started = await skills.started_by(tx, known.id) if same and known.space_id == room.id else None
    if started is None:
        raise Conflict(
            f"clientMessageId {known.client_message_id!r} was used for another message ({known.id}); use a new one.",
            fields={"clientMessageId": "was used for another message"},
        )
    agent_id, thread_id = started
    return Invoked(message_id=known.id, space_id=room.id, name=name, agent_id=agent_id, thread_id=thread_id)
