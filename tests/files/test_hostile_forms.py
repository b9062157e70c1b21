"""Whatever is sent as a form gets an answer that says what is wrong, and leaves nothing behind."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.driver import Driver, Offices
from tests.files.offering import BOUNDARY, form, on_disk, part, send_form

pytestmark = pytest.mark.one_database

LINE = f"--{BOUNDARY}".encode()
WRONG = {
    "nothing": b"",
    "no form": b"hello",
    "only the end": LINE + b"--\r\n",
    "only a beginning": LINE + b"\r\n",
    "another field": form(part(name="upload")),
    "two files": form(part(), part()),
    "a field beside the file": form(part(), part(b"general", name="spaceId", filename=None)),
    "no file name": form(part(filename=None)),
    "an empty file name": form(part(filename="")),
    "no headers": form(b"\r\nhello"),
    "no disposition": form(b"Content-Type: text/plain\r\n\r\nhello"),
    "another disposition": form(b'Content-Disposition: attachment; name="file"; filename="a"\r\n\r\nhello'),
    "a header without a colon": form(b"Content-Disposition\r\n\r\nhello"),
    "a header without a name": form(b": form-data\r\n\r\nhello"),
    "a header that is too long": form(part(more=b"X-Long: " + b"x" * 20_000 + b"\r\n")),
    "too many headers": form(part(more=b"X-Many: 1\r\n" * 50)),
    "bare line feeds": form(part()).replace(b"\r\n", b"\n"),
    "base64": form(part(more=b"Content-Transfer-Encoding: base64\r\n")),
    "cut in the head": form(part())[:40],
    "cut in the bytes": form(part(b"x" * 1000))[:500],
    "cut in the last boundary": form(part())[:-4],
    "another boundary": form(part(), boundary="other"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_form_is_refused_with_a_sentence(offices: Offices, name: str) -> None:
    office = await offices.open(drive=False)
    answer = await send_form(office, WRONG[name])
    assert answer.status_code == 422, answer.text
    said = answer.json()["error"]
    assert said["code"] == "invalid"
    assert said["message"].endswith(".")
    assert on_disk(office) == []


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        f"multipart/form-data; boundary={'b' * 300}",
        "multipart/form-data; charset=utf-8",
    ],
)
async def test_a_form_without_a_usable_boundary_is_refused(offices: Offices, kind: str) -> None:
    office = await offices.open(drive=False)
    answer = await send_form(office, form(part()), kind=kind)
    assert answer.status_code == 422, answer.text
    assert "boundary" in answer.json()["error"]["message"]


async def test_bytes_around_the_form_are_ignored_up_to_a_limit(office: Driver) -> None:
    assert (await send_form(office, b"\r\n" + form(part()) + b"words after the end")).status_code == 201
    answer = await send_form(office, form(part()) + b"x" * (105 << 20))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert len(on_disk(office)) == 1


SCRAPS = st.sampled_from(
    [
        LINE,
        LINE + b"--",
        b"\r\n",
        b"\r",
        b"\n",
        b"--",
        b'Content-Disposition: form-data; name="file"; filename="a"',
        b'Content-Disposition: form-data; name="file"',
        b"Content-Disposition",
        b": ",
        b'filename="\xff\xfe"',
        b"\x00",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_form_makes_us_fail(offices: Offices, data: st.DataObject) -> None:
    office = await _shared(offices)
    body = b"".join(data.draw(st.lists(st.one_of(SCRAPS, st.binary(max_size=20)), max_size=30)))
    answer = await send_form(office, body)
    assert answer.status_code in (201, 413, 422), answer.text
    if answer.status_code != 201:
        assert answer.json()["error"]["message"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), filename=st.text(min_size=1, max_size=20), cut=st.integers(1, 80))
async def test_any_bytes_under_any_name_arrive_in_any_pieces(
    offices: Offices, content: bytes, filename: str, cut: int
) -> None:
    office = await _shared(offices)
    quoted = filename.encode("utf-8", "replace").replace(b'"', b"%22").replace(b"\r", b"").replace(b"\n", b"") or b"x"
    head = b'Content-Disposition: form-data; name="file"; filename="' + quoted + b'"\r\n\r\n'
    body = form(head + content)
    if body.count(LINE) > 2:
        return

    async def pieces() -> object:
        for at in range(0, len(body), cut):
            yield body[at : at + cut]

    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = await office.http.post("/files", content=pieces(), headers=headers)  # type: ignore[arg-type]
    assert answer.status_code in (201, 422), answer.text
    if answer.status_code == 201:
        found = await office.http.get(f"/files/{answer.json()['id']}/content")
        assert found.content == content
        await office.ask("DELETE", f"/files/{answer.json()['id']}", status=204)


async def _shared(offices: Offices) -> Driver:
    """One office for all the examples of a test."""
    kept: dict[int, Driver] = vars(offices).setdefault("shared", {})
    if 0 not in kept:
        kept[0] = await offices.open(drive=False, watch=False)
    return kept[0]
