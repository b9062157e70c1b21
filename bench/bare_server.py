"""What accepting a message is compared with: the FastAPI application that anybody would write first.

One route, one table, one durable insert; no tokens, no members, no events. Served by uvicorn with our own settings.
"""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import sys
from datetime import UTC, datetime

import uvicorn
import uvloop
from fastapi import FastAPI
from pydantic import BaseModel


class NewMessage(BaseModel):
    text: str


class Message(BaseModel):
    id: int
    space_id: str
    text: str
    created_at: str


def build(path: str) -> FastAPI:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, space_id TEXT, text TEXT, created_at TEXT)")
    app = FastAPI()

    @app.post("/spaces/{space_id}/messages", status_code=201)
    async def post_message(space_id: str, message: NewMessage) -> Message:
        now = datetime.now(UTC).isoformat()
        insert = "INSERT INTO messages (space_id, text, created_at) VALUES (?, ?, ?)"
        cursor = connection.execute(insert, (space_id, message.text, now))
        assert cursor.lastrowid is not None
        return Message(id=cursor.lastrowid, space_id=space_id, text=message.text, created_at=now)

    return app


class Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets is not None
        print(f"bare server ready on http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)


def main(path: str) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    config = uvicorn.Config(
        build(path), log_config=None, access_log=False, lifespan="off", proxy_headers=False, server_header=False
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main(sys.argv[1])
