"""Doors parse, call one thing and answer; what several nouns do together is an operation (docs/decisions/0030)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture import source
from tests.architecture.source import Module
from tools.syntax import nodes

# What a body may use besides the one noun: shapes, values, and decisions without a database.
FREE_PACKAGES = {"wire", "storage", "errors", "ids", "settings", "api"}
FREE_FILES = {"types", "rules"}
READS = ("select_", "count_", "is_")
FRAMEWORKS = {"fastapi", "starlette", "uvicorn", "httpx", "argparse"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(module: Module) -> Iterator[Function]:
    yield from nodes(module.tree, ast.FunctionDef)
    yield from nodes(module.tree, ast.AsyncFunctionDef)


def modules_in(package: str) -> list[Module]:
    found = [module for module in source.modules().values() if module.package == package]
    assert len(found) > 5
    return found


def imported_as(module: Module) -> dict[str, str]:
    """Each name that an import of ours gives, with what it stands for: spaces → bullpen.spaces.actions."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in nodes(module.tree, ast.ImportFrom)
        if node.module and node.module.startswith("bullpen")
        for alias in node.names
    }


def home_of(meaning: str) -> str:
    """The module that an imported name is, or is defined in."""
    return meaning if meaning in source.modules() else meaning.rpartition(".")[0]


# ── one noun, or an operation ───────────────────────────────────────────────────────────────────────────────────────


def names_in(module: Module, start: ast.AST) -> set[str]:
    """All names that a piece of code uses; functions and variables of the same file are followed."""
    defined: dict[str, list[ast.AST]] = {}
    for function in functions_of(module):
        defined.setdefault(function.name, []).append(function)
    for assigned in nodes(module.tree, ast.Assign):
        for target in assigned.targets:
            if isinstance(target, ast.Name):
                defined.setdefault(target.id, []).append(assigned.value)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting += near(defined.get(node.id, []), start)
    return seen


def near(found: list[ast.AST], start: ast.AST) -> list[ast.AST]:
    """Of several with one name (`body`), the one that stands just above its use."""
    line = getattr(start, "lineno", 0)
    above = [node for node in found if getattr(node, "lineno", 0) <= line]
    return [max(above, key=lambda node: getattr(node, "lineno", 0))] if above else found[:1]


def packages_in(module: Module, body: ast.AST) -> set[str]:
    meanings = imported_as(module)
    homes = {home_of(meanings[name]) for name in names_in(module, body) if name in meanings}
    return {source.part_of(home) for home in homes if home.rpartition(".")[2] not in FREE_FILES} - FREE_PACKAGES


def transactions(module: Module) -> Iterator[ast.Call]:
    for name, call in source.calls(module):
        if name == "transact" and module.file != "api/timely.py":
            yield call


def test_a_route_changes_one_noun_or_calls_an_operation() -> None:
    found = [(module, call) for module in modules_in("api") for call in transactions(module)]
    assert len(found) > 50
    wrong = [
        f"{module.at(call)} puts together {', '.join(sorted(packages))}: that is an operation"
        for module, call in found
        if len(packages := packages_in(module, call.args[0])) != 1
    ]
    assert not wrong, "\n".join(wrong)


TWO_NOUNS = """
from bullpen.access.rules import authorize
from bullpen.agents import actions as agents
from bullpen.spaces import actions as spaces

async def rename(id, store):
    async def body(tx):
        authorize(id)
        await agents.rename(tx, id)
        await _tell(tx, id)

    await store.transact(body)

async def _tell(tx, id):
    await spaces.renamed(tx, id)
"""


def test_two_nouns_in_one_body_are_noticed() -> None:
    module = Module("bullpen.api.example", source.SOURCE / "bullpen" / "api" / "example.py", ast.parse(TWO_NOUNS))
    (call,) = transactions(module)
    assert packages_in(module, call.args[0]) == {"agents", "spaces"}


def is_async(home: str, name: str) -> bool:
    """Does this function touch the database? What is pure in a rows.py is not async."""
    functions = nodes(source.modules()[home].tree, ast.AsyncFunctionDef)
    return any(function.name == name for function in functions)


def test_routes_write_no_rows() -> None:
    wrong = []
    for module in modules_in("api"):
        meanings = imported_as(module)
        for used in nodes(module.tree, ast.Attribute):
            home = meanings.get(used.value.id, "") if isinstance(used.value, ast.Name) else ""
            if home.endswith(".rows") and is_async(home, used.attr) and not used.attr.startswith(READS):
                wrong.append(f"{module.at(used)} {home}.{used.attr}")
    assert not wrong, "\n".join(wrong)


def test_routes_note_nothing_and_take_no_turns() -> None:
    """Both belong to a change, so they stand where it does."""
    wrong = [
        f"{module.at(call)} {name}"
        for module in modules_in("api")
        for name, call in source.calls(module)
        if name in ("note", "in_turn", "access_changed", "take_turns")
    ]
    assert not wrong, "\n".join(wrong)


# ── what an operation is given ──────────────────────────────────────────────────────────────────────────────────────


def parameters(function: Function) -> dict[str, str]:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return {each.arg: "" if each.annotation is None else ast.unparse(each.annotation) for each in given}


def functions_in(package: str) -> Iterator[tuple[Module, Function]]:
    for module in modules_in(package):
        for function in functions_of(module):
            yield module, function


def test_an_operation_has_a_transaction_or_opens_it() -> None:
    wrong = [
        f"{module.at(function)} {function.name}"
        for module, function in functions_in("operations")
        if {"tx", "store"} <= set(parameters(function))
    ]
    assert not wrong, "\n".join(wrong)


def test_operations_know_no_door() -> None:
    wrong = [
        f"{module.at(node)} imports {name}"
        for module in modules_in("operations")
        for name, node in source.imported_names(module.tree)
        if name.split(".")[0] in FRAMEWORKS
    ]
    assert not wrong, "\n".join(wrong)


def test_routes_have_a_typed_office_and_store() -> None:
    wrong = [
        f"{module.at(function)} {function.name}"
        for module, function in functions_in("api")
        if function.name == "__getattr__" or any(parameters(function).get(n) == "Any" for n in ("office", "store"))
    ]
    wrong += [
        module.at(call)
        for module in modules_in("api")
        for call in transactions(module)
        if ast.unparse(call.func) != "store.transact"
    ]
    assert not wrong, "\n".join(wrong)
