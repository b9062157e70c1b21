"""The evaluation of what agents are taught: situations in a real office, judged by what the agent did."""

from __future__ import annotations

import json

import pytest

from bench import teaching
from bench.situations import SITUATIONS, Situation
from tests import effort

pytestmark = pytest.mark.one_database

KEPT = json.loads(teaching.REQUESTS.read_text())
# Every text that is taught, and more situations the more effort is made.
CHOSEN = [s for s in SITUATIONS if s.id in KEPT["texts"] or s in effort.pick(SITUATIONS, sample=6)]
CHATTERS = {
    "provider": "script",
    "turns": [{"steps": [{"calls": [{"tool": "send_message", "args": {"text": "Sure!"}}]}]}],
}


def test_good_answers_pass_and_the_texts_are_those_reviewed() -> None:
    verdicts = teaching.play_all(CHOSEN)
    assert [(v.situation, v.wrong) for v in verdicts if not v.passed] == []
    changed = [v.situation for v in verdicts if v.taught.split("\n") != KEPT["texts"][KEPT["situations"][v.situation]]]
    assert changed == [], "run `python -m bench teaching` before and after, then with --accept, and review the change"


def chosen(*ids: str) -> list[Situation]:
    return [situation for situation in SITUATIONS if situation.id in ids]


def test_a_bad_answer_fails() -> None:
    wants = ["messaging/answers", "silence/thanks", "tasks/tomorrow at nine", "reactions/eyes"]
    assert [v.passed for v in teaching.play_all(chosen(*wants), CHATTERS)] == [False] * 4


def test_each_situation_has_an_answer_and_a_text() -> None:
    ids = [situation.id for situation in SITUATIONS]
    assert len(ids) == len(set(ids)) == 60
    assert set(ids) == set(json.loads(teaching.ANSWERS.read_text())) == set(KEPT["situations"])
    assert set(KEPT["situations"].values()) == set(KEPT["texts"])


def test_the_table_and_the_json_tell_the_same() -> None:
    verdicts = [teaching.Verdict("a/one", []), teaching.Verdict("a/two", ["no send_message {}"])]
    shown = teaching.table(verdicts).splitlines()
    assert shown[0].endswith("pass")
    assert shown[1].endswith("FAIL  no send_message {}")
    assert shown[-1].endswith("1 of 2")
    assert teaching.as_json(verdicts, None)["passed"] == 1
