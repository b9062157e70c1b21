"""What was found about one part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    level: Level
    message: str  # one sentence
    advice: str = ""  # what to do about it


def ok(part: str, message: str) -> Finding:
    return Finding(part, "ok", message)


def warning(part: str, message: str, advice: str) -> Finding:
    return Finding(part, "warning", message, advice)


def problem(part: str, message: str, advice: str) -> Finding:
    return Finding(part, "problem", message, advice)
