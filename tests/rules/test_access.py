"""Grants are a closed list; what each action takes is a table."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.access import rules
from bullpen.access.rules import ACTIONS, Action
from bullpen.access.types import Grant, Principal, Thing
from bullpen.errors import Forbidden, Invalid, NotFound

OWNER = Principal("person", "psn_o", "Olga", rules.OWNER)
ADMIN = Principal("person", "psn_a", "Anna", rules.ADMIN)
PERSON = Principal("person", "psn_p", "Peter", rules.MEMBER)
READER = Principal("person", "psn_r", "Rita", rules.limited(rules.OWNER, ["read"]))
AGENT = Principal("agent", "ada", "Ada", rules.AGENT)
TOOLS = Principal("tools", "tok_1", "builder", frozenset())
EVERYBODY = (OWNER, ADMIN, PERSON, AGENT, TOOLS)


def those(action: Action, thing: Thing) -> set[str]:
    return {p.name for p in EVERYBODY if rules.allows(p, action, thing)}


# A space: public, people in it. Then who is no member of it and may read it, and who may know of it.
SPACES: list[tuple[bool, int, set[str], set[str]]] = [
    (True, 1, {"Olga"}, {"Olga", "Anna", "Peter"}),
    (True, 0, {"Olga"}, {"Olga", "Anna", "Peter"}),
    (False, 1, set(), set()),
    (False, 0, {"Olga"}, {"Olga"}),
]


@pytest.mark.parametrize("public, people, readers, seers", SPACES)
def test_outsiders_see_and_read_a_space_as_its_settings_allow(
    public: bool, people: int, readers: set[str], seers: set[str]
) -> None:
    outside = Thing("space", "s", public=public, people=people)
    inside = Thing("space", "s", public=public, people=people, member=True)
    assert those("read_space", outside) == readers
    assert those("see_space", outside) == seers
    assert those("post", outside) == set()
    for action in ("read_space", "see_space", "post"):
        assert those(action, inside) == {"Olga", "Anna", "Peter", "Ada"}


# What each may do to a thing they can see but that is not theirs, and to their own.
OFFICE_TABLE: dict[Action, set[str]] = {
    "create_space": {"Olga", "Anna", "Peter"},
    "manage_agents": {"Olga", "Anna"},
    "list_people": {"Olga", "Anna", "Peter"},
    "see_tool": {"Olga", "Anna", "Peter"},
    "manage_people": {"Olga", "Anna"},
    "manage_owners": {"Olga"},
    "make_token": {"Olga", "Anna", "Peter"},
    "make_any_token": {"Olga"},
    "erase_space": {"Olga"},
    "see_usage": {"Olga", "Anna"},
    "manage_hooks": {"Olga", "Anna"},
    "list_webhooks": {"Olga", "Anna", "Peter"},
    "make_webhook": {"Olga", "Anna", "Peter"},
    "operate": {"Olga"},
}


@pytest.mark.parametrize("action", OFFICE_TABLE)
def test_office_wide_actions_are_allowed_as_the_table_says(action: Action) -> None:
    assert those(action, Thing()) == OFFICE_TABLE[action]


def test_members_see_runs_but_only_owners_and_agents_inspect_them() -> None:
    shared = Thing("run", "r", holder="ada", member=True)
    assert those("see_run", shared) == {"Olga", "Anna", "Peter", "Ada"}
    assert those("see_inside_run", shared) == {"Olga", "Ada"}
    assert those("cancel_run", shared) == {"Olga", "Anna", "Peter", "Ada"}
    private = Thing("run", "r", holder="somebody", member=False)
    assert those("see_run", private) == those("see_inside_run", private) == those("cancel_run", private) == set()


def test_only_its_person_changes_a_webhook_but_owners_may_delete() -> None:
    hers = Thing("webhook", "w", holder="psn_p")
    assert those("see_webhook", hers) == those("delete_webhook", hers) == {"Olga", "Peter"}
    assert those("change_webhook", hers) == {"Peter"}


def test_only_the_author_changes_a_message_and_only_where_readable() -> None:
    assert those("change_message", Thing("message", "m", holder="psn_p", member=True)) == {"Peter"}
    assert those("change_message", Thing("message", "m", holder="psn_p", member=False)) == set()


@pytest.mark.proves("A15")
@pytest.mark.parametrize("action", sorted(get_args(Action)))
def test_a_principal_that_may_only_read_may_change_nothing(action: Action) -> None:
    reads = {
        "see_space",
        "read_space",
        "read_message",
        "see_agent",
        "see_inside_agent",
        "see_run",
        "see_inside_run",
        "read_file",
    }
    reads |= {
        "list_people",
        "see_token",
        "see_tool",
        "see_call",
        "see_approval",
        "see_needs",
        "list_webhooks",
        "see_webhook",
        "see_task",
        "see_skill",
    }
    mine = Thing("thing", "x", holder=READER.id, member=True, public=True, people=1)
    if action in reads:
        assert ACTIONS[action].grant == "read_space"
    else:
        assert not rules.allows(READER, action, mine)


def test_invisible_things_are_not_found_and_visible_ones_explain_refusal() -> None:
    with pytest.raises(NotFound, match="no space 'den'"):
        rules.authorize(PERSON, "post", Thing("space", "den"))
    with pytest.raises(Forbidden, match="Join it first"):
        rules.authorize(PERSON, "post", Thing("space", "den", public=True))
    with pytest.raises(Forbidden, match="needs the grant 'manage_agents', which Peter does not hold"):
        rules.authorize(PERSON, "manage_agents")


def test_every_action_has_a_rule_with_a_grant_and_relation() -> None:
    assert set(ACTIONS) == set(get_args(Action))
    for rule in ACTIONS.values():
        assert rule.relations
        assert rule.grant in rules.GRANTS


def test_somebody_without_grants_may_do_nothing_at_all() -> None:
    nobody = Principal("person", "psn_n", "Nobody", frozenset())
    for action, member, public in product(get_args(Action), (True, False), (True, False)):
        assert not rules.allows(nobody, action, Thing("x", "x", holder="psn_n", member=member, public=public, people=0))


def test_what_each_kind_of_principal_holds() -> None:
    assert rules.GRANTS == set(get_args(Grant)) == rules.OWNER
    assert {role: sorted(grants) for role, grants in rules.ROLES.items() if role != "owner"} == {
        "member": ["manage_space", "post", "read_space", "schedule"],
        "admin": [
            "answer_pending",
            "manage_agents",
            "manage_space",
            "post",
            "read_space",
            "register_group",
            "schedule",
        ],
    }
    assert sorted(rules.AGENT) == ["post", "read_space", "register_group", "schedule"]
    assert rules.MEMBER < rules.ADMIN < rules.OWNER
    assert OWNER.is_owner
    assert not ADMIN.is_owner


GRANT_SETS = st.frozensets(st.sampled_from(sorted(rules.GRANTS)))


@given(GRANT_SETS, GRANT_SETS, GRANT_SETS)
def test_authority_never_holds_more_than_any_of_the_three(
    agent: frozenset[Grant], cause: frozenset[Grant], space: frozenset[Grant]
) -> None:
    held = rules.authority(agent, cause, space)
    assert held <= agent
    assert held <= cause
    assert held <= space


@given(GRANT_SETS)
def test_grants_survive_a_column_and_unknown_names_grant_nothing(grants: frozenset[Grant]) -> None:
    assert rules.parsed(rules.written(grants)) == grants
    assert rules.parsed(rules.written(grants) + ",root,admin") == grants
    assert rules.parsed(",".join(f"un{grant}ed" for grant in grants)) == frozenset()
    assert rules.written(grants) == ",".join(sorted(grants)), "equal sets are equal text"


def test_a_main_group_grants_the_most_but_never_owner_rights() -> None:
    main = rules.preset("group", True)
    assert main.grants == rules.GRANTS - {"owner"}
    for kind, flag in (("group", False), ("channel", False), ("channel", True), ("dm", False)):
        assert rules.preset(kind, flag).grants < main.grants


def test_only_a_non_main_group_keeps_actions_inside_itself() -> None:
    kinds = product(("group", "channel", "dm"), (False, True))
    assert [(kind, main) for kind, main in kinds if rules.preset(kind, main).stays] == [("group", False)]


def test_scopes_limit_and_an_unknown_one_is_refused() -> None:
    assert rules.limited(rules.OWNER, None) == rules.OWNER
    assert rules.limited(rules.MEMBER, ["read", "manage_agents"]) == {"read_space"}
    assert rules.limited(rules.OWNER, []) == frozenset()
    with pytest.raises(Invalid, match="no scope 'everything'"):
        rules.check_scopes(["read", "everything"])
