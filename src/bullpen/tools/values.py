"""Calls that wait for values of variables: what is missing, where a value is kept, and what is told of it. Pure.

Such a call is a pending call of the kind `variables`. It has been judged, and approved if it had to be; nothing of it
is carried out before the values are there. A value goes into the variables of the office and nowhere else: the call's
row holds names. Who may give one is said in operations/answers.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from bullpen.errors import Invalid
from bullpen.inbox.types import Cause
from bullpen.tools.types import RunView, Tool, Waiting
from bullpen.wire.nouns import ScopeKind
from bullpen.wire.requests import ValuesAnswer

EXAMPLE: Final = 'Write {"env": {"NAME": "the value"}}.'


def list_needs(missing: Iterable[Mapping[str, Any]], run: RunView, tool: Tool) -> list[dict[str, Any]]:
    """What is asked for, each with the narrowest scope in which the call would find it.

    That is the person for whom the call is made: others in the room do not get to use what is theirs. A variable that
    is declared as scoped belongs to its thread. `sentTo` is the server that gets the value, if the tool has one.
    """
    return [
        {
            "name": each["name"],
            "type": each["type"],
            "description": each["description"],
            "scope": {"kind": "thread", "id": run.thread_id}
            if each["scoped"]
            else {"kind": "person", "id": run.cause.id},
            **({"sentTo": tool.sent_to[each["name"]]} if each["name"] in tool.sent_to else {}),
        }
        for each in missing
    ]


def names_of(needs: Sequence[Mapping[str, Any]] | None) -> list[str]:
    return [str(need["name"]) for need in needs or ()]


def scope_id(waiting: Waiting, kind: ScopeKind) -> str | None:
    """Which scope of this kind the call looks into."""
    cause: Cause = waiting.cause
    ids = {"thread": waiting.thread_id, "agent": waiting.agent_id, "space": waiting.space_id, "person": cause.id}
    return ids.get(kind)


def told(waiting: Waiting) -> dict[str, Any]:
    """What the model reads while nobody has given the values."""
    names = names_of(waiting.needs)
    message = (
        f"This call waits for somebody to give a value for {', '.join(names)}, and has not been carried out. People "
        "are asked on a card of their own: do not ask for values in a message. Its result will come by itself. Go on "
        "with something else, and do not call it again."
    )
    return {
        "status": "waiting_for_values",
        "pendingToolCallId": waiting.call_id,
        "variables": names,
        "message": message,
    }


def unanswered(waiting: Waiting) -> str:
    names = ", ".join(names_of(waiting.needs))
    return f"Nobody gave a value for {names} in time, so {waiting.tool_name} was not carried out."


def parsed(waiting: Waiting, result: Any) -> ValuesAnswer:
    """Somebody's answer. No message and no field of an error says anything of a value."""
    try:
        answer = ValuesAnswer.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False)[0]
        field = ".".join(["result", *(str(part)[:200] for part in first["loc"] if part != "[key]")])
        raise Invalid(f"This gives no values. {EXAMPLE}", fields={field: first["msg"]}) from None
    asked = names_of(waiting.needs)
    if unknown := [name for name in answer.env if name not in asked]:
        message = f"The call does not ask for {unknown[0][:60]!r}. It asks for {', '.join(asked)}."
        raise Invalid(message, fields={f"result.env.{unknown[0][:200]}": "is not asked for"})
    if missing := [name for name in asked if not answer.env.get(name, "").strip()]:
        message = f"The call also needs a value for {', '.join(missing)}. Give all of them in one answer."
        raise Invalid(message, fields={f"result.env.{name}": "is missing or empty" for name in missing})
    return answer
