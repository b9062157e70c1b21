"""One office, one browser and one pretended model provider for all tests of the page in this process.

Everything happens over the real server, in real Chromium, as people do it. Each test has a room of its own, so that
none sees another's. A page that breaks the content policy, throws, or asks any other host fails its test.

Olga's and Bo's pages stay open from one test to the next. A test that needs one that was just loaded, or that changes
what its browser does (the line, the clock, its own scripts), is marked `fresh_page`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from bullpen.testing import NO_LIMITS
from bullpen.testing.model_server import KEY, ModelServer, model_server
from tests.cli.processes import serving
from tests.page.browsers import ARGUMENTS, find_chromium
from tests.page.house import House, Pages, Printer, Visit, claimed

FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def chromium() -> str:
    try:
        return find_chromium()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def provider() -> AsyncIterator[ModelServer]:
    async with model_server() as server:
        yield server


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "data"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def printer() -> AsyncIterator[Printer]:
    made = Printer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield made
    made.may_answer.set()
    server.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def house(data: Path, provider: ModelServer, printer: Printer) -> AsyncIterator[House]:
    listed = {"BULLPEN_EGRESS__LISTED": f"gateway:print_poster={printer.url}"}
    settings = {**NO_LIMITS, **listed, "ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
    with serving(data, **settings) as process:
        async with claimed(process, data) as made:
            yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield opened
        await opened.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pages(house: House, browser: Browser) -> AsyncIterator[Pages]:
    made = Pages(house, browser)
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(request: pytest.FixtureRequest, house: House, pages: Pages) -> AsyncIterator[Visit]:
    """Olga, the owner, in a browser of her own."""
    fresh = is_fresh(request.node)
    yield await pages.enter("Olga", house.cookie, fresh=fresh)
    await pages.leave("Olga", keep=not fresh and FAILED not in request.node.stash)


@pytest_asyncio.fixture(loop_scope="session")
async def other(request: pytest.FixtureRequest, house: House, pages: Pages) -> AsyncIterator[Visit]:
    """Bo, a member, in another browser."""
    fresh = is_fresh(request.node)
    yield await pages.enter("Bo", await house.cookie_of("Bo"), fresh=fresh)
    await pages.leave("Bo", keep=not fresh and FAILED not in request.node.stash)


def is_fresh(item: pytest.Item) -> bool:
    return item.get_closest_marker("fresh_page") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report
