"""The SDK: a server's nouns as Python objects with verbs.

`Bullpen` is the door; everything hangs off it (`bp.spaces("general").send(…)`, `bp.runs.list(…)`). Each method is one
request, and gives the nouns of `bullpen.wire`. Fields are checked by the server, so that an older client can use what
a newer server offers. Following events is `follow.py`, how requests travel is `connection.py`, and carrying out the
calls of one's own tools is `serving.py`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast
from uuid import uuid4

import httpx
from pydantic import Field

from bullpen.client.blocking import Blocking
from bullpen.client.bridges import Bridges
from bullpen.client.budgets import Budgets, Usage
from bullpen.client.connection import Connection, Page, Unreachable, path
from bullpen.client.fields import (
    CreateAgentFields,
    CreateInviteFields,
    CreatePersonFields,
    CreateSpaceFields,
    CreateTokenFields,
    UpdateAgentFields,
    UpdatePersonFields,
    UpdateSpaceFields,
    VariableValueFields,
)
from bullpen.client.files import Files
from bullpen.client.follow import Follow
from bullpen.client.groups import Groups
from bullpen.client.hooks import Hooks, Webhooks
from bullpen.client.memory import Blocks, Passages
from bullpen.client.models import Models
from bullpen.client.policies import Policies
from bullpen.client.reply import Question, Reply
from bullpen.client.serving import HEARTBEAT_SECONDS, Serving
from bullpen.client.skills import Skills
from bullpen.client.tasks import Tasks
from bullpen.client.tools import AnyTool, Pending, Tools, definition_of, name_of
from bullpen.wire import Agent, Message, Run, RunMessage, Space, Token, Wire
from bullpen.wire.errors import Forbidden, NotFound
from bullpen.wire.nouns import (
    Acceptance,
    AuditCheck,
    AuditRow,
    Command,
    Erased,
    File,
    FoundMessage,
    InboxItem,
    InstructionsVersion,
    Invite,
    KeyUses,
    Me,
    NewInvite,
    OpenSession,
    Passage,
    Pause,
    Person,
    PinnedMessage,
    Preview,
    Prompt,
    Rotation,
    ScopeKind,
    SearchMode,
    SkillStatus,
    SpaceContents,
    StepRequest,
    Trace,
    Variable,
    Why,
    Woken,
)

if TYPE_CHECKING:
    from bullpen.client.sync import Bullpen as SyncBullpen

logger = logging.getLogger("bullpen.client")

Kind = Literal["space", "person", "agent"]
_COLLECTIONS: Mapping[Kind, str] = {"space": "spaces", "person": "people", "agent": "agents"}
ERASE_SECONDS = 3600.0

_Noun = TypeVar("_Noun", bound=Wire)


class NewToken(Wire):
    """The answer to making a token. `token` is its value, shown this once."""

    id: str
    token: str


class Change(Wire):
    """What applying a project did to one agent, space, tool or variable."""

    id: str
    change: Literal["created", "updated", "unchanged"]


class AppliedSkill(Change):
    """What became of a skill in one space. What is `proposed` waits for somebody's approval."""

    space_id: str
    status: SkillStatus


class Applied(Wire):
    agents: list[Change]
    spaces: list[Change]
    tools: list[Change] = Field(default_factory=list)
    variables: list[Change] = Field(default_factory=list)
    skills: list[AppliedSkill] = Field(default_factory=list)


class Bullpen:
    """A connection to a server, as whoever holds the token.

    `patience` is how many seconds a request that may safely be repeated is tried again while nobody answers.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        token: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        patience: float = 10.0,
    ) -> None:
        self._connection = Connection(url, token, transport=transport, patience=patience)
        self.tools = Tools(self._connection)
        self.pending = Pending(self._connection)
        self.agents = Agents(self._connection, self.tools)
        self.blocks = Blocks(self._connection)
        self.passages = Passages(self._connection)
        self.spaces = Spaces(self._connection)
        self.messages = Messages(self._connection)
        self.files = Files(self._connection)
        self.runs = Runs(self._connection)
        self.tokens = Tokens(self._connection)
        self.people = People(self._connection)
        self.sessions = Sessions(self._connection)
        self.invites = Invites(self._connection)
        self.audit = Audit(self._connection)
        self.variables = Variables(self._connection)
        self.policies = Policies(self._connection)
        self.budgets = Budgets(self._connection)
        self.usage = Usage(self._connection)
        self.models = Models(self._connection)
        self.tasks = Tasks(self._connection)
        self.groups = Groups(self._connection)
        self.bridges = Bridges(self._connection)
        self.skills = Skills(self._connection)
        self.hooks = Hooks(self._connection)
        self.webhooks = Webhooks(self._connection)
        self.keys = Keys(self._connection)

    @staticmethod
    def sync(url: str = "http://127.0.0.1:8420", token: str | None = None, *, patience: float = 10.0) -> SyncBullpen:
        """The same without `await`, for scripts and notebooks."""
        return cast("SyncBullpen", Blocking(Bullpen(url, token, patience=patience)))

    async def __aenter__(self) -> Bullpen:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def me(self) -> Me:
        """Who the server takes the token's holder for."""
        return Me.model_validate(await self._connection.request("GET", path("me")))

    async def search(
        self,
        text: str,
        *,
        space: str | None = None,
        author: str | None = None,
        type: str | None = None,
        before: str | None = None,
        after: str | None = None,
        mode: SearchMode | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[FoundMessage]:
        """Messages that hold all these words, newest first. A short page may have a `next`: then there may be more.

        With the mode `fused`, also those that mean something alike, the best first; `meaning`: those alone.
        """
        query = {"q": text, "spaceId": space, "authorId": author, "type": type, "before": before, "after": after}
        query["mode"] = mode
        found = await self._connection.request("GET", path("search"), query={**query, "limit": limit, "cursor": cursor})
        return _page(FoundMessage, found)

    def events(self, space: str | None = None, run: str | None = None, after: str | None = None) -> Follow:
        """What happens from now on, or after a cursor: for ever, each stored event once, in order."""
        return Follow(self._connection, query={"spaceId": space, "runId": run}, after=after)

    async def export(self, kind: Kind, id: str) -> AsyncIterator[dict[str, Any]]:
        """Everything kept of a space, a person or an agent: objects with a `type`, and the noun under that name."""
        response = await self._connection.open_stream(path(_COLLECTIONS[kind], id, "export"), query={}, headers={})
        try:
            said: dict[str, Any] = {}
            async for line in response.aiter_lines():
                said = json.loads(line)
                yield said
        except (httpx.TransportError, ValueError) as error:
            raise Unreachable("The export broke off. Try again.") from error
        finally:
            await response.aclose()
        if said.get("type") != "end":
            raise Unreachable("The export broke off. Try again.")

    async def erase(self, kind: Kind, id: str) -> Erased:
        """Forget a space, a person or an agent for good. Returns when it is done; repeating it goes on where it was."""
        method, rest = ("DELETE", []) if kind == "space" else ("POST", ["erase"])
        found = await self._connection.request(method, path(_COLLECTIONS[kind], id, *rest), seconds=ERASE_SECONDS)
        return Erased.model_validate(found)

    async def apply(
        self,
        *,
        agents: Iterable[Mapping[str, Any]] = (),
        spaces: Iterable[Mapping[str, Any]] = (),
        tools: Iterable[AnyTool | Mapping[str, Any]] = (),
        variables: Iterable[Mapping[str, Any]] = (),
        skills: Iterable[Mapping[str, Any]] = (),
    ) -> Applied:
        """Make the server hold these agents, spaces, tools, variables and skills. Doing it again changes nothing."""
        body = {
            "agents": [_with_tool_names(agent) for agent in agents],
            "spaces": list(spaces),
            "tools": [definition_of(tool) for tool in tools],
            "variables": list(variables),
        }
        if listed := list(skills):  # a server from before there were any would refuse the field
            body["skills"] = listed
        return Applied.model_validate(await self._connection.request("POST", path("apply"), body=body, repeatable=True))

    async def serve_tools(
        self, *functions: AnyTool, concurrency: int = 8, grace: float = 5.0, heartbeat: float = HEARTBEAT_SECONDS
    ) -> None:
        """Carry out the calls of these functions, made tools with `@tool`, until this is cancelled.

        They are defined first, if the token may do that. Calls made while nobody served them are found. At most
        `concurrency` run at once; when this ends, those under way have `grace` seconds, and stay open otherwise.
        The server hears every `heartbeat` seconds that a call is under way, and whenever a function says how far it is.
        """
        serving = Serving(self._connection, functions, concurrency=concurrency, grace=grace, heartbeat=heartbeat)
        for function in functions:
            try:
                await self.tools.define(function)
            except Forbidden:  # a token that answers calls and does nothing else: somebody else has defined them
                await self._warn_if_undefined(function)
        await serving.run()

    async def _warn_if_undefined(self, function: AnyTool) -> None:
        try:
            await self.tools.get(function.name)
        except NotFound:
            logger.warning(
                "no agent can call %s: nobody has defined that tool. Serve it once with a token that may manage "
                "agents, or define it with bp.tools.create",
                function.name,
            )
        except Forbidden:
            logger.warning("this token does not name %s, so its calls do not come here", function.name)


def _with_tool_names(agent: Mapping[str, Any]) -> Mapping[str, Any]:
    listed = agent.get("tools")
    return agent if listed is None else {**agent, "tools": [name_of(tool) for tool in listed]}


class Agents:
    def __init__(self, connection: Connection, tools: Tools) -> None:
        self._connection = connection
        self._tools = tools

    async def create(
        self, *, tools: Iterable[AnyTool | str] | None = None, **fields: Unpack[CreateAgentFields]
    ) -> Agent:
        """A new agent, from the fields of `bullpen.wire.requests.CreateAgent`.

        `tools` may hold functions made tools with `@tool`: they are defined first.
        """
        body = await self._with_names(fields, tools)
        return Agent.model_validate(await self._connection.request("POST", path("agents"), body=body))

    async def get(self, id: str) -> Agent:
        return Agent.model_validate(await self._connection.request("GET", path("agents", id)))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Agent]:
        found = await self._connection.request("GET", path("agents"), query={"limit": limit, "cursor": cursor})
        return _page(Agent, found)

    async def update(
        self, id: str, *, tools: Iterable[AnyTool | str] | None = None, **fields: Unpack[UpdateAgentFields]
    ) -> Agent:
        """Change the named fields and no others. They are set, not added to, so repeating it is harmless."""
        body = await self._with_names(fields, tools)
        found = await self._connection.request("PATCH", path("agents", id), body=body, repeatable=True)
        return Agent.model_validate(found)

    async def _with_names(self, fields: Mapping[str, Any], tools: Iterable[AnyTool | str] | None) -> Mapping[str, Any]:
        return fields if tools is None else {**fields, "tools": await self._tools.names(tools)}

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("agents", id))

    async def instructions(
        self, id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[InstructionsVersion]:
        """What its instructions were, newest first, and who changed them."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("agents", id, "instructions", "history"), query=query)
        return _page(InstructionsVersion, found)

    async def compare_instructions(self, id: str, old: int, new: int) -> str:
        """A unified diff of two versions."""
        query = {"from": old, "to": new, "limit": 1}
        found = await self._connection.request("GET", path("agents", id, "instructions", "history"), query=query)
        return str(found["diff"])

    async def prompt(self, id: str, *, space: str | None = None) -> Prompt:
        """What it would be shown if it were woken now, part by part with tokens. Nothing is started."""
        found = await self._connection.request("GET", path("agents", id, "prompt"), query={"spaceId": space})
        return Prompt.model_validate(found)

    async def pause(self, id: str) -> Agent:
        """No run of it begins or goes on until it is resumed. Nothing is lost."""
        found = await self._connection.request("POST", path("agents", id, "pause"), repeatable=True)
        return Agent.model_validate(found)

    async def resume(self, id: str) -> Agent:
        """Go on exactly where it was."""
        found = await self._connection.request("POST", path("agents", id, "resume"), repeatable=True)
        return Agent.model_validate(found)

    async def trigger(self, id: str, service_name: str, payload: Any = None) -> Woken:
        """Wake it because something happened elsewhere. It reads the payload as data, in no space."""
        body = {"serviceName": service_name, "payload": payload}
        return Woken.model_validate(await self._connection.request("POST", path("agents", id, "trigger"), body=body))

    async def inbox(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[InboxItem]:
        """What it has not yet looked at, newest first."""
        query = {"limit": limit, "cursor": cursor}
        return _page(InboxItem, await self._connection.request("GET", path("agents", id, "inbox"), query=query))

    async def pause_all(self) -> Pause:
        """All agents, those to come as well."""
        return Pause.model_validate(await self._connection.request("POST", path("agents", "pause"), repeatable=True))

    async def resume_all(self) -> Pause:
        """Those that were paused singly stay so."""
        return Pause.model_validate(await self._connection.request("POST", path("agents", "resume"), repeatable=True))


class Spaces:
    """`bp.spaces(id)` is one space; `bp.spaces.create` and `.list` are about all of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __call__(self, id: str) -> SpaceHandle:
        return SpaceHandle(self._connection, id)

    async def create(self, **fields: Unpack[CreateSpaceFields]) -> Space:
        """A new space, from the fields of `bullpen.wire.requests.CreateSpace`."""
        return Space.model_validate(await self._connection.request("POST", path("spaces"), body=fields))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Space]:
        found = await self._connection.request("GET", path("spaces"), query={"limit": limit, "cursor": cursor})
        return _page(Space, found)


class SpaceHandle:
    """One space, by its id; nothing is asked of the server until a verb is used."""

    def __init__(self, connection: Connection, id: str) -> None:
        self._connection = connection
        self.id = id

    async def get(self) -> Space:
        return Space.model_validate(await self._connection.request("GET", path("spaces", self.id)))

    async def search_passages(
        self,
        text: str | None = None,
        *,
        tags: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Passage]:
        """What the space remembers for its agents: the best matches first; without a text, the newest."""
        passages = Passages(self._connection)
        return await passages.search(None, text, space=self.id, tags=tags, limit=limit, cursor=cursor)

    async def store_passage(
        self, content: str, *, tags: Sequence[str] = (), metadata: Mapping[str, Any] | None = None
    ) -> Passage:
        """Have the space remember something, for all agents in it."""
        return await Passages(self._connection).store(None, content, space=self.id, tags=tags, metadata=metadata)

    async def update(self, **fields: Unpack[UpdateSpaceFields]) -> Space:
        found = await self._connection.request("PATCH", path("spaces", self.id), body=fields, repeatable=True)
        return Space.model_validate(found)

    async def send(
        self,
        text: str,
        *,
        attachments: Iterable[File | str] = (),
        reply_to: str | None = None,
        client_message_id: str | None = None,
    ) -> Message:
        """Post a message. It is kept once, however often the connection is lost on the way.

        To keep that promise over a restart of your own program too, choose the `client_message_id` yourself.
        `attachments` are files that `bp.files.upload` gave, or their ids; with some, the text may be empty.
        """
        body: dict[str, Any] = {"text": text, "clientMessageId": client_message_id or uuid4().hex}
        if shown := [file if isinstance(file, str) else file.id for file in attachments]:
            body["attachments"] = shown
        if reply_to is not None:
            body["replyTo"] = reply_to
        found = await self._connection.request("POST", path("spaces", self.id, "messages"), body=body, repeatable=True)
        return Message.model_validate(found)

    async def ask(
        self,
        text: str,
        *,
        timeout: float = 60.0,  # noqa: ASYNC109  the name is part of the contract
        attachments: Iterable[File | str] = (),
        reply_to: str | None = None,
    ) -> Reply:
        """Post a message and wait until the agents that it wakes are done, or one of them needs a person.

        `NoReply` if that takes longer than `timeout` seconds. The agents go on then, and what they say is posted.
        """
        async with Follow(self._connection, query={"spaceId": self.id}) as events:
            message = await self.send(text, attachments=attachments, reply_to=reply_to)
            return await Question(self._connection, message).wait(events, timeout)

    async def messages(
        self, *, before: int | None = None, after: int | None = None, limit: int | None = None
    ) -> Page[Message]:
        """Messages in rising order: the newest, or those next to a seq."""
        query = {"before": before, "after": after, "limit": limit}
        found = await self._connection.request("GET", path("spaces", self.id, "messages"), query=query)
        return _page(Message, found)

    async def preview(self, text: str, *, reply_to: str | None = None) -> list[str]:
        """Ids of the agents that this text would wake. Nothing is posted."""
        body = {"text": text} if reply_to is None else {"text": text, "replyTo": reply_to}
        found = await self._connection.request("POST", path("spaces", self.id, "preview"), body=body, repeatable=True)
        return Preview.model_validate(found).wakes

    async def commands(self) -> list[Command]:
        """What people can write here with a slash."""
        found = await self._connection.request("GET", path("spaces", self.id, "commands"))
        return [Command.model_validate(item) for item in found["items"]]

    async def add_member(self, member_id: str) -> None:
        body = {"memberId": member_id}
        await self._connection.request("POST", path("spaces", self.id, "members"), body=body, repeatable=True)

    async def remove_member(self, member_id: str) -> None:
        await self._connection.request("DELETE", path("spaces", self.id, "members", member_id))

    async def archive(self) -> Space:
        """Nobody writes there any more, runs under way are stopped, and tasks are paused."""
        return await self.update(archived=True)

    async def restore(self) -> Space:
        """People write there again. Tasks stay paused."""
        return await self.update(archived=False)

    async def contents(self) -> SpaceContents:
        """How much there is in it, and so what goes when it is erased."""
        return SpaceContents.model_validate(await self._connection.request("GET", path("spaces", self.id, "contents")))

    async def pins(self) -> list[PinnedMessage]:
        """Messages that members have pinned, the newest pin first."""
        found = await self._connection.request("GET", path("spaces", self.id, "pins"))
        return [PinnedMessage.model_validate(item) for item in found["items"]]

    async def typing(self) -> None:
        """Tell those who read the space that you are writing here. Say it again every few seconds."""
        await self._connection.request("POST", path("spaces", self.id, "typing"), repeatable=True)

    async def mark_read(self, seq: int) -> None:
        """Read up to a number. A lower one marks what follows it as unread again."""
        await self._connection.request("POST", path("spaces", self.id, "read"), body={"seq": seq}, repeatable=True)


class Messages:
    """`bp.messages(id)` is one message."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __call__(self, id: str) -> MessageHandle:
        return MessageHandle(self._connection, id)

    async def why(self, id: str, *, agent: str | None = None) -> Why:
        """Which agents the message woke and which not, and for what reason."""
        found = await self._connection.request("GET", path("messages", id, "why"), query={"agentId": agent})
        return Why.model_validate(found)


class MessageHandle:
    """One message, by its id."""

    def __init__(self, connection: Connection, id: str) -> None:
        self._connection = connection
        self.id = id

    async def get(self) -> Message:
        return Message.model_validate(await self._connection.request("GET", path("messages", self.id)))

    async def edit(self, text: str, *, seen: Message | None = None) -> Message:
        """Change what it says, unless it was edited after `seen`: then this is a Conflict.

        Without `seen` the message is read first, so that an edit that was given up on, and arrives late, changes
        nothing.
        """
        seen = await self.get() if seen is None else seen
        body = {"text": text, "editedAt": seen.edited_at}
        found = await self._connection.request("PATCH", path("messages", self.id), body=body, repeatable=True)
        return Message.model_validate(found)

    async def delete(self) -> None:
        await self._connection.request("DELETE", path("messages", self.id))

    async def react(self, emoji: str) -> None:
        body = {"emoji": emoji}
        await self._connection.request("POST", path("messages", self.id, "reactions"), body=body, repeatable=True)

    async def pin(self) -> PinnedMessage:
        """Keep it at hand for everybody in the space."""
        found = await self._connection.request("PUT", path("messages", self.id, "pin"), repeatable=True)
        return PinnedMessage.model_validate(found)

    async def unpin(self) -> None:
        await self._connection.request("DELETE", path("messages", self.id, "pin"))

    async def unreact(self, emoji: str) -> None:
        await self._connection.request("DELETE", path("messages", self.id, "reactions", emoji))


class Runs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self,
        *,
        agent: str | None = None,
        space: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Run]:
        query = {"agentId": agent, "spaceId": space, "status": status, "limit": limit, "cursor": cursor}
        return _page(Run, await self._connection.request("GET", path("runs"), query=query))

    async def get(self, id: str) -> Run:
        return Run.model_validate(await self._connection.request("GET", path("runs", id)))

    async def messages(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[RunMessage]:
        """The journal of a run, in rising order."""
        query = {"limit": limit, "cursor": cursor}
        return _page(RunMessage, await self._connection.request("GET", path("runs", id, "messages"), query=query))

    async def trace(self, id: str) -> Trace:
        """The run as a tree of spans: run, step, tool, with times, tokens and money."""
        return Trace.model_validate(await self._connection.request("GET", path("runs", id, "trace")))

    async def request(self, id: str, step: int, *, body: bool = False) -> StepRequest:
        """What the model was shown before the answer of this step, and what has changed since. `body`: also as sent."""
        query = {"body": "true" if body else None}
        found = await self._connection.request("GET", path("runs", id, "steps", str(step), "request"), query=query)
        return StepRequest.model_validate(found)

    async def submit_result(self, id: str, call_id: str, result: Any) -> Acceptance:
        """What came of a call of this run. The same result again is a duplicate; another one is a Conflict."""
        body = {"callId": call_id, "result": result}
        found = await self._connection.request("POST", path("runs", id, "tool-results"), body=body, repeatable=True)
        return Acceptance.model_validate(found)

    async def cancel(self, id: str) -> Run:
        return Run.model_validate(await self._connection.request("POST", path("runs", id, "cancel")))

    async def retry(self, id: str, *, client_retry_id: str | None = None) -> Run:
        """Have a finished run done once more. The new run says `retry_of`; it is `queued` until it begins.

        While a retry of it is to come or under way, this finds that one.
        """
        body = {"clientRetryId": client_retry_id or uuid4().hex}
        found = await self._connection.request("POST", path("runs", id, "retry"), body=body, repeatable=True)
        return Run.model_validate(found)


class Tokens:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, name: str, **fields: Unpack[CreateTokenFields]) -> NewToken:
        """A new token for an agent (`agent_id`), a person (`person_id`) or some tools (`tools`)."""
        body = {"name": name, **fields}
        return NewToken.model_validate(await self._connection.request("POST", path("tokens"), body=body))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Token]:
        found = await self._connection.request("GET", path("tokens"), query={"limit": limit, "cursor": cursor})
        return _page(Token, found)

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("tokens", id))


class People:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, id: str) -> Person:
        return Person.model_validate(await self._connection.request("GET", path("people", id)))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Person]:
        found = await self._connection.request("GET", path("people"), query={"limit": limit, "cursor": cursor})
        return _page(Person, found)

    async def create(self, name: str, **fields: Unpack[CreatePersonFields]) -> Person:
        """Somebody new: `role`, and a `password` if they are to sign in with one."""
        body = {"name": name, **fields}
        return Person.model_validate(await self._connection.request("POST", path("people"), body=body))

    async def update(self, id: str, **fields: Unpack[UpdatePersonFields]) -> Person:
        found = await self._connection.request("PATCH", path("people", id), body=fields, repeatable=True)
        return Person.model_validate(found)


class Sessions:
    """Where people are signed in with a browser: one's own, and for owners everybody's."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self, *, person: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[OpenSession]:
        query = {"personId": person, "limit": limit, "cursor": cursor}
        return _page(OpenSession, await self._connection.request("GET", path("sessions"), query=query))

    async def end(self, id: str) -> None:
        """Sign out there."""
        await self._connection.request("DELETE", path("sessions", id))


class Invites:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, **fields: Unpack[CreateInviteFields]) -> NewInvite:
        """A link for one person, once: `role`, for how many `hours`, and the spaces they join (`space_ids`)."""
        return NewInvite.model_validate(await self._connection.request("POST", path("invites"), body=fields))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Invite]:
        found = await self._connection.request("GET", path("invites"), query={"limit": limit, "cursor": cursor})
        return _page(Invite, found)

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("invites", id))


class Variables:
    """Values that tools ask for by name. A scope is `kind` and, but for the workspace, `id`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self,
        *,
        kind: ScopeKind | None = None,
        id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Variable]:
        """Names, types and scopes; the values of those that are no secrets."""
        query = {"kind": kind, "id": id, "limit": limit, "cursor": cursor}
        return _page(Variable, await self._connection.request("GET", path("variables"), query=query))

    async def set(
        self,
        name: str,
        value: str,
        *,
        kind: ScopeKind = "workspace",
        id: str | None = None,
        **fields: Unpack[VariableValueFields],
    ) -> Variable:
        """Give the name a value there; `type="secret"` for one that nobody is to read again."""
        scope = {"kind": kind} if id is None else {"kind": kind, "id": id}
        body = {"value": value, "scope": scope, **fields}
        found = await self._connection.request("PUT", path("variables", name), body=body, repeatable=True)
        return Variable.model_validate(found)

    async def delete(self, name: str, *, kind: ScopeKind = "workspace", id: str | None = None) -> None:
        await self._connection.request("DELETE", path("variables", name), query={"kind": kind, "id": id})


class Keys:
    """What secrets are sealed with. For owners."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self) -> KeyUses:
        return KeyUses.model_validate(await self._connection.request("GET", path("keys")))

    async def rotate(self) -> Rotation:
        """Seal every secret with a new key. Repeating it after a crash finishes what was begun."""
        found = await self._connection.request("POST", path("keys", "rotate"), seconds=ERASE_SECONDS)
        return Rotation.model_validate(found)


class Audit:
    """Who did what that somebody may have to account for. For owners."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self,
        *,
        action: str | None = None,
        actor: str | None = None,
        object: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[AuditRow]:
        """Newest first."""
        query = {"action": action, "actorId": actor, "objectId": object, "limit": limit, "cursor": cursor}
        return _page(AuditRow, await self._connection.request("GET", path("audit"), query=query))

    async def check(self) -> AuditCheck:
        """Walk the whole log: does every row follow from the one before?"""
        return AuditCheck.model_validate(await self._connection.request("GET", path("audit", "check")))


def _page(kind: type[_Noun], found: Any) -> Page[_Noun]:
    return Page([kind.model_validate(item) for item in found["items"]], found.get("next"))
