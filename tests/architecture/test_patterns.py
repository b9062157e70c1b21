"""Patterns that others write are matched in one place, in linear time. Our own are literals, which people review."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture import source
from tests.architecture.source import Module
from tools.syntax import nodes

USES = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


def calls_of_re(module: Module) -> Iterator[ast.Call]:
    for call in nodes(module.tree, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Name(id="re"), attr=name) if name in USES:
                yield call


def is_ours(pattern: ast.expr, constants: set[str]) -> bool:
    """A literal, a module's constant, what `re.escape` made harmless, or these put together."""
    match pattern:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in constants
        case ast.JoinedStr(values=values):
            return all(is_ours(value, constants) for value in values)
        case ast.FormattedValue(value=value):
            return is_ours(value, constants) or ast.unparse(value).startswith(("re.escape(", "target.kind"))
        case ast.BinOp(left=left, right=right):
            return is_ours(left, constants) and is_ours(right, constants)
        case ast.Call(func=ast.Attribute(value=value, attr="encode")):
            return is_ours(value, constants)
    return False


def constants_of(module: Module) -> set[str]:
    """Names that a module gives a value itself, at its top."""
    found = set()
    for statement in module.tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


# Puts together shapes of secrets from a table of its own.
TABLES = {"observe/shapes.py"}


@pytest.mark.proves("L11")
def test_no_pattern_of_others_meets_the_engine_that_backtracks() -> None:
    wrong = [
        f"{module.at(call)} {ast.unparse(call)[:80]}"
        for module in source.modules().values()
        for call in calls_of_re(module)
        if call.args and not is_ours(call.args[0], constants_of(module)) and module.file not in TABLES
    ]
    assert not wrong, "use bullpen.patterns: " + "; ".join(wrong)
