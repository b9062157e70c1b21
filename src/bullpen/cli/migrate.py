"""bullpen migrate: bring the database to this version. `serve` does the same when it starts."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from bullpen import app
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    applied = asyncio.run(app.migrate(load_settings(data=args.data)))
    for name in applied:
        print(f"applied {name}")
    if not applied:
        print("The database is up to date.")
    return 0
