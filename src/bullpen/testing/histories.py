"""What clients saw, as files of JSON lines: what senders know of their sends, and what followers were told.

Jepsen's way: a send is `ok`, `failed` or `unknown` (no answer came, so it may or may not have happened). The invariants
V1 and V4 compare these with the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "failed", "unknown"]
# An event's place in the stream: the two numbers at the end of its cursor.
Pair: TypeAlias = tuple[int, int]

MAY_EXIST: dict[Outcome, tuple[int, ...]] = {"ok": (1,), "failed": (0,), "unknown": (0, 1)}


@dataclass(frozen=True, slots=True)
class Send:
    client_message_id: str
    outcome: Outcome
    space_id: str | None = None

    @property
    def may_exist(self) -> tuple[int, ...]:
        return MAY_EXIST[self.outcome]


@dataclass(frozen=True, slots=True)
class Follower:
    """What one follower was told over all its connections."""

    name: str
    places: tuple[Pair, ...]
    after: Pair | None = None  # the cursor it began with; None: it began with the first event it saw
    space_id: str | None = None  # None: all that it may see
    owner: bool = True

    def may_see(self, space_id: str | None, audience: str) -> bool:
        if self.space_id is not None and space_id != self.space_id:
            return False
        return self.owner or audience != "owners"


def pair(cursor: str) -> Pair:
    _, xid, id = cursor.split(".")
    return int(xid), int(id)


def write_sends(path: Path, sends: Iterable[Send]) -> None:
    lines = ({"clientMessageId": s.client_message_id, "outcome": s.outcome, "spaceId": s.space_id} for s in sends)
    _write(path, lines)


def read_sends(path: Path) -> list[Send]:
    return [Send(line["clientMessageId"], line["outcome"], line.get("spaceId")) for line in _read(path)]


def write_follower(path: Path, follower: Follower) -> None:
    head = {
        "follower": follower.name,
        "after": follower.after,
        "spaceId": follower.space_id,
        "owner": follower.owner,
    }
    _write(path, [head, *({"place": place} for place in follower.places)])


def read_follower(path: Path) -> Follower:
    head, *lines = _read(path)
    return Follower(
        name=head.get("follower", path.name),
        places=tuple((line["place"][0], line["place"][1]) for line in lines),
        after=None if head.get("after") is None else (head["after"][0], head["after"][1]),
        space_id=head.get("spaceId"),
        owner=head.get("owner", True),
    )


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


# ── effects outside the database ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Effect:
    """Something a tool did to the world outside: the class of the tool, the call, and the idempotency key it used."""

    kind: str
    call_id: str
    key: str


def append_effect(path: Path, effect: Effect) -> None:
    """One line, in one write: a process that dies right after it has left it behind whole."""
    with path.open("a") as file:
        file.write(json.dumps({"kind": effect.kind, "callId": effect.call_id, "key": effect.key}) + "\n")


def read_effects(path: Path) -> list[Effect]:
    return [Effect(line["kind"], line["callId"], line["key"]) for line in _read(path)] if path.exists() else []
