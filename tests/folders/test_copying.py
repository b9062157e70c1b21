"""Files handed from thread to thread: copies, whole, at paths of the receiver's own, whatever is killed meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bullpen import ids
from bullpen.errors import PathOutside, TooLarge, ToolError, ToolFailed
from bullpen.files.copying import MOST_PATHS, copy_between, from_blob, to_blob
from bullpen.files.folder import Folder
from bullpen.files.folders import Folders
from bullpen.files.types import Blobs
from bullpen.settings import FolderSettings
from bullpen.testing.forks import Forks
from tests import effort
from tests.folders.stores import all_of, given

PARENT, CHILD = "thr_parent", "thr_child"
FILES = {
    "/workspace/brief.md": b"# Brief\n" * 10,
    "/workspace/data/table.csv": bytes(range(256)) * 9000,
    "/workspace/data/brief.md": b"",
    "/workspace/photo": random.Random(7).randbytes(3_000_001),
}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "folders")


@pytest.fixture
async def filled(folders: Folders) -> Folders:
    for path, content in FILES.items():
        await folders.write(PARENT, path, given([content]))
    return folders


async def read(folders: Folders, thread: str, path: str) -> bytes:
    return await all_of(folders.pieces(thread, path))


async def everything(folders: Folders, thread: str) -> dict[str, bytes]:
    def found(folder: Folder) -> dict[str, bytes]:
        return {entry.path: folder.read(entry.path, 1 << 30) for entry in folder.walk() if entry.kind == "file"}

    return await folders.use(thread, found)


def sums(files: dict[str, bytes]) -> list[str]:
    return sorted(hashlib.sha256(content).hexdigest() for content in files.values())


# ── copies ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("E7", "V13")
@pytest.mark.parametrize("giver, taker", [(PARENT, CHILD), (CHILD, PARENT)], ids=["to the child", "to the parent"])
async def test_copied_files_get_paths_valid_in_the_receiving_folder(folders: Folders, giver: str, taker: str) -> None:
    for path, content in FILES.items():
        await folders.write(giver, path, given([content]))
    places = await copy_between(folders, giver, taker, list(FILES), key="call_1")
    assert len(set(places)) == len(FILES)
    for path, place in zip(FILES, places, strict=True):
        assert place.startswith("/workspace/attachments/")
        assert Path(place).suffix == Path(path).suffix
        assert Path(path).stem in place
        assert await read(folders, taker, place) == FILES[path]
        assert hashlib.sha256(await read(folders, taker, place)).digest() == hashlib.sha256(FILES[path]).digest()
    assert sorted(await everything(folders, taker)) == sorted(places), "and nothing else"


@pytest.mark.proves("E7")
async def test_copies_are_independent_of_later_changes_on_either_side(filled: Folders, tmp_path: Path) -> None:
    [place] = await copy_between(filled, PARENT, CHILD, ["brief.md"], key="call_1")
    await filled.use(PARENT, lambda folder: folder.append("brief.md", b"more"))
    assert await read(filled, CHILD, place) == FILES["/workspace/brief.md"]
    await filled.use(CHILD, lambda folder: folder.append(place, b"mine"))
    await filled.use(CHILD, lambda folder: folder.remove(place))
    assert await read(filled, PARENT, "brief.md") == FILES["/workspace/brief.md"] + b"more"
    files = [path for path in (tmp_path / "folders").rglob("*") if path.is_file()]
    assert len({path.stat().st_ino for path in files}) == len(files)


async def test_the_same_call_repeats_paths_and_another_gets_new_ones(filled: Folders) -> None:
    first = await copy_between(filled, PARENT, CHILD, list(FILES), key="call_1")
    again = await copy_between(filled, PARENT, CHILD, list(FILES), key="call_1")
    assert again == first
    assert len(await everything(filled, CHILD)) == len(FILES)
    other = await copy_between(filled, PARENT, CHILD, list(FILES), key="call_2")
    assert not set(other) & set(first)
    twice = await copy_between(filled, PARENT, CHILD, ["photo", "/workspace/photo", "photo"], key="call_3")
    assert len(set(twice)) == 1


@pytest.mark.proves("E8")
async def test_a_child_cannot_return_what_is_not_its_own(filled: Folders, tmp_path: Path) -> None:
    """Nor anything of the same batch: the error comes before the first copy."""
    await filled.write(CHILD, "mine", given([b"mine"]))
    here = tmp_path / "folders" / CHILD
    (here / "link").symlink_to(tmp_path / "folders" / PARENT / "brief.md")
    (here / "parent").symlink_to(tmp_path / "folders" / PARENT)
    before = await everything(filled, PARENT)
    (here / "hard").hardlink_to(tmp_path / "folders" / PARENT / "photo")
    for path in (
        "/workspace/parent/secret",
        "/workspace/parent/brief.md",
        "/workspace/link",
        "hard",
        "../thr_parent/brief.md",
        str(tmp_path / "folders" / PARENT / "brief.md"),
        "/etc/passwd",
        "nothing",
        "",
    ):
        with pytest.raises(ToolError):
            await copy_between(filled, CHILD, PARENT, ["mine", path], key="call_1")
    (here / "hard").unlink()
    assert await everything(filled, PARENT) == before


async def test_a_full_receiver_gets_no_partial_file(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "folders", FolderSettings(bytes=1000))
    await folders.write(PARENT, "small", given([b"x" * 400]))
    await folders.write(PARENT, "large", given([b"y" * 600]))
    await folders.write(CHILD, "own", given([b"z" * 500]))
    with pytest.raises(ToolFailed, match="full"):
        await copy_between(folders, PARENT, CHILD, ["small", "large"], key="call_1")
    for content in (await everything(folders, CHILD)).values():
        assert content in (b"x" * 400, b"z" * 500)


async def test_a_file_changing_during_the_copy_is_not_handed_over(
    filled: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Folder.write

    def meanwhile(folder: Folder, path: str, pieces: object) -> object:
        written = whole(folder, path, pieces)  # type: ignore[arg-type]
        with filled.folder(PARENT) as parent:
            parent.append("photo", b"more")
        return written

    monkeypatch.setattr(Folder, "write", meanwhile)
    with pytest.raises(ToolFailed, match="changed while"):
        await copy_between(filled, PARENT, CHILD, ["photo"], key="call_1")
    assert await everything(filled, CHILD) == {}


async def test_a_batch_has_a_bound_and_may_be_empty(folders: Folders) -> None:
    assert await copy_between(folders, PARENT, CHILD, [], key="call_1") == []
    with pytest.raises(ToolFailed, match="At most"):
        await copy_between(folders, PARENT, CHILD, ["x"] * (MOST_PATHS + 1), key="call_1")


@pytest.mark.parametrize(
    "name", ["x" * 255, "é" * 127, f"{'x' * 250}.pdf", f"a.{'e' * 250}", ".env", "a.tar.gz", "a b.txt"]
)
async def test_any_name_that_can_be_written_can_be_handed_over(folders: Folders, name: str) -> None:
    await folders.write(PARENT, name, given([b"x"]))
    [place] = await copy_between(folders, PARENT, CHILD, [name], key="call_1")
    assert await read(folders, CHILD, place) == b"x"


# ── killed ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with Forks("tests.folders.children") as running:
        yield running


async def known(ids: object) -> set[str]:
    return {PARENT, CHILD, *(f"thr_{number}" for number in range(1000))}


@pytest.mark.proves("E9")
async def test_copies_killed_anywhere_show_no_half_file_and_can_finish(
    filled: Folders, children: Forks, tmp_path: Path
) -> None:
    """Crash point 19."""
    root, paths, point = tmp_path / "folders", list(FILES), 0
    while True:
        point += 1
        to = f"thr_{point}"
        told = children.run("copy_once", seconds=60, root=str(root), to=to, paths=paths, key="call_1", die_at=point)
        seen = await everything(filled, to)
        assert set(sums(seen)) <= set(sums(FILES)), f"half a file, killed at point {point}"
        places = await copy_between(filled, PARENT, to, paths, key="call_1")
        assert set(seen) <= set(places)
        assert sorted(await everything(filled, to)) == sorted(places)
        assert sums(await everything(filled, to)) == sums(FILES)
        if told:
            assert told[0]["places"] == places
            break
    assert point > 20
    assert await filled.sweep(known) >= 1, "what the killed ones left"
    assert list((root / ".partial").iterdir()) == []


@pytest.mark.proves("E9")
async def test_copies_killed_at_random_never_show_half_a_file(filled: Folders, children: Forks, tmp_path: Path) -> None:
    root, paths, keys = tmp_path / "folders", list(FILES), ["call_1", "call_2", "call_3"]
    expected = {key: await copy_between(filled, PARENT, "thr_0", paths, key=key) for key in keys}
    chance = random.Random(19)
    for _ in range(effort.count(50, sample=15)):
        child = children.start("copy_for_ever", root=str(root), to=CHILD, paths=paths, keys=keys)
        child.next_report(30)
        await asyncio.to_thread(time.sleep, chance.uniform(0, 0.06))  # when it dies is the point of it
        child.kill()
        children.forget(child)
        seen = await everything(filled, CHILD)
        assert set(sums(seen)) <= set(sums(FILES))
        assert set(seen) <= {place for places in expected.values() for place in places}
    for key in keys:
        assert await copy_between(filled, PARENT, CHILD, paths, key=key) == expected[key]
    assert len(await everything(filled, CHILD)) == len(paths) * len(keys)
    await filled.sweep(known)
    assert list((root / ".partial").iterdir()) == []
    assert sorted(path.name for path in root.iterdir()) == [".partial", "thr_0", CHILD, PARENT]


# ── to and from what is kept ────────────────────────────────────────────────────────────────────────────────────────


async def test_an_attachment_enters_the_folder_under_a_safe_name(blobs: Blobs, folders: Folders) -> None:
    for name in ("report.pdf", "C:\\..\\evil.exe", "../../x", "\u202egpj.exe", "a/b", "", "..."):
        id = ids.file()
        await blobs.keep(id, given([name.encode()]), most=1000)
        written = await from_blob(blobs, id, name, folders, CHILD)
        assert written.path.startswith("/workspace/media/")
        assert await read(folders, CHILD, written.path) == name.encode()
        again = await from_blob(blobs, id, name, folders, CHILD)
        assert again == written
    assert len(await everything(folders, CHILD)) == 7


async def test_a_workspace_file_can_be_stored_as_a_blob(blobs: Blobs, filled: Folders) -> None:
    id = ids.file()
    kept = await to_blob(filled, PARENT, "photo", blobs, id, most=1 << 30)
    photo = FILES["/workspace/photo"]
    assert (kept.size, kept.sha256) == (len(photo), hashlib.sha256(photo).hexdigest())
    assert await all_of(blobs.read(id)) == photo
    with pytest.raises(TooLarge):
        await to_blob(filled, PARENT, "photo", blobs, ids.file(), most=1000)
    for path, error in (("none", ToolFailed), ("../photo", PathOutside), ("data", ToolFailed)):
        with pytest.raises(error):
            await to_blob(filled, PARENT, path, blobs, ids.file(), most=1000)
    assert [each async for each in blobs.ids()] == [id]
