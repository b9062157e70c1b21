"""What editors know of the SDK is what it does. `make check` reads the types that are asserted here."""

from __future__ import annotations

import logging
from typing import Any, Required, assert_type, get_origin, get_type_hints, is_typeddict

import pytest

from bullpen.client import Bullpen, Page, Reply, fields, sync
from bullpen.wire import Message, Run, Space, requests
from bullpen.wire.nouns import Limits, MemoryPolicy, VariableDefinition
from tools import sync_types

# Given beside the fields: as arguments of their own, or in the path.
ASIDE = {
    "CreateAgent": {"tools"},
    "UpdateAgent": {"tools"},
    "CreateToken": {"name"},
    "CreatePerson": {"name"},
    "PutVariable": {"value", "scope"},
}
REQUESTS: dict[str, Any] = {
    "WakeFields": requests.WakeRequest,
    "LimitFields": Limits,
    "VariableFields": VariableDefinition,
    "ExecutionFields": requests.ExecutionRequest,
    "CreateAgentFields": requests.CreateAgent,
    "UpdateAgentFields": requests.UpdateAgent,
    "CreateSpaceFields": requests.CreateSpace,
    "UpdateSpaceFields": requests.UpdateSpace,
    "MemoryPolicyFields": MemoryPolicy,
    "UpdatePassageFields": requests.UpdatePassage,
    "CreateTokenFields": requests.CreateToken,
    "CreatePersonFields": requests.CreatePerson,
    "UpdatePersonFields": requests.UpdatePerson,
    "CreateInviteFields": requests.CreateInvite,
    "VariableValueFields": requests.PutVariable,
    "CreateToolFields": requests.CreateTool,
    "UpdateToolFields": requests.UpdateTool,
}


def test_the_types_without_async_are_up_to_date() -> None:
    assert sync_types.TARGET.read_text() == sync_types.write(), "run `make reference`"


@pytest.mark.parametrize("name", [name for name, found in vars(fields).items() if is_typeddict(found)])
def test_typed_fields_are_those_of_the_request(name: str) -> None:
    request, typed = REQUESTS[name], getattr(fields, name)
    assert set(get_type_hints(typed)) == set(request.model_fields) - ASIDE.get(request.__name__, set())
    if name != "CreateToolFields":  # a function brings what a tool needs
        needed = {field for field, info in request.model_fields.items() if info.is_required()}
        hints = get_type_hints(typed, include_extras=True)
        required = {field for field, hint in hints.items() if get_origin(hint) is Required}
        assert required == needed - ASIDE.get(request.__name__, set())


def read_types(bp: sync.Bullpen) -> None:
    """Never called: for the type checker."""
    assert_type(bp.spaces.create(id="den", private=True), Space)
    assert_type(bp.spaces("den").ask("how was Q3?"), Reply)
    assert_type(bp.spaces("den").messages(), Page[Message])
    assert_type([event.run for event in bp.events()], list[Run | None])
    assert_type(Bullpen.sync("http://office"), sync.Bullpen)


def test_a_notebook_completes_nouns_and_verbs(door: tuple[str, str]) -> None:
    with Bullpen.sync(*door) as bp:
        assert {"spaces", "agents", "pending", "search", "close"} <= set(dir(bp))
        assert {"ask", "send", "messages", "id"} <= set(dir(bp.spaces("den")))
        assert not [name for name in [*dir(bp), *dir(bp.spaces)] if name.startswith("_")]
        assert "ask" in repr(bp.spaces("den"))
        assert "Post a message and wait" in (bp.spaces("den").ask.__doc__ or "")
        assert bp.me().id


def test_requests_leave_no_lines_in_a_programs_log() -> None:
    assert logging.getLogger("httpx").getEffectiveLevel() >= logging.WARNING
