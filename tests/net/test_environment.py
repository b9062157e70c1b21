"""Nothing of the environment changes where a request goes or what it carries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.net.servers import Server, answer, says, world


@pytest.fixture(autouse=True)
def _proxies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY"):
        for spelled in (name, name.lower()):
            monkeypatch.setenv(spelled, "http://203.0.113.66:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine api.example.com login me password CANARY\ndefault login me password CANARY\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.proves("D8")
async def test_proxies_and_passwords_of_the_environment_are_ignored() -> None:
    async with world() as made:
        server = await made.server(says(answer(b"direct")))
        assert (await made.egress.request("web", "GET", "http://api.example.com/x")).body == b"direct"
        assert [address for address, _ in made.sockets.opened] == ["93.184.215.14"]
        assert server.asked[0].line == "GET /x HTTP/1.1"  # a proxy would have been asked for the whole URL
        assert "CANARY" not in str(server.asked)
        assert set(server.asked[0].headers) == {"host", "accept", "accept-encoding", "user-agent"}


async def test_cookies_are_not_kept() -> None:
    async with world() as made:
        server: Server = await made.server(says(answer(Set_Cookie="s=1; Path=/")))
        for _ in range(2):
            await made.egress.request("web", "GET", "http://api.example.com/")
        assert "cookie" not in server.asked[1].headers
