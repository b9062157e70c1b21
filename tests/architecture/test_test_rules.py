"""Rules for the tests themselves: what they import, how they are named, and that they do not sleep."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import source
from tools.syntax import nodes

MOST_WORDS = 10
MOST_COPIES = 2  # of one helper; the third belongs in a module that all of them import
SHORT_SLEEP = 0.05  # seconds
LONGEST_POLL = 0.1
FOR_EVER = 60  # and more: these are cancelled
# Tests that have to let real time pass, and why waiting for an event is not enough.
SLEEPERS = {
    "durability/test_faults.py": "the network stays cut for a while",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(source.ROOT)}:{getattr(node, 'lineno', 1)}"


def functions(path: Path, tree: ast.Module) -> Iterator[Function]:
    """Those of a test file."""
    if path.name.startswith("test_"):
        yield from nodes(tree, ast.FunctionDef)
        yield from nodes(tree, ast.AsyncFunctionDef)


def is_test_file(module: str) -> bool:
    path = source.ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return module.startswith("tests.") and path.name.startswith("test_") and path.is_file()


def test_no_test_file_is_imported_by_another() -> None:
    wrong = [
        f"{place(path, node)} imports {name}"
        for path, tree in source.modules_of_tests().items()
        for name, node in source.imported_names(tree)
        if is_test_file(name)
    ]
    assert not wrong, "move what they share into a module of its own:\n" + "\n".join(wrong)


def test_every_test_name_has_at_most_ten_words() -> None:
    wrong = [
        f"{place(path, function)} {function.name}"
        for path, tree in source.modules_of_tests().items()
        for function in functions(path, tree)
        if function.name.startswith("test_") and function.name.count("_") > MOST_WORDS
    ]
    assert not wrong, "\n".join(wrong)


def test_no_helper_is_copied_into_many_test_files() -> None:
    copies: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, tree in source.modules_of_tests().items():
        for function in functions(path, tree):
            if function in tree.body and not function.name.startswith("test_") and not is_fixture(function):
                copies[function.name, text_of(function)].append(place(path, function))
    wrong = [f"{name}: {', '.join(places)}" for (name, _), places in copies.items() if len(places) > MOST_COPIES]
    assert not wrong, "keep one, in a module that all of them import:\n" + "\n".join(wrong)


def is_fixture(function: Function) -> bool:
    """A fixture may stand for another of its name in several files."""
    return any("fixture" in ast.unparse(each) for each in function.decorator_list)


def text_of(function: Function) -> str:
    """What it does, without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return "\n".join(ast.dump(each) for each in [function.args, *body])


def test_no_test_sleeps() -> None:
    wrong = [
        f"{place(path, call)} sleeps {seconds} s"
        for path, tree in source.modules_of_tests().items()
        for call, seconds in sleeps(tree)
        if str(path.relative_to(source.TESTS)) not in SLEEPERS
    ]
    assert not wrong, "wait for an event, with a bound (tests/waits.py):\n" + "\n".join(wrong)


def sleeps(tree: ast.Module) -> Iterator[tuple[ast.Call, float]]:
    """Every `time.sleep(2)` and `asyncio.sleep(2)`, but for short ones in a `while`: those ask again and again."""
    polls = {call for loop in nodes(tree, ast.While) for call in nodes(loop, ast.Call)}
    for call in nodes(tree, ast.Call):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if called == "sleep" and call.args and isinstance(call.args[0], ast.Constant):
            seconds = float(call.args[0].value)  # type: ignore[arg-type]
            is_poll = call in polls and seconds <= LONGEST_POLL
            if SHORT_SLEEP <= seconds < FOR_EVER and not is_poll:
                yield call, seconds


def test_every_sleeper_still_sleeps() -> None:
    trees = {str(path.relative_to(source.TESTS)): tree for path, tree in source.modules_of_tests().items()}
    idle = [file for file in SLEEPERS if not any(sleeps(trees[file]))]
    assert not idle, f"take them off the list: {idle}"
