"""What `create` and `update` take, for editors and type checkers: a typo is found where it is written.

One class for each request of `bullpen.wire.requests`, with the same fields; a test compares them. Nothing is checked
here when a program runs. The server does that, so a program may use a field that this version of the SDK does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict

from bullpen.wire.nouns import Decision, OnNewMessage, Role, SpaceKind, VariableType, WakePolicy

ModelSpec: TypeAlias = str | Mapping[str, Any]  # "provider:name", or with settings: {"provider": …, "name": …}


class WakeFields(TypedDict, total=False):
    """Who wakes agents in a space."""

    people: WakePolicy | None
    agents: WakePolicy | None


class LimitFields(TypedDict, total=False):
    """What one agent may use."""

    max_steps: int
    max_messages: int
    max_chain_depth: int | None
    max_seconds: float
    max_cost_per_day: float | None
    max_tokens_per_run: int | None
    max_tokens_per_day: int | None
    context_tokens: int


class MemoryPolicyFields(TypedDict, total=False):
    """May the agent use what it learned in one private space in others?"""

    across_spaces: bool


class VariableFields(TypedDict, total=False):
    """A value that a tool or an agent needs."""

    name: Required[str]
    type: VariableType
    required: bool
    scoped: bool
    description: str


class ExecutionFields(TypedDict, total=False):
    """Where a gateway tool sends its calls."""

    url: Required[str]
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    headers: Mapping[str, str]


class CreateAgentFields(TypedDict, total=False):
    """Without `tools`, which may hold functions as well as names."""

    id: str | None
    name: Required[str]
    description: str
    instructions: str
    model: ModelSpec
    scope: Literal["space", "agent"]
    auto_enter: bool
    limits: LimitFields
    on_unsent_text: Literal["drop", "deliver"]
    on_new_message: OnNewMessage
    blocks: Mapping[str, str]
    variables: Sequence[VariableFields]
    policy: Mapping[str, Decision]
    memory: MemoryPolicyFields
    avatar: str | None


class UpdateAgentFields(TypedDict, total=False):
    name: str
    description: str
    instructions: str
    model: ModelSpec
    scope: Literal["space", "agent"]
    auto_enter: bool
    limits: LimitFields
    on_unsent_text: Literal["drop", "deliver"]
    on_new_message: OnNewMessage
    variables: Sequence[VariableFields]
    policy: Mapping[str, Decision]
    memory: MemoryPolicyFields
    avatar: str | None


class CreateSpaceFields(TypedDict, total=False):
    id: str | None
    kind: SpaceKind
    name: str | None
    topic: str | None
    private: bool
    members: Sequence[str]
    wake: WakeFields
    trigger: str | None
    folder: str | None
    main: bool
    provider: str | None
    model: ModelSpec | None
    timezone: str | None
    bridge: str | None


class UpdateSpaceFields(TypedDict, total=False):
    name: str | None
    topic: str | None
    archived: bool
    private: bool
    wake: WakeFields
    trigger: str | None
    folder: str | None
    provider: str | None
    model: ModelSpec | None
    timezone: str | None
    bridge: str | None


class UpdatePassageFields(TypedDict, total=False):
    """`expires_at`: a time, or like "30 days"; None: never."""

    content: str
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    expires_at: str | None


class CreateTokenFields(TypedDict, total=False):
    owner: bool
    agent_id: str | None
    person_id: str | None
    tools: Sequence[str] | None
    scopes: Sequence[str] | None
    days: int | None


class CreatePersonFields(TypedDict, total=False):
    password: str | None
    role: Role


class UpdatePersonFields(TypedDict, total=False):
    name: str
    role: Role
    disabled: bool
    password: str
    avatar: str | None


class CreateInviteFields(TypedDict, total=False):
    role: Role
    hours: int
    space_ids: Sequence[str]


class VariableValueFields(TypedDict, total=False):
    type: VariableType
    scoped: bool
    description: str


class CreateToolFields(TypedDict, total=False):
    """All of them may come from a function that `@tool` made a tool."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    execution_type: Literal["gateway", "external", "space", "internal"]
    visible: bool | None
    is_async: bool
    timeout: int
    expires_after: int | None
    execution: ExecutionFields | None
    variables: Sequence[VariableFields]
    policy: Decision | None


class UpdateToolFields(TypedDict, total=False):
    description: str
    input_schema: Mapping[str, Any]
    execution_type: Literal["gateway", "external", "space", "internal"]
    visible: bool | None
    is_async: bool
    timeout: int
    expires_after: int | None
    execution: ExecutionFields | None
    variables: Sequence[VariableFields]
    policy: Decision | None
