"""The chain: each row's hash covers the row and the hash before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import orjson

from bullpen.audit.types import Break, Entry


def chained(before: str, entry: Entry) -> str:
    """The hash of a row that follows one with the hash `before`."""
    said = [
        before,
        entry.number,
        entry.at,
        entry.actor_kind,
        entry.actor_id,
        entry.action,
        entry.object_kind,
        entry.object_id,
        entry.detail,
    ]
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Chain:
    """Walks a chain page by page, so that a long one needs no memory."""

    def __init__(self) -> None:
        self.number = 0
        self.hash = ""

    def follow(self, entries: Iterable[Entry]) -> Break | None:
        for entry in entries:
            if entry.number != self.number + 1:
                return Break(self.number + 1, f"row {self.number + 1} is missing")
            if chained(self.hash, entry) != entry.hash:
                return Break(entry.number, f"row {entry.number} was changed")
            self.number, self.hash = entry.number, entry.hash
        return None

    def ends_at(self, number: int, hash: str) -> Break | None:
        """Rows cut off at the end leave a chain that holds; the head remembers how long it was."""
        if (self.number, self.hash) == (number, hash):
            return None
        if self.number < number:
            return Break(self.number + 1, f"row {self.number + 1} and all after it are missing")
        if self.number > number:
            return Break(number + 1, f"row {number + 1} was added by somebody else")
        return Break(self.number, "the head of the chain was changed")
