"""Rows are read by name: nothing outside storage/ takes a column by its place, or hands a bare row on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.architecture import source
from tests.architecture.source import Module
from tools.syntax import nodes

BY_PLACE = {"storage"}

# What an expression holds, as far as it can be seen: a row, a list of rows, or (None) something else.
ROW, ROWS = "row", "rows"
QUERIES = {"one": ROW, "all": ROWS}
ANNOTATIONS = (
    (re.compile(r"Row( \| None)?"), ROW),
    (re.compile(r"(list|Sequence|Iterable|tuple)\[Row(, \.\.\.)?\]( \| None)?"), ROWS),
)
SAME_KIND = {"list", "tuple", "sorted", "reversed"}
Names = Mapping[str, str]


def of_annotation(annotation: ast.expr | None) -> str | None:
    text = "" if annotation is None else ast.unparse(annotation)
    return next((kind for pattern, kind in ANNOTATIONS if pattern.fullmatch(text)), None)


def of_call(call: ast.Call, names: Names) -> str | None:
    if isinstance(call.func, ast.Attribute):
        if call.func.attr in ("read", "transact") and call.args and isinstance(call.args[0], ast.Lambda):
            return kind_of(call.args[0].body, names)
        return QUERIES.get(call.func.attr)
    if isinstance(call.func, ast.Name) and call.func.id in SAME_KIND and call.args:
        return kind_of(call.args[0], names)
    return None


def of_list(node: ast.List | ast.Tuple, names: Names) -> str | None:
    """`[*waited, *due]` is a list of rows if one of them is."""
    parts = [kind_of(each.value, names) for each in node.elts if isinstance(each, ast.Starred)]
    return ROWS if ROWS in parts else None


def of_part(node: ast.Subscript, names: Names) -> str | None:
    whole = kind_of(node.value, names)
    if isinstance(node.slice, ast.Slice):
        return whole
    return ROW if whole == ROWS else None


def kind_of(node: ast.expr | None, names: Names) -> str | None:
    match node:
        case ast.Name():
            return names.get(node.id)
        case ast.Await():
            return kind_of(node.value, names)
        case ast.NamedExpr():
            return kind_of(node.value, names)
        case ast.BoolOp():
            return kind_of(node.values[0], names)
        case ast.IfExp():
            return kind_of(node.body, names) or kind_of(node.orelse, names)
        case ast.Call():
            return of_call(node, names)
        case ast.List() | ast.Tuple():
            return of_list(node, names)
        case ast.ListComp():
            return ROWS if kind_of(node.elt, names) == ROW else None
        case ast.Subscript():
            return of_part(node, names)
        case _:
            return None


def bound(target: ast.expr, kind: str | None) -> Iterator[tuple[str, str]]:
    """The names of a target that hold a row or rows. `id, *rest = row` binds a row to `rest`."""
    if isinstance(target, ast.Name) and kind is not None:
        yield target.id, kind
    elif isinstance(target, ast.Tuple) and kind == ROW:
        for each in target.elts:
            if isinstance(each, ast.Starred) and isinstance(each.value, ast.Name):
                yield each.value.id, ROW


def bindings(tree: ast.AST, names: Names) -> Iterator[tuple[str, str]]:
    for assign in nodes(tree, ast.Assign):
        for target in assign.targets:
            yield from bound(target, kind_of(assign.value, names))
    for walrus in nodes(tree, ast.NamedExpr):
        yield from bound(walrus.target, kind_of(walrus.value, names))
    for target, values in loops(tree):
        yield from bound(target, ROW if kind_of(values, names) == ROWS else None)


def loops(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    for loop in nodes(tree, ast.For):
        yield loop.target, loop.iter
    for part in nodes(tree, ast.comprehension):
        yield part.target, part.iter


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from nodes(tree, ast.FunctionDef)
    yield from nodes(tree, ast.AsyncFunctionDef)


def names_in(tree: ast.AST) -> Names:
    """What the names in a function hold: what a query gave, what is annotated so, and whatever is called `row`."""
    annotated = {each.arg: kind for each in nodes(tree, ast.arg) if (kind := of_annotation(each.annotation))}
    names = {"row": ROW, **annotated}
    while True:
        found = {**names, **dict(bindings(tree, names))}
        if found == names:
            return names
        names = found


def is_place(index: ast.expr) -> bool:
    """An integer that is written out, or a slice."""
    index = index.operand if isinstance(index, ast.UnaryOp) else index
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and type(index.value) is int)


def taken_by_place(tree: ast.AST) -> set[ast.expr]:
    """`row[0]`, `row[1:]`, and `Task(*row)`, which trusts that fields and columns have the same order."""
    found: set[ast.expr] = set()
    for function in functions(tree):
        names = names_in(function)
        for part in nodes(function, ast.Subscript):
            if is_place(part.slice) and kind_of(part.value, names) == ROW:
                found.add(part)
        for call in nodes(function, ast.Call):
            found |= {each for each in call.args if isinstance(each, ast.Starred) and kind_of(each.value, names) == ROW}
    return found


def judged() -> list[Module]:
    found = [module for module in source.modules().values() if module.package not in BY_PLACE]
    assert len(found) > 100
    return found


def test_no_column_is_taken_by_its_place() -> None:
    wrong = sorted(
        f"{module.at(node)} {ast.unparse(node)}" for module in judged() for node in taken_by_place(module.tree)
    )
    assert not wrong, "use Mapped, Transaction.value or names (storage/mapped.py):\n" + "\n".join(wrong)


def test_no_public_function_gives_a_bare_row() -> None:
    wrong = [
        f"{module.at(function)} {function.name}"
        for module in judged()
        if "bullpen.storage.Row" in (name for name, _ in source.imported_names(module.tree))
        for function in functions(module.tree)
        if of_annotation(function.returns) and not function.name.startswith("_")
    ]
    assert not wrong, "give it a class with names (types.py):\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "line, is_wrong",
    [
        ("row = await tx.one(X)\n    return row[0]", True),
        ("found = await tx.one(X) or (0, 0)\n    return found[1]", True),
        ("return (await tx.one(X))[0]", True),
        ("found = await store.read(lambda tx: tx.one(X))\n    return found[0]", True),
        ("return [each[0] for each in await tx.all(X)]", True),
        ("found = await tx.all(X)\n    return {each[:2] for each in sorted(found)}", True),
        ("found = await tx.all(X)\n    return found[-1][0]", True),
        ("for id, *rest in await tx.all(X):\n        print(rest[0])", True),
        ("return given[-1]", True),
        ("return [Task(*each) for each in await tx.all(X)]", True),
        ("return [row[0] for row in connection.execute(X)]", True),
        ("found = await tx.all(X)\n    return found[0]", False),
        ("id, name = await tx.one(X)\n    return name[0]", False),
        ("return [(id, name) for id, name in await tx.all(X)]", False),
        ("return row['id']", False),
    ],
)
def test_the_rule_sees_columns_taken_by_place(line: str, *, is_wrong: bool) -> None:
    tree = ast.parse(f"async def read(tx: Transaction, given: Row | None) -> None:\n    {line}\n")
    assert bool(taken_by_place(tree)) is is_wrong
