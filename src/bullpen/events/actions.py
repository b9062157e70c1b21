"""Record an event in the transaction that makes it true."""

from __future__ import annotations

from typing import Any, Final

import orjson

from bullpen.errors import Broken
from bullpen.events import rows
from bullpen.events.types import Audience
from bullpen.storage import Stage, Topic, Transaction
from bullpen.storage.statements import storable
from bullpen.wire import STORED_EVENTS, Wire

RECORDED: Final = Topic[None]("events were recorded")


def encode(value: Any) -> Any:
    if isinstance(value, Wire):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"cannot encode {type(value).__name__}")


def body(type: str, at: str, *, space_id: str | None, agent_id: str | None, run_id: str | None, fields: Any) -> bytes:
    """The one JSON object that followers get, in the order people read it."""
    head: dict[str, Any] = {"type": type}
    if space_id is not None:
        head["spaceId"] = space_id
    if agent_id is not None:
        head["agentId"] = agent_id
    if run_id is not None:
        head["runId"] = run_id
    head["at"] = at
    head.update(fields)
    return orjson.dumps(head, default=encode)


class Recorder:
    """Collects a transaction's events, so that they are numbered and written together, last."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    async def write(self, tx: Transaction) -> None:
        await rows.insert_events(tx, self.rows)


async def in_turn(tx: Transaction, *things: str) -> None:
    """Change these one transaction after the other. Comes before anything is read or written.

    Events are read in the order in which transactions got their numbers. Two that change the same row get theirs first
    and wait for the row then, so the later number may well change it first; a follower would end up with the change
    that lost (seen in 49 of 60 rounds of eight edits at once). Whoever waits here has no number yet.
    """
    # Models and callers name things too; what cannot be stored is the name of nothing.
    named = sorted(thing for thing in things if storable(thing))
    if tx.store.shared and named:
        await rows.take_turns(tx, named)


def access_changed(tx: Transaction, holder_id: str, credential: str | None = None, *, but_for: str = "") -> None:
    """What somebody may do has changed: streams they opened end, and they come back as who they are now.

    With `credential`, only those that were opened with that token or session; `but_for` spares one.
    """
    record(tx, "access_changed", access={"holderId": holder_id, "credential": credential, "butFor": but_for})


def record(
    tx: Transaction,
    type: str,
    *,
    space_id: str | None = None,
    agent_id: str | None = None,
    run_id: str | None = None,
    audience: Audience = "space",
    **fields: Any,
) -> None:
    """Keep a fact and tell followers, if and when `tx` commits. `fields` holds the noun under its own name."""
    if type not in STORED_EVENTS:
        raise Broken(f"{type!r} is not an event that is stored; see bullpen.wire.events.")
    if space_id is None and audience != "all":
        audience = "owners"
    recorder = tx.notes.get("events")
    if recorder is None:
        recorder = tx.notes["events"] = Recorder()
        tx.defer(Stage.EVENTS, "", recorder.write)
        tx.tell(RECORDED, None)
    at = tx.clock.now()
    text = body(type, at, space_id=space_id, agent_id=agent_id, run_id=run_id, fields=fields).decode()
    recorder.rows.append(
        {
            "type": type,
            "space_id": space_id,
            "agent_id": agent_id,
            "run_id": run_id,
            "audience": audience,
            "at": at,
            "body": text,
        }
    )
