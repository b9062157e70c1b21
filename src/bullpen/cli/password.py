"""bullpen password: a new password for somebody who has none, or has lost it.

Acts on the data folder and never on BULLPEN_TOKEN: it needs no old password, so it is the right of whoever holds the
machine. The password comes from the terminal, unseen, or from stdin; never from the arguments, which others can list.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
from argparse import Namespace

from bullpen.cli import door
from bullpen.cli.failures import CommandFailed
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Person


def run(args: Namespace) -> int:
    person = asyncio.run(_set(args, _read()))
    print(f"{person.name} has a new password, and is signed out everywhere.", file=sys.stderr)
    return 0


def _read() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("New password: ")
    if getpass.getpass("Again: ") != password:
        raise CommandFailed("These were two different passwords. Nothing is changed.")
    return password


async def _set(args: Namespace, password: str) -> Person:
    async with door.to_folder(load_settings(data=args.data)) as bp:
        return await bp.people.update((await _find(bp, args.name)).id, password=password)


async def _find(bp: Bullpen, name: str | None) -> Person:
    cursor = None
    while True:
        page = await bp.people.list(limit=200, cursor=cursor)
        for person in page:
            if person.role == "owner" if name is None else name.casefold() in (person.name.casefold(), person.id):
                return person
        if page.next is None:
            raise CommandFailed(f"Nobody here is called {name!r}. `bullpen people` lists who there is.")
        cursor = page.next
