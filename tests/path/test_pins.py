"""Pins: kept for everybody in a space, told by events, and gone with what they are about."""

from __future__ import annotations

import pytest

from bullpen.spaces import actions
from tests.driver import Api, Driver


async def hall(office: Driver) -> tuple[str, Api]:
    pat, as_pat = await office.person("Pat")
    await office.space("hall", [pat], wake={"people": "none"})
    return pat, as_pat


async def pins(caller: Api) -> list[str]:
    return [message["text"] for message in (await caller.get("/spaces/hall/pins"))["items"]]


async def test_pins_are_kept_for_everybody_newest_first(office: Driver) -> None:
    pat_id, pat = await hall(office)
    first, second = await office.post("hall", "one"), await office.post("hall", "two")
    for message in (first, second):
        await pat.ask("PUT", f"/messages/{message['id']}/pin")
    found = await pat.ask("PUT", f"/messages/{first['id']}/pin")
    assert (found["id"], found["pinnedBy"], found["text"]) == (first["id"], pat_id, "one")
    assert await pins(office) == await pins(pat) == ["two", "one"]
    told = [(await office.event("message_pinned", nth=n))["pin"]["messageId"] for n in (1, 2)]
    assert told == [first["id"], second["id"]]
    await office.ask("DELETE", f"/messages/{second['id']}/pin")
    assert await pins(pat) == ["one"]
    gone = await office.event("message_unpinned")
    assert gone["pin"] == {"messageId": second["id"], "memberId": office.owner_id}
    refused = await office.http.delete(f"/messages/{second['id']}/pin")
    assert refused.status_code == 404


async def test_a_deleted_message_is_pinned_no_more(office: Driver) -> None:
    _, pat = await hall(office)
    message = await pat.create("/spaces/hall/messages", {"text": "oops"})
    await office.ask("PUT", f"/messages/{message['id']}/pin")
    await pat.ask("DELETE", f"/messages/{message['id']}")
    assert await pins(office) == []
    refused = await office.http.put(f"/messages/{message['id']}/pin")
    assert refused.status_code == 409


async def test_a_space_has_a_bounded_number_of_pins(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    await hall(office)
    monkeypatch.setattr(actions, "MOST_PINS", 2)
    messages = [await office.post("hall", f"message {n}") for n in range(3)]
    answers = [await office.http.put(f"/messages/{message['id']}/pin") for message in messages]
    assert [answer.status_code for answer in answers] == [200, 200, 409]
    assert "Take one away first" in answers[-1].text
