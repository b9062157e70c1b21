"""`make check`: format, lint, types, the page, mutants that fit, and the rules that tests/architecture/ knows.

Two at a time, the longest first: the types take as long as everything else together. What a check prints is shown when
it has ended. All of them run, whatever fails.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).parents[1]
AT_ONCE = 2
CODE = [name for name in ("src", "tests", "tools", "bench") if (ROOT / name).is_dir()]
CHECKS: Mapping[str, Sequence[str]] = {
    "types": ("mypy", *CODE),
    "architecture": ("pytest", "-q", "tests/architecture"),
    "page": ("tools.page", "check"),
    "mutants": ("tools.mutants", "--stale"),
    "format": ("ruff", "format", "--check", *CODE),
    "lint": ("ruff", "check", *CODE),
}


def run(name: str) -> tuple[int, str, float]:
    """Its exit code, what it printed and the seconds it took."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", *CHECKS[name]],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, time.monotonic() - began


def main() -> int:
    failed = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(run, name): name for name in CHECKS}
        for ended in as_completed(running):
            name, (code, printed, seconds) = running[ended], ended.result()
            print(f"== {name} ({seconds:.0f} s)\n{printed}", flush=True)
            failed += [name] if code else []
    print(f"Failed: {', '.join(failed)}." if failed else "All checks passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
