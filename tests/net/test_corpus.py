"""Hostile URLs open no socket: not when asked for, by whatever use, and not when a public server redirects to them."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.errors import EgressDenied
from bullpen.net import urls
from bullpen.net.allowance import Allowance
from tests.net.corpus import USES, Hostile, hostile
from tests.net.servers import Asked, World, answer, world

CORPUS = hostile()


def tell(made: World, one: Hostile) -> None:
    """What the name server says of this URL's host, if anybody can read it at all."""
    try:
        made.dns.answer(urls.parse(one.url).origin.host, one.addresses)
    except EgressDenied:
        return


def test_the_corpus_is_large_and_holds_nothing_twice() -> None:
    assert len(CORPUS) >= 200
    assert len({one.url for one in CORPUS}) == len(CORPUS)
    assert len(USES) >= 9


@pytest.mark.proves("D1", "D2", "D3", "D4", "D9", "D14")
async def test_no_hostile_url_opens_a_socket_for_any_use() -> None:
    async with world() as made:
        for one in CORPUS:
            tell(made, one)
            for use in USES:
                with pytest.raises(EgressDenied) as denied:
                    await made.egress.request(use, "GET", one.url)
                assert not denied.value.sent, one
                assert made.sockets.opened == [], one


@pytest.mark.proves("D11")
async def test_a_listing_for_one_use_does_not_affect_other_uses() -> None:
    near = ["http://127.0.0.1", "http://10.0.0.1", "http://localhost", "http://private.example.com", "http://[::1]"]
    async with world(Allowance({"gateway:lights": near})) as made:
        for one in CORPUS:
            tell(made, one)
            with pytest.raises(EgressDenied):
                await made.egress.request("gateway:weather", "GET", one.url)
        assert made.sockets.opened == []


@pytest.mark.proves("D6")
async def test_no_redirect_to_a_hostile_url_opens_a_second_socket() -> None:
    location = ""

    async def redirect(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"", "302 Found", Location=location))

    async with world() as made:
        server = await made.server(redirect, name="start.example.com", address="93.184.215.200")
        refused = 0
        for one in CORPUS:
            if not _fits_a_header(one.url) or not urls._SCHEME.match(one.url):
                continue
            tell(made, one)
            location = one.url
            with pytest.raises(EgressDenied) as denied:
                await made.egress.request("web", "GET", "http://start.example.com/")
            assert denied.value.sent
            refused += 1
        assert refused > 200
        assert len(server.asked) == refused
        assert {address for address, _ in made.sockets.opened} == {"93.184.215.200"}


def _fits_a_header(url: str) -> bool:
    """Others are cut short or refused by any HTTP parser, and so lead somewhere else."""
    return url.isprintable() and url.isascii() and url == url.strip()


@pytest.mark.proves("D17")
@pytest.mark.parametrize(
    "named",
    ["http://169.254.169.254/", "http://127.0.0.1:8420/api/keys", "javascript:alert(1)", "file:///etc/passwd"],
)
async def test_a_url_named_in_a_response_is_checked_too(named: str) -> None:
    """As in signing in to a tool server: its 401 says where to ask next, and that may be anywhere."""

    async def refuse(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"", "401 Unauthorized", WWW_Authenticate=f'Bearer resource_metadata="{named}"'))

    async with world() as made:
        await made.server(refuse, name="tools.example.com")
        first = await made.egress.request("mcp:tools", "POST", "http://tools.example.com/mcp")
        told = first.headers["www-authenticate"].partition('"')[2].rstrip('"')
        opened = list(made.sockets.opened)
        with pytest.raises(EgressDenied):
            await made.egress.request("mcp:tools", "GET", told)
        assert made.sockets.opened == opened
