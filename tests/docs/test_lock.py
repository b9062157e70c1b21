"""requirements.lock is a complete answer to what pyproject.toml asks for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

Pins = dict[str, set[str]]
EXPORT = ["--frozen", "--quiet", "--no-emit-project", "--no-annotate", "--no-header", "--all-extras", "--all-groups"]


def find_uv() -> str | None:
    local = ROOT / ".uv" / "bin" / "uv"
    return os.environ.get("UV") or shutil.which("uv") or (str(local) if local.exists() else None)


def pins(text: str) -> Pins:
    """`name==version ; marker` → the hashes of its files."""
    found: Pins = {}
    current: set[str] = set()
    for line in text.splitlines():
        if match := re.match(r"\s+--hash=(\S+)", line):
            current.add(match[1])
        elif line.strip():
            current = found.setdefault(line.removesuffix("\\").strip(), set())
    return found


def resolve_anew(uv: str, folder: Path, locked: Pins) -> Pins:
    """With the versions of the lock, so that a release that appears meanwhile changes nothing."""
    asked = (ROOT / "pyproject.toml").read_text()
    held = f"[tool.uv]\nconstraint-dependencies = {json.dumps(sorted(locked))}\n"
    assert asked.count("[tool.uv]\n") == 1
    (folder / "pyproject.toml").write_text(asked.replace("[tool.uv]\n", held))
    printed = ""
    for command in ([uv, "lock", "--quiet"], [uv, "export", *EXPORT]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            explain = f"uv could not resolve: {done.stderr.strip()}"
            pytest.skip(explain)
        printed = done.stdout
    return pins(printed)


def test_the_lock_answers_what_the_dependencies_ask_for(tmp_path: Path) -> None:
    uv = find_uv()
    if uv is None:
        pytest.skip("uv is not available (run through `make test`)")
    locked = pins((ROOT / "requirements.lock").read_text())
    resolved = resolve_anew(uv, tmp_path, locked)
    assert sorted(resolved) == sorted(locked), "run `make lock`"
    # An index may offer fewer files than the one the lock was made with, but never one that the lock does not know.
    strange = [name for name, hashes in resolved.items() if not hashes or not hashes <= locked[name]]
    assert strange == [], "files whose hashes are not in requirements.lock"


def test_the_lock_pins_every_file_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--index" not in text
    assert all("==" in name and hashes for name, hashes in pins(text).items())
