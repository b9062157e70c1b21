"""Calls that somebody has to approve first: asked, answered, asked anew; each within one commit.

An approval is bound by a hash to the tool as it was defined, the exact arguments, the agent, the space that the agent
is in and every space that the call touches. It is a
pending call of the kind `approval`, under the id of the call itself. Answered while its run waits, the run carries the
call out; answered later, whoever drives the thread next does, and the result comes by inbox. How a call is carried out
is said in tools/execute.py.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import orjson
from pydantic import ValidationError

from bullpen.agents import rows as agent_rows
from bullpen.errors import BadArguments, Conflict, Invalid
from bullpen.replacing import replace
from bullpen.storage import Transaction
from bullpen.threads import actions as threads
from bullpen.tools import actions, pending, rows, values
from bullpen.tools.json_equality import equal_json
from bullpen.tools.outside import MORE
from bullpen.tools.types import RunView, Tool, Waiting
from bullpen.wire.requests import ApprovalAnswer

MOST_ASKS: Final = 2  # a tool that changes under every approval is not asked for again

WAITS = (
    "This call waits for somebody's approval and has not been carried out. Its result will come by itself once it is "
    "approved. Go on with something else, and do not call it again."
)
ASKED_ANEW = (
    "What was approved is not what would be carried out now, so that approval does not count and nothing was done. "
    "It was asked for anew. " + WAITS
)

GIVEN_UP = "It was approved twice, and both times what would be carried out was changed meanwhile. Nothing was done."


def told(call_id: str, message: str = WAITS) -> dict[str, Any]:
    """What the model reads while nobody has answered."""
    return {"status": "waiting_for_approval", "pendingToolCallId": call_id, "message": message}


def hash_of(tool_hash: str, waiting: Waiting) -> str:
    """What an approval holds for. A built-in tool has no hash but its name."""
    bound = [waiting.tool_name, tool_hash, waiting.arguments, waiting.agent_id, waiting.space_id, waiting.call_id]
    return sha256(orjson.dumps([*bound, waiting.spaces] if waiting.spaces else bound)).hexdigest()


def bound(waiting: Waiting, tool_hash: str) -> Waiting:
    return replace(waiting, tool_hash=tool_hash, hash=hash_of(tool_hash, waiting))


# ── asking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def asked(tx: Transaction, run: RunView, tool: Tool, waiting: Waiting) -> Waiting:
    """The row of a call that somebody has to approve, as it would be carried out."""
    if run.approval_ms is not None and run.approval_ms < (tool.expires_ms or run.approval_ms + 1):
        waiting = replace(waiting, expires_at=tx.clock.millis() + run.approval_ms)
    return replace(bound(waiting, tool.hash), asks=1)


async def holds(tx: Transaction, waiting: Waiting, tool: Tool, spaces: tuple[str, ...]) -> bool:
    """Is what was approved what would be carried out now? Asked in the transaction that begins to."""
    same = waiting.tool_hash == tool.hash and waiting.hash == hash_of(tool.hash, waiting)
    # Whoever changed the arguments has named the target in them.
    same = same and (waiting.spaces == spaces or bool(edited(waiting)))
    # The tool was read a while ago; somebody may have changed it since.
    return same and (not tool.hash or await rows.select_hash(tx, tool.name) == tool.hash)


async def ask_anew(
    tx: Transaction, waiting: Waiting, tool: Tool, spaces: tuple[str, ...], *, late: bool
) -> Waiting | None:
    """The approval does not count. None: it was asked for anew before, and is given up."""
    if waiting.asks >= MOST_ASKS:
        return None
    again = replace(waiting, status="pending", result=None, answered_by=None, asks=waiting.asks + 1, deadline_at=None)
    again = replace(again, kind="approval", spaces=spaces, allowed=None)
    now = await rows.select_hash(tx, tool.name) if tool.hash else ""
    again = replace(bound(again, now), execution=None)
    await pending.move(tx, waiting, again, "late" if late else "run")
    await pending.show(tx, again, "requires_action", approval=True)
    await actions.ask(tx, again)
    return again


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


def parsed(result: Any) -> ApprovalAnswer:
    try:
        answer = ApprovalAnswer.model_validate(result)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(["result", *(str(part) for part in first["loc"])])
        problem = f'{field}: {first["msg"]}. Write {{"approved": true}} or {{"approved": false, "reason": "…"}}.'
        raise Invalid(f"This answers no approval: {problem}", fields={field: first["msg"]}) from None
    if not answer.approved and (answer.args is not None or answer.always is not None):
        raise Invalid("A call that is not approved has no arguments.", fields={"result.approved": "is false"})
    return answer


def check_sources(waiting: Waiting) -> None:
    """Can somebody allow the tool for text from where the call's run had read?"""
    if waiting.reason is None:
        message = "A policy asks for this call, whatever its agent has read. Change that policy instead."
        raise Invalid(message, fields={"result.always": "write `agent` or `space`"})
    if MORE in waiting.outside:
        message = "Its run had read more sources than are kept, so they cannot be allowed. Approve of this call alone."
        raise Invalid(message, fields={"result.always": "leave it out"})


def was_answered(waiting: Waiting, result: Any) -> bool:
    """The call was approved, and waits for its result under the same id by now: is this that approval once more?

    Only what came from somebody who may approve, where approvals come. What names a hash is no result of a call.
    """
    if waiting.is_held or not waiting.asks or not isinstance(result, dict):
        return False
    try:
        answer = ApprovalAnswer.model_validate(result)
    except ValidationError:
        return False
    if answer.hash is None:
        return answer.approved and waiting.kind == "external"
    same = answer.hash == waiting.hash if answer.args is None else answer.args == waiting.args
    if answer.approved and same:
        return True
    raise Conflict("Somebody has approved this call already, and otherwise.", fields={"callId": "already_resolved"})


async def answer(tx: Transaction, waiting: Waiting, answer: ApprovalAnswer, by: str, tool: Tool | None) -> bool:
    """Take an answer; the row is locked, and `by` may give it. True: it was taken before, the same one."""
    said = _said(answer, waiting, tool)
    if waiting.status == "resolved":
        if equal_json(waiting.result, said):
            return True
        raise Conflict(
            f"{waiting.answered_by} has answered this already, and otherwise; that stands.",
            fields={"callId": "already_resolved", "answeredBy": waiting.answered_by or ""},
        )
    pending.refuse_over(tx, waiting)
    if answer.hash not in (None, waiting.hash):
        raise Conflict("This is not any more what you were asked to approve. Look at it again.", fields={"hash": "old"})
    if "args" in said:
        _check_arguments(tool, waiting, said["args"])
        waiting = bound(replace(waiting, args=said["args"], spaces=()), waiting.tool_hash or "")
    late = waiting.status == "pending"
    over = replace(waiting, status="resolved", result=said, answered_by=by)
    if late:  # the run has gone on: the call is carried out later, or its agent is told of the refusal here
        over = replace(over, execution="queued") if answer.approved else replace(over, delivered_via="inbox")
    await _go_on(tx, await pending.move(tx, waiting, over, "answer"), late=late)
    return False


def _said(answer: ApprovalAnswer, waiting: Waiting, tool: Tool | None) -> dict[str, Any]:
    """The answer as it is kept: arguments under the names that they are carried out with. Those that were asked for
    change nothing."""
    said = answer.model_dump(exclude_none=True, exclude={"hash", "always"})
    if "args" in said and tool is not None and tool.hash:
        with suppress(BadArguments):  # whoever sends them is told
            said["args"] = tool.parse(said["args"])
    if "args" in said and orjson.dumps(said["args"]).decode() == waiting.arguments and not edited(waiting):
        del said["args"]
    return said


def _check_arguments(tool: Tool | None, waiting: Waiting, args: Any) -> None:
    if tool is None:
        raise Invalid(f"There is no tool {waiting.tool_name!r} any more.", fields={"result.args": "fit no tool"})
    try:
        tool.parse(args)
    except BadArguments as error:
        raise Invalid(error.message, fields={"result.args": error.message}) from None


async def supply(tx: Transaction, waiting: Waiting, by: str) -> None:
    """The values that it needs are kept; the row is locked. It holds their names only."""
    late = waiting.status == "pending"
    over = replace(waiting, status="resolved", result={"supplied": values.names_of(waiting.needs)}, answered_by=by)
    over = replace(over, execution="queued") if late else over
    await _go_on(tx, await pending.move(tx, waiting, over, "answer"), late=late)


async def _go_on(tx: Transaction, over: Waiting, *, late: bool) -> None:
    if over.is_let_go:
        # What came of it will be shown when it has been carried out.
        shown = {"approval": True} if over.kind == "approval" else {"variables": over.needs}
        await pending.show(tx, over, "streaming", **shown, **who(over))
        actions.tell_over(tx, over)
        (threads.look_again if late else threads.go_on_waiting)(tx, over.thread_id)
        return
    why = await refusal(tx, over)
    await pending.show(tx, over, "error", approval=True, error=why)
    actions.tell_over(tx, over)
    if late:
        await pending.by_inbox(tx, over, {"error": why})
    else:
        threads.go_on_waiting(tx, over.thread_id)


def keep(waiting: Waiting) -> dict[str, Any] | None:
    """An approval that the call has, as its row keeps it while something else is asked."""
    if waiting.kind != "approval":
        return waiting.allowed
    return {"by": waiting.answered_by, "edited": bool(edited(waiting))}


def is_approved(waiting: Waiting | None) -> bool:
    """Has somebody approved it, now or before something else was asked?"""
    return waiting is not None and (waiting.allowed is not None or (waiting.kind == "approval" and waiting.is_let_go))


def edited(waiting: Waiting) -> dict[str, Any]:
    if waiting.kind == "variables":
        allowed = waiting.allowed or {}
        return {"editedBy": allowed["by"]} if allowed.get("edited") else {}
    return {"editedBy": waiting.answered_by} if "args" in (waiting.result or {}) else {}


def who(waiting: Waiting) -> dict[str, Any]:
    """Who let the call go on, as its card and its agent are told."""
    if waiting.kind != "variables":
        return {"approvedBy": waiting.answered_by, **edited(waiting)}
    approved = {} if waiting.allowed is None else {"approvedBy": waiting.allowed["by"], **edited(waiting)}
    return {**approved, "suppliedBy": waiting.answered_by}


async def refusal(tx: Transaction, over: Waiting) -> str:
    """What the model reads about a call that somebody has not approved."""
    reason = (over.result or {}).get("reason")
    who = await name_of(tx, over.answered_by)
    return f"{who} did not approve this call, so it was not carried out" + (f": {reason}" if reason else ".")


async def name_of(tx: Transaction, id: str | None) -> str:
    return "Somebody" if id is None else (await agent_rows.select_names(tx, [id])).get(id, id)


# ── the end of the run ──────────────────────────────────────────────────────────────────────────────────────────────


async def withdraw(tx: Transaction, call_ids: list[str]) -> set[str]:
    """The run that waits for these is stopped, and what it says of them is the end of it. Those that never began."""
    unbegun: set[str] = set()
    for waiting in await rows.lock_pending_of(tx, call_ids):
        if not waiting.is_held:
            continue
        if waiting.execution is None:
            unbegun.add(waiting.call_id)
        if waiting.status == "resolved":
            await pending.deliver(tx, waiting, "inline", "stop")
        elif waiting.status == "waiting":
            over = replace(waiting, status="cancelled", answered_by="Bullpen")
            actions.tell_over(tx, await pending.move(tx, waiting, over, "stop"))
    return unbegun
