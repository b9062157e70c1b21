"""Archives pass through as bytes. Nothing on the host ever unpacks one."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from bullpen import ids
from bullpen.files.copying import copy_between, to_blob
from bullpen.files.folders import Folders
from bullpen.files.types import Blobs
from tests.architecture import source
from tests.driver import Driver
from tests.files.offering import content, give
from tests.folders.stores import all_of, given

# Reads backups, which are ours: entry by entry as a stream, never to a name that an entry says.
READS_BACKUPS = {"upkeep/archive.py": "tarfile"}
# A child with limits, which has no file to write to: one entry as a stream. A Word document is an archive.
READS_DOCUMENTS = {"apart/documents.py": "zipfile"}
UNPACKERS = ("zipfile", "tarfile", "shutil.unpack_archive", "zipimport", "py7zr", "rarfile", "lzma", "bz2")


def climbing_zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("../../climbed", "/tmp/absolute", "a/../../../b", "C:\\x"):
            archive.writestr(name, b"out")
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return made.getvalue()


def climbing_tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for kind, name, target in (
            (tarfile.SYMTYPE, "link", "/etc"),
            (tarfile.LNKTYPE, "hard", "/etc/passwd"),
            (tarfile.FIFOTYPE, "pipe", ""),
            (tarfile.REGTYPE, "../climbed", ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return made.getvalue()


def bomb() -> bytes:
    """Some kilobytes that would be a hundred megabytes, in a zip in a zip."""
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(100_000_000))
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", inner.getvalue())
    return outer.getvalue()


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.mark.proves("E6")
@pytest.mark.parametrize("make", [climbing_zip, climbing_tar, bomb])
async def test_an_archive_passes_through_as_the_bytes_it_is(make: object, blobs: Blobs, tmp_path: Path) -> None:
    archive: bytes = make()  # type: ignore[operator]
    name = f"archive{'.tar.gz' if make is climbing_tar else '.zip'}"
    neighbour = tmp_path / "neighbour"
    neighbour.mkdir()
    (neighbour / "file").write_bytes(b"as it is")
    folders = Folders(tmp_path / "folders")
    await folders.write("thr_parent", name, given([archive]))
    [place] = await copy_between(folders, "thr_parent", "thr_child", [name], key="call_1")
    id = ids.file()
    await to_blob(folders, "thr_child", place, blobs, id, most=1 << 30)
    assert await all_of(blobs.read(id)) == archive
    sum = hashlib.sha256(archive).hexdigest()
    assert tree(neighbour) == {"file": hashlib.sha256(b"as it is").hexdigest()}
    assert tree(tmp_path / "folders") == {
        f"thr_parent/{name}": sum,
        f"thr_child/{place.removeprefix('/workspace/')}": sum,
    }
    assert set(tree(tmp_path).values()) <= {sum, hashlib.sha256(b"as it is").hexdigest()}


@pytest.mark.proves("E6", "L11")
@pytest.mark.one_database
@pytest.mark.parametrize("name", ["archive.zip", "picture.png"])
async def test_an_uploaded_bomb_is_opened_by_nobody(office: Driver, name: str) -> None:
    archive = bomb()
    made = await give(office, archive, name)
    assert made["type"] == "application/zip"
    assert "thumbnail" not in made
    assert await content(office, made["id"]) == archive
    assert office.office.pool.process_ids == [], "no child was asked either"


@pytest.mark.proves("E6")
def test_no_module_has_the_means_to_unpack() -> None:
    wrong = [
        f"{module.at(node)} imports {name}"
        for module in source.modules().values()
        for name, node in source.imported_names(module.tree)
        if name.startswith(UNPACKERS) and {**READS_BACKUPS, **READS_DOCUMENTS}.get(module.file) != name
    ]
    wrong += [
        f"{module.at(call)} calls {name}"
        for module in source.modules().values()
        for name, call in source.calls(module)
        if name in ("unpack_archive", "extractall", "extract")
    ]
    assert not wrong, "the host unpacks nothing:\n" + "\n".join(wrong)
