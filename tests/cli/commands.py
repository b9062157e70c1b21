"""Runs one `bullpen` command in this process, as if somebody had typed it.

A command gets its own environment, working folder, streams, log handlers and redactor. All of them are put back when
it ends. Commands that stay (`serve`, `follow`, `worker`) run in processes of their own: see processes.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

from bullpen.cli import main
from bullpen.observe.redact import REDACTOR, Redactor

# Environment, working folder and streams belong to the whole process.
_lock = threading.Lock()
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(
    args: Sequence[str], *, environment: Mapping[str, str], cwd: Path, stdin: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. What it printed and its exit code are the answer."""
    if not _loop_is_running():
        return _run(args, environment, cwd, stdin)
    # Commands start an event loop, and a thread has only one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_run, args, environment, cwd, stdin).result()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(
    args: Sequence[str], environment: Mapping[str, str], cwd: Path, stdin: str
) -> subprocess.CompletedProcess[str]:
    # Here, because it takes two seconds, and many tests need no command.
    from bullpen import app
    from tests.routes import build_shared

    out, err = _open_stream(), _open_stream()
    with (
        _lock,
        _fresh_settings(environment, cwd),
        _fresh_hooks(),
        _fresh_logging(),
        _fresh_redactor(),
        patch.object(app, "build", build_shared),
        patch.object(sys, "stdin", _open_stream(stdin)),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
    ):
        code = contextvars.Context().run(call_main, args)
    return subprocess.CompletedProcess(["bullpen", *args], code, _read(out), _read(err))


def call_main(args: Sequence[str]) -> int:
    """The exit code that Python would give for this. A defect is shown as Python would show it."""
    code: object
    try:
        code = main(args)
    except SystemExit as ended:
        code = ended.code
    except BaseException as defect:
        sys.excepthook(type(defect), defect, defect.__traceback__)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


# ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _open_stream(content: str = "") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content.encode()), encoding="utf-8", write_through=True)


def _read(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


# ── what a command may change, put back afterwards ──────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _fresh_settings(environment: Mapping[str, str], cwd: Path) -> Iterator[None]:
    mask = os.umask(0o022)
    os.umask(mask)
    with patch.dict(os.environ, environment, clear=True), contextlib.chdir(cwd):
        try:
            yield
        finally:
            os.umask(mask)


@contextlib.contextmanager
def _fresh_hooks() -> Iterator[None]:
    hook = sys.excepthook
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        sys.excepthook = hook
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def _fresh_logging() -> Iterator[None]:
    """As Python starts: no handlers, so warnings go to stderr."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.contextmanager
def _fresh_redactor() -> Iterator[None]:
    """The one redactor of the process knows no secrets of other tests, and forgets those of this command."""
    before = dict(vars(REDACTOR))
    vars(REDACTOR).update(vars(Redactor()))
    try:
        yield
    finally:
        vars(REDACTOR).update(before)
