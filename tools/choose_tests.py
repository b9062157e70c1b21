"""Which tests to run: those of a noun, or those that a change can affect.

A noun (`spaces`) stands for: test folders and files of that name, test files that import its package, and the tests
that its mutants name. A change affects a test file that imports a changed module, directly or through others. A module
whose name is written as a string counts as imported: that is how commands and plugins are loaded. A test file uses a
plugin or a conftest if it asks for one of its fixtures.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tools.syntax import nodes, parse_file

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SOURCE = ROOT / "src"
EVERYTHING = ("pyproject.toml", "requirements.lock", "hatch_build.py", "Makefile", ".ci/")
# Where the tests are for files that no module imports.
FOLDERS = {
    "ui/": ("page", "web"),
    "docs/": ("docs",),
    "examples/": ("examples", "docs"),
    "changelog.d/": ("docs",),
    "deploy/": ("docs",),
    "tests/": ("architecture",),
    "src/bullpen/storage/migrations/": ("",),
}


# ── modules and what they import ────────────────────────────────────────────────────────────────────────────────────


@cache
def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    found = {}
    for top, base in ((SOURCE / "bullpen", SOURCE), (TESTS, ROOT), (ROOT / "tools", ROOT), (ROOT / "bench", ROOT)):
        for path in top.rglob("*.py"):
            parts = path.relative_to(base).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def names() -> frozenset[str]:
    return frozenset(modules())


@dataclass(frozen=True)
class Fixture:
    module: str
    imported: frozenset[str]  # inside its function
    arguments: frozenset[str]


@dataclass(frozen=True)
class Words:
    """What a module says: what it imports, the strings it holds, the names of its arguments."""

    imported: frozenset[str]
    strings: frozenset[str]
    arguments: frozenset[str]


def tree_of(name: str) -> ast.Module:
    return parse_file(modules()[name])


@cache
def words_of(name: str) -> Words:
    return _words_in([tree_of(name)], name)


def _words_in(trees: Iterable[ast.AST], name: str) -> Words:
    imported: set[str] = set()
    strings: set[str] = set()
    arguments: set[str] = set()
    for tree in trees:
        strings |= {node.value for node in nodes(tree, ast.Constant) if isinstance(node.value, str)}
        arguments |= {node.arg for node in nodes(tree, ast.arg)}
        imported |= {alias.name for node in nodes(tree, ast.Import) for alias in node.names}
        for node in nodes(tree, ast.ImportFrom):
            if node.module:
                imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return Words(frozenset(imported & names() - {name}), frozenset(strings), frozenset(arguments))


@cache
def imports_of(name: str) -> frozenset[str]:
    """The modules of ours that this one imports, or loads by a name that it holds as a string."""
    if name.endswith(".conftest"):
        # What stands in its fixtures is imported by whoever asks for these; its strings name plugins.
        return _words_in(
            (node for node in tree_of(name).body if isinstance(node, ast.Import | ast.ImportFrom)), name
        ).imported
    words = words_of(name)
    # A command line with `-m bullpen` loads the package's main module.
    main = {"bullpen.__main__"} if {"-m", "bullpen"} <= words.strings else set()
    used = _used_by_fixtures(words.arguments) if is_test(name) else set()
    return words.imported | (words.strings & names() - {"bullpen"}) | main | used


@cache
def fixtures() -> dict[str, list[Fixture]]:
    """The fixtures that modules below tests/ define for others, by name."""
    found: dict[str, list[Fixture]] = {}
    for module in modules():
        if module.startswith("tests.") and not is_test(module):
            for name, function in _fixtures_in(tree_of(module)):
                words = _words_in([function], module)
                found.setdefault(name, []).append(Fixture(module, words.imported, words.arguments))
    return found


def _fixtures_in(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            written = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
            if "fixture" in written:
                renamed = re.search(r"name='(\w+)'", written)
                yield (renamed.group(1) if renamed else node.name), node


def _used_by_fixtures(arguments: Iterable[str]) -> set[str]:
    """Modules that run for whoever takes these arguments."""
    left, seen, found = set(arguments), set(), set()
    while left:
        seen.add(name := left.pop())
        for fixture in fixtures().get(name, ()):
            found |= {fixture.module} | fixture.imported
            left |= fixture.arguments - seen
    return found


def is_test(name: str) -> bool:
    return name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")


# A module, and whether all of it runs. A package runs when a module in it does, but it does not load by that what it
# would load by name.
Node: TypeAlias = tuple[str, bool]


@cache
def users() -> dict[Node, list[Node]]:
    """For each module, those that make it run."""
    found: dict[Node, list[Node]] = {}
    for name in modules():
        for whole in (True, False):
            for one in imports_of(name) if whole else words_of(name).imported:
                for used in [(one, True), *((package, False) for package in _packages_of(one))]:
                    found.setdefault(used, []).append((name, whole))
    return found


def affected_by(changed: Iterable[str]) -> set[str]:
    """All modules that run one of these, directly or not, and these."""
    left: list[Node] = [(name, whole) for name in changed for whole in (True, False)]
    seen = set(left)
    while left:
        new = set(users().get(left.pop(), ())) - seen
        seen |= new
        left += new
    return {name for name, _ in seen}


def _packages_of(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))} & names()


def test_files() -> dict[str, str]:
    """Names of test modules, and their paths as pytest takes them."""
    return {name: str(path.relative_to(ROOT)) for name, path in sorted(modules().items()) if is_test(name)}


# ── by noun ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def nouns() -> set[str]:
    """What may be asked for: folders of tests/, and packages and modules of src/bullpen."""
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()}
    return (folders | {name.split(".")[1] for name in modules() if name.startswith("bullpen.")}) - {"__pycache__"}


def tests_of(noun: str) -> list[str]:
    package = f"bullpen.{noun}"
    chosen = set(_noticing(noun))
    for name, path in test_files().items():
        words = {word for part in name.split(".")[1:] for word in part.split("_")}
        imported = any(one == package or one.startswith(f"{package}.") for one in words_of(name).imported)
        if noun in words or f"tests/{noun}/" in path or imported:
            chosen.add(path)
    return sorted(chosen)


def _noticing(noun: str) -> Iterator[str]:
    """Files of the tests that must notice a mutant of this noun."""
    for path in sorted((TESTS / "mutants").glob("*.toml")):
        with path.open("rb") as file:
            for mutant in tomllib.load(file).get("mutant", []):
                if mutant["file"].split("/")[0].removesuffix(".py") == noun and "test" in mutant:
                    yield mutant["test"].partition("::")[0]


# ── by change ───────────────────────────────────────────────────────────────────────────────────────────────────────


def changed_files(since: str = "HEAD") -> list[str]:
    """Files that differ from a commit, and new ones."""
    listed = _git("diff", "--name-only", since) + _git("ls-files", "--others", "--exclude-standard")
    return sorted(set(listed))


def _git(*args: str) -> list[str]:
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def tests_affected_by(files: Iterable[str]) -> list[str]:
    changed, folders = set(), set()
    by_path = {str(path.relative_to(ROOT)): name for name, path in modules().items()}
    for file in files:
        if file.startswith(EVERYTHING):
            return ["tests"]
        if file in by_path:
            changed.add(by_path[file])
        if file.endswith("/conftest.py"):
            folders.add(file.removeprefix("tests/").removesuffix("conftest.py"))
        folders |= {folder for prefix, found in FOLDERS.items() if _is_below(file, prefix, by_path) for folder in found}
    paths = test_files()
    affected = affected_by(changed)
    chosen = {path for name, path in paths.items() if name in affected}
    chosen |= {path for path in paths.values() for folder in folders if path.startswith(f"tests/{folder}")}
    return sorted(chosen)


def _is_below(file: str, prefix: str, by_path: Mapping[str, str]) -> bool:
    markdown_on_top = prefix == "docs/" and file.endswith(".md") and "/" not in file
    return file not in by_path and (file.startswith(prefix) or markdown_on_top)
