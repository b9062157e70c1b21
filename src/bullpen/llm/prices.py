"""What an answer of a model costs: the one place where tokens become money.

Prices are the list that comes with Bullpen and `prices.yaml` in the data folder, which has the last word. A model is
found by `provider:name`, then by its name alone; a date or `-latest` after a listed name changes nothing, nor does its
maker before it, as in `anthropic/claude-sonnet-4.5`; a listed name that ends with `*` stands for all that begin so. A
model that nobody has priced costs 0 and is said to be unpriced: it is not free. What was paid is kept with the answer,
so another price never rewrites the past.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml

from bullpen.errors import CannotStart
from bullpen.llm.types import TokenUsage

FILE: Final = "prices.yaml"
# A dollar for a million tokens is so many billionths of a dollar for one.
_NANO: Final = 1000
_SUFFIX: Final = re.compile(r"[-@](?:latest|\d{4}-\d{2}-\d{2}|\d{8})\Z")
_FIELDS: Final = ("in", "out", "cached", "written")
_MOST: Final = 1_000_000.0
_NONE: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens."""

    input: float
    output: float
    cached: float
    written: float

    def nanodollars(self, usage: TokenUsage) -> int:
        fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.written_tokens)
        dollars = (
            fresh * self.input
            + usage.cached_tokens * self.cached
            + usage.written_tokens * self.written
            + usage.output_tokens * self.output
        )
        return round(dollars * _NANO)


class Prices:
    def __init__(self, listed: Mapping[str, Price]) -> None:
        self._exact = {name.lower(): price for name, price in listed.items() if not name.endswith("*")}
        beginnings = {name[:-1].lower(): price for name, price in listed.items() if name.endswith("*")}
        self._beginnings = sorted(beginnings.items(), key=lambda item: -len(item[0]))
        self._found: dict[str, Price | None] = {}

    def find(self, model: str) -> Price | None:
        """The price of `provider:name`; None: nobody has said."""
        if model not in self._found:
            if len(self._found) > 10_000:
                self._found.clear()
            self._found[model] = self._look(model.lower())
        return self._found[model]

    def _look(self, model: str) -> Price | None:
        name = model.partition(":")[2]
        bare = name.rpartition("/")[2]  # whoever sells the models of many names their maker, and writes 4.5 for 4-5
        names = list(dict.fromkeys([model, name, bare, bare.replace(".", "-")]))
        for name in [*names, *(_SUFFIX.sub("", each) for each in names)]:
            if name in self._exact:
                return self._exact[name]
        return next((price for start, price in self._beginnings if any(name.startswith(start) for name in names)), None)

    def cost(self, model: str, usage: TokenUsage, own: Mapping[str, Price] = _NONE) -> tuple[int, bool]:
        """Billionths of a dollar, and whether anybody has priced the model. A provider that names a sum is believed,
        unless somebody has set a price of `own` for this very model."""
        if usage.cost > 0 and model not in own:
            return round(usage.cost * 1_000_000 * _NANO), True
        price = own.get(model) or self.find(model)
        if price is None:
            return 0, model.partition(":")[0] == "script"  # what is played from a script costs nothing
        return price.nanodollars(usage), True


def load(data: Path | None = None) -> Prices:
    """Our list and, over it, the one in the data folder."""
    listed = _parsed(files("bullpen.llm").joinpath(FILE).read_text(), FILE)
    own = None if data is None else data / FILE
    if own is not None and own.is_file():
        try:
            listed |= _parsed(own.read_text(), str(own))
        except (OSError, UnicodeDecodeError) as error:
            raise CannotStart(f"Cannot read {own}: {error}.") from error
    return Prices(listed)


def _parsed(text: str, where: str) -> dict[str, Price]:
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise CannotStart(f"{where} is no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(found, dict):
        raise CannotStart(f"{where} names models and what they cost, as in `my-model: {{in: 1, out: 4}}`.")
    return {str(name): _price(str(name), said, where) for name, said in found.items()}


def _price(name: str, said: Any, where: str) -> Price:
    if not isinstance(said, dict) or not {"in", "out"} <= said.keys() or not said.keys() <= set(_FIELDS):
        raise CannotStart(f"{where}: {name!r} needs `in` and `out`, and may have `cached` and `written`, and no more.")
    if not all(_is_price(value) for value in said.values()):
        raise CannotStart(f"{where}: the prices of {name!r} are dollars for a million tokens, such as 2.5.")
    fresh = float(said["in"])
    return Price(fresh, float(said["out"]), float(said.get("cached", fresh)), float(said.get("written", fresh)))


def _is_price(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= _MOST
    )
