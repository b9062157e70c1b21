"""Agents, spaces, tools, variables and skills from files: what `bullpen apply` and `serve --demo` read.

A project is one YAML or JSON file (`agents:`, `spaces:`, `tools:`, `variables:`, or a single agent or tool), or a
folder with `agents/*.yaml|yml|json|md`, `tools/*.yaml|yml|json`, `spaces.yaml`, `variables.yaml` and
`skills/*/SKILL.md` (skill_files.py). Markdown is front matter, then the instructions. Everything is checked here
against the shapes of `bullpen.wire`, and every complaint names the file and the field. Knows nothing of the database:
what becomes of a project is decided by whoever asked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import yaml
from pydantic import ValidationError

from bullpen import ids
from bullpen.agents import skill_files
from bullpen.agents.skill_files import SkillFile
from bullpen.errors import Invalid, NotFound
from bullpen.wire.requests import ApplySkill, ApplyVariable, CreateAgent, CreateSpace, CreateTool, Request

T = TypeVar("T", bound=Request)

MAX_BYTES = 1_048_576
MAX_DEPTH = 64
# A few lines of YAML aliases can stand for more values than memory holds.
MAX_VALUES = 200_000

ENDINGS = ("yaml", "yml", "json")
TOOL_FILES = (".json", ".yaml", ".yml")
KINDS = ("agents", "spaces", "tools", "variables")

Entries: TypeAlias = "Mapping[str, list[Entry]]"


@dataclass(frozen=True, slots=True)
class Project:
    agents: list[CreateAgent]
    spaces: list[CreateSpace]
    tools: list[CreateTool] = field(default_factory=list)
    variables: list[ApplyVariable] = field(default_factory=list)
    skills: list[ApplySkill] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entry:
    """One agent, space, tool or variable as it was written, and where."""

    where: str
    written: Any


def read_project(path: Path, *, model: str | None = None, environ: Mapping[str, str] | None = None) -> Project:
    """The project at `path`. With `model`, every agent runs on that one instead of its own.

    `environ` is where variables that say `env: NAME` get their values from.
    """
    if not path.exists():
        raise NotFound(f"There is no file or folder {str(path)!r}.")
    found = skill_files.read_folders(path / "skills") if path.is_dir() else []
    written = _read_folder(path, skills=bool(found)) if path.is_dir() else _read_single(path)
    agents, spaces, tools, variables = (written.get(kind, []) for kind in KINDS)
    places = [_space(entry) for entry in spaces]
    project = Project(
        [_agent(entry, model) for entry in agents],
        places,
        [_check(CreateTool, entry.where, entry.written) for entry in tools],
        [_variable(entry, environ or {}) for entry in variables],
        [skill for file in found for skill in _skills(file, places)],
    )
    _refuse_twins([(entry.where, agent.id) for entry, agent in zip(agents, project.agents, strict=True)])
    _refuse_twins([(entry.where, space.id) for entry, space in zip(spaces, project.spaces, strict=True)])
    _refuse_twins([(entry.where, tool.name) for entry, tool in zip(tools, project.tools, strict=True)], "name")
    return project


# ── finding entries ─────────────────────────────────────────────────────────────────────────────────────────────────


def _read_folder(folder: Path, *, skills: bool) -> Entries:
    found = {
        "agents": [_named_by_file(file, _read_one(file, folder), "id") for file in _files(folder, "agents", _PARSERS)],
        "spaces": list(_listed(folder, "spaces")),
        "tools": [
            _named_by_file(file, _read_one(file, folder), "name") for file in _files(folder, "tools", TOOL_FILES)
        ],
        "variables": list(_listed(folder, "variables")),
    }
    if not any(found.values()) and not skills:
        raise Invalid(f"{folder} holds no project: put agents into {folder / 'agents'} and spaces into spaces.yaml.")
    return found


def _listed(folder: Path, kind: str) -> Iterator[Entry]:
    """What spaces.yaml, or variables.yaml, lists."""
    found = [file for ending in ENDINGS if (file := folder / f"{kind}.{ending}").is_file()]
    if len(found) > 1:
        raise Invalid(f"{folder} has both {found[0].name} and {found[1].name}; keep one.")
    for file in found:
        _refuse_outside(file, folder)
        yield from _entries(file.name, _parse(file), kind, bare=True)


def _files(folder: Path, kind: str, endings: Collection[str]) -> Iterator[Path]:
    for file in sorted((folder / kind).glob("*")):
        if file.name.startswith(".") or file.stem.lower() == "readme" or not file.is_file():
            continue
        if file.suffix not in endings:
            known = ", ".join(sorted(endings))
            raise Invalid(f"{file} cannot be read: {kind} are written in files that end in {known}.")
        _refuse_outside(file, folder)
        yield file


def _refuse_outside(file: Path, folder: Path) -> None:
    """A folder from somebody else must not bring in other files of this machine. Links inside of it are fine."""
    if not file.resolve().is_relative_to(folder.resolve()):
        raise Invalid(f"{file} leads out of {folder}, and such links are not followed.")


def _read_one(file: Path, folder: Path) -> Entry:
    return Entry(str(file.relative_to(folder)), _parse(file))


def _read_single(file: Path) -> Entries:
    written = _parse(file)
    if isinstance(written, Mapping) and any(kind in written for kind in KINDS):
        if unknown := sorted(set(written) - set(KINDS)):
            raise Invalid(
                f"{file} may have agents, spaces, tools and variables, and nothing else.",
                fields={unknown[0]: "is not known"},
            )
        return {kind: list(_entries(file.name, written, kind)) for kind in KINDS}
    if isinstance(written, Mapping) and ("executionType" in written or "execution_type" in written):
        return {"tools": [_named_by_file(file, Entry(file.name, written), "name")]}
    if isinstance(written, Mapping) and "name" in written:
        return {"agents": [_named_by_file(file, Entry(file.name, written), "id")]}
    raise Invalid(f"{file} holds no project: it should have a list named agents, spaces, tools or variables.")


def _entries(name: str, written: Any, kind: str, *, bare: bool = False) -> Iterator[Entry]:
    """The list under `kind`; with `bare`, the document may also be that list itself."""
    listed = written.get(kind) if isinstance(written, Mapping) else written if bare else None
    if listed is None:
        return
    if not isinstance(listed, list):
        raise Invalid(f"{name}: {kind} should be a list.", fields={kind: "is not a list"})
    for index, item in enumerate(listed):
        yield Entry(f"{name}: {kind}[{index}]", item)


def _named_by_file(file: Path, entry: Entry, field: str) -> Entry:
    if isinstance(entry.written, Mapping) and field not in entry.written:
        return Entry(entry.where, {field: file.stem, **entry.written})
    return entry


# ── checking entries ────────────────────────────────────────────────────────────────────────────────────────────────


def _agent(entry: Entry, model: str | None) -> CreateAgent:
    written = entry.written
    if model and isinstance(written, Mapping):
        written = {**written, "model": model}
    agent = _check(CreateAgent, entry.where, written)
    _refuse_bad_id(entry.where, agent.id)
    return agent


def _space(entry: Entry) -> CreateSpace:
    written = entry.written
    if isinstance(written, Mapping) and written.get("kind") == "dm":
        return _dm(entry, _check(CreateSpace, entry.where, written))
    space = _check(CreateSpace, entry.where, written)
    _refuse_bad_id(entry.where, space.id)
    return space


def _dm(entry: Entry, space: CreateSpace) -> CreateSpace:
    """A DM is named by its two members, so its id need not be written; if it is, it must be the right one."""
    if len(set(space.members)) != 2:
        raise _complaint(entry.where, {"members": "a dm has exactly two"})
    first, second = space.members
    if space.id is not None and space.id != ids.dm(first, second):
        raise _complaint(entry.where, {"id": f"the dm of these two is {ids.dm(first, second)!r}; leave the id out"})
    return CreateSpace.model_validate({**space.model_dump(exclude_unset=True), "id": ids.dm(first, second)})


def _variable(entry: Entry, environ: Mapping[str, str]) -> ApplyVariable:
    """A value stands in the file; a secret's never does, but the name it has in the environment."""
    written = dict(entry.written) if isinstance(entry.written, Mapping) else entry.written
    if isinstance(written, dict):
        source = written.pop("env", None)
        if source is not None and "value" in written:
            raise _complaint(entry.where, {"env": "give either this or a value"})
        if source is None and written.get("type") == "secret":
            raise _complaint(entry.where, {"env": "the name that this secret has in your environment; files are read"})
        if source is not None:
            if source not in environ:
                raise _complaint(entry.where, {"env": f"{source} is not set. Set it, and apply again"})
            written["value"] = environ[source]
    return _check(ApplyVariable, entry.where, written)


def _skills(file: SkillFile, spaces: Collection[CreateSpace]) -> Iterator[ApplySkill]:
    """A skill for each space that it names; if it names none, for each of the project's."""
    named = file.spaces or tuple(space.id for space in spaces if space.id is not None)
    if not named:
        raise _complaint(file.where, {"spaces": "say in which spaces it is: the project has none"})
    for space_id in named:
        said = {"name": file.name, "description": file.description, "instructions": file.instructions}
        more = {} if file.parameters is None else {"parameters": file.parameters}
        yield _check(ApplySkill, file.where, {"spaceId": space_id, **said, **more})


def _check(kind: type[T], where: str, written: Any) -> T:
    if not isinstance(written, Mapping):
        raise Invalid(f"{where} should be a mapping of fields to values.")
    try:
        return kind.model_validate(written)
    except ValidationError as error:
        raise _complaint(where, {_place(e["loc"]): _words(e["type"], e["msg"]) for e in error.errors()}) from None


def _complaint(where: str, fields: Mapping[str, str]) -> Invalid:
    return Invalid(f"{where} cannot be used.", fields=fields)


def _place(parts: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in parts) or "(all of it)"


def _words(kind: str, message: str) -> str:
    return {"extra_forbidden": "is not a known field", "missing": "is missing"}.get(kind, message)


def _refuse_bad_id(where: str, id: str | None) -> None:
    # Without an id of its own, applying the file again would make a second one.
    if id is None:
        raise _complaint(where, {"id": "is missing"})
    if not ids.choosable(id):
        raise _complaint(
            where,
            {"id": f"{id!r} should be lowercase letters, digits, _ and single -, at most 64, not starting with dm-"},
        )


def _refuse_twins(named: list[tuple[str, str | None]], field: str = "id") -> None:
    first: dict[str | None, str] = {}
    for where, id in named:
        if id in first:
            raise Invalid(f"{first[id]} and {where} have the same {field}, {id!r}.", fields={field: "is used twice"})
        first[id] = where


# ── reading files ───────────────────────────────────────────────────────────────────────────────────────────────────


def _parse(file: Path) -> Any:
    parser = _PARSERS.get(file.suffix)
    if parser is None:
        raise Invalid(f"{file} cannot be read: write a file that ends in {', '.join(sorted(_PARSERS))}.")
    try:
        written = parser(_text(file))
    except yaml.YAMLError as error:
        raise Invalid(f"{file} is not valid YAML: {_yaml_words(error)}.") from None
    except json.JSONDecodeError as error:
        raise Invalid(f"{file} is not valid JSON: {error}.") from None
    except RecursionError:
        raise Invalid(f"{file} is nested too deeply.") from None
    except ValueError as error:
        raise Invalid(f"{file} cannot be read: {error}.") from None
    _Values(file).check(written, "", 0)
    return written


def _text(file: Path) -> str:
    with file.open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Invalid(f"{file} is larger than {MAX_BYTES:,} bytes; split it up.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8 text.") from None


def _front_matter(text: str) -> Any:
    """Markdown: YAML between two lines of dashes, then the instructions."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---" or "---" not in (line.rstrip() for line in lines[1:]):
        raise ValueError("it should begin with YAML between two lines of ---, followed by the instructions")
    end = next(index for index, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    head = yaml.safe_load("\n".join(lines[1:end])) or {}
    if not isinstance(head, dict):
        raise ValueError("what stands between the lines of --- should be fields and values")
    body = "\n".join(lines[end + 1 :]).strip()
    if body and "instructions" in head:
        raise ValueError("instructions stand both above and below the second ---; keep one")
    return {**head, "instructions": body} if body else head


def _yaml_words(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"{problem or 'it cannot be understood'}" + (f", line {mark.line + 1}" if mark is not None else "")


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".md": _front_matter,
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
}


class _Values:
    """Refuses what YAML can say and JSON cannot, before it surprises somebody further down."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._count = 0

    def check(self, value: Any, where: str, depth: int) -> None:
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise Invalid(f"{self._file} holds too many values, or nests them too deeply.")
        if isinstance(value, dict):
            for key, item in value.items():
                place = f"{where}.{key}" if where else str(key)
                if not isinstance(key, str):
                    raise self._refusal(place, "the name should be in quotes, since YAML reads it as something else")
                self.check(item, place, depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.check(item, f"{where}.{index}" if where else str(index), depth + 1)
        else:
            self._check_scalar(value, where)

    def _check_scalar(self, value: Any, where: str) -> None:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise self._refusal(where, "holds half of a surrogate pair, which is no text") from None
        elif isinstance(value, float) and not math.isfinite(value):
            raise self._refusal(where, "is not a finite number")
        elif not (value is None or isinstance(value, bool | int | float)):
            raise self._refusal(where, f"YAML reads this as a {type(value).__name__}; put it in quotes")

    def _refusal(self, where: str, problem: str) -> Invalid:
        return Invalid(f"{self._file} cannot be used.", fields={where or "(all of it)": problem})
