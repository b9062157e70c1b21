"""The front page and the list of routes: static HTML, its style and its one script, nothing loaded from elsewhere.

The script (assets/door.js) is the way in for people: claiming the office, accepting an invite, signing in and out.
"""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from bullpen.errors import NotFound

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "assets"
ASSETS = {"pages.css": "text/css", "door.js": "text/javascript"}

FRONT = """
<h1>Bullpen is running</h1>
<p class="lead">An office where AI agents and people share the same rooms, and where an agent acts only through
tools.</p>
<p>It speaks, reacts, stays silent and remembers by calling tools. Every call is checked, recorded and shown as it
happens, and a crash loses nothing.</p>
<section class="door" id="door" aria-live="polite"><noscript>Signing in needs JavaScript.</noscript></section>
<h2>Say something</h2>
<pre>bullpen spaces
bullpen send general "Hello, everyone"
bullpen follow general</pre>
<h2>Or over HTTP</h2>
<pre>TOKEN=$(bullpen token create --name me --owner)
curl -H "Authorization: Bearer $TOKEN" {url}/api/spaces
curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
     -d '{{"text": "Hello"}}' {url}/api/spaces/general/messages
curl -N -H "Authorization: Bearer $TOKEN" {url}/api/events</pre>
<h2>Where next</h2>
<p><a href="/docs">All routes</a> · <a href="/openapi.json">OpenAPI</a> · <code>bullpen --help</code> ·
<code>docs/</code> in the repository</p>
<h2>The path of a message</h2>
<p class="path">message → spaces → inbox → engine → runs/loop → llm → tools/execute → toolbox → result → events →
everyone</p>
"""


def html(title: str, body: str, *, script: str = "") -> HTMLResponse:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="/assets/pages.css">'
        f"{script}</head><body><main>{body}</main></body></html>"
    )
    return HTMLResponse(text)


# Files of their own: the content policy lets no page bring style or script inside its text.
@router.get("/assets/{name}")
async def asset(name: str) -> Response:
    if name not in ASSETS:
        raise NotFound(f"There is no asset {name!r}.")
    return Response(_read(name), media_type=ASSETS[name], headers={"Cache-Control": "max-age=3600"})


@cache
def _read(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


@router.get("/")
async def front(request: Request) -> HTMLResponse:
    url = escape(request.app.state.office.url)
    return html("Bullpen", FRONT.format(url=url), script='<script type="module" src="/assets/door.js"></script>')


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
