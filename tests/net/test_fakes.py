"""The fakes we ship behave as what they stand for: one set of tests for both."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address

import pytest

from bullpen.net.dns import Dns, SystemDns
from bullpen.net.sockets import Opener, TcpOpener
from bullpen.testing.dns import FakeDns
from bullpen.testing.sockets import LocalSockets
from tests.net.servers import SECONDS

HERE = ip_address("127.0.0.1")


def local_sockets(port: int) -> LocalSockets:
    made = LocalSockets()
    made.lead("127.0.0.1", port, to=port)
    return made


@pytest.mark.parametrize("make", [lambda: FakeDns({"localhost": ["127.0.0.1"]}), SystemDns], ids=["fake", "real"])
async def test_a_name_has_addresses(make: Callable[[], Dns]) -> None:
    dns = make()
    found = await dns.addresses("localhost")
    assert HERE in found or ip_address("::1") in found
    assert len(set(found)) == len(found)
    if isinstance(dns, SystemDns):
        dns.close()


@pytest.mark.parametrize("make", [local_sockets, lambda _port: TcpOpener()], ids=["fake", "real"])
async def test_a_socket_is_opened_and_connected(make: Callable[[int], Opener]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        opened = await make(listening.getsockname()[1]).open(HERE, listening.getsockname()[1])
        accepted, _ = listening.accept()
        with opened, accepted:
            assert opened.gettimeout() == 0
            accepted.sendall(b"hello")
            async with asyncio.timeout(SECONDS):
                assert await asyncio.get_running_loop().sock_recv(opened, 5) == b"hello"


@pytest.mark.parametrize("make", [lambda _port: LocalSockets(), lambda _port: TcpOpener()], ids=["fake", "real"])
async def test_where_nobody_listens_there_is_no_socket(make: Callable[[int], Opener]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(OSError, match=r"."):
        await make(port).open(HERE, port)


async def test_an_ipv6_address_is_connected_to_as_one() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        listening = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with listening:
        opened = await TcpOpener().open(ip_address("::1"), listening.getsockname()[1])
        assert opened.getpeername()[:2] == listening.getsockname()[:2]
        opened.close()
