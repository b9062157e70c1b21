"""What the policies say about a call: conditions on its arguments, and whose word counts."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Invalid
from bullpen.tools import policies
from bullpen.tools.policies import Rule, check, decide, holds
from bullpen.wire.nouns import Decision

DECISIONS: tuple[Decision, ...] = get_args(Decision)


def where(path: str, op: str, value: Any) -> dict[str, Any]:
    return {"path": path, "op": op, "value": value}


BIG = where("amount", "gt", 100)


@pytest.mark.parametrize(
    "when, args, expected",
    [
        (BIG, {"amount": 101}, True),
        (BIG, {"amount": 100}, False),
        (BIG, {"amount": 100.5}, True),
        (BIG, {"amount": "101"}, None),
        (BIG, {"amount": True}, None),
        (BIG, {"amount": None}, None),
        (BIG, {}, None),
        (BIG, None, None),
        (where("amount", "gte", 100), {"amount": 100}, True),
        (where("amount", "lt", 100), {"amount": 100}, False),
        (where("amount", "lte", 100), {"amount": 100}, True),
        (where("day", "lt", "2026-02-01"), {"day": "2026-01-31"}, True),
        (where("x", "eq", 1), {"x": 1.0}, True),
        (where("x", "eq", 1), {"x": True}, False),
        (where("x", "eq", True), {"x": 1}, False),
        (where("x", "eq", [1]), {"x": [True]}, False),
        (where("x", "eq", {"a": [1]}), {"x": {"a": [1]}}, True),
        (where("x", "eq", {"a": 1}), {"x": {"a": 1, "b": 2}}, False),
        (where("x", "eq", None), {"x": None}, True),
        (where("x", "eq", None), {}, None),
        (where("x", "ne", "a"), {"x": "b"}, True),
        (where("x", "ne", "a"), {}, None),
        (where("x", "in", ["a", 1]), {"x": "a"}, True),
        (where("x", "in", ["a", 1]), {"x": True}, False),
        (where("x", "in", []), {"x": "a"}, False),
        (where("x", "contains", "ell"), {"x": "hello"}, True),
        (where("x", "contains", "l"), {"x": ["l", "m"]}, True),
        (where("x", "contains", 1), {"x": [True]}, False),
        (where("x", "contains", "l"), {"x": {"l": 1}}, None),
        (where("x", "contains", 1), {"x": "1"}, None),
        (where("x", "startsWith", "/tmp/"), {"x": "/tmp/a"}, True),
        (where("x", "startsWith", "/tmp/"), {"x": ["/tmp/a"]}, None),
        (where("x", "endsWith", ".txt"), {"x": "a.txt"}, True),
        (where("a.b", "eq", 1), {"a": {"b": 1}}, True),
        (where("a.b", "eq", 1), {"a": 1}, None),
        (where("a.1", "eq", 2), {"a": [1, 2]}, True),
        (where("a.2", "eq", 2), {"a": [1, 2]}, None),
        (where("a.-1", "eq", 2), {"a": [1, 2]}, None),
        (where("a.00000000000000001", "eq", 2), {"a": [1, 2]}, None),
        (where("a.²", "eq", 2), {"a": [1, 2, 3]}, None),
        ({"not": BIG}, {"amount": 1}, True),
        ({"not": BIG}, {}, None),
        ({"all": [BIG, where("to", "eq", "Bo")]}, {"amount": 101, "to": "Bo"}, True),
        ({"all": [BIG, where("to", "eq", "Bo")]}, {"amount": 101}, None),
        ({"all": [BIG, where("to", "eq", "Bo")]}, {"amount": 1}, False),
        ({"any": [BIG, where("to", "eq", "Bo")]}, {"to": "Bo"}, True),
        ({"any": [BIG, where("to", "eq", "Bo")]}, {"to": "Al"}, None),
        ({"any": [BIG, where("to", "eq", "Bo")]}, {"to": "Al", "amount": 1}, False),
    ],
)
def test_a_condition_holds_does_not_or_cannot_be_known(when: Any, args: Any, expected: bool | None) -> None:
    check(when)
    assert holds(when, args) is expected


@pytest.mark.parametrize(
    "when, part",
    [
        ([], "must be an object"),
        ("amount > 100", "must be an object"),
        ({}, "`path`, `op` and `value`"),
        ({"path": "a", "op": "eq"}, "`path`, `op` and `value`"),
        ({**BIG, "all": [BIG]}, "and nothing else"),
        ({"all": [BIG], "any": [BIG]}, "and nothing else"),
        ({"all": []}, "at least one"),
        ({"any": BIG}, "needs a list"),
        ({"not": [BIG]}, "must be an object"),
        (where("", "eq", 1), "needs a path"),
        (where("a..b", "eq", 1), "needs a path"),
        (where(1, "eq", 1), "needs a path"),  # type: ignore[arg-type]
        (where("a", "matches", "^(a+)+$"), "does not know the op 'matches'"),
        (where("a", ["eq"], 1), "does not know the op"),  # type: ignore[arg-type]
        (where("a", "gt", True), "compares with a number"),
        (where("a", "lt", None), "compares with a number"),
        (where("a", "in", "abc"), "needs a list"),
        (where("a", "startsWith", ""), "needs a text"),
        (where("a", "endsWith", 1), "needs a text"),
        (where("a", "eq", "x" * 5000), "larger than"),
        ({"all": [BIG] * 64}, "more than 64 parts"),
        ({"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": BIG}}}}}}}}, "nests deeper"),
    ],
)
def test_an_invalid_condition_is_refused_with_how_to_fix_it(when: Any, part: str) -> None:
    with pytest.raises(Invalid, match="condition") as refused:
        check(when)
    assert part in refused.value.fields["when"]


@pytest.mark.parametrize(
    "rules, of_agent, of_tool, expected",
    [
        ([], None, None, "allow"),
        ([], None, "ask", "ask"),
        ([], "allow", "ask", "allow"),
        ([], "ask", "allow", "ask"),
        ([Rule("allow")], "ask", "ask", "allow"),
        ([Rule("ask")], "allow", None, "ask"),
        ([Rule("allow", space_id="lab"), Rule("ask")], "ask", None, "allow"),
        ([Rule("ask", space_id="lab"), Rule("allow")], "allow", None, "ask"),
        ([Rule("allow", space_id="lab")], None, "deny", "deny"),
        ([Rule("allow", space_id="lab")], "deny", None, "deny"),
        ([Rule("allow", space_id="lab"), Rule("deny")], None, None, "deny"),
        ([Rule("ask"), Rule("allow", when=BIG)], None, None, "allow"),
        ([Rule("allow"), Rule("ask", when=BIG)], None, None, "ask"),
        (
            [Rule("ask", space_id="lab", when=BIG), Rule("allow", space_id="lab", when={"all": [BIG]})],
            None,
            None,
            "ask",
        ),
        ([Rule("deny", when={"not": BIG})], None, None, "allow"),
    ],
)
def test_the_most_specific_counts_and_a_deny_of_any_wins(
    rules: list[Rule], of_agent: Decision | None, of_tool: Decision | None, expected: Decision
) -> None:
    assert decide(rules, {"amount": 101}, of_agent=of_agent, of_tool=of_tool) == expected


@pytest.mark.parametrize("when", [BIG, {"not": BIG}, {"any": [BIG, {"not": BIG}]}])
def test_a_condition_never_allows_when_its_argument_is_missing(when: Any) -> None:
    assert decide([Rule("allow", space_id="lab", when=when)], {}, of_agent="ask", of_tool=None) == "ask"


def test_a_refusing_condition_treats_missing_arguments_as_not_matching() -> None:
    decisions: list[Decision] = ["ask", "deny"]
    for decision in decisions:
        assert decide([Rule(decision, space_id="lab", when=BIG)], {}, of_agent=None, of_tool=None) == "allow"
        unlike = Rule(decision, space_id="lab", when={"not": BIG})
        assert decide([unlike], {}, of_agent=None, of_tool=None) == decision


@pytest.mark.parametrize("args", [{"amount": "101"}, {"amount": None}, {"amount": [101]}], ids=str)
@pytest.mark.parametrize("when", [BIG, {"not": BIG}, {"any": [BIG, where("to", "eq", "Bo")]}], ids=str)
def test_a_refusing_condition_applies_to_values_it_cannot_judge(when: Any, args: Any) -> None:
    decisions: list[Decision] = ["ask", "deny"]
    for decision in decisions:
        assert decide([Rule(decision, space_id="lab", when=when)], args, of_agent=None, of_tool=None) == decision
    deeper = Rule("deny", space_id="lab", when=where("amount.of", "gt", 100))
    assert decide([deeper], {"amount": "101"}, of_agent=None, of_tool=None) == "deny"
    assert decide([deeper], {"amount": {}}, of_agent=None, of_tool=None) == "allow"


def test_every_combination_lets_deny_win_then_the_most_specific() -> None:
    levels: list[Decision | None] = [None, *DECISIONS]
    for here, anywhere, of_agent, of_tool in product(levels, repeat=4):
        rules = [Rule(d, place) for d, place in ((here, "lab"), (anywhere, None)) if d is not None]
        found = decide(rules, {}, of_agent=of_agent, of_tool=of_tool)
        said = [level for level in (here, anywhere, of_agent, of_tool) if level is not None]
        assert found == ("deny" if "deny" in said else said[0] if said else "allow")


_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
_PREDICATES = st.builds(where, st.sampled_from(["a", "b", "a.0"]), st.sampled_from(policies.OPERATORS), _VALUES)
_CONDITIONS = st.recursive(
    _PREDICATES,
    lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from([{"all": parts}, {"any": parts}, {"not": parts[0]}])
    ),
    max_leaves=6,
)


@given(_CONDITIONS, st.dictionaries(st.sampled_from(["a", "b"]), _VALUES))
def test_a_valid_condition_can_be_judged_and_ignores_extra_arguments(when: Any, args: Any) -> None:
    try:
        check(when)
    except Invalid:
        return
    known = holds(when, args)
    assert known in (True, False, None)
    assert holds({"not": when}, args) is (None if known is None else not known)
    if known is not None:
        assert holds(when, {"c": 1, "d": None, **args}) is known


# ── sources ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "rules, sources, expected",
    [
        ([Rule("allow", source="a")], ["a"], "allow"),
        ([Rule("allow", source="a")], ["a", "b"], None),
        ([Rule("allow", source="a"), Rule("allow", source="b")], ["a", "b"], "allow"),
        ([Rule("allow", source="a")], [], None),
        ([Rule("allow")], ["a"], None),
        ([Rule("allow", source="a", space_id="lab")], ["a"], None),
        ([Rule("allow", source="a", space_id="lab"), Rule("allow", source="a", space_id="den")], ["a"], "allow"),
        ([Rule("allow", source="a", when=BIG)], ["a"], None),
        ([Rule("allow", source="a"), Rule("ask", source="a", space_id="den")], ["a"], "ask"),
        ([Rule("allow", source="a"), Rule("deny", source="b")], ["a"], "allow"),
        ([Rule("allow", source="a"), Rule("deny", source="b")], ["a", "b"], "deny"),
    ],
)
def test_sources_are_allowed_one_by_one(rules: list[Rule], sources: list[str], expected: Decision | None) -> None:
    assert policies.about_sources(["den", "lab"], rules, {"amount": 5}, sources) == expected


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_rule_with_a_source_is_none_for_other_text(decision: Decision) -> None:
    rules = [Rule("ask"), Rule(decision, source="a")]
    assert policies.decide_for_all(["lab"], rules, {}, of_agent=None, of_tool=None) == "ask"
    assert policies.decide_for_all(["lab"], rules[1:], {}, of_agent=None, of_tool=None) == "allow"
