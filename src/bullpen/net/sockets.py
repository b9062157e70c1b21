"""Opening a TCP connection to one address that was judged: the port, and the real one.

The last function before the network. It gets an address and never a name, so nothing can be resolved a second time.
Tests put another in its place that counts, and that leads to a server on this machine.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack
from typing import Protocol

from bullpen.net.types import Address


class Opener(Protocol):
    async def open(self, address: Address, port: int) -> socket.socket:
        """A connected socket that does not block. Raises OSError."""
        ...


class TcpOpener:
    async def open(self, address: Address, port: int) -> socket.socket:
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        connection = socket.socket(family, socket.SOCK_STREAM)
        with ExitStack() as undo:
            undo.callback(connection.close)
            connection.setblocking(False)
            await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
            undo.pop_all()
        return connection
