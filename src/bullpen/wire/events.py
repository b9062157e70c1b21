"""The events: one class for each, with what it carries.

A recorded event is stored with the change it tells of, numbered, and replayed. A live event reaches the followers of
that moment and is gone. docs/reference/events.md and the page's types are written from these classes: a docstring says
what the event means to a follower. Who may see an event is decided where it is recorded or sent (events/actions.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from bullpen.wire.nouns import Agent, Budget, Member, Message, PendingCall, Run, Skill, Space, Task, Wire

# ── what all have ───────────────────────────────────────────────────────────────────────────────────────────────────


def _require_head(schema: dict[str, Any]) -> None:
    """Two fields have a default here and are sent all the same."""
    schema["properties"]["at"].pop("default")
    schema["required"] = ["type", "at", *schema.get("required", ())]


class Event(Wire):
    """Something happened. Every event has these fields; the noun it is about comes after them, under its own name."""

    model_config = ConfigDict(json_schema_extra=_require_head)

    type: str = Field(description="Which event it is.")
    space_id: str | None = Field(default=None, description="The space where it happened, if it happened in one.")
    agent_id: str | None = Field(default=None, description="The agent it is about.")
    run_id: str | None = Field(default=None, description="The run it is part of.")
    at: str = Field(default="", description="When it happened. The server sets it when it records or sends the event.")


class RecordedEvent(Event):
    """Stored with the change it tells of, and replayed."""


class LiveEvent(Event):
    """Sent to the followers of this moment. Never stored."""


class Detail(Wire):
    """What an event carries that is not a noun of the API. A field without a default is always sent, even as null."""


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


class MessageEvent(RecordedEvent):
    message: Message = Field(description="The message as it is now.")


class MessageCreated(MessageEvent):
    """Somebody said something, or a tool's card appeared."""

    type: Literal["message_created"] = "message_created"


class MessageUpdated(MessageEvent):
    """The author changed the text, or a card got its result."""

    type: Literal["message_updated"] = "message_updated"


class MessageDeleted(MessageEvent):
    """The author deleted the message. It keeps its number; its text is empty."""

    type: Literal["message_deleted"] = "message_deleted"


class MemberReaction(Detail):
    """One emoji that one member gave one message."""

    message_id: str = Field(description="The message that the member reacted to.")
    member_id: str = Field(description="The person or agent that reacted.")
    emoji: str = Field(description="The emoji.")


class ReactionEvent(RecordedEvent):
    reaction: MemberReaction = Field(description="Who reacted to which message, and with what.")


class ReactionAdded(ReactionEvent):
    """A member reacted to a message."""

    type: Literal["reaction_added"] = "reaction_added"


class ReactionRemoved(ReactionEvent):
    """A member took a reaction back."""

    type: Literal["reaction_removed"] = "reaction_removed"


class PinnedBy(Detail):
    """A message that was pinned or unpinned, and by whom."""

    message_id: str = Field(description="The message.")
    member_id: str = Field(description="The person or agent that pinned or unpinned it.")


class PinEvent(RecordedEvent):
    pin: PinnedBy = Field(description="Which message, and who did it.")


class MessagePinned(PinEvent):
    """A member pinned a message in its space."""

    type: Literal["message_pinned"] = "message_pinned"


class MessageUnpinned(PinEvent):
    """A member took a pin away. A message that is deleted loses its pin without this event."""

    type: Literal["message_unpinned"] = "message_unpinned"


# ── spaces and members ──────────────────────────────────────────────────────────────────────────────────────────────


class MemberJoined(RecordedEvent):
    """A person or an agent became a member of the space."""

    type: Literal["member_joined"] = "member_joined"
    member: Member = Field(description="The new member.")


class FormerMember(Detail):
    """A person or an agent that is no longer a member."""

    id: str = Field(description="The id of the person or agent.")


class MemberLeft(RecordedEvent):
    """A person or an agent is no longer a member of the space."""

    type: Literal["member_left"] = "member_left"
    member: FormerMember = Field(description="Who left.")


class SpaceEvent(RecordedEvent):
    space: Space = Field(description="The space, without what is different for each reader.")


class SpaceCreated(SpaceEvent):
    """There is a new space."""

    type: Literal["space_created"] = "space_created"


class SpaceUpdated(SpaceEvent):
    """The name, the wake policy, an option or a member's name changed."""

    type: Literal["space_updated"] = "space_updated"


class SpaceErased(RecordedEvent):
    """The space is gone with everything in it. Sent to those who could read it until then."""

    type: Literal["space_erased"] = "space_erased"


# ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class AgentEvent(RecordedEvent):
    agent: Agent = Field(description="The agent as it is now.")


class AgentCreated(AgentEvent):
    """There is a new agent. For owners."""

    type: Literal["agent_created"] = "agent_created"


class AgentUpdated(AgentEvent):
    """The agent's definition changed, or it was paused or resumed. For owners."""

    type: Literal["agent_updated"] = "agent_updated"


class AgentDeleted(RecordedEvent):
    """The agent is gone; its messages stay. For owners."""

    type: Literal["agent_deleted"] = "agent_deleted"


class AllAgents(Detail):
    """Whether all agents are paused."""

    paused_at: str | None = Field(default=None, description="Since when all agents are paused. Left out: they are not.")


class AgentsPaused(RecordedEvent):
    """All agents are paused, and so are agents that are created from now on. For everybody."""

    type: Literal["agents_paused"] = "agents_paused"
    agents: AllAgents = Field(description="Since when.")


class AgentsResumed(RecordedEvent):
    """The agents go on, except those that were paused one by one. For everybody."""

    type: Literal["agents_resumed"] = "agents_resumed"
    agents: AllAgents = Field(description="Empty.")


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class RunEvent(RecordedEvent):
    run: Run = Field(description="The run as it is now.")


class RunStarted(RunEvent):
    """An agent woke up; `run.trigger` says why."""

    type: Literal["run_started"] = "run_started"


class RunWaiting(RunEvent):
    """The model's provider is unavailable: `run.error` says why, `run.retryAt` when it is asked again."""

    type: Literal["run_waiting"] = "run_waiting"


class RunPaused(RunEvent):
    """A budget is used up and the run is paused: `run.pausedReason` says which budget."""

    type: Literal["run_paused"] = "run_paused"


class RunResumed(RunEvent):
    """The paused run goes on where it was."""

    type: Literal["run_resumed"] = "run_resumed"


class RunFinished(RunEvent):
    """The run is over: see `outcome`, `stopReason` and, for silence, `silenceReason`."""

    type: Literal["run_finished"] = "run_finished"


# ── tool calls ──────────────────────────────────────────────────────────────────────────────────────────────────────


class StartedCall(Detail):
    """A tool call."""

    call_id: str = Field(description="The id that all events of this call share.")
    tool_name: str = Field(description="The tool.")
    args: Any = Field(
        default=None,
        description="The arguments; the model's own text if that is not JSON. Left out while the model is writing "
        "them, and if the call was not run.",
    )


class SettledCall(StartedCall):
    """A tool call and what came of it."""

    args: Any = Field(
        description="The arguments; the model's own text if that is not JSON. Null: the call was not run."
    )
    result: Any = Field(description="The result, or `{error: …}`.")
    answered_by: str | None = Field(default=None, description="The person or program that gave it later.")
    code: str | None = Field(
        default=None,
        description="What kind of error it is, for programs. `abandoned`: the model's answer was discarded before it "
        "was whole.",
    )


class ToolStarted(RecordedEvent):
    """A tool call begins. If followers see the model write it, this comes first; one `tool.done` or `tool.error` with
    the same `callId` ends it."""

    type: Literal["tool.started"] = "tool.started"
    call: StartedCall = Field(description="The call.")


class SettledCallEvent(RecordedEvent):
    call: SettledCall = Field(description="The call and its result.")


class ToolDone(SettledCallEvent):
    """The call has its result."""

    type: Literal["tool.done"] = "tool.done"


class ToolError(SettledCallEvent):
    """The call failed, was refused or was abandoned; its result is the error."""

    type: Literal["tool.error"] = "tool.error"


class PendingCallEvent(RecordedEvent):
    call: PendingCall = Field(description="The pending call as it is now.")


class ToolRequiresAction(PendingCallEvent):
    """The call waits for a person or a program to answer it. `tool.done` or `tool.error` follows once there is a
    result."""

    type: Literal["tool.requires_action"] = "tool.requires_action"


class PendingResolved(PendingCallEvent):
    """The pending call was answered, or nobody will answer it any more: see `call.status`."""

    type: Literal["pending_resolved"] = "pending_resolved"


# ── tasks and skills ────────────────────────────────────────────────────────────────────────────────────────────────


class TaskEvent(RecordedEvent):
    task: Task = Field(description="The task as it is now.")


class TaskCreated(TaskEvent):
    """A task was scheduled."""

    type: Literal["task_created"] = "task_created"


class TaskUpdated(TaskEvent):
    """A task was changed, paused or resumed, or its next time changed."""

    type: Literal["task_updated"] = "task_updated"


class TaskFired(TaskEvent):
    """A task was due; `task.firing` says which time it was."""

    type: Literal["task_fired"] = "task_fired"


class DeletedTask(Detail):
    """A task that is gone."""

    id: str = Field(description="The id that the task had.")


class TaskDeleted(RecordedEvent):
    """A task was cancelled."""

    type: Literal["task_deleted"] = "task_deleted"
    task: DeletedTask = Field(description="What is left of it.")


class SkillEvent(RecordedEvent):
    skill: Skill = Field(description="The skill as it is now.")


class SkillCreated(SkillEvent):
    """A skill was stored. If it is only proposed, its `status` is `proposed`."""

    type: Literal["skill_created"] = "skill_created"


class SkillUpdated(SkillEvent):
    """A skill changed, or a change was proposed, approved or rejected: see `skill.proposal`."""

    type: Literal["skill_updated"] = "skill_updated"


class DeletedSkill(Detail):
    """A skill that is gone."""

    id: str = Field(description="The id that the skill had.")
    space_id: str = Field(description="The space it belonged to.")
    name: str = Field(description="The name that people started it by.")


class SkillDeleted(RecordedEvent):
    """A skill is gone."""

    type: Literal["skill_deleted"] = "skill_deleted"
    skill: DeletedSkill = Field(description="What is left of it.")


# ── memory ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class StoredPassage(Detail):
    """A passage of memory, without its words."""

    id: str = Field(description="Its id.")
    space_id: str | None = Field(default=None, description="The only space that it is for. None: for all.")
    supersedes: str | None = Field(default=None, description="The passage that it stands in place of.")


class PassageStored(RecordedEvent):
    """Something was stored in a memory, or corrected there. `agentId` says whose memory it is; none: the space's."""

    type: Literal["passage_stored"] = "passage_stored"
    passage: StoredPassage = Field(description="Which one. Read its words from the API.")


# ── limits and access ───────────────────────────────────────────────────────────────────────────────────────────────


class StoppedChain(Detail):
    """A chain of agents that woke each other."""

    id: str = Field(description="The id of the chain.")
    depth: int = Field(description="How many times in a row agents had woken each other.")
    message_id: str | None = Field(default=None, description="The message that would have woken the next agent.")


class ChainStopped(RecordedEvent):
    """Agents woke each other up to the limit; nobody else was woken."""

    type: Literal["chain_stopped"] = "chain_stopped"
    chain: StoppedChain = Field(description="The chain.")


class BudgetEvent(RecordedEvent):
    budget: Budget = Field(description="The budget and how much of it is used.")


class BudgetWarned(BudgetEvent):
    """80 % of a budget are used, for the first time in this period. For owners."""

    type: Literal["budget_warned"] = "budget_warned"


class BudgetReached(BudgetEvent):
    """A budget is used up; the runs it covers are paused. Once for each period. For owners."""

    type: Literal["budget_reached"] = "budget_reached"


class ChangedAccess(Detail):
    """Whose open streams end."""

    holder_id: str = Field(description="The person or agent whose rights changed.")
    credential: str | None = Field(description="The token or session that ended. Null: all of the holder's.")
    but_for: str = Field(description="The one token or session that goes on. Empty: none.")


class AccessChanged(RecordedEvent):
    """Somebody's rights changed, or a token or session ended: the streams opened with it end. For owners."""

    type: Literal["access_changed"] = "access_changed"
    access: ChangedAccess = Field(description="Whose streams end.")


# ── live ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class AgentTyping(LiveEvent):
    """An agent is thinking in this space."""

    type: Literal["agent_typing"] = "agent_typing"


class PersonTyping(LiveEvent):
    """A person is writing in this space. Only its readers are told, and it is not stored."""

    type: Literal["person_typing"] = "person_typing"
    person_id: str = Field(description="The person.")


class AgentDone(LiveEvent):
    """The agent is no longer thinking."""

    type: Literal["agent_done"] = "agent_done"


class MessageStreaming(LiveEvent):
    """A message that an agent is writing, as far as it is written. `message_created` follows when it is sent. An empty
    text: it will not be sent here, so do not show it any more."""

    type: Literal["message_streaming"] = "message_streaming"
    message_id: str = Field(description="The id that the message will have.")
    index: int = Field(description="Which call of the model's answer writes it, from 0.")
    text: str = Field(description="The whole text so far.")


class StreamedCall(Detail):
    """A call that a model is still writing."""

    call_id: str = Field(description="The id that all events of this call share.")
    tool_name: str = Field(description="The tool.")
    index: int = Field(description="Which call of the model's answer it is, from 0.")
    run_step: int = Field(description="The step of the run, from 1.")
    args: Any = Field(description="The arguments, as far as they can be read. Null: nothing can be read yet.")


class ToolStreaming(LiveEvent):
    """The arguments of a call, as far as they are written."""

    type: Literal["tool.streaming"] = "tool.streaming"
    call: StreamedCall = Field(description="The call.")
    text: str = Field(description="The arguments so far, as the model writes them.")


class ToolProgress(LiveEvent):
    """A program says how far it is with a call: see `call.progress`."""

    type: Literal["tool.progress"] = "tool.progress"
    call: PendingCall = Field(description="The pending call as it is now.")


class Presence(Detail):
    """Whether a person has the page open."""

    person_id: str = Field(description="The person.")
    here: bool = Field(description="True: the page is open.")


class PresenceChanged(LiveEvent):
    """A person opened or closed the page. A new follower is told who is there. For everybody."""

    type: Literal["presence"] = "presence"
    presence: Presence = Field(description="Who, and whether they are there.")


class ReadMark(Detail):
    """How far you have read a space."""

    seq: int = Field(description="The number of the last message that you have read.")
    unread: int = Field(description="How many messages come after it.")
    mentions: int = Field(description="How many of those mention you.")


class SpaceRead(LiveEvent):
    """You have read the space up to `read.seq`, perhaps on another device. Only you are told."""

    type: Literal["space_read"] = "space_read"
    read: ReadMark = Field(description="How far.")


# ── the stream itself ───────────────────────────────────────────────────────────────────────────────────────────────


class Reset(Event):
    """Your cursor cannot be continued: it is too old, from another database, or not a cursor. Load again what you show,
    and go on from here."""

    type: Literal["reset"] = "reset"


# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────────

AnyEvent: TypeAlias = Annotated[
    MessageCreated
    | MessageUpdated
    | MessageDeleted
    | ReactionAdded
    | ReactionRemoved
    | MessagePinned
    | MessageUnpinned
    | MemberJoined
    | MemberLeft
    | SpaceCreated
    | SpaceUpdated
    | SpaceErased
    | AgentCreated
    | AgentUpdated
    | AgentDeleted
    | AgentsPaused
    | AgentsResumed
    | RunStarted
    | RunWaiting
    | RunPaused
    | RunResumed
    | RunFinished
    | ToolStarted
    | ToolDone
    | ToolError
    | ToolRequiresAction
    | PendingResolved
    | TaskCreated
    | TaskUpdated
    | TaskFired
    | TaskDeleted
    | SkillCreated
    | SkillUpdated
    | SkillDeleted
    | PassageStored
    | ChainStopped
    | BudgetWarned
    | BudgetReached
    | AccessChanged
    | AgentTyping
    | PersonTyping
    | AgentDone
    | MessageStreaming
    | ToolStreaming
    | ToolProgress
    | PresenceChanged
    | SpaceRead
    | Reset,
    Field(discriminator="type"),
]


def event_classes() -> tuple[type[Event], ...]:
    return get_args(get_args(AnyEvent)[0])


def name_event(kind: type[Event]) -> str:
    """The name of an event on the wire."""
    return str(kind.model_fields["type"].default)


def name_events(*kinds: type[Event]) -> frozenset[str]:
    return frozenset(name_event(kind) for kind in kinds)


STORED_EVENTS: Final = name_events(*(kind for kind in event_classes() if issubclass(kind, RecordedEvent)))
LIVE_EVENTS: Final = name_events(*(kind for kind in event_classes() if issubclass(kind, LiveEvent)))
RESET: Final = name_event(Reset)
_NAMES: Final = STORED_EVENTS | LIVE_EVENTS | {RESET}


@cache
def _adapter() -> TypeAdapter[AnyEvent]:
    return TypeAdapter(AnyEvent)


def describe_events(ref_template: str) -> dict[str, Any]:
    """The JSON Schema of each event and of what it carries, by name. `AnyEvent` is one of all events."""
    schema = _adapter().json_schema(mode="serialization", ref_template=ref_template)
    return {**schema.pop("$defs"), "AnyEvent": schema}


def parse_event(payload: Mapping[str, Any]) -> AnyEvent | None:
    """An event as its class. None: its type is unknown here, so a newer server sent it."""
    known = payload.get("type") in _NAMES
    return _adapter().validate_python(payload) if known else None


@cache
def carried_fields(kind: type[Event]) -> dict[str, str]:
    """What an event carries besides the head: names in Python and on the wire, in order."""
    return {name: field.alias or name for name, field in kind.model_fields.items() if name not in Event.model_fields}
