"""axe looks at every view, with panels, dialogs, cards and runs that are put aside.

Once wide and light, and once narrow and dark; `make prove ARGS=page` looks at four widths in both.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from bullpen.testing.model_server import ModelServer
from tests import effort
from tests.page.house import House, Visit
from tests.page.views import Scene, set_scene, walk

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
# Those of `make test` are the first and the fifth: see effort.pick.
LOOKS = [
    (1280, "light"), (320, "light"), (390, "light"), (768, "light"),
    (390, "dark"), (320, "dark"), (768, "dark"), (1280, "dark"),
]  # fmt: skip
SERIOUS = """async () => {
const {violations} = await axe.run(document, {resultTypes: ['violations']});
return violations.filter(each => ['serious', 'critical'].includes(each.impact))
.flatMap(each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 160)}`)) }"""
VIEWS = 50


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(house: House, provider: ModelServer) -> Scene:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: run `python -m tools.page install` where npm can fetch it")
    return await set_scene(house, provider)


@pytest.mark.parametrize("width, theme", effort.pick(LOOKS, sample=2))
@pytest.mark.proves("B-page-26")
async def test_axe_finds_nothing_serious_in_any_view(
    house: House, browser: Browser, scene: Scene, width: int, theme: str
) -> None:
    visit = Visit(house, browser)
    page = await visit.open(house.cookie, bypass_csp=True, color_scheme=theme)
    await page.set_viewport_size({"width": width, "height": 844})
    found: dict[str, list[str]] = {}
    async for name in walk(visit, scene):
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(AXE.read_text())
        found[name] = await page.evaluate(SERIOUS)
    await visit.close()
    assert len(found) == VIEWS
    assert not any(found.values()), json.dumps({name: each for name, each in found.items() if each}, indent=1)
