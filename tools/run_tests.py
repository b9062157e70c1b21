"""`make test` and `make quick`: run pytest on everything, on a noun, or on what a change can affect.

ARGS are pytest's own. A word that names a noun (`spaces`, `cli`) stands for its tests. CHANGED=1 runs what the changes
since the last commit can affect; CHANGED=main compares with another commit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import pytest

from tools import choose_tests

# Options of pytest whose next word is a value.
WITH_VALUE = {"-k", "-m", "-n", "-p", "-o", "-W", "-c", "--dist", "--durations", "--maxfail", "--deselect", "--ignore"}
QUICK = ("tests/rules", "tests/architecture", "tests/path", "-k", "not postgres")


def chosen(arguments: Sequence[str]) -> list[str]:
    """The arguments for pytest, with each noun replaced by its tests."""
    known = choose_tests.nouns()
    found: list[str] = []
    for before, word in zip(["", *arguments], arguments, strict=False):
        is_noun = word in known and before not in WITH_VALUE
        found += choose_tests.tests_of(word) if is_noun else [word]
    return found


def affected(since: str) -> list[str] | None:
    """Test files that the changes since a commit can affect; None for all of them."""
    files = choose_tests.changed_files("HEAD" if since == "1" else since)
    tests = choose_tests.tests_affected_by(files)
    print(f"{len(files)} changed files; {'all' if tests == ['tests'] else len(tests)} test files can be affected.")
    return tests


def main(arguments: Sequence[str]) -> int:
    given = [*QUICK, *arguments[1:]] if arguments[:1] == ["quick"] else chosen(arguments)
    if since := os.environ.get("CHANGED"):
        tests = affected(since)
        if not tests:
            print("Nothing to run: no test can be affected.")
            return 0
        given = [*given, *tests]
    workers = os.environ.get("WORKERS", "3")
    # Stealing keeps the tests of a file, which share servers, mostly on one worker.
    return int(pytest.main(["-n", workers, "--dist", "worksteal", *given]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
