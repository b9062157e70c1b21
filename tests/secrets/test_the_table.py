"""The table of sinks in docs/internals/observe.md says the truth: what it names does ask the redactor."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bullpen"
ROW = re.compile(r"^\| .* \| (`.*`) \|$", re.MULTILINE)
# Every value there is, those that concern a run, or those that a caller has chosen.
ASKS = re.compile(r"(REDACTOR|_redactor|here\(.*\)|\w*masker(\([^)]*\))?)\.(clean|is_clean|so_far|stream)")
NAMED = re.compile(r"`([\w/.]+):(\w+)`")


def table() -> list[tuple[str, str]]:
    page = (ROOT / "docs" / "internals" / "observe.md").read_text()
    return [named for row in ROW.findall(page) for named in NAMED.findall(row)]


@pytest.mark.parametrize("file, name", table())
def test_every_listed_cleaner_of_a_sink_calls_the_redactor(file: str, name: str) -> None:
    text = (SOURCE / file).read_text()
    nodes = [node for node in ast.walk(ast.parse(text)) if getattr(node, "name", None) == name]
    assert nodes, f"{file} has no {name}"
    assert ASKS.search(ast.get_source_segment(text, nodes[0]) or "")


def test_every_file_that_asks_the_redactor_is_in_the_table() -> None:
    asking = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if ASKS.search(path.read_text()) and path.parent.name != "observe"
    }
    # Part of the transcript, which runs/loop.py cleans.
    assert asking - {"runs/transcript.py"} <= {file for file, _ in table()}
