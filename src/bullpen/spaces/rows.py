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
from bullpen.spaces.types import Audience, Home, Numbered, Room, SpaceRow
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, JSON, Mapped
from bullpen.storage.statements import contains, insert_or_ignore, inside
from bullpen.storage.tables import (
    agents,
    chain_stops,
    members,
    messages,
    people,
    pins,
    portraits,
    reactions,
    runs,
    spaces,
    threads,
    webhooks,
)
from bullpen.threads.rows import anchor_in
from bullpen.wire import Member, Message, Reaction, Space, Wake, cards
from bullpen.wire.nouns import File, PinnedMessage

# ── spaces ──────────────────────────────────────────────────────────────────────────────────────────────

_ROOMS = Mapped(Room, spaces, private=FLAG, main=FLAG)
_CHANGING = ("name", "private", "wake_people", "wake_agents", "trigger", "archived_at")
_write_changes = _ROOMS.writer(_CHANGING)
_INSERT_SPACE = Statement(insert(spaces))
_UPDATE_SPACE = Statement(
    update(spaces)
    .where(spaces.c.id == bindparam("id_"))
    .values(**{name: bindparam(name) for name in (*_CHANGING, "options")})
)
_SELECT_ROOM = Statement(select(*_ROOMS.columns).where(spaces.c.id == bindparam("id")))
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


_SPACES = Mapped(SpaceRow, spaces, others={"read_seq": _mine.c.read_seq}, room=_ROOMS, options=JSON)
_WITH_MINE = spaces.outerjoin(
    _mine, and_(_mine.c.space_id == spaces.c.id, _mine.c.member_id == bindparam("principal_id"))
)
_SELECT_SPACE = Statement(select(*_SPACES.columns).select_from(_WITH_MINE).where(spaces.c.id == bindparam("id")))
_SELECT_GROUPS = Statement(select(spaces.c.id).where(spaces.c.kind == "group"))
_SELECT_GROUP_OPTIONS = Statement(
    select(*_ROOMS.columns, spaces.c.options)
    .where(spaces.c.kind == "group")
    .order_by(spaces.c.created_at.desc(), spaces.c.id)
)
_SELECT_HOME = Statement(select(*_ROOMS.columns, spaces.c.options).where(spaces.c.id == bindparam("id")))
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
    select(*_SPACES.columns)
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
_SELECT_NAMES = Statement(select(spaces.c.id, spaces.c.name).where(any_of(spaces.c.id, "ids")))
_SELECT_READABLE = Statement(select(spaces.c.id).select_from(_WITH_MINE).where(any_of(spaces.c.id, "ids"), _READABLE))
_SELECT_STANDING = Statement(
    select(*_ROOMS.columns, _mine.c.member_id, _people_in(spaces.c.id))
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


def _room(space: Space) -> Room:
    return Room(
        id=space.id,
        kind=space.kind,
        name=space.name,
        private=space.private,
        main=space.main,
        wake_people=space.wake.people,
        wake_agents=space.wake.agents,
        trigger=space.trigger,
        last_seq=space.last_seq,
        archived_at=space.archived_at,
    )


def _options(space: Space) -> str:
    kept = {"topic", "folder", "provider", "model", "timezone", "bridge"}
    return orjson.dumps(space.model_dump(mode="json", include=kept, exclude_none=True)).decode()


async def insert_space(tx: Transaction, space: Space, *, created_by: str) -> None:
    await tx.run(
        _INSERT_SPACE,
        **_ROOMS.write(_room(space)),
        options=_options(space),
        created_by=created_by,
        created_at=space.created_at,
        agents_free_at=0,
    )


async def update_space(tx: Transaction, space: Space) -> None:
    await tx.run(_UPDATE_SPACE, id_=space.id, **_write_changes(_room(space)), options=_options(space))


async def select_room(tx: Transaction, id: str) -> Room | None:
    return _ROOMS.read_one(await tx.one(_SELECT_ROOM, id=id))


async def select_standing(tx: Transaction, id: str, principal_id: str) -> tuple[Room, bool, int] | None:
    """The room, whether the principal is a member of it, and how many people are in it."""
    found = await tx.one(_SELECT_STANDING, id=id, principal_id=principal_id)
    if found is None:
        return None
    *room, member_id, people_there = found
    return _ROOMS.read(room), member_id is not None, people_there


async def select_readable(
    tx: Transaction, principal_id: str, *, is_owner: bool, among: Sequence[str] | None
) -> set[str]:
    if among is None:
        found = await tx.values(_SELECT_READABLE_ALL, principal_id=principal_id, is_owner=int(is_owner))
    else:
        found = await tx.values(_SELECT_READABLE, principal_id=principal_id, is_owner=int(is_owner), ids=list(among))
    return set(found)


async def select_space(tx: Transaction, id: str, principal_id: str) -> Space | None:
    row = await tx.one(_SELECT_SPACE, id=id, principal_id=principal_id)
    return None if row is None else (await _spaces(tx, [row], principal_id))[0]


async def select_timezone(tx: Transaction, id: str) -> str | None:
    options = await tx.value(_SELECT_OPTIONS, id=id)
    return None if options is None else orjson.loads(options).get("timezone")


async def select_groups(tx: Transaction) -> list[str]:
    """All groups there are."""
    return await tx.values(_SELECT_GROUPS)


async def select_group_options(tx: Transaction) -> list[tuple[Room, dict[str, Any]]]:
    """All groups there are, newest first, with what else is kept about each."""
    return [(_ROOMS.read(room), orjson.loads(options)) for *room, options in await tx.all(_SELECT_GROUP_OPTIONS)]


async def select_with_folder(tx: Transaction, folder: str) -> Room | None:
    """The group that has this folder."""
    found = (room for room, options in await select_group_options(tx) if options.get("folder") == folder)
    return next(found, None)


async def select_home(tx: Transaction, id: str) -> Home | None:
    found = await tx.one(_SELECT_HOME, id=id)
    if found is None:
        return None
    *room, kept = found
    options = orjson.loads(kept)
    return Home(_ROOMS.read(room), options.get("provider"), options.get("model"), options.get("timezone"))


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


async def _spaces(tx: Transaction, rows: Sequence[Row], principal_id: str) -> list[Space]:
    found = _SPACES.read_all(rows)
    inside = await select_members(tx, [space.room.id for space in found])
    unread, mentions = await _count_unread(tx, found, principal_id)
    result = []
    for space in found:
        room = space.room
        result.append(
            Space(
                id=room.id,
                kind=room.kind,  # type: ignore[arg-type]
                name=room.name,
                private=room.private,
                archived_at=room.archived_at,
                members=[member.id for member in inside[room.id]],
                member_details=inside[room.id],
                wake=Wake(people=room.wake_people, agents=room.wake_agents),
                trigger=room.trigger,
                main=room.main,
                last_seq=room.last_seq,
                read_seq=space.read_seq or 0,
                unread=unread.get(room.id, 0),
                mentions=mentions.get(room.id, 0),
                created_at=space.created_at,
                **space.options,
            )
        )
    return result


async def _count_unread(
    tx: Transaction, found: Sequence[SpaceRow], member_id: str
) -> tuple[dict[str, int], dict[str, int]]:
    """By space: how many messages somebody has not read, and how many of those mention them or answer them."""
    read = {space.room.id: space.read_seq for space in found if space.read_seq is not None}
    last = {space.room.id: space.room.last_seq for space in found}
    behind = {id: last[id] - seq for id, seq in read.items() if seq < last[id]}
    if not behind:
        return {}, {}
    since: dict[str, Any] = {"ids": list(behind), "member_id": member_id}
    for space_id, uncounted in await tx.all(_SELECT_UNCOUNTED, **since):
        behind[space_id] -= uncounted
    return behind, await _count_mentions(tx, read, since)


async def _count_mentions(tx: Transaction, read: dict[str, int], since: dict[str, Any]) -> dict[str, int]:
    mentions: dict[str, int] = {}
    id, name = since["member_id"], None
    for space_id in await tx.values(_SELECT_MAY_MENTION, **since):
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
    name: str | None = await tx.value(_SELECT_NAME, id=member_id)
    return member_id if name is None else name


async def select_names(tx: Transaction, ids: list[str]) -> dict[str, str]:
    return {id: str(name) for id, name in await tx.all(_SELECT_NAMES, ids=ids)}


async def select_made_by(tx: Transaction, created_by: str) -> list[str]:
    return await tx.values(_SELECT_MADE_BY, created_by=created_by)


async def update_last_seq(tx: Transaction, space_id: str) -> Numbered:
    found = await tx.one(_BUMP, id_=space_id)
    assert found is not None
    return _numbered(found)


async def update_last_seq_paid(tx: Transaction, space_id: str, price: int) -> Numbered | None:
    """The same, if the space's agents can afford one more message. None: not yet."""
    found = await tx.one(_BUMP_PAID, id_=space_id, now=tx.clock.millis(), price=price)
    return None if found is None else _numbered(found)


def _numbered(row: Row) -> Numbered:
    seq, listens, chat = row
    return Numbered(seq, bool(listens), chat)


async def select_agents_wait(tx: Transaction, space_id: str, price: int) -> int:
    """In how many milliseconds they can afford it."""
    free_at: int | None = await tx.value(_SELECT_FREE_AT, id=space_id)
    assert free_at is not None
    return max(1, free_at + price - rules.AGENT_WINDOW_MS - tx.clock.millis())


async def can_afford(tx: Transaction, space_id: str, price: int) -> bool:
    """Could the space's agents pay for one more message now?"""
    free_at, now = await tx.value(_SELECT_FREE_AT, id=space_id) or 0, tx.clock.millis()
    owed: int = free_at if now <= free_at <= now + rules.AGENT_WINDOW_MS else now
    return owed + price <= now + rules.AGENT_WINDOW_MS


# ── members ─────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_OPEN_TO = Statement(
    select(spaces.c.id, spaces.c.kind, spaces.c.private, spaces.c.options).where(any_of(spaces.c.id, "ids"))
)
_SELECT_FREE = Statement(
    select(spaces.c.id).where(
        any_of(spaces.c.id, "ids"),
        or_(
            and_(spaces.c.kind == "channel", spaces.c.private == 0),
            and_(spaces.c.kind == "group", spaces.c.main == 1),
        ),
    )
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
        portraits.c.file_id,
        members.c.joined_at,
    )
    .select_from(
        members.outerjoin(people, people.c.id == members.c.member_id)
        .outerjoin(agents, agents.c.id == members.c.member_id)
        .outerjoin(portraits, portraits.c.holder_id == members.c.member_id)
    )
    .where(any_of(members.c.space_id, "ids"))
    .order_by(members.c.space_id, members.c.position)
)


def _recipients(scope: ColumnElement[str]) -> tuple[Mapped[Recipient], Statement]:
    """Agents of a space, each with its thread there if it has one."""
    recipient = Mapped(
        Recipient,
        agents,
        others={
            "agent_id": agents.c.id,
            "scope": scope,
            "chain_limit": agents.c.max_chain_depth,
            "thread_id": threads.c.id,
            "paused": agents.c.paused_at.is_not(None),
        },
        paused=FLAG,
        interrupts=FLAG,
    )
    own = and_(
        threads.c.agent_id == agents.c.id,
        threads.c.scope == scope,
        threads.c.anchor == anchor_in(scope, members.c.space_id),
    )
    return recipient, Statement(
        select(*recipient.columns)
        .select_from(members.join(agents, agents.c.id == members.c.member_id).outerjoin(threads, own))
        .where(members.c.space_id == bindparam("space_id"), members.c.kind == "agent")
        .order_by(members.c.position)
    )


# Where what is said stays, nobody has a mind that spans other spaces too.
_RECIPIENTS = {False: _recipients(agents.c.scope), True: _recipients(literal_column("'space'"))}
_SELECT_SPACES_OF = Statement(
    select(spaces.c.id, spaces.c.kind, spaces.c.name)
    .select_from(members.join(spaces, spaces.c.id == members.c.space_id))
    .where(members.c.member_id == bindparam("member_id"))
    .order_by(members.c.joined_at)
    .limit(bindparam("limit"))
)
_SELECT_TWO_SPACES = Statement(select(members.c.space_id).where(members.c.member_id == bindparam("member_id")).limit(2))


def _mark_read(moves: ColumnElement[bool]) -> Statement:
    mine = and_(members.c.space_id == bindparam("space"), members.c.member_id == bindparam("member"))
    return Statement(update(members).where(mine, moves).values(read_seq=bindparam("seq")))


_READ_ON = _mark_read(members.c.read_seq < bindparam("seq"))
_READ_BACK = _mark_read(members.c.read_seq != bindparam("seq"))


async def insert_member(tx: Transaction, space_id: str, member_id: str, kind: str) -> bool:
    position = await tx.value(_NEXT_POSITION, space_id=space_id)
    own = await tx.value(_SELECT_LAST_OWN, space_id=space_id, member_id=member_id)
    touched = await tx.run(
        _INSERT_MEMBER,
        space_id=space_id,
        member_id=member_id,
        kind=kind,
        position=position,
        read_seq=own,
        joined_at=tx.clock.now(),
    )
    return touched > 0


async def delete_member(tx: Transaction, space_id: str, member_id: str) -> bool:
    return await tx.run(_DELETE_MEMBER, space_id=space_id, member_id=member_id) > 0


async def is_member(tx: Transaction, space_id: str, member_id: str) -> bool:
    return await tx.one(_IS_MEMBER, space_id=space_id, member_id=member_id) is not None


async def select_members(tx: Transaction, space_ids: list[str]) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for space_id, id_, kind, name, avatar, joined_at in await tx.all(_SELECT_MEMBERS, ids=space_ids):
        found[space_id].append(Member(id=id_, kind=kind, name=name or id_, avatar=avatar, joined_at=joined_at))
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


async def select_free(tx: Transaction, space_ids: list[str]) -> set[str]:
    """Those of the spaces that agents may take things from: public channels, and the main group."""
    return set(await tx.values(_SELECT_FREE, ids=space_ids))


async def select_recipients(tx: Transaction, room: Room) -> list[Recipient]:
    recipient, statement = _RECIPIENTS[room.stays]
    return recipient.read_all(await tx.all(statement, space_id=room.id))


async def select_spaces_of(tx: Transaction, member_id: str, limit: int = 50) -> list[tuple[str, str, str]]:
    """id, kind, name of the spaces somebody is a member of, in the order they joined."""
    return [(id, kind, name) for id, kind, name in await tx.all(_SELECT_SPACES_OF, member_id=member_id, limit=limit)]


async def is_in_several(tx: Transaction, member_id: str) -> bool:
    return len(await tx.all(_SELECT_TWO_SPACES, member_id=member_id)) > 1


async def update_read_seq(tx: Transaction, space_id: str, member_id: str, seq: int, *, back: bool = False) -> bool:
    """Whether that moved anything. `back`: also to a lower number."""
    marks = _READ_BACK if back else _READ_ON
    return await tx.run(marks, space=space_id, member=member_id, seq=seq) > 0


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_MESSAGE = Statement(insert(messages))
_MESSAGES = Mapped(Message, messages, given=("attachments", "reactions"), metadata=JSON)
_SELECT_MESSAGE = Statement(select(*_MESSAGES.columns, messages.c.files).where(messages.c.id == bindparam("id")))
_SELECT_BY_CLIENT_ID = Statement(
    select(*_MESSAGES.columns, messages.c.files).where(
        messages.c.author_id == bindparam("author_id"), messages.c.client_message_id == bindparam("client_message_id")
    )
)
_IN_SPACE = messages.c.space_id == bindparam("space_id")
_SELECT_BEFORE = Statement(
    select(*_MESSAGES.columns, messages.c.files)
    .where(_IN_SPACE, messages.c.seq < bindparam("before"), messages.c.seq > bindparam("after"))
    .order_by(messages.c.seq.desc())
    .limit(bindparam("limit"))
)
_SELECT_AFTER = Statement(
    select(*_MESSAGES.columns, messages.c.files)
    .where(_IN_SPACE, messages.c.seq > bindparam("after"), messages.c.seq < bindparam("before"))
    .order_by(messages.c.seq)
    .limit(bindparam("limit"))
)
_SEARCH = Statement(
    select(*_MESSAGES.columns, messages.c.files)
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
_NOT_DELETED = messages.c.id == bindparam("id_"), messages.c.deleted_at.is_(None)
_UPDATE_METADATA = Statement(update(messages).where(*_NOT_DELETED).values(metadata=bindparam("metadata_")))
_UPDATE_CALL = Statement(
    update(messages)
    .where(*_NOT_DELETED)
    .values(
        metadata=bindparam("metadata_"),
        status=bindparam("status_"),
        card=bindparam("card_"),
        folded=bindparam("folded_"),
    )
)
_DELETE_MESSAGE = Statement(
    update(messages)
    .where(messages.c.id == bindparam("id_"))
    .values(text="", folded=None, card=None, metadata="{}", deleted_at=bindparam("now"))
    .returning(messages.c.files)
)
_SELECT_MESSAGES = Statement(select(*_MESSAGES.columns, messages.c.files).where(any_of(messages.c.id, "ids")))
_SELECT_LAST_SAID = Statement(
    select(messages.c.id)
    .where(
        messages.c.space_id == bindparam("space_id"),
        messages.c.author_kind != "system",
        func.coalesce(messages.c.wake, "").not_like("command:%"),
    )
    .order_by(messages.c.seq.desc())
    .limit(1)
)
_SELECT_WAKE = Statement(select(messages.c.wake).where(messages.c.id == bindparam("id")))
_SELECT_DELETED = Statement(select(messages.c.deleted_at).where(messages.c.id == bindparam("id")))
# The newest possible number, for "no bound above".
NEWEST = 2**62


def _folded(text: str) -> str | None:
    """What a search looks in where the text will not do: lower() of either database is sure to know only ASCII."""
    return None if text.isascii() else text.casefold()


async def insert_message(tx: Transaction, message: Message, *, chain_id: str, wake: str | None) -> None:
    card = cards.keep(message.metadata) if message.type == "tool" else None
    await tx.run(
        _INSERT_MESSAGE,
        **_MESSAGES.write(message),
        folded=_folded(message.text) if card is None else cards.words(card).casefold(),
        card=None if card is None else orjson.dumps(card).decode(),
        chain_id=chain_id,
        wake=wake,
        files=len(message.attachments),
    )


async def _messages(tx: Transaction, found: Sequence[Row]) -> list[Message]:
    if not found:
        return []
    bare = [(_MESSAGES.read(row), files) for *row, files in found]
    reacted = await select_reactions(tx, [message.id for message, _ in bare])
    with_files = [message.id for message, files in bare if files]
    shown = await file_rows.select_shown(tx, with_files) if with_files else {}
    return [_attach(message, shown.get(message.id), reacted.get(message.id)) for message, _ in bare]


def _attach(message: Message, attachments: list[File] | None, reactions: list[Reaction] | None) -> Message:
    if not attachments and not reactions:
        return message
    return message.model_copy(update={"attachments": attachments or [], "reactions": reactions or []})


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
    wake: str | None = await tx.value(_SELECT_WAKE, id=id)
    return wake


async def select_last_said(tx: Transaction, space_id: str) -> str | None:
    """The id of the last message of a person or an agent that was no word to the office."""
    message_id: str | None = await tx.value(_SELECT_LAST_SAID, space_id=space_id)
    return message_id


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
    return await tx.values(_SELECT_PEOPLE_SPOKEN_FOR, ids=run_ids)


async def search_messages(tx: Transaction, space_id: str, query: str, *, offset: int, limit: int) -> list[Message]:
    """Rising; of those that contain the text in any case, the newest after passing over `offset`."""
    found = await tx.all(_SEARCH, space_id=space_id, query=query.casefold(), offset=offset, limit=limit)
    return await _messages(tx, found[::-1])


async def update_text(tx: Transaction, id: str, text: str) -> None:
    await tx.run(_UPDATE_TEXT, id_=id, text_=text, folded_=_folded(text), now=tx.clock.now())


async def update_metadata(tx: Transaction, id: str, metadata: dict[str, Any]) -> bool:
    return await tx.run(_UPDATE_METADATA, id_=id, metadata_=orjson.dumps(metadata).decode()) > 0


async def update_call(tx: Transaction, id: str, metadata: dict[str, Any], status: str) -> bool:
    card = cards.keep(metadata)
    changed = await tx.run(
        _UPDATE_CALL,
        id_=id,
        metadata_=orjson.dumps(metadata).decode(),
        status_=status,
        card_=orjson.dumps(card).decode(),
        folded_=cards.words(card).casefold(),
    )
    return changed > 0


async def is_deleted(tx: Transaction, id: str) -> bool:
    """So is one that is not there."""
    found = await tx.one(_SELECT_DELETED, id=id)
    if found is None:
        return True
    (deleted_at,) = found
    return deleted_at is not None


async def delete_message(tx: Transaction, id: str) -> int:
    """Empty its place; how many files it showed, which is for the caller to see to."""
    files = await tx.value(_DELETE_MESSAGE, id_=id, now=tx.clock.now())
    await tx.run(_DELETE_REACTIONS, message_id=id)
    await tx.run(_DELETE_PIN, message_id=id)
    return files or 0


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


# ── pins ────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_PIN = insert_or_ignore(pins)
_DELETE_PIN = Statement(delete(pins).where(pins.c.message_id == bindparam("message_id")))
_COUNT_PINS = Statement(select(func.count()).select_from(pins).where(pins.c.space_id == bindparam("space_id")))
_PIN_MARKS = (pins.c.message_id, pins.c.member_id, pins.c.created_at)
_SELECT_PIN = Statement(select(*_PIN_MARKS).where(pins.c.message_id == bindparam("message_id")))
_SELECT_PINS = Statement(
    select(*_PIN_MARKS)
    .where(pins.c.space_id == bindparam("space_id"))
    .order_by(pins.c.created_at.desc(), pins.c.message_id.desc())
    .limit(bindparam("limit"))
)


async def insert_pin(tx: Transaction, message: Message, member_id: str) -> bool:
    """True if it was not pinned before."""
    added = await tx.run(
        _INSERT_PIN,
        message_id=message.id,
        space_id=message.space_id,
        member_id=member_id,
        created_at=tx.clock.now(),
    )
    return added > 0


async def delete_pin(tx: Transaction, message_id: str) -> bool:
    return await tx.run(_DELETE_PIN, message_id=message_id) > 0


async def count_pins(tx: Transaction, space_id: str) -> int:
    return int(await tx.value(_COUNT_PINS, space_id=space_id))


async def select_pin(tx: Transaction, message: Message) -> PinnedMessage | None:
    for _, by, at in await tx.all(_SELECT_PIN, message_id=message.id):
        return PinnedMessage(**dict(message), pinned_by=by, pinned_at=at)
    return None


async def select_pins(tx: Transaction, space_id: str, limit: int) -> list[PinnedMessage]:
    """The newest pin first."""
    found = await tx.all(_SELECT_PINS, space_id=space_id, limit=limit)
    there = {message.id: message for message in await select_these(tx, [id for id, _, _ in found])}
    return [PinnedMessage(**dict(there[id]), pinned_by=by, pinned_at=at) for id, by, at in found if id in there]


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_SAID = Statement(
    select(messages.c.id).where(
        inside(messages.c.id), messages.c.author_id == bindparam("author_id"), messages.c.deleted_at.is_(None)
    )
)
_SELECT_WRITTEN = Statement(
    select(messages.c.id)
    .where(inside(messages.c.id), messages.c.author_id == bindparam("author_id"))
    .order_by(messages.c.id)
)
_FORGET_CLIENT_IDS = Statement(
    update(messages)
    .where(
        inside(messages.c.id),
        messages.c.author_id == bindparam("author_id_"),
        messages.c.client_message_id.is_not(None),
    )
    .values(client_message_id=None)
)
_SELECT_REACTED = Statement(
    select(reactions.c.message_id, reactions.c.emoji).where(
        inside(reactions.c.message_id), reactions.c.member_id == bindparam("member_id")
    )
)
_SELECT_DMS = Statement(
    select(spaces.c.id)
    .select_from(members.join(spaces, spaces.c.id == members.c.space_id))
    .where(members.c.member_id == bindparam("id"), spaces.c.kind == "dm")
)
_COUNT_PEOPLE_IN = Statement(
    select(func.count()).select_from(members).where(members.c.space_id == bindparam("id"), members.c.kind == "person")
)
_HIDE = Statement(update(spaces).where(spaces.c.id == bindparam("id_")).values(private=1, name=bindparam("name_")))
_SELECT_MEMBER_IDS = Statement(select(members.c.member_id).where(members.c.space_id == bindparam("id")))
_SELECT_MESSAGES_IN = Statement(
    select(messages.c.id, messages.c.chain_id)
    .where(messages.c.space_id == bindparam("space_id"))
    .order_by(messages.c.seq.desc())
    .limit(bindparam("limit"))
)
_DELETE_MESSAGES = Statement(delete(messages).where(any_of(messages.c.id, "ids")))
_DELETE_PINS_OF = Statement(delete(pins).where(any_of(pins.c.message_id, "ids")))
_DELETE_REACTIONS_TO = Statement(delete(reactions).where(any_of(reactions.c.message_id, "ids")))
_DELETE_CHAIN_STOPS = Statement(delete(chain_stops).where(any_of(chain_stops.c.chain_id, "ids")))
_DELETE_SPACE = Statement(delete(spaces).where(spaces.c.id == bindparam("id_")))
# SQLite's index notes that a word is gone and keeps it until it merges what it has; -1 makes everything mergeable.
_MERGE = Statement(text("INSERT INTO message_fts (message_fts, rank) VALUES ('merge', :pages)"))
_COUNT_CHANGES = Statement(text("SELECT total_changes()"))


async def select_said(tx: Transaction, author_id: str, after: str, upto: str) -> list[str]:
    """Ids of what somebody wrote and nobody has taken back."""
    return await tx.values(_SELECT_SAID, author_id=author_id, after=after, upto=upto)


async def select_written(tx: Transaction, author_id: str, after: str, upto: str) -> list[str]:
    """Ids of what somebody wrote, taken back or not."""
    return await tx.values(_SELECT_WRITTEN, author_id=author_id, after=after, upto=upto)


async def forget_client_ids(tx: Transaction, author_id: str, after: str, upto: str) -> None:
    await tx.run(_FORGET_CLIENT_IDS, author_id_=author_id, after=after, upto=upto)


async def select_reacted(tx: Transaction, member_id: str, after: str, upto: str) -> list[tuple[str, str]]:
    """Message and emoji."""
    found = await tx.all(_SELECT_REACTED, member_id=member_id, after=after, upto=upto)
    return [(message_id, emoji) for message_id, emoji in found]


async def select_dms_with_agents(tx: Transaction, person_id: str) -> list[str]:
    dms = await tx.values(_SELECT_DMS, id=person_id)
    return [id for id in dms if await tx.value(_COUNT_PEOPLE_IN, id=id) < 2]


async def hide_space(tx: Transaction, id: str, name: str) -> None:
    await tx.run(_HIDE, id_=id, name_=name)


async def select_member_ids(tx: Transaction, space_id: str) -> list[str]:
    return await tx.values(_SELECT_MEMBER_IDS, id=space_id)


async def delete_messages_in(tx: Transaction, space_id: str, limit: int) -> int:
    """The newest of them, with all that hangs on them; how many."""
    found = await tx.all(_SELECT_MESSAGES_IN, space_id=space_id, limit=limit)
    if found:
        message_ids = [id for id, _ in found]
        await tx.run(_DELETE_REACTIONS_TO, ids=message_ids)
        await tx.run(_DELETE_PINS_OF, ids=message_ids)
        await file_rows.forget_messages(tx, message_ids)
        await tx.run(_DELETE_CHAIN_STOPS, ids=sorted({chain_id for _, chain_id in found if chain_id is not None}))
        await tx.run(_DELETE_MESSAGES, ids=message_ids)
    return len(found)


async def delete_space(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_SPACE, id_=id)


async def merge_words(tx: Transaction, pages: int) -> bool:
    """Rewrite some pages of SQLite's index of words; true if there may be more to do."""
    before = await tx.value(_COUNT_CHANGES)
    await tx.run(_MERGE, pages=pages)
    return bool(await tx.value(_COUNT_CHANGES) - before >= 2)
