"""Grants are a closed list; who may read and who may see a space is a table."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.access import rules
from bullpen.access.types import Grant, Principal
from bullpen.errors import Forbidden

OWNER = Principal("person", "psn_o", "Olga", rules.OWNER)
PERSON = Principal("person", "psn_p", "Peter", rules.PERSON)
AGENT = Principal("agent", "ada", "Ada", rules.AGENT)
TOOLS = Principal("tools", "tok_1", "builder", frozenset())

# A space: kind, private, people in it. Then who is no member of it and may read it, and who may know of it.
SPACES: list[tuple[str, bool, int, set[str], set[str]]] = [
    ("channel", False, 1, {"Olga"}, {"Olga", "Peter"}),
    ("channel", True, 1, set(), set()),
    ("channel", False, 0, {"Olga"}, {"Olga", "Peter"}),
    ("channel", True, 0, {"Olga"}, {"Olga"}),
    ("group", False, 2, {"Olga"}, {"Olga", "Peter"}),
    ("group", True, 2, set(), set()),
    ("dm", True, 0, {"Olga"}, {"Olga"}),
    ("dm", True, 1, set(), set()),
    ("dm", True, 2, set(), set()),
    ("dm", False, 1, set(), set()),
]


@pytest.mark.parametrize("kind, private, people, readers, seers", SPACES)
def test_who_may_read_and_who_may_know_of_a_space_without_being_in_it(
    kind: str, private: bool, people: int, readers: set[str], seers: set[str]
) -> None:
    everybody = (OWNER, PERSON, AGENT, TOOLS)

    def those(rule: object, *, member: bool) -> set[str]:
        assert callable(rule)
        return {p.name for p in everybody if rule(p, member=member, kind=kind, private=private, people=people)}

    assert those(rules.may_read, member=False) == readers
    assert those(rules.may_see, member=False) == seers
    assert those(rules.may_read, member=True) == those(rules.may_see, member=True) == {p.name for p in everybody}


def test_what_each_kind_of_principal_holds() -> None:
    assert rules.GRANTS == set(get_args(Grant)) == rules.OWNER
    assert {
        "person": sorted(rules.PERSON),
        "agent": sorted(rules.AGENT),
    } == {"person": ["manage_space", "post", "read_space", "schedule"], "agent": ["post", "read_space"]}
    assert rules.AGENT < rules.PERSON < rules.OWNER
    assert OWNER.is_owner
    assert not PERSON.is_owner


@given(st.frozensets(st.sampled_from(sorted(rules.GRANTS))))
def test_grants_survive_a_column_and_equal_sets_are_equal_text(grants: frozenset[Grant]) -> None:
    assert rules.parsed(rules.written(grants)) == grants
    assert rules.written(sorted(grants, reverse=True)) == rules.written(grants)


def test_an_unknown_or_half_known_name_grants_nothing() -> None:
    assert rules.parsed("post,ownership,own,postal,read_space,") == {"post", "read_space"}
    assert rules.parsed("") == frozenset()


@pytest.mark.parametrize("grant", get_args(Grant))
def test_without_the_grant_it_is_forbidden_with_a_sentence(grant: Grant) -> None:
    rules.authorize(OWNER, grant)
    with pytest.raises(Forbidden, match=f"needs the grant '{grant}', which builder does not hold"):
        rules.authorize(TOOLS, grant)
