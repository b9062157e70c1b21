"""Skills: the workflows of a space, what waits for approval, and starting one; and what can be written with a slash."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from bullpen.agents import skill_files
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Invalid
from bullpen.operations import say, slash
from bullpen.skills import actions, rows
from bullpen.skills.actions import Wish
from bullpen.skills.types import Skill
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire import nouns
from bullpen.wire.nouns import Command, Invoked
from bullpen.wire.requests import ApproveSkill, ImportSkill, InvokeSkill, StoreSkill, UndoSkill

router = APIRouter(route_class=CappedRoute, tags=["skills"])

SpaceId = Annotated[str | None, Query(alias="spaceId", max_length=200, description="Only those of this space.")]


@router.get("/skills", response_model=Page[nouns.Skill])
async def list_skills(
    caller: Caller, store: Store, space_id: SpaceId = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first, of the spaces that the caller may read; those that wait for approval too."""

    async def body(tx: Transaction) -> list[Skill]:
        if space_id is not None:
            readable = {(await spaces.room_for(tx, caller, "see_skill", space_id)).id}
        else:
            readable = await spaces.readable(tx, caller, None)
        return await rows.select_skills(tx, space_ids=sorted(readable), before=cursor or LAST, limit=limit)

    found = await store.read(body)
    return page([rows.on_the_wire(skill) for skill in found], limit, lambda skill: skill.id)


@router.get("/spaces/{id}/commands", response_model=Page[Command])
async def list_commands(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """What people can write here with a slash: words to the office, and the skills that are active."""

    async def body(tx: Transaction) -> list[Command]:
        return await slash.list_commands(tx, caller, id)

    return answer({"items": await store.read(body)})


@router.post("/spaces/{id}/skills/import", status_code=201, response_model=nouns.Skill)
async def import_skill(id: str, request: ImportSkill, caller: Caller, office: Office, store: Store) -> Response:
    """Take a SKILL.md. It waits for approval, unless it is to be active at once."""
    found = skill_files.parsed(request.text, folder=request.folder)
    wanted = StoreSkill(
        description=found.description,
        instructions=found.instructions,
        parameters=found.parameters,
        status=request.status,
    )
    return answer(rows.on_the_wire(await _store(office, store, caller, id, found.name, wanted)), 201)


@router.put("/spaces/{id}/skills/{name}", response_model=nouns.Skill)
async def put_skill(id: str, name: str, request: StoreSkill, caller: Caller, office: Office, store: Store) -> Response:
    """Store a skill under this name, over one that is there. What an agent writes waits for a person's approval."""
    if request.name not in (None, name):
        raise Invalid("The name is the one in the address.", fields={"name": f"must be {name}, or be left out"})
    if request.space_id not in (None, id):
        raise Invalid("The space is the one in the address.", fields={"spaceId": f"must be {id}, or be left out"})
    return answer(rows.on_the_wire(await _store(office, store, caller, id, name, request)))


async def _store(office: Office, store: Store, caller: Caller, space_id: str, name: str, request: StoreSkill) -> Skill:
    wish = Wish(request.description, request.instructions, request.parameters, request.agent_id)
    most = office.settings.skills.per_space

    async def body(tx: Transaction) -> Skill:
        return await actions.store_for(tx, caller, space_id, name, wish, request.status, most=most)

    return await store.transact(body)


@router.get("/spaces/{id}/skills/{name}", response_model=nouns.Skill)
async def get_skill(id: str, name: str, caller: Caller, store: Store) -> Response:
    """With what is proposed, if anything is: its `diff` says what would change."""
    return answer(rows.on_the_wire(await store.read(lambda tx: actions.get(tx, caller, id, name))))


@router.get(
    "/spaces/{id}/skills/{name}/export", response_class=Response, responses={200: {"content": {"text/markdown": {}}}}
)
async def export_skill(id: str, name: str, caller: Caller, store: Store) -> Response:
    """As a SKILL.md; of one that nobody has approved of yet, what it would say."""
    skill = await store.read(lambda tx: actions.get(tx, caller, id, name))
    said = skill.shown
    text = skill_files.written(skill.name, said.description, said.instructions, said.parameters)
    return Response(text, media_type="text/markdown; charset=utf-8")


@router.delete("/spaces/{id}/skills/{name}", status_code=204, response_class=Response)
async def delete_skill(id: str, name: str, caller: Caller, store: Store) -> Response:
    """Delete it, with what is proposed for it."""

    async def body(tx: Transaction) -> None:
        await actions.turn(tx, id)
        await actions.delete(tx, caller, await actions.get(tx, caller, id, name, "write_skill"))

    await store.transact(body)
    return Response(status_code=204)


@router.post("/spaces/{id}/skills/{name}/approve", response_model=nouns.Skill)
async def approve_skill(id: str, name: str, request: ApproveSkill, caller: Caller, store: Store) -> Response:
    """Answer for what is proposed: it becomes active, and its runs never have more rights than the caller has now."""

    async def body(tx: Transaction) -> Skill:
        await actions.turn(tx, id)
        skill = await actions.get(tx, caller, id, name, "approve_skill")
        return await actions.approve(tx, caller, skill, request.hash)

    return answer(rows.on_the_wire(await store.transact(body)))


@router.post("/spaces/{id}/skills/{name}/reject", status_code=204, response_class=Response)
async def reject_skill(id: str, name: str, caller: Caller, store: Store) -> Response:
    """Forget what is proposed. What is active stays."""

    async def body(tx: Transaction) -> None:
        await actions.turn(tx, id)
        await actions.reject(tx, caller, await actions.get(tx, caller, id, name, "approve_skill"))

    await store.transact(body)
    return Response(status_code=204)


@router.post(
    "/spaces/{id}/skills/{name}/undo",
    response_model=nouns.Skill,
    responses={204: {"description": "There was nothing before, so the skill is gone."}},
)
async def undo_skill(id: str, name: str, request: UndoSkill, caller: Caller, store: Store) -> Response:
    """Take back what an agent has stored at once: the skill says what it said before, or is gone."""

    async def body(tx: Transaction) -> Skill | None:
        await actions.turn(tx, id)
        skill = await actions.get(tx, caller, id, name, "approve_skill")
        return await actions.undo(tx, caller, skill, request.hash)

    left = await store.transact(body)
    return Response(status_code=204) if left is None else answer(rows.on_the_wire(left))


@router.post("/spaces/{id}/skills/{name}/invoke", status_code=202, response_model=Invoked)
async def invoke_skill(
    id: str, name: str, request: InvokeSkill, http: Request, caller: Caller, office: Office, store: Store
) -> Response:
    """Start it, as if the caller had written `/name parameters` in the space: the message is there to be seen.

    The same `clientMessageId` again starts nothing, and answers what was started before.
    """
    office.limits.take_message(caller.id, http.scope)

    async def body(tx: Transaction) -> Invoked:
        return await say.invoke_skill(
            tx,
            caller,
            id,
            name,
            request.parameters,
            office.posting,
            client_message_id=request.client_message_id,
        )

    return answer(await store.transact(body), 202)
