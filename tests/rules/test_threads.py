"""What a scope means for its threads: one row per scope, and what follows from it."""

from __future__ import annotations

from typing import get_args

import pytest

from bullpen.threads import rules
from bullpen.threads.rules import SCOPES
from bullpen.wire import Agent
from bullpen.wire.nouns import ThreadScope


def test_every_scope_has_a_row_in_the_table() -> None:
    assert set(SCOPES) == set(get_args(ThreadScope))


def test_agents_have_the_scopes_that_hear_messages() -> None:
    hearing = {scope for scope, each in SCOPES.items() if each.hears_messages}
    assert hearing == set(get_args(Agent.model_fields["scope"].annotation))


@pytest.mark.parametrize(
    "scope, anchor, home",
    [("space", "lab", "lab"), ("agent", "", None), ("fresh", "thr_1", "lab"), ("child", "thr_1", "lab")],
)
def test_a_scope_decides_on_anchor_and_home(scope: ThreadScope, anchor: str, home: str | None) -> None:
    assert rules.anchor_of(scope, id="thr_1", space_id="lab") == anchor
    assert rules.home_of(scope, "lab") == home


@pytest.mark.parametrize("scope", get_args(ThreadScope))
def test_only_a_spanning_mind_changes_scope_in_a_group(scope: ThreadScope) -> None:
    assert rules.scope_in(scope, stays=False) == scope
    assert rules.scope_in(scope, stays=True) == ("space" if scope == "agent" else scope)
