"""A file comes in as a form, is kept under an id of ours, and is described by what its bytes are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256

import pytest

from bullpen.settings import FileSettings
from tests.driver import Driver, Offices
from tests.files.offering import BOUNDARY, content, faults, form, give, on_disk, part, picture, send_form, until_kept


async def test_an_upload_is_kept_and_described(office: Driver) -> None:
    await office.space("general")
    data = b"first line\nsecond line\n"
    made = await give(office, data, "report.txt", space="general")
    assert made["id"].startswith("fil_")
    assert (made["name"], made["size"], made["type"], made["spaceId"]) == ("report.txt", 23, "text/plain", "general")
    assert made["sha256"] == sha256(data).hexdigest()
    assert await office.get(f"/files/{made['id']}") == made
    assert await content(office, made["id"]) == data
    assert on_disk(office) == [made["id"]]
    assert await faults(office, swept=True) == []


@pytest.mark.one_database
async def test_stored_files_are_accessible_only_to_the_server_user(office: Driver) -> None:
    await give(office)
    folder = office.office.settings.blobs
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert {mode for name, mode in modes.items() if name.startswith("fil_")} == {0o600}
    assert {mode for name, mode in modes.items() if not name.startswith("fil_")} == {0o700}


async def test_an_unshared_file_is_listed_only_for_its_owner(office: Driver) -> None:
    _, peter = await office.person("Peter")
    mine = [await give(office, name=f"{n}.txt") for n in range(3)]
    assert await office.items("/files") == mine[::-1]
    first = await office.get("/files", params={"limit": 2})
    rest = await office.get("/files", params={"limit": 2, "cursor": first["next"]})
    assert [*first["items"], *rest["items"]] == mine[::-1]
    assert await peter.items("/files") == []


async def test_files_of_a_space_are_listed_to_its_members(office: Driver) -> None:
    _, peter = await office.person("Peter")
    await office.space("general", ["psn_peter"])
    await office.space("den", private=True)
    one, two = await give(office, space="general"), await give(peter, space="general")
    assert await peter.items("/files", spaceId="general") == [two, one]
    await peter.get("/files", params={"spaceId": "den"}, status=404)


async def test_uploading_needs_posting_rights_checked_before_reading_the_body(office: Driver) -> None:
    await office.space("general")
    await office.space("den", private=True)
    _, peter = await office.person("Peter")

    async def never() -> AsyncIterator[bytes]:
        yield b""
        raise AssertionError("the body was read")

    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    for space, status in (("general", 403), ("den", 404), ("nowhere", 404)):
        answer = await peter.http.post("/files", params={"spaceId": space}, content=never(), headers=kind)
        assert answer.status_code == status, answer.text
    assert on_disk(office) == []


async def test_agents_upload_too_and_tools_do_not(office: Driver) -> None:
    await office.agent("ada")
    await office.space("general", ["ada"])
    ada = await office.as_agent("ada")
    assert (await give(ada, space="general"))["ownerId"] == "ada"
    assert (await give(ada))["ownerId"] == "ada"


@pytest.mark.one_database
@pytest.mark.parametrize("size", [0, 1, 65_536, 300_000, 1_000_000])
async def test_a_file_of_any_size_downloads_unchanged(offices: Offices, size: int) -> None:
    office = await offices.open(drive=False)
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    made = await give(office, data)
    assert made["size"] == size
    assert await content(office, made["id"]) == data


@pytest.mark.one_database
async def test_a_file_may_reach_but_not_exceed_the_size_limit(offices: Offices) -> None:
    office = await offices.open(drive=False, files=FileSettings(file_bytes=1000))
    await give(office, b"x" * 1000)
    for much in (1001, 2000, 200_000):
        said = await give(office, b"x" * much, status=413)
        assert said["error"]["code"] == "too_large"
        assert "1000 bytes" in said["error"]["message"]
    assert len(on_disk(office)) == 1


@pytest.mark.one_database
async def test_what_is_too_large_is_noticed_without_a_length_too(offices: Offices) -> None:
    office = await offices.open(drive=False, files=FileSettings(file_bytes=1000))
    body = form(part(b"x" * 5000))

    async def pieces() -> object:
        for at in range(0, len(body), 100):
            yield body[at : at + 100]

    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = await office.http.post("/files", content=pieces(), headers=kind)  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert on_disk(office) == []


@pytest.mark.one_database
async def test_a_client_that_leaves_midway_leaves_nothing(office: Driver) -> None:
    begun = asyncio.Event()

    async def receive() -> dict[str, object]:
        if not begun.is_set():
            begun.set()
            return {"type": "http.request", "body": form(part(b"x" * 300_000))[:290_000], "more_body": True}
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        return None

    headers = [
        (b"host", b"office"),
        (b"authorization", f"Bearer {office.token}".encode()),
        (b"content-type", f"multipart/form-data; boundary={BOUNDARY}".encode()),
    ]
    scope = {"type": "http", "method": "POST", "path": "/api/files", "raw_path": b"/api/files", "query_string": b""}
    await office.office.api({**scope, "headers": headers, "scheme": "http", "root_path": ""}, receive, send)
    assert begun.is_set()
    assert on_disk(office) == []
    assert await office.items("/files") == []


@pytest.mark.one_database
async def test_the_number_of_concurrent_uploads_is_limited(offices: Offices) -> None:
    office = await offices.open(drive=False, files=FileSettings(uploads_at_once=1))
    go_on = asyncio.Event()
    begun = asyncio.Event()

    async def slowly() -> object:
        body = form(part())
        yield body[:50]
        begun.set()
        await go_on.wait()
        yield body[50:]

    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    first = asyncio.create_task(office.http.post("/files", content=slowly(), headers=kind))  # type: ignore[arg-type]
    await begun.wait()
    await give(office, status=429)
    go_on.set()
    assert (await first).status_code == 201
    await give(office)


@pytest.mark.one_database
async def test_only_a_form_is_taken(office: Driver) -> None:
    for kind in ("application/json", "text/plain", "application/octet-stream", "multipart/mixed; boundary=x"):
        answer = await office.http.post("/files", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 415, kind
    form_elsewhere = await office.http.post("/spaces", files={"file": ("a", b"b")})
    assert form_elsewhere.status_code == 415
    packed = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Encoding": "gzip"}
    assert (await office.http.post("/files", content=form(part()), headers=packed)).status_code == 415


@pytest.mark.one_database
async def test_a_picture_is_recognised_by_its_bytes_not_its_name(office: Driver) -> None:
    for kind, type in (("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")):
        assert (await give(office, picture(kind), "picture.exe"))["type"] == type
    said = form(part(b"<html>", more=b"Content-Type: text/html\r\n"))
    assert (await send_form(office, said)).json()["type"] == "text/plain"


# ── the same again ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_upload_repeated_under_its_key_is_kept_once(office: Driver) -> None:
    await office.space("hall")
    first = await give(office, space="hall", key="k1")
    assert await give(office, space="hall", key="k1") == first
    assert await office.items("/files", spaceId="hall") == [first]
    await until_kept(office, [first["id"]])
    assert (await give(office, space="hall", key="k2"))["id"] != first["id"]
    _, pat = await office.person("Pat")
    assert (await give(pat, key="k1"))["id"] != first["id"], "a key is its holder's own"
    assert await faults(office) == []


async def test_a_key_that_means_another_file_is_a_conflict(office: Driver) -> None:
    await office.space("hall")
    await office.space("den")
    first = await give(office, space="hall", key="k1")
    for data, space in ((b"other", "hall"), (b"hello", "den")):
        refused = await give(office, data, space=space, key="k1", status=409)
        assert "clientFileId" in refused["error"]["fields"]
    await until_kept(office, [first["id"]])


async def test_a_repeated_upload_is_found_after_a_message_took_it(office: Driver) -> None:
    await office.space("hall")
    first = await give(office, key="k1")
    await office.post("hall", "see", attachments=[first["id"]])
    assert await give(office, key="k1") == {**first, "spaceId": "hall"}


async def test_a_repeated_upload_fits_where_the_first_filled_the_room(offices: Offices) -> None:
    office = await offices.open(files=FileSettings(space_bytes=10))
    await office.space("hall")
    first = await give(office, b"x" * 8, space="hall", key="k1")
    assert await give(office, b"x" * 8, space="hall", key="k1") == first
    await give(office, b"y" * 8, space="hall", key="k2", status=413)


async def test_uploads_at_once_under_one_key_make_one_file(office: Driver) -> None:
    made = await asyncio.gather(*(give(office, key="k1") for _ in range(4)))
    assert len({file["id"] for file in made}) == 1
    await until_kept(office, [made[0]["id"]])
    assert await faults(office) == []
