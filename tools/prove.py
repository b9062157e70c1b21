"""`make prove`: the exhaustive tests, in named parts of ten minutes at most on two cores.

Kills after every commit, a thousand repetitions of each race, twenty thousand hostile requests, a year of schedules,
every test on both databases, all mutants. Each part that has ended is written to bench/results/prove-DATE.json, with
counts and the seed. A part that passed at this commit is not run again: an interrupted proof goes on where it was.

`--slice N` runs a small piece of every part instead, which CI does with the number of the commit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.mutants import load_mutants

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
MUTANT_PARTS = 4

DURABILITY = "tests/durability"
STORY = f"{DURABILITY}/test_crash_after_every_commit.py"
# Files whose tests try more than a sample when they are asked to. One pytest for a slice of all of them.
EXHAUSTIVE = (
    DURABILITY,
    "tests/waiting/test_races.py",
    "tests/api/test_hostile_requests.py",
    "tests/tasks/test_a_year.py",
)
# Folders with tests that `make test` runs on SQLite only.
ONE_DATABASE = (
    "api",
    "bridges",
    "budgets",
    "cli",
    "client",
    "files",
    "hooks",
    "llm",
    "path",
    "secrets",
    "skills",
    "tasks",
    "waiting",
)


@dataclass(frozen=True)
class Part:
    name: str
    command: Sequence[str]
    about: str


def pytest(*args: str) -> Sequence[str]:
    return (sys.executable, "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "3"), "--dist", "worksteal", *args)


def mutants(*args: str) -> Sequence[str]:
    return (sys.executable, "-m", "tools.mutants", *args)


def parts() -> list[Part]:
    others = [f"--ignore={STORY}", DURABILITY]
    found = [
        Part("kills-sqlite", pytest(STORY, "-k", "sqlite"), "a kill after every commit of the story, on SQLite"),
        Part("kills-postgres", pytest(STORY, "-k", "postgres"), "the same on PostgreSQL"),
        Part("kills-elsewhere-sqlite", pytest(*others, "-k", "not postgres"), "all other kills and faults, on SQLite"),
        Part("kills-elsewhere-postgres", pytest(*others, "-k", "postgres"), "the same on PostgreSQL"),
        Part("races", pytest("tests/waiting/test_races.py"), "a thousand repetitions of each race"),
        Part("hostile-requests", pytest("tests/api/test_hostile_requests.py"), "more than 20,000 hostile requests"),
        Part("schedules", pytest("tests/tasks"), "a year of schedules"),
        Part(
            "examples", pytest("tests/rules", "tests/net", "tests/secrets", "tests/variables"), "ten times the examples"
        ),
    ]
    looks = "axe in every view at four widths, light and dark, with panels, dialogs and cards open"
    found.append(Part("page-axe", pytest("tests/page/test_axe.py"), looks))
    for folder in ONE_DATABASE:
        command = pytest(f"tests/{folder}", "-m", "one_database", "-k", "postgres")
        found.append(Part(f"postgres-{folder}", command, f"tests of {folder} that `make test` runs on SQLite only"))
    for number in range(MUTANT_PARTS):
        command = mutants("--slice", f"{number}/{MUTANT_PARTS}")
        found.append(Part(f"mutants-{number + 1}", command, f"one in {MUTANT_PARTS} of the mutants"))
    return found


def slices(number: int) -> list[Part]:
    """A piece of every part, small enough for CI."""
    folder = ONE_DATABASE[number % len(ONE_DATABASE)]
    every = len(load_mutants())
    return [
        Part("exhaustive", pytest(*EXHAUSTIVE), "some tests of every exhaustive part, with some of their cases"),
        Part("postgres", pytest(f"tests/{folder}", "-m", "one_database", "-k", "postgres"), f"{folder} on PostgreSQL"),
        Part("mutants", mutants("--slice", f"{number % every}/{every}"), "one mutant"),
    ]


# ── running ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(part: Part, effort: str, seed: int) -> dict[str, Any]:
    """Run a part to its end; what came of it."""
    print(f"\n== {part.name}: {part.about}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "run.json"
        settings = {"BULLPEN_EFFORT": effort, "BULLPEN_SEED": str(seed), "BULLPEN_TEST_RUN": str(told)}
        is_pytest = "pytest" in part.command
        command = [*part.command, *([f"--hypothesis-seed={seed}"] if is_pytest else ["--json", str(told)])]
        code = subprocess.run(command, cwd=ROOT, env=_environment(is_pytest, settings), check=False).returncode
        found = json.loads(told.read_text()) if told.exists() else {}
    # Exit code 5: a slice may hold no test.
    result = {"ok": code in (0, 5), "seconds": round(time.monotonic() - began, 1), "seed": seed}
    kept = ("outcomes", "failed", "tried", "noticed", "survivors")
    return result | {name: found[name] for name in kept if name in found}


def _environment(is_pytest: bool, settings: Mapping[str, str]) -> dict[str, str]:
    """Mutants must be noticed by the sample that `make test` runs, so they are not told of any effort."""
    return {**os.environ, **settings} if is_pytest else dict(os.environ)


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def prove(chosen: Sequence[Part], *, again: bool) -> bool:
    today = datetime.now(UTC).date()
    path = RESULTS / f"prove-{today}.json"
    written: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for part in chosen:
        before = written.get(part.name, {})
        if before.get("ok") and before.get("commit") == commit() and not again:
            print(f"{part.name}: passed before at this commit")
            continue
        result = run(part, "all", int(today.strftime("%Y%m%d")))
        written[part.name] = {"commit": commit(), **result}
        path.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n")
    return all(written[part.name]["ok"] for part in chosen)


def prove_slices(number: int) -> bool:
    results = {part.name: run(part, str(number), number) for part in slices(number)}
    print(f"\nslice {number}: " + json.dumps(results))
    return all(result["ok"] for result in results.values())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make prove", description="Run the exhaustive tests, part by part.")
    parser.add_argument("names", nargs="*", help="only these parts, or those whose names begin so")
    parser.add_argument("--list", action="store_true", help="say what parts there are")
    parser.add_argument("--again", action="store_true", help="also run parts that passed at this commit today")
    parser.add_argument("--slice", type=int, metavar="N", help="run a small piece of every part instead")
    options = parser.parse_args(arguments)
    if options.slice is not None:
        return 0 if prove_slices(options.slice) else 1
    chosen = [part for part in parts() if not options.names or part.name.startswith(tuple(options.names))]
    if not chosen:
        print(f"There is no part called {' or '.join(options.names)}. `make prove ARGS=--list` names them all.")
        return 2
    if options.list:
        print("\n".join(f"{part.name:<26}{part.about}" for part in chosen))
        return 0
    return 0 if prove(chosen, again=options.again) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
