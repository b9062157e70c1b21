"""The table that people read, and the file that keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.budgets import BUDGETS, Figures, verdict

RESULTS = Path(__file__).parent / "results"


def table(figures: Figures) -> str:
    rows = [("", "measured", "aim", "")]
    rows += [_row(name, figures[name]) for name in BUDGETS if name in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{means:<{widths[0]}}  {measured:>{widths[1]}}  {aim:>{widths[2]}}  {word}".rstrip()
        for means, measured, aim, word in rows
    )


def _row(name: str, value: float) -> tuple[str, str, str, str]:
    budget = BUDGETS[name]
    aim = "" if budget.aim is None else f"≤ {_number(budget.aim)}"
    return f"{name:<22} {budget.means}", f"{_number(value)} {budget.unit}".strip(), aim, verdict(name, value)


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def keep(figures: Figures, machine: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Add the figures to today's file; a part that was measured again replaces what it said before."""
    path = folder / f"{datetime.now(UTC):%Y-%m-%d}.json"
    known = json.loads(path.read_text())["figures"] if path.exists() else {}
    known |= {name: _kept(name, value) for name, value in figures.items()}
    ordered = {name: known[name] for name in BUDGETS if name in known}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, "figures": ordered}, indent=2, ensure_ascii=False) + "\n")
    return path


def _kept(name: str, value: float) -> dict[str, Any]:
    budget = BUDGETS[name]
    kept = {"value": round(value, 4), "unit": budget.unit, "aim": budget.aim, "verdict": verdict(name, value)}
    return {key: said for key, said in kept.items() if said not in (None, "")}
