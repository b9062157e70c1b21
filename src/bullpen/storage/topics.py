"""Topics: what a change tells the rest of this process.

The noun that changes defines a topic and says `tx.tell(TOPIC, value)`. Whoever wants to know says `store.listen` or
`store.listen_after`. Storage carries what is told and knows no topic by name.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Topic(Generic[T]):
    """Compared by identity; `name` is for people. `T` is what is told."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Topic({self.name!r})"
