"""`python -m bench [part …]`: measure, print a table, keep it in bench/results/. `teaching` stands apart."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Protocol

import uvloop

from bench import (
    abuse,
    age,
    egress,
    files,
    idle,
    instructions,
    meaning,
    measure,
    memory,
    models,
    page,
    post,
    redact,
    report,
    retrieval,
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
    "instructions": instructions.measure,
    "age": age.measure,
    "post": post.measure,
    "search": search.measure,
    "memory": memory.measure,
    "retrieval": retrieval.measure,
    "meaning": meaning.measure,
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


async def main(parts: Mapping[str, Part], *, quick: bool, keep: bool) -> None:
    figures: Figures = {}
    for name, part in parts.items():
        print(f"measuring: {name} …", flush=True)
        figures |= await part(quick=quick)
    print("\n" + report.table(figures))
    if keep:
        print(f"\nkept in {report.keep(figures, measure.machine())}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure CPU, memory and ratios.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; otherwise all")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works, not to believe it")
    parser.add_argument("--against", metavar="COMMIT", help="instructions: what the code of this commit takes as well")
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
    chosen = {name: PARTS[name] for name in asked.parts or PARTS}
    if "instructions" in chosen:
        chosen["instructions"] = partial(instructions.measure, against=asked.against)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(chosen, quick=asked.quick, keep=not (asked.no_save or asked.quick)))
