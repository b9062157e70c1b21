"""One command in a process of its own, forked from one that has imported everything: a tenth of what starting it costs.

What a command does is the same; what starting Python and importing costs is measured in bench/, and a few tests start
`python -m bullpen` for real.
"""

from __future__ import annotations

import gc
import os
import sys

# Before the first fork, so that no command pays for it.
import bullpen.api.server
import bullpen.app
import bullpen.client
import bullpen.engine.pgqueuer
import bullpen.storage.postgres  # noqa: F401
from bullpen.cli import MODULES, main
from bullpen.testing import forks
from bullpen.testing.forks import Report


def command(report: Report, *, args: list[str], environment: dict[str, str], cwd: str, streams: list[str]) -> None:
    """`bullpen args…`, as if somebody had typed it; streams are files for stdin, stdout and stderr."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, path in enumerate(streams):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | (os.O_APPEND if number else 0), 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  the server's own was /dev/null
    report({"code": _code(args)})


def _code(args: list[str]) -> int:
    try:
        code: object = main(args)
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


if __name__ == "__main__":
    for load in MODULES.values():
        load()
    gc.freeze()
    forks.serve({"command": command})
