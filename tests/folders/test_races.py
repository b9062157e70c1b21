"""Somebody swaps a folder for a link while we open files in it. Whatever the moment, nothing outside is reached."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bullpen.errors import ToolError
from bullpen.files import descent
from bullpen.files.folder import Folder
from bullpen.files.folders import Folders
from tests import effort

SWAPS = effort.count(10_000, sample=2_000)
OPENS = effort.count(5_000, sample=1_000)
MOST_OPENS = 500_000
SECONDS = 60
WAYS: dict[str, descent.Descend] = {"openat2": descent.by_openat2, "steps": descent.by_steps}


@contextmanager
def swapping(folder: Path, link: Path) -> Iterator[list[int]]:
    """Another process swaps the two, all the while. Its count is there afterwards."""
    command = [sys.executable, str(Path(__file__).with_name("swapper.py")), str(folder), str(link), str(SWAPS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    swaps: list[int] = []
    try:
        yield swaps
    finally:
        told, _ = process.communicate("", timeout=SECONDS)
        swaps.append(int(told))


def naive_read(folder: Path, path: str) -> bytes:
    """What not to do: look where a path leads, and then open the path."""
    whole = folder / path
    if not os.path.realpath(whole).startswith(f"{folder}{os.sep}"):
        return b""
    return whole.read_bytes()


@pytest.mark.proves("E4")
@pytest.mark.parametrize("way", WAYS)
def test_swapping_a_folder_for_a_link_never_escapes_it(way: str, tmp_path: Path) -> None:
    """The naive way escapes under the same swaps, so they are fast enough to mean something."""
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub" / "file").write_bytes(b"SECRET")
    folders = Folders(tmp_path / "folders", descend=WAYS[way])
    read: dict[bytes, int] = {}
    refused = naive = 0
    with folders.folder("thr_one") as folder:
        folder.write("d/sub/file", b"mine")
        here = tmp_path / "folders" / "thr_one"
        (here / "link").symlink_to(outside)
        with swapping(here / "d", here / "link") as swaps:
            attempts = 0
            while attempts < OPENS or not naive or not refused:
                attempts += 1
                try:
                    found = folder.read("d/sub/file", 100)
                    read[found] = read.get(found, 0) + 1
                except ToolError:
                    refused += 1
                change(folder, attempts)
                with suppress(OSError):
                    naive += naive_read(here, "d/sub/file") == b"SECRET"
                assert attempts < MOST_OPENS, "the swaps are too slow to test anything"
    assert swaps[0] >= SWAPS
    assert set(read) == {b"mine"}
    assert [path.name for path in outside.rglob("*")] == ["sub", "file"]
    assert (outside / "sub" / "file").read_bytes() == b"SECRET"


def change(folder: Folder, attempt: int) -> None:
    """Now and then, everything that changes something."""
    if attempt % 10:
        return
    for act in (
        lambda: folder.write("d/sub/new", b"mine"),
        lambda: folder.append("d/sub/new", b"more"),
        lambda: folder.make_folder("d/sub/deeper/still"),
        lambda: folder.rename("d/sub/new", "d/sub/moved"),
        lambda: folder.remove("d/sub/moved"),
        lambda: folder.remove("d/sub/deeper", whole=True),
    ):
        with suppress(ToolError):
            act()
