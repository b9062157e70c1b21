"""Files to upload: pictures, pages that would run, forms that are wrong in every way; and what is on the disk then."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from bullpen.testing import snapshot
from bullpen.testing.invariants import Seen, check
from tests.driver import Api, Driver, Json

BOUNDARY = "----bullpen"


async def give(
    api: Api,
    content: bytes = b"hello",
    name: str = "note.txt",
    *,
    space: str | None = None,
    key: str | None = None,
    status: int = 201,
) -> Json:
    """Upload one file; the answer."""
    said = {"spaceId": space, "clientFileId": key}
    params = {name: value for name, value in said.items() if value is not None}
    made: Json = await api.ask("POST", "/files", params=params, files={"file": (name, content)}, status=status)
    return made


async def content(api: Api, id: str, **more: Any) -> bytes:
    response = await api.http.get(f"/files/{id}/content", **more)
    assert response.is_success, response.text
    return response.content


def picture(kind: str = "PNG", size: tuple[int, int] = (640, 480), mode: str = "RGB", **more: Any) -> bytes:
    out = BytesIO()
    Image.new(mode, size, 128 if mode == "L" else (200, 30, 30, 255)[: len(mode)]).save(out, kind, **more)
    return out.getvalue()


def form(*parts: bytes, end: bytes = b"--\r\n", boundary: str = BOUNDARY) -> bytes:
    """A multipart body of these parts, headers and all."""
    line = f"--{boundary}".encode()
    return b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + end


def part(
    content: bytes = b"hello", *, name: str = "file", filename: str | None = "note.txt", more: bytes = b""
) -> bytes:
    called = "" if filename is None else f'; filename="{filename}"'
    head = f'Content-Disposition: form-data; name="{name}"{called}\r\n'.encode()
    return head + more + b"\r\n" + content


async def send_form(api: Api, body: bytes, *, boundary: str = BOUNDARY, kind: str | None = None) -> Any:
    """The raw answer to a body that we made ourselves."""
    headers = {"Content-Type": kind or f"multipart/form-data; boundary={boundary}"}
    return await api.http.post("/files", content=body, headers=headers)


def on_disk(office: Driver) -> list[str]:
    """Everything that is kept, and everything that is half kept."""
    folder = office.office.settings.blobs
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


async def until_kept(office: Driver, names: list[str]) -> None:
    """Bytes go after the commit that made them useless, soon; until these are all that is left."""

    async def holds() -> bool:
        left: list[tuple[str]] = await snapshot.ask(office.office.settings.database_url, "SELECT id FROM dropped_files")
        return on_disk(office) == sorted(names) and not left

    await office.until(holds)


async def faults(office: Driver, *, swept: bool = False) -> list[str]:
    """What V13 finds."""
    url = office.office.settings.database_url
    rows = await snapshot.read(url)
    return check(Seen(rows, blobs=Path(office.office.settings.blobs), swept=swept))["V13"]
