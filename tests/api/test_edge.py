"""The browser's edge: what a web page elsewhere cannot make somebody's browser do here, and what every answer says."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from bullpen.access import actions as access
from bullpen.api.edge import CONTENT_POLICY
from bullpen.events import feed
from bullpen.settings import Settings
from bullpen.testing import snapshot
from tests.bridges.chats import bury
from tests.cli.processes import bullpen, output, serving
from tests.connections import api
from tests.databases import Database
from tests.driver import Api, Driver, Offices, claimed
from tests.feed.fixtures import Original
from tests.feed.streams import following
from tests.feed.worlds import World, enter
from tests.files.offering import give, picture
from tests.openapi import read_openapi
from tests.servers import Servers

EVIL = "https://evil.example"
SOURCE = Path(__file__).parents[2] / "src" / "bullpen"
JSON = {"Content-Type": "application/json"}


@cache
def routes() -> dict[str, list[str]]:
    """Every path that there is, and its methods."""
    found = {path: [name.upper() for name in methods] for path, methods in read_openapi()["paths"].items()}
    assert len(found) > 30
    return found


def filled(path: str) -> str:
    return re.sub(r"{[^}]*}", "x", path)


async def rows(database: Database) -> Any:
    return (await snapshot.read(database.url)).tables


# ── Host ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("B1")
async def test_a_wrong_host_gets_an_empty_421_on_every_route(office: Driver) -> None:
    for route in [*map(filled, routes()), "/", "/docs", "/openapi.json", "/nowhere"]:
        for method in ("GET", "POST", "PATCH", "DELETE", "OPTIONS"):
            response = await office.http.request(method, f"http://office{route}", headers={"Host": "evil.com"})
            assert (response.status_code, response.content) == (421, b""), f"{method} {route}"


OURS = [
    "localhost",
    "localhost:8420",
    "LOCALHOST:1",
    "127.0.0.1",
    "127.0.0.1:8420",
    "127.9.9.9:1",
    "[::1]",
    "[::1]:8420",
]
NOT_OURS = [
    "",
    "evil.com",
    "localhost.evil.com",
    "evil.com:8420",
    "127.0.0.1.nip.io",
    "0.0.0.0:8420",
    "[::]",
    "10.0.0.1",
]
ODD = [
    "localhost:",
    "localhost:x",
    "localhost:999999",
    "localhost@evil.com",
    "[::1",
    "localhost,evil.com",
    "a b",
    "%6c",
]


@pytest.mark.one_database
@pytest.mark.proves("B1")
async def test_on_loopback_only_names_of_this_machine_are_ours(offices: Offices) -> None:
    office = await offices.open(hosts=())
    for host in OURS:
        assert (await office.http.get("/me", headers={"Host": host})).status_code == 200, host
    for host in [*NOT_OURS, *ODD[1:]]:
        assert (await office.http.get("/me", headers={"Host": host})).status_code == 421, host
    doubled = [("Host", "localhost"), ("Host", "evil.com")]
    request = office.http.build_request("GET", "/me")
    request.headers = httpx.Headers([*doubled, ("Authorization", f"Bearer {office.token}")])
    assert (await office.http.send(request)).status_code == 400


@pytest.mark.one_database
@pytest.mark.proves("B1")
async def test_beyond_loopback_the_settings_say_which_names_are_ours(offices: Offices) -> None:
    office = await offices.open(
        host="0.0.0.0",
        public_url="https://bullpen.example.com",
        hosts=("bullpen.lan", "named.lan:81"),
    )
    ours = ["bullpen.example.com", "bullpen.example.com:443", "bullpen.lan", "bullpen.lan:9", "named.lan:81"]
    for host in ours:
        assert (await office.http.get("/me", headers={"Host": host})).status_code == 200, host
    # The connections of this test come to port 80 of "office", which is where the client believes that it is.
    not_ours = ["bullpen.example.com:1", "named.lan", "named.lan:82", "sub.bullpen.lan", "localhost:9", "0.0.0.0:80"]
    for host in not_ours:
        assert (await office.http.get("/me", headers={"Host": host})).status_code == 421, host


# ── pages elsewhere ─────────────────────────────────────────────────────────────────────────────────────────────────


async def signed_in(office: Driver) -> Api:
    """The owner's browser: a cookie, and no token."""

    async def body(tx: Any) -> str:
        return await access.open_session(tx, await claimed(tx), 30)

    browser = Api(office.office, None)
    browser.http.cookies.set("bullpen", await office.office.store.transact(body))
    await browser.get("/me")
    return browser


@pytest.mark.one_database
@pytest.mark.proves("B2")
async def test_a_foreign_origin_with_a_good_cookie_changes_nothing(office: Driver) -> None:
    await office.space("general")
    browser = await signed_in(office)
    before = await rows(office_database(office))
    for origin in (
        EVIL,
        "null",
        "http://localhost:3000",
        "http://office.evil.example",
        "http://office:81",
        "ftp://office",
    ):
        response = await browser.http.post(
            "/spaces/general/messages", json={"text": "hello"}, headers={"Origin": origin}
        )
        assert response.status_code == 403, origin
        assert (await browser.http.get("/me", headers={"Origin": origin})).status_code == 403
    assert await rows(office_database(office)) == before
    await browser.create("/spaces/general/messages", {"text": "from our own page"}, headers={"Origin": "http://office"})


def office_database(office: Driver) -> Database:
    settings = office.office.settings
    kind: Any = "postgres" if settings.on_postgres else "sqlite"
    return Database(kind, settings.database_url, settings.data)


@pytest.mark.one_database
@pytest.mark.proves("B3")
async def test_requests_browsers_mark_as_cross_site_are_refused(office: Driver) -> None:
    browser = await signed_in(office)
    for site in ("cross-site", "same-site", "something-new"):
        fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"}
        opened = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        framed = {**opened, "Sec-Fetch-Dest": "iframe"}
        for headers in (fetched, opened):
            assert (await browser.http.post("/spaces", json={"id": "x"}, headers=headers)).status_code == 403
            assert (await browser.http.get("/events", headers=headers)).status_code == 403
            assert (await browser.http.get("/me", headers=headers)).status_code == 403
        for headers in (fetched, framed):
            assert (await browser.http.get("http://office/docs", headers=headers)).status_code == 403
        assert (await browser.http.get("http://office/", headers=opened)).status_code == 200, "a link may lead here"
        assert (await browser.http.post("http://office/", headers=opened)).status_code == 403
    for site in ("same-origin", "none"):
        assert (await browser.http.get("/me", headers={"Sec-Fetch-Site": site})).status_code == 200
    assert await office.items("/spaces") == []


@pytest.mark.one_database
@pytest.mark.proves("B11")
async def test_a_foreign_page_gets_no_stream(office: Driver) -> None:
    browser = await signed_in(office)
    for headers in (
        {"Origin": EVIL},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Accept": "text/event-stream"},
    ):
        response = await browser.http.get("/events", headers=headers)
        assert response.status_code == 403
        assert response.headers["content-type"] == "application/json"
    assert office.office.limits.streams.total() == 0


@pytest.mark.one_database
@pytest.mark.proves("B4")
async def test_every_route_that_changes_something_takes_json_or_nothing(office: Driver) -> None:
    browser = await signed_in(office)
    before = await rows(office_database(office))
    kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
    ]
    for path, methods in routes().items():
        for method in [name for name in methods if name != "GET"]:
            # An upload is a form; that it comes from a page of ours is told by its origin, as ever.
            for kind in [kind for kind in kinds if path != "/api/files" or not kind.startswith("multipart")]:
                response = await browser.http.request(
                    method, f"http://office{filled(path)}", content=b"{}", headers={"Content-Type": kind}
                )
                assert response.status_code == 415, f"{method} {path} {kind}"
            untyped = await browser.http.request(method, f"http://office{filled(path)}", content=b"{}")
            assert untyped.status_code == 415, f"{method} {path}"
    assert await rows(office_database(office)) == before


# ── every answer ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("B9")
async def test_every_answer_says_what_browsers_must_not_do_with_it(office: Driver, monkeypatch: Any) -> None:
    async def broken(body: Any) -> Any:
        raise RuntimeError("a bug")

    answers = [
        await office.http.get("/me"),
        await office.http.get("/nowhere"),
        await office.http.get("/me", headers={"Authorization": ""}),
        await office.http.get("/me", headers={"Host": "evil.com"}),
        await office.http.get("/me", headers={"Origin": EVIL}),
        await office.http.post("/spaces", content=b"x", headers=JSON),
        await office.http.get("http://office/"),
        await office.http.get("http://office/docs"),
        await office.http.get("http://office/assets/pages.css"),
        await office.http.get("http://office/openapi.json"),
        await office.http.get("http://office/healthz"),
    ]
    monkeypatch.setattr(office.office.store, "read", broken)
    answers.append(await office.http.get("/me"))
    assert {answer.status_code for answer in answers} == {200, 401, 403, 404, 421, 422, 500}
    for answer in answers:
        said = answer.headers
        assert said["content-security-policy"] == CONTENT_POLICY, answer.url
        assert said["x-content-type-options"] == "nosniff"
        assert said["referrer-policy"] == "no-referrer"
        assert said["x-frame-options"] == "DENY"
        assert said["cross-origin-opener-policy"] == said["cross-origin-resource-policy"] == "same-origin"
        assert "camera=()" in said["permissions-policy"]
        assert "strict-transport-security" not in said
        assert "access-control-allow-origin" not in said
        if answer.url.path.startswith("/api"):
            assert said["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in CONTENT_POLICY
    assert "unsafe" not in CONTENT_POLICY


@pytest.mark.one_database
@pytest.mark.proves("M7")
async def test_the_event_stream_has_the_proxy_and_security_headers(office: Driver, monkeypatch: Any) -> None:
    assert feed.HEARTBEAT_SECONDS <= 25
    heard: list[Any] = []

    async def send(message: Any) -> None:
        heard.append(message)
        if message["type"] == "http.response.start":
            raise ConnectionError("that is enough")

    async def receive() -> Any:
        await asyncio.Event().wait()

    headers = [
        (b"host", b"office"),
        (b"authorization", f"Bearer {office.token}".encode()),
        (b"accept-encoding", b"gzip"),
    ]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/events",
        "raw_path": b"/api/events",
        "query_string": b"",
        "headers": headers,
        "scheme": "http",
        "server": ("office", 80),
        "client": ("127.0.0.1", 1),
    }
    await office.office.api(scope, receive, send)
    said = dict(heard[0]["headers"])
    assert said[b"x-accel-buffering"] == b"no"
    assert said[b"content-type"].startswith(b"text/event-stream")
    assert b"content-encoding" not in said  # packed, it would wait for more
    assert said[b"content-security-policy"]
    assert [value for name, value in heard[0]["headers"] if name == b"cache-control"] == [b"no-store"]


@pytest.mark.one_database
async def test_behind_https_browsers_are_told_to_stay_there(offices: Offices) -> None:
    office = await offices.open(public_url="https://bullpen.example.com")
    response = await office.http.get(
        "/me", headers={"Host": "bullpen.example.com", "Origin": "https://bullpen.example.com"}
    )
    assert response.status_code == 200
    assert response.headers["strict-transport-security"].startswith("max-age=")


# ── tokens in addresses ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("A12")
async def test_a_url_token_is_refused_even_beside_a_valid_header(office: Driver) -> None:
    for name in ("token", "access_token", "api_key", "Token", "%74oken"):
        response = await office.http.get(f"/me?x=1&{name}={office.token}")
        assert response.status_code == 401, name
        assert "does not belong in an address" in response.json()["error"]["message"]
        assert office.token is not None
        assert office.token not in response.text
    assert (await office.http.get("/runs?agentId=token&status=completed")).status_code == 200
    assert (await office.http.get("/agents?cursor=%ff%fetoken")).status_code in (200, 422)


@pytest.mark.one_database
@pytest.mark.proves("A12")
def test_a_token_in_an_address_is_in_no_log_line(servers: Servers) -> None:
    server = servers.serve(BULLPEN_LOG_LEVEL="debug")
    with api(server) as client:
        assert client.get(f"/me?token={server.token}").status_code == 401
        assert client.get(f"/nowhere?access_token={server.token}").status_code == 401
        assert client.get(f"/me?note={server.token}").status_code == 200
    server.stop()
    lines = "\n".join([*server.process.err.so_far(), *server.process.out.so_far()])
    assert server.token not in lines


# ── proxies ─────────────────────────────────────────────────────────────────────────────────────────────────────────

CLAIMS = {
    "X-Forwarded-For": "127.0.0.1",
    "X-Real-IP": "127.0.0.1",
    "Forwarded": "for=127.0.0.1;host=localhost;proto=https",
    "X-Forwarded-Host": "localhost",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-User": "Olga",
    "Remote-User": "Olga",
    "X-Original-URL": "/api/people",
}


def came_from(office: Driver, peer: str) -> httpx.AsyncClient:
    """The owner, whose connection comes from this address."""
    transport = httpx.ASGITransport(office.office.api, raise_app_exceptions=False, client=(peer, 5000))
    headers = {"Authorization": f"Bearer {office.token}"}
    return httpx.AsyncClient(transport=transport, base_url="http://office/api", headers=headers)


@pytest.mark.one_database
@pytest.mark.proves("A11")
async def test_forwarded_headers_from_an_untrusted_peer_change_nothing(office: Driver) -> None:
    for peer in ("203.0.113.9", "127.0.0.1"):
        stranger = came_from(office, peer)
        for path in ("/me", "/people", "/nowhere"):
            for signed in (True, False):
                headers = {} if signed else {"Authorization": ""}
                plain = await stranger.get(path, headers=headers)
                claimed = await stranger.get(path, headers={**headers, **CLAIMS})
                assert (claimed.status_code, claimed.content) == (plain.status_code, plain.content)
        evil = await stranger.get("/me", headers={**CLAIMS, "Host": "evil.com"})
        assert evil.status_code == 421, "X-Forwarded-Host is not believed"


@pytest.mark.one_database
@pytest.mark.proves("A11")
async def test_a_trusted_proxy_says_where_a_request_came_from(offices: Offices, monkeypatch: Any) -> None:
    office = await offices.open(
        public_url="https://bullpen.example.com", trusted_proxies=("10.0.0.0/8", "::1"), hosts=("office",)
    )
    seen: list[tuple[str, str, str]] = []

    async def noted(app: Any, scope: Any, receive: Any, send: Any) -> None:
        async def look(scope: Any, receive: Any, send: Any) -> None:
            host = dict(scope["headers"])[b"host"].decode()
            seen.append((scope["client"][0], scope["scheme"], host))
            await app(scope, receive, send)

        await edge(look, scope, receive, send)

    edge = office.office.edge
    monkeypatch.setattr(office.office, "edge", noted)

    async def ask(peer: str, **headers: str) -> int:
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await came_from(office, peer).get("/me", headers=said)).status_code

    assert (
        await ask("10.1.2.3", X_Forwarded_For="198.51.100.7, 203.0.113.9, 10.9.9.9", X_Forwarded_Proto="https") == 200
    )
    assert await ask("10.1.2.3", X_Forwarded_Host="bullpen.example.com", X_Forwarded_For="2001:db8::1") == 200
    assert await ask("::1", X_Forwarded_For="<script>, 203.0.113.9") == 200
    assert await ask("10.1.2.3", X_Forwarded_For="nonsense") == 200
    assert await ask("10.1.2.3") == 200
    assert await ask("192.0.2.1", X_Forwarded_For="10.0.0.1", X_Forwarded_Proto="https") == 200
    assert await ask("10.1.2.3", X_Forwarded_Host="evil.com") == 421
    assert await ask("10.1.2.3", X_Forwarded_Host="bullpen.example.com", Origin="https://bullpen.example.com") == 200
    assert seen == [
        ("203.0.113.9", "https", "office"),
        ("2001:db8::1", "http", "bullpen.example.com"),
        ("203.0.113.9", "http", "office"),
        ("10.1.2.3", "http", "office"),
        ("10.1.2.3", "http", "office"),
        ("192.0.2.1", "http", "office"),
        ("10.1.2.3", "http", "bullpen.example.com"),
    ]


def test_only_the_edge_reads_proxy_headers() -> None:
    claims = re.compile(r"x-forwarded|x-real-ip|b?[\"']forwarded[\"']", re.IGNORECASE)
    readers = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if claims.search(path.read_text())}
    assert readers <= {"api/edge.py", "settings.py"}, "ask scope['client'], which the edge has filled"


# ── where we listen ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("A1")
def test_a_fresh_server_is_reached_from_this_machine_only(tmp_path: Path) -> None:
    assert Settings().host == "127.0.0.1"
    with serving(tmp_path / "data") as server:
        assert set(_listening(server.process.pid)) == {"127.0.0.1"}


def _listening(pid: int) -> Iterable[str]:
    """The addresses that a process listens on, as the kernel tells."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        found = re.match(r"socket:\[(\d+)\]", str(entry.readlink()) if entry.is_symlink() else "")
        if found:
            inodes.add(found[1])
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                raw = bytes.fromhex(words[1].partition(":")[0])
                whole = b"".join(raw[n : n + 4][::-1] for n in range(0, len(raw), 4))
                yield socket.inet_ntop(family, whole)


@pytest.mark.proves("A2")
def test_without_an_owner_a_server_refuses_to_listen_publicly(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for host in ("0.0.0.0", "::"):
        done = bullpen(data, "serve", "--host", host, "--port", "0")
        assert done.returncode != 0, "it has ended, so it listens nowhere"
        assert "Nobody owns this office yet" in done.stderr
        assert "Traceback" not in done.stderr
        assert "ready" not in done.stdout


@pytest.mark.proves("A2")
def test_with_an_owner_it_listens_publicly_and_warns_without_encryption(tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = output(data, "token", "create", "--name", "me", "--owner")
    with serving(data, "--host", "0.0.0.0") as server:
        port = urlsplit(server.url).port
        assert set(_listening(server.process.pid)) == {"0.0.0.0"}
        server.err.wait_for("without encryption")
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"http://127.0.0.1:{port}/api/me", headers=headers).status_code == 200
        foreign = httpx.get(f"http://127.0.0.1:{port}/api/me", headers={**headers, "Host": f"evil.com:{port}"})
        assert foreign.status_code == 421


# ── looking changes nothing ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B12")
async def test_no_get_changes_anything(copied: Original) -> None:
    database, made = copied
    async with AsyncExitStack() as stack:
        world = await enter(Offices(database, stack), made, drive=False, watch=False)
        await world.office.ask("PUT", "/agents/ada/blocks/mood", json={"content": "calm"})
        shown = (await give(world.office, picture(), "p.png", space="team"))["id"]
        mine = (await give(world.office, picture(), "me.png"))["id"]
        await world.office.ask("PATCH", f"/people/{world.office.owner_id}", json={"avatar": mine})
        webhook = (await world.office.create("/webhooks", {"url": "http://127.0.0.1:9/"}))["id"]
        await bury(world.office, "msg_none")
        hourly = {"spaceId": "team", "agentId": "ada", "prompt": "p", "scheduleType": "interval", "scheduleValue": "1h"}
        task = (await world.office.create("/tasks", hourly))["id"]
        await world.office.ask("PUT", "/spaces/team/skills/mood", json={"description": "d", "instructions": "i"})
        passage = (await world.office.create("/spaces/team/passages", {"content": "the wifi is called owl"}))["id"]
        before = await rows(database)
        statuses: dict[str, set[int]] = {}
        for path in [*looking(), *PAGES]:
            there = path.replace("/files/{id}", f"/files/{shown}").replace("/webhooks/{id}", f"/webhooks/{webhook}")
            there = there.replace("/tasks/{id}", f"/tasks/{task}").replace("/bridges/{id}", "/bridges/mem")
            there = there.replace("/steps/{step}", "/steps/1").replace("/passages/{id}", f"/passages/{passage}")
            there = there.replace("/avatars/{id}", f"/avatars/{world.office.owner_id}")
            for address in addresses(world, there):
                statuses.setdefault(path, set()).add(await looked_at(world, address))
        assert await rows(database) == before
    assert len(statuses) > 20
    # Nobody drives threads here, so that nothing else changes; /readyz says so. Models are listed elsewhere.
    elsewhere = ("/readyz", "/api/models/{id}/list")
    never = [path for path, found in statuses.items() if 200 not in found and path not in elsewhere]
    assert not never, f"asked for, and never answered: {never}"


async def looked_at(world: World, address: str) -> int:
    if address.startswith("/api/events"):  # it has no end to wait for
        async with following(world.office):
            return 200
    return (await world.office.http.get(f"http://office{address}", params={"q": "pia"})).status_code


def looking() -> list[str]:
    return [path for path, methods in routes().items() if "GET" in methods]


PAGES = ["/", "/docs", "/openapi.json", "/assets/pages.css"]


def addresses(world: World, path: str) -> list[str]:
    """The route's addresses about something that is there."""
    ids = {
        "/api/agents/": ["ada"],
        "/api/spaces/": ["lobby", "team"],
        "/api/messages/": [message["id"] for message in world.messages.values()],
        "/api/people/": ["psn_pia"],
        "/api/runs/": list(world.runs.values()),
        "/api/variables/": ["CITY"],
        "/api/tools/": ["callDesk"],
        "/api/pending/": [world.call_id],
    }
    found = next((ids[start] for start in ids if path.startswith(start)), ["x"])
    first = [re.sub(r"{[^}]*}", id, path, count=1) for id in found]
    return [re.sub(r"{[^}]*}", "mood", address) for address in first]
