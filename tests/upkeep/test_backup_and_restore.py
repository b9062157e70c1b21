"""Backup and restore: a file holds the whole office, and an office is what its file says or what it was."""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import orjson
import pytest

from bullpen.errors import CannotStart
from bullpen.storage import copies
from bullpen.storage.migrations import known
from bullpen.testing import invariants, snapshot
from bullpen.testing.embedding import TinyEmbedder
from tests.databases import Database, Kind, drop, postgres_database, sqlite_database
from tests.driver import Driver, Offices
from tests.path.scripts import say
from tests.postgres import PostgresServer
from tests.upkeep.copies import back_up, bring_back, rows_of
from tests.upkeep.homes import Home
from tests.upkeep.offices import Lived


@pytest.fixture
def others(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[Kind, Database]]:
    """An empty database of each kind, to restore into."""
    server: PostgresServer = request.getfixturevalue("postgres_server")
    postgres = postgres_database(server, tmp_path / "other-postgres", template="template1")
    yield {"sqlite": sqlite_database(tmp_path / "other-sqlite", None), "postgres": postgres}
    drop(server, postgres)


def name_for(database: Database) -> str:
    return "office.db" if database.kind == "sqlite" else "office.jsonl.gz"


async def talk_at_length(home: Home, lines: int) -> None:
    async with AsyncExitStack() as stack:
        await (await home.enter(stack, watch=False)).talk_at_length(lines)


# ── there and back ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["office.jsonl", "office.jsonl.gz"])
async def test_a_jsonl_backup_restores_into_either_database_and_back(
    home: Home, others: dict[Kind, Database], tmp_path: Path, name: str
) -> None:
    await talk_at_length(home, 600)  # more than one page, and than one piece of the index
    database = home.database
    before = await rows_of(database)
    for number, other in enumerate((others["postgres"], others["sqlite"], others["postgres"])):
        path = tmp_path / f"{number}-{name}"
        await back_up(database, path)
        await bring_back(other, path, force=number > 1)
        assert await rows_of(other) == before
        database = other


async def test_a_sqlite_backup_is_a_file_that_any_sqlite_opens(sqlite_home: Home, tmp_path: Path) -> None:
    database = sqlite_home.database
    made = await back_up(database, tmp_path / "office.db")
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert (made.format, made.holds["key"], made.size) == ("sqlite", False, made.path.stat().st_size)
    with closing(sqlite3.connect(f"file:{made.path}?mode=ro&immutable=1", uri=True)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    other = sqlite_database(tmp_path / "other", None)
    await bring_back(other, made.path)
    assert await rows_of(other) == await rows_of(database)
    assert sorted(path.name for path in made.path.parent.iterdir()) == ["data", "office.db", "other"]


async def stream(office: Driver) -> list[bytes]:
    """All stored events, as a follower gets them who begins before the first."""
    beginning = f"{office.office.feed.incarnation}.0.0"
    follower, chunks = await office.office.feed.follow(await office.office.local_owner(), after=beginning)
    assert await anext(chunks) == b": welcome\n\n"
    replayed = await anext(chunks)
    await chunks.aclose()  # type: ignore[attr-defined]
    office.office.feed.leave(follower)
    return [line for line in replayed.split(b"\n") if line.startswith(b"data: ")]


async def test_a_restored_office_goes_on(database: Database, others: dict[Kind, Database], tmp_path: Path) -> None:
    """What was queued is driven, numbers go on above the highest, search finds old and new, the audit chain holds."""
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(drive=False, watch=False)
        await office.agent("mona", steps=[say("I am back")])
        await office.space("room", ["mona"], wake={"people": "all"})
        await office.space("quiet")
        for n in range(40):
            await office.post("quiet", f"nothing {n}")
        await office.post("room", "Zanzibar before")
        told = await stream(office)
        await back_up(database, tmp_path / "office.jsonl.gz")
    for other in others.values():
        await bring_back(other, tmp_path / "office.jsonl.gz")
        async with AsyncExitStack() as stack:
            again = await Offices(other, stack).open()
            await again.idle()
            assert (await stream(again))[: len(told)] == told, "followed from its beginning, it tells the same story"
            assert await again.texts("room") == ["Zanzibar before", "I am back"]
            await again.post("room", "Zanzibar after")
            await again.idle()
            found = await again.items("/search", q="zanzibar")
            assert [hit["text"] for hit in found] == ["Zanzibar after", "Zanzibar before"]
            assert (await again.get("/audit/check"))["ok"]
        seen = await snapshot.read(other.url)
        assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
        assert [row["action"] for row in seen["audit"] if row["action"] == "office.restored"] == ["office.restored"]


@pytest.mark.proves("M3")
async def test_a_cursor_from_before_a_restore_gets_reset(database: Database, tmp_path: Path) -> None:
    async def cursor_now(office: Driver) -> str:
        follower, _ = await office.office.feed.follow(await office.office.local_owner())
        office.office.feed.leave(follower)
        return follower.began

    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(watch=False)
        await office.space("room")
        await back_up(database, tmp_path / "office.jsonl")
        await office.post("room", "lost by the restore")
        before = await cursor_now(office)
    await bring_back(database, tmp_path / "office.jsonl", force=True)
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(watch=False)
        for n in range(10):  # there are events again at the place where the cursor was
            await office.post("room", f"another story {n}")
        _, chunks = await office.office.feed.follow(await office.office.local_owner(), after=before)
        assert await anext(chunks) == b": welcome\n\n"
        assert b'"type":"reset"' in await anext(chunks)
        await chunks.aclose()  # type: ignore[attr-defined]
        assert (await office.texts("room"))[0] == "another story 0"


# ── while others write ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["office.db", "office.jsonl"])
async def test_a_backup_of_a_busy_office_finishes_and_is_consistent(
    database: Database, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every message of a moment has its number, its event and its words; the writer never stops."""
    if name == "office.db" and database.kind == "postgres":
        pytest.skip("PostgreSQL is backed up as lines")
    monkeypatch.setattr(copies, "PAGES", 1)  # many steps, between each of which somebody writes
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(watch=False)
        await office.space("room")
        posted = 0
        stop = asyncio.Event()

        async def write() -> None:
            nonlocal posted
            while not stop.is_set():
                await office.post("room", f"message {posted}")
                posted += 1

        writers = [asyncio.create_task(write()) for _ in range(4)]
        taken = []
        for n in range(5):
            at_least = posted
            made = await back_up(database, tmp_path / f"{n}-{name}")
            taken.append((at_least, made, posted))
        stop.set()
        await asyncio.gather(*writers)
    for at_least, made, at_most in taken:
        await bring_back(database, made.path, force=True)
        seen = await snapshot.read(database.url)
        assert at_least <= len(seen.messages) <= at_most + 4
        assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_existing_backup_file_is_overwritten_only_on_request(database: Database, tmp_path: Path) -> None:
    path = tmp_path / name_for(database)
    path.write_text("something dear")
    with pytest.raises(CannotStart, match="is there already"):
        await back_up(database, path)
    assert path.read_text() == "something dear"
    await back_up(database, path, overwrite=True)
    await bring_back(database, path)


async def test_an_existing_office_is_replaced_only_by_force_and_kept(
    home: Home, sqlite_template: Path, tmp_path: Path
) -> None:
    database = home.database
    path = tmp_path / name_for(database)
    await back_up(sqlite_database(tmp_path / "empty", sqlite_template), path)
    before = await rows_of(database)
    with pytest.raises(CannotStart, match="holds an office already"):
        await bring_back(database, path)
    assert await rows_of(database) == before
    restored = await bring_back(database, path, force=True)
    assert (await rows_of(database))["messages"] == []
    assert restored.kept is not None
    assert restored.kept.stat().st_mode & 0o777 == 0o600
    await bring_back(database, restored.kept, force=True)
    assert await rows_of(database) == before


async def test_nothing_is_restored_while_a_server_works_on_it(lived: Lived, tmp_path: Path) -> None:
    office, database = lived.office, lived.database
    made = await back_up(database, tmp_path / name_for(database))
    with pytest.raises(CannotStart, match=r"in use by pid \d+|uses this database"):
        await bring_back(database, made.path, force=True)
    await office.get("/me")


@pytest.mark.parametrize("name", ["office.jsonl", "office.jsonl.gz", "office.db"])
async def test_a_truncated_or_altered_backup_is_refused_and_changes_nothing(
    home: Home, tmp_path: Path, name: str
) -> None:
    database = home.database
    if name == "office.db" and database.kind == "postgres":
        pytest.skip("PostgreSQL is backed up as lines")
    before = await rows_of(database)
    path = tmp_path / name
    whole = (await back_up(database, path)).path.read_bytes()
    for damaged in damages(name, whole):
        path.write_bytes(damaged)
        with pytest.raises(CannotStart):
            await bring_back(database, path, force=True)
        assert await rows_of(database) == before


def damages(name: str, whole: bytes) -> Iterator[bytes]:
    yield b""
    yield whole[: len(whole) // 2]
    yield whole[:-1000] if name == "office.db" else whole[:-10]
    if name == "office.jsonl":
        lines = whole.splitlines(keepends=True)
        yield b"".join(lines[:-1])
        yield b"".join([*lines[:5], *lines[6:]])
        yield whole.replace(b"Good morning", b"Good evening", 1)
        yield whole + b"{}\n"
        yield whole.replace(b'"bullpen":1', b'"bullpen":2', 1)
    if name == "office.jsonl.gz":
        yield whole[:200] + b"\x00" + whole[201:]


@pytest.mark.one_database
async def test_a_backup_from_a_newer_bullpen_is_refused_with_explanation(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "office.jsonl"
    await back_up(database, path)
    newest = known()[-1].number
    path.write_bytes(path.read_bytes().replace(b'"schema":%d' % newest, b'"schema":999', 1))
    with pytest.raises(CannotStart, match=rf"schema 999, but this Bullpen knows only up to {newest}"):
        await bring_back(database, path)


async def test_a_backup_naming_an_unknown_table_or_column_is_refused(database: Database, tmp_path: Path) -> None:
    """Names from the file go into SQL, so only those that are there pass."""
    path = tmp_path / "office.jsonl"
    for table, row in (
        ('x" (a) VALUES (1);--', {"a": 1}),
        ("people", {'id") SELECT 1;--': 1}),
        ("pgqueuer", {"id": 1}),
    ):
        out = copies.LineWriter(path, packed=False)
        out.begin(copies.Header(known()[-1].number, "sqlite", "2026-01-01T00:00:00Z", {}))
        out.add([orjson.dumps({"table": table, "row": row})])
        out.end()
        with pytest.raises(CannotStart, match="a table or column that its schema does not have"):
            await bring_back(database, path)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "content", [b"hello\n", b'{"a": 1}\n', b"[]\n", gzip.compress(b"x", mtime=0), b"SQLite format 3\x00"]
)
async def test_what_is_no_backup_is_refused(database: Database, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(CannotStart):
        await bring_back(database, path)
    with pytest.raises(CannotStart):
        await bring_back(database, tmp_path / "nowhere")


async def test_a_damaged_database_can_be_replaced_and_is_kept_unchanged(sqlite_home: Home, tmp_path: Path) -> None:
    database = sqlite_home.database
    made = await back_up(database, tmp_path / "office.db")
    before = await rows_of(database)
    database.path.write_bytes(b"scribbled over" * 1000)
    restored = await bring_back(database, made.path, force=True)
    assert await rows_of(database) == before
    assert restored.kept is not None
    assert restored.kept.read_bytes() == b"scribbled over" * 1000


@pytest.mark.one_database
async def test_progress_rises_to_the_end(home: Home, tmp_path: Path) -> None:
    await talk_at_length(home, 300)
    told: list[tuple[int, int]] = []
    await back_up(home.database, tmp_path / "office.jsonl", progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == told[-1][1] > 500


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def are_embedded(database: Database, count: int) -> bool:
    return len((await snapshot.read(database.url))["vectors"]) == count


async def test_a_backup_in_lines_holds_vectors_and_queues_nothing_anew(
    database: Database, others: dict[Kind, Database], tmp_path: Path
) -> None:
    embedder = TinyEmbedder()
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(embedder=embedder)
        await office.agent("ada")
        await office.space("general")
        for text in ("An automobile.", "A feline."):
            await office.create("/agents/ada/passages", {"content": text})
        await office.post("general", "Hello.")
        await office.until(lambda: are_embedded(database, 3))
        embedder.gate.clear()
        await office.create("/agents/ada/passages", {"content": "The third one."})
    before = await rows_of(database)
    assert len(before["vectors"]) == 3
    assert len(before["unembedded"]) == 1
    for kind, other in others.items():
        path = tmp_path / f"{kind}.jsonl"
        await back_up(database, path)
        await bring_back(other, path)
        after = await rows_of(other)
        assert after["vectors"] == before["vectors"]
        assert after["unembedded"] == before["unembedded"]
