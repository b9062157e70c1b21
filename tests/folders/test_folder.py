"""A thread's folder: files by path, whole or not at all, and nothing in it leads out of it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bullpen.errors import Broken, DiskFull, PathOutside, ToolError, ToolFailed
from bullpen.files import descent
from bullpen.files.folder import Folder
from bullpen.files.folders import Folders
from bullpen.settings import FolderSettings
from tests.folders.hostile_paths import OUTSIDE
from tests.folders.stores import all_of, given

THREAD = "thr_one"
WAYS: dict[str, descent.Descend] = {"openat2": descent.by_openat2, "steps": descent.by_steps}


@pytest.fixture(params=WAYS)
def folders(request: pytest.FixtureRequest, tmp_path: Path, open_files: None) -> Folders:
    if request.param == "openat2" and descent.best() is not descent.by_openat2:
        pytest.skip("this kernel has no openat2")
    return Folders(tmp_path / "folders", descend=WAYS[request.param])


@pytest.fixture
def folder(folders: Folders) -> Iterator[Folder]:
    with folders.folder(THREAD) as opened:
        yield opened


@pytest.fixture
def here(folder: Folder, tmp_path: Path) -> Path:
    """The folder as the host sees it."""
    return tmp_path / "folders" / THREAD


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of somebody else's, which must stay as it is."""
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret").write_bytes(b"SECRET")
    return made


def untouched(outside: Path) -> bool:
    return [p.name for p in outside.iterdir()] == ["secret"] and (outside / "secret").read_bytes() == b"SECRET"


# Everything that takes a path.
OPERATIONS: dict[str, Callable[[Folder, str], Any]] = {
    "open": lambda folder, path: folder.open(path).close(),
    "read": lambda folder, path: folder.read(path, 100),
    "stat": lambda folder, path: folder.stat(path),
    "entries": lambda folder, path: folder.entries(path),
    "write": lambda folder, path: folder.write(path, b"mine"),
    "append": lambda folder, path: folder.append(path, b"mine"),
    "make_folder": lambda folder, path: folder.make_folder(path),
    "rename from": lambda folder, path: folder.rename(path, "elsewhere"),
    "rename to": lambda folder, path: folder.rename("mine", path),
    "remove": lambda folder, path: folder.remove(path),
    "remove whole": lambda folder, path: folder.remove(path, whole=True),
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


# ── working in it ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_written_is_read_listed_changed_and_removed(folder: Folder, here: Path) -> None:
    written = folder.write("/workspace/reports/q3.txt", [b"Hello", b", ", b"you"])
    assert written.path == "/workspace/reports/q3.txt"
    assert (written.size, written.sha256) == (10, hashlib.sha256(b"Hello, you").hexdigest())
    assert folder.read("reports/q3.txt", 10) == b"Hello, you"
    with pytest.raises(ToolFailed, match="more than 9 bytes"):
        folder.read("reports/q3.txt", 9)
    folder.append("reports/q3.txt", b"!")
    folder.append("log", b"first\n")
    folder.append("log", b"second\n")
    folder.make_folder("a/b")
    folder.make_folder("a/b")
    folder.rename("log", "a/b/log")
    listed = [(entry.path, entry.kind, entry.size) for entry in folder.walk()]
    assert listed == [
        ("/workspace/a", "folder", 0),
        ("/workspace/reports", "folder", 0),
        ("/workspace/a/b", "folder", 0),
        ("/workspace/a/b/log", "file", 13),
        ("/workspace/reports/q3.txt", "file", 11),
    ]
    assert [entry.path for entry in folder.entries()] == ["/workspace/a", "/workspace/reports"]
    assert folder.stat("a/b/log").size == 13
    assert folder.usage() == (24, 5)
    folder.rename("a", "z")
    folder.remove("z/b/log")
    with pytest.raises(ToolFailed, match="something in it"):
        folder.remove("z")
    folder.remove("z", whole=True)
    assert [path.name for path in here.iterdir()] == ["reports"]
    assert folder.usage() == (11, 2)


def test_a_folder_is_accessible_only_to_its_user(folder: Folder, here: Path) -> None:
    folder.write("a/b", b"x")
    assert [path.stat().st_mode & 0o777 for path in (here.parent, here, here / "a", here / "a" / "b")] == [
        0o700,
        0o700,
        0o700,
        0o600,
    ]


@pytest.mark.parametrize("operation", [OPERATIONS[name] for name in ("open", "read", "stat", "entries", "remove")])
def test_a_missing_path_is_reported_by_every_operation(folder: Folder, operation: Callable[[Folder, str], Any]) -> None:
    for path in ("none", "none/at/all"):
        with pytest.raises(ToolFailed, match="There is no"):
            operation(folder, path)


def test_files_and_folders_are_not_mistaken_for_each_other(folder: Folder) -> None:
    folder.write("file", b"x")
    folder.make_folder("folder")
    for attempt in (
        lambda: folder.write("folder", b"x"),
        lambda: folder.open("folder"),
        lambda: folder.write("file/x", b"x"),
        lambda: folder.entries("file"),
        lambda: folder.make_folder("file"),
        lambda: folder.make_folder("file/x"),
        lambda: folder.rename("folder", "file"),
        lambda: folder.rename("folder", "folder/inside"),
        lambda: folder.rename("file", "folder"),
        lambda: folder.write("", b"x"),
        lambda: folder.remove("/workspace"),
    ):
        with pytest.raises(ToolFailed):
            attempt()
    assert [(entry.path, entry.kind) for entry in folder.walk()] == [
        ("/workspace/file", "file"),
        ("/workspace/folder", "folder"),
    ]


def test_a_failed_write_leaves_only_the_old_file(folder: Folder, here: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    folder.write("kept", b"before")
    for path in ("kept", "new/file"):
        with pytest.raises(ConnectionResetError):
            folder.write(path, broken())
    assert folder.read("kept", 100) == b"before"
    assert [path.name for path in here.iterdir()] == ["kept"]
    assert list((here.parent / ".partial").iterdir()) == []


def test_nobody_sees_half_a_file_while_it_is_written(folder: Folder, here: Path) -> None:
    seen = []

    def watched() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * 1000
            seen.append(sorted(path.name for path in here.rglob("*")))

    folder.write("new", watched())
    assert seen == [[], [], []]
    with folder.open("new") as reader:
        folder.write("new", b"another")
        assert reader.read() == b"x" * 3000, "who had the old one open still has it"


def test_a_full_disk_is_told_as_such(folder: Folder) -> None:
    def fill(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", fill)
        with pytest.raises(DiskFull):
            folder.write("x", b"x")
    assert folder.usage() == (0, 0)


# ── nothing leads out ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("E1")
@every_operation
def test_no_operation_takes_a_path_that_leads_elsewhere(
    folder: Folder, here: Path, operation: Callable[[Folder, str], Any]
) -> None:
    folder.write("mine", b"mine")
    for path in OUTSIDE:
        with pytest.raises(PathOutside):
            operation(folder, path)
    assert [path.name for path in here.iterdir()] == ["mine"]


@pytest.mark.proves("E2")
@every_operation
def test_links_are_not_followed(
    folder: Folder, here: Path, outside: Path, operation: Callable[[Folder, str], Any]
) -> None:
    folder.write("mine", b"mine")
    (here / "passwd").symlink_to("/etc/passwd")
    (here / "secret").symlink_to(outside / "secret")
    (here / "out").symlink_to(outside)
    (here / "up").symlink_to("..")
    (here / "loop").symlink_to("loop")
    (here / "own").symlink_to("mine")
    (here / "proc").symlink_to("/proc/self/environ")
    for path in ("passwd", "secret", "out", "up", "loop", "own", "proc"):
        if operation in (OPERATIONS["remove"], OPERATIONS["remove whole"]):
            operation(folder, path)  # the link goes, and what it named stays
            assert not (here / path).is_symlink()
            continue
        with pytest.raises(PathOutside, match="link"):
            operation(folder, path)
    for path in ("out/secret", "out/new", "up/x", "loop/x", "own/x"):
        with pytest.raises(ToolError):
            operation(folder, path)
    assert untouched(outside)
    assert (here / "mine").read_bytes() == b"mine"


@pytest.mark.proves("E3")
@pytest.mark.parametrize("name", ["write", "append", "make_folder", "rename to"])
def test_a_dangling_link_creates_nothing_at_its_target(folder: Folder, here: Path, outside: Path, name: str) -> None:
    folder.write("mine", b"mine")
    (here / "new").symlink_to(outside / "new")
    (here / "deep").symlink_to(outside / "deep")
    for path in ("new", "deep/er"):
        with pytest.raises(PathOutside):
            OPERATIONS[name](folder, path)
    assert untouched(outside)


@pytest.mark.proves("E5")
def test_hard_links_devices_pipes_and_sockets_are_refused_at_once(folder: Folder, here: Path, outside: Path) -> None:
    os.link(outside / "secret", here / "hard")
    os.mkfifo(here / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(here / "socket"))
    made = ["hard", "pipe", "socket"]
    if os.getuid() == 0:
        os.mknod(here / "zero", 0o600 | 0o020000, os.makedev(1, 5))
        made.append("zero")
    began = time.monotonic()
    for path in made:
        for name in ("open", "read", "write", "append", "rename from", "rename to"):
            folder.write("mine", b"mine")
            with pytest.raises(ToolError):
                OPERATIONS[name](folder, path)
    assert time.monotonic() - began < 5, "a pipe that nobody writes to is not waited for"
    listening.close()
    assert {entry.path: entry.kind for entry in folder.entries()}["/workspace/pipe"] == "other"
    assert (outside / "secret").read_bytes() == b"SECRET"


@pytest.mark.proves("E5")
def test_opening_a_file_swapped_for_a_pipe_does_not_hang(folder: Folder, here: Path) -> None:
    """Between the look and the opening: what counts is what was opened."""
    folder.write("file", b"x")
    look = os.stat

    def swapped(path: Any, **more: Any) -> os.stat_result:
        found = look(path, **more)
        if path == "file":
            (here / "file").unlink()
            os.mkfifo(here / "file")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", swapped)
        with pytest.raises(ToolFailed, match="no plain file"):
            folder.open("file")


def test_files_with_undecodable_names_are_listed_and_counted(folder: Folder, here: Path) -> None:
    (Path(os.fsdecode(os.fsencode(here) + b"/caf\xe9"))).write_bytes(b"x")
    (Path(os.fsdecode(os.fsencode(here) + b"/d\xff"))).mkdir()
    [first, second] = folder.entries()
    assert {first.path, second.path} == {"/workspace/caf�", "/workspace/d�"}
    assert folder.usage() == (1, 2)


def test_a_linked_or_misnamed_thread_folder_is_refused(folders: Folders, tmp_path: Path, outside: Path) -> None:
    (tmp_path / "folders").mkdir(mode=0o700)
    (tmp_path / "folders" / "thr_two").symlink_to(outside)
    with pytest.raises(OSError):  # noqa: PT011
        folders.folder("thr_two")
    for id in ("..", ".partial", "a/b", "", "x" * 100, "thr_\n"):
        with pytest.raises(Broken):
            folders.folder(id)


# ── how much ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_never_exceeds_its_byte_and_file_limits(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "folders", FolderSettings(bytes=1000, files=4))
    with folders.folder(THREAD) as folder:
        folder.write("a/b", b"x" * 600)
        with pytest.raises(ToolFailed, match="1000 bytes"):
            folder.write("c", b"y" * 401)
        folder.write("c", b"y" * 400)
        with pytest.raises(ToolFailed, match="full"):
            folder.append("c", b"z")
        folder.write("c", b"z" * 400)  # in the place of what counted before
        folder.write("c", b"")
        folder.write("d", b"")
        with pytest.raises(ToolFailed, match="4 files"):
            folder.write("e", b"")
        with pytest.raises(ToolFailed, match="4 files"):
            folder.make_folder("e")
        assert folder.usage() == (600, 4)
    # Another process, or a sandbox, removes something: it is noticed before anything is refused.
    (tmp_path / "folders" / THREAD / "a" / "b").unlink()
    with folders.folder(THREAD) as folder:
        folder.write("e", b"y" * 1000)
        assert folder.usage() == (1000, 4)
    with Folders(tmp_path / "folders", FolderSettings(bytes=0, files=0)).folder(THREAD) as folder:
        folder.write("much", b"z" * 5000)


def test_concurrent_writes_keep_usage_counts_correct(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "folders")

    def work(number: int) -> None:
        with folders.folder(THREAD) as folder:
            for turn in range(20):
                folder.write(f"{number}/{turn}", b"x" * turn)
                if turn % 2:
                    folder.remove(f"{number}/{turn}")

    workers = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    with folders.folder(THREAD) as folder, Folders(tmp_path / "folders").folder(THREAD) as fresh:
        assert folder.usage() == fresh.usage() == (4 * sum(range(0, 20, 2)), 44)


def test_a_very_deep_or_wide_folder_can_be_removed(folder: Folder, here: Path) -> None:
    folder.make_folder("deep")
    where = os.open(here / "deep", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", 0o700, dir_fd=where)
        below = os.open("d", os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = below
    os.close(where)
    for number in range(1100):
        (here / "deep" / f"f{number}").touch()
    (here / "deep" / "link").symlink_to("/etc")
    (here / "deep" / "d" / "closed").mkdir(mode=0o000)
    folder.remove("deep", whole=True)
    assert list(here.iterdir()) == []
    assert list((here.parent / ".partial").iterdir()) == []


# ── from async code ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_async_code_never_waits_for_the_disk_itself(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    loops = threading.get_ident()
    used: set[int] = set()
    opened = os.open

    def watched(*args: Any, **more: Any) -> int:
        used.add(threading.get_ident())
        return opened(*args, **more)

    monkeypatch.setattr(os, "open", watched)
    await folders.write(THREAD, "a", given([b"x", b"y"]))
    assert await all_of(folders.pieces(THREAD, "a")) == b"xy"
    assert await folders.use(THREAD, lambda folder: folder.read("a", 10)) == b"xy"
    await folders.remove(THREAD)
    assert used
    assert loops not in used


async def test_whoever_is_cancelled_while_writing_leaves_nothing(folders: Folders, tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        reached.set()
        await asyncio.Event().wait()

    writing = asyncio.create_task(folders.write(THREAD, "a", endless()))
    await reached.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert sorted(path.name for path in (tmp_path / "folders").rglob("*")) == [".partial", THREAD]


# ── sweeping ────────────────────────────────────────────────────────────────────────────────────────────────────────


def living(*ids: str) -> Callable[[Sequence[str]], Any]:
    async def known(asked: Sequence[str]) -> Collection[str]:
        return set(asked) & set(ids)

    return known


async def test_folders_of_deleted_threads_are_swept_and_others_stay(folders: Folders, tmp_path: Path) -> None:
    assert await folders.sweep(living()) == 0
    for id in ("thr_a", "thr_b", "thr_c"):
        await folders.write(id, "deep/er/file", given([b"x"]))
    (tmp_path / "folders" / "notes.txt").write_text("somebody's")
    assert await folders.sweep(living("thr_b")) == 2
    assert sorted(path.name for path in (tmp_path / "folders").iterdir()) == [".partial", "notes.txt", "thr_b"]
    assert await folders.use("thr_b", lambda folder: folder.read("deep/er/file", 1)) == b"x"
    assert await folders.sweep(living("thr_b")) == 0


async def test_no_folder_is_swept_when_the_database_knows_none(folders: Folders, tmp_path: Path) -> None:
    for number in range(21):
        await folders.use(f"thr_{number}", lambda folder: folder.usage())
    assert await folders.sweep(living()) == 0
    assert len(list((tmp_path / "folders").iterdir())) == 22
    assert await folders.sweep(living("thr_3")) == 20


async def test_what_is_being_written_is_not_swept(folders: Folders, tmp_path: Path) -> None:
    swept = []

    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"
        swept.append(await folders.sweep(living(THREAD)))
        yield b"y"

    await folders.write(THREAD, "file", pieces())
    assert swept == [0]
    assert await folders.use(THREAD, lambda folder: folder.read("file", 2)) == b"xy"
    (tmp_path / "folders" / ".partial" / "left-over").write_bytes(b"half")
    (tmp_path / "folders" / ".partial" / "left-folder" / "deep").mkdir(parents=True)
    assert await folders.sweep(living(THREAD)) == 2
    assert list((tmp_path / "folders" / ".partial").iterdir()) == []
