"""Data folders for commands. `data` (tests/conftest.py) is an empty one; these hold an office."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.cli.processes import output, serving
from tests.databases import sqlite_database


@pytest.fixture(scope="session")
def applied_project(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Callable[[str], Path]:
    """The data folder of an office with this project. It is made once and must not be changed: copy it."""

    @cache
    def apply(project: str) -> Path:
        folder = tmp_path_factory.mktemp("project")
        (folder / "office.yaml").write_text(project)
        data = sqlite_database(folder / "data", sqlite_template).data
        data.chmod(0o700)
        output(data, "apply", "office.yaml")
        return data

    return apply


@pytest.fixture
def office_data(request: pytest.FixtureRequest, tmp_path: Path, applied_project: Callable[[str], Path]) -> Path:
    """The data folder of an office with the PROJECT of the test's module. Nobody serves it."""
    return shutil.copytree(applied_project(request.module.PROJECT), tmp_path / "data")


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of the demo office, claimed by Olga and served while the module's tests run."""
    data = tmp_path_factory.mktemp("demo") / "data"
    with serving(data, "--demo", "office"):
        output(data, "token", "create", "--name", "Olga", "--owner")
        output(data, "send", "general", "Good morning")
        yield data
