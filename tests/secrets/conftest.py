"""The redactor of this process, with secrets that it knows for the length of a test."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator

import pytest

from bullpen.observe import logs
from bullpen.observe.redact import REDACTOR
from tests.secrets.writing import SECRETS

Add = Callable[[str, str], None]


@pytest.fixture
def known() -> Iterator[Add]:
    """Tells the redactor of a secret, as whoever sets or opens one does."""
    before = REDACTOR.values()

    def add(value: str, name: str) -> None:
        REDACTOR.add(value, name=name)

    yield add
    for value in REDACTOR.values() - before:
        REDACTOR.forget(value)


@pytest.fixture
def secrets(known: Add) -> dict[str, str]:
    for name, value in SECRETS.items():
        known(value, name)
    return dict(SECRETS)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that this process logs, down to the least, as the server writes it: in both formats."""
    out = io.StringIO()
    handlers = []
    for formatter in (logs.TextFormatter(REDACTOR), logs.JsonFormatter(REDACTOR)):
        handler = logging.StreamHandler(out)
        handler.setFormatter(formatter)
        handlers.append(handler)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    for handler in handlers:
        root.addHandler(handler)
    yield out
    root.setLevel(level)
    for handler in handlers:
        root.removeHandler(handler)
