"""bullpen backup and bullpen restore: the whole office into a file, and back.

Both act on the data folder or DATABASE_URL themselves. A backup is taken beside a running server; a restore needs it
stopped.
"""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import Namespace

from bullpen.app import blobs_of, open_store
from bullpen.audit.types import Break
from bullpen.cli import show
from bullpen.settings import load_settings
from bullpen.storage.copies import Progress
from bullpen.upkeep import backup, restore

PATIENCE = 2.0  # seconds after which somebody at a terminal wonders


def run(args: Namespace) -> int:
    return asyncio.run(_restore(args) if args.restore else _backup(args))


async def _backup(args: Namespace) -> int:
    settings = load_settings(data=args.data)
    store, progress = open_store(settings), _progress()
    async with blobs_of(settings) as blobs:
        written = await backup.write(settings, store, args.file, blobs=blobs, overwrite=args.force, progress=progress)
    if args.json:
        print(show.as_json(written.wire()))
    else:
        print(f"{written.path}: {written.rows} rows, {written.size} bytes. {_files(written)} It does not hold the key.")
    return 0


async def _restore(args: Namespace) -> int:
    settings = load_settings(data=args.data)
    store, progress = open_store(settings, to_restore=True), _progress()
    async with blobs_of(settings) as blobs:
        restored = await restore.read(settings, store, args.file, blobs=blobs, force=args.force, progress=progress)
    if args.json:
        print(show.as_json(restored.wire()))
    else:
        print(f"Restored {restored.path}.")
        for name in restored.migrated:
            print(f"applied {name}")
        if restored.kept is not None:
            print(f"What was there before is in {restored.kept}")
        print("It holds the files." if restored.holds["files"] else "It holds no files.")
    if restored.missing:
        print(
            f"bullpen: {restored.missing} of {restored.files} files have no bytes here. Copy the `files` folder of the "
            "old data folder to this one, or restore a .tar.",
            file=sys.stderr,
        )
    if isinstance(restored.audit, Break):
        print(f"bullpen: The audit log in it is broken: {restored.audit.reason}.", file=sys.stderr)
    return 0


def _files(written: backup.Backup) -> str:
    if not written.holds["files"]:
        more = " Copy the `files` folder as well, or choose a name that ends with .tar." if written.files else ""
        return f"It does not hold the files ({written.files}).{more}"
    lost = f", but for {written.missing} that have no bytes" if written.missing else ""
    return f"It holds the files ({written.files - written.missing}){lost}."


def _progress() -> Progress | None:
    """A line that grows, for somebody who waits at a terminal; nobody else needs one."""
    if not sys.stderr.isatty():
        return None
    began = time.monotonic()
    shown = -1

    def tell(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // max(1, total)
        if percent != shown and time.monotonic() - began > PATIENCE:
            shown = percent
            print(f"\r{percent:3} %", end="" if done < total else "\n", file=sys.stderr, flush=True)

    return tell
