"""A server that speaks S3, and blobs of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bullpen.files.blobs import DiskBlobs
from bullpen.files.types import Blobs
from tests.folders.stores import Storage, running, s3_blobs, storage_at


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with running() as endpoint:
        yield endpoint


@pytest.fixture
def storage(s3_endpoint: str) -> Storage:
    return storage_at(s3_endpoint)


@pytest.fixture(params=["disk", "s3"])
async def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Blobs]:
    if request.param == "disk":
        yield DiskBlobs(tmp_path / "files")
        return
    storage: Storage = request.getfixturevalue("storage")
    async with s3_blobs(storage.settings(prefix="some/office"), tmp_path / "files") as made:
        yield made


@pytest.fixture
def open_files() -> Iterator[None]:
    """Every descriptor that was opened is closed again."""
    before = opened()
    yield
    left = opened() - before
    assert not left, [path.readlink() for path in left]


def opened() -> set[Path]:
    return {path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
