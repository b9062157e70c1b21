"""A file on a slow line arrives, a client that drips is cut off, and a real server leaves nothing of what broke off."""

from __future__ import annotations

import time

import httpx
import pytest

from bullpen.api.connection import SLOWEST
from bullpen.client import NotFound, QuotaExceeded, TooLarge
from tests.connections import connect, drip, endlessly, head
from tests.files.offering import BOUNDARY, form, part
from tests.servers import Server, Servers
from tests.waits import BOUND, wait_until

pytestmark = pytest.mark.one_database

SOON = {"BULLPEN_LIMITS__HEAD_SECONDS": "1", "BULLPEN_LIMITS__BODY_SECONDS": "2"}
SECONDS_TO_SEND = 2.7


def partials(server: Server) -> list[str]:
    return [path.name for path in (server.data / "files").rglob("*") if path.is_file()]


def upload_head(server: Server, length: int) -> bytes:
    kind = f"Content-Type: multipart/form-data; boundary={BOUNDARY}"
    return head(server, "POST /api/files HTTP/1.1", kind, f"Content-Length: {length}", "", "")


@pytest.mark.proves("L9")
def test_a_slow_upload_succeeds_and_a_trickling_one_is_cut(servers: Servers) -> None:
    server = servers.serve(**SOON)
    body = form(part(b"x" * 3 * SLOWEST))
    with connect(server, upload_head(server, len(body))) as made:
        # Longer than a body may take that brings nothing. Each piece has its time, so a delay does not add to the next.
        began = time.monotonic()
        for at in range(0, len(body), 10_000):
            made.sendall(body[at : at + 10_000])
            due = began + SECONDS_TO_SEND * at / len(body)
            time.sleep(max(0.0, due - time.monotonic()))
        assert time.monotonic() - began > 2.5
        assert b" 201 " in made.recv(65_536)
    kept = partials(server)
    dripping = connect(server, upload_head(server, 10_000_000) + body[:100])
    assert drip(dripping, endlessly(b"x"), BOUND) == b""
    wait_until(lambda: partials(server) == kept)


def test_an_aborted_upload_leaves_nothing_and_a_refusal_is_readable(servers: Servers) -> None:
    server = servers.serve(BULLPEN_FILES__FILE_BYTES="1000000")
    begun = connect(server, upload_head(server, 900_000) + form(part(b"x" * 890_000))[:600_000])
    wait_until(lambda: len(partials(server)) == 1)
    begun.close()
    wait_until(lambda: partials(server) == [])
    too_large = form(part(b"x" * 5_000_000))
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token}"}) as client:
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        said = client.post("/api/files", content=too_large, headers=kind)
        assert (said.status_code, said.json()["error"]["code"]) == (413, "too_large")
        assert client.get("/api/files").json() == {"items": []}, "the connection can be used again"
    assert partials(server) == []


async def test_the_sdk_uploads_shows_and_downloads(servers: Servers) -> None:
    server = servers.serve(BULLPEN_FILES__FILE_BYTES="2000000", BULLPEN_FILES__PERSON_BYTES="3000000")
    source = server.data / "source.bin"
    source.write_bytes(bytes(range(256)) * 5000)
    async with server.client() as bp:
        await bp.spaces.create(id="general")
        file = await bp.files.upload(source)
        assert (file.name, file.size, file.space_id) == ("source.bin", 1_280_000, None)
        message = await bp.spaces("general").send("", attachments=[file])
        assert [shown.id for shown in message.attachments] == [file.id]
        assert await bp.files.download(file.id, server.data / "copy.bin") == file.size
        assert (server.data / "copy.bin").read_bytes() == source.read_bytes()
        assert [found.id for found in await bp.files.list(space="general")] == [file.id]
        own = await bp.files.upload(b"words", name="w.txt")
        assert [found.id for found in await bp.files.list()] == [own.id]
        await bp.files.delete(own.id)
        with pytest.raises(NotFound):
            await bp.files.get(own.id)
        with pytest.raises(NotFound):
            await bp.files.download(own.id, server.data / "nothing")
        assert not (server.data / "nothing").exists()
        with pytest.raises(TooLarge):
            await bp.files.upload(b"x" * 2_000_001)
        await bp.files.upload(b"x" * 1_900_000)
        with pytest.raises(QuotaExceeded):
            await bp.files.upload(b"x" * 1_900_000)
