"""bullpen skills: the workflows of spaces; store, approve, reject, delete, start, import and export them."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from pathlib import Path

from bullpen.agents import skill_files
from bullpen.cli import door, named, show
from bullpen.cli.hooks import show_page
from bullpen.client import Bullpen
from bullpen.errors import Conflict
from bullpen.settings import load_settings
from bullpen.wire.nouns import Skill


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        await named.use_ids(bp, args, space="space", agent="agent")
        match args.action:
            case "show":
                _show(await bp.skills.get(args.space, args.name), args)
            case "store":
                _told(await _store(bp, args), args)
            case "approve":
                _told(await _approve(bp, args), args)
            case "reject":
                await bp.skills.reject(args.space, args.name)
            case "undo":
                await _undo(bp, args)
            case "delete":
                await bp.skills.delete(args.space, args.name)
            case "invoke":
                begun = await bp.skills.invoke(
                    args.space, args.name, " ".join(args.parameters), client_message_id=args.key
                )
                print(show.as_json(begun) if args.json else f"{begun.agent_id} follows /{begun.name}")
            case "import":
                await _import(bp, args)
            case "export":
                await _export(bp, args)
            case _:
                await _list(bp, args)
    return 0


async def _store(bp: Bullpen, args: Namespace) -> Skill:
    return await bp.skills.store(
        args.space,
        args.name,
        description=args.description,
        instructions=_read(args.instructions),
        parameters=args.parameters,
        agent=args.agent,
    )


def _read(file: str) -> str:
    return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")


async def _approve(bp: Bullpen, args: Namespace) -> Skill:
    """What is shown is what is approved: another proposal that comes in between is a conflict."""
    skill = await bp.skills.get(args.space, args.name)
    if skill.proposal is None:
        raise Conflict(f"Nothing is proposed for /{skill.name}.")
    if args.hash is None:
        print(show.plain(skill.proposal.diff), file=sys.stderr)
    return await bp.skills.approve(args.space, args.name, args.hash or skill.proposal.hash)


async def _undo(bp: Bullpen, args: Namespace) -> None:
    """What is shown is what is taken back: a change that comes in between is a conflict."""
    skill = await bp.skills.get(args.space, args.name)
    left = await bp.skills.undo(args.space, args.name, args.hash or skill.hash)
    if left is not None:
        _told(left, args)
    elif not args.json:
        print(f"/{skill.name}  is gone")


async def _import(bp: Bullpen, args: Namespace) -> None:
    for file in skill_files.read_all(args.path):
        text = skill_files.written(file.name, file.description, file.instructions, file.parameters)
        _told(await bp.skills.import_text(args.space, text, active=args.approve), args)
        if file.left_out:
            left = ", ".join(show.one_line(name, 40) for name in file.left_out[:5])
            print(f"left out: {left} (only {skill_files.FILE} is read)", file=sys.stderr)


async def _export(bp: Bullpen, args: Namespace) -> None:
    found: list[Skill] = []
    cursor = None
    while True:
        page = await bp.skills.list(space=args.space, limit=200, cursor=cursor)
        found += [skill for skill in page if skill.status == "active" and (not args.names or skill.name in args.names)]
        if (cursor := page.next) is None:
            break
    texts = [(s.name, skill_files.written(s.name, s.description, s.instructions, s.parameters)) for s in found]
    for made in skill_files.write_all(args.folder, texts):
        print(show.one_line(str(made), 200))


def _told(skill: Skill, args: Namespace) -> None:
    waits = skill.proposal is not None
    line = f"/{skill.name}  {'waits for approval' if waits else skill.status}"
    print(show.as_json(skill) if args.json else line)


def _show(skill: Skill, args: Namespace) -> None:
    if args.json:
        print(show.as_json(skill))
        return
    text = skill_files.written(skill.name, skill.description, skill.instructions, skill.parameters)
    print(show.plain(text if skill.status == "active" else ""), end="")
    if skill.proposal is not None:
        proposal = skill.proposal
        read = f", who had read text from outside: {', '.join(proposal.outside)}" if proposal.outside else ""
        print(f"proposed by {show.one_line(proposal.written_by)}{show.one_line(read, 200)}; hash {proposal.hash}")
        print(show.plain(proposal.diff))


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.skills.list(space=args.space, limit=args.limit, cursor=args.cursor)
    nothing = "No skills. An agent with the tools `skills` stores some, or `bullpen skills import SPACE FOLDER`."
    show_page(page, args, ("SPACE", "COMMAND", "STATUS", "WRITTEN BY", "WHAT"), _row, nothing)


def _row(skill: Skill) -> tuple[str, ...]:
    status = skill.status if skill.proposal is None else f"{skill.status}, change proposed"
    status = "proposed" if skill.status == "proposed" else status
    usage = f"/{skill.name} {skill.parameters or ''}".rstrip()
    return (
        skill.space_id,
        show.one_line(usage, 40),
        status,
        show.one_line(skill.written_by, 40),
        show.one_line(skill.description, 60),
    )
