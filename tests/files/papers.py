"""Documents to read: PDF files, workbooks and Word documents, real ones and hostile ones, made here byte by byte."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from struct import pack
from zipfile import ZIP_DEFLATED, ZipFile

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


# A lock that no empty password opens.
LOCK = (
    f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >> "
    f"/ID [<{'43' * 16}> <{'43' * 16}>]"
)

# ── PDF ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pdf(*pages: str, trailer: str = "") -> bytes:
    """A page for each text, which may have several lines."""
    return pdf_of([_page_content(text) for text in pages], trailer=trailer)


def _page_content(text: str) -> bytes:
    lines = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").split("\n")
    said = "".join(f"({line}) Tj T* " for line in lines) if text else ""
    return f"BT /F1 12 Tf 14 TL 40 700 Td {said}ET".encode("latin-1")


def pdf_of(contents: Sequence[bytes], *, filters: str = "", trailer: str = "") -> bytes:
    """The same from what stands in the streams of its pages."""
    count = len(contents)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in enumerate(contents):
        page = f"/Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page {page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        objects.append(f"<< /Length {len(content)} {filters} >>\nstream\n".encode() + content + b"\nendstream")
    return _written(objects, trailer)


def _written(objects: Sequence[bytes], trailer: str = "") -> bytes:
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(out)


def pdf_bomb(times: int = 3) -> bytes:
    """A kilobyte or two whose page unfolds to gigabytes of text, packed several times over."""
    data = b"BT /F1 12 Tf " + b"(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj " * 4_000_000 + b"ET"
    for _ in range(times):
        data = zlib.compress(data, 9)
    names = " ".join(["/FlateDecode"] * times)
    return pdf_of([data], filters=f"/Filter [{names}]")


def endless_pdf() -> bytes:
    """A form that draws itself twenty times over, on nine levels: more than anybody can wait for."""
    count = 9
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        _page_of_forms(5),
        _stream(b"/X Do"),
    ]
    for number in range(count):
        inner = f"/Resources << /XObject << /X {7 + number} 0 R >> >>" if number < count - 1 else ""
        said = b"/X Do " * 20 if inner else b"BT /F1 12 Tf (a) Tj ET"
        fonts = "" if inner else "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(_stream(said, f"/Type /XObject /Subtype /Form /BBox [0 0 600 800] {inner} {fonts}"))
    return _written(objects)


def _page_of_forms(content: int) -> bytes:
    forms = "/Resources << /XObject << /X 6 0 R >> >>"
    return f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {content} 0 R {forms} >>".encode()


def _stream(content: bytes, more: str = "") -> bytes:
    return f"<< /Length {len(content)} {more} >>\nstream\n".encode() + content + b"\nendstream"


def nested_pdf(depth: int = 50_000) -> bytes:
    """Arrays in arrays, and a tree of pages that leads to itself."""
    inside = b"[" * depth + b"]" * depth
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Deep " + inside + b" >>",
        b"<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 1000000 >>",
        b"<< /Type /Pages /Kids [2 0 R] /Count 1000000 /Parent 2 0 R >>",
    ]
    return _written(objects)


# ── what Office programs write ──────────────────────────────────────────────────────────────────────────────────────


def _zipped(files: dict[str, str | bytes]) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def workbook(sheets: dict[str, Sequence[Sequence[str | float]]]) -> bytes:
    files: dict[str, str | bytes] = {}
    listed = relations = types = ""
    for number, (name, rows) in enumerate(sheets.items(), 1):
        written = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{SHEET}"><sheetData>{written}</sheetData></worksheet>'
        )
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        relations += f'<Relationship Id="rId{number}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        part = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
        types += f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{part}"/>'
    return _zipped(files | _book(listed, relations, types))


def _book(listed: str, relations: str, types: str) -> dict[str, str | bytes]:
    main = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    return {
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{RELATIONS}">{relations}</Relationships>',
        "_rels/.rels": (
            f'<Relationships xmlns="{RELATIONS}">'
            f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{main}"/>{types}</Types>'
        ),
    }


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def workbook_bomb(megabytes: int = 800) -> bytes:
    """A sheet that is one cell of so many megabytes, in less than a thousandth of that."""
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in _parts_of_one_sheet().items():
            archive.writestr(name, content)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(f'<worksheet xmlns="{SHEET}"><sheetData><row><c t="inlineStr"><is><t>'.encode())
            for _ in range(megabytes):
                sheet.write(b"a" * (1 << 20))
            sheet.write(b"</t></is></c></row></sheetData></worksheet>")
    return out.getvalue()


def _parts_of_one_sheet() -> dict[str, str | bytes]:
    part = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
    return _book(
        '<sheet name="a" sheetId="1" r:id="rId1"/>',
        f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>',
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{part}"/>',
    )


def word(*paragraphs: str) -> bytes:
    return word_of("".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs))


def word_of(body: str, before: str = "") -> bytes:
    """The same from its XML; `before` stands where a document type may."""
    document = f'<?xml version="1.0"?>{before}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return _zipped({"word/document.xml": document})


def laughs() -> bytes:
    """A Word document of some hundred bytes whose one word is gigabytes long."""
    names = "abcdefghij"
    entities = '<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names)
    )
    return word_of("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", before=f"<!DOCTYPE w [{entities}]>")


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────────────


def huge_png(side: int = 30_000) -> bytes:
    """A picture of nothing, of so many pixels each way: some hundred kilobytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(side * 3 + 1)) for _ in range(min(side, 300))) + packer.flush()
    head = pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
