"""The database: there, current, whole, on time; its owner, its queue and its audit log.

Opened for reading, beside a running server. The first thing that fails makes the rest pointless, so it ends there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import func, select

from bullpen.access import rows as access_rows
from bullpen.audit import actions as audit
from bullpen.audit.types import Break
from bullpen.budgets import rows as budget_rows
from bullpen.clock import Clock
from bullpen.doctor import machine, upgraded
from bullpen.doctor.types import Finding, ok, problem, warning
from bullpen.engine.backlog import count_stuck, select_backlog, select_stalled
from bullpen.errors import BullpenError, CannotStart, Unavailable
from bullpen.files import checking
from bullpen.files.blobs import DiskBlobs
from bullpen.llm.prices import load as load_prices
from bullpen.meaning import rows as meaning_rows
from bullpen.memory import copy_rows
from bullpen.mind import rows as plan_rows
from bullpen.observe import names as kept_names
from bullpen.outbox import rows as outbox_rows
from bullpen.runs import mending
from bullpen.settings import Settings
from bullpen.storage import Statement, Store, Transaction, lost, migrations
from bullpen.storage.statements import now_millis
from bullpen.storage.tables import audit as audit_rows
from bullpen.storage.tables import events, messages, runs, spaces, threads
from bullpen.tasks import rows as task_rows
from bullpen.toolbox import FAMILIES
from bullpen.tools import rows as tool_rows
from bullpen.tools.json_schema import find_excess
from bullpen.tools.naming import reserved_names
from bullpen.variables import actions as variables
from bullpen.variables import keys
from bullpen.variables import rows as variable_rows
from bullpen.variables.types import Stored
from bullpen.webhooks import actions as webhooks
from bullpen.wire import names

CONNECT_SECONDS = 10.0
OLDEST_POSTGRES = 14
LARGE_LOG_BYTES = 256 << 20
SKEW_SECONDS, LARGE_SKEW_SECONDS = 1.0, 30.0
LATE_SECONDS = 60.0
SHOWN = 10  # of many that are alike
TOOLS_AT_ONCE = 100
ROWS_AT_ONCE = 1000
STILL_SECONDS = 3600.0  # an upload's row comes after its bytes

_NOW = Statement(select(now_millis()))
_MISCOUNTED = Statement(
    select(func.count()).where(
        spaces.c.last_seq
        != select(func.coalesce(func.max(messages.c.seq), 0))
        .where(messages.c.space_id == spaces.c.id)
        .scalar_subquery()
    )
)
_NEWEST = [
    Statement(select(messages.c.created_at).order_by(messages.c.id.desc()).limit(1)),
    Statement(select(runs.c.started_at).order_by(runs.c.id.desc()).limit(1)),
    Statement(select(audit_rows.c.at).order_by(audit_rows.c.number.desc()).limit(1)),
    Statement(select(events.c.at).order_by(events.c.xid.desc(), events.c.id.desc()).limit(1)),
]
_ASLEEP = Statement(
    select(func.count())
    .select_from(runs.join(threads, threads.c.id == runs.c.thread_id))
    .where(runs.c.finished_at.is_(None), threads.c.state == "idle")
)


@dataclass(frozen=True, slots=True)
class Patient:
    settings: Settings
    store: Store
    running: bool  # does a server run on it?


async def examine(settings: Settings, store: Store, *, running: bool) -> AsyncIterator[Finding]:
    """`store` is not open yet: whether it opens is the first question."""
    reason = None if settings.on_postgres else lost.why_lost(settings.sqlite_path, settings.keys_path, settings.blobs)
    if reason is not None:
        yield problem("database", reason, lost.ADVICE)
        return
    if not settings.on_postgres and not settings.sqlite_path.exists():
        yield missing(settings.sqlite_path)
        return
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await store.open()
    except (CannotStart, TimeoutError) as error:
        said = str(error) or f"It has not answered in {CONNECT_SECONDS:.0f} s."
        yield problem("database", said, "Start the database, or correct DATABASE_URL; then ask again.")
        return
    expected: tuple[type[Exception], ...] = (BullpenError, TimeoutError, *store.driver_errors)
    try:
        async for finding in _questions(Patient(settings, store, running)):
            yield finding
    except expected as error:
        yield problem("database", f"It stopped answering: {error}", "Look at the database's own log; then ask again.")
    finally:
        await store.close()


def missing(path: Path) -> Finding:
    if reason := machine.why_not_made(path.parent):
        return problem("database", f"{path} cannot be made in {reason}.", machine.NAME_ANOTHER)
    return warning("database", f"There is no database at {path} yet.", "`bullpen serve` makes it.")


async def _questions(patient: Patient) -> AsyncIterator[Finding]:
    yield await version(patient)
    found = await schema(patient)
    yield found
    if found.level == "problem":
        return
    for question in QUESTIONS:
        for finding in await question(patient):
            yield finding


async def version(patient: Patient) -> Finding:
    number = await patient.store.version()
    shown = ".".join(map(str, number))
    if not patient.store.shared:
        return ok("database", f"SQLite {shown}, {patient.store.location}.")
    if number[0] < OLDEST_POSTGRES:
        return problem("database", f"PostgreSQL {shown} is too old.", f"Upgrade it to {OLDEST_POSTGRES} or newer.")
    return ok("database", f"PostgreSQL {shown}, {patient.store.location}.")


async def schema(patient: Patient) -> Finding:
    try:
        applied = await patient.store.read(migrations.applied)
    except Unavailable as error:
        advice = "Stop the server and restore a backup: `bullpen restore FILE --force`."
        return problem("schema", f"The database is damaged: {error.message}", advice)
    except BullpenError:
        return problem("schema", "This is no database of Bullpen.", "Give Bullpen a database of its own.")
    known = {migration.number for migration in migrations.known()}
    if newer := applied - known:
        return problem(
            "schema",
            f"The database is from a newer Bullpen (schema {max(newer)}).",
            "Install that one, or restore a backup.",
        )
    if missing := known - applied:
        return problem(
            "schema", f"The schema lacks {len(missing)} changes.", "`bullpen migrate`, or start the server: both do it."
        )
    return ok("schema", f"Schema {max(known)} is current.")


async def whole(patient: Patient) -> list[Finding]:
    faults = await patient.store.faults()
    if faults:
        shown = "; ".join(faults[:3])
        return [problem("integrity", f"The database is damaged: {shown}.", "Stop the server and restore a backup.")]

    async def count(tx: Transaction) -> tuple[int, int]:
        return await tx.value(_MISCOUNTED), await tx.value(_ASLEEP)

    miscounted, asleep = await patient.store.read(count)
    if miscounted or asleep:
        said = f"{miscounted} spaces are miscounted, {asleep} runs belong to threads that sleep."
        return [problem("integrity", said, "This should never be: keep a copy of the database and report it.")]
    size = await patient.store.size()
    return [ok("integrity", f"The database is whole ({size / (1 << 20):.1f} MB).")]


async def vectors(patient: Patient) -> list[Finding]:
    """How far the search by meaning is behind."""

    async def body(tx: Transaction) -> tuple[str | None, bool, int, int]:
        wanted = await meaning_rows.select_wanted(tx)
        complete = wanted is None or await meaning_rows.is_complete(tx, wanted)
        waiting = sum((await meaning_rows.count_waiting(tx)).values())
        return wanted, complete, waiting, await meaning_rows.count_given_up(tx)

    wanted, complete, waiting, given_up = await patient.store.read(body)
    if wanted is None:
        return []
    found = []
    if given_up:
        said = f"{given_up} texts have no vector, since {wanted} refuses them. They are found by their words alone."
        found.append(warning("meaning", said, "Look for `gets no vector` in the server's log."))
    if waiting or not complete:
        many = f"{waiting:,} texts wait" if complete else "Not all texts have been looked at, and some wait"
        advice = (
            "It catches up while a server runs. If the number does not fall, look for `embedding waits` in its log."
        )
        return [*found, warning("meaning", f"{many} for vectors of {wanted}.", advice)]
    return [*found, ok("meaning", f"Every text has its vector of {wanted}.")]


async def readable(patient: Patient) -> list[Finding]:
    """Rows that decide what runs do, and that somebody has changed so that they cannot be read."""
    told: list[str] = []
    for checked in mending.CHECKED:
        after: str | None = ""
        while after is not None:
            look = partial(mending.find, checked=checked, after=after, limit=ROWS_AT_ONCE)
            found, after = await patient.store.read(look)
            told += found
    ended = await patient.store.read(lambda tx: mending.select_broken(tx, SHOWN))
    advice = "Ask who can write to the database. A run that needs such a row ends; a backup has the rows as they were."
    if told:
        more = f" And {len(told) - SHOWN} more." if len(told) > SHOWN else ""
        return [problem("rows", " ".join(told[:SHOWN]) + more, advice)]
    if ended:
        return [warning("rows", f"Ended because their rows had been changed: {', '.join(ended)}.", advice)]
    return [ok("rows", "Everything that runs go on from can be read.")]


async def log_of_writes(patient: Patient) -> list[Finding]:
    if patient.store.shared:
        return []
    path = patient.settings.sqlite_path
    log = path.with_name(f"{path.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > LARGE_LOG_BYTES:
        shown = f"The write-ahead log has {size >> 20} MB."
        return [warning("wal", shown, "Something reads without end (a backup, the sqlite3 shell). End it.")]
    return [ok("wal", f"The write-ahead log has {size / (1 << 20):.1f} MB.")]


async def clock(patient: Patient) -> list[Finding]:
    began = time.time()
    now = await patient.store.read(lambda tx: tx.value(_NOW))
    middle = (began + time.time()) / 2
    skew = abs(now / 1000 - middle)
    shown = f"Our clock and the database's differ by {skew:.1f} s."
    if skew > LARGE_SKEW_SECONDS:
        return [problem("clock", shown, "Set both by NTP.")]
    if skew > SKEW_SECONDS:
        return [warning("clock", shown, "Set both by NTP.")]
    return [ok("clock", shown)]


async def dates(patient: Patient) -> list[Finding]:
    """Is the newest of what has happened in the past? If not, our clock is behind, or was ahead."""
    now = patient.store.clock.millis()
    ahead = max((Clock.read(at) - now for at in await patient.store.read(_newest_dates)), default=0) / 1000
    if ahead <= LARGE_SKEW_SECONDS:
        return [ok("dates", "Nothing is dated ahead of our clock.")]
    said = f"The newest rows are dated {ahead / 3600:.1f} hours ahead of our clock."
    advice = (
        "If our clock is wrong, set it by NTP. If it was ahead and is right now, there is nothing to do: the server "
        "computes the times of tasks again, and dates of what has happened stay."
    )
    return [warning("dates", said, advice)]


async def _newest_dates(tx: Transaction) -> list[str]:
    found = [await tx.value(statement) for statement in _NEWEST]
    return [str(at) for at in found if at is not None]


async def owner(patient: Patient) -> list[Finding]:
    if not await patient.store.read(lambda tx: access_rows.select_owners(tx, 1)):
        return [
            warning(
                "owner",
                "Nobody owns this office yet.",
                "Open the link that the server prints, or `bullpen token create --name NAME --owner`.",
            )
        ]
    return [ok("owner", "The office has an owner.")]


async def known_names(patient: Patient) -> list[Finding]:
    """Names from before they were checked: hidden characters in them, and names that look alike."""
    found = await patient.store.read(access_rows.select_names)
    hidden = [id for id, name in found if names.clean(name) != " ".join(name.split())]
    by_look: dict[str, list[tuple[str, str]]] = {}
    for id, name in found:
        by_look.setdefault(names.skeleton(name), []).append((id, name))
    alike = [same for same in by_look.values() if len({names.fold(name) for _, name in same}) > 1]
    advice = "Give them other names. Until then the page shows the id beside a name that looks like another."
    if hidden:
        return [warning("names", f"These names hold hidden characters: {', '.join(hidden[:5])}.", advice)]
    if alike:
        shown = "; ".join(" and ".join(id for id, _ in same) for same in alike[:5])
        return [warning("names", f"These names look alike: {shown}.", advice)]
    return [ok("names", "No name hides anything, and no two look alike.")]


async def queue(patient: Patient) -> list[Finding]:
    backlog = await patient.store.read(select_backlog)
    lease_millis = int(patient.settings.engine.lease_seconds * 2000)
    stuck = await patient.store.read(lambda tx: count_stuck(tx, lease_millis)) if patient.store.shared else 0
    shown = (
        f"{backlog.driven} threads are driven, {backlog.queued} wait; the oldest of {backlog.items} items has waited "
        f"{backlog.oldest_seconds:.0f} s."
    )
    if not patient.running and not patient.store.shared:
        return [ok("queue", shown + " A server that starts goes on with them.")]
    if stuck:
        return [problem("queue", f"{stuck} threads belong to workers that are silent.", "Start a server or a worker.")]
    stalled = await patient.store.read(lambda tx: select_stalled(tx, patient.settings.engine.lease_seconds))
    if stalled:
        shown = "; ".join(
            f"{run.run_id} of {run.agent_id} for {run.seconds:.0f} s, held by {run.owner or 'nobody'}"
            for run in stalled[:5]
        )
        advice = "Restart the process that holds them: they go on from their last commit. Then report it."
        return [problem("queue", f"{len(stalled)} runs should be moving and stand still: {shown}.", advice)]
    if backlog.oldest_seconds > LATE_SECONDS:
        return [warning("queue", shown, "Start more workers, or look at what the agents wait for: `bullpen runs`.")]
    return [ok("queue", shown)]


async def scheduled(patient: Patient) -> list[Finding]:
    """Tasks and plans that the office has paused by itself, and whether what is due is fired."""
    found = [await patient.store.read(select) for select in (task_rows.select_next, plan_rows.select_next)]
    next_at = min((at for at in found if at is not None), default=None)
    late = 0.0 if next_at is None else (patient.store.clock.millis() - next_at) / 1000
    troubled = await patient.store.read(lambda tx: task_rows.select_troubled(tx, 5))
    if patient.running and late > LATE_SECONDS:
        said = f"A task or a plan was due {late:.0f} s ago, and nobody has fired it."
        return [problem("tasks", said, "Look at the server's log; it fires what is due with its sweep.")]
    if troubled:
        said = "; ".join(f"{id}: {reason}" for id, reason in troubled)
        return [warning("tasks", f"These tasks are paused. {said}", "Mend it, then `bullpen tasks resume ID`.")]
    if resting := await patient.store.read(lambda tx: plan_rows.select_troubled(tx, 5)):
        said = "; ".join(f"{id}: {reason}" for id, reason in resting)
        return [warning("tasks", f"These plans are paused. {said}", "Mend it; the agent or you can set them anew.")]
    return [ok("tasks", "No task is late, and none was paused by itself.")]


async def bridged(patient: Patient) -> list[Finding]:
    """What could not be sent to chats elsewhere, and what waits for too long."""
    return [await _bridge(patient, id) for id in await patient.store.read(outbox_rows.select_bridges)]


async def _bridge(patient: Patient, id: str) -> Finding:
    waiting = await patient.store.read(partial(outbox_rows.select_queue, bridge=id))
    now = patient.store.clock.millis()
    late = 0.0 if waiting.oldest_at is None else (now - Clock.read(waiting.oldest_at)) / 1000
    shown = f"The bridge {id} has {waiting.unsent} entries to send and {waiting.dead} that are dead."
    if waiting.dead:
        return warning("bridges", shown, f"`bullpen bridges dead {id}` says why; then `retry` or `drop` each.")
    if waiting.unsent and late > LATE_SECONDS:
        said = f"{shown} The oldest has waited {late:.0f} s. {waiting.error or ''}".rstrip()
        return warning("bridges", said, "`bullpen bridges` says how the bridge is.")
    return ok("bridges", shown)


async def supermemory(patient: Patient) -> list[Finding]:
    """Notes that Supermemory was to have and has not."""
    backlog = await patient.store.read(copy_rows.count_backlog)
    if not backlog.due and not backlog.refused:
        return []
    said = f"Supermemory is still to be told of {backlog.due} notes, and has refused {backlog.refused}."
    said = f"{said} {backlog.error or ''}".rstrip()
    if backlog.error is None:
        return [ok("memory", said)]
    return [warning("memory", said, "All are kept here. Check SUPERMEMORY_API_KEY, and that it can be reached.")]


async def prices(patient: Patient) -> list[Finding]:
    """Models that answered lately and that nobody has priced: what they cost is in no sum and no budget."""
    try:
        ours = load_prices(patient.settings.data)
    except CannotStart as error:
        return [problem("prices", str(error), "Correct it: a server does not start with it.")]
    used = await patient.store.read(lambda tx: budget_rows.select_usage(tx, "model", budget_rows.today(tx)[:8] + "01"))
    missing = [row["id"] for row in used if row["unpriced"] and ours.find(row["id"]) is None]
    if not missing:
        return [ok("prices", "All models that were asked this month have a price.")]
    said = f"These models have no price, so budgets do not count them: {', '.join(missing[:5])}."
    where = patient.settings.data / "prices.yaml"
    return [
        warning("prices", said, f"Write what they cost into {where}: `NAME: {{in: 1, out: 4}}`, dollars a million.")
    ]


async def tool_schemas(patient: Patient) -> list[Finding]:
    """Tools of an earlier version, which let schemas in that this one refuses."""
    dear: list[str] = []
    count, after = 0, ""
    while page := await patient.store.read(partial(tool_rows.select_page, after=after, limit=TOOLS_AT_ONCE)):
        dear += [tool.name for tool in page if find_excess(tool.input_schema) is not None]
        count, after = count + len(page), page[-1].name
    if not dear:
        return [ok("tools", f"The arguments of all {count} defined tools can be checked.")]
    said = f"Checking arguments of these tools may take too much time or memory: {', '.join(dear[:5])}."
    advice = "Give them a simpler inputSchema. Until then each check runs in a process of its own, and may fail."
    return [warning("tools", said, advice)]


async def audit_log(patient: Patient) -> list[Finding]:
    found = await audit.verify(patient.store)
    if isinstance(found, Break):
        said = f"The audit log is broken at row {found.number}: {found.reason}."
        return [problem("audit", said, "Compare with a backup, and ask who can write to the database.")]
    return [ok("audit", f"The audit log holds: {found} rows.")]


async def secrets(patient: Patient) -> list[Finding]:
    """Can everything that is sealed be opened? Each secret is tried; none is shown."""
    path = patient.settings.keys_path
    used = await patient.store.read(variable_rows.count_keys)
    try:
        ring = keys.load(path)
    except CannotStart as error:
        return [problem("secrets", error.message, "Correct it; the server does not start like this.")]
    if missing := [key_id for key_id in used if ring is None or key_id not in ring.keys]:
        advice = (
            "Put back the key file. If it is lost for good: `bullpen keys abandon --yes`, and set the secrets again."
        )
        return [problem("secrets", keys.missing_key(path, missing[0]), advice)]
    if ring is None:
        return [ok("secrets", f"There are no secrets yet; the first makes a key in {path}.")]
    if unopened := await patient.store.read(lambda tx: _unopened(tx, ring)):
        said = f"{len(unopened)} secrets cannot be opened: {', '.join(unopened[:5])}."
        return [problem("secrets", said, "Somebody has changed their rows. Set them again, and read the audit log.")]
    kept_names.keep(reserved_names(FAMILIES))
    if refused := await patient.store.read(lambda tx: variables.refused(tx, ring)):
        return [_refused(stored, why) for stored, why in refused[:SHOWN]]
    return [ok("secrets", f"{sum(used.values())} secrets can be opened with the keys in {path}. Keep a copy of it.")]


def _refused(stored: Stored, why: str) -> Finding:
    said = f"The secret {stored.name} of {stored.scope} is from an older version, and could not be set now. {why}"
    return warning("secrets", said, "It still works, but it is not masked as others are. Set another value.")


async def _unopened(tx: Transaction, ring: keys.KeyRing) -> list[str]:
    return [*await variables.unopened(tx, ring), *(f"webhook {id}" for id in await webhooks.unopened(tx, ring))]


async def stored_files(patient: Patient) -> list[Finding]:
    """Does every file have its bytes, and all bytes a file? Only on our own disk: elsewhere asking would take long."""
    if patient.settings.s3.bucket:
        return []
    blobs = DiskBlobs(patient.settings.blobs)
    lost, count = await checking.missing(patient.store, blobs)
    if lost:
        said = f"{len(lost)} of {count} files have no bytes in {patient.settings.blobs}, among them {lost[0]}."
        return [
            problem("attachments", said, "Copy the `files` folder from a backup; `bullpen restore` of a .tar does.")
        ]
    found = await checking.orphans(patient.store, blobs, idle=STILL_SECONDS)
    if not found.ids:
        return [ok("attachments", f"All {count} files have their bytes.")]
    said = f"{len(found.ids)} files in {patient.settings.blobs} belong to nobody, among them {found.ids[0]}."
    if found.doubtful:
        advice = "Is this the right database? If so, delete them: the server does not dare."
        return [warning("attachments", said, advice)]
    return [ok("attachments", said + " The server removes them within two hours.")]


QUESTIONS: Sequence[Callable[[Patient], Awaitable[list[Finding]]]] = (
    whole,
    readable,
    log_of_writes,
    clock,
    dates,
    owner,
    known_names,
    queue,
    scheduled,
    bridged,
    supermemory,
    prices,
    tool_schemas,
    *upgraded.QUESTIONS,
    audit_log,
    secrets,
    stored_files,
    vectors,
)
