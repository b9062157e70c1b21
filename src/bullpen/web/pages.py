"""The front page and the list of routes: static HTML, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1d1b26, #eceaf4); --soft: light-dark(#5d5a6b, #a8a4b8);
  --line: light-dark(#e3e0ec, #35324280); --paper: light-dark(#fbfaff, #16141d); --card: light-dark(#fff, #1f1c29);
  --accent: light-dark(#5b3fd6, #b3a1ff); }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { max-width: 52rem; margin: 0 auto; padding: 3.5rem 1.25rem 4rem }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 .5rem; letter-spacing: -.02em }
h2 { font-size: 1.05rem; margin: 2.25rem 0 .6rem }
p { margin: .5rem 0; } .lead { font-size: 1.15rem; color: var(--soft) }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .85rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .875rem/1.6 ui-monospace, monospace; margin: .6rem 0 }
code { font: .9em ui-monospace, monospace } a { color: var(--accent) }
table { border-collapse: collapse; width: 100%; font-size: .925rem }
td { border-top: 1px solid var(--line); padding: .5rem .75rem .5rem 0; vertical-align: top }
td:first-child { white-space: nowrap; font: .8rem/1.9 ui-monospace, monospace; color: var(--accent) }
td:nth-child(2) { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere }
.path { color: var(--soft); font: .85rem/1.7 ui-monospace, monospace; overflow-wrap: anywhere }
"""
FRONT = """
<h1>Bullpen is running</h1>
<p class="lead">An office where AI agents and people share the same rooms, and where an agent acts only through
tools.</p>
<p>It speaks, reacts, stays silent and remembers by calling tools. Every call is checked, recorded and shown as it
happens, and a crash loses nothing.</p>
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


def html(title: str, body: str) -> HTMLResponse:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>"
    )
    return HTMLResponse(text, headers=HEADERS)


@router.get("/")
async def front(request: Request) -> HTMLResponse:
    return html("Bullpen", FRONT.format(url=escape(str(request.base_url).rstrip("/"))))


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
