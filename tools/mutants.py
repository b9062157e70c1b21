"""`make mutants`: does the suite notice when the code is wrong?

tests/mutants.toml holds one-line breakages of src/, each with the test that must turn red. Every one is applied to a
copy of src/ in a temporary folder, never to the working tree, and its test is run against that copy. First all named
tests run on an untouched copy: a test that is red anyway proves nothing.

A breakage that makes pytest fail to collect is refused: it would be noticed by any test at all.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "mutants.toml"
TESTS_FAILED = 1  # pytest's exit code


@dataclass(frozen=True, slots=True)
class Mutant:
    file: str  # under src/bullpen
    old: str
    new: str
    test: str  # a node id

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()!r} → {self.new.strip()!r}  ({self.test})"


class Verdict(Enum):
    NOTICED = "noticed"
    HUNG = "noticed: the test hung"
    SURVIVED = "SURVIVED"
    USELESS = "USELESS: pytest could not run the test at all"
    STALE = "STALE: the old text is not in the file exactly once"


def load(path: Path = LIST) -> list[Mutant]:
    with path.open("rb") as file:
        return [Mutant(**entry) for entry in tomllib.load(file).get("mutant", [])]


@contextmanager
def copy_of_source() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bullpen-mutant-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        yield source


def pytest(source: Path, tests: Sequence[str], timeout: float) -> tuple[int, str]:
    """The exit code and what was printed. A test that hangs is killed with every process it started."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "--no-header", *tests]
    # PYTHONPATH comes before the editable install, here and in the servers that tests start.
    env = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, printed


def break_once(source: Path, mutant: Mutant) -> bool:
    path = source / "bullpen" / mutant.file
    text = path.read_text() if path.is_file() else ""
    if text.count(mutant.old) != 1:
        return False
    path.write_text(text.replace(mutant.old, mutant.new))
    return True


def judge(mutant: Mutant, timeout: float) -> Verdict:
    with copy_of_source() as source:
        if not break_once(source, mutant):
            return Verdict.STALE
        try:
            code, _ = pytest(source, [mutant.test], timeout)
        except subprocess.TimeoutExpired:
            return Verdict.HUNG
    if code == 0:
        return Verdict.SURVIVED
    return Verdict.NOTICED if code == TESTS_FAILED else Verdict.USELESS


def healthy(mutants: Sequence[Mutant]) -> bool:
    """Are all named tests green on code nobody broke?"""
    tests = sorted({mutant.test for mutant in mutants})
    with copy_of_source() as source:
        code, printed = pytest(source, tests, timeout=1800)
    if code:
        print(printed[-4000:], file=sys.stderr)
    return code == 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="make mutants", description="Break the code on purpose; every break must be noticed."
    )
    parser.add_argument("only", nargs="?", default="", help="only mutants whose file or test contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=180, help="seconds until a test counts as hung")
    options = parser.parse_args(arguments)

    mutants = [mutant for mutant in load() if options.only in mutant.file or options.only in mutant.test]
    if not mutants:
        print("There are no mutants to run.")
        return 1
    if not healthy(mutants):
        print("Some of the named tests are red on healthy code; mend them first.")
        return 1
    noticed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, verdict in zip(mutants, pool.map(lambda one: judge(one, options.timeout), mutants), strict=True):
            good = verdict in (Verdict.NOTICED, Verdict.HUNG)
            noticed += good
            print(f"{'ok  ' if good else 'BAD '} {verdict.value:<10} {mutant}", flush=True)
    print(f"\n{noticed} of {len(mutants)} mutants were noticed; {len(mutants) - noticed} were not.")
    return 0 if noticed == len(mutants) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
