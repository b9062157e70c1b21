"""The SDK: use a Bullpen server from Python.

    async with Bullpen(url, token) as bp:
        await bp.spaces("general").send("hello everyone")
        reply = await bp.spaces("general").ask("@ada how was Q3?")
        async for event in bp.events(space="general"): ...
        await bp.serve_tools(fetch_report)      # a function made a tool with @tool; runs its calls here

Imports `bullpen.wire`, `bullpen.define` and httpx, and nothing of the server. Errors are the classes of
`bullpen.wire.errors`, one per code, plus `Unreachable` when nobody answered.
"""

from bullpen.client.client import Applied, Bullpen, Change, NewToken
from bullpen.client.connection import Page, Unreachable
from bullpen.client.follow import Event, Follow
from bullpen.client.reply import NoReply, Reply
from bullpen.define import Call, FunctionTool, tool
from bullpen.wire.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    QuotaExceeded,
    RunAlreadyFinished,
    ServerError,
    SpaceArchived,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
)

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Applied",
    "BadRequest",
    "Bullpen",
    "Call",
    "Change",
    "Conflict",
    "Event",
    "Follow",
    "Forbidden",
    "FunctionTool",
    "Gone",
    "Invalid",
    "NewToken",
    "NoReply",
    "NotFound",
    "Page",
    "QuotaExceeded",
    "Reply",
    "RunAlreadyFinished",
    "ServerError",
    "SpaceArchived",
    "TooLarge",
    "TooManyRequests",
    "Unauthenticated",
    "Unreachable",
    "tool",
]
