"""The nouns as they go over the wire. See docs/glossary.md for what each means."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

AuthorKind = Literal["person", "agent", "system"]
MemberKind = Literal["person", "agent"]
MessageType = Literal["text", "tool", "file", "voice", "system"]
SearchMode = Literal["keyword", "meaning", "fused"]
MessageStatus = Literal["streaming", "requires_action", "complete", "error", "expired", "cancelled"]
SpaceKind = Literal["channel", "dm", "group"]
WakePolicy = Literal["all", "mention", "trigger", "none"]
ThreadScope = Literal["space", "agent", "fresh", "child"]
AgentState = Literal["idle", "queued", "running", "waiting", "paused"]
RunStatus = Literal["queued", "thinking", "acting", "waiting", "completed", "failed", "cancelled"]
# What a message does to a run that is under way: wait for the next one, go into it before its next step, or break off
# what its model is doing for it.
OnNewMessage = Literal["queue", "steer", "interrupt"]
Outcome = Literal["spoke", "reacted", "acted", "silent", "unsent_text"]
StopReason = Literal[
    "done",  # the model had nothing more to do
    "skipped",  # the agent called skip
    "not_needed",  # the task's precheck found nothing to do
    "max_steps",
    "max_seconds",
    "max_cost",  # a budget is used up, and others wait for the thread
    "max_tokens",
    "cancelled",
    "model_unavailable",
    "model_refused",
    "agent_deleted",
    "variables_required",  # values that its agent declares have not been set
    "no_rights",  # the person it works for no longer has access
    "broken",  # our bug; the error says more
]
RunMessageType = Literal["user_message", "assistant_message", "tool_call_message", "tool_return_message"]
InboxKind = Literal["message", "tool_result", "task", "plan", "skill", "subagent", "trigger", "expired"]
GivenRole = Literal["member", "admin", "owner"]
Role = Literal["guest", "member", "admin", "owner"]  # a guest speaks in a chat elsewhere and cannot sign in
ScopeKind = Literal["workspace", "person", "space", "agent", "thread"]
VariableType = Literal["text", "secret"]
ExecutionType = Literal["gateway", "external", "space", "internal", "function"]
Decision = Literal["allow", "ask", "deny"]
# What repeating a call would do: see docs/guide/tools.md.
DeclaredEffect = Literal["pure", "idempotent", "once"]
PendingKind = Literal["external", "space", "approval", "variables", "takeover"]
WebhookEvent = Literal["mention", "tool.requires_action"]
DeliveryStatus = Literal["queued", "delivered", "failed", "dropped"]
OutboxKind = Literal["message", "edit", "delete", "reaction"]
OutboxStatus = Literal[
    "queued",
    "sending",
    "unknown",  # no answer came: it is sent again, once
    "sent",
    "dead",  # it is not tried any more; an owner decides
    "dropped",  # there was nothing left to send, or an owner decided so
]
BridgeStatus = Literal["ok", "failing", "off"]
ConnectionProvider = Literal["anthropic", "openai", "openai-chat"]
# What failed when a model was tried: its address was not reached, its key was refused, there is no such model, or what
# it answered was not understood.
ModelProblem = Literal["address", "key", "model", "answer"]
BudgetKind = Literal["agent", "space", "person", "task", "office"]
BudgetPeriod = Literal["day", "month"]
BudgetUnit = Literal["USD", "tokens"]
PendingStatus = Literal["waiting", "pending", "resolved", "expired", "cancelled"]
ScheduleType = Literal["cron", "interval", "once"]
ContextMode = Literal["group", "isolated"]
TaskStatus = Literal["active", "paused", "completed"]
MissedPolicy = Literal["once", "all", "none"]
SkillStatus = Literal["active", "proposed"]
GoalStatus = Literal["active", "completed", "abandoned"]
FiringStatus = Literal[
    "fired",  # its agent was woken, or will be as soon as it can
    "missed",  # nobody was there, and the task's policy does not make up for it
    "refused",  # whoever it works for may not do this any more; the task is paused
    "stopped",  # agents have answered each other long enough
    "dropped",  # the task was paused before its agent had begun
]


class Wire(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class Wake(Wire):
    """Who wakes the agents of a space: for what people say, and for what agents say."""

    people: WakePolicy
    agents: WakePolicy


class Member(Wire):
    id: str
    kind: MemberKind
    name: str
    avatar: str | None = None  # the file of their picture: GET /api/avatars/{id}
    joined_at: str


class Space(Wire):
    id: str
    kind: SpaceKind
    name: str
    topic: str | None = None
    private: bool = False
    archived_at: str | None = None  # nobody writes there since then
    members: list[str] = Field(default_factory=list)
    member_details: list[Member] = Field(default_factory=list)
    wake: Wake
    trigger: str | None = None
    main: bool = False
    folder: str | None = None
    provider: str | None = None
    model: Any = None
    timezone: str | None = None
    bridge: str | None = None
    last_seq: int = 0
    read_seq: int = 0
    unread: int = 0
    mentions: int = 0
    created_by: str = ""
    created_at: str


class SpaceContents(Wire):
    """How much there is in a space, and so what goes when it is deleted."""

    members: int
    messages: int
    files: int
    bytes: int
    tasks: int
    skills: int
    runs: int


class Chat(Wire):
    """A chat elsewhere that a bridge has seen, or that somebody has registered: then it is the space `spaceId`."""

    jid: str
    name: str
    space_id: str | None = None
    seen_at: str | None = None


class Reaction(Wire):
    emoji: str
    member_ids: list[str]


class Thumbnail(Wire):
    """A small picture of a picture: GET /api/files/{id}/thumbnail."""

    type: str
    width: int
    height: int


class File(Wire):
    """Bytes that somebody gave. `name` is cleaned and for people only; `type` is what the bytes look like."""

    id: str
    name: str
    size: int
    type: str
    sha256: str
    space_id: str | None = None  # none: only `ownerId` has it, until a message shows it
    owner_id: str
    thumbnail: Thumbnail | None = None
    created_at: str


class Message(Wire):
    id: str
    space_id: str
    seq: int
    author_id: str
    author_kind: AuthorKind
    type: MessageType = "text"
    text: str = ""
    status: MessageStatus = "complete"
    reply_to: str | None = None
    attachments: list[File] = Field(default_factory=list)
    reactions: list[Reaction] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    client_message_id: str | None = None
    run_id: str | None = None
    depth: int = 0
    created_at: str
    edited_at: str | None = None
    deleted_at: str | None = None


class FoundMessage(Message):
    """A message that a search found, with the part around the first hit.

    `highlights` are places in the snippet, from and up to, counted in characters (code points).
    """

    snippet: str
    highlights: list[tuple[int, int]] = Field(default_factory=list)
    similarity: float | None = None  # how near it is in meaning, up to 1; only where that was compared


class PinnedMessage(Message):
    """A message that a member has pinned in its space."""

    pinned_by: str
    pinned_at: str


class Limits(Wire):
    max_steps: int = Field(default=20, ge=1, le=1000)
    max_messages: int = Field(default=5, ge=0, le=1000)
    max_chain_depth: int | None = Field(default=None, ge=0, le=100)
    max_seconds: float = Field(default=600, gt=0, le=86_400)
    max_cost_per_day: float | None = Field(default=None, ge=0)
    max_tokens_per_run: int | None = Field(default=None, ge=0, le=1 << 53)
    max_tokens_per_day: int | None = Field(default=None, ge=0, le=1 << 53)
    context_tokens: int = Field(default=100_000, ge=1_000, le=10_000_000)  # how much its model is shown at once, about


class VariableDefinition(Wire):
    """What a tool, or an agent for its instructions, says about a value it needs."""

    name: str
    type: VariableType = "text"
    required: bool = True
    scoped: bool = False
    description: str = ""


class MemoryPolicy(Wire):
    """`acrossSpaces`: may the agent use what it learned in one private space in others? No: it stays in that space."""

    across_spaces: bool = False


class Agent(Wire):
    id: str
    name: str
    description: str = ""
    instructions: str = ""
    model: Any
    tools: list[str] = Field(default_factory=list)
    scope: Literal["space", "agent"] = "space"
    auto_enter: bool = True
    limits: Limits = Field(default_factory=Limits)
    on_unsent_text: Literal["drop", "deliver"] = "drop"
    on_new_message: OnNewMessage = "queue"
    variables: list[VariableDefinition] = Field(default_factory=list)
    policy: dict[str, Decision] = Field(default_factory=dict)  # by the name of the tool
    memory: MemoryPolicy = Field(default_factory=MemoryPolicy)
    avatar: str | None = None
    script: Any = None  # what it played before it got a model: set it as the model to go back
    blocks: dict[str, str] | None = None  # where memory is asked for together with the agent
    state: AgentState = "idle"
    paused_at: str | None = None  # by itself; `state` is also `paused` while all are
    paused_reason: str | None = None  # some of its work is put aside: which budget is used up
    waiting_for: list[str] = Field(default_factory=list)
    warnings: list[str] | None = None  # what is odd about its definition, where one agent is asked for
    cost_today: float = 0.0
    unpriced_today: int | None = None  # steps of today whose model has no price
    created_at: str
    updated_at: str


class Pause(Wire):
    """Whether all agents are paused, and since when. An agent can be paused by itself besides."""

    paused: bool
    paused_at: str | None = None


class Usage(Wire):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0


class RunUsage(Usage):
    """`unpriced`: how many of its steps were answered by models without a price. They cost something nobody knows."""

    unpriced: int | None = None


class ModelCheck(Wire):
    """What came of asking a model one question. Each of the three implies the one before."""

    reached: bool
    accepted: bool
    answered: bool
    message: str
    problem: ModelProblem | None = None  # what failed


class ModelPrice(Wire):
    """Dollars for a million tokens. What is read from the provider's cache costs `cached`, what is written to it
    `written`: as much as other input unless it is said."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None


class ConnectionModel(Wire):
    """What somebody said of one model of a connection: what it costs, and how many tokens it takes at once."""

    name: str
    price: ModelPrice | None = None
    context_tokens: int | None = None


class ModelConnection(Wire):
    """A place where models are asked. An agent's model names it: `{connection: ID, name}`."""

    id: str
    name: str
    provider: ConnectionProvider
    base_url: str | None = None  # none: where the provider itself is
    api_key_variable: str | None = None
    has_key: bool = False  # the variable has a value here
    confirmed: str | None = None  # the address that an owner opened for it
    needs_confirming: bool = False  # its address is in this network, and no owner has opened it
    default_model: str | None = None  # what new agents run on
    models: list[ConnectionModel] = Field(default_factory=list)
    agents: list[str] = Field(default_factory=list)  # who uses it
    created_by: str
    created_at: str
    updated_at: str


class OfferedModel(Wire):
    """A model that a connection's server offers, or that somebody has set a price for."""

    name: str
    offered: bool = True
    price: ModelPrice | None = None  # none: nobody has said
    own_price: bool = False  # it was set for this connection; otherwise it is from the office's list
    context_tokens: int | None = None


class UsageRow(Usage):
    """What an agent, a space, a person, a day or a model came to.

    `unpriced` is how many of the steps were answered by models that have no price: they cost something nobody knows.
    """

    id: str
    name: str | None = None
    runs: int
    steps: int = 0
    written_tokens: int = 0
    unpriced: int = 0
    cost_today: float | None = None
    budget: float | None = None  # the smallest for a day, in dollars


class Budget(Wire):
    """How much may be spent in a day or a month (UTC), and how much was. In dollars, or in tokens."""

    id: str
    kind: BudgetKind
    subject_id: str | None = None  # none: the whole office
    period: BudgetPeriod
    unit: BudgetUnit
    amount: float
    extra: float = 0.0  # somebody resumed what it had stopped: so much more may be spent in this period
    spent: float = 0.0
    reached: bool = False
    warned_at: str | None = None  # 80 %, in this period
    reached_at: str | None = None
    origin: Literal["set", "limits"] = "set"  # limits: it stands in the agent's definition
    created_by: str
    created_at: str
    updated_at: str


class Trigger(Wire):
    """What woke the run: the newest inbox item it drained, and how many there were."""

    kind: InboxKind
    message_id: str | None = None
    space_id: str | None = None
    author_id: str | None = None
    task_id: str | None = None
    plan_id: str | None = None
    nominal_at: str | None = None  # when the task or the plan was due
    skill: str | None = None  # the name of the skill that somebody started
    call_id: str | None = None  # of a result that came later: the call, its tool, and the person who answered
    tool_name: str | None = None
    answered_by: str | None = None
    service_name: str | None = None  # what a trigger or a hook is called; `office` is the office itself
    items: int = 1


class PromptBlock(Wire):
    """A block that a model is shown, and what that costs. `tokens` is an estimate."""

    label: str
    version: int
    tokens: int
    space_id: str | None = None
    shared_by: str | None = None


class Run(Wire):
    id: str
    agent_id: str
    thread_id: str
    space_id: str | None = None
    trigger: Trigger
    depth: int = 0
    status: RunStatus
    outcome: Outcome | None = None
    stop_reason: StopReason | None = None
    stopped_by: str | None = None  # who wanted it to end
    retry_of: str | None = None  # the run that it does once more
    silence_reason: str | None = None
    message_ids: list[str] = Field(default_factory=list)
    outside: list[str] = Field(default_factory=list)  # where text came from that it read, if from outside the office
    blocks: list[PromptBlock] | None = None  # of memory, that it was shown; for those who may look inside
    usage: RunUsage = Field(default_factory=RunUsage)
    error: str | None = None
    retry_at: str | None = None  # it waits for its provider, which will be asked again then
    paused_reason: str | None = None  # it is put aside: which budget is used up
    started_at: str
    finished_at: str | None = None


WhyCode = Literal[
    "woken",
    "waiting",  # it is in its inbox; it, or those before it, are not done yet
    "paused",  # it is in its inbox, and waits there until somebody resumes the agent
    "author",
    "system_message",
    "tool_card",
    "command",  # it was for the office itself, like /stop
    "skill",  # it started a skill, which another agent follows
    "not_a_member",  # of the space, when it was posted
    "policy",  # the space's wake policy: nobody is woken by such an author there
    "not_mentioned",
    "no_trigger_word",
    "chain_limit",
    "deleted",  # its text is gone, and with it what it would have said
    "not_kept",  # nothing is known about it any more
]


class Cause(Wire):
    """On whose behalf a run works: who began the chain."""

    kind: str
    id: str


class WhyRun(Wire):
    """What came of being woken. `messageIds` are those that the one who asks may read."""

    run_id: str
    status: RunStatus
    outcome: Outcome | None = None
    stop_reason: StopReason | None = None
    silence_reason: str | None = None
    error: str | None = None
    depth: int = 0
    cause: Cause | None = None
    message_ids: list[str] = Field(default_factory=list)
    blocks: list[PromptBlock] | None = None  # of memory, that it was shown; for those who may look inside
    started_at: str
    finished_at: str | None = None


class WhyAgent(Wire):
    """One agent and one message: was it woken, and the reason as a code and as a sentence."""

    agent_id: str
    name: str
    woken: bool
    code: WhyCode
    reason: str
    rank: int | None = None  # its place among the agents that the message woke, from 0
    run: WhyRun | None = None


class Why(Wire):
    """Who was woken by a message and who was not. `policy` is the one it met when it was posted."""

    message_id: str
    space_id: str
    author_id: str
    policy: str | None = None
    agents: list[WhyAgent] = Field(default_factory=list)


class Preview(Wire):
    """Whom a message would wake."""

    wakes: list[str]


class RunMessage(Wire):
    id: str
    run_id: str
    step: int
    type: RunMessageType
    call_id: str | None = None
    tool_name: str | None = None
    args: Any = None
    result: Any = None
    is_error: bool | None = None
    outside: list[str] | None = None  # where the result came from, if that is outside the office
    content: str | None = None
    at: str


class NewToken(Wire):
    """The only answer that ever holds a token's value."""

    id: str
    token: str


class Person(Wire):
    id: str
    name: str
    role: Role
    avatar: str | None = None  # the file of their picture: GET /api/avatars/{id}
    created_at: str
    disabled_at: str | None = None


class Me(Wire):
    """Who the server takes you for."""

    id: str
    kind: Literal["person", "agent", "tools"]
    name: str
    role: Role | None = None
    grants: list[str]


class OpenSession(Wire):
    """Somebody who is signed in, in one browser."""

    id: str
    person_id: str
    name: str
    device: str | None = None  # the browser and the system it began in, as they name themselves
    current: bool = False  # the one that asks
    created_at: str
    expires_at: str


class InstructionsVersion(Wire):
    """What an agent's instructions were from this moment on."""

    version: int
    content: str
    by: str | None = None
    at: str


class Invite(Wire):
    """As it is listed: never its code, which is shown once."""

    id: str
    role: GivenRole
    space_ids: list[str] = Field(default_factory=list)  # where whoever accepts it becomes a member
    created_by: str
    created_at: str
    expires_at: str
    open: bool = True


class NewInvite(Invite):
    """The only answer that ever holds an invite's link."""

    code: str
    link: str
    local_only: bool = False  # the link names this machine: nobody else can open it


class InviteShown(Wire):
    """What somebody who holds the link may know before they accept."""

    invited_by: str
    role: GivenRole
    spaces: list[str] = Field(default_factory=list)  # names
    expires_at: str


class InboxItem(Wire):
    id: str
    thread_id: str
    kind: InboxKind
    space_id: str | None = None
    depth: int = 0
    payload: dict[str, Any]
    created_at: str


class Woken(Wire):
    item_id: str


class SharedWith(Wire):
    """The agents that a block is shared with: those that only read it, and those that may write it, too."""

    readers: list[str] = Field(default_factory=list)
    writers: list[str] = Field(default_factory=list)


class Block(Wire):
    """A text that is always in its agent's prompt."""

    label: str
    content: str
    description: str = ""  # what it is for, as the agent is told
    limit: int  # so many characters at most
    version: int
    updated_at: str
    space_id: str | None = None  # the only space that it is shown in
    outside: list[str] = Field(default_factory=list)  # what the run that wrote it had read from outside the office
    shared: SharedWith | None = None
    shared_by: str | None = None  # the agent whose block it is, if that is another one
    may_write: bool = True


class BlockVersion(Wire):
    """What a block was after one change, who made the change, and why."""

    version: int
    content: str
    description: str = ""
    deleted: bool = False
    at: str
    by: str | None = None  # None: it is from before changes were kept
    by_kind: str | None = None
    token_id: str | None = None
    run_id: str | None = None
    reason: str | None = None
    outside: list[str] = Field(default_factory=list)  # as of a block


class Learned(Wire):
    """Where a passage comes from: the space that its writer was in, the run, the message that woke it, and the person
    who wrote it or for whom the run worked."""

    space_id: str | None = None
    run_id: str | None = None
    message_id: str | None = None
    person_id: str | None = None
    at: str


class Passage(Wire):
    """`agentId`: whose it is; none: it is in the store of `spaceId`. With both, the agent keeps it for that space."""

    id: str
    agent_id: str | None = None
    space_id: str | None = None
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    created_at: str
    score: float | None = None  # how much of what was searched for is there, from 0 to 1
    similarity: float | None = None  # how near it is in meaning, up to 1; only where that was compared
    outside: list[str] = Field(default_factory=list)  # as of a block
    learned: Learned | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    expires_at: str | None = None
    updated_at: str | None = None
    updated_by: str | None = None


class Span(Wire):
    span_id: str
    parent_id: str | None = None
    name: str
    started_at: str
    finished_at: str | None = None
    attributes: dict[str, Any]


class Trace(Wire):
    spans: list[Span]


class PromptPart(Wire):
    """A piece of what a model is shown. `tokens` is an estimate. `blocks`: those of memory that are in it."""

    name: str
    text: str
    tokens: int
    blocks: list[PromptBlock] | None = None


class PromptTool(Wire):
    name: str
    description: str
    input_schema: dict[str, Any]
    tokens: int


class Prompt(Wire):
    """What an agent would be shown if it were woken now, with nothing new.

    `tokens` is all of it, and `window` the size of the context. `leftOut` names parts that are not yours to see.
    """

    agent_id: str
    space_id: str | None = None
    model: str
    parts: list[PromptPart]
    tools: list[PromptTool]
    tokens: int
    window: int
    left_out: list[str] = Field(default_factory=list)


class PromptChange(Wire):
    """A part that cannot be shown as it was: why, and the messages that were edited, deleted or erased since."""

    part: str
    why: str
    message_ids: list[str] = Field(default_factory=list)


class StepRequest(Wire):
    """What a model was shown before it gave the answer of a step, built again from what is kept.

    What was edited, deleted or erased since is not shown: `changed` says where. `body` is the request as its provider
    got it, if you asked for that and the model is the same.
    """

    run_id: str
    step: int
    at: str | None = None
    model: str | None = None
    parts: list[PromptPart]
    tools: list[PromptTool]
    tokens: int
    window: int
    changed: list[PromptChange]
    left_out: list[str] = Field(default_factory=list)
    body: dict[str, Any] | None = None


class Change(Wire):
    id: str
    change: Literal["created", "updated", "unchanged"]


class AppliedAgent(Change):
    warnings: list[str] | None = None  # as of an agent


class AppliedSkill(Change):
    """What became of a skill in one space. What is `proposed` waits for somebody's approval."""

    space_id: str
    status: SkillStatus


class Applied(Wire):
    agents: list[AppliedAgent]
    spaces: list[Change]
    tools: list[Change]
    variables: list[Change]
    skills: list[AppliedSkill]


class Problem(Wire):
    """What is wrong: a code for machines, a sentence for people, and which fields."""

    code: str
    message: str
    fields: dict[str, str]


class Refusal(Wire):
    """The one shape of every answer that is not what was asked for."""

    error: Problem


class Token(Wire):
    """A token as it is listed: never its value, which is shown once."""

    id: str
    name: str
    kind: Literal["owner", "person", "agent", "tools"]
    person_id: str | None = None
    agent_id: str | None = None
    tools: list[str] | None = None
    scopes: list[str] | None = None
    created_at: str
    expires_at: str | None = None


class AuditRow(Wire):
    """One thing that somebody did. `hash` covers the row and the hash of the one before it."""

    number: int
    at: str
    actor_kind: str
    actor_id: str
    action: str
    object_kind: str
    object_id: str
    detail: dict[str, Any] = Field(default_factory=dict)
    hash: str


class AuditCheck(Wire):
    """Whether the chain of the audit log holds, and where it breaks first."""

    ok: bool
    rows: int
    hash: str | None = None  # of the last row: kept elsewhere, it shows whether all of them were ever replaced
    broken_at: int | None = None
    reason: str | None = None


class Alive(Wire):
    alive: bool


class Readiness(Wire):
    ready: bool
    failing: list[str] = Field(default_factory=list)
    # Executors that this process cannot open, or that are not well, and why. Told on the machine itself alone.
    unhealthy: dict[str, str] | None = None


class Erased(Wire):
    """What is gone for good."""

    kind: Literal["space", "person", "agent"]
    id: str


class VariableScope(Wire):
    """Where a variable is at home. The workspace has no id."""

    kind: ScopeKind = "workspace"
    id: str | None = None


class Variable(Wire):
    """A value that tools ask for by its name. A secret's value is never told."""

    name: str
    type: VariableType
    scope: VariableScope
    scoped: bool = False
    description: str = ""
    value: str | None = None
    updated_at: str


class Rotation(Wire):
    """What turning the key ring came to."""

    key_id: str
    secrets: int  # sealed anew
    resumed: bool  # it finished an earlier one that was interrupted
    forgotten: int  # keys that left the ring
    idle: int  # keys that are not needed any more, in a file which is not ours to change
    unopened: list[str] = Field(default_factory=list)  # secrets that could not be opened: set them again


class KeyUse(Wire):
    """A key, by an id that does not tell it, and how many secrets are sealed with it."""

    id: str
    secrets: int
    current: bool  # what is set from now on is sealed with it
    held: bool  # is it in the key file of the server that answers


class KeyUses(Wire):
    path: str
    keys: list[KeyUse]


class Execution(Wire):
    """Where a gateway tool's work is done. URL and headers may refer to variables as {{var:NAME}}."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = Field(default_factory=dict)


class ToolConfig(Wire):
    """A tool as it is defined. Those that come with Bullpen have the type `function`, and cannot be changed."""

    name: str
    description: str
    input_schema: dict[str, Any]
    execution_type: ExecutionType
    visible: bool
    is_async: bool = False
    timeout: int = 30_000
    expires_after: int | None = None
    execution: Execution | None = None
    variables: list[VariableDefinition] = Field(default_factory=list)
    policy: Decision | None = None
    effect: DeclaredEffect | None = None  # of gateway and external tools, if somebody says
    built_in: bool = False
    family: str | None = None  # with which others an agent is given it at once: `messaging`
    created_at: str | None = None
    updated_at: str | None = None


class Progress(Wire):
    """How far somebody has come with a call, as they say themselves."""

    fraction: float | None = None
    message: str | None = None
    at: str
    runner: str | None = None  # the process that carries it out, by a name of its own


class PendingCall(Wire):
    """A tool call whose result comes later."""

    call_id: str
    kind: PendingKind
    agent_id: str
    run_id: str
    space_id: str | None = None
    tool_name: str
    args: Any = None
    status: PendingStatus
    result: Any = None
    answered_by: str | None = None
    delivered_via: Literal["inline", "inbox"] | None = None
    created_at: str
    expires_at: str | None = None
    progress: Progress | None = None
    # What an approval holds for: the tool, its arguments, its agent and its space. Send it back to approve just that.
    hash: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)  # outside: where its run had read text from


class Policy(Wire):
    """Whether an agent may use a tool: in one space or anywhere, for some arguments or for all."""

    id: str
    agent_id: str
    space_id: str | None = None
    tool_name: str
    decision: Decision
    when: dict[str, Any] | None = None
    source: str | None = None  # only for what text from there may cause: a host, `tool:NAME`, `hook:NAME`, `file`, …
    created_by: str
    created_at: str


class Acceptance(Wire):
    """A result was taken; `duplicate` if the same one had been taken before."""

    accepted: bool = True
    duplicate: bool = False


class Hook(Wire):
    """A secret address that wakes one agent. It gives what whoever made it still may."""

    id: str
    name: str
    agent_id: str
    created_by: str
    created_at: str
    used_at: str | None = None


class NewHook(Hook):
    """A hook that was made just now. `url` is its address, shown this once."""

    url: str


class Webhook(Wire):
    """An address that is told when its person is mentioned, or when a call waits that they may answer."""

    id: str
    person_id: str
    url: str  # to others than its person, only where it leads
    events: list[WebhookEvent]
    members: list[str] = Field(default_factory=list)  # whose mentions; empty: its person's own
    enabled: bool = True
    reason: str | None = None  # why it is not enabled
    failures: int = 0  # attempts that failed, one after another
    last_error: str | None = None
    created_at: str
    delivered_at: str | None = None


class NewWebhook(Webhook):
    """A webhook that was made just now. `secret` is what its deliveries are signed with, shown this once."""

    secret: str


class Delivery(Wire):
    """Something that a webhook is told. `id` is the same in every attempt."""

    id: str
    webhook_id: str
    type: WebhookEvent
    subject_id: str  # the message or the call
    space_id: str | None = None
    status: DeliveryStatus
    attempts: int
    next_attempt_at: str | None = None
    last_status: int | None = None
    last_error: str | None = None
    created_at: str
    finished_at: str | None = None


class Bridge(Wire):
    """A way to chats elsewhere, and what waits to be sent there. `off`: no process here runs it."""

    id: str
    status: BridgeStatus
    health: str
    queued: int
    oldest_at: str | None = None
    dead: int
    last_error: str | None = None


class OutboxEntry(Wire):
    """Something that is sent to a chat elsewhere. `repeated`: a part was sent twice, because an answer was lost."""

    id: str
    bridge: str
    chat: str
    space_id: str
    message_id: str
    kind: OutboxKind
    status: OutboxStatus
    attempts: int
    repeated: bool
    error: str | None = None
    created_at: str
    finished_at: str | None = None


class WebhookTest(Wire):
    """What came of telling a webhook something just now."""

    delivered: bool
    status: int | None = None
    error: str | None = None
    ms: int


class Precheck(Wire):
    """A tool call that decides whether a task wakes its agent's model at all."""

    tool: str
    args: dict[str, Any] = Field(default_factory=dict)


class Firing(Wire):
    """One time at which a task was due, and what came of it."""

    task_id: str
    nominal_at: str
    fired_at: str
    status: FiringStatus
    reason: str | None = None
    missed: int = 0  # earlier times that it stands for
    manual: bool = False  # somebody wanted it now
    run_id: str | None = None
    run_status: RunStatus | None = None
    outcome: Outcome | None = None
    error: str | None = None


class Task(Wire):
    """What a space has an agent do, and when. `nextRuns` are the next five times, if it is active."""

    id: str
    space_id: str
    agent_id: str
    prompt: str
    schedule_type: ScheduleType
    schedule_value: str
    timezone: str
    context_mode: ContextMode
    missed: MissedPolicy = "once"
    precheck: Precheck | None = None
    may_schedule: bool = False
    status: TaskStatus
    reason: str | None = None  # why it is paused, if nobody asked for that
    next_run: str | None = None
    next_runs: list[str] = Field(default_factory=list)
    last_run: str | None = None
    failures: int = 0  # runs that failed, one after another
    on_behalf_of: str  # whose rights it works with, as far as they still hold them
    created_by: str
    created_at: str
    updated_at: str
    firing: Firing | None = None  # in `task_fired`: which time it was


class Goal(Wire):
    """What an agent wants. `spaceId` is the private space in which it was written, if it stays there."""

    id: str
    agent_id: str
    description: str
    status: GoalStatus
    priority: int = 0  # higher ones are shown first
    space_id: str | None = None
    outside: list[str] = Field(default_factory=list)  # where its writer had read text from, if from outside the office
    created_at: str
    updated_at: str
    deleted: bool | None = None  # in `goal_updated`: it is gone


class Memory(Wire):
    """What an agent knows under a key. `spaceId` is the private space in which it was written, if it stays there."""

    key: str
    value: str
    agent_id: str
    space_id: str | None = None
    outside: list[str] = Field(default_factory=list)  # as of a goal
    created_at: str
    updated_at: str


class PlanFiring(Wire):
    """One time at which a plan was due, and what came of it."""

    nominal_at: str
    fired_at: str
    status: FiringStatus
    reason: str | None = None
    missed: int = 0  # earlier times that it stands for


class Plan(Wire):
    """What an agent means to do, and when it is woken for that. Times are shown by the clocks of `timezone`."""

    id: str
    agent_id: str
    name: str
    instruction: str
    scheduled_at: str | None = None  # a single time, with its offset
    cron: str | None = None
    timezone: str
    status: TaskStatus
    reason: str | None = None  # why it is paused
    next_run: str | None = None
    next_runs: list[str] = Field(default_factory=list)
    last_run: str | None = None
    failures: int = 0  # runs that failed, one after another
    space_id: str | None = None  # where its runs begin; left out: in no space
    stays: bool = False  # it was set in that private space, and is shown to the agent there alone
    on_behalf_of: str  # whose rights it works with, as far as they still hold them
    created_by: str
    outside: list[str] = Field(default_factory=list)  # as of a goal
    created_at: str
    updated_at: str
    firing: PlanFiring | None = None  # in `plan_fired`: which time it was


class SkillProposal(Wire):
    """What somebody would have a skill say. It is followed once a person has approved of it, under its `hash`."""

    description: str
    instructions: str
    parameters: str | None = None
    agent_id: str | None = None
    written_by: str
    hash: str
    diff: str  # against what is active, as SKILL.md shows both
    outside: list[str] = Field(default_factory=list)  # where its writer had read text from, if from outside the office
    at: str


class Skill(Wire):
    """A stored workflow of a space, which people start by writing `/name`. A `proposed` one has never been approved."""

    id: str
    space_id: str
    name: str
    description: str
    instructions: str
    parameters: str | None = None
    agent_id: str | None = None  # who follows it; left out: the first agent of the space
    status: SkillStatus
    written_by: str
    approved_by: str | None = None
    hash: str
    outside: list[str] = Field(default_factory=list)
    undoable: bool = False  # an agent has stored what it says, and no person has answered for that yet
    proposal: SkillProposal | None = None
    created_at: str
    updated_at: str


class Invoked(Wire):
    """A skill was started: by this message, in a thread of its own."""

    message_id: str
    space_id: str
    name: str
    agent_id: str
    thread_id: str


class Command(Wire):
    """Something that people can write in a space, with a `/` before it."""

    name: str
    description: str
    parameters: str | None = None
    kind: Literal["office", "skill"]
