"""Calls that wait for somebody: see, answer and approve them, give them values, say how far they are, cancel them.

Who may do what depends on the call's kind and on how the caller stands to its space and its agent, so this stands above
both. `tools/pending.py` and `tools/approvals.py` say what becomes of the call. What somebody says about a call is
masked here, with the secrets of its run and their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Literal

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.apart.pool import ProcessPool
from bullpen.audit.actions import note
from bullpen.errors import CheckFailed, Conflict, Forbidden, Invalid, NotFound
from bullpen.observe.redact import REDACTOR, Masker, owner
from bullpen.operations import variables
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction, Transacts
from bullpen.tools import actions, approvals, configs, pending, rows, values
from bullpen.tools.check_apart import CheckApart
from bullpen.tools.registry import Registry
from bullpen.tools.types import Waiting
from bullpen.variables.actions import Vault
from bullpen.wire.nouns import Acceptance, PendingKind, Progress, ScopeKind
from bullpen.wire.requests import ApplyVariable, ReportProgress, ScopeRequest, ValuesAnswer

Deed = Literal["see", "answer", "cancel"]
HELD: Mapping[PendingKind, Mapping[Deed, access.Action]] = {
    "approval": {"see": "see_approval", "answer": "answer_approval", "cancel": "cancel_approval"},
    "variables": {"see": "see_needs", "answer": "supply", "cancel": "cancel_needs"},
}


# ── seeing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def get(tx: Transaction, caller: Principal, call_id: str) -> Waiting:
    return await _get_for(tx, caller, call_id, "see", lock=False)


async def list_calls(
    tx: Transaction,
    caller: Principal,
    *,
    statuses: Sequence[str] = pending.OPEN,
    kind: PendingKind | None = None,
    before: str,
    limit: int,
) -> list[Waiting]:
    """Calls that the caller may see: people those that show in their spaces, agents and their programs their own;
    owners also those that do not show, where they may read."""
    theirs = caller.kind in ("agent", "tools")
    return await rows.select_pending_page(
        tx,
        statuses=list(statuses),
        kind=kind,
        agent_id=caller.id if caller.kind == "agent" else caller.serves,
        tools=None if caller.tools is None else sorted(caller.tools),
        spaces=None if theirs else sorted(await spaces.readable(tx, caller, None)),
        unseen=access.allows(caller, "operate"),
        approves=access.allows(caller, "answer_approval"),
        manages=caller.kind == "person" and access.allows(caller, "manage_agents"),
        person_id=caller.id if caller.kind == "person" else "",
        before=before,
        limit=limit,
    )


async def _thing_of(tx: Transaction, caller: Principal, waiting: Waiting) -> Thing:
    """The call, and how the caller stands to it and to the space it is in."""
    causer = waiting.cause.id if waiting.cause.kind == "person" else None
    if waiting.space_id is None:
        id, agent_id = waiting.call_id, waiting.agent_id
        return Thing("call", id, holder=agent_id, causer=causer, tool=waiting.tool_name, people=0, shown=False)
    _, space = await spaces.standing(tx, caller, waiting.space_id)
    return Thing(
        "call",
        waiting.call_id,
        holder=waiting.agent_id,
        causer=causer,
        member=space.member,
        public=space.public,
        people=space.people,
        tool=waiting.tool_name,
        shown=waiting.visible,
    )


async def _get_for(tx: Transaction, caller: Principal, call_id: str, to: Deed, *, lock: bool) -> Waiting:
    found = await (rows.lock_pending if lock else rows.select_pending)(tx, call_id)
    if found is None:
        raise NotFound(f"There is no call {call_id!r} that waits, or it is not yours to see.")
    access.authorize(caller, _action(found, to), await _thing_of(tx, caller, found))
    return found


def _action(waiting: Waiting, to: Deed) -> access.Action:
    if waiting.kind in HELD:
        return HELD[waiting.kind][to]
    if to == "answer":
        return "answer_external" if waiting.kind == "external" else "answer_card"
    return "see_call" if to == "see" else "cancel_call"


def _masker(waiting: Waiting, caller: Principal) -> Masker:
    """For what somebody says about a call: the secrets of its run, and their own."""
    cause = waiting.cause
    owners = [owner("thread", waiting.thread_id), owner("agent", waiting.agent_id), owner(cause.kind, cause.id)]
    owners += [owner(caller.kind, caller.id)] + ([] if waiting.space_id is None else [owner("space", waiting.space_id)])
    return REDACTOR.masker(owners).keeping({waiting.tool_name, waiting.agent_id})


# ── answering ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def submit(
    store: Transacts,
    caller: Principal,
    registry: Registry,
    pool: ProcessPool,
    vault: Vault,
    call_id: str,
    result: object,
    *,
    run_id: str | None = None,
) -> Acceptance:
    """Take somebody's answer, in a transaction of its own.

    Arguments that somebody has changed may have to be checked in another process, and nobody waits for that in a
    transaction: it is broken off, and begun again when the check is done.
    """

    async def body(tx: Transaction) -> Acceptance:
        return await take(tx, caller, registry, vault, call_id, result, run_id=run_id)

    secrets = await _secrets_in(store, call_id, result)
    try:
        async with vault.setting(store, secrets) if secrets else nullcontext():
            return await store.transact(body)
    except CheckApart as apart:
        try:
            await apart.settle(pool)
        except CheckFailed as error:
            raise Invalid(error.message, fields={"result.args": error.message}) from None
        return await store.transact(body)


async def _secrets_in(store: Transacts, call_id: str, result: object) -> list[tuple[str, str]]:
    """Names and values of secrets in an answer: around the transaction that keeps them, nothing may show them."""
    given = result.get("env") if isinstance(result, dict) else None
    if not isinstance(given, dict):
        return []
    waiting = await store.read(lambda tx: rows.select_pending(tx, call_id))
    needs = [] if waiting is None or waiting.kind != "variables" else waiting.needs or []
    named = [(str(need["name"]), given.get(need["name"])) for need in needs if need["type"] == "secret"]
    return [(name, value) for name, value in named if isinstance(value, str)]


async def take(
    tx: Transaction,
    caller: Principal,
    registry: Registry,
    vault: Vault,
    call_id: str,
    result: object,
    *,
    run_id: str | None = None,
) -> Acceptance:
    """Take somebody's result for a call, or their answer to an approval. The same again is a duplicate.

    `run_id`: the run it must belong to, if the caller names one. Raises CheckApart: see `submit`.
    """
    seen = await rows.select_pending(tx, call_id)
    if seen is None or run_id not in (None, seen.run_id):
        raise NotFound(f"There is no call {call_id!r} that waits, or it is not yours to see.")
    access.authorize(caller, _action(seen, "answer"), await _thing_of(tx, caller, seen))
    await pending.in_turn_of(tx, seen)
    waiting = await rows.lock_pending(tx, call_id)
    assert waiting is not None
    if waiting.kind != seen.kind:  # approved meanwhile: what was to be approved is to be answered now, by others
        access.authorize(caller, _action(waiting, "answer"), await _thing_of(tx, caller, waiting))
    if waiting.kind == "variables":
        return await _supply(tx, caller, vault, waiting, result)
    clean = _masker(waiting, caller).clean_json(result)
    if waiting.kind == "approval":
        return await _approve(tx, caller, registry, waiting, clean)
    if run_id is None and waiting.needs is not None and _gives_values(waiting, result):
        raise _answered(waiting)  # the call waits for its result by now, under the same id, and a secret is none
    # Programs post results under the run, and whatever those look like, they are results.
    approves = run_id is None and access.allows(caller, "answer_approval")
    if approves and approvals.was_answered(waiting, clean):
        return Acceptance(duplicate=True)
    return Acceptance(duplicate=await pending.accept(tx, waiting, clean, caller.id))


async def _approve(
    tx: Transaction, caller: Principal, registry: Registry, waiting: Waiting, result: object
) -> Acceptance:
    answer = approvals.parsed(result)
    if answer.always is not None:
        access.authorize(caller, "manage_agents")
        if answer.always == "space" and not waiting.spaces:
            raise Invalid("The call was made in no space.", fields={"result.always": "write `agent`"})
        if answer.always == "source":
            approvals.check_sources(waiting)
    tool = registry.find(waiting.tool_name)
    if tool is None and (config := await rows.select_tool(tx, waiting.tool_name)) is not None:
        tool = configs.made(config)
    if await approvals.answer(tx, waiting, answer, caller.id, tool):
        return Acceptance(duplicate=True)
    decision = "approved" if answer.approved else "rejected"
    about = {"agentId": waiting.agent_id, "toolName": waiting.tool_name, "edited": answer.args is not None}
    note(tx, caller, f"call.{decision}", "call", waiting.call_id, **about)
    if answer.always == "source":
        for source in waiting.outside:
            await actions.always_allow(tx, caller, waiting, source=source)
    elif answer.always is not None:
        # In every space that it touches, or the next call like it would be asked for again.
        for space_id in waiting.spaces if answer.always == "space" else (None,):
            await actions.always_allow(tx, caller, waiting, space_id)
    return Acceptance(duplicate=False)


async def _supply(tx: Transaction, caller: Principal, vault: Vault, waiting: Waiting, result: object) -> Acceptance:
    """Keep the values as variables, each as if it was set where it is at home, and let the call go on."""
    if waiting.status == "resolved" and waiting.answered_by != caller.id:  # nobody tries out values by this
        raise _answered(waiting)
    answer = values.parsed(waiting, result)
    if waiting.status != "resolved":
        pending.refuse_over(tx, waiting)
    changes = [await _put(tx, caller, vault, waiting, need, answer) for need in waiting.needs or ()]
    if waiting.status == "resolved":
        if all(change == "unchanged" for change in changes):
            return Acceptance(duplicate=True)
        raise _answered(waiting)
    await approvals.supply(tx, waiting, caller.id)
    names = values.names_of(waiting.needs)
    about = {"agentId": waiting.agent_id, "toolName": waiting.tool_name, "variables": names}
    note(tx, caller, "call.supplied", "call", waiting.call_id, **about)
    return Acceptance(duplicate=False)


def _gives_values(waiting: Waiting, result: object) -> bool:
    env = result.get("env") if isinstance(result, dict) else None
    return isinstance(env, dict) and set(env) <= set(values.names_of(waiting.needs))


def _answered(waiting: Waiting) -> Conflict:
    return Conflict(
        f"{waiting.answered_by or 'Somebody'} has given the values already. To change one, set the variable.",
        fields={"callId": "already_resolved", "answeredBy": waiting.answered_by or ""},
    )


async def _put(
    tx: Transaction, caller: Principal, vault: Vault, waiting: Waiting, need: Mapping[str, Any], answer: ValuesAnswer
) -> str:
    name, home = need["name"], need["scope"]
    kind: ScopeKind = answer.scope or home["kind"]
    id = values.scope_id(waiting, kind) if answer.scope else home["id"]
    if kind == "person" and caller.id != id:
        other = "Whoever manages agents may answer with `scope`: agent or workspace; whoever manages the space, space."
        raise Forbidden(f"Only {id}, for whom the agent works, may give a value of their own. {other}")
    if id is None and kind != "workspace":
        raise Invalid(f"The call was made in no {kind}.", fields={"result.scope": "choose another"})
    request = ApplyVariable(
        name=name,
        value=answer.env[name],
        type=need["type"],
        scope=ScopeRequest(kind=kind, id=id),
        description=need["description"],
    )
    try:
        return (await variables.put(tx, caller, vault, request))[1]
    except Invalid as error:
        told = error.fields.get("value", error.message)
        raise Invalid(f"{name}: {error.message}", fields={f"result.env.{name}": told}) from None


async def report_progress(tx: Transaction, caller: Principal, call_id: str, said: ReportProgress) -> Waiting:
    """The program that carries out an external call says how far it is. With the name of a runner it takes the call.

    A `once` call whose runner has been silent for long is over then: what is returned is resolved, and not open.
    """
    seen = await _get_for(tx, caller, call_id, "answer", lock=False)
    await pending.in_turn_of(tx, seen)
    waiting = await _get_for(tx, caller, call_id, "answer", lock=True)
    if waiting.kind != "external":
        raise Invalid("Only calls that a program carries out have progress.", fields={"callId": "is of a person"})
    kept = None if waiting.progress is None else waiting.progress.runner
    if kept is not None and said.runner not in (None, kept) and await _is_once(tx, waiting.tool_name):
        return await pending.leave_begun(tx, waiting, caller.id)
    clean = None if said.message is None else _masker(waiting, caller).clean(said.message)
    progress = Progress(fraction=said.fraction, message=clean, at=tx.clock.now(), runner=said.runner or kept)
    return await pending.report_progress(tx, waiting, progress)


async def _is_once(tx: Transaction, tool_name: str) -> bool:
    config = await rows.select_tool(tx, tool_name)
    return config is not None and config.effect == "once"


async def cancel(tx: Transaction, caller: Principal, call_id: str) -> Waiting:
    """Nobody will answer it; its agent is told so, once."""
    seen = await _get_for(tx, caller, call_id, "cancel", lock=False)
    await pending.in_turn_of(tx, seen)
    waiting = await _get_for(tx, caller, call_id, "cancel", lock=True)
    if waiting.status in pending.OPEN:
        await pending.give_up(tx, waiting, "cancelled", caller.id, f"{caller.name} cancelled this call.")
    else:
        pending.refuse_over(tx, waiting)
    done = await rows.select_pending(tx, call_id)
    assert done is not None
    return done
