"""What a file is called is for people, and cleaned; what it is, is told by its bytes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.files import rules
from tests.driver import Driver
from tests.files.offering import form, give, on_disk, part, send_form

pytestmark = pytest.mark.one_database

NAMES = {
    "report.pdf": "report.pdf",
    "../../x": "x",
    "..\\..\\x.txt": "x.txt",
    "C:\\Users\\eve\\cv.doc": "cv.doc",
    "/etc/passwd": "passwd",
    "a/b/": "file",
    "": "file",
    ".": "file",
    "..": "file",
    "   ": "file",
    "\u202egpj.exe": "gpj.exe",
    "photo\u2066\u2069.png": "photo.png",
    "a\x00b.txt": "b.txt",
    "two\nlines\t.txt": "two lines .txt",
    "bell\x07.txt": "bell.txt",
    "trailing. . .": "trailing",
    ".hidden": "hidden",
    "e\u0301te\u0301.txt": "été.txt",
    "👩\u200d💻.png": "👩\u200d💻.png",
    "\ufeffmark.txt": "mark.txt",
    "half\ud800.txt": "half.txt",
}


@pytest.mark.proves("E10")
@pytest.mark.parametrize("given_name, shown", NAMES.items(), ids=[str(n) for n in range(len(NAMES))])
def test_a_file_name_keeps_its_last_part_without_invisible_characters(given_name: str, shown: str) -> None:
    assert rules.clean_name(given_name) == shown


@pytest.mark.proves("E10")
@given(st.text(max_size=400))
def test_any_name_becomes_one_line_of_at_most_200_bytes(name: str) -> None:
    shown = rules.clean_name(name)
    assert 0 < len(shown.encode()) <= rules.NAME_BYTES
    assert not {"/", "\\", "\n", "\r", "\x00"} & set(shown)
    assert shown not in (".", "..")
    assert not [sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cs")]
    assert rules.clean_name(shown) == shown
    assert rules.disposition(shown).isascii()


def test_a_long_name_keeps_its_ending() -> None:
    assert rules.clean_name("a" * 4096 + ".png") == "a" * 196 + ".png"
    assert rules.clean_name("é" * 150 + ".jpeg") == "é" * 97 + ".jpeg"
    assert len(rules.clean_name("x." + "y" * 300)) == 200


@pytest.mark.proves("E10")
async def test_uploads_live_under_an_id_whatever_they_are_called(office: Driver) -> None:
    names = ["../../x", "\u202egpj.exe", "n" * 4096, "same.txt", "same.txt"]
    made = []
    for name in names:
        # Written out: a client would encode what it finds odd.
        answer = await send_form(office, form(part(filename=name)))
        assert answer.status_code == 201, answer.text
        made.append(answer.json())
    assert [file["name"] for file in made] == ["x", "gpj.exe", "n" * 200, "same.txt", "same.txt"]
    assert on_disk(office) == sorted(file["id"] for file in made)
    assert len({file["id"] for file in made}) == len(names)


BYTES = {
    b"\x89PNG\r\n\x1a\n....": "image/png",
    b"\xff\xd8\xff\xe0": "image/jpeg",
    b"GIF89a/*<script>alert(1)</script>*/": "image/gif",
    b"RIFF\x10\x00\x00\x00WEBPVP8 ": "image/webp",
    b"RIFF\x10\x00\x00\x00WAVEfmt ": "audio/wav",
    b"RIFF\x10\x00\x00\x00AVI ": "application/octet-stream",
    b"%PDF-1.7": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b\x08": "application/gzip",
    b"\x00\x00\x00\x20ftypisom": "video/mp4",
    b"": "text/plain",
    b"plain words": "text/plain",
    b"<!DOCTYPE html><script>alert(1)</script>": "text/plain",
    b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>": "text/plain",
    b"<?xml version='1.0'?><x/>": "text/plain",
    b'{"json": true}': "text/plain",
    "Grüße 👋".encode(): "text/plain",
    "Grüße".encode("latin-1"): "application/octet-stream",
    b"zero\x00byte": "application/octet-stream",
    b"\x7fELF\x02\x01": "application/octet-stream",
}


@pytest.mark.parametrize("head, type", BYTES.items(), ids=[str(n) for n in range(len(BYTES))])
def test_a_file_type_comes_from_its_bytes_and_never_executes(head: bytes, type: str) -> None:
    assert rules.type_of(head, len(head)) == type


def test_text_cut_mid_character_is_text_unless_it_ends_there() -> None:
    head = "é".encode() * 2047 + "é".encode()[:1]
    assert rules.type_of(head, len(head) + 1) == "text/plain"
    assert rules.type_of(head, len(head)) == "application/octet-stream"


@given(st.binary(max_size=64))
def test_any_bytes_have_a_type_of_the_short_list(head: bytes) -> None:
    type = rules.type_of(head, len(head))
    assert not {"html", "svg", "xml", "javascript", "script"} & set(type.replace("/", " ").split())


async def test_a_non_ascii_name_is_sent_in_both_header_forms(office: Driver) -> None:
    made = await give(office, name="Übersicht 2026.txt")
    answer = await office.http.get(f"/files/{made['id']}/content")
    said = answer.headers["content-disposition"]
    assert said == "attachment; filename=\"_bersicht 2026.txt\"; filename*=UTF-8''%C3%9Cbersicht%202026.txt"
