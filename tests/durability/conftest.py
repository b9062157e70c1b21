"""Fixtures of this folder: a fork server, and databases that live as long as one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bullpen.testing.forks import Forks
from tests.databases import KINDS
from tests.durability.worlds import Worlds, in_memory, worlds_of


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with Forks("tests.durability.children") as running:
        yield running


@pytest.fixture(params=KINDS)
def worlds(request: pytest.FixtureRequest) -> Iterator[Worlds]:
    with in_memory() as folder:
        yield worlds_of(request.param, request, folder)
