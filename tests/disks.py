"""The disks that tests write to: one in memory, and one that is small enough to be filled."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ram import find_memory


def pytest_configure() -> None:
    """Temporary folders are in memory. Those of tests that pass are removed at once (pyproject.toml)."""
    if memory := find_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(path: Path) -> None:
    """Take all the room there is with this file."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
