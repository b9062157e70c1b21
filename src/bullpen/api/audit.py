"""The audit log, for owners: who did what that somebody may have to account for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Owner, Store
from bullpen.api.pages import Limit, Page, answer, page
from bullpen.audit import actions, rows
from bullpen.audit.types import Break
from bullpen.wire.nouns import AuditCheck, AuditRow

router = APIRouter(prefix="/audit", route_class=CappedRoute, tags=["audit"])

# A place in the log is a number; more than this is no row of any log.
Number = Annotated[int | None, Query(ge=0, lt=2**63, description="`next` of the page before.")]


@router.get("", response_model=Page[AuditRow])
async def list_audit(
    caller: Owner,
    store: Store,
    limit: Limit = 50,
    cursor: Number = None,
    action: Annotated[str | None, Query(max_length=200, description="For example `token.created`.")] = None,
    actor_id: Annotated[str | None, Query(alias="actorId", max_length=200)] = None,
    object_id: Annotated[str | None, Query(alias="objectId", max_length=200)] = None,
) -> Response:
    """Newest first."""
    before = 2**63 - 1 if cursor is None else cursor
    found = await store.read(
        lambda tx: rows.select_falling(
            tx, before=before, limit=limit, action=action, actor_id=actor_id, object_id=object_id
        )
    )
    return page([AuditRow(**asdict(entry)) for entry in found], limit, lambda row: str(row.number))


@router.get("/check", response_model=AuditCheck)
async def check_audit(caller: Owner, store: Store) -> Response:
    """Walk the whole chain. The first link that does not hold is named."""
    found = await actions.verify(store.untimed)
    if isinstance(found, Break):
        return answer({"ok": False, "rows": found.number - 1, "brokenAt": found.number, "reason": found.reason})
    newest = await store.read(lambda tx: rows.select_falling(tx, before=found + 1, limit=1))
    return answer({"ok": True, "rows": found, "hash": newest[0].hash if newest else None})
