"""Takes secrets out of text on its way to a log.

Two ways: values that were added (whoever learns a secret says so), and shapes that are secrets whatever they hold: our
tokens, Authorization and Cookie headers, passwords in addresses, and what stands behind `token=` and its like. It is
the last step before a line is written, so exceptions and other people's lines pass through it too.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"
# What is shorter stands in too many innocent words.
SHORTEST: Final = 5

_NAMES: Final = (
    "access_token|api_?key|authorization|claim|client_secret|code|cookie|credential|invite|key|passwd|password"
    "|refresh_token|secret|session|signature|token|x-api-key"
)
_SHAPES: Final = re.compile(
    "|".join(
        [
            # A header or a cookie, however it is written out: `Cookie: a=b; c=d`, `(b'authorization', b'Bearer x')`.
            r"(?P<header>\b(?:proxy-)?authorization|\b(?:set-)?cookie)(?P<sep>['\"]?\s*[:=,]\s*(?:b?['\"])?)[^'\"\r\n]+",
            r"(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}",
            # The password of `postgresql://user:password@host`.
            r"(?P<user>://[^/\s:@]*:)[^/\s@]+(?=@)",
            # `?token=…`, `#claim=…`, `"password": "…"`.
            rf"(?P<query>[?&#;](?:{_NAMES})=)[^&#;\s'\"]+",
            rf"(?P<json>['\"](?:{_NAMES}|tokenHash)['\"]\s*:\s*['\"])[^'\"]+",
            r"\bbp_[\w-]{4,}",
        ]
    ),
    re.IGNORECASE,
)


class Redactor:
    def __init__(self) -> None:
        self._values: list[str] = []

    def add(self, value: str) -> None:
        """From now on this text is masked wherever it stands."""
        if len(value) >= SHORTEST and value not in self._values:
            self._values.append(value)
            self._values.sort(key=len, reverse=True)  # one secret may be the beginning of another

    def forget(self, value: str) -> None:
        if value in self._values:
            self._values.remove(value)

    def clean(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return _SHAPES.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    kept = [part for name, part in found.groupdict().items() if part is not None]
    return ("".join(kept) or "bp_") + MASK


# One for the process: there is one log.
REDACTOR: Final = Redactor()
