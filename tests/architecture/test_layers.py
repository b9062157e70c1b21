"""Imports point down. Change the table when a real need makes it wrong, in the same commit, and say why."""

from __future__ import annotations

import sys

from tests.architecture import source

# Read downward. A package may import what stands on a lower line; packages on one line do not know each other.
# `operations` stands above upkeep, because erasing an agent begins there, and below all doors: decision 0030.
TABLE = """
    __main__
    cli
    app
    api · web · bridges
    operations
    upkeep · doctor
    runs · toolbox
    tools
    mind
    tasks · skills
    spaces · memory · hooks
    outbox
    files · inbox · webhooks · connections · meaning
    threads · llm
    agents · variables · engine · net
    budgets
    events
    access
    audit
    storage
    observe
    settings
    errors · ids · clock · ending · patterns · replacing · apart
"""
LINE = {name: depth for depth, line in enumerate(TABLE.split("\n")) for name in line.split() if name != "·"}

# Beside the table: all may import wire and define; testing may import all; client imports those two alone, and only
# cli uses it. What `from bullpen import tool` gives must not import a server, so `define` imports nothing of ours.
ASIDE = {"wire", "define", "client", "testing"}


def allowed(importer: str, imported: str) -> bool:
    if imported in (importer, "wire", "define") or importer == "testing":
        return importer != "define"
    if importer in ASIDE or imported in ASIDE:
        return (importer, imported) == ("cli", "client")
    return LINE[importer] < LINE[imported]


def test_imports_point_down() -> None:
    wrong = [
        f"{name} imports {other}"
        for name in source.modules()
        for other in sorted(source.our_imports(name))
        if not allowed(source.part_of(name), source.part_of(other))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_package_has_a_line_in_the_table() -> None:
    packages = {module.package for module in source.modules().values()} - {""}
    assert packages - ASIDE <= set(LINE)


def test_a_run_can_act_only_through_a_tool() -> None:
    """From bullpen.runs, bullpen.spaces.actions is reached through bullpen.tools or not at all."""
    came_from = {name: "" for name in source.modules() if source.part_of(name) == "runs"}
    waiting = list(came_from)
    while waiting:
        name = waiting.pop()
        for other in source.our_imports(name):
            if other not in came_from and source.part_of(other) != "tools":
                came_from[other] = name
                waiting.append(other)
    assert "bullpen.spaces.actions" not in came_from, f"{came_from['bullpen.spaces.actions']} imports it"


def test_the_published_packages_have_few_dependencies() -> None:
    may = {"wire": {"bullpen", "pydantic"}, "client": {"bullpen", "httpx", "pydantic", "pydantic_core"}}
    wrong = [
        f"{module.at(node)} imports {name}"
        for module in source.modules().values()
        for name, node in source.imported_names(module.tree)
        if module.package in may
        and name.split(".")[0] not in may[module.package] | set(sys.stdlib_module_names) | {"__future__"}
    ]
    assert not wrong, "\n".join(wrong)
