"""`python -m bench [part …]`: measure, print a table, keep it in bench/results/. `teaching` stands apart."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Mapping
from typing import Protocol

import uvloop

from bench import (
    abuse,
    age,
    egress,
    files,
    idle,
    measure,
    memory,
    models,
    page,
    post,
    redact,
    report,
    run,
    search,
    spending,
    sse,
    streaming,
    tasks,
    teaching,
    variables,
    waiting,
)
from bench.budgets import Figures


class Part(Protocol):
    def __call__(self, *, quick: bool) -> Awaitable[Figures]: ...


PARTS: Mapping[str, Part] = {
    "run": run.measure,
    "age": age.measure,
    "post": post.measure,
    "search": search.measure,
    "memory": memory.measure,
    "sse": sse.measure,
    "abuse": abuse.measure,
    "egress": egress.measure,
    "variables": variables.measure,
    "spending": spending.measure,
    "redact": redact.measure,
    "files": files.measure,
    "models": models.measure,
    "streaming": streaming.measure,
    "waiting": waiting.measure,
    "page": page.measure,
    "tasks": tasks.measure,
    "idle": idle.measure,
}


async def main(parts: list[str], *, quick: bool, keep: bool) -> None:
    figures: Figures = {}
    for name in parts:
        print(f"measuring: {name} …", flush=True)
        figures |= await PARTS[name](quick=quick)
    print("\n" + report.table(figures))
    if keep:
        print(f"\nkept in {report.keep(figures, measure.machine())}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure CPU, memory and ratios.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; otherwise all")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works, not to believe it")
    parser.add_argument("--no-save", action="store_true", help="print only")
    args = parser.parse_args()
    if unknown := [name for name in args.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return args


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    if sys.argv[1:2] == ["teaching"]:  # it judges and measures nothing, and has options of its own
        sys.exit(teaching.main(sys.argv[2:]))
    asked = arguments()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(asked.parts or list(PARTS), quick=asked.quick, keep=not (asked.no_save or asked.quick)))
