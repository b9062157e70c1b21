"""A server that speaks as model providers do and costs little: it plays the story of `rooms.py`, or a long stream.

The model's name says what: `story` gives the next step of the story, by how many results it was shown; `stream-N` gives
a text of N pieces, each in a packet of its own; `late-N` is silent for N milliseconds, and then says little; `clock`
sends a message that begins with the time at which it was sent; `says-N` sends one of N bytes, which ends with `END`.
"""

from __future__ import annotations

import asyncio
import socket
import time
from functools import cache

import orjson
import uvloop

from bullpen.testing.model_server import chunked
from bullpen.testing.wires import PATHS, Answer, Part, Text, Wanted, Wire, frames

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
RESULTS = (b'"tool_result"', b'"function_call_output"', b'"role":"tool"')
STORY: list[list[Part]] = [
    [Wanted("c1", "search_memory", '{"query":"green tea"}')],
    [
        Wanted("c2", "store_memory", '{"content":"Somebody said something about the warehouse."}'),
        Wanted("c3", "send_message", '{"text":"I have noted that the meeting was moved to Thursday."}'),
    ],
    [Text("That is all.")],
]
PARAGRAPH = (
    "A point of **some weight**, with `code`, and a sentence that goes on for a while.\n\n- one thing\n- another\n\n"
)
END = "\n\nThat is the end."
STEP = {0: 0, 1: 1, 3: 2}  # by the number of results that it was shown


@cache
def story(wire: Wire, step: int) -> bytes:
    return b"".join(chunked(frame) for frame in frames(wire, Answer(STORY[step], piece=16))) + b"0\r\n\r\n"


@cache
def stream(wire: Wire, count: int) -> list[bytes]:
    text = "word " * count
    return [chunked(frame) for frame in frames(wire, Answer([Text(text)], piece=5))]


def said(wire: Wire, parts: list[Part], piece: int = 64) -> list[bytes]:
    return [chunked(frame) for frame in frames(wire, Answer(parts, piece=piece))]


async def tell_the_time(wire: Wire, body: bytes, writer: asyncio.StreamWriter) -> None:
    if any(mark in body for mark in RESULTS):
        writer.write(b"".join(said(wire, [Text("")])) + b"0\r\n\r\n")
        return
    await asyncio.sleep(0.02)  # the office has nothing else to do by then
    text = f"at {time.monotonic_ns()}, and then some more words that take their time"
    for piece in said(wire, [Wanted("c1", "send_message", orjson.dumps({"text": text}).decode())], piece=32):
        writer.write(piece)
        await asyncio.sleep(0.002)
    writer.write(b"0\r\n\r\n")


async def speak_at_length(wire: Wire, body: bytes, writer: asyncio.StreamWriter, size: int) -> None:
    """As fast as models do that are fast, and marked up as what they say."""
    if any(mark in body for mark in RESULTS):
        writer.write(b"".join(said(wire, [Text("")])) + b"0\r\n\r\n")
        return
    text = (PARAGRAPH * (size // len(PARAGRAPH) + 1))[: size - len(END)] + END
    for piece in said(wire, [Wanted("c1", "send_message", orjson.dumps({"text": text}).decode())], piece=40):
        writer.write(piece)
        await asyncio.sleep(0.004)
    writer.write(b"0\r\n\r\n")


async def answer(path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
    wire = PATHS[path]
    name: str = orjson.loads(body)["model"]
    writer.write(HEAD)
    if name == "story":
        writer.write(story(wire, STEP[max(body.count(mark) for mark in RESULTS)]))
        return
    if name.startswith("late-"):
        await asyncio.sleep(int(name.removeprefix("late-")) / 1000)
        writer.write(b"".join(said(wire, [Text("")])) + b"0\r\n\r\n")
        return
    if name == "clock":
        await tell_the_time(wire, body, writer)
        return
    if name.startswith("says-"):
        await speak_at_length(wire, body, writer, int(name.removeprefix("says-")))
        return
    for piece in stream(wire, int(name.removeprefix("stream-"))):
        writer.write(piece)
        await asyncio.sleep(0)
    writer.write(b"0\r\n\r\n")


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = int(head.lower().partition("content-length:")[2].partition("\r\n")[0])
            await answer(head.split(" ")[1], await reader.readexactly(length), writer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = await asyncio.start_server(serve, sock=listening)
    print(f"model server ready on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
