"""Fixtures for models: a world in which only one server can be reached, and that server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bullpen.testing.model_server import ModelServer, model_server
from tests.llm import speaking
from tests.llm.speaking import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = speaking.world(tmp_path)
    async with made.egress:
        yield made


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as made:
        yield made
