"""Why: who was woken by a message and who was not, and whom one would wake. Nothing here changes anything."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import answer
from bullpen.errors import NotFound
from bullpen.operations import say
from bullpen.operations.runs import read_blocks, thing_of
from bullpen.runs import rows as run_rows
from bullpen.runs.types import Run
from bullpen.spaces import actions as spaces
from bullpen.spaces import reasons, rows
from bullpen.spaces.reasons import Candidate, Delivery, Verdict
from bullpen.storage import Transaction
from bullpen.wire import Message
from bullpen.wire.nouns import Cause, Preview, Why, WhyAgent, WhyRun
from bullpen.wire.requests import PreviewMessage

router = APIRouter(route_class=CappedRoute, tags=["messages"])


@router.get("/messages/{id}/why", response_model=Why)
async def why(
    id: str,
    caller: Caller,
    office: Office,
    store: Store,
    agent_id: Annotated[str | None, Query(alias="agentId", max_length=200)] = None,
) -> Response:
    """For each agent of the space, or for one: was it woken, the reason, and what came of it."""
    limit = office.settings.limits.chain_depth
    return answer(await store.read(lambda tx: _why(tx, caller, id, agent_id, limit)))


async def _why(tx: Transaction, caller: Principal, id: str, agent_id: str | None, chain_limit: int) -> Why:
    message = await spaces.get_message(tx, caller, id)
    policy, judged = await reasons.judge(tx, message, agent_id, chain_limit)
    if agent_id is not None and not judged:
        raise NotFound(f"There is no agent {agent_id!r}.")
    agents = []
    for candidate, delivery, verdict in judged:
        if delivery is not None:
            agents.append(await _delivered(tx, caller, message, candidate, delivery, verdict))
            continue
        agents.append(
            WhyAgent(agent_id=candidate.id, name=candidate.name, woken=False, code=verdict.code, reason=verdict.reason)
        )
    return Why(
        message_id=message.id, space_id=message.space_id, author_id=message.author_id, policy=policy, agents=agents
    )


async def _delivered(
    tx: Transaction, caller: Principal, message: Message, agent: Candidate, delivery: Delivery, verdict: Verdict
) -> WhyAgent:
    run = None if delivery.run_id is None else await run_rows.select_run(tx, delivery.run_id)
    return WhyAgent(
        agent_id=agent.id,
        name=agent.name,
        woken=True,
        code=verdict.code,
        reason=verdict.reason,
        rank=delivery.rank,
        run=None if run is None else await _run(tx, caller, message, run),
    )


async def _run(tx: Transaction, caller: Principal, message: Message, run: Run) -> WhyRun | None:
    """As much of a run as the caller may see. A mind that spans spaces may have worked elsewhere."""
    asked = await thing_of(tx, caller, run)
    if not access.allows(caller, "see_run", asked):
        return None
    posted = await rows.select_these(tx, list(run.message_ids))
    readable = await spaces.readable(tx, caller, sorted({said.space_id for said in posted}))
    shows_cause = access.allows(caller, "see_inside_run", asked) or await _is_known(tx, message, run)
    return WhyRun(
        run_id=run.id,
        status=run.status,
        outcome=run.outcome,
        stop_reason=run.stop_reason,
        silence_reason=run.silence_reason,
        error=run.error,
        depth=run.depth,
        cause=Cause(kind=run.cause_kind, id=run.cause_id) if shows_cause else None,
        message_ids=[said.id for said in posted if said.space_id in readable],
        blocks=await read_blocks(tx, caller, run),
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


async def _is_known(tx: Transaction, message: Message, run: Run) -> bool:
    """Is whoever caused it in the space anyway? A chain may have begun where the caller is not."""
    return run.cause_id == message.author_id or await rows.is_member(tx, message.space_id, run.cause_id)


@router.post("/spaces/{id}/preview", response_model=Preview)
async def preview(id: str, request: PreviewMessage, caller: Caller, office: Office, store: Store) -> Response:
    """Whom this text would wake, if the caller posted it now."""

    async def body(tx: Transaction) -> list[str]:
        limit = office.settings.limits.chain_depth
        return await say.preview(tx, caller, id, request.text, reply_to=request.reply_to, chain_limit=limit)

    return answer(Preview(wakes=await store.read(body)))
