"""`make chaos`: kill servers hundreds of times while people and agents talk; check that nothing is lost or doubled.

On SQLite one server is killed and started again; on PostgreSQL two servers and a worker, on one database, which goes
away now and then: stopped fast or at once, backends ended, the network cut or half-open. Prints
figures, keeps them in bench/results/chaos-<date>.json, and fails if any invariant is broken; then the database and what
every client saw are kept for whoever looks into it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.measure import DISK, machine
from bullpen.testing import alarms
from bullpen.testing.alarms import Storm
from bullpen.testing.chaos import Figures, Plan, as_json, storm
from bullpen.testing.forks import Forks
from tests.durability.outages import outages_of
from tests.postgres import restartable, started, why_absent

RESULTS = Path(__file__).parent / "results"
KINDS = ("sqlite", "postgres")
LEASE_SECONDS = 2.0
TASKS = 500


@contextmanager
def database(kind: str) -> Iterator[tuple[str, Path]]:
    """A new database and a folder beside it."""
    folder = Path(tempfile.mkdtemp(prefix="bullpen-chaos-", dir=DISK))
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'process-0' / 'bullpen.db'}", folder
    else:
        with started() as server:
            yield server.url(), folder
    shutil.rmtree(folder, ignore_errors=True)


def plan_for(kind: str, args: argparse.Namespace) -> Plan:
    plan = Plan(kills=args.kills, posts=args.posts, seed=args.seed, gap=args.gap, lease_seconds=LEASE_SECONDS)
    return plan if kind == "sqlite" else replace(plan, servers=2, workers=1, outages=args.outages)


def rage(kind: str, args: argparse.Namespace) -> Figures:
    if kind == "postgres":
        return rage_with_outages(plan_for(kind, args))
    with Forks("bullpen.testing.serving") as forks, database(kind) as (url, folder):
        return asyncio.run(storm(forks, url, folder, plan_for(kind, args)))


def rage_with_outages(plan: Plan) -> Figures:
    with Forks("bullpen.testing.serving") as forks, restartable() as server, outages_of(server) as outages:
        folder = Path(tempfile.mkdtemp(prefix="bullpen-chaos-", dir=DISK))
        figures = asyncio.run(storm(forks, server.url(), folder, plan, outages.suffer_anything, outages.url()))
        shutil.rmtree(folder, ignore_errors=True)
        return figures


def ring(kind: str, args: argparse.Namespace) -> Storm:
    """Tasks that are due every second, and workers that are killed: 10,000 firings."""
    with Forks(alarms.MODULE) as forks, database(kind) as (url, folder):
        return asyncio.run(
            alarms.storm(
                forks,
                url,
                folder / "process-0",
                tasks=TASKS,
                firings=args.firings,
                kills=args.kills,
                workers=1 if kind == "sqlite" else 2,
                gap=args.gap,
                seed=args.seed,
            )
        )


def show_alarms(seen: Storm) -> None:
    print(f"  {'firings':16} {seen.firings:>10,}")
    print(f"  {'kills meanwhile':16} {seen.kills:>10,}")
    print(f"  {'lag ms p50':16} {seen.lag_ms_p50:>10,.0f}")
    print(f"  {'lag ms p99':16} {seen.lag_ms_p99:>10,.0f}")
    print(f"  {'faults':16} {len(seen.faults):>10,}")
    for line in seen.faults[:20]:
        print(f"    {line}")


def show(kind: str, figures: Figures) -> None:
    print(f"\n{kind}")
    for name, value in as_json(figures).items():
        if name != "violations":
            print(f"  {name.replace('_', ' '):16} {value:>10,}")
    print(f"  {'violations':16} {len(figures.violations):>10,}")
    for line in figures.violations[:20]:
        print(f"    {line}")


def keep(found: dict[str, Figures], rung: dict[str, Storm], args: argparse.Namespace, folder: Path = RESULTS) -> Path:
    path = folder / f"chaos-{datetime.now(UTC):%Y-%m-%d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = {
        "kills": args.kills,
        "outages": args.outages,
        "posts": args.posts,
        "seed": args.seed,
        "leaseSeconds": LEASE_SECONDS,
    }
    kept: dict[str, Any] = {"machine": machine(), "plan": asked}
    kept |= {kind: as_json(figures) for kind, figures in found.items()}
    kept["alarms"] = {kind: asdict(seen) for kind, seen in rung.items()}
    path.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    return path


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="DATABASE", help=f"of {', '.join(KINDS)}; otherwise both")
    parser.add_argument("--kills", type=int, default=300, help="SIGKILLs on each database (300)")
    parser.add_argument("--outages", type=int, default=30, help="of PostgreSQL, meanwhile (30)")
    parser.add_argument("--no-alarms", action="store_true", help="without the storm of tasks")
    parser.add_argument("--posts", type=int, default=3000, help="messages that people post on each (3,000)")
    parser.add_argument("--firings", type=int, default=10_000, help="of tasks, on each (10,000)")
    parser.add_argument("--gap", type=float, default=0.3, help="mean seconds between kills (0.3)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="for the same choices again")
    parser.add_argument("--no-save", action="store_true", help="print only")
    args = parser.parse_args(argv)
    if unknown := [kind for kind in args.kinds if kind not in KINDS]:
        parser.error(f"there is no database {unknown[0]!r}; there are {', '.join(KINDS)}")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    kinds = args.kinds or list(KINDS)
    if "postgres" in kinds and (reason := why_absent()):
        print(f"Not on PostgreSQL: {reason}.", file=sys.stderr)
        return 1
    found: dict[str, Figures] = {}
    rung: dict[str, Storm] = {}
    for kind in kinds:
        print(f"{kind}: {args.kills} kills over {args.posts} posts, seed {args.seed} …", flush=True)
        found[kind] = rage(kind, args)
        show(kind, found[kind])
        if not args.no_alarms:
            rung[kind] = ring(kind, args)
            show_alarms(rung[kind])
    if not args.no_save:
        print(f"\nkept in {keep(found, rung, args)}")
    wrong = [figures.violations for figures in found.values()] + [seen.faults for seen in rung.values()]
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
