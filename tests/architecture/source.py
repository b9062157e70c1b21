"""src/bullpen and tests as data: each module's name, file, syntax tree and imports. Read and walked once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.syntax import nodes, parse_folder

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Module:
    name: str  # bullpen.spaces.actions
    path: Path
    tree: ast.Module

    @property
    def file(self) -> str:
        """As a reader would say it: spaces/actions.py"""
        return str(self.path.relative_to(SOURCE / "bullpen"))

    @property
    def package(self) -> str:
        """The word in the table of layers: spaces"""
        return part_of(self.name)

    def at(self, node: ast.AST) -> str:
        return f"{self.file}:{getattr(node, 'lineno', 1)}"


def part_of(name: str) -> str:
    """The folder or top-level file of a module: `spaces` for bullpen.spaces.actions, '' for the package itself."""
    return name.split(".")[1] if "." in name else ""


@cache
def modules() -> dict[str, Module]:
    found = {}
    for path, tree in parse_folder(SOURCE / "bullpen").items():
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path, tree)
    return found


def modules_of_tests() -> Mapping[Path, ast.Module]:
    """Everything under tests/, helpers included."""
    return parse_folder(TESTS)


def imported_names(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Every module name that an import statement under `tree` mentions, wherever the statement stands."""
    for node in nodes(tree, ast.Import):
        for alias in node.names:
            yield alias.name, node
    for other in nodes(tree, ast.ImportFrom):
        if other.module:
            yield other.module, other
            for alias in other.names:
                yield f"{other.module}.{alias.name}", other


@cache
def our_imports(name: str) -> frozenset[str]:
    """The modules of ours that importing `name` runs: those it names, and the packages they are in."""
    known = modules()
    found = {other for other, _ in imported_names(known[name].tree) if other in known}
    for other in list(found):
        parts = other.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts)))
    return frozenset(found - {name, "bullpen"})


def calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    """Each call with the last word of what is called: `record` for both record(…) and events.record(…)."""
    for node in nodes(module.tree, ast.Call):
        if isinstance(node.func, ast.Name):
            yield node.func.id, node
        elif isinstance(node.func, ast.Attribute):
            yield node.func.attr, node


def used_names(module: Module) -> set[str]:
    """The names that a module uses. To import one is not to use it."""
    return {node.id for node in nodes(module.tree, ast.Name)}
