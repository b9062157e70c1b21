"""The SDK: a server's nouns as Python objects with verbs.

`Bullpen` is the door; everything hangs off it (`bp.spaces("general").send(…)`, `bp.runs.list(…)`). Each method is one
request, and gives the nouns of `bullpen.wire`. Fields are checked by the server, so that an older client can use what
a newer server offers. Following events is `follow.py`, how requests travel is `connection.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar
from uuid import uuid4

import httpx

from bullpen.client.connection import Connection, Page, path
from bullpen.client.follow import Follow
from bullpen.wire import Agent, Message, Run, RunMessage, Space, Token, Wire

_Noun = TypeVar("_Noun", bound=Wire)


class NewToken(Wire):
    """The answer to making a token. `token` is its value, shown this once."""

    id: str
    token: str


class Change(Wire):
    """What applying a project did to one agent or space."""

    id: str
    change: Literal["created", "updated", "unchanged"]


class Applied(Wire):
    agents: list[Change]
    spaces: list[Change]


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
        self.agents = Agents(self._connection)
        self.spaces = Spaces(self._connection)
        self.runs = Runs(self._connection)
        self.tokens = Tokens(self._connection)

    async def __aenter__(self) -> Bullpen:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._connection.aclose()

    def messages(self, id: str) -> MessageHandle:
        return MessageHandle(self._connection, id)

    def events(self, space: str | None = None, run: str | None = None, after: str | None = None) -> Follow:
        """What happens from now on, or after a cursor: for ever, each stored event once, in order."""
        return Follow(self._connection, query={"spaceId": space, "runId": run}, after=after)

    async def apply(self, *, agents: Iterable[Mapping[str, Any]], spaces: Iterable[Mapping[str, Any]]) -> Applied:
        """Make the server hold these agents and spaces. Doing it again changes nothing."""
        body = {"agents": list(agents), "spaces": list(spaces)}
        return Applied.model_validate(await self._connection.request("POST", path("apply"), body=body, repeatable=True))


class Agents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, **fields: Any) -> Agent:
        """A new agent, from the fields of `bullpen.wire.requests.CreateAgent`."""
        return Agent.model_validate(await self._connection.request("POST", path("agents"), body=fields))

    async def get(self, id: str) -> Agent:
        return Agent.model_validate(await self._connection.request("GET", path("agents", id)))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Agent]:
        found = await self._connection.request("GET", path("agents"), query={"limit": limit, "cursor": cursor})
        return _page(Agent, found)

    async def update(self, id: str, **fields: Any) -> Agent:
        """Change the named fields and no others. They are set, not added to, so repeating it is harmless."""
        found = await self._connection.request("PATCH", path("agents", id), body=fields, repeatable=True)
        return Agent.model_validate(found)

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("agents", id))


class Spaces:
    """`bp.spaces(id)` is one space; `bp.spaces.create` and `.list` are about all of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __call__(self, id: str) -> SpaceHandle:
        return SpaceHandle(self._connection, id)

    async def create(self, **fields: Any) -> Space:
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

    async def update(self, **fields: Any) -> Space:
        found = await self._connection.request("PATCH", path("spaces", self.id), body=fields, repeatable=True)
        return Space.model_validate(found)

    async def send(self, text: str, *, reply_to: str | None = None, client_message_id: str | None = None) -> Message:
        """Post a message. It is kept once, however often the connection is lost on the way.

        To keep that promise over a restart of your own program too, choose the `client_message_id` yourself.
        """
        body = {"text": text, "clientMessageId": client_message_id or uuid4().hex}
        if reply_to is not None:
            body["replyTo"] = reply_to
        found = await self._connection.request("POST", path("spaces", self.id, "messages"), body=body, repeatable=True)
        return Message.model_validate(found)

    async def messages(
        self, *, before: int | None = None, after: int | None = None, limit: int | None = None
    ) -> Page[Message]:
        """Messages in rising order: the newest, or those next to a seq."""
        query = {"before": before, "after": after, "limit": limit}
        found = await self._connection.request("GET", path("spaces", self.id, "messages"), query=query)
        return _page(Message, found)

    async def add_member(self, member_id: str) -> None:
        body = {"memberId": member_id}
        await self._connection.request("POST", path("spaces", self.id, "members"), body=body, repeatable=True)

    async def remove_member(self, member_id: str) -> None:
        await self._connection.request("DELETE", path("spaces", self.id, "members", member_id))

    async def mark_read(self, seq: int) -> None:
        await self._connection.request("POST", path("spaces", self.id, "read"), body={"seq": seq}, repeatable=True)


class MessageHandle:
    """One message, by its id."""

    def __init__(self, connection: Connection, id: str) -> None:
        self._connection = connection
        self.id = id

    async def get(self) -> Message:
        return Message.model_validate(await self._connection.request("GET", path("messages", self.id)))

    async def edit(self, text: str) -> Message:
        found = await self._connection.request("PATCH", path("messages", self.id), body={"text": text}, repeatable=True)
        return Message.model_validate(found)

    async def delete(self) -> None:
        await self._connection.request("DELETE", path("messages", self.id))

    async def react(self, emoji: str) -> None:
        body = {"emoji": emoji}
        await self._connection.request("POST", path("messages", self.id, "reactions"), body=body, repeatable=True)

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

    async def cancel(self, id: str) -> Run:
        return Run.model_validate(await self._connection.request("POST", path("runs", id, "cancel")))


class Tokens:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, name: str, **fields: Any) -> NewToken:
        """A new token for an agent (`agent_id`), a person (`person_id`) or some tools (`tools`)."""
        body = {"name": name, **fields}
        return NewToken.model_validate(await self._connection.request("POST", path("tokens"), body=body))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Token]:
        found = await self._connection.request("GET", path("tokens"), query={"limit": limit, "cursor": cursor})
        return _page(Token, found)

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("tokens", id))


def _page(kind: type[_Noun], found: Any) -> Page[_Noun]:
    return Page([kind.model_validate(item) for item in found["items"]], found.get("next"))
