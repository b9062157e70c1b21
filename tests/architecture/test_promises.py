"""The list of promises and the tests that prove them agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests import proofs

# The issues that are answered: each of its promises is proven by some test, or this file is red.
DONE = {"2", "3", "4", "5", "6", "7", "8", "19"}


@cache
def our_claims() -> Sequence[proofs.Claim]:
    return list(proofs.claims())


def test_every_promise_has_one_id_and_one_sentence() -> None:
    known = proofs.promises()
    ids = [promise.id for promise in known]
    assert len(ids) == len(set(ids))
    assert len(known) >= 390
    for promise in known:
        assert re.fullmatch(r"S[0-4]-\d\d|[A-NPV]\d{1,2}|B-[a-z][a-z0-9.-]*", promise.id), promise
        assert promise.issue == "-" or promise.issue.isdigit(), promise
        assert promise.sentence.endswith("."), promise


def test_every_id_in_a_mark_is_a_known_promise() -> None:
    known = {promise.id for promise in proofs.promises()}
    unknown = [f"{claim.where} proves {claim.id}" for claim in our_claims() if claim.id not in known]
    assert unknown == []


def test_every_promise_of_this_work_is_proven_by_some_test() -> None:
    claimed = {claim.id for claim in our_claims()}
    missing = [f"{p.id} {p.sentence}" for p in proofs.promises() if p.issue in DONE and p.id not in claimed]
    assert missing == [], "nothing proves:\n" + "\n".join(missing)


def test_an_id_that_cannot_be_read_from_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("@pytest.mark.proves(SOME_ID)\ndef test_it(): ...\n")
    with pytest.raises(TypeError, match=r"test_it.py:1: write the ids"):
        list(proofs.claims(tmp_path))


def test_an_unproven_promise_is_printed_and_never_hidden(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # none of the others is needed, and some start slowly
    root = Path(__file__).parents[2]
    pytester.makeconftest(f"import sys; sys.path.insert(0, {str(root)!r})\npytest_plugins = ['tests.proofs']\n")
    pytester.makeini("[pytest]\nmarkers = proves\n")
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.proves('S0-01')\n"
        "def test_passes(): pass\n"
        "@pytest.mark.proves('S0-02')\n"
        "def test_is_skipped(): pytest.skip('because')\n"
    )
    whole = pytester.runpytest_subprocess("-p", "xdist", "-n1")
    whole.stdout.fnmatch_lines(["*promises: 1 of * proven*", "issue 2: S0-02 S0-03*"])
    part = pytester.runpytest("-k", "passes")
    part.stdout.no_fnmatch_line("*promises:*")
