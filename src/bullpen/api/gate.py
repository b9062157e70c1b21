"""The gate: until somebody owns the office, it offers only what claiming it needs.

A plain ASGI layer, so that no route can forget it. The local socket is behind it: its holder may claim the office, and
may look around before.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from bullpen.access import actions as access
from bullpen.api.door import LOCAL
from bullpen.api.errors import error_response
from bullpen.api.office import office_of
from bullpen.errors import Unavailable

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/docs", "/api/setup"})
ASSETS = "/assets/"


class Gate:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._claimed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._claimed or scope["type"] != "http" or scope.get(LOCAL) or _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        # Asked anew each time: another process may have been claimed meanwhile. Once claimed is for ever.
        try:
            self._claimed = await office_of(scope["app"]).store.read(access.is_claimed)
        except Unavailable as error:  # nobody below us would turn it into an answer
            await error_response(503, error.code, error.message)(scope, receive, send)
            return
        if self._claimed:
            await self._app(scope, receive, send)
            return
        refusal = error_response(
            503, "setup_required", "Nobody owns this office yet. Open the claim link that the server printed."
        )
        await refusal(scope, receive, send)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(ASSETS)
