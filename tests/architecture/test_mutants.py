"""Mutants find their code after it was reformatted, and say so when they do not. Renaming takes them along."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import mutants
from tools.mutants import Mutant, Source, SourceCopy, Stale, Verdict
from tools.rename import main as run_rename

CODE = """
LIMITS = {"a": 1, "b": 2}


class Box:
    size: int = 3

    def fits(self, thing: int, *more: int) -> bool:
        # as far as we know
        if thing < self.size and (
            thing  # not nothing
        ):
            return True
        if thing:
            self.log("é", thing, level=2)
        return sum(item for item in more) < self.size

    @property
    @cached
    def half(self) -> str:
        return f"{self.size / 2} of {self.size}"
"""


def make_mutant(function: str, old: str, new: str, **more: object) -> Mutant:
    return Mutant("box.py", function, old, new, "tests/test_box.py", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "function, old, new, line",
    [
        ("Box.fits", "thing < self.size and thing", "thing", "        if thing:"),
        ("Box.fits", "self.log('é', thing, level=2)", "", "            pass"),
        ("Box.fits", "level=2", "level=3", '            self.log("é", thing, level=3)'),
        ("Box.fits", "level=2", "", '            self.log("é", thing, )'),
        ("Box.fits", '"é"', '"e"', '            self.log("e", thing, level=2)'),
        ("Box.fits", "item for item in more", "0", "        return sum(0) < self.size"),
        ("Box.fits", "return True", "x = 1\nreturn x", "            x = 1\n            return x"),
        ("Box.half", "cached", "", "    @property\n    def half"),
        ("Box.half", "f'{self.size / 2} of {self.size}'", "'half'", "        return 'half'"),
        ("Box.size", "3", "4", "    size: int = 4"),
        ("LIMITS", "2", "1 if more else 2", 'LIMITS = {"a": 1, "b": 1 if more else 2}'),
        ("Box", "size: int = 3", "", "    pass"),
        ("<module>", "LIMITS = {'a': 1, 'b': 2}", "LIMITS = {}", "LIMITS = {}"),
    ],
)
def test_a_mutant_changes_one_node_and_keeps_the_rest(function: str, old: str, new: str, line: str) -> None:
    broken = Source(CODE).mutate(make_mutant(function, old, new))
    assert line in broken
    assert "# as far as we know" in broken


def test_a_node_without_a_position_can_be_replaced() -> None:
    broken = Source(CODE).mutate(make_mutant("Box.fits", "for item in more", "for item in more if item"))
    assert "sum((item for item in more if item))" in broken


def test_formatting_does_not_make_a_mutant_stale() -> None:
    mutant = make_mutant("Box.fits", "thing < self.size and thing", "thing")
    plain = ast.unparse(ast.parse(CODE))
    assert plain != CODE
    assert ast.dump(ast.parse(Source(plain).mutate(mutant))) == ast.dump(ast.parse(Source(CODE).mutate(mutant)))


@pytest.mark.parametrize(
    "mutant, problem",
    [
        (make_mutant("Box.holds", "thing", "0"), "has no `Box.holds`. Name the function that has the code now."),
        (make_mutant("Box.fits", "thing > 1", "0"), "`old` is not in `Box.fits` of box.py. Quote one node"),
        (make_mutant("Box.half", "return True", ""), "`old` is not in `Box.half`"),
        (make_mutant("Box.fits", "self.size", "0"), "occurs 2 times in `Box.fits` of box.py. Quote a larger node, or"),
        (make_mutant("Box.fits", "self.size", "0", nth=3), "nth is 3, but `old` occurs 2 times"),
        (make_mutant("Box.fits", "thing <", "0"), "`old` is not one node of Python"),
        (make_mutant("Box.fits", "level=2", "return"), "`new` is not valid Python in the place of `old` (keyword)"),
        (make_mutant("Box.fits", "thing < self.size", ""), "this node cannot be removed"),
        (make_mutant("Box.fits", "thing < self.size", "(thing  <  self.size)"), "`new` means the same as `old`"),
    ],
)
def test_a_stale_mutant_says_what_to_do(mutant: Mutant, problem: str) -> None:
    with pytest.raises(Stale) as stale:
        Source(CODE).replace(mutant)
    assert problem in str(stale.value)


def test_nth_chooses_among_equal_nodes() -> None:
    source = Source(CODE)
    assert "if thing < 0 and (" in source.mutate(make_mutant("Box.fits", "self.size", "0", nth=1))
    assert "in more) < 0" in source.mutate(make_mutant("Box.fits", "self.size", "0", nth=2))
    assert source.mutate(make_mutant("Box.fits", "return True", "return 1")).count("self.size") == CODE.count(
        "self.size"
    )


def test_no_mutant_is_stale() -> None:
    stale = mutants.find_stale(mutants.load_mutants())
    assert stale == {}, "\n".join(f"{mutant}\n    {problem}" for mutant, problem in stale.items())


@pytest.mark.parametrize(
    "file, test, promise, problem",
    [
        ("ids.py", "tests/rules/test_ids.py::test_is_gone", "", "tests/rules/test_ids.py has no `test_is_gone`"),
        ("ids.py", "tests/rules/test_gone.py", "", "tests/rules/test_gone.py does not exist"),
        ("ids.py", "", "S9-99", "tests/promises.txt has no 'S9-99'"),
        ("ids.py", "", "", "needs either a test or a promise"),
        ("gone.py", "tests/rules/test_ids.py", "", "src/bullpen/gone.py does not exist"),
    ],
)
def test_a_test_or_file_that_is_gone_is_reported(
    file: str, test: str, promise: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mutant = Mutant(file, "<module>", "import re", "", test, promise)
    assert mutants.report_stale([mutant]) == 1
    assert problem in capsys.readouterr().out


def test_parameters_of_a_test_are_not_looked_at() -> None:
    mutants.check_test("tests/architecture/test_mutants.py::test_no_mutant_is_stale[postgres]")


def test_the_tests_of_a_promise_are_found_by_their_marks() -> None:
    code = """
pytestmark = pytest.mark.proves("P1")
class TestBox:
    @pytest.mark.proves("P2", "P3")
    def test_it(self): ...
@pytest.mark.parametrize("it", [pytest.param(1, marks=pytest.mark.proves("P4"))])
async def test_that(it): ...
"""
    assert list(mutants.list_claims(ast.parse(code), "t.py")) == [
        ("P1", "t.py"),
        ("P2", "t.py::TestBox::test_it"),
        ("P3", "t.py::TestBox::test_it"),
        ("P4", "t.py::test_that"),
    ]
    known = mutants.list_tests_of(Mutant("ids.py", "<module>", "import re", "", promise="S0-01"))
    assert known
    assert all(test.startswith("tests/") for test in known)


def test_a_part_is_chosen_by_words_and_by_slice() -> None:
    known = [Mutant(f"{name}.py", "f", "1", "2", f"tests/{name}/test_it.py") for name in "abcd"]
    assert [one.file for one in mutants.choose(known, "", (5, 2))] == ["b.py", "d.py"]
    assert mutants.choose(known, "tests/c", (0, 1)) == [known[2]]


# ── running ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def copy(tmp_path: Path) -> SourceCopy:
    (tmp_path / "src" / "bullpen").mkdir(parents=True)
    (tmp_path / "src" / "bullpen" / "box.py").write_text(CODE)
    return SourceCopy(tmp_path / "copy", tmp_path / "src")


def test_a_copy_is_whole_again_after_each_mutant(copy: SourceCopy) -> None:
    path = copy.folder / "bullpen" / "box.py"
    before = path.stat()
    seconds = {int(before.st_mtime)}
    for new in ("3", "4"):  # of the same size: only its time tells Python that the bytecode is too old
        with copy.break_file(make_mutant("Box.fits", "level=2", f"level={new}")):
            assert f"level={new}" in path.read_text()
            seconds.add(int(path.stat().st_mtime))
    assert len(seconds) == 3
    assert path.read_text() == CODE
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(
    "exit_code, verdict",
    [(0, Verdict.SURVIVED), (1, Verdict.NOTICED), (4, Verdict.USELESS), (70, Verdict.HUNG)],
)
def test_only_a_test_that_fails_notices(
    exit_code: int, verdict: Verdict, copy: SourceCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "run_pytest", lambda source, arguments, timeout: (exit_code, ""))
    assert mutants.judge(make_mutant("Box.fits", "level=2", ""), copy, ["t"], timeout=1) is verdict


def test_a_survivor_is_a_failure_and_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutants, "judge_all", lambda chosen, jobs, timeout: [(one, Verdict.SURVIVED) for one in chosen])
    report = tmp_path / "report.json"
    assert mutants.main(["ids.py", "--slice", "0/2", "--json", str(report)]) == 1
    assert "BAD  SURVIVED" in capsys.readouterr().out
    written = json.loads(report.read_text())
    assert written["mutants"] == written["survived"] == len(written["survived_mutants"]) > 0


# ── renaming ────────────────────────────────────────────────────────────────────────────────────────────────────────

MUTANTS = """
[[mutant]]
file = 'tools/late.py'
function = 'run_late'
old = 'late(file)'
new = ''
test = 'tests/test_late.py::test_late[late]'

[[mutant]]
file = 'app.py'
function = 'start'
old = 'late.run_late(1)'
new = 'None'
test = 'tests/test_late.py'
"""
FILES = {
    "src/bullpen/tools/late.py": 'def run_late(file): return {"run_late": file}  # run_late, run_later\n',
    "src/bullpen/app.py": "from bullpen.tools import late\n\ndef start(): late.run_late(1, late=other.late)\n",
    "tests/test_late.py": "from bullpen.tools.late import run_late\ndef test_late(): run_late('/run_late/x')\n",
    "tests/mutants/tools.toml": MUTANTS,
    "docs/tools.md": "`run_late` is in [late](../src/bullpen/tools/late.py) and tools/late.py.\n",
    "pyproject.toml": "# see run_late\n",
}
Rename = Callable[..., int]


@pytest.fixture
def rename(tmp_path: Path) -> Rename:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, env=outside, check=True)
    return lambda *arguments: run_rename(arguments, tmp_path)


def test_a_name_is_renamed_everywhere_at_once(
    tmp_path: Path, rename: Rename, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rename("run_late", "run_approved") == 0
    source = (tmp_path / "src/bullpen/tools/late.py").read_text()
    assert source == 'def run_approved(file): return {"run_approved": file}  # run_approved, run_later\n'
    assert "run_approved('/run_late/x')" in (tmp_path / "tests/test_late.py").read_text()  # no part of a path
    written = (tmp_path / "tests/mutants/tools.toml").read_text()
    assert written == MUTANTS.replace("run_late", "run_approved")
    printed = capsys.readouterr().out
    assert "src/bullpen/tools/late.py:1: def run_approved" in printed
    assert "docs/tools.md:1: `run_approved` is in" in printed
    assert "Not changed, look yourself: pyproject.toml:1:" in printed
    assert "Renamed 9 places in 5 files." in printed


def test_the_keys_and_files_of_mutants_are_no_names(tmp_path: Path, rename: Rename) -> None:
    assert rename("file", "path") == 0
    assert (tmp_path / "tests/mutants/tools.toml").read_text() == MUTANTS.replace("late(file)", "late(path)")


def test_a_module_is_moved_and_named_anew(tmp_path: Path, rename: Rename) -> None:
    assert rename("bullpen.tools.late", "bullpen.tools.approved") == 0
    assert not (tmp_path / "src/bullpen/tools/late.py").exists()
    assert (tmp_path / "src/bullpen/tools/approved.py").read_text() == FILES["src/bullpen/tools/late.py"]
    assert (tmp_path / "src/bullpen/app.py").read_text() == (
        "from bullpen.tools import approved\n\ndef start(): approved.run_late(1, late=other.late)\n"
    )
    assert "from bullpen.tools.approved import run_late" in (tmp_path / "tests/test_late.py").read_text()
    assert (tmp_path / "docs/tools.md").read_text() == (
        "`run_late` is in [late](../src/bullpen/tools/approved.py) and tools/approved.py.\n"
    )
    written = (tmp_path / "tests/mutants/tools.toml").read_text()
    assert written == MUTANTS.replace("tools/late.py", "tools/approved.py").replace("late.run", "approved.run")


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("run_late", "start", "Already used in a file that would change: start"),
        ("run_never", "run_soon", "Not found: run_never"),
        ("run_late", "run-soon", "'run-soon' is not a name that Python allows"),
        ("run_late", "class", "'class' is not a name that Python allows"),
        ("run_late", "print", "print is built into Python"),
        ("bullpen.tools.late", "bullpen.runs.late", "can only get a new last word"),
        ("bullpen.tools.never", "bullpen.tools.soon", "no file for the module bullpen.tools.never"),
    ],
)
def test_a_rename_that_would_break_something_is_refused(
    old: str, new: str, reason: str, tmp_path: Path, rename: Rename, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rename(old, new) == 1
    assert reason in capsys.readouterr().err
    assert all((tmp_path / name).read_text() == text for name, text in FILES.items())


def test_many_pairs_are_renamed_in_one_pass(tmp_path: Path, rename: Rename) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("run_late\tstart\nstart\trun_late\n")
    assert rename("--from", str(pairs), "--dry-run") == 0
    assert (tmp_path / "src/bullpen/app.py").read_text() == FILES["src/bullpen/app.py"]
    assert rename("--from", str(pairs)) == 0
    assert "def run_late(): late.start(1" in (tmp_path / "src/bullpen/app.py").read_text()
