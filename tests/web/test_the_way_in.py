"""What a browser is given: the built page, its parts and its headers. What people see in it is tests/page."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from bullpen.web import pages
from tests.driver import Api, Driver

LINKS = [
    "/",
    "/rooms",
    "/rooms/general",
    "/pending",
    "/runs",
    "/runs/run_x",
    "/people",
    "/tasks",
    "/tasks/tsk_x",
    "/agents",
    "/agents/ada",
    "/search",
]
UI = Path(__file__).parents[2] / "ui"

pytestmark = pytest.mark.one_database


@pytest.mark.proves("A13")
async def test_the_page_sends_requests_to_its_own_server_only(office: Driver) -> None:
    front = await office.http.get("http://office/?server=https://evil.example")
    assert "evil.example" not in front.text
    policy = dict(part.strip().split(" ", 1) for part in front.headers["content-security-policy"].split(";"))
    assert policy["connect-src"] == policy["form-action"] == policy["script-src"] == "'self'"
    # Every request is made in one place, to a path of ours.
    sources = {path: path.read_text() for path in (UI / "src").rglob("*.ts*") if ".test." not in path.name}
    asking = [path for path, text in sources.items() if re.search(r"\bfetch\(|XMLHttpRequest\(", text)]
    assert {path.relative_to(UI).as_posix() for path in asking} == {"src/api/client.ts", "src/cards/brought.tsx"}
    assert "return `/api${path}" in (UI / "src/api/client.ts").read_text()
    for path, text in sources.items():
        # Addresses of models are offered and shown; the server asks them.
        assert not re.findall(r"[\"'`]https?://(?!relative\.invalid|127\.0\.0\.1|models\.example\.com)", text), path


async def test_every_page_link_opens_it_and_all_its_assets_load(office: Driver) -> None:
    front = await office.http.get("http://office/")
    for link in LINKS:
        assert (await office.http.get(f"http://office{link}")).text == front.text
    loaded = re.findall(r'(?:src|href)="(/assets/[^"]+)"', front.text)
    assert len(loaded) > 4
    for address in loaded:
        answer = await office.http.get(f"http://office{address}")
        assert answer.status_code == 200, address
        assert answer.headers["x-content-type-options"] == "nosniff"
        unchanged = await office.http.get(f"http://office{address}", headers={"If-None-Match": answer.headers["etag"]})
        assert unchanged.status_code == 304
    for odd in ("/assets/../pages.py", "/assets/%2e%2e/pages.py", "/assets/nothing", "/assets/emoji/../../index.html"):
        assert (await office.http.get(f"http://office{odd}")).status_code == 404


async def test_the_page_has_no_inline_code_or_foreign_assets(office: Driver) -> None:
    text = (await office.http.get("http://office/")).text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", text)
    assert all(address.startswith("/assets/") for address in re.findall(r'(?:src|href)="([^"]+)"', text))


async def test_hashed_assets_are_cached_forever_and_others_are_revalidated(office: Driver) -> None:
    text = (await office.http.get("http://office/")).text
    (entry,) = re.findall(r'src="(/assets/index-[^"]+\.js)"', text)
    assert "immutable" in (await office.http.get(f"http://office{entry}")).headers["cache-control"]
    assert (await office.http.get("http://office/assets/theme.js")).headers["cache-control"] == "no-cache"
    assert (await office.http.head("http://office/assets/emoji/en/data.json")).headers["etag"]


async def test_only_custom_cards_are_served_from_the_data_folder(office: Driver) -> None:
    folder = Path(office.office.settings.data) / "cards"
    folder.mkdir()
    (folder / "weather.js").write_text("export const mount = () => ({});")
    (folder.parent / "secret.js").write_text("no")
    assert (await office.http.get("http://office/cards")).json() == {"items": ["weather"]}
    found = await office.http.get("http://office/cards/weather.js")
    assert found.headers["content-type"].startswith("text/javascript")
    for odd in ("/cards/secret.js", "/cards/..%2fsecret.js", "/cards/other.js"):
        assert (await office.http.get(f"http://office{odd}")).status_code == 404
    stranger = Api(office.office, None)
    for path in ("/cards", "/cards/weather.js", "/cards/other.js"):
        assert (await stranger.http.get(f"http://office{path}")).status_code == 401


def test_the_first_load_is_at_most_230_kilobytes_of_script() -> None:
    text = (pages.PAGE / "index.html").read_text()
    first = re.findall(r'(?:src|href)="/assets/([^"]+\.js)"', text)
    packed = sum(len(pages._read(pages._files()[name])[1] or b"") for name in first)
    assert 100_000 < packed <= 230_000, packed


def test_first_load_scripts_including_imports_are_at_most_230_kb() -> None:
    """What the document names, and what that imports at once. Charts, forms and other views come when needed."""
    wanted = re.findall(r'(?:src|href)="/(assets/[^"]+\.js)"', (pages.PAGE / "index.html").read_text())
    assert wanted
    loaded: dict[str, int] = {}
    while wanted:
        name = wanted.pop()
        if name not in loaded:
            script = (pages.PAGE / name).read_bytes()
            loaded[name] = len(gzip.compress(script, 9))
            wanted += [f"assets/{each}" for each in re.findall(r'(?:from|import)"\./([^"]+\.js)"', script.decode())]
    assert 100_000 < sum(loaded.values()) <= 230_000, loaded
