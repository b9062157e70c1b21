"""bullpen serve: server, page and worker in one process."""

from __future__ import annotations

from argparse import Namespace

from bullpen import app
from bullpen.cli.loop import run_on_fast_loop
from bullpen.settings import load_settings


def run(args: Namespace) -> int:
    settings = load_settings(host=args.host, port=args.port, data=args.data)
    run_on_fast_loop(app.serve(settings, demo=args.demo))
    return 0
