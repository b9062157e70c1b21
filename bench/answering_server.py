"""A server that costs next to nothing: the same answer to every request, at once. Clients are measured by it."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

import uvloop

BODY = b'{"ok": true, "text": "' + b"x" * 200 + b'"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Answering(asyncio.Protocol):
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(ANSWER)


async def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = await asyncio.get_running_loop().create_server(Answering, sock=listening)
    print(f"answering server ready on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
