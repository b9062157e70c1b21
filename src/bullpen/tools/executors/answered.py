"""External and space tools: somebody else's program, or a person in the room, gives the result.

Nothing runs here: tools/execute.py asks them, and tools/pending.py takes what they say.
"""

from __future__ import annotations

from typing import Any

from bullpen.errors import Broken
from bullpen.tools.types import Effect, ToolContext
from bullpen.wire.nouns import ToolConfig


def make_function(config: ToolConfig) -> tuple[Any, Effect]:
    async def never(context: ToolContext, /, **args: Any) -> Any:
        raise Broken(f"{config.name} is answered by somebody else, and was run here.")

    return never, config.effect or "once"
