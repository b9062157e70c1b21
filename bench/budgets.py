"""What we aim for. The only place where it stands.

A figure without an aim is shown for what it tells: the other half of a ratio, or a cost that nobody promised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Measured, by the name it has in FIGURES.
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Budget:
    means: str
    unit: str
    aim: float | None = None  # at most this


BUDGETS: Mapping[str, Budget] = {
    "run.alone": Budget("a whole run, one at a time", "ms CPU", 3.0),
    "run.at_once": Budget("a whole run, 100 at once", "ms CPU", 1.5),
    "run.bare": Budget("the same rows by plain sqlite3, a COMMIT each", "ms CPU"),
    "run.alone_to_bare": Budget("one at a time, to that bare loop", "×", 3.0),
    "run.at_once_to_bare": Budget("100 at once, to that bare loop", "×"),
    "run.long_to_short": Budget("a history of 2,000 messages, to one of 20", "×", 1.2),
    "run.commits": Budget("commits of a run", ""),
    "run.rows": Budget("rows written by a run", ""),
    "run.postgres_alone": Budget("on PostgreSQL, one at a time, this side", "ms CPU"),
    "run.postgres_at_once": Budget("on PostgreSQL, 100 at once, this side", "ms CPU"),
    "instructions.run": Budget("a whole run, one at a time", "M instructions"),
    "instructions.run_at_once": Budget("a whole run, 20 at once", "M instructions"),
    "instructions.postgres_run": Budget("on PostgreSQL, one at a time, this side", "M instructions"),
    "instructions.postgres_run_at_once": Budget("on PostgreSQL, 20 at once, this side", "M instructions"),
    "instructions.post": Budget("a message by HTTP that wakes nobody", "M instructions"),
    "instructions.post_waking": Budget("a message by HTTP that wakes an agent", "M instructions"),
    "instructions.delivery": Budget("an event to one of 20 followers", "k instructions"),
    # Only with `--against COMMIT`.
    "instructions.run_to_then": Budget("a run, one at a time, to that commit", "×", 1.05),
    "instructions.run_at_once_to_then": Budget("20 at once, to that commit", "×", 1.05),
    "instructions.postgres_run_to_then": Budget("on PostgreSQL, to that commit", "×", 1.05),
    "instructions.postgres_run_at_once_to_then": Budget("on PostgreSQL, 20 at once, to that commit", "×", 1.05),
    "instructions.post_to_then": Budget("a message that wakes nobody, to that commit", "×", 1.05),
    "instructions.post_waking_to_then": Budget("a message that wakes an agent, to that commit", "×", 1.05),
    "instructions.delivery_to_then": Budget("an event to a follower, to that commit", "×", 1.05),
    "instructions.added_cpu": Budget("what a run costs more than at that commit", "ms CPU", 0.3),
    "instructions.added_cpu_at_once": Budget("the same, 20 at once", "ms CPU", 0.3),
    "age.old_to_young": Budget("a run in a room with 10,000 runs, to one in a room with a hundred", "×", 1.1),
    "post.quiet": Budget("a message by HTTP that wakes nobody", "ms CPU"),
    "post.waking": Budget("a message by HTTP that wakes an agent", "ms CPU"),
    "post.bare": Budget("a bare FastAPI insert", "ms CPU"),
    "post.quiet_to_bare": Budget("wakes nobody, to the bare insert", "×", 2.0),
    "post.waking_to_bare": Budget("wakes an agent, to the bare insert", "×", 2.0),
    "post.crowd_to_bare": Budget("wakes nobody, 16 clients at once, to the bare insert", "×", 2.0),
    "search.middle": Budget("a search over a million messages, the middle one of a hundred", "ms CPU"),
    "search.p95": Budget("a search over a million messages, the slowest of twenty", "ms CPU", 50.0),
    "search.worst": Budget("a search over a million messages, the slowest of all", "ms CPU"),
    "search.unread": Budget("listing 200 spaces with 5,000 unread messages each", "ms CPU"),
    "search.postgres_middle": Budget("the same on PostgreSQL, both sides, the middle one", "ms CPU"),
    "search.postgres_p95": Budget("on PostgreSQL, both sides, the slowest of twenty", "ms CPU", 50.0),
    "search.postgres_worst": Budget("on PostgreSQL, both sides, the slowest of all", "ms CPU"),
    "search.postgres_unread": Budget("the 200 spaces on PostgreSQL, both sides", "ms CPU"),
    "sse.delivery": Budget("an event to one of 200 followers", "µs CPU", 30.0),
    "abuse.calm_p99": Budget("a post by one of 20 people, the slowest of a hundred", "ms"),
    "abuse.flood_p99": Budget("the same while one sends 1,000 posts a second", "ms"),
    "abuse.flood_to_calm": Budget("with the flood, to without", "×", 1.5),
    "abuse.elsewhere_to_calm": Budget("the same flood against another server: the machine's part", "×"),
    "abuse.refusal": Budget("what the flood costs the server, per post, the few accepted ones included", "µs CPU"),
    "abuse.layers": Budget("what stands around the routes, per request", "µs CPU"),
    "abuse.layers_share": Budget("the same, to the cheapest request without it", "%", 15.0),
    "abuse.json_lag": Budget("the longest wait of others while odd JSON of up to 1 MB is refused", "ms", 50.0),
    "abuse.password_lag": Budget("the longest wait of others while passwords are checked", "ms", 50.0),
    "spending.unlimited": Budget("a look at the budgets before a model is asked; there are none", "µs CPU", 100.0),
    "spending.check": Budget("the same with eight, after a year of 100 agents", "µs CPU", 1500.0),
    "spending.count": Budget("counting an answer, in the transaction that keeps it", "µs CPU", 100.0),
    "variables.seal": Budget("sealing a secret", "µs CPU", 10.0),
    "variables.open": Budget("opening a secret", "µs CPU", 10.0),
    "variables.resolve": Budget("what 20 names are worth, 8 threads deep: one query", "µs CPU"),
    "egress.call": Budget("a small POST to the outside", "ms CPU"),
    "egress.bare": Budget("the same by bare aiohttp, which judges nothing", "ms CPU"),
    "egress.httpx": Budget("the same by bare httpx", "ms CPU"),
    "egress.call_to_bare": Budget("to the outside, to bare aiohttp", "×", 2.5),
    "redact.run": Budget("a whole run, one at a time, with 200 secrets known", "ms CPU"),
    "redact.run_to_none": Budget("the same, to one without any secret", "×"),
    "redact.run_share": Budget("the redactor's part of a run, one at a time, with 200 secrets", "%", 5.0),
    "redact.at_once_share": Budget("the redactor's part of a run, 100 at once, with 200 secrets", "%", 5.0),
    "redact.making": Budget("making ready to look for 200 secrets, once", "ms CPU"),
    "redact.2kb": Budget("looking through 2 kB of prose for 200 secrets", "µs CPU"),
    "redact.64kb": Budget("looking through 64 kB", "µs CPU"),
    "files.upload_memory": Budget("the most memory that an upload of 100 MB holds", "MB", 5.0),
    "files.download_memory": Budget("the same for the download", "MB", 5.0),
    "files.upload_cpu": Budget("an upload, for each megabyte", "ms CPU"),
    "files.download_cpu": Budget("a download, for each megabyte", "ms CPU"),
    "models.messages_20": Budget("a question to a model over the wire, history 20", "ms CPU", 3.0),
    "models.messages_200": Budget("the same, history 200", "ms CPU", 3.0),
    "models.messages_2000": Budget("the same, history 2,000", "ms CPU"),
    "models.responses_200": Budget("the second format, history 200", "ms CPU", 3.0),
    "models.chat_200": Budget("the third format, history 200", "ms CPU", 3.0),
    "models.sdk_200": Budget("the same request by the official SDK, history 200", "ms CPU"),
    "models.messages_piece": Budget("a piece of an answer as it comes", "µs CPU", 25.0),
    "models.responses_piece": Budget("the same, second format", "µs CPU", 25.0),
    "models.chat_piece": Budget("the same, third format", "µs CPU", 25.0),
    "models.run": Budget("a whole run with three questions over the wire", "ms CPU", 10.0),
    "streaming.first": Budget("from a provider's first words to a follower", "ms", 20.0),
    "streaming.waiting": Budget("a server while 200 runs wait for their model", "MB", 300.0),
    "streaming.waiting_run": Budget("one of these runs", "kB"),
    "waiting.accept": Budget("accepting a result by HTTP, 16 clients at once", "ms CPU"),
    "waiting.accept_to_bare": Budget("the same, to a bare FastAPI insert", "×"),
    "waiting.accept_second": Budget("500 results, one every 2 ms, until the last is accepted", "s", 1.05),
    "waiting.accept_p50": Budget("how long one of those takes, the middle one", "ms"),
    "waiting.accept_p99": Budget("how long one of those takes, the slowest of a hundred", "ms", 50.0),
    "waiting.run": Budget("a run whose one call somebody else answers", "ms CPU"),
    "waiting.run_internal": Budget("the same run with a call that needs nobody", "ms CPU"),
    "waiting.adds": Budget("what waiting for somebody adds to a run", "ms CPU", 1.0),
    "waiting.goes_on": Budget("from giving the result until the run has it", "ms", 20.0),
    "waiting.across": Budget("the same on PostgreSQL, the run in another process", "ms", 20.0),
    "waiting.across_p95": Budget("on PostgreSQL, the slowest of twenty", "ms"),
    "waiting.memory": Budget("what 10,000 runs that wait add to a server, beside 10,000 that are over", "MB", 1.0),
    "page.script": Budget("script of a first look at a room", "KB gzip", 230.0),
    "page.interactive": Budget("from the address to a field that can be written in", "ms", 1000.0),
    "page.frame": Budget("a frame of a hard flick through 10,000 messages, main thread", "ms CPU", 16.0),
    "page.event": Budget("a message that comes in while the room is open, main thread", "ms CPU", 16.0),
    "page.longest_task": Budget("the longest task while 20 KB stream into a room of 5,000 messages", "ms CPU", 50.0),
    "page.streaming": Budget("all tasks of the main thread while they stream", "ms CPU"),
    "page.heap": Budget("memory of the page after an hour of a busy room", "MB"),
    "page.heap_growth": Budget("the same, to after a third of it", "×", 1.2),
    "tasks.look": Budget("a look at 100,000 tasks of which none is due", "µs CPU", 500.0),
    "tasks.list": Budget("the tasks of one space, of 100,000", "µs CPU", 3000.0),
    "tasks.idle_cpu": Budget("a server with 100,000 tasks of which none is due", "% of a core", 0.5),
    "tasks.lag_p99": Budget("1,000 tasks due at once: fired, the slowest of a hundred", "ms", 1000.0),
    "tasks.postgres_look": Budget("a look on PostgreSQL, this side", "µs CPU"),
    "tasks.postgres_list": Budget("the tasks of one space on PostgreSQL, this side", "µs CPU"),
    "tasks.postgres_lag_p99": Budget("1,000 due at once on PostgreSQL, the slowest of a hundred", "ms", 1000.0),
    "idle.cpu": Budget("a server that does nothing", "% of a core", 0.5),
    "idle.memory": Budget("memory of a server that does nothing", "MB", 120.0),
    # Looking at many rows fills SQLite's page caches: 2 MB for each of two connections, however many rows there are.
    "idle.agents_memory": Budget("what 10,000 idle agents add to it", "MB", 4.0),
    "idle.agents_cpu": Budget("a server with 10,000 idle agents that do nothing", "% of a core", 0.5),
    "idle.ready": Budget("from start to ready", "s", 2.0),
    "idle.ready_cpu": Budget("from start to ready", "s CPU", 2.0),
    "idle.help": Budget("bullpen --help", "s CPU", 0.1),
}


def verdict(name: str, value: float) -> str:
    aim = BUDGETS[name].aim
    if aim is None:
        return ""
    return "ok" if value <= aim else "over"
