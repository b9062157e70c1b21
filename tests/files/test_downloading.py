"""A download is an attachment whatever it is, only for those who may read its space, and may come in parts."""

from __future__ import annotations

import pytest

from tests.driver import Api, Driver
from tests.files.offering import content, give, picture, until_kept

PAGE = b"<!DOCTYPE html><script>fetch('/api/me')</script>"
DRAWING = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
POLYGLOT = b"GIF89a/*\x01\x00\x01\x00\x00\x00\x00*/=1;alert(1)"
KINDS = ["page", "drawing", "polyglot"]


@pytest.mark.one_database
@pytest.mark.proves("B6")
@pytest.mark.parametrize("name, data", [("a.html", PAGE), ("a.svg", DRAWING), ("a.gif", POLYGLOT)], ids=KINDS)
async def test_downloaded_files_never_execute_in_the_browser(office: Driver, name: str, data: bytes) -> None:
    made = await give(office, data, name)
    answer = await office.http.get(f"/files/{made['id']}/content")
    assert answer.content == data
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{name}"')
    assert answer.headers["content-type"] in ("text/plain", "image/gif")
    assert answer.headers["x-content-type-options"] == "nosniff"
    policies = answer.headers.get_list("content-security-policy")
    assert "sandbox; default-src 'none'" in policies
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "private, no-store"
    assert "thumbnail" not in made


@pytest.mark.one_database
@pytest.mark.proves("B6")
async def test_only_thumbnails_are_served_inline(office: Driver) -> None:
    made = await give(office, picture(), "p.png")
    for address in (f"/files/{made['id']}/thumbnail", f"/files/{made['id']}/content?thumbnail=1"):
        answer = await office.http.get(address)
        assert answer.headers["content-disposition"].startswith("inline")
        assert answer.headers["content-type"] == made["thumbnail"]["type"] == "image/jpeg"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox; default-src 'none'" in answer.headers.get_list("content-security-policy")


async def everywhere(api: Api, id: str) -> set[int]:
    addresses = [f"/files/{id}", f"/files/{id}/content", f"/files/{id}/thumbnail", f"/files/{id}/content?thumbnail=1"]
    return {(await api.http.get(address)).status_code for address in addresses}


@pytest.mark.proves("E11")
async def test_another_spaces_file_does_not_exist_for_you(office: Driver) -> None:
    _, peter = await office.person("Peter")
    _, anna = await office.person("Anna")
    await office.agent("ada")
    ada = await office.as_agent("ada")
    await office.space("den", ["psn_anna"], private=True)
    hidden = await give(anna, picture(), space="den")
    own = await give(anna, picture())
    assert await everywhere(anna, hidden["id"]) == {200}
    assert await everywhere(anna, own["id"]) == {200}
    for stranger in (peter, ada):
        assert await everywhere(stranger, hidden["id"]) == {404}
        assert await everywhere(stranger, own["id"]) == {404}
        await stranger.ask("DELETE", f"/files/{hidden['id']}", status=404)
        await stranger.ask("DELETE", f"/files/{own['id']}", status=404)
    # Nor for the owner of the office, who is not a member of the space and has not the file.
    assert await everywhere(office, own["id"]) == {404}
    unknown = [await peter.get(f"/files/{id}", status=404) for id in (hidden["id"], "fil_0", "../secrets")]
    assert {answer["error"]["code"] for answer in unknown} == {"not_found"}
    assert unknown[0]["error"]["message"] == unknown[1]["error"]["message"].replace("fil_0", hidden["id"])


@pytest.mark.proves("E11")
async def test_leaving_a_space_ends_access_even_to_ones_own_files(office: Driver) -> None:
    _, peter = await office.person("Peter")
    await office.space("den", ["psn_peter"], private=True)
    made = await give(peter, space="den")
    assert await everywhere(peter, made["id"]) == {200, 404}  # a text has no small picture
    await office.ask("DELETE", "/spaces/den/members/psn_peter")
    assert await everywhere(peter, made["id"]) == {404}


async def test_the_owner_reads_what_is_in_public_spaces(office: Driver) -> None:
    _, peter = await office.person("Peter")
    await peter.create("/spaces", {"id": "open"})
    await peter.create("/spaces", {"id": "closed", "private": True})
    public, private = await give(peter, space="open"), await give(peter, space="closed")
    assert await content(office, public["id"]) == b"hello"
    await office.get(f"/files/{private['id']}", status=404)


@pytest.mark.one_database
async def test_parts_of_a_file_can_be_asked_for(office: Driver) -> None:
    data = bytes(range(256)) * 2048
    id = (await give(office, data, "data.bin"))["id"]
    whole = await office.http.get(f"/files/{id}/content")
    assert (whole.status_code, whole.headers["accept-ranges"]) == (200, "bytes")
    assert whole.headers["content-length"] == str(len(data))
    last = len(data) - 1
    for asked, start, end in (("0-0", 0, 0), ("100-199", 100, 199), ("500000-", 500_000, last), ("-5", last - 4, last)):
        answer = await office.http.get(f"/files/{id}/content", headers={"Range": f"bytes={asked}"})
        assert answer.status_code == 206, asked
        assert answer.content == data[start : end + 1]
        assert answer.headers["content-range"] == f"bytes {start}-{end}/{len(data)}"
    beyond = await office.http.get(f"/files/{id}/content", headers={"Range": f"bytes={len(data)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(data)}")
    for odd in ("bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=9-3", "lines=1-2", "bytes=x-y", f"bytes={'9' * 40}-"):
        answer = await office.http.get(f"/files/{id}/content", headers={"Range": odd})
        assert (answer.status_code, answer.content == data) == (200, True), odd


@pytest.mark.one_database
async def test_an_unchanged_file_is_not_downloaded_again(office: Driver) -> None:
    made = await give(office)
    tag = (await office.http.get(f"/files/{made['id']}/content")).headers["etag"]
    assert tag == f'"{made["sha256"]}"'
    same = await office.http.get(f"/files/{made['id']}/content", headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    old = {"Range": "bytes=0-1", "If-Range": '"something else"'}
    assert (await office.http.get(f"/files/{made['id']}/content", headers=old)).status_code == 200


@pytest.mark.one_database
async def test_a_file_with_lost_bytes_answers_410_with_advice(office: Driver) -> None:
    made = await give(office, picture(), "p.png")
    for path in office.office.settings.blobs.glob("*/fil_*"):
        path.unlink()
    for address in ("content", "thumbnail"):
        said = await office.get(f"/files/{made['id']}/{address}", status=410)
        assert "bullpen doctor" in said["error"]["message"]


async def test_people_can_delete_their_unattached_uploads(office: Driver) -> None:
    _, peter = await office.person("Peter")
    await office.space("general", ["psn_peter"])
    own, shared = await give(peter), await give(peter, picture(), space="general")
    await peter.ask("DELETE", f"/files/{own['id']}", status=204)
    await peter.get(f"/files/{own['id']}", status=404)
    _, anna = await office.person("Anna")
    await office.create("/spaces/general/members", {"memberId": "psn_anna"})
    said = await anna.ask("DELETE", f"/files/{shared['id']}", status=403)
    assert "Only whoever gave it" in said["error"]["message"]
    await office.ask("DELETE", f"/files/{shared['id']}", status=204)
    noted = await office.items("/audit", action="file.deleted")
    assert [(row["objectId"], row["detail"]) for row in noted] == [
        (shared["id"], {"ownerId": "psn_peter", "spaceId": "general"})
    ]
    await until_kept(office, [])
