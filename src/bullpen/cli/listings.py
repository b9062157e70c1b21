"""bullpen runs, spaces, agents, people, tools, pending, files: lists, as a table or as the JSON that the API gives."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bullpen.cli import door, named, show
from bullpen.client import Bullpen, Page
from bullpen.settings import load_settings
from bullpen.wire import Agent, Run, Space, cards
from bullpen.wire.nouns import File, PendingCall, Person, ToolConfig


@dataclass(frozen=True, slots=True)
class Listing:
    fetch: Callable[[Bullpen, Namespace], Awaitable[Page[Any]]]
    headings: Sequence[str]
    row: Callable[[Any, named.Names], Sequence[str]]
    none: str
    names: tuple[named.Kind, ...] = ()  # whose names its rows show beside their ids


def run(args: Namespace) -> int:
    listing = LISTINGS[args.listing]
    page, names = asyncio.run(_fetch(listing, args))
    if args.json:
        items = [item.model_dump(by_alias=True, mode="json") for item in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
    elif page.items:
        print(show.table(listing.headings, [listing.row(item, names) for item in page]))
    else:
        print(listing.none, file=sys.stderr)
    if page.next is not None and not args.json:
        print(f"There are more: add --cursor {page.next}", file=sys.stderr)
    return 0


async def _fetch(listing: Listing, args: Namespace) -> tuple[Page[Any], named.Names]:
    async with door.to_server(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space", agent="agent")
        page = await listing.fetch(bp, args)
        return page, await named.names_of(bp, *(() if args.json or not page.items else listing.names))


def _fetch_runs(bp: Bullpen, args: Namespace) -> Awaitable[Page[Run]]:
    return bp.runs.list(agent=args.agent, space=args.space, status=args.status, limit=args.limit, cursor=args.cursor)


def _fetch_spaces(bp: Bullpen, args: Namespace) -> Awaitable[Page[Space]]:
    return bp.spaces.list(limit=args.limit, cursor=args.cursor)


def _fetch_agents(bp: Bullpen, args: Namespace) -> Awaitable[Page[Agent]]:
    return bp.agents.list(limit=args.limit, cursor=args.cursor)


def _fetch_people(bp: Bullpen, args: Namespace) -> Awaitable[Page[Person]]:
    return bp.people.list(limit=args.limit, cursor=args.cursor)


def _fetch_files(bp: Bullpen, args: Namespace) -> Awaitable[Page[File]]:
    return bp.files.list(space=args.space, limit=args.limit, cursor=args.cursor)


def _fetch_tools(bp: Bullpen, args: Namespace) -> Awaitable[Page[ToolConfig]]:
    return bp.tools.list(limit=args.limit, cursor=args.cursor)


def _fetch_pending(bp: Bullpen, args: Namespace) -> Awaitable[Page[PendingCall]]:
    return bp.pending.list(status=args.status, kind=args.kind, limit=args.limit, cursor=args.cursor)


def _run_row(run: Run, names: named.Names) -> Sequence[str]:
    started, taken = show.date(run.started_at), show.seconds(run.started_at, run.finished_at)
    status = "paused" if run.paused_reason else run.status
    who, where = named.beside(run.agent_id, names), named.beside(run.space_id, names)
    return (run.id, who, where, status, run.outcome or "-", str(run.depth), started, taken)


def _space_row(space: Space, names: named.Names) -> Sequence[str]:
    members = ", ".join(member.name for member in space.member_details)
    kind = f"{space.kind}, private" if space.private and space.kind != "dm" else space.kind
    return (space.id, space.name, kind, str(space.last_seq), str(space.unread), members)


def _agent_row(agent: Agent, names: named.Names) -> Sequence[str]:
    return (agent.id, agent.name, agent.state, model_name(agent.model), ", ".join(agent.tools))


def model_name(model: Any) -> str:
    """A model may be a name, or an object with one; an inline script has neither."""
    if isinstance(model, Mapping):
        return ":".join(str(model[key]) for key in ("provider", "name") if model.get(key))
    return str(model)


def _person_row(person: Person, names: named.Names) -> Sequence[str]:
    return (
        person.id,
        person.name,
        person.role,
        "disabled" if person.disabled_at else "-",
        show.date(person.created_at),
    )


def _file_row(file: File, names: named.Names) -> Sequence[str]:
    return (
        file.id,
        file.name,
        file.type,
        str(file.size),
        named.beside(file.owner_id, names),
        show.date(file.created_at),
    )


def _tool_row(tool: ToolConfig, names: named.Names) -> Sequence[str]:
    kind = "built in" if tool.built_in else f"{tool.execution_type}, async" if tool.is_async else tool.execution_type
    return (tool.name, kind, "shown" if tool.visible else "-", f"{tool.timeout / 1000:g} s", tool.description)


def _pending_row(call: PendingCall, names: named.Names) -> Sequence[str]:
    needs = ", ".join(need["name"] for need in call.args["variables"]) if call.kind == "variables" else None
    asked = needs or show.one_line(cards.arguments(call.args, 60), 60)
    since = show.date(call.created_at)
    who, where = named.beside(call.agent_id, names), named.beside(call.space_id, names)
    return (call.call_id, call.kind, call.tool_name, who, where, call.status, since, asked)


LISTINGS: Mapping[str, Listing] = {
    "runs": Listing(
        _fetch_runs,
        ("RUN", "AGENT", "SPACE", "STATUS", "OUTCOME", "DEPTH", "STARTED", "TOOK"),
        _run_row,
        "No runs yet. Wake an agent with `bullpen send SPACE TEXT`.",
        ("agent", "space"),
    ),
    "files": Listing(
        _fetch_files,
        ("FILE", "NAME", "TYPE", "BYTES", "FROM", "SINCE"),
        _file_row,
        "No files here; `--space ID` lists those of a space. `bullpen upload FILE` keeps one.",
        ("member",),
    ),
    "spaces": Listing(
        _fetch_spaces,
        ("SPACE", "NAME", "KIND", "MESSAGES", "UNREAD", "MEMBERS"),
        _space_row,
        "No spaces yet. Load some with `bullpen apply PATH`, or start with `bullpen serve --demo office`.",
    ),
    "agents": Listing(
        _fetch_agents,
        ("AGENT", "NAME", "STATE", "MODEL", "TOOLS"),
        _agent_row,
        "No agents yet. Load some with `bullpen apply PATH`, or start with `bullpen serve --demo office`.",
    ),
    "tools": Listing(
        _fetch_tools,
        ("TOOL", "TYPE", "IN ROOMS", "AT MOST", "DESCRIPTION"),
        _tool_row,
        "No tools.",
    ),
    "pending": Listing(
        _fetch_pending,
        ("CALL", "KIND", "TOOL", "AGENT", "SPACE", "STATUS", "SINCE", "ASKED"),
        _pending_row,
        "Nothing waits for an answer.",
        ("agent", "space"),
    ),
    "people": Listing(
        _fetch_people,
        ("PERSON", "NAME", "ROLE", "STATE", "SINCE"),
        _person_row,
        "Nobody yet. Open the claim link that `bullpen serve` prints.",
    ),
}
