"""https means: the certificate is good, it is for this name, and there is no other way in."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest

from bullpen.errors import EgressDenied, EgressFailed
from bullpen.net.client import Egress
from tests.net.certificates import DAY, NOW, authority
from tests.net.servers import ELSEWHERE, PUBLIC, World, answer, redirects, says, world

URL = "https://api.example.com/"
WRONG: dict[str, Callable[[], ssl.SSLContext]] = {
    "self-signed": lambda: authority().server("api.example.com", self_signed=True),
    "another name": lambda: authority().server("other.example.com"),
    "its address only": lambda: authority().server(PUBLIC),
    "expired": lambda: authority().server("api.example.com", starts=NOW - 3 * DAY, ends=NOW - DAY),
    "not yet": lambda: authority().server("api.example.com", starts=NOW + DAY, ends=NOW + 3 * DAY),
    "unknown authority": lambda: authority("Somebody Else").server("api.example.com"),
    "too wide": lambda: authority().server("*.com"),
}


async def secure_server(made: World, tls: ssl.SSLContext) -> list[str | None]:
    """A server whose list fills with the names that clients ask for."""
    names: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: names.append(name)
    await made.server(says(answer(b"private")), port=443, tls=tls)
    return names


async def test_the_host_name_is_sent_as_sni_and_verified() -> None:
    async with world(tls=authority().client()) as made:
        names = await secure_server(made, authority().server("api.example.com"))
        for _ in range(2):
            assert (await made.egress.request("web", "GET", URL)).body == b"private"
        assert names == ["api.example.com"]
        assert made.sockets.opened == [(PUBLIC, 443)]


@pytest.mark.proves("D13")
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_a_bad_certificate_fails_without_trying_another_address(wrong: Callable[[], ssl.SSLContext]) -> None:
    async with world(tls=authority().client()) as made:
        server = await made.server(says(answer()), port=443, tls=wrong(), addresses=[PUBLIC, ELSEWHERE])
        with pytest.raises(EgressFailed, match="cannot be trusted") as failed:
            await made.egress.request("web", "POST", URL, headers={"Authorization": "CANARY"}, body=b"CANARY")
        assert not failed.value.sent
        assert server.asked == []
        assert made.sockets.opened == [(PUBLIC, 443)]


@pytest.mark.proves("D13")
async def test_a_server_without_tls_is_an_error() -> None:
    async with world(tls=authority().client()) as made:
        await made.server(says(answer()), port=443, deaf=True)
        with pytest.raises(EgressFailed, match="TLS"):
            await made.egress.request("web", "GET", URL)
        assert len(made.sockets.opened) == 1


async def test_an_address_is_trusted_if_its_certificate_names_it() -> None:
    async with world(tls=authority().client()) as made:
        await made.server(says(answer(b"ok")), port=443, tls=authority().server(PUBLIC))
        assert (await made.egress.request("web", "GET", f"https://{PUBLIC}/")).body == b"ok"
        await made.server(
            says(answer(b"ok")), port=443, tls=authority().server("2606:2800:220:1::1"), address="2606:2800:220:1::1"
        )
        assert (await made.egress.request("web", "GET", "https://[2606:2800:220:1::1]/")).body == b"ok"
        await made.server(says(answer(b"ok")), port=443, tls=authority().server("api.example.com"), address=ELSEWHERE)
        with pytest.raises(EgressFailed, match="cannot be trusted"):
            await made.egress.request("web", "GET", f"https://{ELSEWHERE}/")


async def test_a_connection_verified_for_one_name_does_not_serve_another() -> None:
    async with world(tls=authority().client()) as made:
        server = await made.server(says(answer()), port=443, tls=authority().server("api.example.com"))
        await made.egress.request("web", "GET", URL)
        made.dns.answer("bank.example.com", [PUBLIC])
        with pytest.raises(EgressFailed, match="cannot be trusted"):
            await made.egress.request("web", "GET", "https://bank.example.com/")
        assert len(server.asked) == 1


async def test_https_is_not_given_up_by_a_redirect() -> None:
    async with world(tls=authority().client()) as made:
        await made.server(redirects("http://api.example.com/"), port=443, tls=authority().server("api.example.com"))
        plain = await made.server(says(answer()))
        with pytest.raises(EgressDenied) as denied:
            await made.egress.request("web", "GET", URL)
        assert denied.value.rule == "downgrade"
        assert plain.asked == []


def test_a_context_that_verifies_nothing_is_refused() -> None:
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname = False
    with pytest.raises(ValueError, match="does not verify"):
        Egress(tls=blind)
    blind.verify_mode = ssl.CERT_NONE
    with pytest.raises(ValueError, match="does not verify"):
        Egress(tls=blind)
