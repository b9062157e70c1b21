"""Which private hosts and odd ports may be reached, and by whom.

A use names who asks: `model`, `web`, `webhook`, `gateway:TOOL`, `mcp:SERVER`. What the owner lists for one use is open
to that use alone; a base URL in the settings is listed for the use it belongs to, and so is the address of models that
an owner has confirmed on the page. Nothing is ever listed for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from bullpen.errors import CannotStart, EgressDenied
from bullpen.net import rules, urls
from bullpen.net.types import Origin


class Allowance:
    def __init__(self, listed: Mapping[str, Iterable[str]] | None = None) -> None:
        self._listed: dict[str, frozenset[Origin]] = {}
        self._confirmed: dict[str, frozenset[Origin]] = {}
        for use, origins in (listed or {}).items():
            self.set(use, origins)

    @classmethod
    def from_text(cls, text: str) -> Allowance:
        """As `egress.listed` has it: `gateway:lights=http://10.0.0.5:8123 model=http://127.0.0.1:11434/v1`."""
        listed: dict[str, list[str]] = {}
        for entry in text.replace(",", " ").split():
            use, sign, url = entry.partition("=")
            try:
                if not use or not sign:
                    raise EgressDenied("url", "It has no use, or no URL.")
                urls.parse(url)
            except EgressDenied as error:
                raise CannotStart(
                    f"The setting 'egress.listed' holds {entry!r}, which is no use=URL. {error.message}"
                ) from None
            listed.setdefault(use, []).append(url)
        return cls(listed)

    def set(self, use: str, origins: Iterable[str]) -> None:
        """From now on exactly these origins are listed for the use. Raises EgressDenied for what is no URL."""
        self._listed[use] = frozenset(urls.origin_of(url) for url in origins)

    def add(self, use: str, url: str) -> None:
        self._listed[use] = self._listed.get(use, frozenset()) | {urls.origin_of(url)}

    def confirm(self, use: str, origins: Iterable[str]) -> None:
        """From now on exactly these are what people have listed for the use while the server runs.

        What nobody may list is left out: these come from rows, and rows can be old.
        """
        found: set[Origin] = set()
        for url in origins:
            with suppress(EgressDenied):
                origin = urls.origin_of(url)
                rules.check_listable(origin)
                found.add(origin)
        self._confirmed[use] = frozenset(found)

    def lists_url(self, use: str, url: str) -> bool:
        """By the operator, for as long as the process runs."""
        return urls.origin_of(url) in self._listed.get(use, ())

    def lists(self, use: str, origin: Origin) -> bool:
        return origin in self._listed.get(use, ()) or origin in self._confirmed.get(use, ())
