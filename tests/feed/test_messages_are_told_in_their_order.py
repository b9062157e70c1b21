"""Followers hear of a space's messages in the order of their numbers, however many post at once."""

from __future__ import annotations

import asyncio

import pytest

from tests.driver import Driver, Offices


@pytest.mark.proves("M4")
async def test_concurrent_messages_are_announced_in_number_order(offices: Offices) -> None:
    office = await offices.open()
    speaks = {"calls": [{"tool": "send_message", "args": {"text": "me too"}}] * 3}
    for name in ("ada", "ben", "cleo"):
        await office.agent(name, steps=[speaks])
        await office.dm(office.owner_id, name)
    await office.space("hall", ["ada", "ben", "cleo"], wake={"people": "mention"})
    await asyncio.gather(*(_speak(office, n) for n in range(30)))
    await office.idle()
    told = [e["message"]["seq"] for e in office.events if e["type"] == "message_created" and e["spaceId"] == "hall"]
    assert told == list(range(1, len(told) + 1))
    assert len(told) >= 30


async def _speak(office: Driver, number: int) -> None:
    names = ("ada", "ben", "cleo")
    await office.post("hall", f"@{names[number % 3]} number {number}")
