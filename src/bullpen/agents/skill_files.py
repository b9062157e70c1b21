"""Skills as folders: `NAME/SKILL.md`, which is YAML between two lines of dashes and then the instructions.

What such a file says, how one is written, and how folders of them are read and made. The text comes from anywhere, so
nothing of it is believed: names are checked, sizes are bounded, YAML may not refer to itself, links are not followed.
Names have hyphens there and underscores here. Knows nothing of spaces or of the database.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from bullpen.errors import Invalid, NotFound

FILE: Final = "SKILL.md"
MAX_BYTES: Final = 131_072
MAX_HEAD: Final = 4096
MAX_NESTED: Final = 64  # reading what is nested deeply takes long, and no skill needs it
MAX_FOLDERS: Final = 1000
# A folder may have more in it, which the founding of the format allows; we follow words alone.
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """What a SKILL.md says. `spaces`: those it is for, if it names any."""

    name: str
    description: str
    instructions: str
    parameters: str | None = None
    spaces: tuple[str, ...] = ()
    where: str = FILE
    left_out: tuple[str, ...] = ()  # what else is in the folder


class _Plain(yaml.SafeLoader):
    """YAML that does not refer to itself: a few lines that do can stand for more than memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it refers to itself with *, which is not read here")
        return super().compose_node(parent, index)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def parsed(text: str, *, folder: str | None = None, where: str = FILE) -> SkillFile:
    """What the text says. With `folder`, it has to agree with the folder's name."""
    head, body = _split(text, where)
    fields = _fields(head, where)
    named = _line(fields, "name", where) or folder
    if named is None:
        raise _refused(where, "name", "is missing")
    if folder is not None and _plain(named) != _plain(folder):
        raise _refused(where, "name", f"is {named!r}, but its folder is named {folder!r}")
    if not _NAME.fullmatch(named):
        raise _refused(where, "name", "1–32 of a–z, 0–9 and -, beginning with a letter")
    description = _line(fields, "description", where)
    if not description:
        raise _refused(where, "description", "is missing")
    if not body:
        raise _refused(where, "instructions", "are missing: write them below the second ---")
    parameters = _line(fields, "parameters", where) or _line(fields, "argument-hint", where)
    return SkillFile(_plain(named), description, body, parameters, _spaces(fields, where), where)


def _split(text: str, where: str) -> tuple[str, str]:
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise Invalid(f"{where} is larger than {MAX_BYTES:,} bytes.", fields={"text": "is too long"})
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if lines[0].rstrip() != "---" or end is None:
        problem = "should begin with YAML between two lines of ---, followed by the instructions"
        raise Invalid(f"{where} {problem}.", fields={"text": problem})
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _fields(head: str, where: str) -> Mapping[str, Any]:
    if len(head) > MAX_HEAD:
        raise _refused(where, "text", f"has more than {MAX_HEAD} characters above the second ---")
    if sum(head.count(mark) for mark in ("[", "{", "- -", "? ?")) > MAX_NESTED:
        raise _refused(where, "text", "nests YAML too deeply")
    loader = _Plain(head)
    try:
        found = loader.get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 2}"
        raise _refused(where, "text", f"is not valid YAML{line}") from None
    except RecursionError:
        raise _refused(where, "text", "nests YAML too deeply") from None
    except ValueError as error:
        raise _refused(where, "text", str(error)) from None
    finally:
        loader.dispose()
    if not isinstance(found, dict):
        raise _refused(where, "text", "should have fields and values between the lines of ---")
    return found


def _line(fields: Mapping[str, Any], name: str, where: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise _refused(where, name, "should be text; put it in quotes")
    return " ".join(value.split()) if value else None


def _spaces(fields: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """An addition of ours: a project says in which of its spaces the skill is."""
    named = fields.get("spaces", [])
    named = [named] if isinstance(named, str) else named
    if not isinstance(named, list) or not all(isinstance(space, str) for space in named):
        raise _refused(where, "spaces", "should be a list of ids of spaces")
    return tuple(named)


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _refused(where: str, field: str, problem: str) -> Invalid:
    return Invalid(f"{where} cannot be used: {field} {problem}.", fields={field: problem})


def read_all(path: Path) -> list[SkillFile]:
    """What is there: one SKILL.md, one folder with one in it, or a folder of such folders."""
    if not path.exists():
        raise NotFound(f"There is no file or folder {str(path)!r}.")
    if not path.is_dir():
        return [_read(path, None)]
    if os.path.lexists(path / FILE):
        return [_read(path / FILE, path.absolute().name)]
    found = read_folders(path)
    if not found:
        raise Invalid(f"{path} holds no skills: there is no {FILE} in it, nor in a folder in it.")
    return found


def read_folders(path: Path) -> list[SkillFile]:
    """Each `NAME/SKILL.md` in a folder, by name."""
    named = [folder for folder in sorted(path.glob("*")) if os.path.lexists(folder / FILE)]
    if len(named) > MAX_FOLDERS:
        raise Invalid(f"{path} holds more than {MAX_FOLDERS} skills.")
    found = [_read(folder / FILE, folder.name) for folder in named]
    first: dict[str, str] = {}
    for skill in found:
        if skill.name in first:
            raise Invalid(f"{first[skill.name]} and {skill.where} are the same skill, {skill.name!r}.")
        first[skill.name] = skill.where
    return found


def _read(file: Path, folder: str | None) -> SkillFile:
    if folder is not None and file.parent.is_symlink():
        raise Invalid(f"{file.parent} is a link, and links are not followed.")
    skill = parsed(_text(file), folder=folder, where=str(file))
    beside = sorted(path.name for path in file.parent.iterdir() if path.name != FILE) if folder is not None else []
    return SkillFile(
        skill.name, skill.description, skill.instructions, skill.parameters, skill.spaces, skill.where, tuple(beside)
    )


def _text(file: Path) -> str:
    """Its text, if it is a file and nothing else: opening a pipe would wait for ever."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        problem = "is a link, and links are not followed" if file.is_symlink() else f"cannot be read: {error.strerror}"
        raise Invalid(f"{file} {problem}.") from None
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise Invalid(f"{file} is not a file.")
    with os.fdopen(opened, "rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8 text.") from None


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def folder_name(name: str) -> str:
    return name.replace("_", "-")


def written(name: str, description: str, instructions: str, parameters: str | None = None) -> str:
    """The text of a SKILL.md; reading it gives the same skill."""
    head: dict[str, str] = {"name": folder_name(name), "description": description}
    if parameters:
        head["parameters"] = parameters
    said = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1_000_000)
    return f"---\n{said}---\n\n{instructions.strip()}\n"


def write_all(path: Path, skills: Sequence[tuple[str, str]]) -> list[Path]:
    """Make a folder for each skill: its name, and the text of its SKILL.md. What is there is written over; links are
    not followed."""
    made = []
    for name, text in skills:
        folder = path / folder_name(name)
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink():
            raise Invalid(f"{folder} is a link, and links are not followed.")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            opened = os.open(folder / FILE, flags, 0o644)
        except OSError as error:
            raise Invalid(f"{folder / FILE} cannot be written: {error.strerror}.") from None
        with os.fdopen(opened, "w", encoding="utf-8") as stream:
            stream.write(text)
        made.append(folder / FILE)
    return made
