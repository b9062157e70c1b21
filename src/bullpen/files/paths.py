"""Paths as agents write them, read into names. Pure: whether anything is there is for `folders.py` to see.

A path is relative, or begins with the folder's public root. Whatever another reader might understand as something else
is refused rather than cleaned, so that a path means one thing to us, to the agent and to a sandbox.
"""

from __future__ import annotations

import re
import unicodedata

from bullpen.errors import PathOutside

ROOT = "/workspace"
GROUP = "/workspace/group"  # the same folder
LONGEST_NAME = 255  # bytes
LONGEST_PATH = 4000  # bytes; the kernel takes 4096
DEEPEST = 32

# A dot, a slash, a backslash or a NUL that somebody further on might decode, however often it was encoded.
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|00)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
# Control characters, halves of surrogate pairs, line and paragraph separators.
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS_TEXT_ROUND = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")

Names = tuple[str, ...]


def names_of(path: str) -> Names:
    """The names from the folder down; none for the folder itself. PathOutside for what does not surely lie in it."""
    if len(path.encode(errors="surrogatepass")) > LONGEST_PATH:
        raise _refused(path, f"it is longer than {LONGEST_PATH} bytes")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in path) or _TURNS_TEXT_ROUND.search(path):
        raise _refused(path, "it holds a control character")
    if "\\" in path or _ENCODED.search(path):
        raise _refused(path, "it holds a backslash, or a character written as a number")
    names = tuple(name for name in _below_root(path).split("/") if name not in ("", "."))
    if len(names) > DEEPEST:
        raise _refused(path, f"it goes more than {DEEPEST} folders deep")
    for name in names:
        _check_name(path, name)
    return names


def _below_root(path: str) -> str:
    if not path.startswith("/"):
        return path
    if path == GROUP or path.startswith(f"{GROUP}/"):
        return path.removeprefix(GROUP)
    if path == ROOT or path.startswith(f"{ROOT}/"):
        return path.removeprefix(ROOT)
    raise _refused(path, "it begins elsewhere")


def _check_name(path: str, name: str) -> None:
    if name == "..":
        raise _refused(path, "it goes up with '..'")
    if _DRIVE.match(name):
        raise _refused(path, "it names a drive")
    if name.endswith((".", " ")) or name.startswith(" "):
        raise _refused(path, "a name in it ends with a dot, or has a space around it")
    if len(name.encode()) > LONGEST_NAME:
        raise _refused(path, f"a name in it is longer than {LONGEST_NAME} bytes")


def safe_name(text: str) -> str:
    """One name that `names_of` takes, as like as can be to a name that somebody gave a file elsewhere."""
    kept = "".join("_" if unicodedata.category(each) in _UNPRINTABLE or each in "/\\" else each for each in text)
    kept = _TURNS_TEXT_ROUND.sub("_", _ENCODED.sub("_", kept)).strip(" ").rstrip(". ")
    kept = f"_{kept}" if _DRIVE.match(kept) else kept
    return kept.encode()[:LONGEST_NAME].decode(errors="ignore").rstrip(". ") or "file"


def shown(names: Names) -> str:
    """The path as an agent reads it: whole, from the public root."""
    return "/".join((ROOT, *names))


def _refused(path: str, why: str) -> PathOutside:
    return PathOutside(f"{brief(path)} is no path in your workspace: {why}. Write it like {ROOT}/report.pdf.")


def brief(path: str) -> str:
    """A path in a sentence: quoted, with what cannot be printed escaped, and not too long to read."""
    return repr(path) if len(path) <= 120 else f"{path[:100]!r}…"
