"""SQL for spaces, members, messages and reactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    Select,
    TextClause,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.sql import ColumnElement

from bullpen.files import rows as file_rows
from bullpen.inbox.types import Recipient
from bullpen.outbox import rows as outbox
from bullpen.spaces import rules
from bullpen.spaces.types import Audience, Numbered, Room
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.statements import contains, insert_or_ignore
from bullpen.storage.tables import agents, members, messages, people, reactions, runs, spaces, threads, webhooks
from bullpen.wire import Member, Message, Reaction, Space, Wake
from bullpen.wire.nouns import File

# ── spaces ──────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_SPACE = Statement(insert(spaces))
_UPDATE_SPACE = Statement(
    update(spaces)
    .where(spaces.c.id == bindparam("id_"))
    .values(
        name=bindparam("name"),
        private=bindparam("private"),
        wake_people=bindparam("wake_people"),
        wake_agents=bindparam("wake_agents"),
        trigger=bindparam("trigger"),
        options=bindparam("options"),
    )
)
_ROOM = (
    spaces.c.id,
    spaces.c.kind,
    spaces.c.name,
    spaces.c.private,
    spaces.c.main,
    spaces.c.wake_people,
    spaces.c.wake_agents,
    spaces.c.trigger,
    spaces.c.last_seq,
)
_SELECT_ROOM = Statement(select(*_ROOM).where(spaces.c.id == bindparam("id")))
# Does any webhook listen? Asked along with what every message asks anyway, so that nobody pays for there being none.
_ANYBODY_LISTENS = exists(select(webhooks.c.id).where(webhooks.c.enabled == literal_column("1")))
# And is the space a chat elsewhere?
_CHAT = outbox.bridged_chat(bindparam("id_", type_=spaces.c.id.type))
_BUMP = Statement(
    update(spaces)
    .where(spaces.c.id == bindparam("id_"))
    .values(last_seq=spaces.c.last_seq + 1)
    .returning(spaces.c.last_seq, _ANYBODY_LISTENS, _CHAT)
)
# The same for an agent's words, which are paid for: `agents_free_at` is when the space's agents will have paid for all
# they said, and it may lie a window ahead, but not further: then the clock was put back, and they owe nothing. One
# statement, so no crash and no other process comes between.
_NOW, _PRICE = bindparam("now", type_=BigInteger), bindparam("price", type_=BigInteger)
_OWED = spaces.c.agents_free_at.between(_NOW, _NOW + rules.AGENT_WINDOW_MS)
_FREE_AT = case((_OWED, spaces.c.agents_free_at), else_=_NOW) + _PRICE
_BUMP_PAID = Statement(
    update(spaces)
    .where(spaces.c.id == bindparam("id_"), _FREE_AT <= _NOW + rules.AGENT_WINDOW_MS)
    .values(last_seq=spaces.c.last_seq + 1, agents_free_at=_FREE_AT)
    .returning(spaces.c.last_seq, _ANYBODY_LISTENS, _CHAT)
)
_SELECT_FREE_AT = Statement(select(spaces.c.agents_free_at).where(spaces.c.id == bindparam("id")))

_mine = members.alias("mine")


def _people_in(space_id: ColumnElement[str]) -> Any:
    return (
        select(func.count())
        .select_from(members)
        .where(members.c.space_id == space_id, members.c.kind == "person")
        .scalar_subquery()
    )


_FULL = (*_ROOM, spaces.c.options, spaces.c.created_at, _mine.c.read_seq)
_WITH_MINE = spaces.outerjoin(
    _mine, and_(_mine.c.space_id == spaces.c.id, _mine.c.member_id == bindparam("principal_id"))
)
_SELECT_SPACE = Statement(select(*_FULL).select_from(_WITH_MINE).where(spaces.c.id == bindparam("id")))
_SELECT_GROUPS = Statement(select(spaces.c.id).where(spaces.c.kind == "group"))
_SELECT_GROUP_OPTIONS = Statement(
    select(*_ROOM, spaces.c.options).where(spaces.c.kind == "group").order_by(spaces.c.created_at.desc(), spaces.c.id)
)
_SELECT_HOME = Statement(select(*_ROOM, spaces.c.options).where(spaces.c.id == bindparam("id")))
_SELECT_OPTIONS = Statement(select(spaces.c.options).where(spaces.c.id == bindparam("id")))
# Who may read and who may see: the same conditions as access/rules.py, where they are explained.
_READABLE = or_(
    _mine.c.member_id.is_not(None),
    and_(
        bindparam("is_owner", type_=BigInteger) == 1,
        or_(_people_in(spaces.c.id) == 0, and_(spaces.c.private == 0, spaces.c.kind != "dm")),
    ),
)
_VISIBLE = or_(
    _READABLE, and_(bindparam("is_person", type_=BigInteger) == 1, spaces.c.private == 0, spaces.c.kind != "dm")
)
_SELECT_SPACES = Statement(
    select(*_FULL)
    .select_from(_WITH_MINE)
    .where(
        _VISIBLE,
        spaces.c.created_at < bindparam("before"),
        or_(bindparam("kind") == "", spaces.c.kind == bindparam("kind")),
    )
    .order_by(spaces.c.created_at.desc())
    .limit(bindparam("limit"))
)
_SELECT_READABLE_ALL = Statement(select(spaces.c.id).select_from(_WITH_MINE).where(_READABLE))
_SELECT_READABLE = Statement(select(spaces.c.id).select_from(_WITH_MINE).where(any_of(spaces.c.id, "ids"), _READABLE))
_SELECT_STANDING = Statement(
    select(*_ROOM, _mine.c.member_id, _people_in(spaces.c.id))
    .select_from(_WITH_MINE)
    .where(spaces.c.id == bindparam("id"))
)
_SELECT_MADE_BY = Statement(
    select(spaces.c.id).where(spaces.c.created_by == bindparam("created_by"), spaces.c.kind != "dm")
)
# Nobody's own messages are unread: posting reads up to one's own. So what is unread is every number since then, but for
# those that do not count, and these have an index of their own (as have those that may mention somebody).
_MINE = and_(members.c.member_id == bindparam("member_id"), any_of(members.c.space_id, "ids"))
_SINCE_READ = and_(messages.c.space_id == members.c.space_id, messages.c.seq > members.c.read_seq)
_COUNTS = messages.c.type != "system", messages.c.deleted_at.is_(None)
_MAY_MENTION = text("(instr(messages.text, '@') > 0 OR messages.reply_to IS NOT NULL)")
_MAY_MENTION_ON_POSTGRES = text("(strpos(messages.text, '@') > 0 OR messages.reply_to IS NOT NULL)")
_SELECT_UNCOUNTED = Statement(
    select(members.c.space_id, func.count())
    .select_from(members.join(messages, _SINCE_READ))
    .where(_MINE, text("(messages.type = 'system' OR messages.deleted_at IS NOT NULL)"))
    .group_by(members.c.space_id)
)
# How many of the newest messages that may mention somebody are read, to count those that do.
MENTIONS = 100


def _may_mention(condition: TextClause) -> Select[Any]:
    return select(members.c.space_id).where(_MINE, exists().where(_SINCE_READ, condition, *_COUNTS))


def _addressing(condition: TextClause) -> Select[Any]:
    """Of the newest that may mention somebody, those that hold their name or id, or answer them."""
    unread = messages.c.space_id == bindparam("space_id"), messages.c.seq > bindparam("read_seq")
    newest = select(messages.c.text, messages.c.reply_to).where(*unread, condition, *_COUNTS)
    found = newest.order_by(messages.c.seq.desc()).limit(bindparam("limit")).subquery()
    replied = messages.alias("replied")
    to_me = exists().where(replied.c.id == found.c.reply_to, replied.c.author_id == bindparam("member_id"))
    said = func.lower(found.c.text)
    return select(found.c.text, to_me).where(or_(contains(said, "at_id"), contains(said, "at_name"), to_me))


_SELECT_MAY_MENTION = Statement(_may_mention(_MAY_MENTION), postgresql=_may_mention(_MAY_MENTION_ON_POSTGRES))
_SELECT_ADDRESSING = Statement(_addressing(_MAY_MENTION), postgresql=_addressing(_MAY_MENTION_ON_POSTGRES))
_SELECT_NAME = Statement(
    select(people.c.name)
    .where(people.c.id == bindparam("id"))
    .union_all(select(agents.c.name).where(agents.c.id == bindparam("id")))
)


def _room(row: Row) -> Room:
    return Room(row[0], row[1], row[2], bool(row[3]), bool(row[4]), row[5], row[6], row[7], row[8])


def _options(space: Space) -> str:
    kept = {"folder", "provider", "model", "timezone", "bridge"}
    return orjson.dumps(space.model_dump(mode="json", include=kept, exclude_none=True)).decode()


async def insert_space(tx: Transaction, space: Space, *, created_by: str) -> None:
    await tx.run(
        _INSERT_SPACE,
        id=space.id,
        kind=space.kind,
        name=space.name,
        private=int(space.private),
        main=int(space.main),
        wake_people=space.wake.people,
        wake_agents=space.wake.agents,
        trigger=space.trigger,
        options=_options(space),
        last_seq=0,
        created_by=created_by,
        created_at=space.created_at,
        agents_free_at=0,
    )


async def update_space(tx: Transaction, space: Space) -> None:
    await tx.run(
        _UPDATE_SPACE,
        id_=space.id,
        name=space.name,
        private=int(space.private),
        wake_people=space.wake.people,
        wake_agents=space.wake.agents,
        trigger=space.trigger,
        options=_options(space),
    )


async def select_room(tx: Transaction, id: str) -> Room | None:
    row = await tx.one(_SELECT_ROOM, id=id)
    return None if row is None else _room(row)


async def select_standing(tx: Transaction, id: str, principal_id: str) -> tuple[Room, bool, int] | None:
    """The room, whether the principal is a member of it, and how many people are in it."""
    row = await tx.one(_SELECT_STANDING, id=id, principal_id=principal_id)
    return None if row is None else (_room(row), row[9] is not None, row[10])


async def select_readable(
    tx: Transaction, principal_id: str, *, is_owner: bool, among: Sequence[str] | None
) -> set[str]:
    if among is None:
        found = await tx.all(_SELECT_READABLE_ALL, principal_id=principal_id, is_owner=int(is_owner))
    else:
        found = await tx.all(_SELECT_READABLE, principal_id=principal_id, is_owner=int(is_owner), ids=list(among))
    return {row[0] for row in found}


async def select_space(tx: Transaction, id: str, principal_id: str) -> Space | None:
    row = await tx.one(_SELECT_SPACE, id=id, principal_id=principal_id)
    return None if row is None else (await _spaces(tx, [row], principal_id))[0]


async def select_timezone(tx: Transaction, id: str) -> str | None:
    row = await tx.one(_SELECT_OPTIONS, id=id)
    return None if row is None else orjson.loads(row[0]).get("timezone")


async def select_groups(tx: Transaction) -> list[str]:
    """All groups there are."""
    return [str(row[0]) for row in await tx.all(_SELECT_GROUPS)]


async def select_group_options(tx: Transaction) -> list[tuple[Room, dict[str, Any]]]:
    """All groups there are, newest first, with what else is kept about each."""
    return [(_room(row), orjson.loads(row[9])) for row in await tx.all(_SELECT_GROUP_OPTIONS)]


async def select_with_folder(tx: Transaction, folder: str) -> Room | None:
    """The group that has this folder."""
    found = (room for room, options in await select_group_options(tx) if options.get("folder") == folder)
    return next(found, None)


async def select_home(tx: Transaction, id: str) -> tuple[Room, str | None, Any] | None:
    """A space, and the provider and the model that it asks for, if it does."""
    row = await tx.one(_SELECT_HOME, id=id)
    if row is None:
        return None
    options = orjson.loads(row[9])
    return _room(row), options.get("provider"), options.get("model")


async def select_spaces(
    tx: Transaction, principal_id: str, *, is_owner: bool, is_person: bool, kind: str, before: str, limit: int
) -> list[Space]:
    """`kind` '' is any."""
    found = await tx.all(
        _SELECT_SPACES,
        principal_id=principal_id,
        is_owner=int(is_owner),
        is_person=int(is_person),
        kind=kind,
        before=before,
        limit=limit,
    )
    return await _spaces(tx, found, principal_id)


async def _spaces(tx: Transaction, found: Sequence[Row], principal_id: str) -> list[Space]:
    inside = await select_members(tx, [row[0] for row in found])
    unread, mentions = await _count_unread(tx, found, principal_id)
    result = []
    for row in found:
        room, options, created_at, read_seq = _room(row), row[9], row[10], row[11]
        result.append(
            Space(
                id=room.id,
                kind=room.kind,  # type: ignore[arg-type]
                name=room.name,
                private=room.private,
                members=[member.id for member in inside[room.id]],
                member_details=inside[room.id],
                wake=Wake(people=room.wake_people, agents=room.wake_agents),
                trigger=room.trigger,
                main=room.main,
                last_seq=room.last_seq,
                read_seq=read_seq or 0,
                unread=unread.get(room.id, 0),
                mentions=mentions.get(room.id, 0),
                created_at=created_at,
                **orjson.loads(options),
            )
        )
    return result


async def _count_unread(tx: Transaction, found: Sequence[Row], member_id: str) -> tuple[dict[str, int], dict[str, int]]:
    """By space: how many messages somebody has not read, and how many of those mention them or answer them."""
    behind = {row[0]: row[8] - row[11] for row in found if row[11] is not None and row[11] < row[8]}
    if not behind:
        return {}, {}
    since: dict[str, Any] = {"ids": list(behind), "member_id": member_id}
    for space_id, uncounted in await tx.all(_SELECT_UNCOUNTED, **since):
        behind[space_id] -= uncounted
    return behind, await _count_mentions(tx, {row[0]: row[11] for row in found}, since)


async def _count_mentions(tx: Transaction, read: dict[str, int], since: dict[str, Any]) -> dict[str, int]:
    mentions: dict[str, int] = {}
    id, name = since["member_id"], None
    for (space_id,) in await tx.all(_SELECT_MAY_MENTION, **since):
        name = name or await _name_of(tx, id)
        found = await tx.all(
            _SELECT_ADDRESSING,
            space_id=space_id,
            read_seq=read[space_id],
            member_id=id,
            at_id=f"@{id.lower()}",
            at_name=f"@{name.lower()}" if name.isascii() else "@",  # lower() of the databases knows only ASCII
            limit=MENTIONS,
        )
        mentions[space_id] = sum(bool(to_me) or rules.mentions(said, id=id, name=name) for said, to_me in found)
    return mentions


async def _name_of(tx: Transaction, member_id: str) -> str:
    row = await tx.one(_SELECT_NAME, id=member_id)
    return member_id if row is None else str(row[0])


async def select_made_by(tx: Transaction, created_by: str) -> list[str]:
    return [row[0] for row in await tx.all(_SELECT_MADE_BY, created_by=created_by)]


async def update_last_seq(tx: Transaction, space_id: str) -> Numbered:
    row = await tx.one(_BUMP, id_=space_id)
    assert row is not None
    return Numbered(*row)


async def update_last_seq_paid(tx: Transaction, space_id: str, price: int) -> Numbered | None:
    """The same, if the space's agents can afford one more message. None: not yet."""
    row = await tx.one(_BUMP_PAID, id_=space_id, now=tx.clock.millis(), price=price)
    return None if row is None else Numbered(*row)


async def select_agents_wait(tx: Transaction, space_id: str, price: int) -> int:
    """In how many milliseconds they can afford it."""
    row = await tx.one(_SELECT_FREE_AT, id=space_id)
    assert row is not None
    return max(1, int(row[0]) + price - rules.AGENT_WINDOW_MS - tx.clock.millis())


# ── members ─────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_OPEN_TO = Statement(
    select(spaces.c.id, spaces.c.kind, spaces.c.private, spaces.c.options).where(any_of(spaces.c.id, "ids"))
)
_INSERT_MEMBER = insert_or_ignore(members)
_NEXT_POSITION = Statement(
    select(func.coalesce(func.max(members.c.position), 0) + 1).where(members.c.space_id == bindparam("space_id"))
)
# Whoever comes back has read what they said themselves. Looked for where it probably is, not through a whole history.
_recent = (
    select(messages.c.seq, messages.c.author_id)
    .where(messages.c.space_id == bindparam("space_id"))
    .order_by(messages.c.seq.desc())
    .limit(1000)
    .subquery()
)
_SELECT_LAST_OWN = Statement(
    select(func.coalesce(func.max(_recent.c.seq), 0)).where(_recent.c.author_id == bindparam("member_id"))
)
_DELETE_MEMBER = Statement(
    delete(members).where(members.c.space_id == bindparam("space_id"), members.c.member_id == bindparam("member_id"))
)
_IS_MEMBER = Statement(
    select(members.c.kind).where(
        members.c.space_id == bindparam("space_id"), members.c.member_id == bindparam("member_id")
    )
)
_SELECT_MEMBERS = Statement(
    select(
        members.c.space_id,
        members.c.member_id,
        members.c.kind,
        func.coalesce(people.c.name, agents.c.name),
        members.c.joined_at,
    )
    .select_from(
        members.outerjoin(people, people.c.id == members.c.member_id).outerjoin(
            agents, agents.c.id == members.c.member_id
        )
    )
    .where(any_of(members.c.space_id, "ids"))
    .order_by(members.c.space_id, members.c.position)
)


def _recipients(scope: ColumnElement[str]) -> Statement:
    own = and_(
        threads.c.agent_id == agents.c.id,
        threads.c.scope == scope,
        threads.c.anchor == case((scope == "agent", ""), else_=members.c.space_id),
    )
    return Statement(
        select(
            agents.c.id,
            agents.c.name,
            scope,
            agents.c.max_chain_depth,
            threads.c.id,
            agents.c.paused_at.is_not(None),
            agents.c.interrupts,
        )
        .select_from(members.join(agents, agents.c.id == members.c.member_id).outerjoin(threads, own))
        .where(members.c.space_id == bindparam("space_id"), members.c.kind == "agent")
        .order_by(members.c.position)
    )


# Where what is said stays, nobody has a mind that spans other spaces too.
_SELECT_RECIPIENTS = {False: _recipients(agents.c.scope), True: _recipients(literal_column("'space'"))}
_SELECT_SPACES_OF = Statement(
    select(spaces.c.id, spaces.c.kind, spaces.c.name)
    .select_from(members.join(spaces, spaces.c.id == members.c.space_id))
    .where(members.c.member_id == bindparam("member_id"))
    .order_by(members.c.joined_at)
    .limit(bindparam("limit"))
)
_MARK_READ = Statement(
    update(members)
    .where(
        members.c.space_id == bindparam("space"),
        members.c.member_id == bindparam("member"),
        members.c.read_seq < bindparam("seq"),
    )
    .values(read_seq=bindparam("seq"))
)


async def insert_member(tx: Transaction, space_id: str, member_id: str, kind: str) -> bool:
    position = await tx.one(_NEXT_POSITION, space_id=space_id)
    own = await tx.one(_SELECT_LAST_OWN, space_id=space_id, member_id=member_id)
    assert position is not None
    assert own is not None
    touched = await tx.run(
        _INSERT_MEMBER,
        space_id=space_id,
        member_id=member_id,
        kind=kind,
        position=position[0],
        read_seq=own[0],
        joined_at=tx.clock.now(),
    )
    return touched > 0


async def delete_member(tx: Transaction, space_id: str, member_id: str) -> bool:
    return await tx.run(_DELETE_MEMBER, space_id=space_id, member_id=member_id) > 0


async def is_member(tx: Transaction, space_id: str, member_id: str) -> bool:
    return await tx.one(_IS_MEMBER, space_id=space_id, member_id=member_id) is not None


async def select_members(tx: Transaction, space_ids: list[str]) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for space_id, id_, kind, name, joined_at in await tx.all(_SELECT_MEMBERS, ids=space_ids):
        found[space_id].append(Member(id=id_, kind=kind, name=name or id_, joined_at=joined_at))
    return found


async def select_audiences(tx: Transaction, space_ids: list[str]) -> dict[str, Audience]:
    """Who reads in these spaces, as far as they exist."""
    inside = await select_members(tx, space_ids)
    return {
        id: Audience(
            members=frozenset(member.id for member in inside.get(id, [])),
            public=not private and kind != "dm",
            bridged=orjson.loads(options).get("bridge") is not None,
        )
        for id, kind, private, options in await tx.all(_SELECT_OPEN_TO, ids=space_ids)
    }


async def select_recipients(tx: Transaction, room: Room) -> list[Recipient]:
    return [Recipient(*row) for row in await tx.all(_SELECT_RECIPIENTS[room.stays], space_id=room.id)]


async def select_spaces_of(tx: Transaction, member_id: str, limit: int = 50) -> list[tuple[str, str, str]]:
    """id, kind, name of the spaces somebody is a member of, in the order they joined."""
    return [(row[0], row[1], row[2]) for row in await tx.all(_SELECT_SPACES_OF, member_id=member_id, limit=limit)]


async def update_read_seq(tx: Transaction, space_id: str, member_id: str, seq: int) -> bool:
    """True if it was less before: it never goes back."""
    return await tx.run(_MARK_READ, space=space_id, member=member_id, seq=seq) > 0


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_MESSAGE = Statement(insert(messages))
_MESSAGE = (
    messages.c.id,
    messages.c.space_id,
    messages.c.seq,
    messages.c.author_id,
    messages.c.author_kind,
    messages.c.type,
    messages.c.text,
    messages.c.status,
    messages.c.reply_to,
    messages.c.metadata,
    messages.c.client_message_id,
    messages.c.run_id,
    messages.c.depth,
    messages.c.created_at,
    messages.c.edited_at,
    messages.c.deleted_at,
    messages.c.files,
)
_SELECT_MESSAGE = Statement(select(*_MESSAGE).where(messages.c.id == bindparam("id")))
_SELECT_BY_CLIENT_ID = Statement(
    select(*_MESSAGE).where(
        messages.c.author_id == bindparam("author_id"), messages.c.client_message_id == bindparam("client_message_id")
    )
)
_IN_SPACE = messages.c.space_id == bindparam("space_id")
_SELECT_BEFORE = Statement(
    select(*_MESSAGE)
    .where(_IN_SPACE, messages.c.seq < bindparam("before"), messages.c.seq > bindparam("after"))
    .order_by(messages.c.seq.desc())
    .limit(bindparam("limit"))
)
_SELECT_AFTER = Statement(
    select(*_MESSAGE)
    .where(_IN_SPACE, messages.c.seq > bindparam("after"), messages.c.seq < bindparam("before"))
    .order_by(messages.c.seq)
    .limit(bindparam("limit"))
)
_SEARCH = Statement(
    select(*_MESSAGE)
    .where(
        _IN_SPACE,
        contains(func.coalesce(messages.c.folded, func.lower(messages.c.text)), "query"),
        messages.c.deleted_at.is_(None),
    )
    .order_by(messages.c.seq.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
_UPDATE_TEXT = Statement(
    update(messages)
    .where(messages.c.id == bindparam("id_"))
    .values(text=bindparam("text_"), folded=bindparam("folded_"), edited_at=bindparam("now"))
)
_UPDATE_CALL = Statement(
    update(messages)
    .where(messages.c.id == bindparam("id_"), messages.c.deleted_at.is_(None))
    .values(metadata=bindparam("metadata_"), status=bindparam("status_"))
)
_DELETE_MESSAGE = Statement(
    update(messages)
    .where(messages.c.id == bindparam("id_"))
    .values(text="", folded=None, metadata="{}", deleted_at=bindparam("now"))
    .returning(messages.c.files)
)
_SELECT_MESSAGES = Statement(select(*_MESSAGE).where(any_of(messages.c.id, "ids")))
_SELECT_LAST_SAID = Statement(
    select(messages.c.id)
    .where(messages.c.space_id == bindparam("space_id"), messages.c.author_kind != "system")
    .order_by(messages.c.seq.desc())
    .limit(1)
)
_SELECT_WAKE = Statement(select(messages.c.wake).where(messages.c.id == bindparam("id")))
_SELECT_DELETED = Statement(select(messages.c.deleted_at).where(messages.c.id == bindparam("id")))
# The newest possible number, for "no bound above".
NEWEST = 2**62


def _message(row: Row, found: dict[str, list[Reaction]], shown: dict[str, list[File]]) -> Message:
    return Message(
        id=row[0],
        space_id=row[1],
        seq=row[2],
        author_id=row[3],
        author_kind=row[4],
        type=row[5],
        text=row[6],
        status=row[7],
        reply_to=row[8],
        metadata=orjson.loads(row[9]),
        client_message_id=row[10],
        run_id=row[11],
        depth=row[12],
        created_at=row[13],
        edited_at=row[14],
        deleted_at=row[15],
        reactions=found.get(row[0], []),
        attachments=shown.get(row[0], []),
    )


def _folded(text: str) -> str | None:
    """What a search looks in where the text will not do: lower() of either database is sure to know only ASCII."""
    return None if text.isascii() else text.casefold()


async def insert_message(tx: Transaction, message: Message, *, chain_id: str, wake: str | None) -> None:
    await tx.run(
        _INSERT_MESSAGE,
        id=message.id,
        space_id=message.space_id,
        seq=message.seq,
        author_id=message.author_id,
        author_kind=message.author_kind,
        type=message.type,
        text=message.text,
        folded=_folded(message.text),
        status=message.status,
        reply_to=message.reply_to,
        metadata=orjson.dumps(message.metadata).decode(),
        client_message_id=message.client_message_id,
        run_id=message.run_id,
        chain_id=chain_id,
        depth=message.depth,
        created_at=message.created_at,
        edited_at=None,
        deleted_at=None,
        wake=wake,
        files=len(message.attachments),
    )


async def _messages(tx: Transaction, found: Sequence[Row]) -> list[Message]:
    if not found:
        return []
    by_message = await select_reactions(tx, [row[0] for row in found])
    with_files = [row[0] for row in found if row[16]]
    shown = await file_rows.select_shown(tx, with_files) if with_files else {}
    return [_message(row, by_message, shown) for row in found]


async def select_message(tx: Transaction, id: str) -> Message | None:
    row = await tx.one(_SELECT_MESSAGE, id=id)
    return None if row is None else (await _messages(tx, [row]))[0]


async def select_by_client_id(tx: Transaction, author_id: str, client_message_id: str) -> Message | None:
    row = await tx.one(_SELECT_BY_CLIENT_ID, author_id=author_id, client_message_id=client_message_id)
    return None if row is None else (await _messages(tx, [row]))[0]


async def select_these(tx: Transaction, ids: list[str]) -> list[Message]:
    """In the order of the ids; what is not there is left out."""
    found = {message.id: message for message in await _messages(tx, await tx.all(_SELECT_MESSAGES, ids=ids))}
    return [found[id] for id in ids if id in found]


async def select_wake(tx: Transaction, id: str) -> str | None:
    """The policy that the message met when it was posted. None: nobody could be woken, or nobody kept it yet."""
    row = await tx.one(_SELECT_WAKE, id=id)
    return None if row is None else row[0]


async def select_last_said(tx: Transaction, space_id: str) -> str | None:
    """The id of the last message of a person or an agent."""
    row = await tx.one(_SELECT_LAST_SAID, space_id=space_id)
    return None if row is None else str(row[0])


async def select_messages(
    tx: Transaction, space_id: str, *, before: int | None = None, after: int | None = None, limit: int = 50
) -> list[Message]:
    """Rising. With `after` the oldest that follow it, else the newest."""
    from_start = after is not None
    found = await tx.all(
        _SELECT_AFTER if from_start else _SELECT_BEFORE,
        space_id=space_id,
        before=NEWEST if before is None else before,
        after=0 if after is None else after,
        limit=limit,
    )
    return await _messages(tx, found if from_start else found[::-1])


_SELECT_PEOPLE_SPOKEN_FOR = Statement(
    select(runs.c.cause_id).distinct().where(any_of(runs.c.id, "ids"), runs.c.cause_kind == "person")
)


async def select_people_spoken_for(tx: Transaction, run_ids: list[str]) -> list[str]:
    """The people on whose behalf these runs spoke."""
    return [str(row[0]) for row in await tx.all(_SELECT_PEOPLE_SPOKEN_FOR, ids=run_ids)]


async def search_messages(tx: Transaction, space_id: str, query: str, *, offset: int, limit: int) -> list[Message]:
    """Rising; of those that contain the text in any case, the newest after passing over `offset`."""
    found = await tx.all(_SEARCH, space_id=space_id, query=query.casefold(), offset=offset, limit=limit)
    return await _messages(tx, found[::-1])


async def update_text(tx: Transaction, id: str, text: str) -> None:
    await tx.run(_UPDATE_TEXT, id_=id, text_=text, folded_=_folded(text), now=tx.clock.now())


async def update_call(tx: Transaction, id: str, metadata: dict[str, Any], status: str) -> bool:
    return await tx.run(_UPDATE_CALL, id_=id, metadata_=orjson.dumps(metadata).decode(), status_=status) > 0


async def is_deleted(tx: Transaction, id: str) -> bool:
    row = await tx.one(_SELECT_DELETED, id=id)
    return row is None or row[0] is not None


async def delete_message(tx: Transaction, id: str) -> int:
    """Empty its place; how many files it showed, which is for the caller to see to."""
    row = await tx.one(_DELETE_MESSAGE, id_=id, now=tx.clock.now())
    await tx.run(_DELETE_REACTIONS, message_id=id)
    return 0 if row is None else int(row[0])


# ── reactions ───────────────────────────────────────────────────────────────────────────────────────────

_INSERT_REACTION = insert_or_ignore(reactions)
_DELETE_REACTION = Statement(
    delete(reactions).where(
        reactions.c.message_id == bindparam("message_id"),
        reactions.c.member_id == bindparam("member_id"),
        reactions.c.emoji == bindparam("emoji"),
    )
)
_DELETE_REACTIONS = Statement(delete(reactions).where(reactions.c.message_id == bindparam("message_id")))
_SELECT_REACTIONS = Statement(
    select(reactions.c.message_id, reactions.c.emoji, reactions.c.member_id)
    .where(any_of(reactions.c.message_id, "ids"))
    .order_by(reactions.c.created_at)
)


async def insert_reaction(tx: Transaction, message_id: str, member_id: str, emoji: str) -> bool:
    touched = await tx.run(
        _INSERT_REACTION, message_id=message_id, member_id=member_id, emoji=emoji, created_at=tx.clock.now()
    )
    return touched > 0


async def delete_reaction(tx: Transaction, message_id: str, member_id: str, emoji: str) -> bool:
    return await tx.run(_DELETE_REACTION, message_id=message_id, member_id=member_id, emoji=emoji) > 0


async def select_reactions(tx: Transaction, message_ids: list[str]) -> dict[str, list[Reaction]]:
    by_message: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for message_id, emoji, member_id in await tx.all(_SELECT_REACTIONS, ids=message_ids):
        by_message[message_id].setdefault(emoji, []).append(member_id)
    return {
        message_id: [Reaction(emoji=emoji, member_ids=found) for emoji, found in by_emoji.items()]
        for message_id, by_emoji in by_message.items()
    }
