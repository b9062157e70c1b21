"""Is it alive, is it ready, and how is it doing: for whatever watches the process.

`/healthz` asks nothing of the database, so that an outage there does not get this process restarted. `/readyz` says by
name what is missing, to anybody, and no more than the name. `/metrics` is for an owner's token or for the one that the
setting `metrics_token` names: where a request comes from gives no rights.
"""

from __future__ import annotations

import asyncio
import shutil
from secrets import compare_digest
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from bullpen.access import rows as access_rows
from bullpen.api.door import LOCAL, Office, Store, owner_of, principal_of
from bullpen.api.pages import answer
from bullpen.engine.backlog import select_backlog, select_stalled
from bullpen.meaning import rows as meaning_rows
from bullpen.observe import counts, process
from bullpen.observe.metrics import CONTENT_TYPE, Sample, exposition, sample
from bullpen.settings import Settings
from bullpen.storage import Transaction, migrations
from bullpen.wire.nouns import Alive, Readiness

router = APIRouter(tags=["health"])

PATIENCE_SECONDS = 2.0
LEAST_ROOM_BYTES = 1 << 20
OPEN: dict[str, Any] = {"security": []}  # in the description: needs no token


@router.get("/healthz", response_model=Alive, openapi_extra=OPEN)
async def alive() -> Response:
    """The process answers. Says nothing of the database."""
    return answer({"alive": True})


@router.get("/readyz", response_model=Readiness, responses={503: {"model": Readiness}}, openapi_extra=OPEN)
async def ready(request: Request, office: Office, store: Store) -> Response:
    """200 when requests can be served and agents are driven; else 503, with the names of what is missing."""
    failing = await missing(office, store)
    said: dict[str, Any] = {"ready": not failing, "failing": failing}
    # An executor that is not well does not keep the rest from working. What an office uses is not everybody's business.
    if request.scope.get(LOCAL) and (problems := await office.executors.find_problems()):
        said["unhealthy"] = problems
    return answer(said, 503 if failing else 200)


def _no_answer(store: Store) -> tuple[type[Exception], ...]:
    return (TimeoutError, *store.untimed.connection_errors)


async def missing(office: Office, store: Store) -> list[str]:
    failing = []
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            if not await store.read(migrations.is_current):
                failing.append("schema")
    except _no_answer(store):
        failing.append("database")
    if store.untimed.broken or store.untimed.full or await _lacks_room(office.settings):
        failing.append("disk")
    if not office.engine.running:
        failing.append("engine")
    return failing


async def _lacks_room(settings: Settings) -> bool:
    """Is a disk that we write to full? A small change may still fit into room that the database has taken before."""
    folders = {settings.data} if settings.on_postgres else {settings.data, settings.sqlite_path.parent}
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            free = await asyncio.to_thread(lambda: [shutil.disk_usage(each).free for each in folders if each.exists()])
    except (TimeoutError, OSError):
        return True
    return any(each < LEAST_ROOM_BYTES for each in free)


# ── metrics ─────────────────────────────────────────────────────────────────────────────────────────────


async def _may_scrape(request: Request, office: Office) -> None:
    allowed = office.settings.metrics_token
    given = request.headers.get("authorization", "").encode()
    if not allowed or not compare_digest(given, f"Bearer {allowed}".encode()):
        await owner_of(await principal_of(request))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}},
    dependencies=[Depends(_may_scrape)],
)
async def metrics(office: Office, store: Store) -> Response:
    """Figures of this process and of the queue, in the text format of Prometheus."""
    samples = [*_of_office(office, store), *await _of_database(office, store), *process.samples()]
    return Response(exposition([*counts.COUNTED, *samples]), media_type=CONTENT_TYPE)


def _of_office(office: Office, store: Store) -> list[Sample]:
    return [
        sample("bullpen_commits_total", "Durable commits of this process.", store.untimed.commits, "counter"),
        sample("bullpen_followers", "Open event streams of this process.", office.feed.follower_count),
        sample("bullpen_drives", "Threads that this process drives just now.", len(office.engine.driving)),
    ]


async def _of_meaning(tx: Transaction, size: int) -> list[Sample]:
    waiting = Sample("bullpen_embeddings_waiting", "Texts that have no vector yet, anywhere.", labels=("kind",))
    waiting.values = {(kind,): float(count) for kind, count in (await meaning_rows.count_waiting(tx)).items()}
    return [waiting, sample("bullpen_vectors_memory_bytes", "What vectors take of this process's memory.", size)]


async def _of_database(office: Office, store: Store) -> list[Sample]:
    """What has to be asked for. A database that does not answer is a figure, too."""

    async def body(tx: Transaction) -> list[Sample]:
        backlog = await select_backlog(tx)
        stalled = await select_stalled(tx, office.settings.engine.lease_seconds)
        sessions = await access_rows.count_sessions(tx)
        return [
            sample("bullpen_threads_queued", "Threads with work that nobody drives yet, anywhere.", backlog.queued),
            sample("bullpen_threads_driven", "Threads that somebody drives, anywhere.", backlog.driven),
            sample("bullpen_inbox_unclaimed", "Items that are due and that no run has taken.", backlog.items),
            sample("bullpen_inbox_oldest_seconds", "How long the oldest of them has waited.", backlog.oldest_seconds),
            sample("bullpen_runs_stalled", "Runs that should be moving and are not, anywhere.", len(stalled)),
            sample("bullpen_sessions", "People's sessions that are open.", sessions),
            *([] if office.meaning is None else await _of_meaning(tx, office.meaning.size)),
        ]

    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            samples = await store.read(body)
            samples.append(sample("bullpen_database_bytes", "Size of the database.", await store.untimed.size()))
    except _no_answer(store):
        return [sample("bullpen_database_up", "Whether the database answered.", 0)]
    return [sample("bullpen_database_up", "Whether the database answered.", 1), *samples]
