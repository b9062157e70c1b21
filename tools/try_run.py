"""For CI: `make run`, as a newcomer types it, until the page and the API answer. Needs only Python's own library."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 600  # the first time everything is fetched and the page is built


def find_url(process: subprocess.Popen[str]) -> str | None:
    """Print what it says until it names its address."""
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        if found := re.search(r"ready on (http://\S+)", line):
            return found.group(1)
    return None


def answers(url: str, path: str) -> bool:
    with urllib.request.urlopen(f"{url}{path}", timeout=30) as response:
        print(f"GET {path}: {response.status}, {len(response.read())} bytes")
        return bool(response.status == 200)


def main() -> int:
    # Port 0: another clone may run on the usual one.
    command = ["make", "run", "ARGS=--port 0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    timer = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    try:
        url = find_url(process)
        good = url is not None and all(answers(url, path) for path in ("/", "/healthz", "/readyz"))
    finally:
        timer.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
    assert process.stdout is not None
    process.stdout.read()
    process.wait(60)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
