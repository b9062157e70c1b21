"""Trying a model out, as the SDK has it: `bp.models`."""

from __future__ import annotations

from typing import Any

from bullpen.client.connection import Connection, path
from bullpen.wire.nouns import ModelCheck

SECONDS = 45.0  # the server gives the model thirty


class Models:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def check(self, model: Any, *, api_key_variable: str | None = None, api_key: str | None = None) -> ModelCheck:
        """Ask a model one question: was it reached, was the key accepted, did it answer? Raises nothing for a no."""
        keys = {"apiKeyVariable": api_key_variable, "apiKey": api_key}
        body = {"model": model, **{name: value for name, value in keys.items() if value is not None}}
        return ModelCheck.model_validate(
            await self._connection.request("POST", path("models", "check"), body=body, seconds=SECONDS)
        )
