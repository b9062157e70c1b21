"""Fixtures for models: a world in which only one server can be reached, and that server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bullpen.runs import asking
from bullpen.testing.model_server import ModelServer, model_server
from tests.llm import speaking
from tests.llm.speaking import World


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers that fail are asked again sooner. tests/path/test_limits.py has the real pauses."""
    monkeypatch.setattr(asking, "FIRST_PAUSE", 0.02)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = speaking.world(tmp_path)
    async with made.egress:
        yield made


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as made:
        yield made
