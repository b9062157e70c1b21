"""Names to addresses: the port, and the one that asks the operating system.

Nothing is judged here and nothing is kept: every request asks once, and what it gets is what it is judged by and
connects to. Lookups block, so they have threads of their own: a name server that hangs stops no other work.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Protocol

from bullpen.errors import EgressFailed
from bullpen.net.types import Address

LOOKUPS_AT_ONCE = 16
MOST_ANSWERS = 64


class Dns(Protocol):
    async def addresses(self, host: str) -> Sequence[Address]:
        """Every address of the name, the best first. Raises EgressFailed if it has none."""
        ...


class SystemDns:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="dns")

    async def addresses(self, host: str) -> Sequence[Address]:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)
        except OSError:
            raise EgressFailed(f"There is no host named {host}, or the name servers do not answer.") from None

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str) -> list[Address]:
    # As bytes: a text would go through another reader of international names first.
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    texts = dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found)  # an IPv6 one keeps its zone, which condemns it
    if len(texts) > MOST_ANSWERS:
        raise OSError(f"{host} has more than {MOST_ANSWERS} addresses")
    return [ip_address(text) for text in texts]
