"""Cards that the owner brought: files that show tools of one's own, by the name of the tool (docs/guide/cards.md).

Beside the page, which loads them, but only for those who have signed in: their names say what an office works with.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response

from bullpen.api.door import Caller, Office
from bullpen.errors import NotFound

router = APIRouter(include_in_schema=False)

SCRIPT = "text/javascript; charset=utf-8"


def _cards(office: Office) -> dict[str, Path]:
    folder = office.settings.data / "cards"
    return {path.stem: path for path in folder.glob("*.js")} if folder.is_dir() else {}


@router.get("/cards")
async def list_cards(caller: Caller, office: Office) -> dict[str, list[str]]:
    return {"items": sorted(_cards(office))}


@router.get("/cards/{name}.js")
async def card(name: str, caller: Caller, office: Office) -> Response:
    found = _cards(office).get(name)
    if found is None:
        raise NotFound(f"There is no card {name!r}.")
    return Response(found.read_bytes(), media_type=SCRIPT, headers={"Cache-Control": "no-cache"})
