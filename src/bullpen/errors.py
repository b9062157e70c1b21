"""Our errors.

BullpenError
├── RequestError            the caller must change something           → HTTP 4xx
│   ├── NotFound            or hidden from you: deliberately the same
│   ├── Unauthenticated     no token, or one we do not know
│   ├── Forbidden           you see it, but may not do this
│   ├── Invalid             fields: what is wrong with which
│   ├── TooLarge            the body is over the limit
│   ├── QuotaExceeded       no more files fit into the space, or whoever has them has too many
│   ├── TooManyRequests     slow down; retry_after says for how long
│   ├── Gone                it was there; its time is over
│   └── Conflict            it contradicts what is there already
│       ├── AlreadyExists
│       ├── SpaceArchived       nobody writes there; somebody has to restore it first
│       └── RunAlreadyFinished
├── ToolError               the agent will be told, and may adapt      → a tool result
│   ├── ToolFailed          it is over
│   ├── BadArguments        try again, differently
│   ├── VariablesRequired   values that somebody must set first; `missing` says which
│   └── PathOutside         a path that is not one inside the thread's folder
├── ModelError              the provider failed
│   ├── ModelUnavailable    asked again, a few times; retry_after says when, if the provider did
│   └── ModelRefused        the run ends
│       ├── ModelDeclined   the model, or a filter of its provider, does not want to answer this
│       └── ContextTooLong  it was shown more than it can take
├── EgressError             a request to the outside came to nothing   → whoever asked decides; `sent` helps
│   ├── EgressDenied        our own rules forbid it; `rule` says which
│   ├── EgressTimeout       it took too long
│   ├── EgressTooLarge      the answer is larger than whoever asked would take
│   └── EgressFailed        no connection, no trust, no HTTP, or half an answer
├── Unavailable             we cannot do this just now                 → HTTP 503, try again
│   ├── SetupRequired       nobody owns this office yet
│   ├── DiskFull                                                       → HTTP 507
│   └── KeyMissing          a secret is sealed with a key that this server does not have
├── Fenced                  another worker drives this thread now; stop writing
├── CannotStart             the operator must change something         → exit code 1
└── Broken                  our bug: an invariant does not hold        → HTTP 500, loud
    ├── SecretInvalid       a sealed secret was changed, or moved to where it does not belong
    └── Unreadable          a stored row was changed by somebody else, so that nothing can go on from it

A code for machines, a sentence for people, fields for both. The sentence says what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal


class BullpenError(Exception):
    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fields = dict(fields or {})


class RequestError(BullpenError):
    code = "bad_request"


class NotFound(RequestError):
    code = "not_found"


class Unauthenticated(RequestError):
    code = "unauthenticated"


class Forbidden(RequestError):
    code = "forbidden"


class Invalid(RequestError):
    code = "invalid"


class TooLarge(RequestError):
    code = "too_large"


class QuotaExceeded(RequestError):
    code = "quota_exceeded"


class TooManyRequests(RequestError):
    code = "too_many_requests"

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Gone(RequestError):
    code = "gone"


class Conflict(RequestError):
    code = "conflict"


class AlreadyExists(Conflict):
    code = "already_exists"


class SpaceArchived(Conflict):
    code = "space_archived"

    def __init__(self, space_id: str) -> None:
        super().__init__(f"The space {space_id!r} is archived, so nobody writes there. Restore it first.")


class RunAlreadyFinished(Conflict):
    code = "run_already_finished"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id} has finished; start a new one by posting a message.")


class ToolError(BullpenError):
    code = "tool_error"


class ToolFailed(ToolError):
    code = "tool_failed"


class BadArguments(ToolError):
    code = "bad_arguments"


class CheckFailed(ToolError):
    """To check the arguments took more time or memory than there is for it."""

    code = "check_failed"


class VariablesRequired(ToolError):
    """Nothing can go on before these have values."""

    code = "variables_required"

    def __init__(self, missing: Sequence[Mapping[str, Any]]) -> None:
        names = ", ".join(str(each["name"]) for each in missing)
        super().__init__(f"This needs a value for {names}. Ask a person who manages this office to set it.")
        self.missing = list(missing)


class PathOutside(ToolError):
    code = "path_outside_workspace"


class ModelError(BullpenError):
    code = "model_error"
    # How far the request came, for whoever tries a model out.
    reached = False  # a server has answered
    accepted = False  # and has taken the key and the model's name
    problem: Literal["key", "model"] | None = None  # which of the two it has not taken, if it said so


class ModelUnavailable(ModelError):
    code = "model_unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class ModelRefused(ModelError):
    code = "model_refused"


class ModelDeclined(ModelRefused):
    code = "model_declined"


class ContextTooLong(ModelRefused):
    code = "context_too_long"


class EgressError(BullpenError):
    """`sent` is False if the other side has surely not seen the request; only then is repeating it surely harmless."""

    code = "egress_error"

    def __init__(self, message: str, *, sent: bool = False, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message, fields=fields)
        self.sent = sent


class EgressDenied(EgressError):
    code = "egress_denied"

    def __init__(self, rule: str, message: str, *, sent: bool = False) -> None:
        super().__init__(message, sent=sent, fields={"rule": rule})
        self.rule = rule


class EgressTimeout(EgressError):
    code = "egress_timeout"


class EgressTooLarge(EgressError):
    code = "egress_too_large"


class EgressFailed(EgressError):
    code = "egress_failed"


class Unavailable(BullpenError):
    """The database cannot be used just now. The sentence says whether anything was changed."""

    code = "unavailable"


class SetupRequired(Unavailable):
    code = "setup_required"


class DiskFull(Unavailable):
    code = "disk_full"


class KeyMissing(Unavailable):
    code = "key_missing"


class Fenced(BullpenError):
    code = "fenced"


class CannotStart(BullpenError):
    code = "cannot_start"


class Broken(BullpenError):
    code = "broken"


class SecretInvalid(Broken):
    code = "secret_invalid"


class Unreadable(Broken):
    code = "unreadable"
