"""A block of memory, as its row holds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    label: str
    content: str
    updated_at: str
    outside: tuple[str, ...] = ()  # what the run that wrote it had read from outside the office
