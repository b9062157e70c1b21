"""The one table of responses to errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from bullpen import errors
from bullpen.observe.redact import REDACTOR
from bullpen.storage.store import RetryTransaction

logger = logging.getLogger("bullpen.api")

STATUS: Final[Mapping[type[errors.BullpenError], int]] = {
    errors.NotFound: 404,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.Invalid: 422,
    errors.TooLarge: 413,
    errors.QuotaExceeded: 413,
    errors.TooManyRequests: 429,
    errors.Gone: 410,
    errors.Conflict: 409,
    errors.AlreadyExists: 409,
    errors.SpaceArchived: 409,
    errors.RunAlreadyFinished: 409,
    errors.RequestError: 400,
    # These never reach a caller as they are: agents and operators are told instead. Here they are our bug.
    errors.ToolError: 500,
    errors.ToolFailed: 500,
    errors.BadArguments: 500,
    errors.CheckFailed: 500,
    errors.VariablesRequired: 500,
    errors.PathOutside: 500,
    errors.ModelError: 500,
    errors.ModelUnavailable: 500,
    errors.ModelRefused: 500,
    errors.ModelDeclined: 500,
    errors.ContextTooLong: 500,
    errors.EgressError: 500,
    errors.EgressDenied: 500,
    errors.EgressTimeout: 500,
    errors.EgressTooLarge: 500,
    errors.EgressFailed: 500,
    errors.Fenced: 500,
    errors.CannotStart: 500,
    errors.Broken: 500,
    errors.SecretInvalid: 500,
    errors.Unreadable: 500,
    RetryTransaction: 503,
    errors.Unavailable: 503,
    errors.SetupRequired: 503,
    errors.KeyMissing: 503,
    errors.DiskFull: 507,
}
# A body may be wrong in thousands of places; so many are told.
FIELDS: Final = 50
UNKNOWN: Final = "extra_forbidden"
_HTTP_CODES: Final = {404: "not_found", 405: "method_not_allowed", 415: "unsupported_media_type"}


def error_response(
    status: int,
    code: str,
    message: str,
    fields: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    # A sentence may repeat what somebody sent, or what somebody else answered.
    told = {REDACTOR.clean(name): REDACTOR.clean(problem) for name, problem in (fields or {}).items()}
    body: dict[str, Any] = {"error": {"code": code, "message": REDACTOR.clean(message), "fields": told}}
    headers = dict(headers or {})
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        headers["Retry-After"] = "1"
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


async def on_bullpen_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.BullpenError)
    status = STATUS[type(error)]
    if status == 500:
        return await on_bug(request, error)
    headers = {"Retry-After": str(ceil(error.retry_after))} if isinstance(error, errors.TooManyRequests) else None
    return error_response(status, error.code, error.message, error.fields, headers)


async def on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = {}
    # A misspelt name comes first: what else is wrong is often only that the right one is missing.
    found = sorted(error.errors(), key=lambda wrong: wrong["type"] != UNKNOWN)
    for wrong in found[:FIELDS]:
        where = ".".join(str(part) for part in wrong["loc"][1:])  # the first says body, query, path or header
        told = "there is no such field" if wrong["type"] == UNKNOWN else str(wrong["msg"])
        fields[where or "body"] = told.removeprefix("Value error, ")
    first = next(iter(fields.items()))
    return error_response(422, "invalid", f"{first[0]}: {first[1]}.", fields)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _HTTP_CODES.get(error.status_code, "bad_request")
    message = f"{error.detail}: {request.method} {request.scope['path']}."
    return error_response(error.status_code, code, message, headers=error.headers)


async def on_bug(request: Request, error: Exception) -> Response:
    if isinstance(error, errors.BullpenError) and STATUS[type(error)] != 500:
        return await on_bullpen_error(request, error)  # raised outside the routes, by a layer around them
    # Not request.url: that parses the Host header, which may hold anything.
    logger.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    return error_response(500, "internal", "Something went wrong on our side; the server's log says what.")


def install(app: FastAPI) -> None:
    app.add_exception_handler(errors.BullpenError, on_bullpen_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_bug)
