"""The only way to act.

`execute` is the one door, and binds the tools that an agent lists to its identity; `registry` knows all there are.
Does not know runs: what a call needs to be recorded is a port (`Journal`) that runs implement.
"""

from bullpen.tools.schema import tool
from bullpen.tools.types import Tool, ToolContext

__all__ = ["Tool", "ToolContext", "tool"]
