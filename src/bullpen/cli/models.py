"""bullpen models: list connections and what they offer, make one, price a model, try one, end one.

A key comes from the terminal, unseen, or from stdin; never from the arguments, which others can list. An address in
this network is opened by an owner on the page: here is said where.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
from argparse import Namespace
from typing import Any

from bullpen.cli import door, show
from bullpen.cli.failures import CommandFailed
from bullpen.client import Bullpen
from bullpen.settings import Settings, load_settings
from bullpen.wire.nouns import ConnectionProvider, ModelConnection, ModelPrice, OfferedModel

PROVIDERS: dict[str, ConnectionProvider] = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai-chat"}


def run(args: Namespace) -> int:
    key = _read_key() if args.action == "add" and args.key else None
    return asyncio.run(_run(args, key))


def _read_key() -> str:
    key = getpass.getpass("Key: ") if sys.stdin.isatty() else sys.stdin.read().strip()
    if not key:
        raise CommandFailed("No key was given, so nothing is changed.")
    return key


async def _run(args: Namespace, key: str | None) -> int:
    settings = load_settings(data=args.data)
    async with door.to_server_or_folder(settings) as bp:
        match args.action:
            case "add":
                await _add(bp, args, key, settings)
            case "check":
                return await _check(bp, args)
            case "price":
                await _price(bp, args)
            case "default":
                await bp.models.update((await _find(bp, args.id)).id, default_model=args.model)
            case "remove":
                await bp.models.delete((await _find(bp, args.id)).id)
            case "list" if getattr(args, "id", None):
                await _offered(bp, args)
            case _:
                await _list(bp, args)
    return 0


async def _find(bp: Bullpen, said: str) -> ModelConnection:
    found = (await bp.models.list()).items
    for each in found:
        if each.id == said:
            return each
    named = [each for each in found if each.name.casefold() == said.casefold()]
    if not named:
        raise CommandFailed(f"There is no connection {said!r}. `bullpen models` lists them.")
    return named[0]


async def _add(bp: Bullpen, args: Namespace, key: str | None, settings: Settings) -> None:
    provider = PROVIDERS.get(args.where)
    address = {} if provider is not None else {"base_url": args.where}
    made = await bp.models.connect(provider or "openai-chat", name=args.name, api_key=key, **address)
    print(made.id)
    if made.needs_confirming:
        page = settings.public_url or f"http://{settings.host}:{settings.port}"
        print(f"{made.base_url} is in your own network. An owner opens it on the page: {page}/models", file=sys.stderr)


async def _check(bp: Bullpen, args: Namespace) -> int:
    connection = await _find(bp, args.id)
    found = await bp.models.check({"connection": connection.id, "name": args.model})
    if args.json:
        print(show.as_json(found))
    else:
        print(show.plain(found.message), file=sys.stdout if found.answered else sys.stderr)
    return 0 if found.answered else 1


async def _price(bp: Bullpen, args: Namespace) -> None:
    connection = await _find(bp, args.id)
    said: dict[str, Any] = {"price": {"input": args.input, "output": args.output, "cached": args.cached}}
    if args.context is not None:
        said["contextTokens"] = args.context
    await bp.models.update(connection.id, models={args.model: said})


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.models.list()
    if args.json:
        print(show.as_json({"items": [item.model_dump(by_alias=True, mode="json") for item in page]}))
    elif page.items:
        print(show.table(("CONNECTION", "NAME", "WHERE", "KEY", "AGENTS", "NEW AGENTS"), map(_row, page)))
    else:
        print("No connections yet. Make one with `bullpen models add anthropic --key`.", file=sys.stderr)


def _row(each: ModelConnection) -> tuple[str, ...]:
    where = each.base_url or each.provider
    if each.needs_confirming:
        where += " (not opened yet)"
    key = "set" if each.has_key else "missing" if each.api_key_variable else "none"
    return (each.id, each.name, where, key, str(len(each.agents)), each.default_model or "-")


async def _offered(bp: Bullpen, args: Namespace) -> None:
    page = await bp.models.offered((await _find(bp, args.id)).id)
    if args.json:
        print(show.as_json({"items": [item.model_dump(by_alias=True, mode="json") for item in page]}))
        return
    if page.items:
        print(show.table(("MODEL", "OFFERED", "IN", "OUT", "CACHED", "CONTEXT"), map(_model, page)))
    else:
        print("It offers none, or could not be asked: `bullpen models check ID MODEL` says why.", file=sys.stderr)


def _model(each: OfferedModel) -> tuple[str, ...]:
    size = "-" if each.context_tokens is None else str(each.context_tokens)
    return (each.name, "yes" if each.offered else "no", *_dollars(each.price), size)


def _dollars(price: ModelPrice | None) -> tuple[str, str, str]:
    if price is None:
        return ("no price set", "-", "-")
    cached = price.input if price.cached is None else price.cached
    return (f"{price.input:g}", f"{price.output:g}", f"{cached:g}")
