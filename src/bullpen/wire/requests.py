"""What callers may ask for: the bodies of requests, checked at the door."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)
from pydantic.alias_generators import to_camel

from bullpen.wire import names
from bullpen.wire.nouns import (
    BudgetKind,
    BudgetPeriod,
    BudgetUnit,
    ConnectionProvider,
    ContextMode,
    Decision,
    GivenRole,
    Limits,
    MemoryPolicy,
    MissedPolicy,
    OnNewMessage,
    ScheduleType,
    ScopeKind,
    SkillStatus,
    SpaceKind,
    VariableDefinition,
    VariableType,
    WakePolicy,
    WebhookEvent,
)

MAX_TEXT = 32_768


def _storable(value: str) -> str:
    # PostgreSQL cannot store NUL in text and SQLite cuts at it in places: both refuse it, alike.
    if "\x00" in value:
        raise ValueError("must not contain the NUL character")
    return value


Text = Annotated[str, AfterValidator(_storable)]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_storable)]
Topic = Annotated[str, StringConstraints(strip_whitespace=True, max_length=250), AfterValidator(_storable)]
MessageText = Annotated[str, StringConstraints(max_length=MAX_TEXT), AfterValidator(_storable)]
# How somebody is recognised: nothing in it may be hidden.
AgentName = Annotated[ShortText, AfterValidator(names.check)]
LongText = Annotated[str, StringConstraints(max_length=262_144), AfterValidator(_storable)]


class Request(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid")


def _named(value: Any) -> Any:
    if value is None:
        raise ValueError("name a model, as in provider:name")
    return value


NamedModel = Annotated[Any, AfterValidator(_named)]


def _known_limits(value: Any) -> Any:
    # An answer's Limits ignores what it does not know; a request must not: a misspelt limit is worse than none.
    if isinstance(value, dict):
        known = set(Limits.model_fields) | {to_camel(name) for name in Limits.model_fields}
        if unknown := sorted(str(name) for name in value if name not in known):
            raise ValueError(f"there is no limit named {unknown[0]!r}")
    return value


LimitsRequest = Annotated[Limits, BeforeValidator(_known_limits)]


class CreateMessage(Request):
    # Checked before the text, which may be empty only if there are some.
    attachments: list[ShortText] = Field(default_factory=list, max_length=10, description="Ids of files.")
    text: Annotated[MessageText, Field(default="", validate_default=True, description="Not empty without attachments.")]
    reply_to: ShortText | None = None
    client_message_id: ShortText | None = None

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str, info: ValidationInfo) -> str:
        # Attachments that are wrong are not there any more; then that is what is told.
        if not text and not info.data.get("attachments", True):
            raise ValueError("say something, or attach a file")
        return text


class EditMessage(Request):
    text: Annotated[MessageText, StringConstraints(min_length=1)]
    edited_at: ShortText | None = Field(
        None, description="If said, the edit is made only if the message still has this `editedAt` (null: none yet)."
    )


class AddReaction(Request):
    emoji: Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_storable)]


def _folder(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value) or len(value) > 64:
        raise ValueError("a folder has lowercase letters and digits, with single hyphens between them; at most 64")
    return value


def _jid(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]{0,15}:[A-Za-z0-9!@._+=:~-]{1,128}", value):
        raise ValueError("a chat is written bridge:id, as in tg:-1001234567890")
    return value


def _trigger(value: str) -> str:
    if not value.strip() or not value.isprintable() or value != value.strip():
        raise ValueError("a trigger is a word that people write, as in @Andy")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ValueError, KeyError, OSError):
        raise ValueError("there is no such time zone; write one as in Europe/Berlin") from None
    return value


Folder = Annotated[str, AfterValidator(_folder)]
Jid = Annotated[str, AfterValidator(_jid)]
Trigger = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_trigger)]
Zone = Annotated[ShortText, AfterValidator(_zone)]


class WakeRequest(Request):
    people: WakePolicy | None = None
    agents: WakePolicy | None = None


class CreateSpace(Request):
    id: ShortText | None = None
    kind: SpaceKind = "channel"
    name: ShortText | None = None
    topic: Topic | None = None
    private: bool = False
    members: list[ShortText] = Field(default_factory=list, max_length=1000)
    wake: WakeRequest = Field(default_factory=WakeRequest)
    trigger: Trigger | None = None
    folder: Folder | None = None
    main: bool = False
    provider: ShortText | None = None
    model: Any = None
    timezone: Zone | None = None
    bridge: Jid | None = Field(default=None, description="The chat elsewhere that it is, as in tg:-1001234567890.")


class RegisterGroup(Request):
    """What the tool register_group takes: a chat, and the group that it becomes."""

    jid: Jid
    name: ShortText
    folder: Folder
    trigger: Trigger
    provider: ShortText | None = None
    model: ShortText | None = None


class ReportChat(Request):
    """What a bridge says of a chat that it has seen."""

    name: ShortText


class UpdateSpace(Request):
    name: ShortText | None = None
    topic: Topic | None = Field(default=None, description="What it is about. Null takes it away.")
    archived: bool | None = Field(default=None, description="True: nobody writes there any more, and nothing fires.")
    private: bool | None = None
    wake: WakeRequest | None = None
    trigger: Trigger | None = None
    folder: Folder | None = None
    provider: ShortText | None = None
    model: Any = None
    timezone: Zone | None = None
    bridge: Jid | None = None


class AddMember(Request):
    member_id: ShortText


class PreviewMessage(Request):
    """A message that is not posted: whom would it wake?"""

    text: MessageText
    reply_to: ShortText | None = None


class MarkRead(Request):
    seq: int = Field(ge=0, le=2**62)


def _declared(value: VariableDefinition) -> VariableDefinition:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", value.name):
        raise ValueError("a variable's name has letters, digits and _, does not start with a digit, at most 128")
    if len(value.description) > 1000:
        raise ValueError("a description has at most 1000 characters")
    _storable(value.description)
    return value


DeclaredVariable = Annotated[VariableDefinition, AfterValidator(_declared)]


def _known_memory(value: Any) -> Any:
    known = {"acrossSpaces", "across_spaces"}
    if isinstance(value, dict) and (unknown := sorted(str(name) for name in value if name not in known)):
        raise ValueError(f"there is nothing named {unknown[0]!r} in memory")
    return value


MemoryPolicyRequest = Annotated[MemoryPolicy, BeforeValidator(_known_memory)]


class CreateAgent(Request):
    id: ShortText | None = None
    name: AgentName
    description: LongText = ""
    instructions: LongText = ""
    model: Any = None  # none: the default of the office's connections
    tools: list[ShortText] | None = Field(default=None, max_length=200)
    scope: Literal["space", "agent"] = "space"
    auto_enter: bool = True
    limits: LimitsRequest = Field(default_factory=Limits)
    on_unsent_text: Literal["drop", "deliver"] = "drop"
    on_new_message: OnNewMessage = "queue"
    blocks: dict[ShortText, LongText] = Field(default_factory=dict, max_length=100)
    variables: list[DeclaredVariable] = Field(default_factory=list, max_length=100)
    policy: dict[ShortText, Decision] = Field(default_factory=dict, max_length=200)
    memory: MemoryPolicyRequest = Field(default_factory=MemoryPolicy)
    avatar: ShortText | None = None


class CheckModel(Request):
    """`apiKeyVariable`: the variable that holds the key, if it is not the provider's usual one.
    `apiKey`: a key to try instead, which is kept nowhere."""

    model: NamedModel
    api_key_variable: ShortText | None = None
    api_key: ShortText | None = None


Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Url = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(_storable)]
ApiKey = Annotated[str, StringConstraints(min_length=1, max_length=8192), AfterValidator(_storable)]


class PriceRequest(Request):
    """Dollars for a million tokens."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    written: Dollars | None = None


class ModelRequest(Request):
    """What a model of a connection costs, and how many tokens it takes at once."""

    price: PriceRequest | None = None
    context_tokens: Annotated[int, Field(ge=1000, le=100_000_000)] | None = None


class CreateConnection(Request):
    """`apiKey` is kept as a sealed variable, and shown to nobody. `apiKeyVariable`: a variable that is there already.
    `confirm`: the origin of `baseUrl`, by which an owner who is signed in opens an address in this network."""

    provider: ConnectionProvider
    name: AgentName | None = None
    base_url: Url | None = None
    api_key: ApiKey | None = None
    api_key_variable: ShortText | None = None
    confirm: Url | None = None
    default_model: ShortText | None = None
    models: dict[ShortText, ModelRequest | None] = Field(default_factory=dict, max_length=300)


class UpdateConnection(Request):
    """What is left out stays. Another `baseUrl` needs its key and its confirmation anew; a null takes away."""

    name: AgentName | None = None
    base_url: Url | None = None
    api_key: ApiKey | None = None
    api_key_variable: ShortText | None = None
    confirm: Url | None = None
    default_model: ShortText | None = None
    models: dict[ShortText, ModelRequest | None] = Field(default_factory=dict, max_length=300)


class UpdateAgent(Request):
    name: AgentName | None = None
    description: LongText | None = None
    instructions: LongText | None = None
    model: Any = None
    tools: list[ShortText] | None = Field(default=None, max_length=200)
    scope: Literal["space", "agent"] | None = None
    auto_enter: bool | None = None
    limits: LimitsRequest | None = None
    on_unsent_text: Literal["drop", "deliver"] | None = None
    on_new_message: OnNewMessage | None = None
    variables: list[DeclaredVariable] | None = Field(default=None, max_length=100)
    policy: dict[ShortText, Decision] | None = Field(default=None, max_length=200)
    memory: MemoryPolicyRequest | None = None
    avatar: ShortText | None = Field(default=None, description="A picture that you uploaded, by its id. Null: none.")


class TriggerAgent(Request):
    """Something outside happened: wake the agent with it."""

    service_name: ShortText
    payload: Any = None


class PutBlock(Request):
    content: LongText


def _small(value: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(value)) > 16_384:
        raise ValueError("metadata has at most 16,384 characters as JSON")
    return value


PassageText = Annotated[str, StringConstraints(min_length=1, max_length=20_000), AfterValidator(_storable)]
PassageMetadata = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(_small)]
Expires = Annotated[str, StringConstraints(max_length=50), AfterValidator(_storable)]


class CreatePassage(Request):
    """`spaceId`: an agent knows it in this space alone, if it is private. `expiresAt`: a time, or like "30 days"."""

    content: PassageText
    tags: list[ShortText] = Field(default_factory=list, max_length=50)
    metadata: PassageMetadata = Field(default_factory=dict)
    space_id: ShortText | None = None
    supersedes: ShortText | None = None
    expires_at: Expires | None = None


class UpdatePassage(Request):
    """What is left out stays. `expiresAt` null: never."""

    content: PassageText | None = None
    tags: list[ShortText] | None = Field(default=None, max_length=50)
    metadata: PassageMetadata | None = None
    expires_at: Expires | None = None


class ScopeRequest(Request):
    kind: ScopeKind = "workspace"
    id: ShortText | None = None


class PutVariable(Request):
    value: Annotated[str, StringConstraints(max_length=65_536), AfterValidator(_storable)]
    type: VariableType = "text"
    scope: ScopeRequest = Field(default_factory=ScopeRequest)
    scoped: bool = False
    description: Annotated[str, StringConstraints(max_length=1000), AfterValidator(_storable)] = ""


class ApplyVariable(PutVariable):
    name: ShortText


class CreateToken(Request):
    name: ShortText
    owner: bool = False
    agent_id: ShortText | None = None
    person_id: ShortText | None = None
    tools: list[ShortText] | None = Field(default=None, max_length=200)
    scopes: list[ShortText] | None = Field(default=None, max_length=20)
    days: int | None = Field(default=None, ge=1, le=3650, description="How long it works; left out: until revoked.")


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────

PersonName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=80, strip_whitespace=True),
    AfterValidator(_storable),
    AfterValidator(names.check),
]
NewPassword = Annotated[str, StringConstraints(min_length=8, max_length=1000), AfterValidator(_storable)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_storable)]


class Setup(Request):
    """Claim a new server with the code it printed."""

    code: Secret
    name: PersonName
    password: NewPassword


class SignIn(Request):
    # What else is sent is ignored, not refused: a refusal would come before the try is counted.
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    name: Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_storable)]
    password: Secret


class ChangePassword(Request):
    current: Secret
    password: NewPassword


class CreateInvite(Request):
    role: GivenRole = "member"
    hours: int = Field(default=72, ge=1, le=24 * 90)
    space_ids: list[ShortText] = Field(
        default_factory=list, max_length=100, description="Spaces that whoever accepts it joins. You must be in them."
    )


class LookAtInvite(Request):
    code: Secret


class AcceptInvite(Request):
    code: Secret
    name: PersonName
    password: NewPassword


class CreatePerson(Request):
    name: PersonName
    password: NewPassword | None = None
    role: GivenRole = "member"


class UpdatePerson(Request):
    name: PersonName | None = None
    role: GivenRole | None = None
    disabled: bool | None = None
    password: NewPassword | None = None
    avatar: ShortText | None = Field(default=None, description="A picture that you uploaded, by its id. Null: none.")


ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
ToolDescription = Annotated[str, StringConstraints(min_length=1, max_length=4096), AfterValidator(_storable)]
HeaderText = Annotated[str, StringConstraints(max_length=8192), AfterValidator(_storable)]
TimeoutMs = Annotated[int, Field(ge=1, le=86_400_000)]
ExpiryMs = Annotated[int, Field(ge=1_000, le=365 * 86_400_000)]


class ExecutionRequest(Request):
    url: Annotated[str, StringConstraints(min_length=1, max_length=4096), AfterValidator(_storable)]
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[ShortText, HeaderText] = Field(default_factory=dict, max_length=50)


class CreateTool(Request):
    name: ToolName
    description: ToolDescription
    input_schema: Any
    execution_type: Literal["gateway", "external", "space", "internal"]
    visible: bool | None = None
    is_async: bool = False
    timeout: TimeoutMs = 30_000
    expires_after: ExpiryMs | None = None
    execution: ExecutionRequest | None = None
    variables: list[DeclaredVariable] = Field(default_factory=list, max_length=100)
    policy: Decision | None = None


class UpdateTool(Request):
    description: ToolDescription | None = None
    input_schema: Any = None
    execution_type: Literal["gateway", "external", "space", "internal"] | None = None
    visible: bool | None = None
    is_async: bool | None = None
    timeout: TimeoutMs | None = None
    expires_after: ExpiryMs | None = None
    execution: ExecutionRequest | None = None
    variables: list[DeclaredVariable] | None = Field(default=None, max_length=100)
    policy: Decision | None = None


# A line that is shown in lists: nothing in it can pretend to be another line, or turn the reading around.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def one_line(value: Any) -> Any:
    if isinstance(value, str):
        value = " ".join(value.split())
        if _UNSHOWN.search(value):
            raise ValueError("must not contain characters that control how text is shown")
    return value


def _says_something(value: str) -> str:
    value = value.strip()
    if not value:
        raise ValueError("must say something")
    return value


SkillDescription = Annotated[str, BeforeValidator(one_line), StringConstraints(min_length=1, max_length=256)]
SkillParameters = Annotated[str, BeforeValidator(one_line), StringConstraints(max_length=500)]
SkillInstructions = Annotated[
    str, StringConstraints(max_length=MAX_TEXT), AfterValidator(_storable), AfterValidator(_says_something)
]


class StoreSkill(Request):
    description: SkillDescription
    instructions: SkillInstructions
    parameters: Annotated[SkillParameters | None, Field(description="What may be written behind `/name`.")] = None
    agent_id: Annotated[ShortText | None, Field(description="Left out: the first agent of the space.")] = None
    status: Annotated[
        SkillStatus, Field(description="`proposed`: it waits for approval. What an agent writes always does.")
    ] = "active"
    # Allowed and not read: whoever fetched a skill may send it back.
    name: ShortText | None = None
    space_id: ShortText | None = None


class ImportSkill(Request):
    """A SKILL.md. What it says waits for approval, unless `status` is `active`."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=131_072), AfterValidator(_storable)]
    folder: Annotated[ShortText | None, Field(description="The name of its folder, if it names no skill.")] = None
    status: SkillStatus = "proposed"


class ApproveSkill(Request):
    hash: Annotated[
        ShortText | None,
        Field(description="Of the proposal that was looked at; another one is a conflict. Left out: what waits now."),
    ] = None


class UndoSkill(Request):
    hash: Annotated[
        ShortText | None,
        Field(description="Of what is to be taken back; if it says something else by now, that is a conflict."),
    ] = None


class InvokeSkill(Request):
    parameters: Annotated[str, StringConstraints(max_length=MAX_TEXT - 64), AfterValidator(_storable)] = ""
    client_message_id: ShortText | None = None


class ApplySkill(Request):
    space_id: ShortText
    name: ShortText
    description: SkillDescription
    instructions: SkillInstructions
    parameters: SkillParameters | None = None
    status: SkillStatus = "proposed"


class ApplyProject(Request):
    """Agents, spaces, tools, variables and skills as files describe them; applying the same again changes nothing."""

    agents: list[CreateAgent] = Field(default_factory=list, max_length=1000)
    spaces: list[CreateSpace] = Field(default_factory=list, max_length=1000)
    tools: list[CreateTool] = Field(default_factory=list, max_length=1000)
    variables: list[ApplyVariable] = Field(default_factory=list, max_length=1000)
    skills: list[ApplySkill] = Field(default_factory=list, max_length=1000)


class SubmitResult(Request):
    call_id: ShortText
    result: Any


class ResolveCall(Request):
    result: Any


class RetryRun(Request):
    """`clientRetryId`: a repeated request with the same one makes no second run."""

    client_retry_id: ShortText | None = None


class ReportProgress(Request):
    """That a call is being carried out, and how far it has come, if that can be said."""

    fraction: float | None = Field(default=None, ge=0, le=1)
    message: Annotated[str, StringConstraints(max_length=500), AfterValidator(_storable)] | None = None


class ApprovalAnswer(Request):
    """What is answered to an approval. `args` replace those that were asked for; `always` allows the next calls too.

    `always: source` allows them as far as only text from the sources of this one is behind them.
    """

    approved: bool
    args: dict[str, Any] | None = None
    reason: Annotated[str, StringConstraints(max_length=2000), AfterValidator(_storable)] | None = None
    always: Literal["space", "agent", "source"] | None = None
    hash: ShortText | None = None


class ValuesAnswer(Request):
    """What is answered to a call that waits for values. `scope`: where they are kept, if not where the call says."""

    env: dict[ShortText, Annotated[str, StringConstraints(max_length=65_536), AfterValidator(_storable)]]
    scope: ScopeKind | None = None


class PutPolicy(Request):
    agent_id: ShortText
    space_id: ShortText | None = None
    tool_name: ShortText
    decision: Decision
    when: Any = None
    source: Annotated[
        ShortText | None,
        Field(description="Only for calls that text from there may have caused: as `metadata.outside` names it."),
    ] = None


class PutBudget(Request):
    kind: BudgetKind
    subject_id: ShortText | None = None
    period: BudgetPeriod = "day"
    unit: BudgetUnit = "USD"
    amount: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]


class CreateHook(Request):
    agent_id: ShortText
    name: ShortText


class RingHook(Request):
    """What is said to a hook. Other people's systems send more than we asked for; that is ignored."""

    model_config = ConfigDict(extra="ignore")

    text: Annotated[MessageText, StringConstraints(min_length=1)]


WebhookUrl = Annotated[str, StringConstraints(min_length=1, max_length=2048), AfterValidator(_storable)]
WebhookEvents = Annotated[list[WebhookEvent], Field(min_length=1, max_length=2)]
WebhookMembers = Annotated[list[ShortText], Field(max_length=50)]


class CreateWebhook(Request):
    url: WebhookUrl
    events: WebhookEvents = Field(default_factory=lambda: list(get_args(WebhookEvent)))
    members: WebhookMembers = Field(default_factory=list, description="Whose mentions; left out: your own.")


class UpdateWebhook(Request):
    url: WebhookUrl | None = None
    events: WebhookEvents | None = None
    members: WebhookMembers | None = None
    enabled: bool | None = None


Prompt = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT), AfterValidator(_storable)]


class PrecheckRequest(Request):
    tool: ToolName
    args: dict[str, Any] = Field(default_factory=dict)


class CreateTask(Request):
    space_id: ShortText
    agent_id: Annotated[ShortText | None, Field(description="Left out: the only agent of the space.")] = None
    prompt: Prompt
    schedule_type: ScheduleType
    schedule_value: ShortText
    context_mode: ContextMode = "group"
    timezone: Annotated[ShortText | None, Field(description="Left out: the space's, else the office's.")] = None
    missed: MissedPolicy = "once"
    precheck: PrecheckRequest | None = None
    may_schedule: Annotated[bool, Field(description="Its runs may schedule tasks themselves.")] = False


class UpdateTask(Request):
    """Whoever changes what a task does, its prompt or its precheck, it works on their behalf from then on."""

    prompt: Prompt | None = None
    schedule_type: ScheduleType | None = None
    schedule_value: ShortText | None = None
    context_mode: ContextMode | None = None
    timezone: ShortText | None = None
    missed: MissedPolicy | None = None
    precheck: PrecheckRequest | None = None
    may_schedule: bool | None = None
