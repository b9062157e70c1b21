"""Rules of the house that a machine can check: who may commit, record, catch, and what is never used at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture import source
from tests.architecture.source import Module
from tools.syntax import nodes

# An operation receives its transaction. These need more than one, or have to begin again: they take the store.
EDGES = (
    "api/",
    "operations/answers.py",
    "runs/",
    "engine/",
    "upkeep/",
    "cli/",
    "testing/",
    "tools/execute.py",
    "tools/open_executors.py",  # holds leases for as long as what they stand for is open
    "webhooks/sender.py",
    "memory/sender.py",
    "meaning/background.py",
    "bridges/",
    "tasks/firing.py",
    "app.py",
)
CATCHERS = {"tools/execute.py", "api/errors.py", "engine/worker.py"}
# Imports one of its own modules, by a name that argparse has checked.
CHOOSERS = {"cli/__init__.py"}
MEANINGLESS = {"manager", "helper", "util", "service", "handler", "base", "common", "data", "info"}


def every_module() -> list[Module]:
    found = list(source.modules().values())
    assert len(found) > 20
    return found


def test_only_actions_record_events() -> None:
    wrong = [
        module.at(call)
        for module in every_module()
        for name, call in source.calls(module)
        if name == "record" and module.path.name != "actions.py"
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_edges_open_a_transaction() -> None:
    wrong = [
        module.at(call)
        for module in every_module()
        for name, call in source.calls(module)
        if name == "transact" and not module.file.startswith(EDGES)
    ]
    assert not wrong, "\n".join(wrong)


def test_rules_are_pure() -> None:
    forbidden = re.compile(r"bullpen\.(storage|\w+\.(rows|actions))\b|asyncio\b|random\b|time\b|datetime\b|os\b")
    wrong = []
    for module in every_module():
        if module.path.name in ("rules.py", "transcript.py") or module.file == "runs/lines.py":
            wrong += [
                f"{module.at(n)} imports {name}"
                for name, n in source.imported_names(module.tree)
                if forbidden.match(name)
            ]
            wrong += [f"{module.at(n)} is async" for n in nodes(module.tree, ast.AsyncFunctionDef)]
    assert not wrong, "\n".join(wrong)


# ── what is never used ──────────────────────────────────────────────────────────────────────────────────────────────


def dangerous(module: Module) -> Iterator[str]:
    for name, node in source.imported_names(module.tree):
        if name.split(".")[0] in {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}:
            yield f"{module.at(node)} imports {name}"
    for name, call in source.calls(module):
        literal = bool(call.args) and isinstance(call.args[0], ast.Constant)
        if isinstance(call.func, ast.Name) and name in {"eval", "exec", "compile", "__import__"}:
            yield f"{module.at(call)} calls {name}"
        if name in {"import_module", "load_module", "exec_module"} and not literal and module.file not in CHOOSERS:
            yield f"{module.at(call)} imports what a value names"
        if name in {"unsafe_load", "full_load"} or (name == "load" and ast.unparse(call.func) == "yaml.load"):
            yield f"{module.at(call)} lets YAML make objects: use safe_load"


@pytest.mark.proves("N2")
def test_nothing_stored_is_ever_executed() -> None:
    wrong = [line for module in every_module() for line in dangerous(module)]
    assert not wrong, "\n".join(wrong)


# ── wiring ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def late_callbacks(module: Module) -> Iterator[str]:
    for node in nodes(module.tree, ast.AnnAssign):
        annotation = ast.unparse(node.annotation)
        is_empty = isinstance(node.value, ast.Constant) and node.value.value is None
        if isinstance(node.target, ast.Attribute) and is_empty and re.search(r"\bCallable\b.*\| None$", annotation):
            yield f"{module.at(node)} {ast.unparse(node.target)}"


def test_no_callback_is_none_until_somebody_sets_it() -> None:
    """Hand it over when the object is made, or have those who want to know listen to a topic (storage/topics.py)."""
    wrong = [line for module in every_module() for line in late_callbacks(module)]
    assert not wrong, "\n".join(wrong)


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_broad(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {None if kind is None else getattr(kind, "id", "") for kind in caught}
    passes_on = isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None
    return bool(names & {None, "Exception", "BaseException"}) and not passes_on


def test_broad_exceptions_are_caught_in_three_places_only() -> None:
    wrong = [
        module.at(node)
        for module in every_module()
        for node in nodes(module.tree, ast.ExceptHandler)
        if is_broad(node) and module.file not in CATCHERS
    ]
    assert not wrong, "catch what you expect, or let it through: " + ", ".join(wrong)


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_module_says_what_it_is_for() -> None:
    wrong = [module.file for module in every_module() if not ast.get_docstring(module.tree)]
    assert not wrong, "no docstring: " + ", ".join(wrong)


def test_no_name_is_meaningless() -> None:
    named = [(module.file, word) for module in every_module() for word in module.name.split(".")[1:]]
    for module in every_module():
        named += [(module.at(n), n.name) for n in nodes(module.tree, ast.ClassDef)]
    wrong = []
    for where, name in named:
        words = {word.lower().removesuffix("s") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
        if words & MEANINGLESS or re.search(r"_v\d+$", name):
            wrong.append(f"{where} {name}")
    assert not wrong, "\n".join(wrong)


def is_in_function(module: Module, node: ast.stmt) -> bool:
    functions = nodes(module.tree, ast.FunctionDef, ast.AsyncFunctionDef)
    return node.col_offset > 0 and any(each.lineno <= node.lineno <= (each.end_lineno or 0) for each in functions)


def test_our_modules_are_not_imported_inside_functions() -> None:
    """A module of ours imported inside a function means that two modules share one job. Start-up files may wait."""
    wrong = [
        f"{module.at(node)} imports {name} inside a function"
        for module in every_module()
        if module.package not in ("cli", "app", "__main__")
        for name, node in source.imported_names(module.tree)
        if name in source.modules() and is_in_function(module, node)
    ]
    assert not wrong, "\n".join(wrong)
