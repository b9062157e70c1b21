"""What is imported is declared: a package that only another one brings may be gone with its next version."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.architecture import source
from tools.syntax import parse_folder

OURS = {"bullpen", "tests", "tools", "bench"}
# What each extra of the package is for, and who imports it.
EXTRAS = {"embeddings": {"numpy"}, "postgres": {"asyncpg", "pgqueuer"}, "providers": {"pydantic_ai", "httpx2"}}
BY_EXTRA = {module for modules in EXTRAS.values() for module in modules}


@cache
def project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((source.ROOT / "pyproject.toml").read_text())
    return found


def named(requirements: Iterable[str]) -> set[str]:
    """The distributions of a list of requirements, spelt in one way."""
    return {normal(re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]) for requirement in requirements}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> tuple[set[str], dict[str, set[str]], set[str]]:
    """By the package itself, by each extra, and for development."""
    table: dict[str, dict[str, object]] = project()  # type: ignore[assignment]
    package, groups = table["project"], table["dependency-groups"]
    extras: dict[str, list[str]] = package["optional-dependencies"]  # type: ignore[assignment]
    return (
        named(package["dependencies"]),  # type: ignore[arg-type]
        {name: named(wanted) for name, wanted in extras.items()},
        named(groups["dev"]),  # type: ignore[arg-type]
    )


def imported(folder: Path) -> dict[str, str]:
    """Each foreign module that is imported under a folder, and a file that does."""
    found = {}
    for path, tree in parse_folder(folder).items():
        for name, _ in source.imported_names(tree):
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in OURS:
                found[top] = str(path.relative_to(source.ROOT))
    return found


def undeclared(folder: Path, known: set[str], modules: set[str] | None = None) -> list[str]:
    brought_by = packages_distributions()
    return [
        f"{file} imports {module}, which {' or '.join(brought_by.get(module, ['nothing']))} brings"
        for module, file in sorted(imported(folder).items())
        if (modules is None or module in modules) and not {normal(name) for name in brought_by.get(module, [])} & known
    ]


def test_every_import_of_the_package_is_declared() -> None:
    always, _, _ = declared()
    modules = set(imported(source.SOURCE)) - BY_EXTRA
    assert undeclared(source.SOURCE, always, modules) == []


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_import_of_an_extra_is_declared_by_it(extra: str) -> None:
    always, extras, _ = declared()
    assert EXTRAS[extra] <= set(imported(source.SOURCE)), "nobody imports it any more"
    assert undeclared(source.SOURCE, extras[extra] - always, EXTRAS[extra]) == []


@pytest.mark.parametrize("folder", ["tests", "tools", "bench"])
def test_every_import_of_tests_and_tools_is_declared(folder: str) -> None:
    always, extras, dev = declared()
    assert undeclared(source.ROOT / folder, always.union(dev, *extras.values())) == []
