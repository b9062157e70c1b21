"""The tree as Git keeps it."""

from __future__ import annotations

import subprocess
from collections import defaultdict

import pytest

from tests.architecture.source import ROOT


def test_no_two_paths_differ_in_case_only() -> None:
    """macOS and Windows take them for one file. Imports of the page name no ending, so those do not count there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no Git clone")
    spelled: dict[str, set[str]] = defaultdict(set)
    for path in listed.stdout.decode().split("\0"):
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            whole = "/".join(parts[:end])
            name = whole.removesuffix(".tsx").removesuffix(".ts") if end == len(parts) else whole
            spelled[name.casefold()].add(name)
    assert [sorted(names) for names in spelled.values() if len(names) > 1] == []
