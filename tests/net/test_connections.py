"""Connections: kept for the next request, never for the wrong one; and what is sent on them."""

from __future__ import annotations

import asyncio
import logging

import pytest

from bullpen.errors import EgressDenied, EgressError, EgressFailed, EgressTimeout
from bullpen.net.types import Limits
from tests.net.servers import ELSEWHERE, PUBLIC, SECONDS, Asked, Behaviour, answer, says, world

URL = "http://api.example.com/"


async def test_a_connection_is_used_again() -> None:
    async with world() as made:
        server = await made.server(says(answer()))
        for use in ("web", "model", "gateway:weather"):
            assert (await made.egress.request(use, "POST", URL, body=b"{}")).status == 200
        assert (server.connections, len(server.asked)) == (1, 3)


async def test_many_at_once_get_their_own_answers() -> None:
    async def echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(asked.target.encode() + b" " + asked.body))

    async with world() as made:
        server = await made.server(echo)
        paths = [f"/{number}" for number in range(100)]
        for _ in range(2):
            got = await asyncio.gather(
                *(made.egress.request("web", "PUT", URL.rstrip("/") + path, body=path.encode()) for path in paths)
            )
            assert [one.body.decode() for one in got] == [f"{path} {path}" for path in paths]
        assert server.connections == 100


async def test_a_closed_client_asks_nobody() -> None:
    async with world() as made:
        server = await made.server(says(answer()))
        await made.egress.request("web", "GET", URL)
        await made.egress.aclose()
        with pytest.raises(EgressFailed, match="stopping"):
            await made.egress.request("web", "GET", URL)
        assert len(server.asked) == 1
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


async def test_names_that_share_an_address_do_not_share_a_connection() -> None:
    async with world() as made:
        server = await made.server(says(answer()))
        made.dns.answer("other.example.com", [PUBLIC])
        for host in ("api.example.com", "other.example.com"):
            await made.egress.request("web", "GET", f"http://{host}/")
        assert server.connections == 2
        assert [asked.headers["host"] for asked in server.asked] == ["api.example.com", "other.example.com"]


async def test_a_connection_close_response_forces_a_new_connection() -> None:
    async with world() as made:
        server = await made.server(says(answer(Connection="close")))
        for _ in range(2):
            await made.egress.request("web", "POST", URL)
        assert server.connections == 2


def answers_then_hangs_up(times: int) -> Behaviour:
    """So many answers on the first connection; what comes next there is read and never answered."""
    seen: list[asyncio.StreamWriter] = []

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        seen.append(writer)
        if seen.count(writer) > times and writer is seen[0]:
            writer.close()
        else:
            writer.write(answer())

    return behave


async def test_a_get_is_retried_if_the_kept_connection_is_dead() -> None:
    async with world() as made:
        server = await made.server(answers_then_hangs_up(1))
        for _ in range(2):
            assert (await made.egress.request("web", "GET", URL)).status == 200
        assert (server.connections, len(server.asked)) == (2, 3)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_a_request_that_may_have_effects_is_never_retried(method: str) -> None:
    async with world() as made:
        server = await made.server(answers_then_hangs_up(1))
        await made.egress.request("web", "GET", URL)
        with pytest.raises(EgressFailed, match="before it answered") as failed:
            await made.egress.request("gateway:pay", method, URL, body=b"{}")
        assert failed.value.sent
        assert [asked.method for asked in server.asked] == ["GET", method]


async def test_nothing_is_asked_twice_on_a_new_connection() -> None:
    async with world() as made:
        server = await made.server(answers_then_hangs_up(0), addresses=[PUBLIC, ELSEWHERE])
        with pytest.raises(EgressFailed) as failed:
            await made.egress.request("web", "GET", URL)
        assert failed.value.sent
        assert len(server.asked) == 1
        assert len(made.sockets.opened) == 1


WHEN = ["with all of it", "with the end of it", "a little later"]


@pytest.mark.parametrize("when", WHEN)
async def test_an_unrequested_response_is_not_taken_for_the_next_one(when: str) -> None:
    async def answer_twice(asked: Asked, writer: asyncio.StreamWriter) -> None:
        mine, forged = answer(asked.target.encode()), answer(b"forged")
        cut = {"with all of it": 0, "with the end of it": -1, "a little later": len(mine)}[when]
        writer.write(mine[:cut])
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(mine[cut:] + forged)

    async with world() as made:
        server = await made.server(answer_twice)
        for path in ("/1", "/2", "/3"):
            server.hung_up.clear()
            assert (await made.egress.request("web", "GET", URL.rstrip("/") + path)).body == path.encode()
            await asyncio.wait_for(server.hung_up.wait(), SECONDS)
        assert server.connections == 3


async def test_a_connection_with_unexpected_bytes_is_not_reused() -> None:
    async def go_on(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer())
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(b"HTTP/1.1 200 OK\r\nX-Half: ")

    async with world() as made:
        server = await made.server(go_on)
        for _ in range(2):
            server.hung_up.clear()
            assert (await made.egress.request("web", "POST", URL)).body == b"ok"
            await asyncio.wait_for(server.hung_up.wait(), SECONDS)
        assert server.connections == 2


async def test_a_server_that_speaks_first_is_not_asked_anything() -> None:
    greeted = asyncio.Event()

    async def greet(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await writer.drain()
        greeted.set()
        await asyncio.Event().wait()

    async with world(limits=Limits(total=SECONDS)) as made:
        await made.server(greet, deaf=True)
        with pytest.raises(EgressFailed):
            await made.egress.request(
                "web", "POST", URL, headers={"Authorization": "CANARY"}, body=b"MAIL FROM:<x>\r\n"
            )


async def test_statuses_are_answers_and_not_errors() -> None:
    async with world() as made:
        await made.server(says(answer(b"no", "404 Not Found"), answer(b"oh", "500 Internal Server Error")))
        assert (await made.egress.request("web", "GET", URL)).status == 404
        got = await made.egress.request("web", "GET", URL)
        assert (got.status, got.body, str(got.url)) == (500, b"oh", URL)


async def test_headers_come_back_readable_whatever_their_bytes() -> None:
    said = b"X-A: caf\xe9\r\nX-B: caf\xc3\xa9\r\nVary: a\r\nvary: b\r\nContent-Length: 0\r\n\r\n"
    async with world() as made:
        await made.server(says(b"HTTP/1.1 200 OK\r\n" + said))
        got = await made.egress.request("web", "GET", URL)
        assert (got.headers["x-a"], got.headers["x-b"], got.headers["vary"]) == ("café", "café", "a, b")


async def test_a_head_request_has_no_body_and_keeps_its_connection() -> None:
    async with world() as made:
        server = await made.server(says(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"))
        for _ in range(2):
            got = await made.egress.request("web", "HEAD", URL, limits=Limits(body_bytes=10))
            assert (got.body, got.headers["content-length"]) == (b"", "5000")
        assert server.connections == 1


async def test_the_request_is_what_was_asked_for_and_no_more() -> None:
    async with world() as made:
        server = await made.server(says(answer()))
        headers = [("X-Key", "a"), ("x-key", "b"), ("User-Agent", "me"), ("Content-Type", "text/plain")]
        await made.egress.request(
            "web", "post", "http://api.example.com:80/a//b/%2F?x=1&x=2#f", headers=headers, body=b"hi"
        )
        asked = server.asked[0]
        assert asked.line == "POST /a//b/%2F?x=1&x=2 HTTP/1.1"
        assert asked.body == b"hi"
        assert asked.headers == {
            "host": "api.example.com",
            "x-key": "b",  # the test's server keeps the last
            "user-agent": "me",
            "content-type": "text/plain",
            "accept": "*/*",
            "accept-encoding": "gzip, deflate",
            "content-length": "2",
        }


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nHost: evil"},
        {"X": "a\nb"},
        {"X": "\x00"},
        {"X\r\nY": "z"},
        {"X Y": "z"},
        {"": "z"},
        {"X:": "z"},
        {"X": "☃"},
        {"Host": "127.0.0.1"},
        {"hOsT": "127.0.0.1"},
        {"Content-Length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "keep-alive"},
        {"Upgrade": "websocket"},
        {"Expect": "100-continue"},
        {"Proxy-Authorization": "x"},
        {"Accept-Encoding": "br"},
    ],
)
async def test_headers_that_could_smuggle_are_refused(headers: dict[str, str]) -> None:
    async with world() as made:
        await made.server(says(answer()))
        with pytest.raises(EgressDenied) as denied:
            await made.egress.request("gateway:x", "GET", URL, headers=headers)
        assert denied.value.rule == "header"
        assert made.sockets.opened == []


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET /x HTTP/1.1\r\nX: y\r\n\r\nGET", "", "get\n", "PROPFIND"])
async def test_other_methods_are_refused(method: str) -> None:
    async with world() as made:
        with pytest.raises(EgressDenied) as denied:
            await made.egress.request("gateway:x", method, URL)
        assert denied.value.rule == "method"
        assert made.sockets.opened == []


async def test_a_request_to_an_unreachable_host_counts_as_unsent() -> None:
    async with world() as made:
        made.dns.answer("api.example.com", [PUBLIC])
        with pytest.raises(EgressFailed, match="cannot be reached") as failed:
            await made.egress.request("web", "POST", URL, body=b"{}")
        assert not failed.value.sent


async def test_a_host_that_stalls_the_tls_handshake_times_out() -> None:
    """It accepts the connection and never says a word of TLS."""

    async def say_nothing(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with world(limits=Limits(connect=0.1)) as made:
        server = await made.server(say_nothing, port=443, deaf=True)
        with pytest.raises(EgressTimeout, match="could not be reached in time") as late:
            await made.egress.request("web", "GET", "https://api.example.com/")
        assert not late.value.sent
        await asyncio.wait_for(server.hung_up.wait(), SECONDS)


SAID = {
    "no HTTP": b"CANARY\r\n\r\n",
    "too large": answer(b"CANARY" * 100),
    "a redirect inward": answer(b"", "302 Found", Location="http://10.0.0.1/CANARY?k=CANARY"),
    "another scheme": answer(b"", "302 Found", Location="gopher://CANARY/"),
    "nothing": b"",
    "half": answer(b"CANARY")[:-1],
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID.keys())
async def test_errors_and_logs_reveal_no_more_than_the_origin(said: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": "Bearer CANARY"}
    url = f"{URL}CANARY?key=CANARY"
    async with world(limits=Limits(total=0.2, body_bytes=100)) as made:
        await made.server(says(said))
        with pytest.raises(EgressError) as raised:
            await made.egress.request("web", "POST", url, headers=headers, body=b"CANARY")
    error = raised.value
    logging.getLogger("test").error("it failed", exc_info=(type(error), error, None))
    told = [str(error), repr(error), str(error.fields), caplog.text]
    assert "CANARY" not in "".join(told)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None or isinstance(error.__context__, EgressError)
    if isinstance(error, EgressDenied):
        assert f"denied to web by the rule {error.rule}" in caplog.text
