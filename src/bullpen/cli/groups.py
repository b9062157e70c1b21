"""bullpen groups: the groups there are, the chats that could become one, and registering one."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.cli.hooks import show_page
from bullpen.settings import load_settings
from bullpen.wire import Space
from bullpen.wire.nouns import Chat

NO_GROUPS = 'No groups. `bullpen groups register JID "Family" family-chat @Andy --members ada` makes one of a chat.'
NO_CHATS = "No bridge has seen a chat that is not a group yet."


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        match args.action:
            case "register":
                space = await bp.groups.register(
                    args.jid,
                    args.name,
                    args.folder,
                    args.trigger,
                    members=args.members,
                    provider=args.provider,
                    model=args.model,
                )
                print(show.as_json(space) if args.json else space.id)
            case "chats":
                chats = await bp.groups.chats(registered=False, limit=args.limit, cursor=args.cursor)
                show_page(chats, args, ("CHAT", "NAME", "SEEN"), _chat, NO_CHATS)
            case _:
                groups = await bp.groups.list(limit=args.limit, cursor=args.cursor)
                headings = ("GROUP", "NAME", "CHAT", "FOLDER", "WOKEN BY", "MODEL", "MEMBERS")
                show_page(groups, args, headings, _group, NO_GROUPS)
    return 0


def _group(space: Space) -> tuple[str, ...]:
    name = f"{show.one_line(space.name, 40)} (main)" if space.main else show.one_line(space.name, 40)
    word = space.trigger or "@mention"
    woken_by = show.one_line(word) if space.wake.people == "trigger" else space.wake.people
    model = ":".join(str(part) for part in (space.provider, space.model) if part) or "-"
    members = ", ".join(space.members)
    return (space.id, name, space.bridge or "-", space.folder or "-", woken_by, show.one_line(model, 40), members)


def _chat(chat: Chat) -> tuple[str, ...]:
    return (chat.jid, show.one_line(chat.name, 60), "-" if chat.seen_at is None else show.date(chat.seen_at))
