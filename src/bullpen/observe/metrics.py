"""Counters and histograms, and the text that Prometheus reads (version 0.0.4).

Our own, since we need so little: an observation is one dictionary lookup, a scrape writes lines. Labels are given by
position and must come from closed lists (routes, tools, endings): an id in a label would make a new series for every
thing there is. A metric that has too many series anyway puts the rest under one, so memory is bounded whatever happens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

# Latencies from a tenth of a millisecond to a minute.
SECONDS = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SERIES = 2_000
OTHER = "other"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]


class Counter:
    """A number that only rises, for each combination of labels."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.name = name
        self.help = help
        self.labels = labels
        self.values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1) -> None:
        values = self.values
        try:
            values[labels] += by
        except KeyError:
            if len(values) >= SERIES:
                labels = (OTHER,) * len(self.labels)
            values[labels] = values.get(labels, 0.0) + by

    def total(self, *labels: str) -> float:
        """Of one series, or without labels of all of them."""
        return self.values.get(labels, 0.0) if labels else sum(self.values.values())

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help, "counter")
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_labels(self.labels, labels)} {_number(value)}"


class Histogram:
    """How observations spread: per bucket, their number and their sum."""

    def __init__(self, name: str, help: str, *labels: str, buckets: Sequence[float] = SECONDS) -> None:
        self.name = name
        self.help = help
        self.labels = labels
        self.buckets = tuple(buckets)
        self.series: dict[Labels, list[float]] = {}  # a count for each bucket and one above them all; then the sum

    def observe(self, value: float, *labels: str) -> None:
        counts = self.series.get(labels)
        if counts is None:
            if len(self.series) >= SERIES:
                labels = (OTHER,) * len(self.labels)
            counts = self.series.setdefault(labels, [0.0] * (len(self.buckets) + 2))
        counts[bisect_left(self.buckets, value)] += 1
        counts[-1] += value

    def count(self, *labels: str) -> float:
        chosen = [self.series[labels]] if labels in self.series else [] if labels else list(self.series.values())
        return sum(sum(counts[:-1]) for counts in chosen)

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help, "histogram")
        names = (*self.labels, "le")
        for labels, counts in sorted(self.series.items()):
            running = 0.0
            for edge, count in zip((*self.buckets, None), counts, strict=False):
                running += count
                shown = "+Inf" if edge is None else _number(edge)
                yield f"{self.name}_bucket{_labels(names, (*labels, shown))} {_number(running)}"
            yield f"{self.name}_sum{_labels(self.labels, labels)} {_number(counts[-1])}"
            yield f"{self.name}_count{_labels(self.labels, labels)} {_number(running)}"


@dataclass(slots=True)
class Sample:
    """A value that is looked up when somebody asks: how long the queue is, how large the file."""

    name: str
    help: str
    kind: Literal["gauge", "counter"] = "gauge"
    labels: tuple[str, ...] = ()
    values: dict[Labels, float] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help, self.kind)
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_labels(self.labels, labels)} {_number(value)}"


def sample(name: str, help: str, value: float, kind: Literal["gauge", "counter"] = "gauge") -> Sample:
    return Sample(name, help, kind, values={(): float(value)})


def exposition(metrics: Iterable[Counter | Histogram | Sample]) -> bytes:
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines()).encode()


def _head(name: str, help: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help.replace(chr(92), chr(92) * 2).replace(chr(10), ' ')}"
    yield f"# TYPE {name} {kind}"


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
