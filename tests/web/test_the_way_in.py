"""The front page: what it loads and whom its script talks to."""

from __future__ import annotations

import re

import pytest

from bullpen.web import pages
from tests.driver import Driver


@pytest.mark.proves("A13")
async def test_the_page_sends_what_people_type_to_its_own_server_only(office: Driver) -> None:
    front = await office.http.get("http://office/?server=https://evil.example")
    assert "evil.example" not in front.text
    policy = dict(part.strip().split(" ", 1) for part in front.headers["content-security-policy"].split(";"))
    assert policy["connect-src"] == policy["form-action"] == policy["script-src"] == "'self'"
    script = pages._read("door.js").decode()
    assert "location.search" not in script
    assert not re.findall(r"https?://|//\w+\.", re.sub(r"^\s*//.*$", "", script, flags=re.M))
    addresses = re.findall(r'(?:ask\("\w+", |path: )("[^"]*"|\w+)', script)
    assert addresses
    assert all(address == "path" or address.startswith('"/api/') for address in addresses)


async def test_everything_the_page_loads_is_there(office: Driver) -> None:
    front = await office.http.get("http://office/")
    loaded = re.findall(r'(?:src|href)="(/assets/[^"]+)"', front.text)
    assert len(loaded) == 2
    for address in loaded:
        answer = await office.http.get(f"http://office{address}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(("text/css", "text/javascript"))
        assert answer.headers["x-content-type-options"] == "nosniff"
    for odd in ("/assets/../pages.py", "/assets/%2e%2e/pages.py", "/assets/nothing"):
        assert (await office.http.get(f"http://office{odd}")).status_code == 404
