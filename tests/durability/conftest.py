"""Fixtures of this folder: a fork server, and databases that live as long as the tests of one file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bullpen.testing.forks import Forks
from tests.databases import KINDS
from tests.durability.worlds import Worlds, in_memory, worlds_of


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """One for the whole run. It imports everything while the first test prepares its database."""
    with Forks("tests.durability.children") as running:
        yield running


@pytest.fixture(scope="module", params=KINDS)
def worlds(request: pytest.FixtureRequest) -> Iterator[Worlds]:
    with in_memory() as folder:
        made = worlds_of(request.param, request, folder)
        yield made
        made.end_all()
