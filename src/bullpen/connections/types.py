"""What a model of a connection comes to, ready to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bullpen.llm.prices import Price


@dataclass(frozen=True, slots=True)
class Resolved:
    """`spec` names a provider, and no connection. A connection that is gone stays in it: nobody can build that."""

    spec: Any
    prices: Mapping[str, Price] = field(default_factory=dict)  # by `provider:name`: what people set
    context_tokens: int | None = None  # the most that the model takes, if somebody said so
