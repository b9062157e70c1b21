"""Redirects: each hop is a request of its own, and carries nothing that was meant for somebody else."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.errors import EgressDenied, EgressFailed
from bullpen.net.allowance import Allowance
from bullpen.net.types import Limits
from tests.net.servers import ELSEWHERE, Asked, Server, World, answer, redirects, says, world

START = "http://api.example.com/start"
SECRET = {"Authorization": "Bearer CANARY-1", "X-Api-Key": "CANARY-2", "Cookie": "s=CANARY-3", "Accept": "text/plain"}


async def two_servers(made: World, status: str) -> tuple[Server, Server]:
    first = await made.server(redirects("http://other.example.com/next", status))
    second = await made.server(says(answer(b"arrived")), name="other.example.com", address=ELSEWHERE)
    return first, second


@pytest.mark.proves("D6")
@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "http://inward.example.com/", "http://localhost/", "//127.0.0.1/x"]
)
async def test_a_redirect_inward_is_refused_at_the_hop(target: str) -> None:
    async with world() as made:
        await made.server(redirects(target))
        made.dns.answer("inward.example.com", ["192.168.1.1"])
        with pytest.raises(EgressDenied) as denied:
            await made.egress.request("web", "GET", START)
        assert denied.value.sent
        assert len(made.sockets.opened) == 1


@pytest.mark.proves("D5", "D6")
@pytest.mark.parametrize("inward", ["127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "64:ff9b::a9fe:a9fe"])
@pytest.mark.parametrize("hops", [1, 2])
async def test_a_name_that_turns_inward_between_hops_is_refused(inward: str, hops: int) -> None:
    """A redirect to one's own name is asked for anew: with a second answer of the name server, and a mix of answers."""
    async with world() as made:
        again = answer(b"", "302 Found", Location=START, Connection="close")
        server = await made.server(says(again))
        for last in ([inward], ["93.184.215.14", inward]):
            before = len(made.sockets.opened)
            made.dns.answer("api.example.com", *[["93.184.215.14"]] * hops, last)
            with pytest.raises(EgressDenied) as denied:
                await made.egress.request("web", "GET", START)
            assert denied.value.sent
            assert {address for address, _ in made.sockets.opened[before:]} <= {"93.184.215.14"}
        assert len(server.asked) == 2 * hops


@pytest.mark.proves("D6")
@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "javascript:alert(1)", "data:,x"]
)
async def test_a_redirect_to_another_scheme_is_refused(target: str) -> None:
    async with world() as made:
        await made.server(redirects(target))
        with pytest.raises(EgressDenied):
            await made.egress.request("web", "GET", START)
        assert len(made.sockets.opened) == 1


@pytest.mark.proves("D6")
async def test_five_hops_are_followed_and_a_sixth_is_an_error() -> None:
    async def count_down(asked: Asked, writer: asyncio.StreamWriter) -> None:
        left = int(asked.target[1:])
        writer.write(answer(b"done") if left == 0 else answer(b"", "302 Found", Location=f"/{left - 1}"))

    async with world() as made:
        server = await made.server(count_down)
        got = await made.egress.request("web", "GET", "http://api.example.com/5")
        assert (got.body, str(got.url)) == (b"done", "http://api.example.com/0")
        with pytest.raises(EgressFailed, match="more than 5 times") as failed:
            await made.egress.request("web", "GET", "http://api.example.com/6")
        assert failed.value.sent
        assert len(server.asked) == 12
        assert len(made.dns.asked) == 12  # each hop is resolved and judged anew
        none = Limits(hops=0)
        with pytest.raises(EgressFailed):
            await made.egress.request("web", "GET", "http://api.example.com/1", limits=none)


@pytest.mark.proves("D6")
async def test_a_loop_ends() -> None:
    async with world() as made:
        server = await made.server(redirects(START))
        with pytest.raises(EgressFailed):
            await made.egress.request("web", "GET", START)
        assert len(server.asked) == 6


@pytest.mark.proves("D7")
@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_redirect_resending_a_body_to_another_origin_is_refused(status: str, method: str) -> None:
    async with world() as made:
        first, second = await two_servers(made, status)
        with pytest.raises(EgressDenied, match=r"other\.example\.com") as denied:
            await made.egress.request("gateway:pay", method, START, headers=SECRET, body=b"CANARY-4")
        assert denied.value.rule == "redirect"
        assert len(first.asked) == 1
        assert second.asked == []
        assert len(made.sockets.opened) == 1


@pytest.mark.proves("D7")
@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent"]
)
async def test_a_get_goes_on_to_another_origin_without_its_secrets(status: str) -> None:
    async with world() as made:
        first, second = await two_servers(made, status)
        got = await made.egress.request("web", "GET", START, headers=SECRET)
        assert got.body == b"arrived"
        assert "CANARY" in str(first.asked[0].headers)
        assert "CANARY" not in str(second.asked)
        assert second.asked[0].headers["accept"] == "text/plain"
        assert second.asked[0].headers["host"] == "other.example.com"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other"])
async def test_a_redirected_post_becomes_a_get_without_body_or_secret(status: str) -> None:
    async with world() as made:
        _, second = await two_servers(made, status)
        await made.egress.request(
            "web", "POST", START, headers={**SECRET, "Content-Type": "text/plain"}, body=b"CANARY-4"
        )
        assert second.asked[0].method == "GET"
        assert second.asked[0].body == b""
        assert "CANARY" not in str(second.asked)
        assert "content-type" not in second.asked[0].headers


async def test_on_the_same_origin_a_307_repeats_the_request_whole() -> None:
    async with world() as made:
        server = await made.server(says(answer(b"", "307 Temporary Redirect", Location="/next"), answer(b"done")))
        got = await made.egress.request("gateway:pay", "POST", START, headers=SECRET, body=b"payload")
        assert got.body == b"done"
        assert [asked.method for asked in server.asked] == ["POST", "POST"]
        assert [asked.body for asked in server.asked] == [b"payload", b"payload"]
        assert server.asked[1].headers["authorization"] == SECRET["Authorization"]


async def test_a_streamed_body_is_not_sent_twice() -> None:
    async def body() -> object:
        yield b"once"

    async with world() as made:
        server = await made.server(redirects("/next", "307 Temporary Redirect"))
        with pytest.raises(EgressDenied, match="streamed"):
            await made.egress.request("gateway:pay", "POST", START, body=body())  # type: ignore[arg-type]
        assert len(server.asked) == 1


async def test_a_port_or_scheme_makes_another_origin() -> None:
    async with world(Allowance({"gateway:pay": ["http://api.example.com:8080"]})) as made:
        await made.server(redirects("http://api.example.com:8080/next"))
        other = await made.server(says(answer()), port=8080)
        await made.egress.request("gateway:pay", "GET", START, headers=SECRET)
        assert "CANARY" not in str(other.asked)


async def test_a_listed_host_cannot_redirect_to_an_unlisted_one() -> None:
    async with world(Allowance({"gateway:lights": ["http://10.0.0.5:8123"]})) as made:
        await made.server(redirects("http://10.0.0.6:8123/"), name="x.example.com", address="10.0.0.5", port=8123)
        with pytest.raises(EgressDenied):
            await made.egress.request("gateway:lights", "GET", "http://10.0.0.5:8123/")
        assert made.sockets.opened == [("10.0.0.5", 8123)]


@pytest.mark.parametrize(
    "answered",
    [answer(b"x", "302 Found"), answer(b"", "304 Not Modified"), answer(b"x", "300 Choice", Location="/y")],
    ids=["302", "304", "300"],
)
async def test_what_is_no_redirect_is_an_answer(answered: bytes) -> None:
    async with world() as made:
        await made.server(says(answered))
        assert (await made.egress.request("web", "GET", START)).status in (300, 302, 304)
