"""The composition root: settings in, a running server out. The only file that knows all the others.

An `Office` is everything one process needs, opened and closed in order. `serve` puts a socket in front of it, `worker`
only drives threads, and tests and local commands use it without either.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import os
import resource
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import uvicorn

from bullpen import ids
from bullpen.access import actions as access
from bullpen.access import rules as access_rules
from bullpen.access.attempts import Attempts
from bullpen.access.claim import Claim
from bullpen.access.passwords import Passwords
from bullpen.access.types import Principal
from bullpen.agents.files import Project, read_project
from bullpen.apart.pool import ProcessPool
from bullpen.api.connection import Connection, hang_up_on_the_slow
from bullpen.api.door import LOCAL
from bullpen.api.edge import Edge, is_loopback
from bullpen.api.limits import Limits
from bullpen.api.server import build
from bullpen.bridges.running import Bridges
from bullpen.bridges.types import Bridge
from bullpen.ending import Ending
from bullpen.engine.embedded import EmbeddedEngine
from bullpen.engine.leases import Holdings
from bullpen.engine.worker import Callbacks, Worker
from bullpen.errors import CannotStart
from bullpen.events import rows as event_rows
from bullpen.events.feed import Feed
from bullpen.events.signals import LocalSignals, Signals
from bullpen.files import actions as files
from bullpen.files import sources
from bullpen.files.blobs import DiskBlobs
from bullpen.files.folders import Folders
from bullpen.files.reading import Reader
from bullpen.files.thumbnails import Thumbnails
from bullpen.files.types import Blobs
from bullpen.inbox import actions as inbox
from bullpen.llm import prices
from bullpen.llm.embedding import Embedder
from bullpen.llm.models import Models
from bullpen.llm.offers import Offer, Offers
from bullpen.llm.types import Model, Reach
from bullpen.meaning import rows as meaning_rows
from bullpen.meaning.background import Background
from bullpen.meaning.looking import Looking
from bullpen.memory import supermemory
from bullpen.memory.sender import CopySender
from bullpen.memory.supermemory import Supermemory
from bullpen.mind import firing as plan_firing
from bullpen.observe import logs, names, process
from bullpen.observe.redact import REDACTOR
from bullpen.operations import people, projects, variables
from bullpen.runs import holds, loop
from bullpen.settings import Settings
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import PostingRules
from bullpen.storage import Store, Transaction, lost, migrations
from bullpen.storage.sqlite import SqliteStore
from bullpen.tasks import firing
from bullpen.tasks.actions import Rules as TaskRules
from bullpen.threads import actions as threads
from bullpen.threads import rows as thread_rows
from bullpen.toolbox import FAMILIES, LESSONS
from bullpen.tools.naming import reserved_names
from bullpen.tools.open_executors import OpenExecutors
from bullpen.tools.registry import Registry, listed_by
from bullpen.tools.teaching import Teaching
from bullpen.tools.types import GROUP_FOLDER, Means, Tool
from bullpen.upkeep import erasure, expiry, retention
from bullpen.upkeep import rows as upkeep_rows
from bullpen.upkeep.clock import ClockWatch
from bullpen.upkeep.secret_watch import SecretWatch
from bullpen.upkeep.sweep import Sweeper
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys
from bullpen.web import pages
from bullpen.webhooks.sender import Sender
from bullpen.wire import Agent
from bullpen.wire.nouns import SkillStatus
from bullpen.wire.requests import ApplyProject

if TYPE_CHECKING:
    from bullpen.net.client import Egress

logger = logging.getLogger("bullpen")

SHUTDOWN_SECONDS = 5
OPEN_FILES = 65_536
HOSTS = {"office": "mira"}  # who says hello in a demo

Families: TypeAlias = Mapping[str, Sequence[Tool]]


def open_store(settings: Settings, *, to_restore: bool = False) -> Store:
    """`to_restore`: a database that was lost is about to be replaced."""
    if settings.on_postgres:
        from bullpen.storage.postgres import PostgresStore

        return PostgresStore(settings.database_url, answer_seconds=settings.database_seconds)
    path = settings.sqlite_path
    make_folder(path.parent)
    if not to_restore and (reason := lost.why_lost(path, settings.keys_path, settings.blobs)):
        raise CannotStart(f"{reason} {lost.ADVICE}")
    return SqliteStore(path)


def make_folder(folder: Path) -> None:
    """A folder for us alone, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CannotStart(
            f"Cannot make the folder {folder}: {error.strerror}. Name another with --data or BULLPEN_DATA."
        ) from error


def open_blobs(settings: Settings, egress: Callable[[], Egress]) -> Blobs:
    """Where the bytes of files are kept."""
    if not settings.s3.bucket:
        return DiskBlobs(settings.blobs)
    from bullpen.files.s3 import S3Blobs

    return S3Blobs(settings.s3, egress, settings.blobs)


def open_egress(settings: Settings) -> Egress:
    """The way out, with what the settings list. Imported here: it takes as long as the rest of a start."""
    from bullpen.net.allowance import Allowance
    from bullpen.net.client import Egress

    allowance = Allowance.from_text(settings.egress.listed)
    if settings.s3.bucket:
        from bullpen.files import s3

        allowance.add(s3.USE, s3.url_of(settings.s3))
    for url in base_urls(settings).values():
        allowance.add("model", url)
    if settings.supermemory_base_url:
        allowance.add(supermemory.USE, settings.supermemory_base_url)
    if settings.embeddings.provider == "openai":
        from bullpen.llm import openai_embeddings

        allowance.add(openai_embeddings.USE, embeddings_url(settings))
    return Egress(allowance)


def base_urls(settings: Settings) -> dict[str, str]:
    """Where the operator has models of a provider asked, by the provider's name."""
    openai = settings.openai_base_url
    named = {"anthropic": settings.anthropic_base_url, "openai": openai, "openai-chat": openai}
    return {provider: url for provider, url in named.items() if url}


def open_models(settings: Settings, egress: Callable[[], Egress], vault: Vault) -> Models:
    """All providers there are. What belongs to one is imported when an agent names it."""
    models = Models(settings.data / "scripts")
    reach = Reach(egress, vault, base_urls(settings))

    def elsewhere(spec: dict[str, Any]) -> Model:
        from bullpen.llm.elsewhere import build

        return build(spec, reach)

    for provider in ("anthropic", "openai", "openai-chat"):
        models.add(provider, elsewhere)

    def others(spec: dict[str, Any]) -> Model:
        from bullpen.llm.others import build

        return build(spec, reach)

    models.add("providers", others)
    return models


def open_embedder(settings: Settings, store: Store, egress: Callable[[], Egress], vault: Vault) -> Embedder | None:
    """What turns texts into vectors, if anything does. What belongs to one is imported when it is chosen."""
    from bullpen.llm import minilm

    chosen = settings.embeddings
    if chosen.provider == "minilm" or (not chosen.provider and minilm.is_installed(chosen.weights)):
        return minilm.MiniLm(chosen.weights)
    if chosen.provider != "openai":
        return None
    from bullpen.llm import openai_embeddings

    if not minilm.has_numpy():
        raise CannotStart("Search by meaning needs the extra: install `bullpen[embeddings]`.")
    return openai_embeddings.OpenAiEmbedder(
        embeddings_url(settings),
        chosen.model or openai_embeddings.MODEL,
        egress,
        vault,
        partial(vault.find_shared, store, chosen.key),
        chosen.key,
        chosen.dimensions,
    )


def embeddings_url(settings: Settings) -> str:
    """Where vectors are asked for: where the settings say, or where models of OpenAI are asked."""
    from bullpen.llm import openai_embeddings

    return settings.embeddings.url or settings.openai_base_url or openai_embeddings.BASE


async def ask_what_is_offered(model: Model) -> Sequence[Offer]:
    """The models that a server lists. Imported here, like what asks them."""
    from bullpen.llm.offered import ask

    return await ask(model)


@contextlib.asynccontextmanager
async def blobs_of(settings: Settings) -> AsyncIterator[Blobs]:
    """Where the bytes of files are, for commands that open no office."""
    made: list[Egress] = []

    def egress() -> Egress:
        if not made:
            made.append(open_egress(settings))
        return made[0]

    try:
        yield open_blobs(settings, egress)
    finally:
        for each in made:
            await each.aclose()


class Office:
    def __init__(
        self,
        settings: Settings,
        store: Store,
        families: Families = FAMILIES,
        egress: Egress | None = None,
        bridges: Sequence[Bridge] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.signals = self._signals()
        self.feed = Feed(store, self.signals, spaces.readable, access.look_up_again)
        self.registry = Registry(families)
        names.keep(reserved_names(families))
        self.vault = Vault(Keys(settings.keys_path), settings.variables)
        self._egress = egress
        self.posting = PostingRules.from_settings(settings)
        self.task_rules = TaskRules(settings.tasks, settings.timezone, self._tools_of)
        self.webhooks = Sender(store, self.vault, self.egress, lambda: self.url)
        url = settings.supermemory_base_url or supermemory.URL
        self.supermemory = Supermemory(self.egress, self.vault, settings.memory.engine, url)
        self.copies = CopySender(store, self.supermemory)
        self.bridges = Bridges(store, self.posting, self.owner, bridges, settings.public_url)
        self.feed.listen(self.bridges.hint)
        self.blobs = open_blobs(settings, self.egress)
        self.folders = Folders(settings.data / "folders", settings.folders)
        self.pool = ProcessPool()
        self.thumbnails = Thumbnails(self.blobs, self.pool)
        self.sweeper = Sweeper(store, self.blobs, settings.files)
        store.listen_after(files.DROPPED, self.sweeper.hurry)
        self.executors = OpenExecutors(store, self.owner, settings.engine.lease_seconds)
        self.models = open_models(settings, self.egress, self.vault)
        self.offers = Offers(ask_what_is_offered)
        self.embedder = embedder or open_embedder(settings, store, self.egress, self.vault)
        self.meaning: Looking | None = None
        self.embedding: Background | None = None
        if self.embedder is not None:
            self.meaning = Looking(store, self.embedder, settings.embeddings.cache_bytes)
            self.embedding = Background(store, self.embedder, self.owner)
            self.feed.listen(self.embedding.hurry)
        holdings = Holdings()
        self.world = loop.World(
            store,
            self.feed,
            self.models,
            self.registry,
            self._means(),
            settings,
            self.owner,
            teaching=Teaching(self.registry, LESSONS),
            holdings=holdings,
            prices=prices.load(settings.data),
            say=spaces.announce,
        )
        self.engine = self._engine(holdings)
        self.signals.on_cancel = self.world.interrupt
        store.listen_after(inbox.INTERRUPTED, self.signals.cancel)
        self.secret_watch = SecretWatch(store, self.vault, self.signals)
        self.limits = Limits(settings.limits, uploads_at_once=settings.files.uploads_at_once)
        self.edge = Edge(settings, self.limits, pages.build_id())
        self.passwords = Passwords()
        self.clock_watch = ClockWatch(store, self.posting.group_wait_ms)
        self.sign_ins = Attempts(store.clock, allowed=5, seconds=60)
        self.sign_ins_of_one = Attempts(store.clock, allowed=50, seconds=3600)
        self.guesses = Attempts(store.clock, allowed=max(1, settings.limits.guesses_per_minute), seconds=60)
        self.known_tokens: set[str] = set()
        self.url = settings.public_url or f"http://{settings.host}:{settings.port}"
        self.claim = Claim(store.clock, self._print_claim)
        self.upkeep = retention.Rounds(store, self._keep_up)
        self.api = build(self, pages.router)
        self._local_owner: Principal | None = None
        self.host: str | None = None  # the agent that says hello to a new owner

    def _signals(self) -> Signals:
        if not self.store.shared:
            return LocalSignals()
        from bullpen.events.signals import PostgresSignals

        return PostgresSignals(self.store, self.owner)

    def _engine(self, holdings: Holdings) -> Worker:
        callbacks = Callbacks(
            drive=partial(loop.drive, self.world),
            give_up=partial(loop.give_up, self.world),
            break_off=partial(loop.break_off, self.world),
            wake=threads.wake,
            go_on=threads.go_on_waiting,
            hurry=self.world.stop,
            tidy=self.tidy,
            look=partial(loop.look_for_cancelled, self.world),
        )
        if not self.store.shared:
            return EmbeddedEngine(self.store, self.settings.engine, self.owner, holdings, callbacks)
        from bullpen.engine.pgqueuer import PgQueuerEngine

        return PgQueuerEngine(self.store, self.settings.engine, self.owner, holdings, callbacks)

    def _tools_of(self, agent: Agent) -> frozenset[str]:
        return self.registry.names_of(listed_by(agent))

    def _means(self) -> Means:
        return Means(
            vault=self.vault,
            egress=self.egress,
            blobs=self.blobs,
            thumbnails=self.thumbnails,
            reader=Reader(self.pool),
            pool=self.pool,
            folders=self.folders,
            posting=self.posting,
            tasks=self.task_rules,
            check_model=self.models.check_choice,
            skills_per_space=self.settings.skills.per_space,
            passages_per_scope=self.settings.memory.passages_per_scope,
            executors=self.executors,
            supermemory=self.supermemory,
            meaning=self.meaning,
        )

    async def tidy(self) -> None:
        """With every sweep of the engine: follow a clock that was put back, fire what is due, end what nobody has
        answered, let go on what a budget held back, and tell those who are away."""
        if await self.clock_watch.look():
            self.engine.sweep_at(0)
        await self.fire_tasks()
        await expiry.expire_due(self.store)
        await holds.lapse(self.store)
        await self.webhooks.look()
        await self.copies.look()
        await self.bridges.look()
        if self.embedding is not None:
            await self.embedding.look()

    async def start_embedding(self) -> None:
        """Give vectors to what has none, or, without a model for it, see that nothing waits for one."""
        if self.embedding is not None:
            self.embedding.start()
        elif await self.store.read(meaning_rows.select_wanted) is not None:
            await self.store.transact(meaning_rows.want_nothing)

    async def stop_embedding(self) -> None:
        if self.embedding is not None:
            await self.embedding.stop()
        if self.embedder is not None:
            await self.embedder.aclose()

    async def fire_tasks(self) -> None:
        """Count what became of tasks and plans that were fired, fire those that are due, and be there when the next
        one is."""
        await firing.count_ended(self.store, self.settings.tasks.failures, plan_firing.count_ended)
        for fire_due in (firing.fire_due, plan_firing.fire_due):
            if (next_at := await fire_due(self.store, self.settings.limits.chain_depth)) is not None:
                self.engine.sweep_at(next_at)

    async def _keep_up(self) -> None:
        """Follow a clock that was put back, finish what an earlier process began to erase, then forget what is old."""
        if await self.clock_watch.look_at_events():
            self.engine.sweep_at(0)
        await erasure.finish_all(self.store, self.signals.cancel)
        if forgotten := await retention.forget(self.store, self.settings.retention):
            logger.info("forgot what is old: %s", forgotten)
        if swept := await self.sweeper.round():
            logger.info("removed files that nobody needs: %s", swept)
        await self.sweep_folders()

    async def finish_erasures(self) -> None:
        """Whatever was begun: afterwards it is gone, bytes and folders too."""
        await erasure.finish_all(self.store, self.signals.cancel)
        await self.sweeper.clear_dropped()
        await self.sweep_folders()

    async def sweep_folders(self) -> None:
        """Remove what tools left behind in folders of threads that are gone."""
        if gone := await self.folders.sweep(self._living):
            logger.info("removed %d folders of threads that are gone, or files half written", gone)
        after = ""
        while known := await self.store.read(partial(sources.select_folders, after=after)):
            after, living = known[-1], await self._living(known)
            if lost := [id for id in known if id not in living]:
                await self.store.transact(partial(sources.forget, folder_ids=lost))

    async def _living(self, folder_ids: Sequence[str]) -> set[str]:
        """A folder is a thread's, or a group's."""

        async def body(tx: Transaction) -> set[str]:
            groups = {f"{GROUP_FOLDER}{id}" for id in await space_rows.select_groups(tx)}
            return await thread_rows.select_living(tx, folder_ids) | groups.intersection(folder_ids)

        return await self.store.read(body)

    def egress(self) -> Egress:
        """The one way out, made when it is first needed."""
        if self._egress is None:
            self._egress = open_egress(self.settings)
        return self._egress

    async def close_egress(self) -> None:
        if self._egress is not None:
            await self._egress.aclose()

    # ── what the API asks of the whole ──────────────────────────────────────────────────────────────────

    def _print_claim(self, code: str) -> None:
        print(f"Nobody owns this office yet. Claim it: {self.url}/#claim={code}", flush=True)

    def forget_local_owner(self) -> None:
        """They have another name now, or somebody else is the first owner."""
        self._local_owner = None

    async def local_owner(self, name: str | None = None) -> Principal:
        """Whoever may open the data folder is the owner; an office that has none yet gets one now."""
        if self._local_owner is None:
            self._local_owner = await self.store.transact(lambda tx: people.ensure_owner(tx, name or _user_name()))
        return self._local_owner

    async def local_api(self, scope: Any, receive: Any, send: Any) -> None:
        """The API for a caller who holds the machine: the socket in the data folder, or this very process."""
        await self.api({**scope, LOCAL: True}, receive, send)

    async def load_demo(self, name: str) -> None:
        # We ship its skills: nobody has to look at them first.
        await self.load(read_project(demo_path(name), model=self.settings.model or None), skills="active")
        self.host = HOSTS.get(name)

    async def load(self, project: Project, *, skills: SkillStatus) -> None:
        """Hold what a project's files say. `skills` that it brings are this from now on: active, or proposed."""
        request = ApplyProject(
            agents=project.agents,
            spaces=project.spaces,
            tools=project.tools,
            variables=project.variables,
            skills=[skill.model_copy(update={"status": skills}) for skill in project.skills],
        )
        system = access_rules.SYSTEM
        await projects.check(self.store, system, self.models, self.registry, request)

        async def body(tx: Transaction) -> None:
            most = self.settings.skills.per_space
            await projects.apply(tx, system, request, self.vault, self.registry, skills_per_space=most)
            await people.join_owner(tx)

        async with self.vault.setting(self.store, variables.list_secrets(request.variables)):
            await self.store.transact(body)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "owner"


def demo_path(name: str) -> Path:
    homes = [Path(__file__).parent / "examples", Path(__file__).parents[2] / "examples"]
    for home in homes:
        if name.isidentifier() and (home / name).is_dir():
            return home / name
    known = sorted({p.name for home in homes if home.is_dir() for p in home.iterdir() if p.is_dir()})
    raise CannotStart(f"There is no demo named {name!r}. There are: {', '.join(known)}.")


@contextlib.asynccontextmanager
async def office(
    settings: Settings,
    *,
    drive: bool = True,
    store: Store | None = None,
    families: Families = FAMILIES,
    egress: Egress | None = None,
    bridges: Sequence[Bridge] = (),
    embedder: Embedder | None = None,
) -> AsyncIterator[Office]:
    """An open office: schema up to date, followers served and, with `drive`, agents at work.

    Tests bring a `store` that they watch, tools of their own, a way out that leads nowhere but to their servers, and
    a model for vectors that takes no time.
    """
    store = store or open_store(settings)
    await store.open()
    try:
        await migrations.migrate(store, settings.backups)
        opened = Office(settings, store, families, egress, bridges, embedder)
        await opened.vault.check(store)
        await opened.bridges.connect()
        await opened.signals.start()
        await opened.feed.start(await store.transact(event_rows.ensure_incarnation))
        for newest in await store.read(upkeep_rows.select_newest_ids):
            ids.rise_above(newest)
        if drive:
            await opened.engine.start()
            opened.webhooks.start()
            opened.copies.start()
            opened.bridges.start()
            opened.upkeep.start()
            await opened.start_embedding()
        lag = asyncio.create_task(process.watch())
        try:
            yield opened
        finally:
            lag.cancel()
            await opened.stop_embedding()
            await opened.upkeep.stop()
            await opened.sweeper.stop()
            await opened.engine.stop()
            await opened.executors.close()
            await opened.webhooks.stop()
            await opened.copies.stop()
            await opened.bridges.stop()
            await opened.feed.stop()
            await opened.signals.stop()
            await opened.secret_watch.stop()
            await opened.pool.close()
            await opened.close_egress()
    finally:
        await store.close()


async def migrate(settings: Settings) -> list[str]:
    """Bring the schema up to date, and nothing else; the names of what was applied."""
    store = open_store(settings)
    await store.open()
    try:
        applied = await migrations.migrate(store, settings.backups)
    finally:
        await store.close()
    return [f"{migration.number:04}_{migration.name}" for migration in applied]


# ── serving ─────────────────────────────────────────────────────────────────────────────────────────────


class Server(uvicorn.Server):
    """uvicorn, which says when it is ready, and ends streams before it waits for connections to end."""

    def __init__(self, config: uvicorn.Config, opened: Office, url: str, ending: Ending) -> None:
        super().__init__(config)
        self._ending = ending
        self._office = opened
        self._office.url = opened.settings.public_url or url
        self._url = url
        self._command = os.path.relpath(sys.argv[0])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours to handle to the end: uvicorn would raise the signal again before the office is closed."""
        self._ending.on_asked = self._stop
        if self._ending.asked.is_set():
            self._stop()
        yield

    def _stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Bullpen is ready on {self._url}", flush=True)
        if not await self._office.store.read(access.is_claimed):
            self._office.claim.announce()
        if sys.stdout.isatty():
            print(f'  say something   {self._command} send general "Hello, everyone"')
            print(f"  watch           {self._command} follow", flush=True)

    async def main_loop(self) -> None:
        """A look each second, and at once when it is to end. Ten a second are most of what an office at rest costs."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._ending.asked.wait()

    async def on_tick(self, counter: int) -> bool:
        limits = self._office.settings.limits
        now = asyncio.get_running_loop().time()
        hang_up_on_the_slow(self.server_state.connections, now, limits.head_seconds, limits.body_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more, end the streams, and let go of threads while what was asked before is answered."""
        await self._office.feed.stop()
        await asyncio.gather(self._office.engine.stop(), super().shutdown(sockets))


async def serve(settings: Settings, *, demo: str | None = None, project: Project | None = None) -> None:
    """Server and worker in one process, until SIGTERM or SIGINT."""
    _log(settings)
    _allow_many_connections()
    with Ending() as ending:
        await _serve(settings, demo, project, ending)


async def _serve(settings: Settings, demo: str | None, project: Project | None, ending: Ending) -> None:
    async with office(settings) as opened:
        await _refuse_strangers(opened)
        if demo is not None:
            await opened.load_demo(demo)
        if project is not None:
            await opened.load(project, skills="proposed")
        listening = _listen(settings)
        local = _listen_locally(settings.socket_path)
        host, port = listening.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        door = partial(_door, opened, str(settings.socket_path))
        config = uvicorn.Config(
            door,
            log_config=None,
            access_log=False,
            http=Connection,
            interface="asgi3",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        try:
            await Server(config, opened, url, ending).serve(sockets=[listening, *([local] if local else [])])
        finally:
            if local is not None:
                settings.socket_path.unlink(missing_ok=True)


async def _door(opened: Office, socket_path: str, scope: Any, receive: Any, send: Any) -> None:
    """Which door a request came through is a fact of its connection, never of anything it says."""
    came_in = scope.get("server")
    if came_in is not None and came_in[1] is None and came_in[0] == socket_path:
        await opened.local_api(scope, receive, send)
    else:
        await opened.api(scope, receive, send)


async def _refuse_strangers(opened: Office) -> None:
    """Before anybody owns the office, whoever comes first could: then only this machine may come."""
    settings = opened.settings
    if is_loopback(settings.host):
        return
    if not await opened.store.read(access.is_claimed):
        raise CannotStart(
            f"Nobody owns this office yet, so it does not listen on {settings.host}, where others could claim it. "
            "Claim it first: start it without --host and open the link that it prints, or run `bullpen token create "
            "--name NAME --owner`."
        )
    if not settings.public_url and not settings.trusted_proxies:
        logger.warning(
            "listening on %s without encryption: set BULLPEN_PUBLIC_URL and BULLPEN_TRUSTED_PROXIES behind a proxy "
            "that speaks TLS (docs/guide/behind-a-proxy.md)",
            settings.host,
        )


def _allow_many_connections() -> None:
    """Each is an open file, and the usual bound of 1024 is what a thousand idle clients come to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise CannotStart(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. "
            "Is another server running there? Choose another with --port."
        ) from error
    listening.listen(1024)
    return listening


def _listen_locally(path: Path) -> socket.socket | None:
    """The local door: a socket that only this user can open. None when another live server has it already."""
    make_folder(path.parent)
    if path.parent.stat().st_uid != os.getuid():
        raise CannotStart(f"{path.parent} belongs to another user, who could listen in. Choose another --data folder.")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
        else:
            logger.warning("another server uses %s; this one has no local door", path)
            listening.close()
            return None
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    listening.listen(128)
    return listening


async def worker(settings: Settings) -> None:
    """One more process that drives threads, until it is told to stop. Needs PostgreSQL."""
    if not settings.on_postgres:
        raise CannotStart(
            "`bullpen worker` needs PostgreSQL: set DATABASE_URL. On SQLite the server does all the work."
        )
    _log(settings)
    with Ending() as ending:
        async with office(settings):
            print("Bullpen worker is ready", flush=True)
            await ending.asked.wait()


def _log(settings: Settings) -> None:
    for secret in (settings.token, settings.metrics_token):
        REDACTOR.add(secret)
    logs.install(settings.log_level, settings.log_format)
