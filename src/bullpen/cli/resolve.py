"""bullpen resolve: answer a call that waits, give it the values it waits for, or cancel it.

Values come from the terminal, unseen if they are secret, or from stdin; never from arguments, which others can list.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from bullpen.cli import door, show
from bullpen.cli.failures import CommandFailed
from bullpen.client import ApiError, Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Acceptance, PendingCall

GIVE_ONE = "Give the answer as JSON, or --cancel: one of them."


def run(args: Namespace) -> int:
    if args.cancel and args.result is not None:
        raise CommandFailed(GIVE_ONE)
    result = None if args.result is None else _read(args.result)
    done = asyncio.run(_resolve(args, result))
    print(show.as_json(done) if args.json else _readable(done))
    return 0


def _read(written: str) -> Any:
    text = sys.stdin.read() if written == "-" else written
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise CommandFailed(
            f"{show.one_line(text, 40)!r} is no JSON. Write an object, as in '{{\"confirmed\": true}}'; "
            "a text needs its quotes, as in '\"yes\"'."
        ) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


async def _resolve(args: Namespace, result: Any) -> Acceptance | PendingCall:
    async with door.to_server(load_settings(data=args.data)) as bp:
        if args.cancel:
            return await bp.pending.cancel(args.call)
        if args.result is None:
            try:
                needs = await _needs(bp, args.call)
            except ApiError as error:
                raise CommandFailed(f"{error.message} {GIVE_ONE}" if error.status == 404 else str(error)) from None
            if not needs:
                raise CommandFailed(GIVE_ONE)
            _say_where(needs)
            return await bp.pending.supply(args.call, _ask_for(needs), scope=args.scope)
        if args.result != "-" and isinstance(result, dict) and isinstance(result.get("env"), dict):
            _refuse_secrets(await _needs(bp, args.call))
        return await bp.pending.resolve(args.call, result if args.scope is None else {**result, "scope": args.scope})


async def _needs(bp: Bullpen, call_id: str) -> Sequence[Mapping[str, Any]]:
    call = await bp.pending.get(call_id)
    return call.args["variables"] if call.kind == "variables" else ()


def _refuse_secrets(needs: Sequence[Mapping[str, Any]]) -> None:
    if any(need["type"] == "secret" for need in needs):
        raise CommandFailed(
            "Others can list what stands in a command. Leave the JSON out and you are asked for each value, or write "
            "- and pass it on stdin."
        )


def _say_where(needs: Sequence[Mapping[str, Any]]) -> None:
    """Before anybody types a value: who gets it."""
    for server in sorted({need["sentTo"] for need in needs if need.get("sentTo")}):
        names = ", ".join(need["name"] for need in needs if need.get("sentTo") == server)
        print(f"{names}: sent to {show.one_line(server, 100)}", file=sys.stderr)


def _ask_for(needs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    if not sys.stdin.isatty():
        if len(needs) > 1:
            names = ", ".join(need["name"] for need in needs)
            raise CommandFailed(
                f'The call waits for {names}. Pass them on stdin as JSON: {{"env": {{…}}}}, and write -.'
            )
        return {needs[0]["name"]: sys.stdin.read().removesuffix("\n")}
    return {need["name"]: _ask(need) for need in needs}


def _ask(need: Mapping[str, Any]) -> str:
    about = f" ({show.one_line(need['description'], 100)})" if need["description"] else ""
    question = f"{need['name']}{about}: "
    return getpass.getpass(question) if need["type"] == "secret" else input(question)


def _readable(done: Acceptance | PendingCall) -> str:
    if isinstance(done, PendingCall):
        return "cancelled"
    return "accepted before" if done.duplicate else "accepted"
