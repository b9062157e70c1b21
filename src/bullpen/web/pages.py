"""The page and the list of routes. The page is built from ui/ into the folder `page`; nothing is loaded from elsewhere.

Whoever opens a link of the page (`/rooms/general`) gets the same document as at `/`: what it shows is decided there.
"""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from bullpen import __version__
from bullpen.errors import NotFound

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "assets"
PAGE = Path(__file__).parent / "page"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
# Already as small as they get.
PACKED = frozenset({".png", ".woff2"})
# Names with a hash in them never change what they hold.
FOREVER = "public, max-age=31536000, immutable"
BRIEFLY = "no-cache"

UNBUILT = """
<h1>Bullpen is running</h1>
<p class="lead">Its page has not been built. Install it without BULLPEN_SKIP_PAGE, and start again.</p>
<p>Meanwhile: <code>bullpen send general "Hello, everyone"</code>, <code>bullpen follow general</code>, and
<a href="/docs">all routes</a>.</p>
"""


def html(title: str, body: str) -> HTMLResponse:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="/assets/pages.css">'
        f"</head><body><main>{body}</main></body></html>"
    )
    return HTMLResponse(text)


# Files of their own: the content policy lets no page bring style or script inside its text.
@router.api_route("/assets/{name:path}", methods=["GET", "HEAD"])
async def asset(name: str, request: Request) -> Response:
    found = _files().get(name)
    if found is None:
        raise NotFound(f"There is no asset {name!r}.")
    return _answer(request, found, FOREVER if _is_hashed(found) else BRIEFLY)


@cache
def _files() -> dict[str, Path]:
    """Everything there is, by its name below /assets: what is not listed here cannot be asked for."""
    own = {path.name: path for path in FOLDER.iterdir() if path.suffix in TYPES}
    built = PAGE / "assets"
    made = {path.relative_to(built).as_posix(): path for path in built.rglob("*") if path.suffix in TYPES}
    return made | own


def _is_hashed(path: Path) -> bool:
    """`index-C-8XsaUN.js`: a name, and eight characters that may hold hyphens themselves."""
    return path.is_relative_to(PAGE) and path.stem[-9:-8] == "-"


def _answer(request: Request, path: Path, keep: str) -> Response:
    body, packed, tag = _read(path)
    headers = {"Cache-Control": keep, "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=TYPES[path.suffix])
    return Response(body, headers=headers, media_type=TYPES[path.suffix])


@cache
def _read(path: Path) -> tuple[bytes, bytes | None, str]:
    """The bytes, the same packed, and what they are known by."""
    body = path.read_bytes()
    stat = path.stat()
    packed = None if path.suffix in PACKED else gzip.compress(body, 9, mtime=0)
    return body, packed, f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'


@cache
def build_id() -> str:
    """By which a page knows whether it is older than its server: another when anything of the page is another."""
    index = PAGE / "index.html"
    page = index.read_bytes() if index.exists() else b""
    return sha256(__version__.encode() + page).hexdigest()[:12]


# ── the page ────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/")
@router.get("/rooms")
@router.get("/rooms/{id}")
@router.get("/pending")
@router.get("/runs")
@router.get("/runs/{id}")
@router.get("/people")
@router.get("/tasks")
@router.get("/tasks/{id}")
@router.get("/agents")
@router.get("/agents/{id}")
@router.get("/models")
@router.get("/costs")
@router.get("/search")
@router.get("/settings")
async def front() -> HTMLResponse:
    index = PAGE / "index.html"
    if not index.exists():
        return html("Bullpen", UNBUILT)
    return HTMLResponse(index.read_text(), headers={"Cache-Control": BRIEFLY})


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    rows = "".join(_rows(request.app.openapi()))
    return html(
        "Bullpen: all routes",
        '<h1>All routes</h1><p class="lead">Bodies and answers are described in '
        f'<a href="/openapi.json">openapi.json</a>.</p><table>{rows}</table>',
    )


def _rows(schema: dict[str, Any]) -> list[str]:
    found = []
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            about = operation.get("description") or operation.get("summary", "")
            found.append(f"<tr><td>{escape(method.upper())}</td><td>{escape(path)}</td><td>{escape(about)}</td></tr>")
    return found
