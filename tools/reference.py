"""`make reference`: write docs/reference/ from the code, so that it says what is true.

Settings, errors, events, HTTP and commands are read from where they are defined. What the code does not say of itself (what
a setting or an error means to a reader) stands here, in tables that must be complete: a name that is missing, or one too
many, stops the program. tests/docs/test_reference.py compares the files with what this would write.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bullpen.access import rules
from bullpen.api.errors import STATUS
from bullpen.api.server import build
from bullpen.cli.arguments import parser
from bullpen.errors import BullpenError
from bullpen.settings import Settings
from bullpen.wire import Wire
from bullpen.wire.events import (
    RESET,
    Detail,
    Event,
    LiveEvent,
    RecordedEvent,
    Reset,
    carried_fields,
    event_classes,
    name_event,
)
from tools import doors, sync_types

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by `make reference` from the code. Change the code, or tools/reference.py, and run it again. -->"

Row = tuple[str, ...]


def table(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(title: str, *parts: str) -> str:
    return "\n\n".join([NOTE, f"# {title}", *(part.strip() for part in parts)]) + "\n"


def complete(what: str, said: Mapping[str, Any], known: Sequence[str]) -> None:
    missing, extra = sorted(set(known) - set(said)), sorted(set(said) - set(known))
    if missing or extra:
        raise SystemExit(f"tools/reference.py, {what}: not described: {missing}; described but not there: {extra}")


# ── settings ────────────────────────────────────────────────────────────────────────────────────────────────────────

SETTINGS = {
    "host": "Address to listen on.",
    "port": "Port to listen on; 0 takes a free one.",
    "data": "The data folder: database, lock, socket, backups.",
    "database_url": "`sqlite:///path` or `postgresql://…`. Empty: `bullpen.db` in the data folder. Also read from `DATABASE_URL`.",
    "url": "Where commands find a server.",
    "token": "What commands show to that server. Empty: they use the socket in the data folder.",
    "model": "When set, agents loaded from files run on this model instead of their own.",
    "log_level": "How much is logged: debug, info, warning, error.",
    "public_url": "How people reach this server, as in `https://bullpen.example.com`, when that is not where it listens.",
    "trusted_proxies": "Addresses and networks of proxies whose `X-Forwarded-…` headers are believed, with commas between them.",
    "hosts": "More names under which the server may be asked for, with commas between them; one without a port is meant at any port.",
    "engine.lease_seconds": "How long a driver may be silent before another takes its thread over (PostgreSQL); half of it is the pause between sweeps.",
    "engine.concurrent_runs": "How many threads one process drives at once.",
    "engine.group_wait_seconds": "How long an agent waits for the one before it, when one message woke several.",
    "limits.chain_depth": "How deep agents may wake each other; an agent's own `maxChainDepth` comes first.",
    "limits.body_bytes": "The largest request body.",
    "limits.calls_per_step": "How many tool calls of one answer are carried out; the rest become errors.",
    "limits.requests_per_minute": "Requests of one token or session in a minute, or of one address without; 0: no limit, as with all of these.",
    "limits.messages_per_minute": "Messages of one person or agent in a minute.",
    "limits.reactions_per_minute": "Reactions that one person or agent gives or takes back in a minute.",
    "limits.typing_per_minute": "How often one person may say in a minute that they are typing.",
    "limits.edits_per_minute": "Messages that one person or agent changes or deletes in a minute.",
    "limits.agent_messages_per_minute": "Messages of all agents of one space together in a minute, over all processes.",
    "limits.streams_per_person": "Event streams that one person or agent may have open.",
    "limits.head_seconds": "How long a connection may take to send the head of a request.",
    "limits.body_seconds": "How long it may take to send the body, and to read some of the answer.",
    "limits.request_seconds": "How long a request may wait before it begins to change something; then it is answered with 503. 0: no limit.",
    "database_seconds": "How long a statement, a connection or a wait for one may take before the database counts as unreachable (PostgreSQL).",
    "timezone": "The zone of tasks in spaces that name none. Also read from `TZ`.",
    "tasks.min_interval_seconds": "How often a task may come round at most.",
    "tasks.per_space": "How many tasks a space may have that are not over.",
    "tasks.failures": "After how many failures in a row a task is paused; 0: never.",
    "memory.passages_per_scope": "How many passages are kept for one agent, for one agent in one space, or for one space; "
    "0: any number.",
    "embeddings.provider": "What turns texts into vectors for [search by meaning](../guide/search-by-meaning.md): `none`, `minilm` or `openai`. Left out: `minilm` where it is installed, otherwise `none`.",
    "embeddings.url": "The base of a server that speaks as OpenAI's `/v1/embeddings` does. Left out: `openai_base_url`, otherwise OpenAI. It counts as listed for `service:embeddings`.",
    "embeddings.model": "What that server calls the model. Left out: `text-embedding-3-small`.",
    "embeddings.key": "The name of the variable that holds the server's key.",
    "embeddings.dimensions": "How many dimensions to ask the server for; 0: as many as the model has.",
    "embeddings.weights": "The folder with the weights of MiniLM. Left out: the package `bullpen-minilm`.",
    "embeddings.cache_bytes": "How much of a process's memory vectors of scopes in use may take.",
    "skills.per_space": "How many skills a space may have, those that wait for approval included; 0: any number.",
    "memory.engine": "Where notes of spaces (`memory_save`) are kept: `own`, here alone; `supermemory`, there too, and without a key not at all; `auto`, there too if there is a key.",
    "supermemory_base_url": "Where Supermemory is, if not at its own address. Listed for it alone.",
    "session_days": "How long somebody who signed in stays signed in.",
    "log_format": "`text` or `json`: one line for each thing worth knowing, with the ids it is about.",
    "key_file": "The file with the keys that secrets are sealed with. Left out: `keys.json` in the data folder. All processes of one database need the same.",
    "variables": "Values that tools may ask for by name when nobody has set them elsewhere: a table in a file, `BULLPEN_VARIABLES__NAME` in the environment. Well-known names such as `OPENAI_API_KEY` are read as they are.",
    "folders.bytes": "How much the folder of one thread may hold; 0: no limit.",
    "folders.files": "How many files it may hold; 0: no limit.",
    "s3.endpoint": "Where storage for files is that speaks S3, as in `https://storage.example.com`. Counts as listed for egress.",
    "s3.bucket": "The bucket. Left out: files lie in the data folder.",
    "s3.region": "The region that requests are signed for.",
    "s3.access_key": "Who we are there.",
    "s3.secret_key": "What requests are signed with. Give it in the environment rather than in a file.",
    "s3.prefix": "What every key begins with, so that several offices can share a bucket.",
    "s3.addressing": "`path`: the bucket stands in the path; `host`: it stands before the host.",
    "anthropic_base_url": "Where models of `anthropic:` are asked, when that is not the provider itself; also `ANTHROPIC_BASE_URL`. Counts as listed for egress.",
    "openai_base_url": "The same for `openai:` and `openai-chat:`, as in `http://127.0.0.1:11434/v1`; also `OPENAI_BASE_URL`.",
    "metrics_token": "A bearer token that may read `/metrics`, besides owners' tokens. Empty: none.",
    "engine.model_patience_seconds": "How long a run waits for a provider that is not there, before it fails.",
    "limits.approval_seconds": "How long an approval may take if no person had asked for anything. Then it is denied.",
    "limits.guesses_per_minute": "How many unknown tokens may come from one address in a minute before it has to wait.",
    "retention.events_days": "How long events are kept for followers who were away; 0 keeps them for ever.",
    "retention.journals_days": "How long what happened inside runs is kept, and tasks that are over; the runs themselves stay. 0 keeps it for ever.",
    "retention.sessions_days": "How long sessions and invites that are over are kept.",
    "files.file_bytes": "The most bytes that one file may have.",
    "files.space_bytes": "The most bytes that all files of one space may have.",
    "files.person_bytes": "The most bytes that one person or agent may have in no space.",
    "files.space_files": "How many files one space may hold.",
    "files.person_files": "How many files one person or agent may have in no space.",
    "files.unattached_hours": "After how many hours a file that no message shows is forgotten.",
    "files.uploads_at_once": "How many uploads of one caller may go on at once.",
    "egress.listed": "Private hosts and odd ports that may be asked, each by one use alone: `gateway:lights=http://10.0.0.5:8123 web=http://wiki.corp.example:8080`.",
}


def settings_page() -> str:
    rows = list(_settings(Settings, ""))
    complete("SETTINGS", SETTINGS, [name for name, _ in rows])
    return page(
        "Settings",
        "In rising order of authority: defaults, `bullpen.toml` in the working folder, `bullpen.toml` in the data folder, a "
        "`.env` file, the environment, the command line. In a file, `engine.lease_seconds` is `lease_seconds` under "
        "`[engine]`. A name that nobody knows is refused, since a misspelt limit is worse than none.",
        table(
            ("setting", "environment", "default", "meaning"),
            [
                (
                    f"`{name}`",
                    f"`BULLPEN_{name.upper().replace('.', '__')}`",
                    f"`{value}`" if value not in ("", None) else "",
                    SETTINGS[name],
                )
                for name, value in rows
            ],
        ),
    )


def _settings(group: type[Any], prefix: str) -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(group):
        if field.name == "variables":
            yield prefix + field.name, ""
        elif field.default is dataclasses.MISSING:
            yield from _settings(type(getattr(Settings(), field.name)), f"{field.name}.")
        else:
            yield prefix + field.name, field.default


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ERRORS = {
    "Unreadable": "A stored row was changed by somebody else, so that nothing can go on from it. `bullpen doctor` names it.",
    "RequestError": "The request cannot be carried out as it is; the sentence says what to change.",
    "NotFound": "There is no such thing, or it is hidden from you. The two are the same on purpose.",
    "Unauthenticated": "No token came with the request, or one that the server does not know. Make one with `bullpen token create`.",
    "Forbidden": "You may see the thing, and not do this to it. Ask the owner for the grant that the sentence names.",
    "Invalid": "The content is wrong; `fields` says what about which field.",
    "TooLarge": "The body is over `limits.body_bytes`, or the file over `files.file_bytes`.",
    "QuotaExceeded": "No more files fit into the space, or into what you have in none. Delete some; the owner can raise the limits of `files`.",
    "Conflict": "It contradicts what is there already. Load again, then decide.",
    "AlreadyExists": "The id is taken; choose another, or change what is there.",
    "SpaceArchived": "Nobody writes in an archived space. Restore it with `PATCH /api/spaces/{id}`, or write elsewhere.",
    "RunAlreadyFinished": "The run is over and cannot be cancelled. Post a message to start another.",
    "ToolError": "A tool could not do what was asked. The agent reads it as the result of its call.",
    "ToolFailed": "The tool tried, and it is over.",
    "BadArguments": "The arguments do not fit the tool's schema; the agent may try again with others.",
    "CheckFailed": "To check the arguments would take too much time or memory, so nothing was done. Simplify the tool's schema; `bullpen doctor` names it.",
    "ModelError": "The model's provider failed.",
    "ModelUnavailable": "It did not answer; it is asked again a few times, then the run fails with this as its reason.",
    "ModelRefused": "It will not answer this; the run fails.",
    "ModelDeclined": "The model, or a filter of its provider, does not want to answer this; the run fails.",
    "ContextTooLong": "It was shown more than it can take; the run fails.",
    "EgressError": "A request to the outside came to nothing.",
    "VariablesRequired": "Values that a tool needs have not been set; `missing` says which. Set them with `bullpen variables set`.",
    "PathOutside": "The path does not lie in the thread's folder. Write it relative to the folder, or beginning with /workspace.",
    "KeyMissing": "A secret is sealed with a key that is not in this server's key file. Put the file back, or copy it here.",
    "SecretInvalid": "A sealed secret was changed, or moved to where it does not belong. Set it again; the audit log says when it was noticed.",
    "EgressDenied": "Bullpen's own rules forbid the request; `rule` says which. The owner may list a private host for one use.",
    "EgressTimeout": "The other side took too long to be reached or to answer.",
    "EgressTooLarge": "The other side's answer is over the limit; what came of it was thrown away.",
    "EgressFailed": "The other side could not be found, reached or trusted, or it did not answer in full.",
    "Fenced": "Another worker drives this thread by now, so this one stopped writing. Nothing to do.",
    "CannotStart": "The command or server cannot go on until its operator changes something; exit code 1.",
    "Unavailable": "The database cannot be used just now; the sentence says whether anything was changed. Try again (`Retry-After`).",
    "DiskFull": "The disk of the database is full: nothing was changed, and reading goes on. Make room; work resumes by itself.",
    "RetryTransaction": "The database asked for the same transaction too many times. Try again in a moment (`Retry-After`).",
    "Broken": "An invariant does not hold: our bug. Please report it with the log.",
    "TooManyRequests": "More than one caller may ask for in a while, or too many wrong tries. Wait for `Retry-After` seconds.",
    "Gone": "It was there, and its time is over: a used or expired invite.",
    "SetupRequired": "Nobody owns the office yet. Open the claim link that the server printed.",
}


def error_classes(root: type[BullpenError] = BullpenError) -> Iterator[type[BullpenError]]:
    """Every class below the root, parents first."""
    for child in root.__subclasses__():
        yield child
        yield from error_classes(child)


def errors_page() -> str:
    classes = list(error_classes())
    complete("ERRORS", ERRORS, [kind.__name__ for kind in classes])
    rows = [(f"`{kind.code}`", str(STATUS[kind]), kind.__name__, ERRORS[kind.__name__]) for kind in classes]
    return page(
        "Errors",
        "Every error answer has one shape, and the Python client raises the same class again:",
        '```json\n{"error": {"code": "invalid", "message": "A sentence that says what to do.", "fields": {"text": "is missing"}}}\n```',
        "Branch on the code; show the message. Classes without a request behind them (tools, models, start-up) have a status for "
        "the case that they reach the API all the same.",
        table(("code", "status", "class", "what it means, and what to do"), rows),
    )


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def events_page() -> str:
    recorded = [kind for kind in event_classes() if issubclass(kind, RecordedEvent)]
    live = [kind for kind in event_classes() if issubclass(kind, LiveEvent)]
    return page(
        "Events",
        "`GET /api/events?spaceId=&runId=&after=` is a `text/event-stream`. Each `data:` is one JSON object: the fields that "
        "every event has, then the noun under its own name. A comment keeps the line open. The stream ends when the token or "
        "session does that it was opened with.",
        table(
            ("field", "meaning"),
            [(f"`{field.alias}`", str(field.description)) for field in Event.model_fields.values()],
        ),
        "The schema of each event is in `/openapi.json`, under the name of its class in `bullpen.wire.events`; `parse_event` "
        "there makes an object of a payload.",
        "## Stored",
        "Written with the change they tell of, and replayed. Their `id:` is the cursor: come back with it as `Last-Event-ID` or "
        "`after` and go on where you were. Without a cursor the stream begins now: once you have the response headers, "
        "nothing that commits escapes you.",
        event_table(recorded),
        "## Live",
        "Sent to the followers of that moment. Never stored, never replayed, without an `id:`.",
        event_table(live),
        f"## `{RESET}`",
        meaning(Reset),
        "## What they carry",
        "`message`, `space`, `agent`, `run`, `task`, `skill`, `budget` and the `call` of a pending call are the nouns that the "
        "API answers with. These are the fields of the rest:",
        table(
            ("field", "of", "meaning"),
            [
                (f"`{path}`", ", ".join(f"`{name_event(kind)}`" for kind in kinds), text)
                for (path, text), kinds in detail_fields().items()
            ],
        ),
    )


def meaning(kind: type[Event]) -> str:
    return " ".join((kind.__doc__ or "").split())


def event_table(kinds: Sequence[type[Event]]) -> str:
    return table(
        ("type", "carries", "meaning"),
        [
            (f"`{name_event(kind)}`", ", ".join(f"`{name}`" for name in carried_fields(kind).values()), meaning(kind))
            for kind in kinds
        ],
    )


def detail_fields() -> dict[tuple[str, str], list[type[Event]]]:
    """Fields that belong to events alone, by their path and meaning: which events have them."""
    found: dict[tuple[str, str], list[type[Event]]] = {}
    for kind in event_classes():
        for name, alias in carried_fields(kind).items():
            field = kind.model_fields[name]
            noun = field.annotation
            if not (isinstance(noun, type) and issubclass(noun, Wire)):
                found.setdefault((alias, str(field.description)), []).append(kind)
            elif issubclass(noun, Detail):
                for inner in noun.model_fields.values():
                    found.setdefault((f"{alias}.{inner.alias}", str(inner.description)), []).append(kind)
    return found


# ── HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def http_page() -> str:
    described = build(None).openapi()
    rows = []
    for path, item in described["paths"].items():
        for method, operation in item.items():
            summary = operation.get("summary", "").capitalize() + "."
            says = operation.get("description", summary).strip().split("\n\n")[0]
            good = ", ".join(code for code in operation["responses"] if code.startswith("2"))
            rows.append(
                (f"`{method.upper()}`", f"`{path}`", _takes(operation, described), good, " ".join(says.split()))
            )
    return page(
        "HTTP",
        "JSON in and out, under `/api`. Send `Authorization: Bearer <token>`. Field names are camelCase; snake_case is understood too. "
        "Lists answer `{items, next?}` and take `limit` (50, at most 200) and `cursor`. A running server describes itself in full "
        "at `/openapi.json` and `/docs`. When something is wrong, see [errors](errors.md).",
        table(("method", "path", "takes", "answers", "what it does"), rows),
    )


def _takes(operation: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    """`?limit&cursor` for the query, `{text, replyTo?}` for the body."""
    parts = []
    query = [found["name"] for found in operation.get("parameters", []) if found["in"] == "query"]
    if query:
        parts.append("`?" + "&".join(query) + "`")
    if "requestBody" in operation:
        (kind, content), *_ = operation["requestBody"]["content"].items()
        if kind != "application/json":
            parts.append("a form: `" + "`, `".join(content["schema"]["properties"]) + "`")
            return " ".join(parts)
        schema = content["schema"]
        named = schema.get("$ref", "").rpartition("/")[2]  # a body that the route reads by itself stands there whole
        body = described["components"]["schemas"][named] if named else schema
        needed = set(body.get("required", []))
        parts.append("`{" + ", ".join(name if name in needed else f"{name}?" for name in body["properties"]) + "}`")
    return " ".join(parts)


# ── commands ────────────────────────────────────────────────────────────────────────────────────────────────────────


def commands_page() -> str:
    parts = []
    for name, command in _subcommands(parser()):
        rows = [
            (f"`{' '.join(part for part in (_spelt(action), _placeholder(action)) if part)}`", action.help or "")
            for action in command._actions
            if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        ]
        parts.append(f"## `bullpen {name}`")
        parts.append(command.description or "")
        parts.append(table(("option", "meaning"), rows))
    return page(
        "Commands",
        "Exit code 0 means success; anything else comes with a sentence on stderr. Commands that talk to a server use "
        "`BULLPEN_URL` and `BULLPEN_TOKEN`, or, without a token, the socket in the data folder of a server on this machine.",
        *parts,
    )


def _subcommands(top: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                deeper = [(f"{name} {inner}", found) for inner, found in _subcommands(command)]
                yield from deeper or [(name, command)]


def _spelt(action: argparse.Action) -> str:
    return ", ".join(action.option_strings)


def _placeholder(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────────

# ── rights ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ACTIONS_MEAN = {
    "see_space": "know that a space exists",
    "read_space": "read its messages, members and runs",
    "join_space": "join or leave it oneself",
    "post": "post, react, mark as read",
    "pin_message": "pin a message of a space, or take the pin away",
    "tell_typing": "tell the readers of a space that one is typing there",
    "create_space": "make a space",
    "set_budget": "set a budget of an agent, a space or a task, take it back, or let what it stopped go on",
    "set_any_budget": "the same for a person and for the office",
    "manage_space": "name it, say what it is about and who wakes agents; add members, remove agents; export it",
    "keep_space": "archive it, show it to everybody or hide it, choose its folder and model, set its variables, remove people",
    "register_group": "make a chat elsewhere a group, or a group the main one; see the chats there are",
    "report_chat": "tell, as a bridge does, of a chat that is there",
    "erase_space": "erase it with everything said in it",
    "read_message": "read a message, ask why it woke whom",
    "change_message": "edit or delete a message",
    "upload_file": "upload a file into no space; into a space it takes what posting takes",
    "read_file": "read a file, list the files of a space",
    "delete_file": "delete a file that no message shows",
    "manage_agents": "make, change, pause, trigger and delete agents",
    "see_agent": "see which agents there are, and what they are doing",
    "confirm_address": "open an address in the office's own network to models; on the page alone",
    "see_inside_agent": "see an agent's instructions, model, memory and inbox",
    "change_inside_agent": "change an agent's memory",
    "plan_for_agent": "set a plan that an agent carries out on one's behalf",
    "see_run": "see that a run happened and what came of it",
    "see_inside_run": "read a run's journal and trace",
    "cancel_run": "cancel a run",
    "retry_run": "have a run that is over done once more",
    "list_people": "list people, and one's own tokens",
    "see_tool": "read how a tool is defined",
    "manage_people": "add, invite, change and disable members",
    "manage_owners": "the same for admins and owners",
    "change_person": "change one's own name and password",
    "make_token": "make and revoke tokens for oneself",
    "make_any_token": "make tokens for others, for agents and for tools",
    "end_session": "see where one is signed in, and sign out there",
    "see_token": "see and revoke a token",
    "see_usage": "see what was used, and what it cost",
    "see_call": "see a call that waits for its result",
    "answer_external": "give the result of a call that a program answers, and say how far it is",
    "answer_card": "answer a card",
    "cancel_call": "say that nobody will answer a call",
    "see_approval": "see that a call waits for approval, and its arguments",
    "answer_approval": "approve a call, change its arguments, or reject it",
    "cancel_approval": "withdraw a call that waits for approval",
    "see_needs": "see that a call waits for values of variables, and of which",
    "supply": "give a call the values it waits for, each as far as one may set variables of its scope",
    "cancel_needs": "withdraw a call that waits for values",
    "manage_hooks": "make, list and revoke hooks",
    "list_webhooks": "list one's own webhooks; for owners, all",
    "make_webhook": "make webhooks for oneself",
    "see_webhook": "see a webhook, and what became of what it was told",
    "see_task": "see a task and its firings",
    "make_task": "schedule something in a space",
    "change_task": "change what a task does, or when",
    "start_task": "resume a task, or fire it now",
    "stop_task": "pause a task, or cancel it",
    "see_skill": "see the skills of a space, what is proposed for them, and its commands",
    "write_skill": "store, import and delete skills of a space; what an agent writes waits for approval",
    "approve_skill": "approve of what is proposed for a skill, or not",
    "invoke_skill": "start a skill",
    "change_webhook": "change a webhook, switch it on and off, try it",
    "delete_webhook": "delete a webhook",
    "operate": "apply projects, read the audit log, back up, export and erase",
}
RELATIONS = {
    "anybody": "anybody",
    "people": "people",
    "members": "members of the space",
    "keepers": "who is in it, and made it (all of them, if it is a DM, or private and its maker is gone) or holds `manage_agents`",
    "holder": "whose it is",
    "whom_it_shows": "people, if the space is public",
    "owners": "owners",
    "signed_in": "a person who is signed in with a browser",
    "owners_where_open": "owners, if it is public or only agents are in it",
    "agent_managers": "who holds `manage_agents`",
    "people_it_shows_to": "people in the space, if the tool is visible",
    "people_there": "people in the space",
    "its_agent": "the agent itself",
    "owners_who_read": "owners who are in the space, or if it is public or only agents are in it",
    "approvers": "people who hold `answer_pending`",
    "causer": "the person for whom it is done",
    "people_who_manage_agents": "people who hold `manage_agents`",
}


def rights_page() -> str:
    complete("ACTIONS_MEAN", ACTIONS_MEAN, list(rules.ACTIONS))
    holders: dict[str, frozenset[Any]] = {
        **{str(role): grants for role, grants in rules.ROLES.items()},
        "agent": rules.AGENT,
        **{f"run in a {place}": preset.grants for place, preset in rules.PRESETS.items()},
    }
    grants = table(
        ("grant", *holders),
        [
            (f"`{grant}`", *("yes" if grant in held else "" for held in holders.values()))
            for grant in sorted(rules.GRANTS)
        ],
    )
    actions = table(
        ("action", "to", "takes", "of", "hidden from who may not"),
        [
            (
                f"`{action}`",
                ACTIONS_MEAN[action],
                f"`{rule.grant}`",
                ", or ".join(
                    [*(RELATIONS[relation.__name__] for relation in rule.relations)]
                    + (["a token that names the tool, without any grant"] if rule.programs else [])
                ),
                "" if rule.seen_by is None else f"`{rule.seen_by}`",
            )
            for action, rule in rules.ACTIONS.items()
        ],
    )
    return page(
        "Rights",
        "Grants are a closed list. A role, an agent and a space are each a set of them; what a run may do is what the agent, "
        "whoever caused the run, and the space all have.",
        grants,
        "A run in a group that is not the main one keeps to that group besides: it reads, speaks, remembers and schedules "
        "there and nowhere else, wherever else its agent is a member.",
        "An action is allowed to whoever holds the grant it takes and stands to the thing in one of these ways. To whoever "
        "may not do the action in the last column, the thing does not exist.",
        actions,
        "A token can be limited to scopes: "
        + ", ".join(f"`{scope}`" for scope in rules.SCOPES)
        + ". `read` is `read_space`.",
    )


# ── what is not there yet ───────────────────────────────────────────────────────────────────────────────────────────


def not_yet_page() -> str:
    promised = doors.load()
    parts: list[str] = []
    for kind, title in doors.KINDS.items():
        if names := promised[kind]["not_yet"]:
            parts += [f"## {title}", "\n".join(f"- `{name}`" for name in names)]
    return page(
        "Not yet",
        "These names are reserved. They will be what they say, and they do nothing today: a route answers 404, a command "
        "or a tool is unknown, a setting changes nothing.",
        *parts,
    )


PAGES = {
    "rights.md": rights_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "http.md": http_page,
    "commands.md": commands_page,
    "not-yet.md": not_yet_page,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write())
        print(f"docs/reference/{name}")
    sync_types.TARGET.write_text(sync_types.write())


if __name__ == "__main__":
    main()
