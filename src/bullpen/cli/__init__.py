"""The `bullpen` command.

Reads the arguments, imports the one module that carries the command out, and turns every expected failure into a
sentence on stderr and exit code 1. Nothing heavy is imported until a command is chosen, so `--help` is quick.
Commands live in modules of their own, each with a `run(args) -> int`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType, TracebackType

from bullpen.cli.arguments import parser
from bullpen.cli.failures import CommandFailed
from bullpen.errors import BullpenError

INTERRUPTED = 130

# Each is imported when it was chosen, and by a name that stands here: never by one that somebody typed.
MODULES: Mapping[str, Callable[[], ModuleType]] = {
    "apply": lambda: import_module("bullpen.cli.apply"),
    "audit": lambda: import_module("bullpen.cli.audit"),
    "backup": lambda: import_module("bullpen.cli.backup"),
    "bridges": lambda: import_module("bullpen.cli.bridges"),
    "budgets": lambda: import_module("bullpen.cli.budgets"),
    "check_model": lambda: import_module("bullpen.cli.check_model"),
    "doctor": lambda: import_module("bullpen.cli.doctor"),
    "erase": lambda: import_module("bullpen.cli.erase"),
    "export": lambda: import_module("bullpen.cli.export"),
    "files": lambda: import_module("bullpen.cli.files"),
    "follow": lambda: import_module("bullpen.cli.follow"),
    "groups": lambda: import_module("bullpen.cli.groups"),
    "hooks": lambda: import_module("bullpen.cli.hooks"),
    "invite": lambda: import_module("bullpen.cli.invite"),
    "keys": lambda: import_module("bullpen.cli.keys"),
    "listings": lambda: import_module("bullpen.cli.listings"),
    "migrate": lambda: import_module("bullpen.cli.migrate"),
    "models": lambda: import_module("bullpen.cli.models"),
    "password": lambda: import_module("bullpen.cli.password"),
    "pause": lambda: import_module("bullpen.cli.pause"),
    "policies": lambda: import_module("bullpen.cli.policies"),
    "prompt": lambda: import_module("bullpen.cli.prompt"),
    "retry": lambda: import_module("bullpen.cli.retry"),
    "resolve": lambda: import_module("bullpen.cli.resolve"),
    "run": lambda: import_module("bullpen.cli.run"),
    "search": lambda: import_module("bullpen.cli.search"),
    "send": lambda: import_module("bullpen.cli.send"),
    "serve": lambda: import_module("bullpen.cli.serve"),
    "memory": lambda: import_module("bullpen.cli.memory"),
    "skills": lambda: import_module("bullpen.cli.skills"),
    "stop": lambda: import_module("bullpen.cli.stop"),
    "tasks": lambda: import_module("bullpen.cli.tasks"),
    "token": lambda: import_module("bullpen.cli.token"),
    "variables": lambda: import_module("bullpen.cli.variables"),
    "webhooks": lambda: import_module("bullpen.cli.webhooks"),
    "why": lambda: import_module("bullpen.cli.why"),
    "worker": lambda: import_module("bullpen.cli.worker"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the value is the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A message may hold any character, a terminal only some: show those it lacks rather than fail half-way.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.excepthook = _tell
    try:
        args = parser().parse_args(argv)
    except SystemExit as end:  # argparse has said why
        return end.code if isinstance(end.code, int) else 1
    try:
        code: int = MODULES[args.module]().run(args)
        sys.stdout.flush()
        return code
    except (CommandFailed, BullpenError) as failure:
        return _fail(str(failure), failure.fields)
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _fail(message: str, fields: Mapping[str, str]) -> int:
    details = "; ".join(f"{name}: {problem}" for name, problem in fields.items() if problem != message)
    print(_clean(f"bullpen: {message}" + (f" ({details})" if details else "")), file=sys.stderr)
    return 1


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A defect of ours: where it happened, and nothing that is secret."""
    from traceback import format_exception

    print(_clean("".join(format_exception(kind, error, trace))), file=sys.stderr, end="")


def _clean(text: str) -> str:
    from bullpen.observe.redact import REDACTOR

    return REDACTOR.clean(text)
