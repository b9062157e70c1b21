# ruff: noqa: SLF001  what the code keeps to itself is what is looked up here
"""The doors that were promised: which are open, and which are not yet. `tools/doors.toml` lists them by name.

`is_open` looks each one up where the code defines such doors. tests/docs/test_doors.py compares the two, and
tools/reference.py writes those that are not open to docs/reference/not-yet.md.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path

from fastapi.routing import APIRoute

from bullpen import settings
from bullpen.agents import files
from bullpen.api.server import build
from bullpen.cli.arguments import parser
from bullpen.client import Bullpen
from bullpen.toolbox import FAMILIES
from bullpen.web import pages
from bullpen.wire.events import LIVE_EVENTS, RESET, STORED_EVENTS

FILE = Path(__file__).with_name("doors.toml")
_PARAMETER = re.compile(r"\{[^}]*\}")


def load() -> Mapping[str, Mapping[str, list[str]]]:
    """By kind: the names of those that are `open`, and of those that are `not_yet`."""
    return tomllib.loads(FILE.read_text())


def is_open(kind: str, name: str) -> bool:
    return _IS_OPEN[kind](name)


@cache
def _routes() -> frozenset[str]:
    app = build(None)
    described = app.openapi()["paths"]
    beside = [(route.path, route.methods or ()) for route in pages.router.routes if isinstance(route, APIRoute)]
    found = [(path, method.upper()) for path, item in described.items() for method in item]
    found += [(path, method) for path, methods in beside for method in methods]
    found.append((str(app.openapi_url), "GET"))
    return frozenset(f"{method} {_PARAMETER.sub('{}', path)}" for path, method in found)


def _is_route(name: str) -> bool:
    return _PARAMETER.sub("{}", name) in _routes()


def _is_command(name: str) -> bool:
    """`run --trace` is a command and one of its options; a command may have commands of its own."""
    found = parser()
    for word in name.split():
        if word.startswith("-"):
            return any(word in action.option_strings for action in found._actions)
        choices = next(
            (action.choices for action in found._actions if action.choices and not action.option_strings), ()
        )
        if word not in choices:
            return False
        found = choices[word] if isinstance(choices, Mapping) else found
    return True


def _is_setting(name: str) -> bool:
    if name in settings._PLAIN_NAMES or name == "TZ":
        return True
    group, _, inner = name.removeprefix("BULLPEN_").lower().rpartition("__")
    kind = settings._GROUPS.get(group) if group else settings.Settings
    return name.startswith("BULLPEN_") and kind is not None and inner in {field.name for field in fields(kind)}


def _is_tool(name: str) -> bool:
    return any(tool.name == name for tools in FAMILIES.values() for tool in tools)


def _is_python(name: str) -> bool:
    if name.startswith("from "):
        _, module, _, wanted = name.split()
        return hasattr(import_module(module), wanted)
    return hasattr(Bullpen("http://127.0.0.1:1", "none"), name.removeprefix("Bullpen."))


def _is_file(name: str) -> bool:
    """What `bullpen apply` reads in a folder."""
    folder, _, rest = name.partition("/")
    if not rest:
        return folder.partition(".")[0] in files.KINDS
    endings = {"agents": files._PARSERS, "tools": files.TOOL_FILES, "skills": {".md": None}}.get(folder, ())
    return f".{rest.rpartition('.')[2]}" in endings


_IS_OPEN: Mapping[str, Callable[[str], bool]] = {
    "routes": _is_route,
    "commands": _is_command,
    "settings": _is_setting,
    "events": lambda name: name in STORED_EVENTS | LIVE_EVENTS | {RESET},
    "tools": _is_tool,
    "families": lambda name: name in FAMILIES,
    "python": _is_python,
    "files": _is_file,
}
KINDS: Mapping[str, str] = {
    "routes": "Routes",
    "commands": "Commands",
    "settings": "Settings",
    "events": "Events",
    "tools": "Tools",
    "families": "Families of tools",
    "python": "In Python",
    "files": "In a project's folder",
}
