"""Syntax trees of our files, each parsed and walked once in a process. Tools and rules about the code read them."""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)


@contextmanager
def without_gc() -> Iterator[None]:
    """It would look through all nodes again and again, for most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def parse_file(path: Path) -> ast.Module:
    with without_gc():
        return ast.parse(path.read_text(), str(path))


@cache
def parse_folder(folder: Path) -> Mapping[Path, ast.Module]:
    """Every Python file in it, in order."""
    with without_gc():
        return {path: parse_file(path) for path in sorted(folder.rglob("*.py"))}


def nodes(tree: ast.AST, *types: type[Node]) -> Iterator[Node]:
    """Every node of these types, wherever it stands."""
    for kind in types:
        yield from _by_type(tree).get(kind, ())  # type: ignore[misc]


@cache
def _by_type(tree: ast.AST) -> Mapping[type[ast.AST], Sequence[ast.AST]]:
    found = defaultdict(list)
    waiting = [tree]
    with without_gc():
        while waiting:  # like `ast.walk`, which is slow for so many modules
            node = waiting.pop()
            found[type(node)].append(node)
            for value in vars(node).values():
                if isinstance(value, ast.AST):
                    waiting.append(value)
                elif isinstance(value, list):
                    waiting.extend(each for each in value if isinstance(each, ast.AST))
    return found
