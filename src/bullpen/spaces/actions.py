"""Create, join, leave, post, edit, react: each change of a space, with the events that tell of it.

Every function here takes the transaction it is part of. Nothing is numbered and nobody is woken until its end: see the
lock order in storage/store.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.rules import Action
from bullpen.access.types import Principal, Thing
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.errors import AlreadyExists, Conflict, Invalid, NotFound, SpaceArchived, TooManyRequests
from bullpen.events.actions import in_turn, record
from bullpen.files import actions as files
from bullpen.files import rows as file_rows
from bullpen.files.rows import Owned
from bullpen.inbox import actions as inbox
from bullpen.inbox import rules as inbox_rules
from bullpen.inbox.types import Cause, Recipient
from bullpen.observe.redact import here, owner
from bullpen.outbox import actions as outbox
from bullpen.spaces import chats, finding, rows, rules
from bullpen.spaces.types import Author, Draft, Numbered, PostingRules, Room
from bullpen.storage import Stage, Transaction
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import chain_stops
from bullpen.webhooks import actions as webhooks
from bullpen.wire import Message, Space, Wake
from bullpen.wire.events import (
    ChainStopped,
    FormerMember,
    MemberJoined,
    MemberLeft,
    MemberReaction,
    MessageCreated,
    MessageDeleted,
    MessageEvent,
    MessagePinned,
    MessageUnpinned,
    MessageUpdated,
    PinEvent,
    PinnedBy,
    ReactionAdded,
    ReactionEvent,
    ReactionRemoved,
    SpaceCreated,
    SpaceErased,
    SpaceUpdated,
    StoppedChain,
)
from bullpen.wire.nouns import File, MessageStatus, PinnedMessage, WakePolicy
from bullpen.wire.requests import CreateSpace, RegisterGroup, UpdateSpace

_INSERT_CHAIN_STOP = insert_or_ignore(chain_stops)

ANY = "*"  # an edit that does not say what its writer has seen, as with If-Match
SYSTEM_AUTHOR = Author(
    id="system", kind="system", name="Bullpen", cause=Cause("system", "system", access.written(access.GRANTS))
)


# ── who may ─────────────────────────────────────────────────────────────────────────────────────────────


async def room_for(tx: Transaction, principal: Principal, action: Action, id: str) -> Room:
    """The space, if the principal may do this in it. Unknown and hidden are deliberately the same."""
    room, thing = await standing(tx, principal, id)
    if room is None:
        raise NotFound(f"There is no space {id!r}, or it is not yours to see.")
    access.authorize(principal, action, thing)
    return room


async def standing(tx: Transaction, principal: Principal, id: str) -> tuple[Room | None, Thing]:
    """A space, and how the principal stands to it; or to what is in it, if the caller says more."""
    found = await rows.select_standing(tx, ids.canonical_space(id), principal.id)
    if found is None:
        return None, Thing("space", id)
    room, member, people, maker_is_in = found
    public = not room.private and room.kind != "dm"
    # Named as it was asked for: the other order of a DM's ids must not be corrected for those who may not know of it.
    # A private room whose maker is not in it belongs to those who are: not even owners look into it.
    left_to_all = room.kind == "dm" or (room.private and not maker_is_in)
    made_it = left_to_all or room.created_by == principal.id
    return room, Thing("space", id, member=member, made_it=made_it, public=public, people=people)


async def visible_room(tx: Transaction, principal: Principal, id: str) -> Room:
    return await room_for(tx, principal, "see_space", id)


async def readable_room(tx: Transaction, principal: Principal, id: str) -> Room:
    return await room_for(tx, principal, "read_space", id)


async def writable_room(tx: Transaction, principal: Principal, id: str) -> Room:
    """Writing needs membership, of everybody, and a space that is not archived."""
    room = await room_for(tx, principal, "post", id)
    refuse_archived(room)
    return room


def refuse_archived(room: Room) -> None:
    if room.archived_at is not None:
        raise SpaceArchived(room.id)


async def readable(tx: Transaction, principal: Principal, among: list[str] | None) -> set[str]:
    """Which of these spaces (None: of all) the principal may read."""
    if "read_space" not in principal.grants:
        return set()
    is_owner = principal.kind == "person" and principal.is_owner
    return await rows.select_readable(tx, principal.id, is_owner=is_owner, among=among)


# ── spaces and members ──────────────────────────────────────────────────────────────────────────────────


def check_group(principal: Principal, request: CreateSpace) -> None:
    """Where the office is run from, which chats elsewhere are whose, and what is paid for, is not for every member."""
    if request.main or request.bridge is not None:
        access.authorize(principal, "register_group")
    if request.provider is not None or request.model is not None:
        access.authorize(principal, "manage_agents")


async def register(tx: Transaction, wanted: RegisterGroup, creator: Principal, members: list[str]) -> Space:
    """A chat becomes a group, named as its folder is. The caller has checked who may."""
    await in_turn(tx, *_turns(wanted.folder), wanted.folder)
    taken = not ids.choosable(wanted.folder) or await rows.select_room(tx, wanted.folder) is not None
    said = wanted.model_dump(include={"name", "folder", "trigger", "provider", "model"})
    request = CreateSpace(
        id=None if taken else wanted.folder, kind="group", private=True, members=members, bridge=wanted.jid, **said
    )
    return await create(tx, request, creator)


def _turns(folder: str | None) -> list[str]:
    return [] if folder is None else [f"folder {folder}"]


async def _refuse_taken_folder(tx: Transaction, folder: str | None, but_for: str) -> None:
    room = None if folder is None else await rows.select_with_folder(tx, folder)
    if room is not None and room.id != but_for:
        raise AlreadyExists(f"Another group has the folder {folder!r}.", fields={"folder": "is taken"})


async def create(tx: Transaction, request: CreateSpace, creator: Principal) -> Space:
    await in_turn(tx, *_turns(request.folder))
    kinds = await agent_rows.select_kinds(tx, list(request.members))
    if unknown := [member for member in request.members if member not in kinds]:
        raise Invalid(f"Nobody has the id {unknown[0]!r}.", fields={"members": f"unknown: {', '.join(unknown)}"})
    id = _new_id(request)
    if await rows.select_room(tx, id) is not None:
        raise AlreadyExists(f"There is a space {id!r} already.", fields={"id": "is taken"})
    space = Space(
        id=id,
        kind=request.kind,
        name=request.name or request.id or id,
        private=request.private or request.kind == "dm",
        wake=rules.wake(request.kind, request.wake, main=request.main),
        created_by=creator.id,
        created_at=tx.clock.now(),
        **{name: getattr(request, name) for name in _KEPT_AS_ASKED},
    )
    if request.kind == "group":
        await _refuse_taken_folder(tx, request.folder, but_for=id)
    if request.bridge is not None:
        await chats.bind(tx, id, request.bridge, space.name)
    await rows.insert_space(tx, space, created_by=creator.id)
    record(tx, SpaceCreated(space_id=id, space=space))
    joining = list(dict.fromkeys(request.members))
    if request.kind != "dm" and creator.kind != "system" and creator.id not in joining:
        kinds[creator.id] = creator.kind
        joining.insert(0, creator.id)
    for member_id in joining:
        await _add(tx, id, member_id, kinds[member_id])
    note(tx, creator, "space.created", "space", id, kind=space.kind, private=space.private, members=joining)
    return await _answer(tx, id, creator)


_KEPT_AS_ASKED = ("topic", "trigger", "main", "folder", "provider", "model", "timezone", "bridge")


def _new_id(request: CreateSpace) -> str:
    if request.kind == "dm":
        if len(set(request.members)) != 2:
            raise Invalid("A DM has exactly two members.", fields={"members": "name two different members"})
        id = ids.dm(*request.members)
        if request.id is not None and ids.canonical_space(request.id) != id:
            raise Invalid(f"The id of this DM is {id!r}; leave `id` out.", fields={"id": f"must be {id}"})
        return id
    if request.id is not None and not ids.choosable(request.id):
        raise Invalid(
            f"{request.id!r} cannot be a space's id.",
            fields={"id": "1–64 of a–z, 0–9, _ and -, not starting with _ or -, without '--' and not 'dm-…'"},
        )
    return request.id or ids.space()


async def _answer(tx: Transaction, id: str, principal: Principal) -> Space:
    space = await rows.select_space(tx, id, principal.id)
    assert space is not None
    return space


async def get(tx: Transaction, principal: Principal, id: str) -> Space:
    room = await visible_room(tx, principal, id)
    return await _answer(tx, room.id, principal)


async def update(tx: Transaction, principal: Principal, id: str, request: UpdateSpace) -> Space:
    await in_turn(tx, ids.canonical_space(id), *_turns(request.folder))
    room = await room_for(tx, principal, "manage_space", id)
    space = await _answer(tx, room.id, principal)
    said = {name: getattr(request, name) for name in request.model_fields_set if name != "wake"}
    if said.get("private") is False and space.kind == "dm":
        raise Invalid("A DM is always private.", fields={"private": "cannot be false here"})
    if request.wake is not None and space.kind != "dm":
        said["wake"] = Wake(
            people=request.wake.people or space.wake.people, agents=request.wake.agents or space.wake.agents
        )
    for required in ("name", "private"):
        if said.get(required, "") is None:
            del said[required]
    if "topic" in said:
        said["topic"] = said["topic"] or None
    archived = said.pop("archived", None)
    if archived is not None and archived != (space.archived_at is not None):
        _check_archiving(room)
        said["archived_at"] = tx.clock.now() if archived else None
    changed = space.model_copy(update=said)
    if any(getattr(changed, name) != getattr(space, name) for name in _KEPT):
        await room_for(tx, principal, "keep_space", id)
    if (changed.provider, changed.model) != (space.provider, space.model):
        access.authorize(principal, "manage_agents")
    if space.kind == "group":
        await _refuse_taken_folder(tx, request.folder, but_for=space.id)
    if changed.bridge != space.bridge:
        access.authorize(principal, "register_group")
        await chats.bind(tx, space.id, changed.bridge, changed.name)
    await rows.update_space(tx, changed)
    record(tx, SpaceUpdated(space_id=space.id, space=_shared(changed)))
    note(tx, principal, "space.changed", "space", space.id, fields=sorted(request.model_fields_set))
    return changed


# What only those who keep a space may change. Its name, its topic and who wakes agents are for all who are in it.
_KEPT: Final = ("private", "archived_at", "provider", "model", "folder")


def _check_archiving(room: Room) -> None:
    if room.kind == "dm":
        raise Invalid("A DM cannot be archived.", fields={"archived": "cannot be set here"})
    if room.main:
        raise Invalid("The main group cannot be archived: the office is run from it.", fields={"archived": "not here"})


def _shared(space: Space) -> Space:
    """What is the same for everybody: an event must not tell one member how far another has read."""
    return space.model_copy(update={"read_seq": 0, "unread": 0, "mentions": 0})


async def add_member(tx: Transaction, principal: Principal, space_id: str, member_id: str) -> Space:
    await in_turn(tx, member_id)
    joins = member_id == principal.id and principal.kind == "person"
    room = await room_for(tx, principal, "join_space" if joins else "manage_space", space_id)
    if room.kind == "dm":
        raise Conflict("A DM has exactly two members; create a channel or a group for more.")
    kinds = await agent_rows.select_kinds(tx, [member_id])
    if member_id not in kinds:
        raise NotFound(f"Nobody has the id {member_id!r}.")
    if await _add(tx, room.id, member_id, kinds[member_id]) and not joins:
        note(tx, principal, "member.added", "space", room.id, memberId=member_id)
    return await _answer(tx, room.id, principal)


async def _add(tx: Transaction, space_id: str, member_id: str, kind: str) -> bool:
    if not await rows.insert_member(tx, space_id, member_id, kind):
        return False
    members = await rows.select_members(tx, [space_id])
    member = next(m for m in members[space_id] if m.id == member_id)
    record(tx, MemberJoined(space_id=space_id, member=member))
    return True


async def join_owner(tx: Transaction, owner: Principal, made_by: str) -> None:
    """The owner becomes a member of the spaces that came with a demo."""
    for space_id in await rows.select_made_by(tx, made_by):
        await _add(tx, space_id, owner.id, "person")


async def ensure_member(tx: Transaction, space_id: str, member_id: str) -> bool:
    """For files that are applied again: true if that changed anything."""
    if await rows.is_member(tx, space_id, member_id):
        return False
    kinds = await agent_rows.select_kinds(tx, [member_id])
    if member_id not in kinds:
        raise Invalid(f"Nobody has the id {member_id!r}.", fields={"members": f"unknown: {member_id}"})
    await _add(tx, space_id, member_id, kinds[member_id])
    return True


async def remove_member(tx: Transaction, principal: Principal, space_id: str, member_id: str) -> None:
    await in_turn(tx, member_id)
    is_person = (await agent_rows.select_kinds(tx, [member_id])).get(member_id) == "person"
    action: Action = "join_space" if member_id == principal.id else "keep_space" if is_person else "manage_space"
    room = await room_for(tx, principal, action, space_id)
    if room.kind == "dm":
        raise Conflict("Nobody can leave a DM.")
    if not await rows.is_member(tx, room.id, member_id):
        raise NotFound(f"{member_id!r} is not a member of {room.id!r}.")
    await _remove(tx, room.id, member_id)
    if member_id != principal.id:
        note(tx, principal, "member.removed", "space", room.id, memberId=member_id)


async def _remove(tx: Transaction, space_id: str, member_id: str) -> None:
    if await rows.delete_member(tx, space_id, member_id):
        record(tx, MemberLeft(space_id=space_id, member=FormerMember(id=member_id)))


async def renamed(tx: Transaction, member_id: str) -> None:
    """A member's name is part of each space it is in."""
    for space_id, _, _ in await rows.select_spaces_of(tx, member_id, limit=100_000):
        space = await rows.select_space(tx, space_id, member_id)
        assert space is not None
        record(tx, SpaceUpdated(space_id=space_id, space=_shared(space)))


async def remove_everywhere(tx: Transaction, member_id: str) -> None:
    """The caller has the member's turn, so that nobody adds it meanwhile."""
    for space_id, _, _ in await rows.select_spaces_of(tx, member_id, limit=100_000):
        await _remove(tx, space_id, member_id)


async def put_out(tx: Transaction, space_id: str, member_id: str) -> None:
    """Without asking who may: for erasures."""
    await _remove(tx, space_id, member_id)


def tell_erased(tx: Transaction, space_id: str) -> None:
    """Nobody is in it any more; owners, who may have read it without being in it, have to load again."""
    record(tx, SpaceErased(space_id=space_id))


async def mark_read(tx: Transaction, principal: Principal, space_id: str, seq: int) -> tuple[Space, bool]:
    """The space as it is then, and whether that moved anything. Back, too: somebody wants to come back to it."""
    room = await room_for(tx, principal, "post", space_id)
    moved = await rows.update_read_seq(tx, room.id, principal.id, min(seq, room.last_seq), back=True)
    return await _answer(tx, room.id, principal), moved


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────


async def post(
    tx: Transaction,
    room: Room,
    author: Author,
    text: str,
    posting: PostingRules,
    *,
    id: str | None = None,
    attachments: Sequence[str] = (),
    reply_to: str | None = None,
    client_message_id: str | None = None,
    command: str | None = None,
) -> Draft:
    """Keep a message, hand it to the threads it wakes, and tell followers. The caller has checked membership.

    With `command` (what is kept instead of the policy it met) it wakes nobody by itself: the command does.

    The same clientMessageId again is the same message, and wakes nobody; with another text, other attachments or in
    another space it is a conflict. Attachments are files of the author's own, or of the space.
    """
    if author.kind != "system":
        refuse_archived(room)
    text = _words(author, room.id, text, author.cause)
    if client_message_id is not None:
        known = await rows.select_by_client_id(tx, author.id, client_message_id)
        if known is not None:
            return _again(known, room, author, text, attachments, client_message_id)
    draft = Draft(
        id=id or ids.message(),
        space_id=room.id,
        author=author,
        text=text,
        reply_to=reply_to,
        client_message_id=client_message_id,
        agents_per_minute=posting.agents_per_minute if author.kind == "agent" else 0,
        metadata=_provenance(author),
    )
    if attachments:
        draft.type = "text" if text else "file"
        draft.attachments = await files.show(
            tx, attachments, message_id=draft.id, space_id=room.id, author_id=author.id, limits=posting.files
        )
    draft.chain_id = author.chain_id or draft.id
    draft.wake = rules.written(_policy(room, author), room.trigger)
    replied = await _replied(tx, room, reply_to)
    draft.answers = None if replied is None else replied.author_id
    tx.defer(Stage.SPACES, room.id, partial(_number, draft=draft))
    if command is not None:
        draft.wake = command
    else:
        await _hand_out(tx, room, draft, replied, posting)
    return draft


def _provenance(author: Author) -> dict[str, Any]:
    """A message carries what the run that speaks it has read from outside the office."""
    return {"outside": list(author.outside)} if author.outside else {}


def _words(speaker: Author | Principal, space_id: str, text: str, cause: Cause | None = None) -> str:
    """As they are kept: a person's as they wrote them, anybody else's without secrets."""
    if speaker.kind == "person":
        return text
    people = [owner("person", cause.id)] if cause is not None and cause.kind == "person" else []
    return here(owner("agent", speaker.id), owner("space", space_id), *people).clean(text)


def _again(
    known: Message, room: Room, author: Author, text: str, attachments: Sequence[str], client_message_id: str
) -> Draft:
    same_text = known.text == text or known.edited_at or known.deleted_at
    same_files = [file.id for file in known.attachments] == list(attachments) or known.deleted_at
    if known.space_id != room.id or not same_text or not same_files:
        raise Conflict(
            f"clientMessageId {client_message_id!r} was used for another message ({known.id}); use a new one.",
            fields={"clientMessageId": "was used for another message"},
        )
    draft = Draft(id=known.id, space_id=room.id, author=author, text=known.text, created=False)
    draft.message = known
    return draft


async def _replied(tx: Transaction, room: Room, reply_to: str | None) -> Message | None:
    if reply_to is None:
        return None
    message = await rows.select_message(tx, reply_to)
    if message is None or message.space_id != room.id:
        raise Invalid(f"There is no message {reply_to!r} in this space.", fields={"replyTo": "unknown here"})
    if message.type == "tool":
        raise Invalid("A tool message cannot be replied to.", fields={"replyTo": "is a tool message"})
    return message


async def _hand_out(tx: Transaction, room: Room, draft: Draft, replied: Message | None, posting: PostingRules) -> None:
    author = draft.author
    woken = await _addressed(tx, room, draft, replied)
    if not woken:
        return
    limit = posting.chain_limit
    going_on = [(r, a) for r, a in woken if inbox_rules.chain_goes_on(author.kind, author.depth, r, limit)]
    if len(going_on) < len(woken):
        tx.defer(Stage.SPACES, room.id, partial(_stop_chain, draft=draft))
    await inbox.deliver(
        tx,
        going_on,
        space_id=room.id,
        message_id=draft.id,
        payload=told(draft),
        cause=author.cause,
        depth=inbox_rules.depth_of_run(author.kind, author.depth),
        chain_id=draft.chain_id,
        group_wait_ms=posting.group_wait_ms,
    )


def told(draft: Draft) -> dict[str, Any]:
    """What an agent that a message wakes is told of it."""
    author = draft.author
    payload: dict[str, Any] = {
        "messageId": draft.id,
        "spaceId": draft.space_id,
        "authorId": author.id,
        "authorKind": author.kind,
        "authorName": author.name,
        "text": draft.text,
    }
    payload |= _provenance(author)
    if draft.attachments:
        payload["attachments"] = [_told(file) for file in draft.attachments]
    return payload


async def tell_again(tx: Transaction, payload: dict[str, Any]) -> dict[str, Any] | None:
    """What an agent was told of a message, as the message is by now. None: it was deleted."""
    message = await rows.select_message(tx, str(payload.get("messageId")))
    if message is None or message.deleted_at is not None:
        return None
    again = {**payload, "text": message.text}
    again.pop("attachments", None)
    return again | ({"attachments": [_told(file) for file in message.attachments]} if message.attachments else {})


def _told(file: File) -> dict[str, Any]:
    """What an agent gets to know of a file that a message shows."""
    return {"id": file.id, "name": file.name, "type": file.type, "size": file.size}


def _policy(room: Room, author: Author) -> WakePolicy:
    return room.wake_agents if author.kind == "agent" else room.wake_people


async def _addressed(
    tx: Transaction, room: Room, draft: Draft, replied: Message | None
) -> list[tuple[Recipient, bool]]:
    """Whom the space's policy wakes by this message, whatever the length of the chain."""
    author = draft.author
    to_agent = replied is not None and replied.author_kind == "agent"
    if author.kind == "system" or rules.nobody_wakes(
        _policy(room, author), draft.text, replied=to_agent, trigger=room.trigger
    ):
        return []
    return _woken(room, draft, replied, await rows.select_recipients(tx, room))


async def preview(
    tx: Transaction, room: Room, author: Author, text: str, *, reply_to: str | None = None, chain_limit: int = 3
) -> list[str]:
    """Whom this would wake, if it were posted now. Nothing is changed."""
    draft = Draft(id="", space_id=room.id, author=author, text=text)
    woken = await _addressed(tx, room, draft, await _replied(tx, room, reply_to))
    return [r.agent_id for r, _ in woken if inbox_rules.chain_goes_on(author.kind, author.depth, r, chain_limit)]


def _woken(room: Room, draft: Draft, replied: Message | None, present: list[Recipient]) -> list[tuple[Recipient, bool]]:
    """Whom this message wakes, in join order, and whether each was addressed directly."""
    author = draft.author
    policy = _policy(room, author)
    triggered = room.trigger is not None and rules.says(draft.text, room.trigger)
    found = []
    for recipient in present:
        if recipient.agent_id == author.id:
            continue
        mentioned = rules.mentions(draft.text, id=recipient.agent_id, name=recipient.name) or (
            replied is not None and replied.author_id == recipient.agent_id
        )
        if inbox_rules.wakes(policy, mentioned=mentioned, trigger=room.trigger, triggered=triggered):
            directly = room.kind == "dm" or mentioned or triggered or len(present) == 1
            found.append((recipient, author.kind == "person" and directly))
    return found


async def _number(tx: Transaction, draft: Draft) -> None:
    """Give the message its place in the space. The counter row is locked from here to the commit."""
    numbered = await _next_seq(tx, draft)
    author = draft.author
    draft.message = Message(
        id=draft.id,
        space_id=draft.space_id,
        seq=numbered.seq,
        author_id=author.id,
        author_kind=author.kind,
        type=draft.type,
        text=draft.text,
        status=draft.status,
        reply_to=draft.reply_to,
        attachments=draft.attachments,
        metadata=draft.metadata,
        client_message_id=draft.client_message_id,
        run_id=author.run_id,
        depth=author.depth,
        created_at=tx.clock.now(),
    )
    await rows.insert_message(tx, draft.message, chain_id=draft.chain_id, wake=draft.wake)
    await finding.add(tx, draft.message)
    if author.kind != "system":
        await rows.update_read_seq(tx, draft.space_id, author.id, numbered.seq)
    agent_id = author.id if author.kind == "agent" else None
    record(tx, MessageCreated(space_id=draft.space_id, agent_id=agent_id, run_id=author.run_id, message=draft.message))
    await outbox.queue_message(tx, draft.message, numbered.chat, author.via)
    if numbered.anybody_listens and author.kind != "system" and ("@" in draft.text or draft.answers is not None):
        await webhooks.mentioned(tx, draft.message, partial(_is_mentioned, draft))


def _is_mentioned(draft: Draft, id: str, name: str) -> bool:
    """Answering somebody is mentioning them."""
    return id == draft.answers or rules.mentions(draft.text, id=id, name=name)


async def _next_seq(tx: Transaction, draft: Draft) -> Numbered:
    if not draft.agents_per_minute:
        return await rows.update_last_seq(tx, draft.space_id)
    price = rules.agent_price(draft.agents_per_minute)
    found = await rows.update_last_seq_paid(tx, draft.space_id, price)
    if found is None:
        wait = await rows.select_agents_wait(tx, draft.space_id, price) / 1000
        raise TooManyRequests(
            f"The agents of {draft.space_id!r} have sent {draft.agents_per_minute} messages within a minute, which is "
            f"the most, so this one was not sent. There is room again in {wait:.1f} s.",
            retry_after=wait,
        )
    return found


async def may_agents_speak(tx: Transaction, space_id: str, posting: PostingRules) -> bool:
    """Have the agents of the space said less than they may in a minute?"""
    most = posting.agents_per_minute
    return not most or await rows.can_afford(tx, space_id, rules.agent_price(most))


async def _stop_chain(tx: Transaction, draft: Draft) -> None:
    author = draft.author
    await _end_chain(tx, draft.space_id, draft.chain_id, author.depth, author.id, author.run_id, draft.id)


async def stop_chain(tx: Transaction, space_id: str, chain_id: str, *, depth: int, agent_id: str) -> None:
    """The same, for what is not a message: a task that an agent gave itself."""
    end = partial(_end_chain, space_id=space_id, chain_id=chain_id, depth=depth, agent_id=agent_id)
    tx.defer(Stage.SPACES, space_id, end)


async def _end_chain(
    tx: Transaction,
    space_id: str,
    chain_id: str,
    depth: int,
    agent_id: str,
    run_id: str | None = None,
    message_id: str | None = None,
) -> None:
    """Agents have answered each other long enough: say so once per chain, and wake nobody."""
    if not await tx.run(_INSERT_CHAIN_STOP, chain_id=chain_id, at=tx.clock.now()):
        return
    chain = StoppedChain(id=chain_id, depth=depth, message_id=message_id)
    record(tx, ChainStopped(space_id=space_id, agent_id=agent_id, run_id=run_id, chain=chain))
    text = f"The agents have answered each other {depth + 1} times in a row and stop here. Say something to go on."
    notice = Draft(id=ids.message(), space_id=space_id, author=SYSTEM_AUTHOR, text=text, type="system")
    notice.metadata = {"chainId": chain_id}
    notice.chain_id = chain_id
    await _number(tx, notice)


async def announce(
    tx: Transaction,
    space_id: str,
    text: str,
    *,
    reply_to: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Say something in a space as the office itself. It wakes nobody."""
    notice = Draft(id=ids.message(), space_id=space_id, author=SYSTEM_AUTHOR, text=text, type="system")
    notice.metadata = metadata or {}
    notice.reply_to = reply_to
    notice.chain_id = notice.id
    tx.defer(Stage.SPACES, space_id, partial(_number, draft=notice))


def show_call(
    tx: Transaction, room: Room, author: Author, *, id: str, metadata: dict[str, Any], status: MessageStatus
) -> None:
    """A visible tool call, as a message of its own. It goes the way of every message, but wakes nobody."""
    metadata = {**_provenance(author), **metadata}
    draft = Draft(id=id, space_id=room.id, author=author, text="", type="tool", status=status, metadata=metadata)
    draft.chain_id = author.chain_id or id
    tx.defer(Stage.SPACES, room.id, partial(_number, draft=draft))


async def update_call(tx: Transaction, id: str, metadata: dict[str, Any], status: MessageStatus) -> None:
    """What came of a visible call, on the message that showed it."""
    if await rows.update_call(tx, id, metadata, status):
        message = await _tell_of(tx, MessageUpdated, id)
        await finding.change(tx, message, finding.words_of(message))
        outbox.queue_card(tx, message)


async def read_anew(tx: Transaction, id: str) -> None:
    """Somebody's words were taken out of what a card holds: what it says and is found by follows. For erasures."""
    message = await rows.select_message(tx, id)
    if message is not None and message.type == "tool" and message.deleted_at is None:
        await rows.update_call(tx, id, message.metadata, message.status)
        await finding.change(tx, message, finding.words_of(message))


async def mark_repeated(tx: Transaction, id: str) -> None:
    """A part of it was sent a second time to the chat elsewhere: everybody can see that it may be there twice."""
    message = await rows.select_message(tx, id)
    if message is not None and message.deleted_at is None and "delivery" not in message.metadata:
        await rows.update_metadata(tx, id, {**message.metadata, "delivery": "repeated"})
        await _tell_of(tx, MessageUpdated, id)


async def get_message(tx: Transaction, principal: Principal, id: str) -> Message:
    return await _message_for(tx, principal, "read_message", id)


async def _message_for(tx: Transaction, principal: Principal, action: Action, id: str) -> Message:
    message = await rows.select_message(tx, id)
    if message is None:
        raise NotFound(f"There is no message {id!r}, or it is not yours to see.")
    _, space = await standing(tx, principal, message.space_id)
    access.authorize(principal, action, replace(space, kind="message", id=id, holder=message.author_id))
    return message


async def _own_message(tx: Transaction, principal: Principal, id: str) -> Message:
    message = await _message_for(tx, principal, "change_message", id)
    if message.deleted_at is not None:
        raise Conflict("The message was deleted.")
    await writable_room(tx, principal, message.space_id)
    return message


async def edit(tx: Transaction, principal: Principal, id: str, text: str, *, seen: str | None = ANY) -> Message:
    """Change one's own words. Nobody is woken by it.

    `seen` is when the message was last edited, as far as the writer knows. An edit since then stands, unless it is
    this very one, sent again.
    """
    await in_turn(tx, id)
    message = await _own_message(tx, principal, id)
    text = _words(principal, message.space_id, text)
    if seen not in (ANY, message.edited_at):
        if message.text == text:
            return message
        raise Conflict(
            "This message was edited after you read it, so your change was not made. Read it again, then edit it.",
            fields={"editedAt": message.edited_at or ""},
        )
    await rows.update_text(tx, id, text)
    await finding.change(tx, message, finding.words_of(message.model_copy(update={"text": text})))
    outbox.queue_change(tx, "edit", space_id=message.space_id, message_id=id)
    return await _tell_of(tx, MessageUpdated, id)


async def delete(tx: Transaction, principal: Principal, id: str) -> Message:
    """Take one's own message back. Its place stays, empty."""
    await in_turn(tx, id)
    message = await _own_message(tx, principal, id)
    await _delete(tx, id)
    outbox.queue_change(tx, "delete", space_id=message.space_id, message_id=id)
    return await _tell_of(tx, MessageDeleted, id)


async def _delete(tx: Transaction, id: str) -> None:
    if await rows.delete_message(tx, id):
        await files.hide(tx, id)


async def empty(tx: Transaction, id: str) -> None:
    """Take a message back whoever wrote it: for erasures. Its place stays. The caller has the message's turn."""
    await _delete(tx, id)
    message = await _tell_of(tx, MessageDeleted, id)
    outbox.queue_change(tx, "delete", space_id=message.space_id, message_id=id)


async def _tell_of(tx: Transaction, kind: type[MessageEvent], id: str) -> Message:
    message = await rows.select_message(tx, id)
    assert message is not None
    record(tx, kind(space_id=message.space_id, run_id=message.run_id, message=message))
    return message


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────


async def get_file(tx: Transaction, principal: Principal, id: str) -> Owned:
    """A file, if the principal may read the space it is in, or has it while it is in none."""
    file, _ = await _file_for(tx, principal, id)
    return file


async def delete_file(tx: Transaction, principal: Principal, id: str) -> None:
    """Forget a file that no message shows. What somebody else gave, only owners may delete."""
    file, thing = await _file_for(tx, principal, id)
    access.authorize(principal, "delete_file", replace(thing, holder=file.owner_id))
    await files.delete(tx, id)
    if principal.id != file.owner_id:
        note(tx, principal, "file.deleted", "file", id, ownerId=file.owner_id, spaceId=file.space_id)


async def lost_files(tx: Transaction, message_id: str) -> None:
    """Tell that a message shows fewer files than before: for erasures. The caller has the message's turn."""
    await _tell_of(tx, MessageUpdated, message_id)


async def _file_for(tx: Transaction, principal: Principal, id: str) -> tuple[Owned, Thing]:
    file = await file_rows.select_file(tx, id)
    if file is None:
        raise NotFound(f"There is no file {id!r}, or it is not yours to see.")
    thing = Thing("file", id, holder=file.owner_id)
    if file.space_id is not None:
        _, space = await standing(tx, principal, file.space_id)
        thing = replace(space, kind="file", id=id)
    access.authorize(principal, "read_file", thing)
    return file, thing


# ── reactions ───────────────────────────────────────────────────────────────────────────────────────────


async def react(tx: Transaction, message: Message, member_id: str, emoji: str, *, run_id: str | None = None) -> None:
    """The caller has checked membership. The same reaction twice is one."""
    await in_turn(tx, message.id)
    if await rows.is_deleted(tx, message.id):
        raise Conflict("The message was deleted.")
    if await rows.insert_reaction(tx, message.id, member_id, emoji):
        _tell_reaction(tx, ReactionAdded, message, member_id, emoji, run_id)


async def unreact(tx: Transaction, message: Message, member_id: str, emoji: str) -> None:
    await in_turn(tx, message.id)
    if not await rows.delete_reaction(tx, message.id, member_id, emoji):
        raise NotFound(f"You have not reacted with {emoji} to this message.")
    _tell_reaction(tx, ReactionRemoved, message, member_id, emoji, None)


async def take_reaction(tx: Transaction, message_id: str, member_id: str, emoji: str) -> None:
    """Whoever it was: for erasures. The caller has the message's turn."""
    message = await rows.select_message(tx, message_id)
    if message is not None and await rows.delete_reaction(tx, message_id, member_id, emoji):
        _tell_reaction(tx, ReactionRemoved, message, member_id, emoji, None)


def _tell_reaction(
    tx: Transaction, kind: type[ReactionEvent], message: Message, member_id: str, emoji: str, run_id: str | None
) -> None:
    reaction = MemberReaction(message_id=message.id, member_id=member_id, emoji=emoji)
    record(tx, kind(space_id=message.space_id, run_id=run_id, reaction=reaction))
    outbox.queue_change(
        tx, "reaction", space_id=message.space_id, message_id=message.id, member_id=member_id, emoji=emoji
    )


# ── pins ────────────────────────────────────────────────────────────────────────────────────────────────

MOST_PINS = 100


async def pin(tx: Transaction, principal: Principal, message_id: str) -> PinnedMessage:
    """Pinning the same message again changes nothing."""
    message = await get_message(tx, principal, message_id)
    room = await room_for(tx, principal, "pin_message", message.space_id)
    await in_turn(tx, room.id, message.id)
    if await rows.is_deleted(tx, message.id):
        raise Conflict("The message was deleted.")
    there = await rows.select_pin(tx, message)
    if there is not None:
        return there
    if await rows.count_pins(tx, room.id) >= MOST_PINS:
        raise Conflict(f"A space has at most {MOST_PINS} pins. Take one away first.")
    await rows.insert_pin(tx, message, principal.id)
    _tell_pin(tx, MessagePinned, message, principal)
    pinned = await rows.select_pin(tx, message)
    assert pinned is not None
    return pinned


async def unpin(tx: Transaction, principal: Principal, message_id: str) -> None:
    message = await get_message(tx, principal, message_id)
    room = await room_for(tx, principal, "pin_message", message.space_id)
    await in_turn(tx, room.id, message.id)
    if not await rows.delete_pin(tx, message.id):
        raise NotFound("This message is not pinned.")
    _tell_pin(tx, MessageUnpinned, message, principal)


def _tell_pin(tx: Transaction, kind: type[PinEvent], message: Message, by: Principal) -> None:
    record(tx, kind(space_id=message.space_id, pin=PinnedBy(message_id=message.id, member_id=by.id)))


async def pins(tx: Transaction, principal: Principal, space_id: str) -> list[PinnedMessage]:
    room = await readable_room(tx, principal, space_id)
    return await rows.select_pins(tx, room.id, MOST_PINS)
