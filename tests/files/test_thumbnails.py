"""Pictures are shown small: drawn anew, bounded on every side, and never at the cost of the upload."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import sys
import zlib
from contextlib import AsyncExitStack
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bullpen.apart import pictures, pool
from bullpen.apart.frames import END, pack_piece
from bullpen.files import thumbnails
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.files.offering import content, faults, give, on_disk, picture
from tests.waits import until

pytestmark = pytest.mark.one_database


async def small(office: Driver, id: str) -> Image.Image:
    answer = await office.http.get(f"/files/{id}/thumbnail")
    assert answer.is_success, answer.text
    return Image.open(BytesIO(answer.content))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_picture_is_shown_small(offices: Offices, kind: str) -> None:
    office = await offices.open(drive=False)
    made = await give(office, picture(kind, (1600, 900)), "p")
    shown = await small(office, made["id"])
    assert shown.size == (made["thumbnail"]["width"], made["thumbnail"]["height"]) == (320, 180)
    assert on_disk(office) == [made["id"], f"{made['id']}.thumb"]
    assert await faults(office, swept=True) == []


async def test_thumbnails_keep_transparency_and_never_enlarge_small_pictures(office: Driver) -> None:
    made = await give(office, picture("PNG", (10, 20), "RGBA"), "p.png")
    assert made["thumbnail"] == {"type": "image/png", "width": 10, "height": 20}
    assert (await small(office, made["id"])).mode == "RGBA"


async def test_a_thumbnail_contains_no_metadata(office: Driver) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    exif[0x010F] = "SECRET CAMERA"
    exif.get_ifd(0x8825)[1] = "N"
    data = picture("JPEG", (400, 200), exif=exif, comment=b"SECRET COMMENT")
    assert b"SECRET" in data
    made = await give(office, data, "p.jpg")
    assert (made["thumbnail"]["width"], made["thumbnail"]["height"]) == (160, 320)
    answer = await office.http.get(f"/files/{made['id']}/thumbnail")
    assert b"SECRET" not in answer.content
    assert not Image.open(BytesIO(answer.content)).getexif()


@pytest.mark.proves("E11")
async def test_who_left_the_space_gets_no_thumbnail_again(office: Driver) -> None:
    pat, as_pat = await office.person("Pat")
    await office.space("hall", [pat], private=True)
    made = await give(office, picture(), "p.png", space="hall")
    path = f"/files/{made['id']}/thumbnail"
    shown = await as_pat.http.get(path)
    assert shown.headers["cache-control"] == "private, no-cache", "or the browser would not ask again"
    known = {"If-None-Match": shown.headers["etag"]}
    assert (await as_pat.http.get(path, headers=known)).status_code == 304
    await office.ask("DELETE", f"/spaces/hall/members/{pat}")
    assert (await as_pat.http.get(path, headers=known)).status_code == 404


def bomb(width: int, height: int) -> bytes:
    """A picture that says it is enormous, in a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10_000))) + chunk(b"IEND", b"")
    )


BROKEN = {
    "cut": picture()[:200],
    "only the first bytes": b"\x89PNG\r\n\x1a\n",
    "no pixels": bomb(0, 0),
    "a bomb": bomb(50_000, 50_000),
    "a little too large": bomb(5_000, 4_001),
    "a page": b"GIF89a<script>",
    "another format by that name": b"RIFF\x00\x00\x00\x00WEBP" + b"\x00" * 100,
}


@pytest.mark.parametrize("name", BROKEN)
async def test_an_undrawable_picture_is_kept_without_a_thumbnail(offices: Offices, name: str) -> None:
    office = await offices.open(drive=False)
    made = await give(office, BROKEN[name], "p.png")
    assert "thumbnail" not in made
    await office.get(f"/files/{made['id']}/thumbnail", status=404)
    assert on_disk(office) == [made["id"]]


@given(st.binary(max_size=400), st.sampled_from([picture(kind, (8, 8)) for kind in ("PNG", "JPEG", "GIF", "WEBP")]))
def test_no_bytes_make_drawing_fail(noise: bytes, good: bytes) -> None:
    for data in (good[:20] + noise, noise + good, good[: len(good) // 2] + noise + good[len(good) // 2 :]):
        fields, small = pictures.draw_thumbnail({}, data)
        assert fields.get("width", 0) <= pictures.SIDE
        assert bool(fields) == bool(small)


def test_nothing_is_imported_for_pictures_until_one_comes() -> None:
    code = "import bullpen.app, sys; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


# ── pictures that would take the server with them ───────────────────────────────────────────────────────────────────


def unfolding() -> bytes:
    """A hundred kilobytes that are as large as a picture may be, and take 380 MB to draw."""
    return picture("PNG", (5000, 4000), "RGBA")


def rescanned(times: int) -> bytes:
    """A progressive JPEG whose last look at all pixels is repeated: a few megabytes, and many seconds to decode."""
    data = picture("JPEG", (4000, 4000), progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * times + data[-2:]


@pytest.mark.proves("L11")
@pytest.mark.parametrize(
    "bomb, name, bound", [(unfolding(), "MEGABYTES", 200), (rescanned(400), "SECONDS", 1)], ids=["memory", "time"]
)
async def test_a_picture_that_takes_too_much_costs_only_its_thumbnail(
    offices: Offices, monkeypatch: pytest.MonkeyPatch, bomb: bytes, name: str, bound: int
) -> None:
    office = await offices.open(drive=False)
    with monkeypatch.context() as patch:
        patch.setattr(thumbnails, name, bound)  # the same happens at any bound, and later
        made = await give(office, bomb, "p.png")
    assert "thumbnail" not in made
    assert office.office.pool.process_ids == [], "the child is gone"
    assert await content(office, made["id"]) == bomb
    assert "thumbnail" in await give(office, picture(), "q.png")
    assert len(office.office.pool.process_ids) == 1


async def test_a_child_that_dies_drawing_costs_only_the_thumbnail(office: Driver) -> None:
    await give(office, picture(), "p.png")
    (child,) = office.office.pool.process_ids
    os.kill(child, signal.SIGSTOP)  # it does not get to draw before it dies
    giving = asyncio.create_task(give(office, picture(), "q.png"))
    await until(lambda: is_busy(office))
    os.kill(child, signal.SIGKILL)
    assert "thumbnail" not in await giving
    assert "thumbnail" in await give(office, picture(), "r.png")


async def test_a_child_cannot_choose_what_browsers_are_shown(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    fields, page = b'{"type":"text/html","width":1,"height":1}', b"<script>"
    said = pack_piece(fields) + pack_piece(page) + END
    monkeypatch.setattr(pool, "PROGRAM", f"import sys; sys.stdout.buffer.write({said!r}); sys.stdout.flush(); input()")
    assert "thumbnail" not in await give(office, picture(), "p.png")


async def is_busy(office: Driver) -> bool:
    return not office.office.pool._idle


async def test_an_office_that_closes_ends_its_children(database: Database) -> None:
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open()
        assert office.office.pool.process_ids == [], "an office at rest has none"
        await give(office, picture(), "p.png")
        (child,) = office.office.pool.process_ids
    assert not Path(f"/proc/{child}").exists()
