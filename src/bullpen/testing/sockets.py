"""Sockets that never leave this machine: each is counted, and leads to a local server instead of its own address.

What a test counts is `opened`: the addresses that somebody tried to connect to, whether or not anything answers there.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

from bullpen.net.sockets import TcpOpener
from bullpen.net.types import Address


class LocalSockets:
    def __init__(self) -> None:
        self.opened: list[tuple[str, int]] = []
        self._leads: dict[tuple[str, int], int] = {}
        self._silent: set[tuple[str, int]] = set()

    def lead(self, address: str, port: int, *, to: int) -> None:
        """Connections to that address and port go to a port of this machine."""
        self._leads[str(ip_address(address)), port] = to

    def be_silent(self, address: str, port: int) -> None:
        """Nothing there ever answers, not even with a refusal."""
        self._silent.add((str(ip_address(address)), port))

    async def open(self, address: Address, port: int) -> socket.socket:
        where = str(address), port
        self.opened.append(where)
        if where in self._silent:
            await asyncio.Event().wait()
        if where not in self._leads:
            raise ConnectionRefusedError(f"no test server stands for {where}")
        return await TcpOpener().open(ip_address("127.0.0.1"), self._leads[where])
