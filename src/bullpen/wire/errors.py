"""Errors as they cross the network: `{"error": {"code", "message", "fields"}}` and a status.

ApiError
├── BadRequest              the caller must change something
│   ├── Unauthenticated     no token, or one the server does not know
│   ├── Forbidden           you see it, but may not do this
│   ├── NotFound            or hidden from you: deliberately the same
│   ├── Invalid             fields: what is wrong with which
│   ├── Gone                it was there; its time is over
│   ├── TooLarge
│   ├── QuotaExceeded       no more files fit
│   ├── TooManyRequests     wait, then try again
│   └── Conflict            it contradicts what is there already
│       ├── AlreadyExists
│       ├── SpaceArchived   nobody writes there
│       └── RunAlreadyFinished
└── ServerError             the server must change something
    └── Unavailable         it cannot do this just now
        └── SetupRequired   nobody owns the office yet

The names and codes are those of the server's own `bullpen.errors`; this is the half that a caller can meet, and
`rebuild` turns an answer back into its class. A code nobody here knows becomes the class of its status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


class ApiError(Exception):
    code: str = "error"
    usual_status: ClassVar[int] = 0

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        fields: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = self.usual_status if status is None else status
        self.code = code or type(self).code
        self.fields = dict(fields or {})
        self.retry_after = retry_after


class BadRequest(ApiError):
    code = "bad_request"
    usual_status = 400


class Unauthenticated(BadRequest):
    code = "unauthenticated"
    usual_status = 401


class Forbidden(BadRequest):
    code = "forbidden"
    usual_status = 403


class NotFound(BadRequest):
    code = "not_found"
    usual_status = 404


class Conflict(BadRequest):
    code = "conflict"
    usual_status = 409


class AlreadyExists(Conflict):
    code = "already_exists"


class SpaceArchived(Conflict):
    code = "space_archived"


class RunAlreadyFinished(Conflict):
    code = "run_already_finished"


class Gone(BadRequest):
    code = "gone"
    usual_status = 410


class TooLarge(BadRequest):
    code = "too_large"
    usual_status = 413


class QuotaExceeded(BadRequest):
    code = "quota_exceeded"
    usual_status = 413


class Invalid(BadRequest):
    code = "invalid"
    usual_status = 422


class TooManyRequests(BadRequest):
    code = "too_many_requests"
    usual_status = 429


class ServerError(ApiError):
    code = "internal"
    usual_status = 500


class Unavailable(ServerError):
    code = "unavailable"
    usual_status = 503


class SetupRequired(Unavailable):
    code = "setup_required"


def _tree(root: type[ApiError]) -> Iterator[type[ApiError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


_BY_CODE: Mapping[str, type[ApiError]] = {kind.code: kind for kind in _tree(ApiError)}
# Parents come before their children, so the first class of a status is the general one.
_BY_STATUS: Mapping[int, type[ApiError]] = {
    kind.usual_status: kind for kind in reversed(list(_tree(ApiError))) if "usual_status" in vars(kind)
}


def rebuild(status: int, body: Any, *, retry_after: float | None = None) -> ApiError:
    """The error that an answer tells of. Anything may come back from a proxy, so nothing about `body` is assumed."""
    told = body.get("error") if isinstance(body, Mapping) else None
    told = told if isinstance(told, Mapping) else {}
    code, message, fields = told.get("code"), told.get("message"), told.get("fields")
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else BadRequest)
    if isinstance(code, str):
        kind = _BY_CODE.get(code, kind)
    return kind(
        message if isinstance(message, str) else f"The server answered with status {status} and no explanation.",
        status=status,
        code=code if isinstance(code, str) else None,
        fields={str(name): str(what) for name, what in fields.items()} if isinstance(fields, Mapping) else None,
        retry_after=retry_after,
    )


__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Conflict",
    "Forbidden",
    "Gone",
    "Invalid",
    "NotFound",
    "QuotaExceeded",
    "RunAlreadyFinished",
    "ServerError",
    "SetupRequired",
    "SpaceArchived",
    "TooLarge",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "rebuild",
]
