"""Answers of the API, packed for whoever takes gzip: a list of messages shrinks to a fifth.

Packed are whole JSON answers to GET that are long enough. Streams of events, files and exports pass as they are:
nothing here waits for more than one piece of a body.

The length of what is packed tells a little of its text (BREACH): whoever can put guesses beside a secret, make somebody
fetch both again and again, and see the lengths on the wire, can find the secret out. Three things stand against that.
No answer to GET holds a token, a password or a value of a variable: those are shown once, in answers to POST, which are
never packed. No page of another origin can make a browser ask (api/edge.py). And each packed answer is longer by
a random number of bytes, so that one look says nothing.
"""

from __future__ import annotations

import asyncio
import secrets
import zlib
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bullpen.api.door import LOCAL

LEAST: Final = 1400  # bytes; what fits into one packet arrives no sooner when it is smaller
LONG: Final = 128 * 1024  # from here on a thread does it, and the loop goes on
LEVEL: Final = 1  # a tenth longer than the usual 6, in a third of the time
NOISE: Final = 64


class Packing:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _may_be_packed(scope):
            send = _Packer(send).send
        await self._app(scope, receive, send)


def _may_be_packed(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and scope["path"].startswith("/api/")
        and not scope.get(LOCAL)
        and any(name == b"accept-encoding" and _takes_gzip(value) for name, value in scope["headers"])
    )


def _takes_gzip(accepted: bytes) -> bool:
    for each in accepted.lower().split(b","):
        name, _, quality = each.partition(b";")
        if name.strip() == b"gzip":
            return quality.replace(b" ", b"").rstrip(b"0.") not in (b"q=", b"q")
    return False


class _Packer:
    """What is sent for one request. The head waits for the body, which says whether it is packed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_json(message):
            self._head = message
            return
        if self._head is not None:
            head, self._head = self._head, None
            headers = MutableHeaders(raw=list(head["headers"]))
            headers.add_vary_header("Accept-Encoding")
            body = message.get("body", b"")
            if not message.get("more_body") and len(body) >= LEAST:
                packed = pack(body) if len(body) < LONG else await asyncio.to_thread(pack, body)
                headers["Content-Encoding"] = "gzip"
                headers["Content-Length"] = str(len(packed))
                message = {**message, "body": packed}
            await self._send({**head, "headers": headers.raw})
        await self._send(message)


def _is_json(head: Message) -> bool:
    found = dict(head.get("headers", ()))
    kind = found.get(b"content-type", b"").partition(b";")[0]
    return bool(head["status"] == 200 and kind == b"application/json" and b"content-encoding" not in found)


def pack(body: bytes) -> bytes:
    """As gzip, with an extra field of random length, which readers skip (RFC 1952)."""
    noise = bytes(secrets.randbelow(NOISE))
    field = b"BP" + len(noise).to_bytes(2, "little") + noise
    head = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x04\xff" + len(field).to_bytes(2, "little") + field
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    tail = zlib.crc32(body).to_bytes(4, "little") + (len(body) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join((head, packer.compress(body), packer.flush(), tail))
