"""What a provider's refusals mean to us: asked again later, asked for less, or told to somebody. Pure.

Providers say it by status, by a code in the body, or in the middle of a stream; all of it comes to one of our errors
here. Sentences name the model, the server and the variable that holds the key; never a key, and what a provider wrote
is cleaned and cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import orjson

from bullpen.errors import ContextTooLong, ModelDeclined, ModelError, ModelRefused, ModelUnavailable
from bullpen.observe.redact import REDACTOR

LONGEST_QUOTE = 300
LONGEST_WAIT = 86_400.0

_TOO_LONG = re.compile(
    r"prompt is too long|context.{0,10}length|context.{0,10}window|maximum context|too many (?:input )?tokens"
    r"|exceeds? the (?:model'?s )?(?:maximum|available) (?:number of tokens|context)"
    r"|reduce the length|request_too_large",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing|payment|insufficient_funds", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content_policy|policy_violation|safety|bio_policy", re.IGNORECASE)
_LATER = re.compile(
    r"overloaded|rate_limit|server_error|api_error|timeout|unavailable|internal|capacity|try again", re.IGNORECASE
)
_WRONG_KEY = re.compile(r"authentication|invalid_api_key|permission|unauthorized", re.IGNORECASE)
_UNKNOWN = re.compile(r"model_not_found|not_found_error", re.IGNORECASE)
_LATER_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})


@dataclass(frozen=True, slots=True)
class About:
    """Who was asked, for sentences."""

    model: str  # anthropic:claude-…
    server: str  # https://api.example.com
    key: str = ""  # which variable the key came from, or ''

    def __str__(self) -> str:
        return f"{self.model} at {self.server}"


@dataclass(frozen=True, slots=True)
class Told:
    """What a body says went wrong."""

    kind: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.message}"


def told_in(value: Any) -> Told:
    """Read an error in any of the shapes that servers give it."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, Mapping):
        inner = value.get("error", value)
        if isinstance(inner, Mapping):
            kinds = [str(inner[name]) for name in ("type", "code", "status") if inner.get(name)]
            message = inner.get("message") or inner.get("detail") or ""
            return Told(" ".join(kinds), message if isinstance(message, str) else "")
        return Told("", inner if isinstance(inner, str) else "")
    return Told("", value if isinstance(value, str) else "")


def of_body(body: bytes) -> Told:
    try:
        return told_in(orjson.loads(body))
    except orjson.JSONDecodeError:
        text = body[:2000].decode("utf-8", "replace")
        return Told() if "<" in text else Told("", text)  # a page is for people


def of_status(status: int, headers: Mapping[str, str], body: bytes, about: About, *, now: float) -> ModelError:
    """An answer that is no answer. `now` is what the clock says, in seconds: a server may name a date."""
    told = of_body(body)
    if status in (401, 403):
        return _wrong_key(about, status, told)
    if status in (400, 413, 422) and (status == 413 or _TOO_LONG.search(str(told))):
        return _too_long(about)
    # Whoever is asked too fast mentions the billing pages as well: there only the code tells the two apart.
    said = told.kind if status == 429 else str(told)
    if status == 402 or (status in (400, 429) and _NO_CREDIT.search(said)):
        return _no_credit(about)
    if status == 404:
        return _unknown(about, told)
    if status in _LATER_STATUSES or status >= 500:
        return ModelUnavailable(
            f"{about} answers {status}, {_meaning(status)}.{_quote(told)}", retry_after=retry_after(headers, now=now)
        )
    if _FILTERED.search(told.kind):
        return declined(about, told.message)
    return ModelRefused(f"{about} does not take the request ({status}).{_quote(told)}")


def of_event(told: Told, about: About) -> ModelError:
    """An error in the middle of a stream, or in the body of an answer that began well."""
    both = str(told)
    if told.kind.isdigit():
        return of_status(int(told.kind), {}, orjson.dumps({"error": {"message": told.message}}), about, now=0.0)
    if _TOO_LONG.search(both):
        return _too_long(about)
    if _NO_CREDIT.search(told.kind):
        return _no_credit(about)
    if _WRONG_KEY.search(told.kind):
        return _wrong_key(about, 401, told)
    if _FILTERED.search(told.kind):
        return declined(about, told.message)
    if _UNKNOWN.search(told.kind):
        return _unknown(about, told)
    if _LATER.search(both) or not told.kind:
        return ModelUnavailable(f"{about} broke off its answer.{_quote(told)}")
    return ModelRefused(f"{about} broke off its answer.{_quote(told)}")


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """How long the server wants to be left alone, in seconds."""
    if (millis := _number(headers.get("retry-after-ms"))) is not None:
        return min(millis / 1000, LONGEST_WAIT)
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is None and text:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError):
            return None
    return None if seconds is None else min(max(0.0, seconds), LONGEST_WAIT)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


# ── sentences ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _meaning(status: int) -> str:
    match status:
        case 429:
            return "too many requests"
        case 503 | 529:
            return "it is overloaded"
        case 408 | 504:
            return "it took too long"
    return "it is not well"


def _wrong_key(about: About, status: int, told: Told) -> ModelRefused:
    if not about.key:
        said = (
            f"{about} wants a key ({status}), and none was sent. Put it into a variable, and name that in the agent's "
            "model: apiKeyVariable."
        )
    else:
        said = (
            f"{about} does not accept the key in {about.key} ({status}). Set it again, and see that it may use this "
            "model."
        )
    return _because("key", said + _quote(told))


def _because(problem: Literal["key", "model"], message: str) -> ModelRefused:
    error = ModelRefused(message)
    error.problem = problem
    return error


def _too_long(about: About) -> ContextTooLong:
    return ContextTooLong(f"What {about} was shown is more than it can take.")


def _no_credit(about: About) -> ModelRefused:
    whose = f" of the key in {about.key}" if about.key else ""
    return _because("key", f"{about}: the account{whose} has no credit left. Top it up, or use another model.")


def _unknown(about: About, told: Told) -> ModelRefused:
    return _because("model", f"{about} is not there (404). Check the model's name, and the base URL.{_quote(told)}")


def declined(about: About, why: str = "") -> ModelDeclined:
    return ModelDeclined(f"{about} declined to answer.{_quote(Told('', why))}")


def _quote(told: Told) -> str:
    """What it said, in one line, cleaned before it is cut: half a secret would not be recognised."""
    text = " ".join(REDACTOR.clean_line(told.message).split())
    if len(text) > LONGEST_QUOTE:
        text = text[: LONGEST_QUOTE - 1] + "…"
    return f" It says: {text}" if text else ""
