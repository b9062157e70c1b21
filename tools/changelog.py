"""`make changelog ARGS=0.2.0`: turn the fragments of changelog.d/ into a section of CHANGELOG.md, and remove them.

A fragment is `changelog.d/<name>.<kind>.md`: one sentence for users. Fragments never conflict, so many
hands can add one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("breaking", "security", "added", "changed", "fixed", "removed")
HEAD = "# Changelog\n\nWhat changed for those who use Bullpen, newest first.\n"


def fragments(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def kind_of(path: Path) -> str:
    kind = path.name.removesuffix(".md").rpartition(".")[2]
    if kind not in KINDS:
        raise ValueError(f"{path.name}: a fragment is called <name>.<kind>.md, and a kind is one of {', '.join(KINDS)}")
    return kind


def section(version: str, day: str, paths: Iterable[Path]) -> str:
    lines = [f"## {version} ({day})"]
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in paths:
        by_kind[kind_of(path)].append(" ".join(path.read_text().split()))
    for kind, sentences in by_kind.items():
        if sentences:
            lines += ["", f"### {kind.capitalize()}", "", *(f"- {sentence}" for sentence in sentences)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print('Which version? make changelog ARGS="0.2.0"', file=sys.stderr)
        return 2
    paths = fragments(ROOT / "changelog.d")
    target = ROOT / "CHANGELOG.md"
    earlier = target.read_text().removeprefix(HEAD) if target.exists() else ""
    today = datetime.now(UTC).date().isoformat()
    target.write_text(f"{HEAD}\n{section(arguments[0], today, paths)}{earlier}")
    for path in paths:
        path.unlink()
    print(f"{len(paths)} fragments moved to CHANGELOG.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
