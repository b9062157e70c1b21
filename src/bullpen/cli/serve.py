"""bullpen serve: server, page and worker in one process."""

from __future__ import annotations

import os
from argparse import Namespace

from bullpen import app
from bullpen.agents.files import read_project
from bullpen.cli.loop import run_on_fast_loop
from bullpen.settings import environment, load_settings


def run(args: Namespace) -> int:
    settings = load_settings(host=args.host, port=args.port, data=args.data)
    project = None
    if args.project is not None:
        project = read_project(args.project, model=settings.model or None, environ=environment(os.environ))
    run_on_fast_loop(app.serve(settings, demo=args.demo, project=project))
    return 0
