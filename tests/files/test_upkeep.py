"""Files in erasure, export, backup and restore: the bytes go where the rows go."""

from __future__ import annotations

import json
import tarfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from pathlib import Path

import pytest

from bullpen.errors import CannotStart
from tests.databases import Database, drop, postgres_database, sqlite_database
from tests.driver import Driver, Offices
from tests.files.offering import content, faults, give, on_disk, picture
from tests.postgres import PostgresServer
from tests.upkeep.copies import back_up, bring_back
from tests.upkeep.offices import hits

WORD = "xylophagous"


# ── erasure ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_erasing_a_space_removes_its_files_from_the_disk(office: Driver, database: Database) -> None:
    await office.agent("ada")
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.space("attic")
    shown = await give(office, picture(), f"{WORD}.png")
    await office.post("general", "look", attachments=[shown["id"]])
    await give(office, name=f"{WORD}.txt", space="general")
    elsewhere = await give(office, space="attic")
    await office.idle()
    assert {"files.name", "events.body"} <= set(await hits(database, WORD))
    await office.ask("DELETE", "/spaces/general")
    assert on_disk(office) == [elsewhere["id"]]
    assert await hits(database, WORD) == []
    assert await faults(office, swept=True) == []


async def test_erasing_a_person_removes_their_files_from_others_messages_too(
    office: Driver, database: Database
) -> None:
    peter_id, peter = await office.person("Peter")
    await office.agent("ada")
    await office.space("general", [peter_id, "ada"], wake={"people": "all"})
    own = await give(peter, name=f"{WORD}-own.txt")
    said = await give(peter, picture(), f"{WORD}-said.png")
    lent = await give(peter, name=f"{WORD}-lent.txt", space="general")
    mine = await give(office, space="general")
    await peter.create("/spaces/general/messages", {"text": "mine", "attachments": [said["id"]]})
    posted = await office.post("general", "his and mine", attachments=[lent["id"], mine["id"]])
    await office.idle()
    await office.ask("POST", f"/people/{peter_id}/erase")
    assert on_disk(office) == [mine["id"]]
    shown = await office.get(f"/messages/{posted['id']}")
    assert [file["id"] for file in shown["attachments"]] == [mine["id"]]
    told = await office.event("message_updated", lambda e: e["message"]["id"] == posted["id"])
    assert told["message"] == shown
    for id in (own["id"], said["id"], lent["id"]):
        await office.get(f"/files/{id}", status=404)
    # What the owner showed of his is a part of what the owner said: an agent was told of it, and wrote that down.
    copies = {"inbox_items.payload", "runs.payload", "run_messages.content", "bytes of bullpen.db"}
    assert set(await hits(database, f"{WORD}-lent")) <= copies
    assert await hits(database, f"{WORD}-own") == await hits(database, f"{WORD}-said") == []
    assert await faults(office, swept=True) == []


async def test_erasing_an_agent_removes_what_it_gave(office: Driver) -> None:
    await office.agent("ada")
    await office.space("general", ["ada"])
    ada = await office.as_agent("ada")
    file = await give(ada, space="general")
    await ada.create("/spaces/general/messages", {"text": "here", "attachments": [file["id"]]})
    await give(ada)
    await office.ask("POST", "/agents/ada/erase")
    assert on_disk(office) == []
    assert await faults(office, swept=True) == []


# ── export ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def lines(office: Driver, path: str) -> list[dict[str, object]]:
    answer = await office.http.get(path)
    return [json.loads(line)["file"] for line in answer.text.splitlines() if line.startswith('{"type":"file"')]


async def test_an_export_lists_files(office: Driver) -> None:
    peter_id, peter = await office.person("Peter")
    await office.space("general", [peter_id])
    one, two, own = await give(office, space="general"), await give(peter, space="general"), await give(peter)
    assert await lines(office, "/spaces/general/export") == [two, one]
    told = await peter.http.get(f"/people/{peter_id}/export")
    assert told.text.count('{"type":"file"') == 2
    # Somebody else's own files are nobody's business, not the owner's either.
    assert await lines(office, f"/people/{peter_id}/export") == [two]
    assert own["id"] not in (await office.http.get(f"/people/{peter_id}/export")).text


# ── backup and restore ──────────────────────────────────────────────────────────────────────────────────────────────


async def filled(offices: Offices) -> tuple[Driver, dict[str, bytes]]:
    office = await offices.open(drive=False)
    await office.space("general")
    data = {"note.txt": b"hello", "p.png": picture(), "empty": b"", "large.bin": bytes(700_000)}
    made = {name: (await give(office, content, name))["id"] for name, content in data.items()}
    await office.post("general", "all of it", attachments=list(made.values()))
    return office, {made[name]: content for name, content in data.items()}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_an_archive_holds_the_files_and_restores_into_either_database(
    offices: Offices, database: Database, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    office, files = await filled(offices)
    made = await back_up(database, tmp_path / "office.tar")
    assert (made.format, made.holds["files"], made.files, made.missing) == ("tar", True, 4, 0)
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"data", "office.tar"}
    other = _fresh(kind, tmp_path, request)
    restored = await bring_back(other, made.path)
    assert (restored.holds["files"], restored.files, restored.missing) == (True, 4, 0)
    async with _opened(other) as again:
        for id, data in files.items():
            assert await content(again, id) == data
        assert (await again.messages("general"))[0]["attachments"] == (await office.messages("general"))[0][
            "attachments"
        ]
        assert await faults(again, swept=True) == []


async def test_backup_and_restore_say_when_files_are_not_included(
    offices: Offices, database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await filled(offices)
    made = await back_up(database, tmp_path / "office.jsonl.gz")
    assert (made.holds["files"], made.files) == (False, 4)
    restored = await bring_back(_fresh(database.kind, tmp_path, request), made.path)
    assert (restored.holds["files"], restored.files, restored.missing) == (False, 4, 4)


@pytest.mark.one_database
async def test_a_backup_counts_files_missing_from_the_disk(
    offices: Offices, database: Database, tmp_path: Path
) -> None:
    office, files = await filled(offices)
    next(office.office.settings.blobs.glob(f"*/{next(iter(files))}")).unlink()
    made = await back_up(database, tmp_path / "office.tar")
    assert (made.files, made.missing) == (4, 1)


@pytest.mark.one_database
async def test_an_archive_that_was_changed_is_refused(
    offices: Offices, database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await filled(offices)
    good = await back_up(database, tmp_path / "office.tar")
    for name, wrong in {
        "cut": lambda members: members[:1],
        "another manifest": lambda members: [(members[0][0], b'{"bullpen": 99}'), *members[1:]],
        "other bytes": lambda members: [*members[:-1], (members[-1][0], bytes(len(members[-1][1])) + b"x")],
        "a way out": lambda members: [*members, ("../../evil", b"x")],
        "a stranger": lambda members: [*members, ("files/../../evil", b"x")],
    }.items():
        bad = tmp_path / f"{name}.tar"
        _write_tar(bad, wrong(_read_tar(good.path)))  # type: ignore[no-untyped-call]
        other = _fresh(database.kind, tmp_path / name, request)
        with pytest.raises(CannotStart):
            await bring_back(other, bad)
        assert not list(tmp_path.rglob("*evil*"))
    broken = tmp_path / "broken.tar"
    broken.write_bytes(good.path.read_bytes()[:-200_000])
    with pytest.raises(CannotStart):
        await bring_back(_fresh(database.kind, tmp_path / "broken", request), broken)


def _special(name: str, kind: bytes, target: str = "", size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, target, size
    return member


@pytest.mark.one_database
@pytest.mark.proves("E2", "E5", "E6")
@pytest.mark.parametrize(
    "where, member",
    [
        (0, _special("manifest.json", tarfile.SYMTYPE, "/etc/passwd")),
        (0, _special("manifest.json", tarfile.REGTYPE, size=1 << 40)),
        (1, _special("office.jsonl.gz", tarfile.LNKTYPE, "manifest.json")),
        (1, _special("office.jsonl.gz", tarfile.FIFOTYPE)),
        (2, _special("files/{id}", tarfile.SYMTYPE, "/etc/passwd")),
        (2, _special("files/{id}", tarfile.LNKTYPE, "office.jsonl.gz")),
        (2, _special("files/{id}", tarfile.CHRTYPE)),
        (2, _special("files", tarfile.SYMTYPE, "/etc")),
        (2, _special("files/{id}", tarfile.REGTYPE, size=1 << 40)),
        (2, _special("/etc/{id}", tarfile.REGTYPE)),
    ],
    ids=lambda value: f"{value.name}-{value.type.decode()}" if isinstance(value, tarfile.TarInfo) else None,
)
async def test_links_devices_and_lies_in_an_archive_are_refused(
    offices: Offices,
    database: Database,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    where: int,
    member: tarfile.TarInfo,
) -> None:
    _, files = await filled(offices)
    good = _read_tar((await back_up(database, tmp_path / "office.tar")).path)
    bad = tmp_path / "bad.tar"
    with tarfile.open(bad, "w") as tar:
        for number, (name, data) in enumerate(good):
            if number == where:
                changed = tarfile.TarInfo(member.name.format(id=next(iter(files))))
                changed.type, changed.linkname, changed.size = member.type, member.linkname, member.size
                tar.addfile(changed)  # where a size is claimed, no bytes come
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, BytesIO(data))
    other = _fresh(database.kind, tmp_path / "new", request)
    with pytest.raises(CannotStart):
        await bring_back(other, bad)
    kept = [path for path in (tmp_path / "new").rglob("*") if path.is_file() and path.name != "bullpen.lock"]
    assert [path for path in kept if path.is_symlink() or path.stat().st_size > 1_000_000] == []
    assert not (tmp_path / "new" / "other" / "bullpen.db").exists() or database.kind == "postgres"


def _fresh(kind: str, folder: Path, request: pytest.FixtureRequest) -> Database:
    """A database without tables; it is dropped when the test ends."""
    if kind == "sqlite":
        return sqlite_database(folder / "other", None)
    server: PostgresServer = request.getfixturevalue("postgres_server")
    made = postgres_database(server, folder / "other", template="template1")
    request.addfinalizer(lambda: drop(server, made))
    return made


@asynccontextmanager
async def _opened(database: Database) -> AsyncIterator[Driver]:
    async with AsyncExitStack() as stack:
        yield await Offices(database, stack).open(drive=False, watch=False)


def _read_tar(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar]  # type: ignore[union-attr]


def _write_tar(path: Path, members: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, BytesIO(data))
