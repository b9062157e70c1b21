"""bullpen keys: what secrets are sealed with, and turning the ring.

Acts on the data folder, through the server that holds it if one runs, and never on BULLPEN_TOKEN: the key file is on
this machine.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.access.rules import SYSTEM
from bullpen.cli import door, show
from bullpen.cli.failures import CommandFailed
from bullpen.settings import load_settings
from bullpen.storage import Transaction
from bullpen.variables.actions import Vault, abandon
from bullpen.variables.keys import Keys
from bullpen.webhooks import actions as webhooks
from bullpen.wire.nouns import KeyUses, Rotation


def run(args: Namespace) -> int:
    return asyncio.run({"list": _list, "rotate": _rotate, "abandon": _abandon}[args.what](args))


async def _list(args: Namespace) -> int:
    async with door.to_folder(load_settings(data=args.data)) as bp:
        found = await bp.keys.list()
    print(show.as_json(found) if args.json else _readable(found))
    return 0


def _readable(found: KeyUses) -> str:
    if not found.keys:
        return f"No key yet. One is made in {found.path} when the first secret is set."
    rows = [
        (key.id, str(key.secrets), "yes" if key.current else "-", "yes" if key.held else "MISSING")
        for key in found.keys
    ]
    return f"{found.path}\n{show.table(('KEY', 'SECRETS', 'CURRENT', 'IN THE FILE'), rows)}"


async def _rotate(args: Namespace) -> int:
    async with door.to_folder(load_settings(data=args.data)) as bp:
        done = await bp.keys.rotate()
    print(show.as_json(done) if args.json else _told(done))
    for unopened in done.unopened:
        print(f"bullpen: {unopened} could not be opened, so its old key is kept. Set it again.", file=sys.stderr)
    return 1 if done.unopened else 0


async def _abandon(args: Namespace) -> int:
    """On the database itself: without its keys no server starts."""
    from bullpen.app import open_store

    if not args.yes:
        raise CommandFailed("This deletes every secret whose key is missing. Say --yes if the key is lost for good.")
    settings = load_settings(data=args.data)
    store = open_store(settings)
    await store.open()
    try:
        vault = Vault(Keys(settings.keys_path), {})
        lost = await store.transact(lambda tx: _abandoned(tx, vault))
    finally:
        await store.close()
    if args.json:
        print(show.as_json({"deleted": lost}))
    else:
        print("\n".join(f"deleted {name}" for name in lost) or "No secret is lost: nothing was deleted.")
    return 0


async def _abandoned(tx: Transaction, vault: Vault) -> list[str]:
    lost = await abandon(tx, vault, SYSTEM)
    return [*lost, *(f"the webhook {id}" for id in await webhooks.abandon(tx, vault, SYSTEM))]


def _told(done: Rotation) -> str:
    said = [f"Secrets that are sealed with the new key {done.key_id} now: {done.secrets}."]
    if done.resumed:
        said.insert(0, "An earlier rotation was interrupted; it is finished now.")
    if done.forgotten:
        said.append("The old key is gone from the key file. Backups from before need a copy of it.")
    if done.idle:
        said.append("The key file is not ours to change: the lines below the first are not needed any more.")
    return "\n".join(said)
