"""Trying a model out, as the SDK has it: `bp.models`."""

from __future__ import annotations

from typing import Any

from bullpen.client.connection import Connection, path
from bullpen.wire.nouns import ModelCheck

SECONDS = 45.0  # the server gives the model thirty


class Models:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def check(self, model: Any, *, api_key_variable: str | None = None) -> ModelCheck:
        """Ask a model one question: was it reached, was the key accepted, did it answer? Raises nothing for a no."""
        body = {"model": model} if api_key_variable is None else {"model": model, "apiKeyVariable": api_key_variable}
        return ModelCheck.model_validate(
            await self._connection.request("POST", path("models", "check"), body=body, seconds=SECONDS)
        )
