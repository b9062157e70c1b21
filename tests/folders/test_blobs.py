"""One set of tests for every place that bytes may be kept in: what one promises, the others do."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from bullpen import ids
from bullpen.errors import Broken, NotFound, TooLarge
from bullpen.files.types import HEAD_BYTES, Blobs
from tests.folders.stores import all_of, given

MANY = 1 << 40
BIG = [bytes([number]) * 700_001 for number in range(30)]  # three parts, none of them even


@pytest.mark.parametrize(
    "pieces",
    [[], [b""], [b"x"], [b"ab", b"", b"cd"], [b"y" * 5000], [b"z" * (8 << 20)], BIG, [b"".join(BIG)]],
    ids=["none", "empty", "one", "few", "head", "a part", "parts", "parts at once"],
)
async def test_stored_bytes_are_read_back_unchanged(blobs: Blobs, pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    id = ids.file()
    kept = await blobs.keep(id, given(pieces), most=MANY)
    assert (kept.size, kept.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert kept.head == whole[:HEAD_BYTES]
    assert await blobs.size(id) == len(whole)
    assert await all_of(blobs.read(id)) == whole


@pytest.mark.parametrize("start", [0, 1, 4, 5, 6, 10**12])
async def test_reading_can_start_at_any_offset(blobs: Blobs, start: int) -> None:
    id = ids.file()
    await blobs.keep(id, given([b"hello"]), most=5)
    assert await all_of(blobs.read(id, start)) == b"hello"[start:]


async def test_reading_may_end_early(blobs: Blobs) -> None:
    id = ids.file()
    await blobs.keep(id, given(BIG), most=MANY)
    pieces = blobs.read(id, 700_000)
    assert (await anext(pieces))[:2] == b"\x00\x01"
    await pieces.aclose()  # type: ignore[attr-defined]
    assert await all_of(blobs.read(id, sum(map(len, BIG)) - 1)) == bytes([29])


async def test_what_is_too_large_is_not_kept(blobs: Blobs) -> None:
    for pieces in ([b"12345", b"6"], BIG):
        id = ids.file()
        with pytest.raises(TooLarge):
            await blobs.keep(id, given(pieces), most=sum(map(len, pieces)) - 1)
        assert await blobs.size(id) is None
    assert [id async for id in blobs.ids()] == []
    assert await blobs.tidy(idle=0) == 0


async def test_an_interrupted_blob_write_keeps_nothing(blobs: Blobs) -> None:
    async def broken(pieces: list[bytes]) -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
        raise ConnectionResetError

    for pieces in ([b"half"], BIG):
        with pytest.raises(ConnectionResetError):
            await blobs.keep(ids.file(), broken(pieces), most=MANY)
    assert [id async for id in blobs.ids()] == []
    assert await blobs.tidy(idle=0) == 0, "nothing was left to tidy up"


async def test_a_cancelled_blob_write_leaves_nothing(blobs: Blobs) -> None:
    reached = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        for piece in BIG:
            yield piece
        reached.set()
        await asyncio.Event().wait()

    keeping = asyncio.create_task(blobs.keep(ids.file(), endless(), most=MANY))
    await reached.wait()
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert [id async for id in blobs.ids()] == []
    assert await blobs.tidy(idle=0) == 0


async def test_writing_an_id_again_replaces_its_bytes(blobs: Blobs) -> None:
    id = ids.file()
    for text in (b"first", b"second"):
        await blobs.keep(id, given([text]), most=MANY)
        assert await all_of(blobs.read(id)) == text


async def test_dropping_a_blob_removes_it_and_may_be_repeated(blobs: Blobs) -> None:
    id, other = ids.file(), ids.file()
    for each in (id, other):
        await blobs.keep(each, given([b"x"]), most=1)
    for _ in range(2):
        await blobs.drop(id)
        assert await blobs.size(id) is None
        with pytest.raises(NotFound):
            await all_of(blobs.read(id))
        assert [each async for each in blobs.ids()] == [other]


async def test_listing_ids_includes_thumbnails_and_can_skip_recent_ones(blobs: Blobs) -> None:
    made = sorted(ids.file() for _ in range(5))
    for id in made:
        await blobs.keep(id, given([b"x"]), most=1)
        await blobs.keep(f"{id}.thumb", given([b"x"]), most=1)
    found = sorted([id async for id in blobs.ids()])
    assert found == sorted([*made, *(f"{id}.thumb" for id in made)])
    assert [id async for id in blobs.ids(idle=60)] == []


@pytest.mark.parametrize("id", ["../x", "fil_../../x", "fil_a/b", "FIL_A", "", "fil_", "fil_ab.thumb/..", "fil_ab\n"])
async def test_an_impossible_blob_id_is_treated_as_a_bug(blobs: Blobs, id: str) -> None:
    with pytest.raises(Broken):
        await blobs.keep(id, given([b"x"]), most=1)
    with pytest.raises(Broken):
        await all_of(blobs.read(id))
