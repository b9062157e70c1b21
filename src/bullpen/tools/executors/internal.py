"""Internal tools: nothing is carried out. The call itself is the point, such as a chart that the page draws."""

from __future__ import annotations

from typing import Any

from bullpen.tools.types import Effect, ToolContext
from bullpen.wire.nouns import ToolConfig


def make_function(config: ToolConfig) -> tuple[Any, Effect]:
    async def shown(context: ToolContext, /, **args: Any) -> dict[str, Any]:
        return {"success": True, "args": args}

    return shown, "tx"
