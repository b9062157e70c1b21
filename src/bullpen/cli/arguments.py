"""What can be typed: every command and option of `bullpen`, and which module carries it out.

Standard library only, since `--help` must not wait for imports. Names of statuses are therefore written out here; a
test compares them with `bullpen.wire`.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bullpen import __version__

RUN_STATUSES = ("queued", "thinking", "acting", "waiting", "completed", "failed", "cancelled")

Add = Callable[..., ArgumentParser]


def parser() -> ArgumentParser:
    top = ArgumentParser(
        prog="bullpen",
        description="An office where AI agents and people share the same rooms, and agents act only through tools.",
        epilog=(
            "Commands that talk to a server use BULLPEN_URL and BULLPEN_TOKEN; without a token, "
            "the socket that a running server keeps in the data folder."
        ),
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"bullpen {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, module: str, help: str, **more: Any) -> ArgumentParser:
        command = commands.add_parser(name, help=help, description=help, allow_abbrev=False, **more)
        command.set_defaults(module=module)
        command.add_argument("--data", type=Path, metavar="DIR", help="the data folder (BULLPEN_DATA, ./bullpen-data)")
        return command

    _add_server(add)
    _add_operator(add)
    _add_talk(add)
    _add_listings(add)
    return top


def _add_server(add: Add) -> None:
    serve = add("serve", "serve", "Run the server: API, page and worker in one process.")
    serve.add_argument("--host", help="address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=_port, help="port to listen on (8420)")
    serve.add_argument("--demo", metavar="NAME", help="load an example first: office, companion")
    add("worker", "worker", "Run one more worker process (PostgreSQL).")
    add("migrate", "migrate", "Bring the database to this version, after a backup.")


def _add_operator(add: Add) -> None:
    token = add("token", "token", "Make access tokens.")
    actions = token.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = actions.add_parser(
        "create",
        help="Make a token and print it, alone, on stdout.",
        description="Make a token and print it, alone, on stdout. It is shown this once.",
        allow_abbrev=False,
    )
    create.add_argument("--name", required=True, help="what the token is for; with --owner, also the owner's name")
    holder = create.add_mutually_exclusive_group()
    holder.add_argument("--owner", action="store_true", help="may do everything; on a new server this is the claim")
    holder.add_argument("--agent", metavar="ID", help="acts as this agent")
    holder.add_argument("--tools", type=_names, metavar="A,B", help="may answer the calls of these tools, nothing else")
    # Given before or after `create`; a default here would hide one that was given before.
    create.add_argument("--data", type=Path, metavar="DIR", help="the data folder", default=SUPPRESS)

    apply = add("apply", "apply", "Load agents and spaces from a file or folder. Doing it again changes nothing.")
    apply.add_argument("path", type=Path, metavar="PATH", help="YAML or JSON file, or a project folder")
    apply.add_argument("--model", help="run every agent on this model, e.g. openai:NAME (BULLPEN_MODEL)")
    _add_json(apply)


def _add_talk(add: Add) -> None:
    send = add("send", "send", "Post a message and print its id.")
    send.add_argument("space", metavar="SPACE", help="id of the space")
    send.add_argument("text", metavar="TEXT", help="what to say; - reads it from stdin")
    send.add_argument("--reply-to", metavar="MESSAGE", help="id of the message this answers")
    _add_json(send)
    follow = add("follow", "follow", "Show what happens as it happens, until Ctrl-C.")
    follow.add_argument("space", metavar="SPACE", nargs="?", help="only this space; otherwise all that you may see")
    follow.add_argument("--after", metavar="CURSOR", help="begin after this event instead of now")
    _add_json(follow, "each event as one line of JSON")


def _add_listings(add: Add) -> None:
    runs = add("runs", "listings", "List runs, newest first.")
    runs.add_argument("--agent", metavar="ID")
    runs.add_argument("--space", metavar="ID")
    runs.add_argument("--status", choices=RUN_STATUSES)
    for listing in (runs, add("spaces", "listings", "List spaces."), add("agents", "listings", "List agents.")):
        listing.set_defaults(listing=listing.prog.split()[-1])
        listing.add_argument("--limit", type=_count, help="at most this many (50; up to 200)")
        listing.add_argument("--cursor", help="go on where an earlier listing ended")
        _add_json(listing)
    run = add("run", "run", "Show one run and its journal.")
    run.add_argument("id", metavar="ID")
    _add_json(run)


def _add_json(command: ArgumentParser, help: str = "machine-readable output") -> None:
    command.add_argument("--json", action="store_true", help=help)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ArgumentTypeError("write names with commas between them: a,b")
    return names


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 200:
        raise ArgumentTypeError("write a number from 1 to 200")
    return int(text)
