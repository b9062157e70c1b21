"""Record an event in the transaction that makes it true."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import orjson

from bullpen.events import rows
from bullpen.events.types import Audience
from bullpen.storage import Stage, Topic, Transaction
from bullpen.storage.statements import storable
from bullpen.wire import Wire
from bullpen.wire.events import AccessChanged, ChangedAccess, Detail, Event, RecordedEvent, carried_fields


@cache
def _sent(kind: type[Detail]) -> tuple[tuple[str, str, bool], ...]:
    """Each field: its name, its name on the wire, and whether it is sent even if it is None."""
    return tuple((name, field.alias or name, field.is_required()) for name, field in kind.model_fields.items())


RECORDED: Final = Topic[None]("events were recorded")


def encode(value: Any) -> Any:
    """A noun, or a detail of an event, as its JSON object."""
    if isinstance(value, Detail):
        found = {}
        for name, alias, always in _sent(type(value)):
            inner = getattr(value, name)
            if always or inner is not None:
                found[alias] = inner
        return found
    if isinstance(value, Wire):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"cannot encode {type(value).__name__}")


def carried(event: Event) -> dict[str, Any]:
    """What the event carries besides its head, as JSON."""
    found = {}
    for name, alias in carried_fields(type(event)).items():
        value = getattr(event, name)
        found[alias] = encode(value) if isinstance(value, Wire) else value
    return found


def body(event: Event, at: str) -> bytes:
    """The one JSON object that followers get, in the order people read it."""
    found: dict[str, Any] = {"type": event.type}
    if event.space_id is not None:
        found["spaceId"] = event.space_id
    if event.agent_id is not None:
        found["agentId"] = event.agent_id
    if event.run_id is not None:
        found["runId"] = event.run_id
    found["at"] = at
    found |= carried(event)
    return orjson.dumps(found, default=encode)


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
    record(tx, AccessChanged(access=ChangedAccess(holder_id=holder_id, credential=credential, but_for=but_for)))


def limit_audience(event: Event, audience: Audience) -> Audience:
    """What happens in no space has no members who could be told: it is for owners, unless it is for others besides."""
    return "owners" if event.space_id is None and audience == "space" else audience


def record(tx: Transaction, event: RecordedEvent, *, audience: Audience = "space") -> None:
    """Keep a fact and tell followers, if and when `tx` commits."""
    recorder = tx.notes.get("events")
    if recorder is None:
        recorder = tx.notes["events"] = Recorder()
        tx.defer(Stage.EVENTS, "", recorder.write)
        tx.tell(RECORDED, None)
    at = tx.clock.now()
    recorder.rows.append(
        {
            "type": event.type,
            "space_id": event.space_id,
            "agent_id": event.agent_id,
            "run_id": event.run_id,
            "audience": limit_audience(event, audience),
            "at": at,
            "body": body(event, at).decode(),
        }
    )
