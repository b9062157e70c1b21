"""A tool, what it is given, and every way a call can end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypeVar

import orjson

from bullpen import ids
from bullpen.access.types import Grant
from bullpen.apart.pool import ProcessPool
from bullpen.clock import Clock
from bullpen.errors import Broken
from bullpen.files.folders import Folders
from bullpen.files.reading import Reader
from bullpen.files.sources import Wrote
from bullpen.files.thumbnails import Thumbnails
from bullpen.files.types import Blobs
from bullpen.inbox.types import Cause
from bullpen.llm.types import ToolSpec
from bullpen.meaning.looking import Looking
from bullpen.memory.supermemory import Supermemory
from bullpen.replacing import replace
from bullpen.spaces.types import PostingRules, Room
from bullpen.storage import Store, Transaction
from bullpen.tasks.actions import Rules
from bullpen.tools import own_words
from bullpen.tools.outside import Outside
from bullpen.tools.quotes import Carries, ReadCall
from bullpen.variables.actions import Vault
from bullpen.wire import Agent
from bullpen.wire.nouns import Decision, PendingCall, PendingKind, PendingStatus, Progress, VariableDefinition

if TYPE_CHECKING:
    from bullpen.net.client import Egress

T = TypeVar("T")

# What becomes of a call that was under way at a crash: see docs/internals/tools.md.
Effect = Literal["tx", "pure", "idempotent", "once"]
# What a successful call makes of its run; None: it only looked, or chose silence.
Act = Literal["spoke", "reacted", "acted", "silence"]

# Why a call has to be approved although no policy says so: its run was shown outside text, and it would carry words out
# of where they were read, or do what outlives the run; or it would do again what an earlier try did.
AskReason = Literal["outward", "lasting", "repeat"]
# Who wants a proposal of a tool that `proposes`: somebody's policy, or only the tool's own definition.
Proposes = Literal["policy", "default"]
# How far an approved call has come.
Execution = Literal["inline", "queued", "started"]

DEFAULT_TIMEOUT_MS = 30_000
GROUP_FOLDER = "group-"  # how the names of folders begin that belong to a group, and to no thread


class Executor:
    """How the calls of a tool are carried out. This one holds nothing, and calls the tool's function.

    One that holds something for long, like an MCP session, a runner or a browser, has a name and overrides the rest:
    it is opened before its first call and closed with the office, and `context.executor` is the one that is open. See
    tools/open_executors.py.
    """

    name: str = ""  # of what is held, in the whole office: mcp:SERVER, browser:GROUP. Empty: nothing is
    exclusive: bool = False  # only one process at a time may hold it

    def choose(self, context: ToolContext) -> Executor:
        """The one that a call needs, not open yet: where each group has its own, the one of the run's group."""
        return self

    async def open(self) -> None:
        """Make it ready for calls, or raise ToolFailed with a sentence for the model."""

    async def call(self, tool: Tool, context: ToolContext, args: Mapping[str, Any]) -> Any:
        return await tool.function(context, **args)

    async def close(self) -> None:
        """Let go of all that it holds, well or not."""

    async def health(self) -> str | None:
        """What is wrong with it; None: it is well. Asked while it is open."""
        return None


STATELESS: Final = Executor()


@dataclass(frozen=True, slots=True)
class Words:
    """A tool that says something in a space: the arguments that hold the words and the space, and where they go.

    What an agent says is shown there while the model writes it.
    """

    spellings: Mapping[str, str]  # each way of writing an argument's name, and its name in the schema
    text: str  # the argument's name in the schema
    place: str
    longest: int  # characters of the text
    # The space that the words would be sent to now, given the context and what the arguments name, if they name one.
    # None: they would not be sent.
    find_space: Callable[[ToolContext, str | None], Awaitable[str | None]]

    def find_target(self, args: Mapping[str, Any], active: str | None) -> str | None:
        """The space that these arguments mean, whether or not anything can be said there."""
        named = next((args[name] for name in args if self.spellings.get(name) == self.place), None)
        wanted = named or active
        return ids.canonical_space(wanted) if isinstance(wanted, str) else None


def place_first(schema: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The schema for an agent that is in several spaces: it says where before it says what, so that people can watch
    the words grow where they will stand."""
    properties = dict(schema["properties"])
    properties.pop(place)
    wanted = {
        "description": "The id of the space it goes to, one that you are a member of. Write it first.",
        "type": "string",
    }
    required = [name for name in schema.get("required", ()) if name != place]
    return {**schema, "properties": {place: wanted, **properties}, "required": [place, *required]}


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    function: Callable[..., Awaitable[Any]]
    input_schema: dict[str, Any]
    # What the model wrote, as the function takes it; BadArguments if it does not fit the schema.
    parse: Callable[[Any], Mapping[str, Any]]
    effect: Effect = "once"
    act: Act | None = "acted"
    visible: bool = False
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    expires_ms: int | None = None  # for so long an answer is taken; None: as long as any
    # Arguments that name what the call changes (left out: the space it is in); such calls take turns.
    changes: tuple[str, ...] = ()
    # Which spaces a call touches besides the one the agent is in; policies for each of them count. Left out: the one
    # that its run was woken in. Gets the context, with a transaction to read in, and the arguments.
    touches: Callable[..., Awaitable[Iterable[str]]] | None = None
    # The right it takes, which the run must hold. None: it touches nothing that is anybody else's.
    grant: Grant | None = None
    # Values that it needs; a call does not begin before those that are required have one.
    variables: tuple[VariableDefinition, ...] = ()
    # Where values go, if the definition says so: the name of a variable, and the server that its value is sent to.
    sent_to: Mapping[str, str] = field(default_factory=dict)
    # It works with what the office keeps outside its database, and sends nothing anywhere.
    local: bool = False
    # For a `tx` tool that has to do something outside first, with the same arguments: see docs/internals/tools.md.
    prepare: Callable[..., Awaitable[Any]] | None = None
    # Whose answer it waits for, if the result comes from elsewhere; and whether the run waits too, or goes on.
    awaits: Literal["external", "space"] | None = None
    is_async: bool = False
    use: str = ""  # how it is called where an owner lists hosts; empty: tool:NAME
    policy: Decision | None = None  # what its definition says about using it; others may be stricter
    wary: bool = False  # what it does outlives the run: one that has read outside text asks first, if nobody says else
    # Arguments that hold what it keeps. A person's own words in them are theirs: see tools/own_words.py.
    keeps: tuple[str, ...] = ()
    # Of a tool that only reads elsewhere: which arguments leave, and what others wrote of them. See tools/quotes.py.
    carries: Carries = None
    proposes: bool = False  # when somebody has to be asked first, it keeps what it would do as a proposal, by itself
    hash: str = ""  # of what it does, if somebody has defined it: an approval of another one does not count
    executor: Executor = STATELESS
    words: Words | None = None  # it says something in a space
    spec: ToolSpec = field(init=False)  # made once: every question to a model shows it
    spec_in_several: ToolSpec = field(init=False)  # the same, for an agent that is in several spaces

    def __post_init__(self) -> None:
        if self.effect == "tx" and self.executor is not STATELESS:
            raise Broken(f"{self.name} only touches our database (effect `tx`), so it can hold nothing else.")
        spec = ToolSpec(self.name, self.description, self.input_schema)
        object.__setattr__(self, "spec", spec)
        if self.words is not None:
            spec = ToolSpec(self.name, self.description, place_first(self.input_schema, self.words.place))
        object.__setattr__(self, "spec_in_several", spec)

    @property
    def goes_out(self) -> bool:
        """Does a call send a request? People and programs that answer calls come for them, with rights of their own."""
        return self.effect != "tx" and self.awaits is None and not self.local

    @property
    def speaks(self) -> bool:
        """Do its arguments show in the space that it names?"""
        return self.act in ("spoke", "reacted")


@dataclass(frozen=True, slots=True)
class Asker:
    """A person whose own message woke a run, with no agent in between."""

    id: str
    name: str
    said: str


@dataclass(frozen=True, slots=True)
class RunView:
    """What a tool may know of the run it is called in. Identity is bound here, never taken from arguments."""

    id: str
    thread_id: str
    agent: Agent
    cause: Cause  # on whose behalf it works, and what it may do for them
    depth: int
    chain_id: str
    message_count: int = 0
    home: Room | None = None  # where it was woken
    asker: Asker | None = None  # the person whose own message woke it
    outside: tuple[str, ...] = ()  # where outside text came from that it has read so far
    seen_in: tuple[str, ...] = ()  # whose text of this office it was shown: spaces, and see tools/outward.py
    # How long an approval may take, if nobody is there who asked for anything.
    approval_ms: int | None = None
    begun: frozenset[str] = frozenset()  # tools that the runs have called which this one does once more
    attended: bool = False  # a person has asked for it just now, and can be asked back
    is_plan: bool = False  # a plan of the agent's own woke it
    message_id: str | None = None  # the message that woke it

    @property
    def grants(self) -> str:
        return self.cause.grants

    def are_own(self, texts: Iterable[str]) -> bool:
        """Do these say only what the person said who woke the run?"""
        if self.asker is None:
            return False
        names = [self.asker.name, self.agent.name, self.agent.id, "" if self.home is None else self.home.name]
        return own_words.are_own(texts, self.asker.said, names)

    @property
    def stays_in(self) -> str | None:
        """The only space that it may read, speak in and remember for; None: wherever its agent is a member."""
        return self.home.id if self.home is not None and self.home.stays else None

    @property
    def folder_id(self) -> str:
        """Whose files it has: a group's are for all that is done in it, whichever thread does it."""
        home = self.home
        return f"{GROUP_FOLDER}{home.id}" if home is not None and home.kind == "group" else self.thread_id


@dataclass(slots=True)
class Effects:
    """What a call did to its run, kept in the same transaction as the call's result."""

    message_id: str | None = None
    end_run: bool = False
    moved: bool = False  # the agent is in `space_id` now, or in no space
    space_id: str | None = None
    silence_reason: str | None = None
    outside: tuple[str, ...] = ()  # where the result came from, if that is outside the office
    seen_in: tuple[str, ...] = ()  # whose text of this office it shows
    shows: str | None = None  # SHA-256 of a picture that belongs to the result, which says where it is
    wrote: Wrote | None = None  # what it put into the folder of the run


class HoldsExecutors(Protocol):
    """The office's executors that are open. tools/open_executors.py is the one that there is."""

    async def open(self, wanted: Executor, seconds: float) -> Executor: ...

    async def call(self, executor: Executor, tool: Tool, context: ToolContext, args: Mapping[str, Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What the office lends to its tools, besides the transaction."""

    vault: Vault
    egress: Callable[[], Egress]  # made when somebody first asks: it takes a while to import
    blobs: Blobs
    thumbnails: Thumbnails
    reader: Reader
    pool: ProcessPool
    folders: Folders
    posting: PostingRules
    tasks: Rules
    check_model: Callable[[str | None, Any], None]  # raises Invalid, if no agent could think with it
    skills_per_space: int
    passages_per_scope: int
    executors: HoldsExecutors
    supermemory: Supermemory
    meaning: Looking | None  # None: search is by words alone


@dataclass(slots=True)
class ToolContext:
    """Handed to a tool's function. A `tx` tool changes the world through `tx`, and through nothing else."""

    transaction: Transaction | None  # only a `tx` tool runs inside one
    run: RunView
    call_id: str
    space_id: str | None
    means: Means
    outside: Outside
    prepared: Any = None  # what the tool's `prepare` came to
    proposes: Proposes | None = None  # somebody has to be asked first: for a tool that can keep a proposal
    judged: tuple[str, ...] | None = None  # the spaces that policies were read for; None: none have been yet
    store: Store | None = None  # for `look`
    executor: Executor = STATELESS  # the one that is open for the call
    effects: Effects = field(default_factory=Effects)

    def variable(self, name: str) -> str | None:
        """The value of a variable that the tool declares, a secret's too: for tools that are Python code themselves.

        Do not return it, print it or keep it. It is masked where it shows up, but better not to need that.
        """
        value = self.outside.values.get(name)
        return None if value is None else self.means.vault.text(value)

    def sources_of(self, *kept: str) -> tuple[str, ...]:
        """Where words that the tool keeps come from, if that is outside the office: all that its run was shown.

        None, if they are the words of the person who asked for it.
        """
        return () if self.run.are_own(kept) else self.run.outside

    def check_judged(self, space_id: str) -> None:
        """A tool acts only where policies were asked. If this raises, its `touches` forgets a space."""
        if self.judged is not None and space_id not in self.judged:
            raise Broken(f"A call acts in {space_id!r}, for which no policy was read.")

    @property
    def tx(self) -> Transaction:
        if self.transaction is None:
            raise Broken("Only a tool whose effect is `tx` may use the transaction.")
        return self.transaction

    async def look(self, work: Callable[[ToolContext], Awaitable[T]]) -> T:
        """Read rows outside the transaction of the call: `work` gets a context with one of its own, to read in."""
        assert self.store is not None
        return await self.store.read(lambda tx: work(replace(self, transaction=tx)))

    @property
    def agent(self) -> Agent:
        return self.run.agent


@dataclass(frozen=True, slots=True)
class Streamed:
    """A call whose `tool.started` was told while the model wrote it, and who saw what of it."""

    told_in: str | None = None  # the space whose people were told; None: only owners
    words_in: str | None = None  # the space in which its words were shown


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the journal holds it: `arguments` is what the model wrote."""

    id: str
    tool: str
    arguments: str
    started: bool = False
    streamed: Streamed | None = None

    @property
    def told(self) -> bool:
        """Its `tool.started` is committed."""
        return self.started or self.streamed is not None

    @property
    def shown(self) -> Any:
        """The arguments as people see them: parsed if they are JSON, else the text."""
        try:
            return orjson.loads(self.arguments)
        except orjson.JSONDecodeError:
            return self.arguments


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call whose result comes later, as its row holds it. Who caused it travels along: rights only shrink."""

    call_id: str
    kind: PendingKind
    status: PendingStatus
    agent_id: str
    run_id: str
    thread_id: str
    space_id: str | None
    tool_name: str
    args: Any
    cause: Cause
    depth: int
    chain_id: str
    created_at: str
    result: Any = None
    answered_by: str | None = None
    delivered_via: Literal["inline", "inbox"] | None = None
    visible: bool = False
    deadline_at: int | None = None
    expires_at: int | None = None
    progress: Progress | None = None  # what whoever carries it out has said last
    # Of approvals: see storage/tables.py.
    tool_hash: str | None = None
    hash: str | None = None
    asks: int = 0
    execution: Execution | None = None
    outside: tuple[str, ...] = ()  # what its run had read when it asked
    spaces: tuple[str, ...] = ()  # which spaces the call touches, if it has to be approved
    reason: AskReason | None = None  # why it has to be approved, if no policy says so
    # What it had no value of, each as it goes over the wire; and who approved it before that was found out.
    needs: list[dict[str, Any]] | None = None
    allowed: dict[str, Any] | None = None

    @property
    def is_held(self) -> bool:
        """Nothing of it is carried out before people let it: by approving it, or by giving values that it needs."""
        return self.kind in ("approval", "variables")

    @property
    def is_let_go(self) -> bool:
        """People have let it go on."""
        given = self.kind == "variables" or (self.kind == "approval" and bool((self.result or {}).get("approved")))
        return self.status == "resolved" and given

    @property
    def asked_unseen(self) -> bool:
        """It asks for an approval without a card, since the card itself would tell people too much."""
        return self.reason == "outward" and not self.visible

    @property
    def arguments(self) -> str:
        """Exactly what is carried out once it is approved."""
        return orjson.dumps(self.args).decode()

    @property
    def shown(self) -> PendingCall:
        """As it goes over the wire."""
        return PendingCall(
            call_id=self.call_id,
            kind=self.kind,
            agent_id=self.agent_id,
            run_id=self.run_id,
            space_id=self.space_id,
            tool_name=self.tool_name,
            args={"variables": self.needs} if self.kind == "variables" else self.args,
            status=self.status,
            result=self.result,
            answered_by=self.answered_by,
            delivered_via=self.delivered_via,
            created_at=self.created_at,
            expires_at=None if self.expires_at is None else Clock.at(self.expires_at),
            progress=self.progress,
            hash=self.hash if self.kind == "approval" else None,
            metadata=self._metadata,
        )

    @property
    def _metadata(self) -> dict[str, Any]:
        about = {"outside": list(self.outside)} if self.outside else {}
        if self.kind == "variables":
            shown = {"args": self.args} if self.visible else {}
            return about | {"personId": self.cause.id} | shown
        if self.kind != "approval":
            return about
        reason = {} if self.reason is None else {"reason": self.reason}
        return about | ({"spaces": list(self.spaces)} if self.spaces else {}) | reason


@dataclass(frozen=True, slots=True)
class Done:
    result: Any
    act: Act | None


@dataclass(frozen=True, slots=True)
class Failed:
    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)  # what a program may want to know besides


@dataclass(frozen=True, slots=True)
class Denied:
    message: str


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """The process died while an effect outside our database was under way; it may or may not have happened."""

    message: str


Outcome: TypeAlias = Done | Failed | Denied | OutcomeUnknown


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call: the bare value for the journal, and its rendering for the model."""

    call: ToolCall
    outcome: Outcome
    args: Any
    effects: Effects
    approval: Waiting | None = None  # somebody had to approve the call first, and did
    waits: bool = False  # this is what its run is told for now; the call itself goes on waiting

    @property
    def is_error(self) -> bool:
        return not isinstance(self.outcome, Done)

    @property
    def value(self) -> Any:
        match self.outcome:
            case Done(result=result):
                return result
            case OutcomeUnknown(message=message):
                return {"error": message, "outcome": "unknown"}
            case Failed(message=message, detail=detail):
                return {"error": message, **detail}
            case Denied(message=message):
                return {"error": message}


def rendered(value: Any) -> list[dict[str, str]]:
    """A result as the model reads it."""
    return [{"type": "text", "text": orjson.dumps(value).decode()}]


def content(result: ToolResult) -> dict[str, Any]:
    """The form that model APIs take as a tool's result."""
    return {"content": rendered(result.value)}


class Stopped(Exception):
    """Somebody wants the run to end, and so the call that is under way."""


class Journal(Protocol):
    """Where calls and results are kept. Each method runs inside the transaction it is given.

    `shown_in` is the space whose people see the call; None: nobody but owners and the agent itself does.
    """

    async def check(self, tx: Transaction) -> None:
        """Raise Fenced unless this driver still holds the thread. First in every commit, which so takes back a mark."""

    async def mark(self, tx: Transaction, call: ToolCall) -> None:
        """What comes next for this call could kill the process. The next `check` takes the mark away."""

    async def started(self, tx: Transaction, call: ToolCall, args: Any, shown_in: str | None) -> None:
        """It begins, or somebody is asked to approve or to answer it. Followers are told, unless they have been."""

    async def settled(self, tx: Transaction, result: ToolResult, shown_in: str | None) -> None: ...

    async def park(self, tx: Transaction) -> None:
        """The run waits: nobody drives its thread until somebody lets it go on."""

    def read_calls(self, names: Collection[str]) -> list[ReadCall]:
        """The calls of these tools in this run that have got what they asked for, in their order."""

    def stoppable(self) -> AbstractContextManager[None]:
        """While this lasts, nothing of ours is being written: whoever wants the run to end ends it with Stopped."""
