"""Connections and models, as the SDK has them: `bp.models`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen.client import connection as http
from bullpen.client.connection import Page, path
from bullpen.wire.nouns import ConnectionProvider, ModelCheck, ModelConnection, OfferedModel

SECONDS = 45.0  # the server gives the model thirty
UNSAID: Any = object()


class Models:
    """Where models are asked. An agent's model names a connection: `{"connection": ID, "name": "…"}`."""

    def __init__(self, connection: http.Connection) -> None:
        self._connection = connection

    async def list(self) -> Page[ModelConnection]:
        found = await self._connection.request("GET", path("models"))
        return Page([ModelConnection.model_validate(item) for item in found["items"]], found.get("next"))

    async def connect(
        self,
        provider: ConnectionProvider,
        *,
        name: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        api_key_variable: str | None = None,
        default_model: str | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> ModelConnection:
        """`openai-chat` is any server that speaks like OpenAI. `models`: by name, with price and contextTokens."""
        said = {
            "provider": provider,
            "name": name,
            "baseUrl": base_url,
            "apiKey": api_key,
            "apiKeyVariable": api_key_variable,
            "defaultModel": default_model,
            "models": models,
        }
        body = {field: value for field, value in said.items() if value is not None}
        return ModelConnection.model_validate(await self._connection.request("POST", path("models"), body=body))

    async def update(
        self,
        id: str,
        *,
        name: str = UNSAID,
        base_url: str | None = UNSAID,
        api_key: str | None = UNSAID,
        api_key_variable: str | None = UNSAID,
        default_model: str | None = UNSAID,
        models: Mapping[str, Any] = UNSAID,
    ) -> ModelConnection:
        """What is left out stays; None takes away. Another address needs its key anew."""
        said = {
            "name": name,
            "baseUrl": base_url,
            "apiKey": api_key,
            "apiKeyVariable": api_key_variable,
            "defaultModel": default_model,
            "models": models,
        }
        body = {field: value for field, value in said.items() if value is not UNSAID}
        return ModelConnection.model_validate(
            await self._connection.request("PATCH", path("models", id), body=body, repeatable=True)
        )

    async def delete(self, id: str) -> None:
        """Refused while agents use it."""
        await self._connection.request("DELETE", path("models", id))

    async def offered(self, id: str, *, fresh: bool = False) -> Page[OfferedModel]:
        """The models that its server offers. Raises nothing if that cannot be asked: `models.check` says why."""
        found = await self._connection.request(
            "GET", path("models", id, "list"), query={"fresh": fresh or None}, seconds=SECONDS
        )
        return Page([OfferedModel.model_validate(item) for item in found["items"]], found.get("next"))

    async def check(self, model: Any, *, api_key_variable: str | None = None, api_key: str | None = None) -> ModelCheck:
        """Ask a model one question: was it reached, was the key accepted, did it answer? Raises nothing for a no."""
        keys = {"apiKeyVariable": api_key_variable, "apiKey": api_key}
        body = {"model": model, **{name: value for name, value in keys.items() if value is not None}}
        return ModelCheck.model_validate(
            await self._connection.request("POST", path("models", "check"), body=body, seconds=SECONDS)
        )
