"""Define a tool, change it, take it away; decide who may use it how; tell of calls that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal

import orjson
from pydantic.alias_generators import to_camel

from bullpen import ids
from bullpen.audit.actions import Actor, note
from bullpen.errors import AlreadyExists, Conflict, Invalid, NotFound
from bullpen.events.actions import in_turn, record
from bullpen.events.types import Audience
from bullpen.observe.redact import here
from bullpen.storage import Transaction
from bullpen.tools import configs, policies, rows
from bullpen.tools.json_schema import check_schema
from bullpen.tools.registry import Registry
from bullpen.tools.types import Waiting
from bullpen.webhooks import actions as webhooks
from bullpen.webhooks.types import Asked
from bullpen.wire.events import (
    PendingCallEvent,
    PendingResolved,
    SettledCall,
    ToolDone,
    ToolError,
    ToolRequiresAction,
)
from bullpen.wire.nouns import Policy, ToolConfig
from bullpen.wire.requests import CreateTool, PutPolicy, UpdateTool

REMOVABLE: Final = frozenset({"execution", "policy", "expires_after", "effect"})  # what a tool may be without


def turn_of(name: str) -> str:
    """What whoever changes this tool takes its turn by."""
    return f"tool {name}"


async def get(tx: Transaction, name: str) -> ToolConfig:
    found = await rows.select_tool(tx, name)
    if found is None:
        raise NotFound(f"There is no tool {name!r} that somebody has defined.")
    return found


async def create(tx: Transaction, registry: Registry, actor: Actor, request: CreateTool) -> ToolConfig:
    refuse_taken(registry, request.name)
    await in_turn(tx, turn_of(request.name))
    if await rows.select_tool(tx, request.name) is not None:
        raise AlreadyExists(
            f"There is a tool {request.name!r} already; choose another name, or PATCH it.", fields={"name": "is taken"}
        )
    config = _written(tx, request)
    configs.check(config)
    await rows.insert_tool(tx, config, configs.hash_of(config), actor.id)
    note(tx, actor, "tool.created", "tool", config.name, type=config.execution_type, hash=configs.hash_of(config))
    return config


def _written(tx: Transaction, request: CreateTool) -> ToolConfig:
    check_schema(request.input_schema)
    now = tx.clock.now()
    visible = configs.visible_by_default(request.execution_type) if request.visible is None else request.visible
    return ToolConfig(**request.model_dump(exclude={"visible"}), visible=visible, created_at=now, updated_at=now)


async def ensure(
    tx: Transaction, registry: Registry, actor: Actor, request: CreateTool
) -> Literal["created", "updated", "unchanged"]:
    """Make the tool what this says: new, or changed where it differs."""
    refuse_taken(registry, request.name)
    there = await rows.select_tool(tx, request.name)
    if there is None:
        await create(tx, registry, actor, request)
        return "created"
    wanted = _written(tx, request)
    said = {name: getattr(wanted, name) for name in UpdateTool.model_fields}
    differing = {name: _plain(value) for name, value in said.items() if value != getattr(there, name)}
    if differing:
        await update(tx, actor, request.name, UpdateTool.model_validate(differing))
    return "updated" if differing else "unchanged"


async def update(tx: Transaction, actor: Actor, name: str, request: UpdateTool) -> ToolConfig:
    await in_turn(tx, turn_of(name))
    before = await get(tx, name)
    said = _said(request)
    wanted = {**before.model_dump(), **{field: _plain(value) for field, value in said.items()}}
    config = ToolConfig(**{**wanted, "updated_at": tx.clock.now()})
    configs.check(config)
    await rows.update_tool(tx, config, configs.hash_of(config))
    note(tx, actor, "tool.changed", "tool", name, fields=sorted(said), hash=configs.hash_of(config))
    return config


def _said(request: UpdateTool) -> dict[str, Any]:
    said = {field: getattr(request, field) for field in request.model_fields_set}
    if empty := [to_camel(field) for field, value in said.items() if value is None and field not in REMOVABLE]:
        message = f"{empty[0]} cannot be null. Leave it out to keep what is there."
        raise Invalid(message, fields=dict.fromkeys(empty, "cannot be null"))
    if "input_schema" in said:
        check_schema(said["input_schema"])
    return said


def _plain(value: object) -> object:
    return value.model_dump() if hasattr(value, "model_dump") else value


async def remove(tx: Transaction, actor: Actor, name: str) -> None:
    await in_turn(tx, turn_of(name))
    if not await rows.delete_tool(tx, name):
        raise NotFound(f"There is no tool {name!r} that somebody has defined.")
    note(tx, actor, "tool.deleted", "tool", name)


def refuse_taken(registry: Registry, name: str) -> None:
    if registry.knows(name):
        message = f"{name!r} comes with Bullpen, so no other tool can have its name. Choose another."
        raise Invalid(message, fields={"name": "is the name of a built-in tool or family"})


def refuse_unknown(names: Sequence[str]) -> None:
    """These are tools that nobody knows, if there are any: a policy for one would be kept by nobody."""
    if names:
        message = f"There is no tool {names[0]!r}, so there is no policy for it. Name tools one by one, not families."
        raise Invalid(message, fields={"policy": message, "toolName": "is the name of no tool"})


# ── policies ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def put_policy(
    tx: Transaction, actor: Actor, request: PutPolicy, tool_hash: str | None = None, *, lifts_deny: bool = True
) -> Policy:
    """Decide; instead of what was decided before for the same agent, space, tool and condition.

    `tool_hash`: only for the tool as it is defined now.
    """
    if request.when is not None:
        policies.check(request.when)
    named = [request.agent_id, request.space_id, request.tool_name, request.when]
    if request.source is not None:
        policies.check_source(request.source)
        named.append(request.source)
    policy = Policy(
        id=ids.policy(),
        agent_id=request.agent_id,
        space_id=request.space_id,
        tool_name=request.tool_name,
        decision=request.decision,
        when=request.when,
        source=request.source,
        created_by=actor.id,
        created_at=tx.clock.now(),
    )
    key = sha256(orjson.dumps(named, option=orjson.OPT_SORT_KEYS)).hexdigest()
    policy = await rows.put_policy(tx, policy, key, tool_hash, lifts_deny=lifts_deny)
    if policy.decision != request.decision:
        message = (
            "Somebody has denied this meanwhile, and approving a call does not lift that. Take that policy back first."
        )
        raise Conflict(message, fields={"result.always": "is denied"})
    note(tx, actor, "policy.set", "policy", policy.id, **_about(policy), bound=tool_hash is not None)
    return policy


def _about(policy: Policy) -> dict[str, object]:
    where = {} if policy.space_id is None else {"spaceId": policy.space_id}
    about = {"agentId": policy.agent_id, "toolName": policy.tool_name, "decision": policy.decision, **where}
    about |= {} if policy.source is None else {"source": policy.source}
    return {**about, "conditional": policy.when is not None}


async def always_allow(
    tx: Transaction, actor: Actor, approved: Waiting, space_id: str | None = None, source: str | None = None
) -> Policy:
    """Somebody approved a call, and the next ones of this tool along with it: as long as it does what it did then.

    `source`: only those that text from there may have caused.
    """
    request = PutPolicy(
        agent_id=approved.agent_id,
        space_id=space_id,
        tool_name=approved.tool_name,
        decision="allow",
        source=source,
    )
    return await put_policy(tx, actor, request, approved.tool_hash or None, lifts_deny=False)


async def delete_policy(tx: Transaction, actor: Actor, id: str) -> None:
    there = await rows.select_policy(tx, id)
    if there is None or not await rows.delete_policy(tx, id):
        raise NotFound(f"There is no policy {id!r}.")
    note(tx, actor, "policy.deleted", "policy", id, **_about(there))


# ── calls that wait ─────────────────────────────────────────────────────────────────────────────────────────────────


async def ask(tx: Transaction, waiting: Waiting) -> None:
    """A call waits for somebody: tell whoever follows, and those who are away."""
    _tell(tx, ToolRequiresAction, waiting)
    call = Asked(
        call_id=waiting.call_id,
        kind=waiting.kind,
        agent_id=waiting.agent_id,
        tool_name=waiting.tool_name,
        space_id=waiting.space_id,
        visible=waiting.visible,
        person_id=waiting.cause.id if waiting.cause.kind == "person" else None,
    )
    await webhooks.asked(tx, call, waiting.asks)


def tell_over(tx: Transaction, waiting: Waiting) -> None:
    """It has its answer, or nobody will give one any more."""
    _tell(tx, PendingResolved, waiting)


def tell_end(tx: Transaction, waiting: Waiting, said: Mapping[str, Any]) -> None:
    """Its run has gone on without it, and this is what came of it: `result`, or `error`."""
    failed = "error" in said
    result = here().clean_json({"error": said["error"]} if failed else said.get("result"))
    call = SettledCall(
        call_id=waiting.call_id,
        tool_name=waiting.tool_name,
        args=waiting.args,
        result=result,
        answered_by=waiting.answered_by,
    )
    kind = ToolError if failed else ToolDone
    event = kind(space_id=waiting.space_id, agent_id=waiting.agent_id, run_id=waiting.run_id, call=call)
    record(tx, event, audience=audience(waiting))


def _tell(tx: Transaction, kind: type[PendingCallEvent], waiting: Waiting) -> None:
    event = kind(space_id=waiting.space_id, agent_id=waiting.agent_id, run_id=waiting.run_id, call=waiting.shown)
    record(tx, event, audience=audience(waiting))


def audience(waiting: Waiting) -> Audience:
    return "space" if waiting.visible and waiting.space_id is not None else "owners"
