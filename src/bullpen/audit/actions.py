"""Note what was done, in the transaction that does it; check that nobody has changed the notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from bullpen.audit import rows, rules
from bullpen.audit.types import Break, Entry
from bullpen.observe.redact import REDACTOR
from bullpen.storage import Stage, Store, Transaction

PAGE = 1000


class Actor(Protocol):
    """Whoever did it: any principal."""

    @property
    def kind(self) -> str: ...

    @property
    def id(self) -> str: ...


class Recorder:
    """Collects a transaction's rows. They are numbered last: the head is locked from there to the commit only."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    async def write(self, tx: Transaction) -> None:
        last, hash = await rows.lock_head(tx)
        numbered = []
        for number, noted in enumerate(self.entries, last + 1):
            entry = replace(noted, number=number)
            hash = rules.chained(hash, entry)
            numbered.append(replace(entry, hash=hash))
        await rows.insert_entries(tx, numbered)


def note(tx: Transaction, actor: Actor, action: str, object_kind: str, object_id: str, **detail: Any) -> None:
    """Keep that `actor` did this, if and when `tx` commits. It costs no commit of its own."""
    recorder = tx.notes.get("audit")
    if recorder is None:
        recorder = tx.notes["audit"] = Recorder()
        tx.defer(Stage.AUDIT, "", recorder.write)
    detail = REDACTOR.clean_json(detail)
    recorder.entries.append(Entry(0, tx.clock.now(), actor.kind, actor.id, action, object_kind, object_id, detail))


async def verify(store: Store) -> Break | int:
    """The first break of the chain, or how many rows hold."""

    async def body(tx: Transaction) -> Break | int:
        chain = rules.Chain()
        while page := await rows.select_rising(tx, after=chain.number, limit=PAGE):
            if broken := chain.follow(page):
                return broken
        return chain.ends_at(*await rows.select_head(tx)) or chain.number

    return await store.read(body)
