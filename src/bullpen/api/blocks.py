"""Blocks of an agent's memory, what they were, and putting them back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Store
from bullpen.api.pages import Limit, Page, answer, page
from bullpen.errors import Invalid
from bullpen.operations import blocks
from bullpen.storage import Transaction
from bullpen.wire.nouns import Block, BlockVersion
from bullpen.wire.requests import PutBlock, RevertBlock

router = APIRouter(prefix="/agents/{id}/blocks", route_class=CappedRoute, tags=["agents"])

Label = Annotated[str, Path(max_length=200)]
Version = Annotated[int | None, Query(ge=1, le=2**53)]
SpaceId = Annotated[
    str | None,
    Query(alias="spaceId", max_length=200, description="The block that the agent keeps for this space alone."),
]


class BlockHistory(Page[BlockVersion]):
    """`diff`: how the versions `from` and `to` differ, if both were asked for."""

    diff: str | None = None


@router.get("", response_model=Page[Block])
async def list_blocks(id: str, caller: Caller, store: Store, space_id: SpaceId = None) -> Response:
    """Its own, and those that other agents share with it; with `spaceId`, those that it keeps for that space."""
    return answer({"items": await store.read(lambda tx: blocks.list_blocks(tx, caller, id, space_id))})


@router.get("/{label}", response_model=Block)
async def get_block(id: str, label: str, caller: Caller, store: Store, space_id: SpaceId = None) -> Response:
    return answer(await store.read(lambda tx: blocks.get_block(tx, caller, id, space_id, label)))


@router.put("/{label}", response_model=Block)
async def put_block(
    id: str, label: Label, request: PutBlock, caller: Caller, store: Store, space_id: SpaceId = None
) -> Response:
    """Write a block, or make one. The agent sees it from its next run on. What is too long is refused."""
    return answer(await store.transact(lambda tx: blocks.put_block(tx, caller, id, space_id, label, request)))


@router.delete("/{label}", status_code=204, response_class=Response)
async def delete_block(
    id: str,
    label: str,
    caller: Caller,
    store: Store,
    space_id: SpaceId = None,
    history: Annotated[bool, Query(description="Also forget what it was. It cannot be brought back.")] = False,
) -> Response:
    """It can be brought back with `revert`, unless its history goes, too."""
    await store.transact(lambda tx: blocks.delete_block(tx, caller, id, space_id, label, history=history))
    return Response(status_code=204)


@router.get("/{label}/history", response_model=BlockHistory)
async def list_versions(
    id: str,
    label: str,
    caller: Caller,
    store: Store,
    space_id: SpaceId = None,
    limit: Limit = 20,
    cursor: Version = None,
    old: Annotated[int | None, Query(alias="from", ge=1, le=2**53, description="Compare this version …")] = None,
    new: Annotated[int | None, Query(alias="to", ge=1, le=2**53, description="… with this one: adds `diff`.")] = None,
) -> Response:
    """What the block was, newest first, and who changed it. The newest 200 versions are kept."""
    if (old is None) != (new is None):
        raise Invalid("Say both versions to compare: from and to.", fields={"from": "goes with to"})

    async def body(tx: Transaction) -> tuple[list[BlockVersion], str | None]:
        before = cursor or 2**53
        found = await blocks.list_versions(tx, caller, id, space_id, label, before=before, limit=limit)
        if old is None or new is None:
            return found, None
        return found, await blocks.compare_versions(tx, caller, id, space_id, label, old, new)

    found, diff = await store.read(body)
    return page(found, limit, lambda one: str(one.version), **({} if diff is None else {"diff": diff}))


@router.post("/{label}/revert", response_model=Block)
async def revert_block(
    id: str, label: str, request: RevertBlock, caller: Caller, store: Store, space_id: SpaceId = None
) -> Response:
    """Write what the block was in this version: a change like any other, with a version of its own."""
    return answer(await store.transact(lambda tx: blocks.revert_block(tx, caller, id, space_id, label, request)))
