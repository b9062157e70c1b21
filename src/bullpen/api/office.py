"""What the API asks of the whole office, as types. `app.py:Office` is one.

Routes get an `Office` without its store. They get the store on its own, as one request may use it (`timely.py`): so no
route can change something for a client that has given up. `OpenOffice` is for what stands around the routes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from starlette.types import ASGIApp, Receive, Scope, Send

from bullpen.access.attempts import Attempts
from bullpen.access.claim import Claim
from bullpen.access.passwords import Passwords
from bullpen.access.types import Principal
from bullpen.apart.pool import ProcessPool
from bullpen.api.limits import Limits
from bullpen.engine.worker import Worker
from bullpen.events.feed import Feed
from bullpen.files.thumbnails import Thumbnails
from bullpen.files.types import Blobs
from bullpen.llm.models import Models
from bullpen.llm.offers import Offers
from bullpen.meaning.looking import Looking
from bullpen.outbox.types import Health
from bullpen.runs.loop import World
from bullpen.settings import Settings
from bullpen.spaces.types import PostingRules
from bullpen.storage import Store
from bullpen.tasks.actions import Rules as TaskRules
from bullpen.tools.open_executors import OpenExecutors
from bullpen.tools.registry import Registry
from bullpen.upkeep.sweep import Sweeper
from bullpen.variables.actions import Vault
from bullpen.webhooks.sender import Sender

Around: TypeAlias = Callable[[ASGIApp, Scope, Receive, Send], Awaitable[None]]


class RunningBridges(Protocol):
    """The bridges of this process, which stand beside the API."""

    async def health(self) -> Mapping[str, Health]:
        """What each says of itself, by its name."""

    def hint(self) -> None:
        """Something may have to be sent."""


class Office(Protocol):
    settings: Settings
    url: str  # where people reach it
    host: str | None  # the agent that says hello to a new owner

    blobs: Blobs
    engine: Worker
    executors: OpenExecutors
    feed: Feed
    meaning: Looking | None  # None: search is by words alone
    models: Models
    offers: Offers
    pool: ProcessPool
    posting: PostingRules
    registry: Registry
    sweeper: Sweeper
    task_rules: TaskRules
    thumbnails: Thumbnails
    vault: Vault
    webhooks: Sender
    world: World

    claim: Claim
    guesses: Attempts
    known_tokens: set[str]
    limits: Limits
    passwords: Passwords
    sign_ins: Attempts
    sign_ins_of_one: Attempts

    @property
    def bridges(self) -> RunningBridges: ...

    async def local_owner(self) -> Principal:
        """Who holds the machine. An office that has no owner yet gets one."""

    def forget_local_owner(self) -> None:
        """They have another name now, or somebody else is the first owner."""

    async def finish_erasures(self) -> None:
        """Do the rest of what was begun; it may take a while."""


class OpenOffice(Office, Protocol):
    @property
    def edge(self) -> Around: ...

    @property
    def store(self) -> Store: ...


def office_of(app: Any) -> OpenOffice:
    """The office that this application serves."""
    office: OpenOffice = app.state.office
    return office
