"""What a large file costs a server: the memory it holds while one comes or goes, and CPU for each megabyte.

The peak is the kernel's own (VmHWM, set back before each), of a server that has seen an empty file before: what is
imported or started at the first is not what a large one costs.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from statistics import median

import httpx

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder
from bench.servers import Server

SIZE = 100 << 20
PIECE = 1 << 20
BOUNDARY = "bench"
HEAD = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'.encode()
TAIL = f"\r\n--{BOUNDARY}--\r\n".encode()


async def measure(*, quick: bool) -> Figures:
    size, rounds = (SIZE // 10, 1) if quick else (SIZE, 3)
    with folder() as data:
        async with rooms.opened(data, drive=False) as made:
            token = await made.token()
        with servers.bullpen(data) as server:
            url = f"http://127.0.0.1:{server.port}/api"
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as client:
                return await _figures(server, client, size, rounds)


async def _figures(server: Server, client: httpx.AsyncClient, size: int, rounds: int) -> Figures:
    first = await _upload(client, 0)
    await _download(client, first)
    up, down, cpu_up, cpu_down = [], [], [], []
    for _ in range(rounds):
        id = ""

        async def send() -> None:
            nonlocal id
            id = await _upload(client, size)

        memory, cpu = await _cost(server, send)
        up.append(memory)
        cpu_up.append(cpu * 1000 / (size >> 20))
        memory, cpu = await _cost(server, lambda id=id: _download(client, id))  # type: ignore[misc]
        down.append(memory)
        cpu_down.append(cpu * 1000 / (size >> 20))
        (await client.delete(f"/files/{id}")).raise_for_status()
    return {
        "files.upload_memory": max(up),
        "files.download_memory": max(down),
        "files.upload_cpu": median(cpu_up),
        "files.download_cpu": median(cpu_down),
    }


async def _cost(server: Server, work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """The most memory beyond what it had before, in MB, and CPU seconds."""
    before, cpu = server.memory(), server.cpu()
    server.forget_peak()
    await work()
    return server.peak() - before, server.cpu() - cpu


async def _upload(client: httpx.AsyncClient, size: int) -> str:
    length = len(HEAD) + size + len(TAIL)
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Length": str(length)}
    answer = await client.post("/files", content=_pieces(size), headers=headers)
    answer.raise_for_status()
    id: str = answer.json()["id"]
    return id


async def _pieces(size: int) -> AsyncIterator[bytes]:
    yield HEAD
    piece = os.urandom(PIECE)
    for _ in range(size // PIECE):
        yield piece
    yield TAIL


async def _download(client: httpx.AsyncClient, id: str) -> None:
    async with client.stream("GET", f"/files/{id}/content") as answer:
        answer.raise_for_status()
        async for _ in answer.aiter_raw():
            pass
