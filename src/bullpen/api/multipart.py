"""The one file in a multipart body, piece by piece as it comes: nothing is gathered, nothing is written here.

The body must hold one part, named `file`, with a file name. Whatever else it holds or lacks is told in a sentence, at
the moment it is seen. What its headers say of the type is not read: types are told by the bytes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from bullpen.errors import Invalid, RequestError, TooLarge

FIELD = "file"
HEADERS, HEADER_BYTES = 8, 16_384
# What a body may hold beside the bytes of the file: boundaries, headers, a few words before and after.
AROUND = 65_536
BOUNDARY = 200
AS_IT_IS = (b"binary", b"8bit", b"7bit")

# Its warnings repeat what anybody sends us.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


class FilePart:
    """Read `pieces` to the end first; then `name` is what the file was called."""

    def __init__(self, content_type: str, *, most: int) -> None:
        self.name = ""
        self._most = most
        self._pieces: deque[bytes] = deque()
        self._parts = 0
        self._ended = False
        self._field = b""
        self._value = b""
        self._headers: dict[str, bytes] = {}
        self._parser = MultipartParser(
            _boundary(content_type),
            {
                "on_part_begin": self._begin,
                "on_part_data": self._data,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_end": self._end,
            },
            max_header_count=HEADERS,
            max_header_size=HEADER_BYTES,
        )

    async def pieces(self, body: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        seen = 0
        try:
            async for chunk in body:
                seen += len(chunk)
                if seen > self._most + AROUND:
                    raise TooLarge(f"The body is larger than a file may be, which is {self._most} bytes.")
                self._parser.write(chunk)
                while self._pieces:
                    yield self._pieces.popleft()
        except FormParserError as error:
            raise _wrong(f"The body is no multipart form: {error}") from None
        except ClientDisconnect:
            # Nobody reads this, and it is nobody's bug.
            raise RequestError("The client left before its file was complete.") from None
        if not self._ended:
            raise _wrong("The body breaks off before its last boundary")
        if not self._parts:
            raise _wrong(f"The body holds no part named `{FIELD}`")

    # ── what the parser tells ───────────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> None:
        self._parts += 1
        self._headers = {}
        if self._parts > 1:
            raise _wrong(f"Send one file at a time, in one part named `{FIELD}`")

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._field.decode("latin-1").lower()] = self._value
        self._field, self._value = b"", b""

    def _headers_finished(self) -> None:
        kind, options = parse_options_header(self._headers.get("content-disposition"))
        if kind.strip() != b"form-data" or options.get(b"name") != FIELD.encode():
            raise _wrong(f"The body holds a part that is not `{FIELD}`")
        name = options.get(b"filename", b"")
        if not name:
            raise _wrong(f"The part `{FIELD}` has no file name")
        if self._headers.get("content-transfer-encoding", b"binary").strip().lower() not in AS_IT_IS:
            raise _wrong("Send the file as it is, without Content-Transfer-Encoding")
        self.name = name.decode(errors="replace")

    def _data(self, data: bytes, start: int, end: int) -> None:
        self._pieces.append(data[start:end])

    def _end(self) -> None:
        self._ended = True


def _wrong(what: str) -> Invalid:
    return Invalid(f"{what}.", fields={FIELD: what})


def _boundary(content_type: str) -> bytes:
    kind, options = parse_options_header(content_type)
    if kind.strip() != b"multipart/form-data":
        raise HTTPException(415, "Send the file as multipart/form-data")
    boundary = options.get(b"boundary", b"")
    if not boundary or len(boundary) > BOUNDARY or b"\r" in boundary or b"\n" in boundary:
        raise _wrong("The Content-Type names no usable boundary")
    return boundary
