"""An older edit that comes late does not overwrite a newer one."""

from __future__ import annotations

import socket
from time import monotonic
from urllib.parse import urlsplit

import httpx
import pytest

from bullpen.api import timely
from tests.driver import Driver
from tests.servers import Server
from tests.waits import until


async def test_an_edit_of_an_older_state_is_refused(office: Driver) -> None:
    await office.space("general", [])
    sent = await office.post("general", "first")
    path = f"/messages/{sent['id']}"
    newer = await office.ask("PATCH", path, json={"text": "newer", "editedAt": None})
    refused = await office.ask("PATCH", path, json={"text": "older", "editedAt": None}, status=409)
    assert refused["error"]["code"] == "conflict"
    assert refused["error"]["fields"] == {"editedAt": newer["editedAt"]}
    assert (await office.get(path))["text"] == "newer"
    newest = await office.ask("PATCH", path, json={"text": "newest", "editedAt": newer["editedAt"]})
    assert newest["text"] == "newest"
    assert (await office.ask("PATCH", path, json={"text": "whatever was there"}))["text"] == "whatever was there"


async def test_an_edit_that_is_sent_again_changes_nothing_more(office: Driver) -> None:
    await office.space("general", [])
    sent = await office.post("general", "first")
    body = {"text": "second", "editedAt": None}
    edited = await office.ask("PATCH", f"/messages/{sent['id']}", json=body)
    assert await office.ask("PATCH", f"/messages/{sent['id']}", json=body) == edited


async def test_a_request_that_begins_too_late_changes_nothing(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    await office.space("general", [])
    sent = await office.post("general", "first")
    monkeypatch.setattr(timely, "monotonic", lambda: monotonic() + 31)
    refused = await office.ask("PATCH", f"/messages/{sent['id']}", json={"text": "late"}, status=503)
    assert refused["error"]["message"] == timely.TOO_LATE
    await office.ask("POST", "/spaces/general/messages", json={"text": "late"}, status=503)
    await office.ask("POST", "/spaces", json={"kind": "channel", "name": "late"}, status=503)
    assert await office.texts("general") == ["first"], "reading is never too late"
    monkeypatch.setattr(timely, "monotonic", lambda: monotonic() + 29)
    await office.ask("PATCH", f"/messages/{sent['id']}", json={"text": "in time"})


async def test_a_thawed_server_drops_edits_of_clients_who_left(server: Server) -> None:
    async with server.client() as bp:
        space = (await bp.spaces.create(id="edits", name="Edits")).id
        sent = await bp.spaces(space).send("first")
        server.freeze()
        give_up_on_an_edit(server, sent.id)
        server.thaw()
        await until(lambda: seen_an_edit(server))
        assert (await bp.messages(sent.id).get()).text == "first"


def give_up_on_an_edit(server: Server, id: str) -> None:
    """What a client does whose patience has ended: it sends, hears nothing, and hangs up."""
    at = urlsplit(server.url)
    body = b'{"text": "late"}'
    head = (
        f"PATCH /api/messages/{id} HTTP/1.1\r\nHost: {at.netloc}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((at.hostname or "", at.port or 0)) as line:
        line.sendall(head.encode() + body)


async def seen_an_edit(server: Server) -> bool:
    """Is the server done with it, one way or the other?"""
    async with httpx.AsyncClient() as http:
        found = await http.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"})
    return 'method="PATCH"' in found.text
