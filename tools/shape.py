"""`make shape`: how large our files, functions and classes are, beside those of code we admire.

A mirror, not a gate: it always exits 0. The second column was measured in starlette, httpx, procrastinate and anyio;
the third says when to stop and look. Lengths are lines from `def` or `class` to the last line, decorators left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, order=True)
class Sized:
    lines: int
    name: str
    where: str

    def __str__(self) -> str:
        return f"{self.lines:5}  {self.name:<44} {self.where}"


@dataclass
class Shape:
    files: list[Sized] = field(default_factory=list)
    functions: list[Sized] = field(default_factory=list)
    classes: list[tuple[Sized, int]] = field(default_factory=list)
    inner_imports: list[str] = field(default_factory=list)

    def add(self, path: Path, root: Path) -> None:
        text = path.read_text()
        if not text.strip():
            return
        where = str(path.relative_to(root))
        self.files.append(Sized(text.count("\n"), path.name, where))
        for node in ast.walk(ast.parse(text, where)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.append(_sized(node, where))
                self.inner_imports.extend(
                    f"{where}:{inner.lineno}"
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Import | ast.ImportFrom)
                )
            elif isinstance(node, ast.ClassDef):
                methods = sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body)
                self.classes.append((_sized(node, where), methods))


def _sized(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, where: str) -> Sized:
    return Sized((node.end_lineno or node.lineno) - node.lineno + 1, node.name, f"{where}:{node.lineno}")


def measure(folder: Path, root: Path = ROOT) -> Shape:
    shape = Shape()
    for path in sorted(folder.rglob("*.py")):
        shape.add(path, root)
    return shape


def spread(sized: Sequence[Sized]) -> str:
    """median / p90 / longest"""
    lines = sorted(one.lines for one in sized)
    if not lines:
        return "–"
    return f"{median(lines):.0f} / {lines[int(0.9 * (len(lines) - 1))]} / {lines[-1]}"


def table(shape: Shape) -> list[tuple[str, str, str, str]]:
    over = {limit: sum(one.lines > limit for one in shape.functions) for limit in (60, 100)}
    largest, methods = max(shape.classes, default=(Sized(0, "–", ""), 0))
    return [
        ("", "ours", "admired", "stop and look when"),
        ("files, lines", f"{len(shape.files)}, {sum(one.lines for one in shape.files):,}", "6,700–16,000 lines", ""),
        ("file", spread(shape.files), "45–250 / 350–780 / 900–3100", "the longest keeps growing"),
        ("function", spread(shape.functions), "5–9 / 22–34 / 126–149", "one over 100 is not a table"),
        ("functions over 60", str(over[60]), "", ""),
        ("functions over 100", str(over[100]), "1–4", "the count rises"),
        ("imports in functions", str(len(set(shape.inner_imports))), "0–22", "one breaks a cycle"),
        ("largest class", f"{largest.lines} lines, {methods} methods", "370–1010, 16–66", "everything is its method"),
    ]


def show(title: str, rows: Iterable[object]) -> None:
    lines = [f"  {row}" for row in rows]
    if lines:
        print(f"\n{title}\n" + "\n".join(lines))


def main(arguments: Sequence[str]) -> None:
    folder = (ROOT / (arguments[0] if arguments else "src/bullpen")).resolve()
    shape = measure(folder)
    for name, ours, admired, when in table(shape):
        print(f"{name:<22} {ours:<24} {admired:<30} {when}".rstrip())
    show("longest files", sorted(shape.files, reverse=True)[:5])
    show("longest functions", sorted(shape.functions, reverse=True)[:5])
    show("functions over 60 lines", sorted((one for one in shape.functions if one.lines > 60), reverse=True)[5:])
    show("imports in functions", sorted(set(shape.inner_imports)))


if __name__ == "__main__":
    main(sys.argv[1:])
