"""bullpen doctor: every part checked for real, with what to do. Exit code 1 if there is a problem."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import AsyncIterator
from dataclasses import asdict, replace

import httpx

from bullpen.cli import show
from bullpen.doctor import configuration, database, machine
from bullpen.doctor.types import Finding, ok, problem, warning
from bullpen.errors import CannotStart
from bullpen.observe.redact import REDACTOR
from bullpen.settings import Settings, environment, load_settings
from bullpen.storage import Store
from bullpen.storage.lock import holder

ASK_SECONDS = 5.0
MODEL_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    found = []
    async for each in _examine(args):
        # An error of a driver or of the system may hold what it was given.
        finding = replace(each, message=REDACTOR.clean(each.message), advice=REDACTOR.clean(each.advice))
        found.append(finding)
        if not args.json:
            print(_line(finding), flush=True)
    problems = [finding for finding in found if finding.level == "problem"]
    warnings = [finding for finding in found if finding.level == "warning"]
    if args.json:
        print(show.as_json({"ok": not problems, "findings": [asdict(finding) for finding in found]}))
    else:
        print(f"\n{len(problems)} problems, {len(warnings)} warnings.")
    return 1 if problems else 0


async def _examine(args: Namespace) -> AsyncIterator[Finding]:
    try:
        settings = load_settings(data=args.data)
    except CannotStart as error:
        yield problem("settings", str(error), "Correct it; nothing else can be checked before.")
        return
    for finding in configuration.examine(settings, environment(os.environ)):
        yield finding
    for finding in machine.examine(settings):
        yield finding
    if args.models:
        async for finding in _models(settings):
            yield finding
    yield await _storage(settings)
    running = machine.server_runs(settings)
    if running:
        async for finding in _server(settings):
            yield finding
    else:
        yield ok("server", f"No server runs on {settings.data}.")
    if _is_anothers(settings):
        yield problem("database", "Not looked at: the folder belongs to another user.", "Run this as that user.")
        return
    try:
        store = _store(settings)
    except CannotStart as error:
        yield problem("database", str(error), "Then ask again.")
        return
    async for finding in database.examine(settings, store, running=running):
        yield finding


def _store(settings: Settings) -> Store:
    """The database, to be looked at beside whoever uses it."""
    if not settings.on_postgres:
        from bullpen.storage.sqlite import SqliteReader

        return SqliteReader(settings.sqlite_path)
    from bullpen.storage.postgres import PostgresStore

    return PostgresStore(settings.database_url, pool_size=2)


def _is_anothers(settings: Settings) -> bool:
    """SQLite makes files beside the database even to read it; ours would be closed to the server's user."""
    folder = settings.sqlite_path.parent
    return not settings.on_postgres and folder.exists() and folder.stat().st_uid != os.getuid()


async def _storage(settings: Settings) -> Finding:
    if not settings.s3.bucket:
        return ok("storage", f"The bytes of files are kept in {settings.blobs}.")
    from bullpen.doctor import storage

    return await storage.examine(settings)


async def _models(settings: Settings) -> AsyncIterator[Finding]:
    """Whether providers accept the keys of the settings. Costs what a short answer costs, so only if asked for."""
    from bullpen import app
    from bullpen.llm.check import check
    from bullpen.llm.models import DEFAULT_NAMES
    from bullpen.variables.actions import Vault
    from bullpen.variables.keys import Keys

    stored = "Keys that are stored as variables: `bullpen check-model MODEL`."
    held = {provider: name for provider, name in MODEL_KEYS.items() if settings.variables.get(name)}
    if not held:
        yield warning("models", "No key of a model provider is in the settings, so none was tried.", stored)
    async with app.open_egress(settings) as egress:
        models = app.open_models(settings, lambda: egress, Vault(Keys(settings.keys_path), settings.variables))
        for provider, name in held.items():
            spec = f"{provider}:{DEFAULT_NAMES[provider]}"
            found = await check(models.resolve(spec, {name: settings.variables[name]}), spec)
            said = found.message if found.message.endswith(".") else f"{found.message}."
            advice = f"Correct {name}, or try another model: `bullpen check-model MODEL`."
            yield ok("models", f"{name}: {said}") if found.answered else problem("models", f"{name}: {said}", advice)


async def _server(settings: Settings) -> AsyncIterator[Finding]:
    """What only the process itself knows."""
    pid = holder(settings.data)
    named = "A server" if not pid else f"The server (pid {pid})"
    transport = httpx.AsyncHTTPTransport(uds=str(settings.socket_path))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=ASK_SECONDS) as http:
            response = await http.get("/readyz")
            said = response.json()
            failing = said["failing"]
    except (httpx.HTTPError, OSError, ValueError, KeyError):
        advice = "It may be starting or stopping. If it stays so, its log says why; restart it."
        yield problem("server", f"{named} holds the folder and does not answer at {settings.socket_path}.", advice)
        return
    if failing:
        yield problem("server", f"{named} is not ready: {', '.join(failing)}.", "Its log says more; see below, too.")
    else:
        yield ok("server", f"{named} runs, and is ready.")
    for name, why in said.get("unhealthy", {}).items():
        advice = "Calls of its tools fail. The next one tries to open it again."
        yield warning("executors", f"{name}: {why.rstrip('.')}.", advice)


def _line(finding: Finding) -> str:
    line = f"{finding.level:<8} {finding.part:<10} {show.plain(finding.message)}"
    return f"{line}\n{'':19} → {show.plain(finding.advice)}" if finding.advice else line
