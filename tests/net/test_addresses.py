"""Which addresses are connected to, whatever the name server says."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bullpen.errors import EgressDenied, EgressFailed, EgressTimeout
from bullpen.net import rules
from bullpen.net.allowance import Allowance
from bullpen.net.types import Address, Limits
from tests import effort
from tests.net.servers import ELSEWHERE, PUBLIC, answer, says, world

# The registries of special addresses, as somebody else would write them down: first address, length.
SPECIAL = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
    168.63.129.16/32 ::/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 4000::/2 8000::/1
""".split()  # noqa: SIM905
NETWORKS = [ip_network(text) for text in SPECIAL]


def plainly_public(address: Address) -> bool:
    """The oracle: outside of every special block, by integers."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
    for network in NETWORKS:
        shift = network.max_prefixlen - network.prefixlen
        if network.version == address.version and int(network.network_address) >> shift == int(address) >> shift:
            return False
    return True


def inside(text: str) -> st.SearchStrategy[Address]:
    network = ip_network(text)
    first, last = int(network[0]), int(network[-1])
    make = IPv4Address if network.version == 4 else IPv6Address
    return st.integers(first, last).map(make)


def wrapped(address: Address) -> st.SearchStrategy[Address]:
    """An IPv4 address in every IPv6 form that holds one."""
    number = int(address)
    forms = [
        number,
        0xFFFF << 32 | number,
        0x64FF9B << 96 | number,
        0x64FF9B0001 << 80 | number,
        0x2002 << 112 | number << 80,
        0x20010000 << 96 | (number ^ 0xFFFFFFFF),
    ]
    return st.sampled_from([IPv6Address(form) for form in forms])


addresses = st.one_of(
    st.ip_addresses(v=4),
    st.ip_addresses(v=6),
    st.ip_addresses(v=6, network="2000::/3"),
    *(inside(text) for text in SPECIAL),
    st.ip_addresses(v=4).flatmap(wrapped),
    st.builds(lambda a: IPv6Address(f"{a}%eth0"), st.ip_addresses(v=6, network="2000::/3")),
)


@settings(max_examples=effort.count(1000, sample=150))
@given(address=addresses)
@example(address=ip_address("64:ff9b::a9fe:a9fe"))
@example(address=ip_address("::ffff:8.8.8.8"))
@example(address=ip_address("192.0.0.192"))
def test_an_address_is_public_only_if_no_registry_says_otherwise(address: Address) -> None:
    if rules.is_public(address):
        assert plainly_public(address)


ORDINARY = """
    8.8.8.8 1.1.1.1 93.184.215.14 151.101.1.69 2606:2800:220:1::1 2a00:1450:4001:82a::200e ::ffff:8.8.8.8
    100.63.255.255 100.128.0.1 172.32.0.1 172.15.255.255 169.253.255.255 168.63.129.15 198.17.255.255
    198.20.0.1 223.255.255.254 2001:200::1 2003::1 192.0.1.1
"""


@pytest.mark.parametrize("text", ORDINARY.split())
def test_ordinary_addresses_are_public(text: str) -> None:
    assert rules.is_public(ip_address(text))


@pytest.mark.proves("D3", "D4", "P11")
@settings(max_examples=effort.count(300, sample=50))
@given(found=st.lists(addresses, min_size=1, max_size=5), listed=st.booleans())
async def test_no_socket_opens_to_nonpublic_addresses_whatever_dns_says(found: list[Address], listed: bool) -> None:
    allowance = Allowance({"gateway:other": ["http://name.example.com"]} if listed else {})
    async with world(allowance) as made:
        made.dns.answer("name.example.com", [str(address) for address in found])
        with pytest.raises((EgressDenied, EgressFailed)) as raised:
            await made.egress.request("web", "GET", "http://name.example.com/")
        opened = [ip_address(address) for address, _ in made.sockets.opened]
        assert all(plainly_public(address) for address in opened)
        if not all(plainly_public(address) for address in found):
            assert opened == []
            assert isinstance(raised.value, EgressDenied)
        assert made.dns.asked == ["name.example.com"]


@pytest.mark.proves("D5")
async def test_a_name_is_resolved_once_and_the_checked_address_used() -> None:
    async with world() as made:
        await made.server(says(answer(b"public")), name="rebind.example.com")
        made.dns.answer("rebind.example.com", [PUBLIC], ["127.0.0.1"])
        got = await made.egress.request("web", "GET", "http://rebind.example.com/")
        assert got.body == b"public"
        assert made.dns.asked == ["rebind.example.com"]
        assert made.sockets.opened == [(PUBLIC, 80)]


@pytest.mark.proves("D5")
async def test_an_open_connection_is_not_reused_after_dns_turns_private() -> None:
    async with world() as made:
        server = await made.server(says(answer()), name="rebind.example.com")
        made.dns.answer("rebind.example.com", [PUBLIC], [PUBLIC], ["10.0.0.1"])
        for _ in range(2):
            await made.egress.request("web", "GET", "http://rebind.example.com/")
        assert made.sockets.opened == [(PUBLIC, 80)]  # one connection, used twice
        with pytest.raises(EgressDenied, match="not on the public internet"):
            await made.egress.request("web", "GET", "http://rebind.example.com/")
        assert len(server.asked) == 2


@pytest.mark.proves("D11")
async def test_a_connection_opened_for_one_use_does_not_serve_another() -> None:
    """The name is listed for one tool and leads inward; for another it pretends, for a moment, to be public."""
    async with world(Allowance({"gateway:lights": ["http://home.example.com"]})) as made:
        inward = await made.server(says(answer(b"secret")), name="home.example.com", address="10.0.0.5")
        outward = await made.server(says(answer(b"public")), name="home.example.com", address=PUBLIC)
        made.dns.answer("home.example.com", ["10.0.0.5"], [PUBLIC])
        assert (await made.egress.request("gateway:lights", "GET", "http://home.example.com/")).body == b"secret"
        assert (await made.egress.request("web", "GET", "http://home.example.com/")).body == b"public"
        assert (len(inward.asked), len(outward.asked)) == (1, 1)


@pytest.mark.proves("D11")
@pytest.mark.parametrize("url", ["http://10.0.0.5:8123", "http://localhost:11434", "http://box.local:9000"])
async def test_a_listed_private_host_is_open_to_its_use_alone(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    address = host if host[0] == "1" else "127.0.0.1"
    async with world(Allowance({"gateway:lights": [f"{url}/some/path"]})) as made:
        server = await made.server(says(answer(b"on")), name=host, address=address, port=int(port))
        assert (await made.egress.request("gateway:lights", "POST", f"{url}/api", body=b"{}")).body == b"on"
        for use in ("gateway:weather", "gateway:light", "gateway", "gateway:lights2", "web", "model", ""):
            with pytest.raises(EgressDenied):
                await made.egress.request(use, "POST", f"{url}/api", body=b"{}")
        assert len(server.asked) == 1
        for other in (f"http://{host}", f"https://{host}:{port}", f"http://{host}:{int(port) + 1}"):
            with pytest.raises(EgressDenied):
                await made.egress.request("gateway:lights", "GET", other)
        assert made.sockets.opened == [(address, int(port))]


@pytest.mark.parametrize("address", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1", "100.100.100.200", "::"])
async def test_a_listed_name_never_reaches_metadata_services_or_invalid_hosts(address: str) -> None:
    async with world(Allowance({"gateway:lights": ["http://home.example.com"]})) as made:
        made.dns.answer("home.example.com", [address])
        with pytest.raises(EgressDenied, match="nobody may list"):
            await made.egress.request("gateway:lights", "GET", "http://home.example.com/")
        assert made.sockets.opened == []


async def test_a_metadata_service_is_reachable_if_listed_by_address() -> None:
    async with world(Allowance({"gateway:iam": ["http://169.254.169.254"]})) as made:
        await made.server(says(answer(b"role")), name="x.example.com", address="169.254.169.254")
        assert (await made.egress.request("gateway:iam", "GET", "http://169.254.169.254/")).body == b"role"
    async with world(Allowance({"gateway:iam": ["http://0.0.0.0", "http://224.0.0.1"]})) as made:
        for url in ("http://0.0.0.0/", "http://224.0.0.1/"):
            with pytest.raises(EgressDenied):
                await made.egress.request("gateway:iam", "GET", url)
        assert made.sockets.opened == []


async def test_a_listing_can_be_revoked_while_a_connection_is_open() -> None:
    async with world(Allowance({"model": ["http://10.0.0.5:8000/v1"]})) as made:
        await made.server(says(answer()), name="x.example.com", address="10.0.0.5", port=8000)
        await made.egress.request("model", "GET", "http://10.0.0.5:8000/v1/models")
        made.egress.allowance.set("model", [])
        with pytest.raises(EgressDenied):
            await made.egress.request("model", "GET", "http://10.0.0.5:8000/v1/models")
        made.egress.allowance.add("model", "http://10.0.0.5:8000")
        await made.egress.request("model", "GET", "http://10.0.0.5:8000/v1/models")
        assert len(made.sockets.opened) == 1


async def test_an_unreachable_address_is_skipped_and_the_working_one_remembered() -> None:
    async with world() as made:
        await made.server(says(answer()), addresses=[ELSEWHERE, "2606:2800:220:1::1", PUBLIC])
        await made.egress.request("web", "GET", "http://api.example.com/")
        assert [address for address, _ in made.sockets.opened] == [ELSEWHERE, "2606:2800:220:1::1", PUBLIC]
        await made.egress.request("web", "GET", "http://api.example.com/")
        assert len(made.sockets.opened) == 3  # the connection that worked is still there
        made.dns.answer("api.example.com", [ELSEWHERE])
        with pytest.raises(EgressFailed, match="cannot be reached"):
            await made.egress.request("web", "GET", "http://api.example.com/")


async def test_a_silent_address_uses_only_its_share_of_the_timeout() -> None:
    async with world(limits=Limits(connect=1.0)) as made:
        await made.server(says(answer()), addresses=[ELSEWHERE, PUBLIC])
        made.sockets.be_silent(ELSEWHERE, 80)
        assert (await made.egress.request("web", "GET", "http://api.example.com/")).status == 200
        made.sockets.be_silent(PUBLIC, 80)
        made.dns.answer("other.example.com", [ELSEWHERE, PUBLIC])
        with pytest.raises(EgressTimeout, match="reached in time") as late:
            await made.egress.request("web", "GET", "http://other.example.com/")
        assert not late.value.sent


def test_address_families_alternate_and_only_a_few_are_tried() -> None:
    found = [ip_address(text) for text in ("2606::1", "2606::2", "2606::3", "8.8.8.8", "8.8.4.4", "2606::1")]
    assert [str(a) for a in rules.in_turn(found, None, 4)] == ["2606::1", "8.8.8.8", "2606::2", "8.8.4.4"]
    assert [str(a) for a in rules.in_turn(found, ip_address("8.8.4.4"), 3)] == ["8.8.4.4", "2606::1", "8.8.8.8"]
    assert [str(a) for a in rules.in_turn(found[:1], ip_address("8.8.4.4"), 3)] == ["2606::1"]
    assert rules.in_turn([], None, 3) == []


async def test_a_silent_name_server_times_out() -> None:
    async with world(limits=Limits(connect=0.05)) as made:
        made.dns.be_silent("slow.example.com")
        with pytest.raises(EgressTimeout, match="name servers") as late:
            await made.egress.request("web", "GET", "http://slow.example.com/")
        assert not late.value.sent
        with pytest.raises(EgressFailed, match="no host named"):
            await made.egress.request("web", "GET", "http://unknown.example.com/")
        assert made.sockets.opened == []
