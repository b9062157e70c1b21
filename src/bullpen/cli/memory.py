"""bullpen memory: what agents and spaces remember; list, search, export and import passages.

An export has one passage on each line, as the API shows it. An import stores each for the agent or the space that it
names; what is there already stays as it is, so it may be done again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bullpen.cli import door, named, show
from bullpen.cli.export import write_lines
from bullpen.cli.failures import CommandFailed
from bullpen.client import ApiError, Bullpen, Forbidden, NotFound, Page
from bullpen.client.fields import CreateAgentFields
from bullpen.settings import load_settings
from bullpen.wire.nouns import Passage

LONGEST = 1_000_000  # characters of a line; a passage has at most 20,000, and its metadata a few more
PAGE = 200


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space", agent="agent")
        match args.action:
            case "export":
                await write_lines(_export(bp, args), args.file, force=args.force)
            case "import":
                _tell(await _import(bp, args), args)
            case _:
                _show(await _find(bp, args), args)
    return 0


# ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _find(bp: Bullpen, args: Namespace) -> Page[Passage]:
    if (args.agent is None) == (args.space is None):
        raise CommandFailed("Say whose memory: --agent ID or --space ID.")
    text = args.text if args.action == "search" else None
    return await bp.passages.search(
        args.agent, text, space=args.space, tags=args.tags, limit=args.limit, cursor=args.cursor
    )


def _show(page: Page[Passage], args: Namespace) -> None:
    if args.json:
        items = [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in page]
        print(show.as_json({"items": items} if page.next is None else {"items": items, "next": page.next}))
        return
    if page.items:
        print(show.table(("PASSAGE", "STORED", "LEARNED IN", "TAGS", "CONTENT"), map(_row, page)))
    else:
        print("Nothing was found that you may read.", file=sys.stderr)
    if page.next is not None:
        print(f"There may be more: add --cursor {page.next}", file=sys.stderr)


def _row(passage: Passage) -> tuple[str, ...]:
    learned = passage.learned.space_id if passage.learned is not None else None
    return (
        passage.id,
        show.date(passage.created_at),
        learned or "-",
        ", ".join(passage.tags) or "-",
        show.one_line(passage.content, 80),
    )


# ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _export(bp: Bullpen, args: Namespace) -> AsyncIterator[str]:
    async for agent, space in _whose(bp, args):
        cursor = None
        while True:
            try:
                page = await bp.passages.search(agent, space=space, limit=PAGE, cursor=cursor)
            except Forbidden:
                if args.agent is not None or args.space is not None:
                    raise
                break  # a space that one may know of, and not read
            for passage in page:
                said = passage.model_dump(by_alias=True, mode="json", exclude_none=True)
                yield json.dumps({"type": "passage", **said}, ensure_ascii=False) + "\n"
            if (cursor := page.next) is None:
                break


async def _whose(bp: Bullpen, args: Namespace) -> AsyncIterator[tuple[str | None, str | None]]:
    """Agents, then spaces."""
    if args.agent is not None or args.space is not None:
        yield args.agent, None if args.agent is not None else args.space
        return
    for agent in await named.names_of(bp, "agent"):
        yield agent, None
    for space in await named.names_of(bp, "space"):
        yield None, space


@dataclass(slots=True)
class Imported:
    stored: int = 0
    skipped: int = 0  # of agents and spaces that are not there
    refused: int = 0  # what is no passage, or is not taken


async def _import(bp: Bullpen, args: Namespace) -> Imported:
    done = Imported()
    there = There(bp, args.create, args.model)
    for number, line in enumerate(_lines(args.file), 1):
        try:
            if await _store(bp, args, there, _read(line)):
                done.stored += 1
            else:
                done.skipped += 1
        except (ValueError, TypeError, ApiError) as error:
            done.refused += 1
            print(f"line {number}: {show.one_line(str(error), 200)}", file=sys.stderr)
    return done


async def _store(bp: Bullpen, args: Namespace, there: There, said: dict[str, Any]) -> bool:
    """False: its agent or its space is not here."""
    agent, space = args.agent or said.get("agentId"), args.space or said.get("spaceId")
    if not (agent or space):
        raise ValueError("this passage belongs to no agent and no space")
    if not await there.has("agent", agent) or not await there.has("space", space):
        return False
    tags, metadata, expires = said.get("tags", ()), said.get("metadata"), said.get("expiresAt")
    await bp.passages.store(agent, said["content"], space=space, tags=tags, metadata=metadata, expires=expires)
    return True


class There:
    """Which agents and spaces are in the office. Each is asked for once, and made if it may be."""

    def __init__(self, bp: Bullpen, create: bool, model: str | None) -> None:
        self._bp = bp
        self._create = create
        self._model = model
        self._known: dict[tuple[str, str], bool] = {}

    async def has(self, kind: str, id: str | None) -> bool:
        if id is None:
            return True
        if (kind, id) not in self._known:
            self._known[kind, id] = await self._find(kind, id)
        return self._known[kind, id]

    async def _find(self, kind: str, id: str) -> bool:
        try:
            await (self._bp.agents.get(id) if kind == "agent" else self._bp.spaces(id).get())
        except NotFound:
            if not self._create:
                return False
            if kind == "agent":
                fields: CreateAgentFields = {"id": id, "name": id}
                if self._model is not None:
                    fields["model"] = self._model
                await self._bp.agents.create(tools=["memory"], **fields)
            else:
                await self._bp.spaces.create(id=id, private=True)
        return True


def _lines(file: str) -> Iterator[str]:
    if file == "-":
        yield from iter(lambda: sys.stdin.readline(LONGEST), "")
        return
    try:
        with Path(file).open(encoding="utf-8") as lines:
            yield from iter(lambda: lines.readline(LONGEST), "")
    except OSError as error:
        raise CommandFailed(f"Cannot read {file}: {error.strerror}.") from error


def _read(line: str) -> dict[str, Any]:
    said = json.loads(line)
    if not isinstance(said, dict) or said.get("type", "passage") != "passage":
        raise ValueError("this is no passage")
    if not isinstance(said.get("content"), str):
        raise ValueError("a passage needs its content")
    return said


def _tell(done: Imported, args: Namespace) -> None:
    if args.json:
        print(show.as_json(asdict(done)))
        return
    said = f"{done.stored} stored"
    if done.skipped:
        said += f", {done.skipped} skipped: their agent or space is not here (--create makes it)"
    print(said + (f", {done.refused} refused" if done.refused else ""))
