"""Secrets of tests, and the ways they are written: by the standard library, not by the code that looks for them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

TOKEN = "CANARY-7f3Kq9ZpW2xLmT4vB8nR"
AWKWARD = 'CANARY "q\\uote\'s" & <späces>/%41+пароль 9'
PEM = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n".format(
    "\n".join(
        base64.b64encode(bytes((row * 53 + column * 29 + 7) % 256 for column in range(48))).decode()
        for row in range(12)
    )
)
ACCOUNT = json.dumps(
    {"type": "service_account", "project": "warehouse", "private_key": PEM.replace("A", "B"), "id": "c4n4ry-acc0unt-id"}
)

SECRETS: Mapping[str, str] = {"TOKEN": TOKEN, "AWKWARD": AWKWARD, "PEM": PEM, "ACCOUNT": ACCOUNT}
# What of a secret must not show, and how much of it would be too much.
PARTS: Mapping[str, list[str]] = {
    "TOKEN": [TOKEN],
    "AWKWARD": [AWKWARD],
    "PEM": PEM.splitlines()[1:-1],
    "ACCOUNT": [*PEM.replace("A", "B").splitlines()[1:-1], "c4n4ry-acc0unt-id"],
}


def written(value: str) -> dict[str, str]:
    """A text in every form of threats.md F1, by name."""
    data = value.encode()
    percent = quote(value, safe="")
    return {
        "raw": value,
        "lower": value.lower(),
        "upper": value.upper(),
        **{f"base64+{n}": base64.b64encode(b"\x01\x02\x03"[:n] + data + b"\x04\x05").decode() for n in range(3)},
        **{f"base64url+{n}": base64.urlsafe_b64encode(b"x" * n + data).decode() for n in range(3)},
        "base64 unpadded": base64.b64encode(data).decode().rstrip("="),
        "hex": data.hex(),
        "HEX": data.hex().upper(),
        "percent": percent,
        "percent lower": re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), percent),
        "plus": quote_plus(value),
        "json": json.dumps(value),
        "json unicode": json.dumps(value, ensure_ascii=False),
        "json slash": json.dumps(value).replace("/", "\\/"),
        "json in json": json.dumps(json.dumps(value)),
        "html": html.escape(value),
        "repr": repr(value),
        "bytes": repr(data),
    }


def traces(value: str) -> list[bytes]:
    """What is looked for in a sink: each form without what its neighbours change, and long enough to be no accident."""
    found = set()
    for name, text in written(value).items():
        begin, end = (4, len(text.rstrip("=")) - 3) if name.startswith("base64") else (0, len(text))
        found.add(text[begin:end].strip("\"'").removeprefix("b'").encode())
    return [trace for trace in found if len(trace) >= 12]
