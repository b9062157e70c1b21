"""Chats elsewhere, as bridges report them: what could become a group, and what is one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from bullpen.access import rules as access
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.spaces import chats
from bullpen.wire.nouns import Chat
from bullpen.wire.requests import Jid, ReportChat

router = APIRouter(prefix="/chats", route_class=CappedRoute, tags=["chats"])

Registered = Annotated[bool | None, Query(description="Only those that are a group, or only those that are none yet.")]


@router.get("", response_model=Page[Chat])
async def list_chats(
    caller: Caller, store: Store, registered: Registered = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    access.authorize(caller, "register_group")
    found = await store.read(
        lambda tx: chats.select_many(tx, registered=registered, before=cursor or LAST, limit=limit)
    )
    return page(found, limit, lambda chat: chat.jid)


@router.put("/{jid}", response_model=Chat)
async def report_chat(
    jid: Annotated[Jid, Path(description="As in tg:-1001234567890.")],
    request: ReportChat,
    caller: Caller,
    store: Store,
) -> Response:
    """A bridge has seen this chat. Doing it again keeps its name up to date."""
    return answer(await store.transact(lambda tx: chats.report(tx, caller, jid, request.name)))
