"""The weights of MiniLM for tests: built once on a machine, kept in its cache folder."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from tools import minilm

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bullpen"


@cache
def find_weights() -> Path:
    """The folder. Without a way to fetch them the test is skipped, except in CI."""
    sums = sha256(repr(sorted(minilm.SUMS.items())).encode()).hexdigest()[:12]
    folder = KEPT / f"minilm-{minilm.VERSION}-{sums}"
    if not folder.is_dir():
        try:
            minilm.write_folder(folder)
        except (minilm.CannotBuild, OSError) as error:
            if os.environ.get("CI"):
                raise
            reason = f"the weights of MiniLM could not be fetched: {error}"
            pytest.skip(reason)
    return folder
