"""What the README and docs/start/first-space.md tell people to type works, typed as it stands."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli import processes
from tests.docs.documents import ROOT
from tests.waits import BOUND, wait_until

BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?<![\w./-])(?:uv run (?:--no-dev )?)?bullpen(?= )")


def block(page: str, language: str, holding: str = "") -> str:
    """The one block of a page in this language that holds these words."""
    (found,) = [b for lang, b in BLOCK.findall((ROOT / page).read_text()) if lang == language and holding in b]
    return str(found)


def type_in(folder: Path, commands: str, url: str) -> str:
    """Run a block in a shell, as its reader would, beside the server of this folder. What was printed."""
    script = COMMAND.sub(" ".join(processes.BULLPEN), commands).replace("http://127.0.0.1:8420", url)
    printed = folder / "printed"
    with printed.open("w") as out:
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=processes.environment(folder / "bullpen-data"),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = shell.wait(BOUND)
        finally:
            with contextlib.suppress(ProcessLookupError):  # a block may leave something running: `follow &`
                os.killpg(shell.pid, signal.SIGKILL)
    assert code == 0, printed.read_text()
    return printed.read_text()


def outcomes(folder: Path, agent: str, wanted: int) -> list[str]:
    """The outcomes of an agent's finished runs, oldest first, once there are as many as wanted."""

    def enough() -> list[str] | None:
        listed = json.loads(processes.output(folder / "bullpen-data", "runs", "--agent", agent, "--json"))
        done = [run["outcome"] for run in reversed(listed["items"]) if run["status"] == "completed"]
        return done if len(done) >= wanted else None

    return wait_until(enough) or []


def test_the_first_space_page_works_as_written(tmp_path: Path) -> None:
    page = "docs/start/first-space.md"
    (tmp_path / "team.yaml").write_text(block(page, "yaml"))
    assert block(page, "sh", "serve") == "bullpen serve\n"
    talk = block(page, "sh", "apply")
    with processes.serving(tmp_path / "bullpen-data") as server:
        first, *rest = [line for line in talk.splitlines() if "send" in line]
        type_in(tmp_path, talk.partition(first)[0], server.url)
        seen: list[str] = []
        for line in (first, *rest):  # a reader does not type faster than Ada answers; a test would
            type_in(tmp_path, line, server.url)
            seen = outcomes(tmp_path, "ada", len(seen) + 1)
        assert seen == ["spoke", "reacted", "silent"]
        assert "spoke" in type_in(tmp_path, block(page, "sh", "bullpen runs"), server.url)
        if shutil.which("curl") is None:
            pytest.skip("curl is not installed, so the last block was not tried")
        answer = json.loads(type_in(tmp_path, block(page, "sh", "curl"), server.url))
        assert answer["text"] == "@ada hello from curl"
        assert outcomes(tmp_path, "ada", 4)[3] == "spoke"


def test_the_readme_works_as_written(tmp_path: Path) -> None:
    assert block("README.md", "sh", "make run") == "make run\n"
    with processes.serving(tmp_path / "bullpen-data", "--demo", "office") as server:
        type_in(tmp_path, block("README.md", "sh", "bullpen send"), server.url)
        assert outcomes(tmp_path, "mira", 1) == ["spoke"]
        if shutil.which("curl") is None:
            pytest.skip("curl is not installed, so the last block was not tried")
        assert json.loads(type_in(tmp_path, block("README.md", "sh", "curl"), server.url))["text"] == "hello everyone"


def test_the_script_of_the_guide_plays(tmp_path: Path) -> None:
    (tmp_path / "rehearsal.yaml").write_text(block("docs/guide/script-model.md", "yaml"))
    data = tmp_path / "bullpen-data"
    with processes.serving(data):
        processes.output(data, "apply", str(tmp_path / "rehearsal.yaml"))
        processes.output(data, "send", "kitchen", "A cup of tea?")
        assert outcomes(tmp_path, "ada", 1) == ["spoke"]
        processes.output(data, "send", "kitchen", "And the weather?")
        assert outcomes(tmp_path, "ada", 2) == ["spoke", "silent"]
