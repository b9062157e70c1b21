"""Writes src/bullpen/client/sync.pyi: what editors and type checkers know of the SDK without async.

The verbs stand in the async client. A class there that is given a connection is a noun with verbs; each of its public
methods is written out without `async`. Part of `make reference`; tests/client/test_sync_types.py compares.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "src" / "bullpen" / "client"
TARGET = CLIENT / "sync.pyi"
# The rest of the package is how requests travel.
MODULES = (
    "budgets",
    "files",
    "groups",
    "hooks",
    "memory",
    "models",
    "policies",
    "skills",
    "tasks",
    "tools",
    "client",
)
RENAMED = {"AsyncIterator": "Iterator", "AsyncGenerator": "Iterator", "Follow": "Events"}
LEFT_OUT = {"sync", "aclose"}
NOTE = "# Written by `make reference` from the async client. Change that, and run it again."
EVENTS = """
class Events:
    @property
    def cursor(self) -> str | None: ...
    def __iter__(self) -> Events: ...
    def __next__(self) -> Event: ...
    def __enter__(self) -> Events: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def close(self) -> None: ...
"""
DOOR = """
    def __init__(self, url: str = ..., token: str | None = ..., *, patience: float = ...) -> None: ...
    def __enter__(self) -> Bullpen: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def close(self) -> None: ...
"""


class Blocking(ast.NodeTransformer):
    """Annotations as they are without async."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(RENAMED.get(node.id, node.id), node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if ast.unparse(node.value) == "AsyncGenerator" and isinstance(node.slice, ast.Tuple):
            node.slice = node.slice.elts[0]  # what is sent to it is of no interest
        return self.generic_visit(node)


def write() -> str:
    """The whole file."""
    trees = {name: ast.parse((CLIENT / f"{name}.py").read_text()) for name in MODULES}
    nouns = {
        cls.name: cls
        for tree in trees.values()
        for cls in tree.body
        if isinstance(cls, ast.ClassDef) and _has_verbs(cls)
    }
    body = "\n".join([EVENTS, *(_stub(cls, nouns) for cls in nouns.values())])
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    homes: dict[str, str] = {"TracebackType": "types", "Event": "bullpen.client.follow"}
    for name, tree in trees.items():
        homes |= {defined: home for defined, home in _homes(name, tree) if defined not in homes}
    imports = [f"from {homes[name]} import {name}" for name in sorted(used & homes.keys() - nouns.keys())]
    return _format("\n".join([NOTE, *imports, body]))


def _has_verbs(cls: ast.ClassDef) -> bool:
    return any(
        isinstance(item, ast.FunctionDef)
        and item.name == "__init__"
        and any(argument.arg in ("connection", "url") for argument in item.args.args)
        for item in cls.body
    )


def _stub(cls: ast.ClassDef, nouns: Collection[str]) -> str:
    lines = [f"class {cls.name}:", *_attributes(cls, nouns)]
    if cls.name == "Bullpen":
        lines.append(DOOR)
    methods = (item for item in cls.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
    lines += [_signature(method) for method in methods if _is_verb(method)]
    return "\n".join(lines) + "\n"


def _is_verb(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return method.name == "__call__" or not (method.name.startswith("_") or method.name in LEFT_OUT)


def _attributes(cls: ast.ClassDef, nouns: Collection[str]) -> Iterator[str]:
    """`self.id = id`, and the nouns that hang off the door."""
    for node in ast.walk(cls):
        if not (isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Attribute)):
            continue
        if isinstance(node.value, ast.Name) and target.attr == "id":
            yield "    id: str"
        elif isinstance(node.value, ast.Call) and isinstance(made := node.value.func, ast.Name) and made.id in nouns:
            yield f"    {target.attr}: {made.id}"


def _signature(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = method.args
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg) and argument.annotation is not None:
            argument.annotation = Blocking().visit(argument.annotation)
    arguments.defaults = [ast.Constant(...) for _ in arguments.defaults]
    arguments.kw_defaults = [None if default is None else ast.Constant(...) for default in arguments.kw_defaults]
    returns = ast.unparse(Blocking().visit(method.returns)) if method.returns is not None else "None"
    return f"    def {method.name}({ast.unparse(arguments)}) -> {returns}: ..."


def _homes(module: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Where each name comes from that a module uses or defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module != "__future__":
            for alias in node.names:
                yield alias.name, node.module
    yield "Iterator", "collections.abc"
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            yield item.name, f"bullpen.client.{module}"
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            yield item.targets[0].id, f"bullpen.client.{module}"
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id, f"bullpen.client.{module}"


def _format(text: str) -> str:
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(TARGET), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    TARGET.write_text(write())
