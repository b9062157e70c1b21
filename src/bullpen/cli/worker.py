"""bullpen worker: one more process that drives threads. Needs PostgreSQL, since one process owns a SQLite file."""

from __future__ import annotations

from argparse import Namespace

from bullpen import app
from bullpen.cli.loop import run_on_fast_loop
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    run_on_fast_loop(app.worker(load_settings(data=args.data)))
    return 0
