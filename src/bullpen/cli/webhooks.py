"""bullpen webhooks: list addresses that are told when something waits for you, make one, try it, end it.

`create` prints what deliveries are signed with, alone, so that it can be piped to whoever checks them. It is shown this
once. `test` fails unless the receiver took it.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from bullpen.cli import door, show
from bullpen.cli.hooks import show_page
from bullpen.client import Bullpen
from bullpen.settings import load_settings
from bullpen.wire.nouns import Delivery, Webhook, WebhookTest


def run(args: Namespace) -> int:
    return asyncio.run(_run(args))


async def _run(args: Namespace) -> int:
    async with door.to_server_or_folder(load_settings(data=args.data)) as bp:
        match args.action:
            case "create":
                made = await bp.webhooks.create(args.url, events=args.events, members=args.members)
                print(show.as_json(made) if args.json else made.secret)
                print(f"{made.id} is signed with this. Keep it: it is not shown again.", file=sys.stderr)
            case "delete":
                await bp.webhooks.delete(args.id)
            case "enable" | "disable":
                await bp.webhooks.update(args.id, enabled=args.action == "enable")
            case "test":
                return _tell(await bp.webhooks.test(args.id), args)
            case "deliveries":
                await _deliveries(bp, args)
            case _:
                await _list(bp, args)
    return 0


def _tell(found: WebhookTest, args: Namespace) -> int:
    if args.json:
        print(show.as_json(found))
    elif found.delivered:
        print(f"It answered with status {found.status} after {found.ms} ms.")
    else:
        print(f"bullpen: {found.error}", file=sys.stderr)
    return 0 if found.delivered else 1


async def _list(bp: Bullpen, args: Namespace) -> None:
    page = await bp.webhooks.list(limit=args.limit, cursor=args.cursor)
    nothing = "No webhooks yet. Make one with `bullpen webhooks create URL`."
    show_page(page, args, ("WEBHOOK", "OF", "URL", "EVENTS", "STATE"), _row, nothing)


def _row(webhook: Webhook) -> tuple[str, ...]:
    state = "on" if webhook.enabled else f"off: {webhook.reason}"
    if webhook.enabled and webhook.failures:
        state = f"on, {webhook.failures} failed: {webhook.last_error}"
    return (
        webhook.id,
        webhook.person_id,
        show.one_line(webhook.url, 60),
        ", ".join(webhook.events),
        show.one_line(state, 80),
    )


async def _deliveries(bp: Bullpen, args: Namespace) -> None:
    page = await bp.webhooks.deliveries(args.id, limit=args.limit, cursor=args.cursor)
    headings = ("DELIVERY", "EVENT", "ABOUT", "STATUS", "ATTEMPTS", "CAME BACK")
    show_page(page, args, headings, _delivery, "It was told nothing yet.")


def _delivery(each: Delivery) -> tuple[str, ...]:
    back = each.last_error or str(each.last_status or "-")
    return (each.id, each.type, each.subject_id, each.status, str(each.attempts), show.one_line(back, 80))
