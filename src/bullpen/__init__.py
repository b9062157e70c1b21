"""Bullpen: an office where AI agents and people share the same rooms, and agents act only through tools.

Importing this package imports nothing heavy; the parts are found by following the path of a message:
spaces, inbox, engine, runs, llm, tools, toolbox, events. `from bullpen import tool` is for those who write tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bullpen.define import tool

__version__ = "0.1.0"
__all__ = ["__version__", "tool"]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: every command imports this package, and few write tools.
    if name == "tool":
        return import_module("bullpen.define").tool
    raise AttributeError(f"module 'bullpen' has no attribute {name!r}")
