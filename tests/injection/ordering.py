"""An order as EvilModel reads it."""

from __future__ import annotations

from typing import Any

import orjson


def order(name: str, **args: Any) -> str:
    return f"CALL {name} {orjson.dumps(args).decode()}"
