"""Bytes that nobody needs go: what no message shows in time, what was dropped, what a crash left behind."""

from __future__ import annotations

import os
import time

import pytest

from bullpen import ids
from bullpen.files.actions import DROPPED
from bullpen.settings import FileSettings
from bullpen.testing import FakeClock
from tests.driver import Driver, Offices
from tests.files.offering import content, faults, give, on_disk, picture

HOUR = 3600.0


async def test_unattached_files_are_swept_after_a_day_attached_ones_stay(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(drive=False, clock=clock)
    del office.office.store.listeners[DROPPED]  # else their bytes may be gone before the round gets to them
    await office.space("general")
    own, in_space = await give(office, picture(), "p.png"), await give(office, space="general")
    shown = await give(office)
    await office.post("general", "", attachments=[shown["id"]])
    clock.advance(23 * HOUR)
    assert not await office.office.sweeper.round()
    late = await give(office)
    clock.advance(2 * HOUR)
    swept = await office.office.sweeper.round()
    assert (swept.unattached, swept.dropped) == (2, 2)
    for gone in (own, in_space):
        await office.get(f"/files/{gone['id']}", status=404)
    assert await content(office, shown["id"]) == await content(office, late["id"]) == b"hello"
    assert on_disk(office) == sorted([shown["id"], late["id"]])
    assert await faults(office, swept=True) == []


@pytest.mark.one_database
async def test_zero_hours_keep_everything(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(drive=False, clock=clock, files=FileSettings(unattached_hours=0))
    await give(office)
    clock.advance(10_000 * HOUR)
    assert not await office.office.sweeper.round()


def plant(office: Driver, name: str, *, hours: float) -> None:
    """Bytes that have lain on the disk for so long."""
    folder = office.office.settings.blobs / ("partial" if name.count(".") == 1 else name[-2:])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"left")
    then = time.time() - hours * HOUR
    os.utime(folder / name, (then, then))


async def test_bytes_without_a_row_are_swept_after_an_idle_hour(offices: Offices) -> None:
    office = await offices.open(drive=False)  # else the server's own first round may come between
    kept = await give(office)
    old, young, begun, going_on = (ids.file() for _ in range(4))
    plant(office, old, hours=1.1)
    plant(office, young, hours=0.5)
    plant(office, f"{begun}.0a1b2c3d", hours=1.1)
    plant(office, f"{going_on}.0a1b2c3d", hours=0.5)
    swept = await office.office.sweeper.round()
    assert (swept.orphans, swept.partials) == (1, 1)
    assert on_disk(office) == sorted([kept["id"], young, f"{going_on}.0a1b2c3d"])


@pytest.mark.one_database
async def test_no_file_is_swept_when_the_database_knows_none(
    offices: Offices, caplog: pytest.LogCaptureFixture
) -> None:
    office = await offices.open(drive=False)
    for _ in range(30):
        plant(office, ids.file(), hours=2)
    assert not await office.office.sweeper.round()
    assert len(on_disk(office)) == 30
    assert "is this the right database?" in caplog.text


async def test_files_dropped_before_a_crash_are_removed_next_round(offices: Offices) -> None:
    office = await offices.open(drive=False)
    del office.office.store.listeners[DROPPED]  # as if it had died after the commit
    made = await give(office, picture(), "p.png")
    await office.ask("DELETE", f"/files/{made['id']}", status=204)
    assert len(on_disk(office)) == 2
    assert (await office.office.sweeper.round()).dropped == 1
    assert on_disk(office) == []
    assert await faults(office, swept=True) == []


@pytest.mark.one_database
async def test_the_servers_hourly_round_sweeps_files(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(drive=False, clock=clock)
    made = await give(office)
    clock.advance(25 * HOUR)
    await office.office._keep_up()  # what its timer does every hour
    await office.get(f"/files/{made['id']}", status=404)
    assert on_disk(office) == []
