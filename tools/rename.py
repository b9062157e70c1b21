"""`python -m tools.rename OLD NEW`: rename something everywhere at once.

OLD is an identifier, or the dotted name of a module, whose file is then moved. Source, tests, tools, benchmarks,
examples, documents and tests/mutants/ are changed together. Only whole words are changed, and in text no part of a
path. Names in code change silently; each change in a string, a comment or a document is printed, so that you can look.

    python -m tools.rename late_result result_later
    python -m tools.rename bullpen.tools.late bullpen.tools.approved_later
    python -m tools.rename --from pairs.tsv         one pair per line, with a tab between
"""

from __future__ import annotations

import argparse
import builtins
import io
import keyword
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "tools", "bench", "examples", "docs")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "AGENTS.md")
MUTANTS = Path("tests/mutants")
LOOK_ONLY = (".toml", ".txt", ".yml", ".yaml", ".md", ".py", "Makefile")  # elsewhere: printed, not changed

WORD = re.compile(r"[^\W\d]\w*")
PATH_AROUND = re.compile(r"/|\.(?:py|md|toml|txt|json|ya?ml|tsv?|sh|html|css)\b")  # what follows a part of a path
MUTANT_KEY = re.compile(r"^(?:file|function|old|new|nth|test|promise)(?= = )|^\[\[mutant\]\]|^file = .*", re.MULTILINE)


Edit = tuple[str, str, str]  # what is written there, what comes instead, and the name of the pair


class Refused(Exception):
    """Nothing was changed. The message says why."""


@dataclass
class Change:
    """What becomes of one file."""

    path: Path
    before: str
    after: str = ""
    places: Counter[str] = field(default_factory=Counter)  # by old name
    to_read: list[str] = field(default_factory=list)  # lines that a person should look at


@dataclass(frozen=True)
class Names:
    """All pairs: identifiers, and modules by their dotted name."""

    words: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)


# ── one file ────────────────────────────────────────────────────────────────────────────────────────────────────────


def rename_in(change: Change, names: Names) -> None:
    """Fills in `after`, the places and the lines to look at."""
    text = change.before
    if not names.words.keys().isdisjoint(WORD.findall(text)) or any(last_word(old) in text for old in names.modules):
        code = find_names(text) if change.path.suffix == ".py" else {}
        edits = dict(find_module_edits(text, code, names.modules))
        locked = {at for match in MUTANT_KEY.finditer(text) for at in range(*match.span())}
        for match in WORD.finditer(text):
            old, start = match[0], match.start()
            if old in names.words and start not in edits and not (lists_mutants(change.path) and start in locked):
                in_path = text[start - 1 : start] == "/" or PATH_AROUND.match(text, match.end())
                if start in code or not in_path:
                    edits[start] = (old, names.words[old], old)
        apply_edits(change, edits, code)


def find_names(text: str) -> dict[int, str]:
    """Where the names of Python code start. With each: `.` if it is an attribute, `=` if it is assigned to, or ''."""
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    found = {}
    for before, token, after in zip([tokens[0], *tokens], tokens, [*tokens[1:], tokens[-1]], strict=False):
        if token.type == tokenize.NAME:
            mark = "." if before.string == "." else "=" if after.string == "=" else ""
            found[lines[token.start[0] - 1] + token.start[1]] = mark
    return found


def find_module_edits(text: str, code: Mapping[int, str], modules: Mapping[str, str]) -> Iterator[tuple[int, Edit]]:
    """Where a module is named: by its dotted name, by its path, or by its last word, after `from package import`."""
    for old, new in modules.items():
        dotted = re.compile(rf"(?<![\w.]){re.escape(old)}(?!\w)")
        path = re.compile(rf"(?:(?<=bullpen/)|(?<![\w/.-])){re.escape(path_of(old))}(?=\.py\b|/)")
        for pattern, written in ((dotted, new), (path, path_of(new))):
            for match in pattern.finditer(text):
                yield match.start(), (match[0], written, old)
        if imports(text, old):
            for match in re.finditer(rf"(?<!\w){last_word(old)}(?!\w)", text):
                if code.get(match.start()) == "":
                    yield match.start(), (match[0], last_word(new), old)


def imports(text: str, module: str) -> bool:
    """Is there a `from package import module` in this text?"""
    package, _, word = module.rpartition(".")
    statement = rf"^\s*from {re.escape(package)} import (?:\([^)]*|.*)(?<!\w){word}(?!\w)"
    return re.search(statement, text, re.MULTILINE) is not None


def rename_in_mutants(change: Change, root: Path, modules: Mapping[str, str]) -> None:
    """In the mutants of files that import the module, `late.x` becomes `approved_later.x`."""
    for old, new in modules.items():

        def rewrite(match: re.Match[str], old: str = old, new: str = new) -> str:
            path = root / "src" / "bullpen" / match[1]
            if not path.is_file() or not imports(path.read_text(), old):
                return match[0]
            return re.sub(rf"(?<![\w.]){last_word(old)}(?=\.[^\W\d])(?!\.py)", last_word(new), match[0])

        entry = re.compile(r"""^file = ['"](.*)['"]\n(?:(?!\[\[mutant).*\n?)*""", re.MULTILINE)
        change.after = entry.sub(rewrite, change.after or change.before)


def last_word(module: str) -> str:
    return module.rpartition(".")[2]


def path_of(module: str) -> str:
    """As documents and mutants name it: tools/late for bullpen.tools.late."""
    return module.removeprefix("bullpen.").replace(".", "/")


def apply_edits(change: Change, edits: Mapping[int, Edit], code: Mapping[int, str]) -> None:
    parts, end, lines = [], 0, set()
    for start in sorted(edits):
        written, new, old = edits[start]
        if start < end:
            continue
        parts += [change.before[end:start], new]
        end = start + len(written)
        change.places[old] += 1
        if start not in code and not lists_mutants(change.path):
            lines.add(change.before.count("\n", 0, start))
    change.after = "".join([*parts, change.before[end:]])
    after = change.after.split("\n")
    change.to_read = [f"{change.path}:{line + 1}: {after[line].strip()}" for line in sorted(lines)]


# ── all files ───────────────────────────────────────────────────────────────────────────────────────────────────────


def list_files(root: Path) -> list[Path]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in sorted(set(listed.split("\0"))) if name and (root / name).is_file()]


def is_ours(path: Path) -> bool:
    """Is this a file to change?"""
    in_folder = path.parts[0] in FOLDERS and path.suffix in (".py", ".md")
    return in_folder or str(path) in DOCUMENTS or lists_mutants(path)


def lists_mutants(path: Path) -> bool:
    return path.parent == MUTANTS and path.suffix == ".toml"


def plan(root: Path, names: Names) -> tuple[list[Change], list[str]]:
    """What becomes of each file that changes, and the lines elsewhere that a person should look at."""
    changes, elsewhere = [], []
    for path in list_files(root):
        if is_ours(path) or str(path).endswith(LOOK_ONLY):
            change = Change(path, (root / path).read_text())
            rename_in(change, names)
            if lists_mutants(path):
                rename_in_mutants(change, root, names.modules)
            if is_ours(path) and (change.after or change.before) != change.before:
                changes.append(change)
            elif change.places:
                elsewhere += change.to_read
    return changes, elsewhere


def check_pairs(pairs: Sequence[tuple[str, str]]) -> Names:
    names = Names()
    for old, new in pairs:
        parts = [*old.split("."), *new.split(".")]
        if bad := [part for part in parts if not part.isidentifier() or keyword.iskeyword(part)]:
            raise Refused(f"{bad[0]!r} is not a name that Python allows.")
        if bad := [part for part in (old, new) if hasattr(builtins, part) or part == "_"]:
            raise Refused(f"{bad[0]} is built into Python. Choose another name.")
        if old == new or old in names.words or old in names.modules:
            raise Refused(f"{old} is listed twice, or has its new name already.")
        if ("." in old or "." in new) and old.rpartition(".")[0] != new.rpartition(".")[0]:
            raise Refused(f"{old} → {new}: a module can only get a new last word. Move it to another package by hand.")
        (names.modules if "." in old else names.words)[old] = new
    if twice := [new for new, count in Counter(new for _, new in pairs).items() if count > 1]:
        raise Refused(f"Several names would become {', '.join(twice)}.")
    return names


def check_changes(changes: Sequence[Change], names: Names, *, force: bool) -> None:
    """Refuses names that are not found, and new names that are taken in one of the files."""
    found: Counter[str] = Counter()
    taken = set()
    for change in changes:
        found.update(change.places)
        present = {match[0] for match in WORD.finditer(change.before)}
        taken |= {new for old, new in names.words.items() if old in change.places and new in present}
        taken |= {last_word(new) for old, new in names.modules.items() if old in change.places} & present
    if missing := [old for old in names.words | names.modules if not found[old]]:
        raise Refused(f"Not found: {', '.join(missing)}. Nothing was changed.")
    if (clash := sorted(taken - set(names.words))) and not force:
        raise Refused(f"Already used in a file that would change: {', '.join(clash)}. Choose another name, or --force.")


def find_file(root: Path, module: str) -> Path:
    """The file or folder of a module, relative to the root."""
    path = Path(*module.split("."))
    for place in (Path("src") / path, path):
        for candidate in (place.with_suffix(".py"), place):
            if (root / candidate).exists():
                return candidate
    raise Refused(f"There is no file for the module {module}.")


def move_modules(root: Path, names: Names) -> None:
    for old, new in names.modules.items():
        path = find_file(root, old)
        target = path.with_name(last_word(new) + path.suffix)
        subprocess.run(["git", "mv", str(path), str(target)], cwd=root, check=True)


def rename(root: Path, pairs: Sequence[tuple[str, str]], *, force: bool = False, dry_run: bool = False) -> None:
    names = check_pairs(pairs)
    for old, new in names.modules.items():
        if (root / find_file(root, old)).with_name(last_word(new) + find_file(root, old).suffix).exists():
            raise Refused(f"There is a file for {new} already.")
    changes, elsewhere = plan(root, names)
    check_changes(changes, names, force=force)
    for change in changes:
        print(*change.to_read, sep="\n", end="\n" if change.to_read else "")
        if not dry_run:
            (root / change.path).write_text(change.after)
    if not dry_run:
        move_modules(root, names)
    for line in elsewhere:
        print(f"Not changed, look yourself: {line}")
    places = sum(change.places.total() for change in changes)
    print(f"{'Would rename' if dry_run else 'Renamed'} {places} places in {len(changes)} files.")
    if not dry_run:
        print("Next: make fix, then python -m tools.mutants --stale, then the tests.")


def read_pairs(path: Path) -> list[tuple[str, str]]:
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.strip()]
    if bad := [row for row in rows if len(row) != 2]:
        raise Refused(f"{path}: a line needs two names with a tab between them: {bad[0]}")
    return [(old.strip(), new.strip()) for old, new in rows]


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.rename", description="Rename something everywhere at once.")
    parser.add_argument("names", nargs="*", metavar="OLD NEW")
    parser.add_argument("--from", dest="file", type=Path, metavar="FILE.tsv", help="many pairs, with tabs between them")
    parser.add_argument("--force", action="store_true", help="even if the new name is used already")
    parser.add_argument("--dry-run", action="store_true", help="change nothing; show what would change")
    options = parser.parse_args(arguments)
    if len(options.names) != (0 if options.file else 2):
        parser.error("give OLD and NEW, or --from FILE.tsv")
    try:
        pairs = read_pairs(options.file) if options.file else [(options.names[0], options.names[1])]
        rename(root, pairs, force=options.force, dry_run=options.dry_run)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
