"""Chats elsewhere: those that a bridge has seen, and the space that each is once somebody has registered it.

A bridge reports what it sees; whoever registers a group binds a chat to a space, one to one. Which messages go to and
fro is the bridge's business. A chat may be registered before any bridge has seen it.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, bindparam, delete, or_, select, update

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.errors import AlreadyExists
from bullpen.events.actions import in_turn
from bullpen.storage import Statement, Transaction
from bullpen.storage.mapped import Mapped
from bullpen.storage.statements import insert_or_ignore, upsert
from bullpen.storage.tables import chats
from bullpen.wire.nouns import Chat

_UPSERT_SEEN = upsert(chats, ["jid"], ["name", "seen_at"])
_INSERT = insert_or_ignore(chats)
_BIND = Statement(
    update(chats)
    .where(
        chats.c.jid == bindparam("jid_"), or_(chats.c.space_id.is_(None), chats.c.space_id == bindparam("space_id_"))
    )
    .values(space_id=bindparam("space_id_"))
)
_RELEASE = Statement(update(chats).where(chats.c.space_id == bindparam("space_id_")).values(space_id=None))
_CHATS = Mapped(Chat, chats)
_SELECT = Statement(select(*_CHATS.columns).where(chats.c.jid == bindparam("jid")))
# Registered or not, or (-1) both. What was registered unseen, and is not any more, is nobody's chat.
_REGISTERED = bindparam("registered", type_=BigInteger)
_SELECT_MANY = Statement(
    select(*_CHATS.columns)
    .where(
        chats.c.jid < bindparam("before"),
        or_(chats.c.space_id.is_not(None), chats.c.seen_at.is_not(None)),
        or_(
            _REGISTERED == -1,
            (_REGISTERED == 1) & chats.c.space_id.is_not(None),
            (_REGISTERED == 0) & chats.c.space_id.is_(None),
        ),
    )
    .order_by(chats.c.jid.desc())
    .limit(bindparam("limit"))
)


async def report(tx: Transaction, caller: Principal, jid: str, name: str) -> Chat:
    """A bridge has seen this chat. Doing it again keeps its name up to date."""
    access.authorize(caller, "report_chat")
    await in_turn(tx, _turn(jid))
    await tx.run(_UPSERT_SEEN, jid=jid, name=name, space_id=None, seen_at=tx.clock.now())
    chat = _CHATS.read_one(await tx.one(_SELECT, jid=jid))
    assert chat is not None
    return chat


async def select_space_id(tx: Transaction, jid: str) -> str | None:
    """The space that this chat is, if somebody has registered it."""
    chat = _CHATS.read_one(await tx.one(_SELECT, jid=jid))
    return None if chat is None else chat.space_id


async def select_many(tx: Transaction, *, registered: bool | None, before: str, limit: int) -> list[Chat]:
    wanted = -1 if registered is None else int(registered)
    return _CHATS.read_all(await tx.all(_SELECT_MANY, registered=wanted, before=before, limit=limit))


async def bind(tx: Transaction, space_id: str, jid: str | None, name: str) -> None:
    """From now on this space is that chat, and no other; or (None) no chat at all."""
    if jid is not None:
        await in_turn(tx, _turn(jid))
    await tx.run(_RELEASE, space_id_=space_id)
    if jid is None:
        return
    await tx.run(_INSERT, jid=jid, name=name, space_id=None, seen_at=None)
    if not await tx.run(_BIND, jid_=jid, space_id_=space_id):
        # Which space that is may be none of their business.
        raise AlreadyExists(f"The chat {jid!r} is registered already.", fields={"bridge": "is registered already"})


def _turn(jid: str) -> str:
    return f"chat {jid}"


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_DELETE = Statement(delete(chats).where(chats.c.space_id == bindparam("space_id")))


async def forget(tx: Transaction, space_id: str) -> None:
    """A bridge that sees the chat again tells of it again."""
    await tx.run(_DELETE, space_id=space_id)
