"""Log lines: one for each thing worth knowing, with the ids of what it is about.

The standard library's logging, one handler on the root, so that lines of libraries are written the same way. `text` is
for people, `json` for machines: one object per line. Ids come from the context (a request, a drive, a run), not from
each call. Every line goes through the redactor last; bodies and tokens are never given to a logger in the first place.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType, TracebackType
from typing import IO, Any

import orjson

from bullpen.observe.redact import REDACTOR, Redactor

logger = logging.getLogger("bullpen")

_NOTHING: Mapping[str, str] = MappingProxyType({})
_about: ContextVar[Mapping[str, str]] = ContextVar("bullpen_about", default=_NOTHING)
# What every record has, and what uvicorn adds for terminals; the rest was given as `extra`.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
QUIET = ("pgqueuer", "httpx", "httpcore", "asyncio")


@contextmanager
def about(**ids: str | None) -> Iterator[None]:
    """While this lasts, lines of this task carry these ids, besides those they carry already."""
    with alone_about(**{**_about.get(), **ids}):
        yield


@contextmanager
def alone_about(**ids: str | None) -> Iterator[None]:
    """The same without those of whoever started this: a drive is not part of the request that happened to wake it."""
    token = _about.set({name: id for name, id in ids.items() if id is not None})
    try:
        yield
    finally:
        _about.reset(token)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    extra = {name: value for name, value in vars(record).items() if name not in _USUAL}
    return {**_about.get(), **extra}


class TextFormatter(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        if fields:
            first, end, rest = line.partition("\n")
            line = f"{first}  [{fields}]{end}{rest}"
        return self._redactor.clean_line(line)


class JsonFormatter(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        # Before it is encoded: a secret with a quote in it would look different afterwards.
        cleaned = {
            name: value if isinstance(value, int | float) else self._clean(value) for name, value in line.items()
        }
        return orjson.dumps(cleaned, default=str).decode()

    def _clean(self, value: Any) -> str:
        # A log line must be written whatever it holds; orjson refuses half a character.
        return self._redactor.clean_line(str(value)).encode("utf-8", "backslashreplace").decode()


def install(level: str, format: str, stream: IO[str] | None = None, redactor: Redactor = REDACTOR) -> None:
    """Send every line of this process to `stream` (stderr), through the redactor."""
    out = logging.StreamHandler(stream or sys.stderr)
    out.setFormatter(JsonFormatter(redactor) if format == "json" else TextFormatter(redactor))
    root = logging.getLogger()
    for before in root.handlers[:]:
        root.removeHandler(before)
    root.addHandler(out)
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.getLogger("uvicorn.error").addFilter(_shorten_cut_off)
    logging.captureWarnings(True)
    # What nobody caught would be written to stderr past the handler. asyncio's own handler is a logger already.
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    threading.excepthook = _uncaught_in_thread


def _shorten_cut_off(record: logging.LogRecord) -> bool:
    """A server that stops cancels requests that take too long. That is no fault, so it needs no traceback."""
    if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg, record.args = "The server stopped before it had answered a request.", ()
    return True


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    logger.critical("nobody caught this", exc_info=(kind, error, trace))


def _unraisable(found: sys.UnraisableHookArgs) -> None:
    error = found.exc_value or found.exc_type()
    logger.error("%s", found.err_msg or "ignored an exception", exc_info=(found.exc_type, error, found.exc_traceback))


def _uncaught_in_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_type is SystemExit:
        return
    error = found.exc_value or found.exc_type()
    logger.critical("nobody caught this in a thread", exc_info=(found.exc_type, error, found.exc_traceback))
