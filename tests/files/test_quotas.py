"""No more is kept than may be, whoever tries and however many at once; what is deleted makes room again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256

import pytest

from bullpen import ids
from bullpen.files import actions, rows
from bullpen.files.types import Kept
from bullpen.settings import FileSettings
from bullpen.storage import Transaction
from tests import effort
from tests.driver import Driver, Offices
from tests.files.offering import faults, give, on_disk

SMALL = FileSettings(space_bytes=100, person_bytes=50, space_files=5, person_files=3)


async def usage(office: Driver, kind: str, id: str) -> tuple[int, int]:
    found = await office.office.store.read(lambda tx: rows.select_usage(tx, (kind, id)))
    return found.bytes, found.files


async def test_a_space_holds_no_more_bytes_than_its_quota(offices: Offices) -> None:
    office = await offices.open(drive=False, files=SMALL)
    await office.space("general")
    await give(office, b"x" * 60, space="general")
    said = await give(office, b"x" * 41, space="general", status=413)
    assert said["error"]["code"] == "quota_exceeded"
    assert "'general' may hold 5 files and 100 bytes" in said["error"]["message"]
    await give(office, b"x" * 40, space="general")
    await give(office, b"x", space="general", status=413)
    assert await usage(office, "space", "general") == (100, 2)
    assert len(on_disk(office)) == 2
    assert await faults(office, swept=True) == []


async def test_a_space_holds_no_more_files_than_its_quota(offices: Offices) -> None:
    office = await offices.open(drive=False, files=SMALL)
    await office.space("general")
    for _ in range(5):
        await give(office, b"", space="general")
    said = await give(office, b"", space="general", status=413)
    assert said["error"]["code"] == "quota_exceeded"


async def test_an_unattached_file_counts_for_its_owner_until_attached(offices: Offices) -> None:
    office = await offices.open(drive=False, files=SMALL)
    await office.space("general")
    file = await give(office, b"x" * 50)
    await give(office, b"x", status=413)
    assert await usage(office, "person", office.owner_id) == (50, 1)
    await office.post("general", "", attachments=[file["id"]])
    assert await usage(office, "person", office.owner_id) == (0, 0)
    assert await usage(office, "space", "general") == (50, 1)
    await give(office, b"x" * 50)
    assert await faults(office) == []


async def test_a_message_cannot_bring_more_into_a_space_than_fits(offices: Offices) -> None:
    office = await offices.open(drive=False, files=SMALL)
    await office.space("general")
    await give(office, b"x" * 90, space="general")
    file = await give(office, b"x" * 20)
    body = {"text": "too much", "attachments": [file["id"]]}
    said = await office.create("/spaces/general/messages", body, status=413)
    assert said["error"]["code"] == "quota_exceeded"
    assert await office.messages("general") == []
    assert await usage(office, "person", office.owner_id) == (20, 1)
    assert await faults(office) == []


async def test_uploads_at_once_cannot_overshoot(offices: Offices) -> None:
    office = await offices.open(drive=False, files=replace(SMALL, uploads_at_once=0))
    await office.space("general")

    async def one(size: int) -> int:
        form = {"file": ("a", b"x" * size)}
        return (await office.http.post("/files", params={"spaceId": "general"}, files=form)).status_code

    answers = await asyncio.gather(*(one(40) for _ in range(8)))
    assert sorted(answers) == [201, 201, *[413] * 6]
    assert await usage(office, "space", "general") == (80, 2)
    assert len(on_disk(office)) == 2
    assert await faults(office, swept=True) == []


@pytest.mark.one_database
async def test_an_upload_declared_too_large_is_refused_unread(offices: Offices) -> None:
    office = await offices.open(drive=False, files=SMALL)

    async def never() -> AsyncIterator[bytes]:
        yield b""
        raise AssertionError("the body was read")

    headers = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": "90000"}
    answer = await office.http.post("/files", content=never(), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "quota_exceeded")


@pytest.mark.one_database
async def test_file_limits_of_zero_mean_unlimited(offices: Offices) -> None:
    none = FileSettings(file_bytes=0, space_bytes=0, person_bytes=0, space_files=0, person_files=0)
    office = await offices.open(drive=False, files=none)
    assert (await give(office, b"x" * 1000))["size"] == 1000


@pytest.mark.proves("E12")
async def test_a_quota_of_ten_thousand_small_files_is_exact(offices: Offices) -> None:
    count = effort.count(10_000, sample=500)
    limits = FileSettings(space_bytes=count, space_files=0)
    office = await offices.open(drive=False, files=limits)
    await office.space("general")
    kept = Kept(1, sha256(b"x").hexdigest(), b"x")
    made = [ids.file() for _ in range(count)]

    async def fill(tx: Transaction, some: list[str]) -> None:
        for id in some:
            await actions.add(
                tx, id, "x", kept, owner_kind="person", owner_id=office.owner_id, space_id="general", limits=limits
            )

    for start in range(0, count, 1000):
        await office.office.store.transact(lambda tx, some=made[start : start + 1000]: fill(tx, some))  # type: ignore[misc]
    assert await usage(office, "space", "general") == (count, count)
    said = await give(office, b"y", space="general", status=413)
    assert said["error"]["code"] == "quota_exceeded"
    await give(office, b"", space="general")  # nothing still fits
    await office.ask("DELETE", f"/files/{made[0]}", status=204)
    assert await usage(office, "space", "general") == (count - 1, count)
    await give(office, b"yz", space="general", status=413)
    await give(office, b"y", space="general")
    assert await usage(office, "space", "general") == (count, count + 1)
