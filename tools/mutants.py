"""`make mutants`: does the suite notice when the code is wrong?

tests/mutants/ lists mutants: small breakages of src/bullpen, each with the test that must fail. A mutant names a
function and one node of its syntax tree, so formatting, comments and line breaks do not matter. Each mutant is applied
to a copy of src/, never to the working tree, and its test runs against that copy. First all named tests run on an
untouched copy: a test that fails anyway proves nothing.

A mutant that stops pytest from collecting is refused: any test at all would notice it.

`python -m tools.mutants --stale` runs no tests. It says which mutants no longer fit the code, and what to do.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tools.syntax import parse_file, without_gc

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "tests" / "mutants"
PROMISES = ROOT / "tests" / "promises.txt"
MODULE = "<module>"
TESTS_FAILED = 1  # pytest's exit code
TEST_HUNG = 70  # tests/hangs.py ends a hanging test with this
MANY_TESTS = 20  # from here on the healthy run uses two processes


@dataclass(frozen=True, slots=True)
class Mutant:
    file: str  # under src/bullpen
    function: str  # the innermost function, class or constant around the node, as `Store.transact`; or <module>
    old: str  # the source of one node: an expression, a statement, a keyword argument …
    new: str  # its replacement; empty: the node is removed
    test: str = ""  # a node id of pytest
    promise: str = ""  # or an id of tests/promises.txt: all tests that prove it
    nth: int = 0  # which one, counted from 1, where the same node occurs several times

    def __str__(self) -> str:
        old, new = (textwrap.shorten(code, 100, placeholder=" …") for code in (self.old, self.new))
        return f"{self.file} {self.function}: {old!r} → {new!r}  ({self.test or self.promise})"


class Stale(Exception):
    """A mutant does not fit the code any more. The message says why, and what to do."""


class Verdict(Enum):
    NOTICED = "noticed"
    HUNG = "noticed: the test hung"
    SURVIVED = "SURVIVED"
    USELESS = "USELESS: pytest could not run the test at all"
    STALE = "STALE"


NOTICED = (Verdict.NOTICED, Verdict.HUNG)


def load_mutants(folder: Path = LISTS) -> list[Mutant]:
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in read_list(path)]


def read_list(path: Path) -> list[Mutant]:
    with path.open("rb") as file:
        entries = tomllib.load(file).get("mutant", [])
    mutants = []
    for number, entry in enumerate(entries, 1):
        try:
            mutants.append(Mutant(**entry))
        except TypeError as error:
            raise SystemExit(
                f"{path.name}, entry {number} ({entry.get('file')}): {str(error).partition(' ')[2]}. "
                "tests/mutants/README.md lists the keys of a mutant."
            ) from None
    return mutants


# ── nodes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: `parent.field`, or `parent.field[index]`."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None

    @property
    def siblings(self) -> list[ast.AST]:
        return [self.node] if self.index is None else getattr(self.parent, self.field)

    def put(self, nodes: Sequence[ast.AST]) -> None:
        if self.index is None:
            setattr(self.parent, self.field, nodes[0])
        else:
            self.siblings[self.index : self.index + 1] = nodes


@dataclass(frozen=True, slots=True)
class Kind:
    """How to parse the source of one kind of node: the module to write it into, and where it is found in there."""

    type: type[ast.AST]
    frame: str
    pick: Callable[[Any], Any]  # from the statements of the module


# The first kind that fits a node is used.
KINDS = [
    Kind(ast.stmt, "{}", lambda body: body),
    Kind(ast.Starred, "_(\n{}\n)", lambda body: body[0].value.args),
    Kind(ast.Slice, "_[\n{}\n]", lambda body: [body[0].value.slice]),
    Kind(ast.expr, "(\n{}\n)", lambda body: [body[0].value]),
    Kind(ast.keyword, "_(\n{}\n)", lambda body: body[0].value.keywords),
    Kind(ast.arg, "def _(\n{}\n): pass", lambda body: body[0].args.args),
    Kind(ast.comprehension, "[_\n{}\n]", lambda body: body[0].value.generators),
    Kind(ast.ExceptHandler, "try: pass\n{}", lambda body: body[0].handlers),
    Kind(ast.withitem, "with (\n{}\n): pass", lambda body: body[0].items),
    Kind(ast.match_case, "match _:\n{}", lambda body: body[0].cases),
    Kind(ast.pattern, "match _:\n case (\n{}\n): pass", lambda body: [body[0].cases[0].pattern]),
    Kind(ast.alias, "from _ import (\n{}\n)", lambda body: body[0].names),
]
# Nodes that may be taken out of their list without a substitute.
REMOVABLE = {"args", "keywords", "elts", "decorator_list", "handlers", "cases", "names", "bases"}


def parse_as(kind: Kind, code: str) -> list[ast.AST]:
    """The nodes that `code` means if it is of this kind. None, if it cannot be."""
    code = textwrap.dedent(code).strip()
    code = textwrap.indent(code, " ") if kind.type is ast.match_case else code
    try:
        body = ast.parse(kind.frame.format(code)).body
        nodes = list(kind.pick(body))
    except (SyntaxError, AttributeError, IndexError):
        return []
    fits = len(body) == 1 or kind.type is ast.stmt
    return nodes if fits and all(isinstance(node, kind.type) for node in nodes) else []


def dump(node: ast.AST) -> str:
    """What a node says, without positions. Assigning to a name and reading it look the same."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def list_scopes(node: ast.AST, name: str = MODULE) -> Iterator[tuple[str, ast.AST]]:
    """The module, and everything in it that has a name: functions, classes and constants, with their full names."""
    yield name, node
    for part in list_statements(node):
        if inner := name_scope(part, node):
            yield from list_scopes(part, inner if name == MODULE else f"{name}.{inner}")


def list_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements inside a node, and those inside them, but not what is inside a function, class or constant."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield part
            if not name_scope(part, node):
                yield from list_statements(part)


def name_scope(node: ast.AST, parent: ast.AST) -> str:
    """The name of a function, of a class, or of what a module or a class assigns to one name. Else empty."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name if isinstance(parent, ast.Module | ast.ClassDef) else ""
    return ""


def list_places(node: ast.AST, found: list[Place]) -> list[Place]:
    """Adds every node inside this one, except those of inner functions, and of f-strings: they have no position."""
    for field in node._fields:
        value = getattr(node, field, None)
        for index, part in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(part, ast.AST):
                found.append(Place(part, node, field, index))
                if not isinstance(part, ast.JoinedStr) and not name_scope(part, node):
                    list_places(part, found)
    return found


class Source:
    """One file of src/bullpen: its text, its tree, and the nodes of each function."""

    def __init__(self, text: str, tree: ast.Module | None = None) -> None:
        self.text = text
        self.tree = tree or ast.parse(text)
        self._scopes: dict[str, list[ast.AST]] = defaultdict(list)  # an overloaded function has several
        for name, node in list_scopes(self.tree):
            self._scopes[name].append(node)
        self._places: dict[str, list[Place]] = {}

    def list_places(self, function: str) -> list[Place]:
        if function not in self._places:
            self._places[function] = [place for node in self._scopes[function] for place in list_places(node, [])]
        return self._places[function]

    def find(self, mutant: Mutant) -> Place:
        """The one node that the mutant names, or Stale."""
        found = self._find_all(mutant)
        where = f"`{mutant.function}` of {mutant.file}"
        if not found:
            raise Stale(f"`old` is not in {where}. Quote one node of it, as the code is now, or drop the mutant.")
        if mutant.nth:
            if mutant.nth > len(found):
                raise Stale(f"nth is {mutant.nth}, but `old` occurs {len(found)} times in {where}. Change nth.")
            return found[mutant.nth - 1]
        if len(found) > 1:
            raise Stale(f"`old` occurs {len(found)} times in {where}. Quote a larger node, or say which with nth.")
        return found[0]

    def _find_all(self, mutant: Mutant) -> list[Place]:
        if mutant.function not in self._scopes:
            raise Stale(f"{mutant.file} has no `{mutant.function}`. Name the function that has the code now.")
        wanted = {dump(nodes[0]) for kind in KINDS if len(nodes := parse_as(kind, mutant.old)) == 1}
        if not wanted:
            raise Stale("`old` is not one node of Python. Quote an expression, a statement or an argument.")
        types = {text.partition("(")[0] for text in wanted}
        places = self.list_places(mutant.function)
        found = [place for place in places if type(place.node).__name__ in types and dump(place.node) in wanted]
        # A call that is a statement of its own is two nodes with the same source: the outer one is meant.
        outer = [place.node for place in found]
        return [place for place in found if place.parent not in outer]

    def replace(self, mutant: Mutant) -> tuple[Place, list[ast.AST]]:
        """The node that the mutant names, and what comes instead of it."""
        place = self.find(mutant)
        nodes = parse_replacement(place, mutant.new)
        if [dump(node) for node in nodes] == [dump(place.node)]:
            raise Stale("`new` means the same as `old`. Write a replacement that changes what the code does.")
        return place, nodes

    def mutate(self, mutant: Mutant) -> str:
        """The text of the broken file. The rest of it stays as it is, wherever the new source fits in."""
        place, nodes = self.replace(mutant)
        trials = list(splice(self.text, place, mutant.new))
        before = list(place.siblings)
        place.put(nodes)
        try:
            expected = dump(self.tree)
            for trial in trials:
                if _dump_text(trial) == expected:
                    return trial
            text = ast.unparse(ast.fix_missing_locations(self.tree))
            if not _dump_text(text):
                raise Stale("`new` is not valid Python in the place of `old`. Mend it.")
            return text
        finally:
            if place.index is None:
                place.put(before)
            else:
                place.siblings[:] = before


def parse_replacement(place: Place, code: str) -> list[ast.AST]:
    if not code.strip():
        if isinstance(place.node, ast.stmt):
            return [ast.Pass()]
        if place.index is not None and place.field in REMOVABLE:
            return []
        raise Stale("`new` is empty, but this node cannot be removed. Quote the node around it instead.")
    kind = next(kind for kind in KINDS if isinstance(place.node, kind.type))
    nodes = parse_as(kind, code)
    if not nodes or (place.index is None and len(nodes) > 1):
        raise Stale(f"`new` is not valid Python in the place of `old` ({kind.type.__name__}). Mend it.")
    return nodes


# ── text ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def splice(text: str, place: Place, code: str) -> Iterator[str]:
    """Ways to write `code` in the place of a node. Not every one gives the right tree: the caller compares."""
    data = text.encode()
    lines = [0]
    for line in data.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def locate(node: Any) -> tuple[int, int]:
        start = lines[node.lineno - 1] + node.col_offset
        if getattr(node, "decorator_list", None):
            start = locate(node.decorator_list[0])[0] - 1
        return start, lines[node.end_lineno - 1] + node.end_col_offset

    def cut(start: int, end: int, code: str = "") -> str:
        return (data[:start] + code.encode() + data[end:]).decode()

    node: Any = place.node
    if not hasattr(node, "lineno"):
        return
    start, end = locate(node)
    code = textwrap.dedent(code).strip()
    if isinstance(node, ast.stmt):
        yield cut(start, end, textwrap.indent(code or "pass", " " * node.col_offset).lstrip())
    elif code:
        yield cut(start, end, code)
        yield cut(start, end, f"({code})")
    elif place.index is not None:
        siblings = place.siblings
        if place.index + 1 < len(siblings):
            yield cut(start, locate(siblings[place.index + 1])[0])
        if place.index:
            yield cut(locate(siblings[place.index - 1])[1], end)
        yield cut(start, end)
        yield cut(start - 1, end)  # a decorator, with its @


def _dump_text(text: str) -> str:
    try:
        return dump(ast.parse(text))
    except SyntaxError:
        return ""


# ── stale mutants ───────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def read_source(file: str) -> Source:
    path = ROOT / "src" / "bullpen" / file
    if not path.is_file():
        raise Stale(f"src/bullpen/{file} does not exist. Name the file that has the code now.")
    return Source(path.read_text(), parse_file(path))


@cache
def list_tests(file: str) -> frozenset[str]:
    """The test functions, classes and methods of a file, as pytest names them."""
    return frozenset(name.replace(".", "::") for name, _ in list_scopes(parse_file(ROOT / file)))


def check_test(test: str) -> None:
    """Parameters, as in `[sqlite]`, are not looked at: only pytest knows them."""
    file, _, name = test.partition("[")[0].partition("::")
    if not (ROOT / file).exists():
        raise Stale(f"{file} does not exist. Name the file that has the test now.")
    if name and name not in list_tests(file):
        raise Stale(f"{file} has no `{name}`. Name a test that must fail.")


@cache
def read_promises() -> frozenset[str]:
    """The ids of tests/promises.txt."""
    lines = PROMISES.read_text().splitlines()
    return frozenset(line.split()[0] for line in lines if line.strip() and not line.startswith("#"))


@cache
def read_tests() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py"))}


@cache
def list_proofs(promise: str) -> list[str]:
    """The tests that are marked with `proves(promise)`."""
    files = [file for file, text in read_tests().items() if f'"{promise}"' in text]
    claims = (claim for file in files for claim in list_claims(parse_file(ROOT / file), file))
    return list(dict.fromkeys(test for id, test in claims if id == promise))


def list_claims(tree: ast.AST, file: str) -> Iterator[tuple[str, str]]:
    """Each id in a `proves` mark, with the test that has it. A mark outside of any test counts for the whole file."""
    for scope, node in list_scopes(tree):
        test = f"{file}::{scope.replace('.', '::')}" if scope.rpartition(".")[2].lower().startswith("test") else file
        for place in list_places(node, []):
            match place.node:
                case ast.Call(func=ast.Attribute(attr="proves"), args=ids):
                    yield from ((str(id.value), test) for id in ids if isinstance(id, ast.Constant))


def list_tests_of(mutant: Mutant) -> list[str]:
    """The tests that must notice the mutant, or Stale."""
    if bool(mutant.test) == bool(mutant.promise):
        raise Stale("A mutant needs either a test or a promise. Write one of them.")
    if mutant.test:
        check_test(mutant.test)
        return [mutant.test]
    if mutant.promise not in read_promises():
        raise Stale(f"tests/promises.txt has no {mutant.promise!r}. Name a promise of that list, or a test.")
    if not (tests := list_proofs(mutant.promise)):
        raise Stale(f"No test is marked as proving {mutant.promise}. Mark one, or name a test.")
    return tests


def find_problem(mutant: Mutant) -> str:
    """Why the mutant is stale and what to do about it; empty if it is fine."""
    try:
        read_source(mutant.file).replace(mutant)
        list_tests_of(mutant)
    except Stale as stale:
        return str(stale)
    return ""


def find_stale(mutants: Iterable[Mutant]) -> dict[Mutant, str]:
    """The stale mutants, each with its problem."""
    with without_gc():
        return {mutant: problem for mutant in mutants if (problem := find_problem(mutant))}


def report_stale(mutants: Sequence[Mutant]) -> int:
    stale = find_stale(mutants)
    for mutant, problem in stale.items():
        print(f"STALE  {mutant}\n       {problem}")
    print(f"{len(stale)} of {len(mutants)} mutants are stale." + (" Mend tests/mutants/." if stale else ""))
    return 1 if stale else 0


# ── running ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class SourceCopy:
    """A copy of src/ for one worker. It keeps its bytecode, so that a file is compiled once and not for each mutant."""

    def __init__(self, folder: Path, original: Path = ROOT / "src") -> None:
        self.folder = folder
        self._count = 0
        shutil.copytree(original, folder)

    @contextmanager
    def break_file(self, mutant: Mutant) -> Iterator[None]:
        path = self.folder / "bullpen" / mutant.file
        healthy, stat = path.read_bytes(), path.stat()
        path.write_text(Source(healthy.decode()).mutate(mutant))
        # Python uses bytecode again if the file has the same size and the same second: each mutant gets its own second.
        self._count += 1
        os.utime(path, (stat.st_mtime + self._count, stat.st_mtime + self._count))
        try:
            yield
        finally:
            path.write_bytes(healthy)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def run_pytest(source: Path, arguments: Sequence[str], timeout: float) -> tuple[int, str]:
    """The exit code and what was printed. A test that hangs is killed with every process it started."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:tests.costs"]
    if not any(_uses_schemathesis(argument) for argument in arguments):
        command += ["-p", "no:schemathesis"]  # takes a second to import
    # PYTHONPATH comes before the editable install, here and in the servers that tests start.
    env = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    with subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, printed


@cache
def _uses_schemathesis(argument: str) -> bool:
    path = ROOT / argument.partition("::")[0]
    return path.suffix == ".py" and path.is_file() and "schemathesis" in path.read_text()


def run_healthy(source: Path, tests: Iterable[str]) -> dict[str, str]:
    """Runs the tests on code that nobody broke; ends the program if one is red. What to run for each id from now on.

    Where there is no such parameter any more, as [postgres], that is the whole function.
    """
    resolved = {test: test for test in tests}
    code, printed = _run_tests(source, resolved.values())
    passed = {line.removeprefix("PASSED ") for line in printed.splitlines()}
    if code or any("[" in test and test not in passed for test in resolved):
        resolved = resolve_tests(source, resolved)
        code, printed = _run_tests(source, resolved.values())
    if code:
        print(printed[-4000:], file=sys.stderr)
        raise SystemExit("Some of the named tests are red on healthy code. Mend them first.")
    return resolved


def _run_tests(source: Path, tests: Iterable[str]) -> tuple[int, str]:
    chosen = sorted(set(tests))
    workers = "-n2" if len(chosen) >= MANY_TESTS else "-n0"
    return run_pytest(source, ["-x", "-rA", "--show-capture=no", workers, *chosen], timeout=1800)


def resolve_tests(source: Path, tests: Iterable[str]) -> dict[str, str]:
    """Each id, or its whole function if pytest does not know the id."""
    functions = {test: test.partition("[")[0] for test in tests}
    _, printed = run_pytest(source, ["-n0", "--collect-only", *sorted(set(functions.values()))], timeout=600)
    known = set(printed.splitlines())
    for test, function in functions.items():
        if test in known:
            functions[test] = test
        elif test != function:
            print(f"pytest does not know {test}: the whole function runs instead.", file=sys.stderr)
    return functions


def judge(mutant: Mutant, copy: SourceCopy, tests: Sequence[str], timeout: float) -> Verdict:
    try:
        with copy.break_file(mutant):
            code, _ = run_pytest(copy.folder, ["-x", "-n0", *tests], timeout)
    except Stale:
        return Verdict.STALE
    except subprocess.TimeoutExpired:
        return Verdict.HUNG
    if code == 0:
        return Verdict.SURVIVED
    if code == TEST_HUNG:
        return Verdict.HUNG
    return Verdict.NOTICED if code == TESTS_FAILED else Verdict.USELESS


def judge_all(mutants: Sequence[Mutant], jobs: int, timeout: float) -> Iterator[tuple[Mutant, Verdict]]:
    """Every mutant with its verdict, in order. Ends the program if a test is red without any mutant."""
    with tempfile.TemporaryDirectory(prefix="bullpen-mutants-") as folder:
        first = SourceCopy(Path(folder) / "0")
        tests = {mutant: list_tests_of(mutant) for mutant in mutants}
        resolved = run_healthy(first.folder, {test for named in tests.values() for test in named})
        copies: SimpleQueue[SourceCopy] = SimpleQueue()
        copies.put(first)
        for number in range(1, jobs):
            copies.put(SourceCopy(Path(folder) / str(number), first.folder))  # with its bytecode

        def judge_one(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                return judge(mutant, copy, [resolved[test] for test in tests[mutant]], timeout)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            yield from zip(mutants, pool.map(judge_one, mutants), strict=True)


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────────────────


def choose(mutants: Sequence[Mutant], only: str, part: tuple[int, int]) -> list[Mutant]:
    number, parts = part
    matching = [one for one in mutants if any(only in text for text in (one.file, one.function, one.test, one.promise))]
    return [one for index, one in enumerate(matching) if index % parts == number % parts]


def read_slice(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdigit() and parts.isdigit() and int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form N/K, as 3/20")
    return int(number), int(parts)


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make mutants", description="Break the code on purpose; every break must be noticed."
    )
    parser.add_argument("only", nargs="?", default="", help="only mutants whose file, function or test contains this")
    parser.add_argument(
        "--slice", type=read_slice, default=(0, 1), metavar="N/K", help="only every K-th, from the N-th"
    )
    parser.add_argument("--stale", action="store_true", help="run nothing; list the mutants that do not fit the code")
    parser.add_argument("--list", action="store_true", help="run nothing; list the mutants that would run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts and every mutant not noticed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=180, help="seconds until a test counts as hung")
    return parser.parse_args(arguments)


def write_json(path: Path, verdicts: Sequence[tuple[Mutant, Verdict]], seconds: float) -> None:
    report: dict[str, Any] = {"mutants": len(verdicts), "seconds": round(seconds, 1)}
    for verdict in Verdict:
        name = verdict.name.lower()
        report[name] = sum(given is verdict for _, given in verdicts)
        if verdict not in NOTICED:
            report[f"{name}_mutants"] = [asdict(mutant) for mutant, given in verdicts if given is verdict]
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def run(mutants: Sequence[Mutant], options: argparse.Namespace) -> int:
    started = time.monotonic()
    stale = find_stale(mutants)
    verdicts = [(mutant, Verdict.STALE) for mutant in mutants if mutant in stale]
    for mutant, problem in stale.items():
        print(f"BAD  {Verdict.STALE.value:<10} {mutant}\n     {problem}", flush=True)
    sound = [mutant for mutant in mutants if mutant not in stale]
    for mutant, verdict in judge_all(sound, options.jobs, options.timeout) if sound else ():
        print(f"{'ok  ' if verdict in NOTICED else 'BAD '} {verdict.value:<10} {mutant}", flush=True)
        verdicts.append((mutant, verdict))
    seconds = time.monotonic() - started
    if options.json:
        write_json(options.json, verdicts, seconds)
    noticed = sum(verdict in NOTICED for _, verdict in verdicts)
    missed = len(mutants) - noticed
    print(f"\n{noticed} of {len(mutants)} mutants were noticed; {missed} were not. {seconds:.0f} seconds.")
    return 1 if missed else 0


def main(arguments: Sequence[str]) -> int:
    options = read_options(arguments)
    mutants = choose(load_mutants(), options.only, options.slice)
    if options.stale:
        code = report_stale(mutants)
        gc.freeze()  # it would look through all syntax trees when Python ends
        return code
    if not mutants:
        print("There are no mutants to run.")
        return 1
    if options.list:
        print(*mutants, f"{len(mutants)} mutants would run.", sep="\n")
        return 0
    return run(mutants, options)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
