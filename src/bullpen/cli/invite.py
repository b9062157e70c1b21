"""bullpen invite: a link for one person, alone on stdout, so that it can be piped to where it is sent from."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.settings import load_settings
from bullpen.wire.nouns import NewInvite


def run(args: Namespace) -> int:
    invite = asyncio.run(_create(args))
    if args.json:
        print(show.as_json(invite.model_dump(by_alias=True, mode="json")))
    else:
        print(invite.link)
        print(f"For one person ({invite.role}), once, until {show.date(invite.expires_at)}.", file=sys.stderr)
    return 0


async def _create(args: Namespace) -> NewInvite:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        return await bp.invites.create(role=args.role, hours=args.hours)
