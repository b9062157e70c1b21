"""The documents of this repository, and what they mention. Shared by the tests in this folder."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bullpen"

# Files that appear when Bullpen is used, or that a reader would make.
NOT_OURS = re.compile(r"(bullpen-data|\.uv|\.venv|dist)/|bullpen\.toml$|\.env$|uv\.lock$|SKILL\.md$|CHANGELOG\.md$")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)(?::(\w+))?`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# In docstrings and comments, where few paths have backticks.
BARE_PATH = re.compile(r"(?<![\w./-])((?:[\w-]+/)*[\w-]+\.(?:py|md))(?::(\w+))?(?![\w/])")
# Each package may have these, so that they stand for no file of their own.
FOUR_NAMES = ("rules.py", "rows.py", "actions.py", "types.py")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mention:
    document: Path
    path: str
    name: str | None = None  # a function or class in it

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}: {self.path}{':' + self.name if self.name else ''}"

    def file(self) -> Path | None:
        """Where it is: as said from the root, from src/bullpen, or from the document's own folder."""
        for start in (ROOT, SOURCE, self.document.parent):
            if (start / self.path).exists():
                return start / self.path
        return None


def documents() -> list[Path]:
    top = [
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md", "tests/README.md", "changelog.d/README.md")
    ]
    return [*top, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def mentions() -> Iterator[Mention]:
    """Paths in backticks or links. Code blocks are left out: they show what a reader types, in a place of their own."""
    for document in documents():
        text = FENCE.sub("", document.read_text())
        for path, name in PATH.findall(text):
            if _looks_like_ours(path):
                yield Mention(document, path, name or None)
        for path in LINK.findall(text):
            if "://" not in path and not path.startswith("mailto:"):
                yield Mention(document, path)


def source_mentions() -> Iterator[Mention]:
    """Files that docstrings and comments of the source name."""
    for module in sorted(SOURCE.rglob("*.py")):
        for path, name in dict.fromkeys(BARE_PATH.findall("\n".join(_prose(module.read_text())))):
            if not NOT_OURS.search(path) and path not in FOUR_NAMES:
                yield Mention(module, path, name or None)


def _prose(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def _looks_like_ours(path: str) -> bool:
    if NOT_OURS.search(path):
        return False
    if "/" not in path:
        return re.fullmatch(r"[A-Z]+\.md|Makefile|pyproject\.toml|requirements\.lock", path) is not None
    if path.endswith((".py", ".md", ".toml", ".sql", ".txt", ".yaml", ".lock")):
        return True
    first = path.split("/", maxsplit=1)[0]
    return (ROOT / first).is_dir() or (SOURCE / first).is_dir()


def committed() -> list[Path]:
    """Every file that git keeps or would keep; what it ignores is left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]
