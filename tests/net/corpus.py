"""tests/net/urls.txt: hostile URLs, one a line, each with what the name server says of its host if it is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

# Everything that asks for something outside, now or later.
USES = (
    "gateway:weather",
    "web",
    "crawl",
    "mcp:notes",
    "mcp-oauth:notes",
    "file",
    "telegram",
    "webhook",
    "model",
    "browser",
)


@dataclass(frozen=True)
class Hostile:
    url: str
    addresses: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ascii(self.url)


def hostile() -> list[Hostile]:
    """A line is `URL` or `URL => address, address`; a URL with characters that a line cannot show is a JSON string."""
    found = []
    for line in (Path(__file__).parent / "urls.txt").read_text(encoding="utf-8").split("\n"):
        if not line or line.startswith("#"):
            continue
        url, _, addresses = line.partition(" => ")
        text: str = json.loads(url) if url.startswith('"') else url
        found.append(Hostile(text, tuple(address.strip() for address in addresses.split(",") if address)))
    return found
