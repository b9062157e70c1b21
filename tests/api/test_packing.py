"""Long answers of the API are packed for whoever takes gzip; nothing else is."""

from __future__ import annotations

import gzip
import zlib

import pytest

from bullpen.api.packing import LEAST, NOISE, pack
from tests.driver import Driver

pytestmark = pytest.mark.one_database

LISTS = "http://office/api/spaces/general/messages?limit=200"


async def talkative(office: Driver) -> None:
    await office.space("general", [])
    for number in range(30):
        await office.post("general", f"Message {number} about the poster for the book fair, which is nearly ready")


async def test_a_long_list_is_packed_and_reads_the_same(office: Driver) -> None:
    await talkative(office)
    plain = await office.http.get(LISTS, headers={"Accept-Encoding": "identity"})
    packed = await office.http.get(LISTS, headers={"Accept-Encoding": "br, gzip;q=0.8"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) * 4 < int(plain.headers["content-length"])
    assert "Accept-Encoding" in packed.headers["vary"]
    assert "Accept-Encoding" in plain.headers.get("vary", "Accept-Encoding")


@pytest.mark.parametrize("accepted", ["identity", "br", "gzip;q=0", "gzip; q=0.0", "x-gzip"])
async def test_whoever_does_not_take_gzip_gets_it_plain(office: Driver, accepted: str) -> None:
    await talkative(office)
    answer = await office.http.get(LISTS, headers={"Accept-Encoding": accepted})
    assert "content-encoding" not in answer.headers
    assert len(answer.json()["items"]) == 30


async def test_short_answers_and_answers_to_post_stay_plain(office: Driver) -> None:
    await talkative(office)
    short = await office.http.get("http://office/api/me", headers={"Accept-Encoding": "gzip"})
    assert len(short.content) < LEAST
    text = "said " * LEAST
    posted = await office.http.post(
        "http://office/api/spaces/general/messages", json={"text": text}, headers={"Accept-Encoding": "gzip"}
    )
    edited = await office.http.patch(
        f"http://office/api/messages/{posted.json()['id']}", json={"text": text}, headers={"Accept-Encoding": "gzip"}
    )
    refused = await office.http.get(f"{LISTS}&before=x{'y' * LEAST}", headers={"Accept-Encoding": "gzip"})
    assert (posted.status_code, edited.status_code, refused.status_code >= 400) == (201, 200, True)
    assert len(edited.content) > LEAST
    assert not [each for each in (short, posted, edited, refused) if "content-encoding" in each.headers]


async def test_only_json_is_packed(office: Driver) -> None:
    await office.space("general", [])
    skill = {"description": "How to draw.", "instructions": "Draw a line. " * 200}
    await office.ask("PUT", "/spaces/general/skills/drawing", json=skill)
    export = "http://office/api/spaces/general/skills/drawing/export"
    answer = await office.http.get(export, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200, answer.text
    assert len(answer.content) > LEAST
    assert "content-encoding" not in answer.headers


def test_the_length_of_a_packed_answer_says_little() -> None:
    body = b'{"items": []}' * 200
    lengths = {len(pack(body)) for _ in range(200)}
    assert len(lengths) > NOISE / 2
    assert {gzip.decompress(pack(body)), zlib.decompress(pack(body), wbits=31)} == {body}


async def test_every_answer_of_the_api_tells_the_build(office: Driver) -> None:
    said = {
        (await office.http.get(f"http://office/api/{path}")).headers.get("bullpen-build")
        for path in ("me", "spaces", "no")
    }
    assert len(said) == 1
    assert len(said.pop() or "") == 12
