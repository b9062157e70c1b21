"""Which models a server offers: its own list, asked through the one way out, bounded.

All three formats have such a list, and so have most servers of one's own. What it says is a stranger's: names that are
no names are left out, and there is an end to how many are read.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import time
from typing import Any, Final

import orjson

from bullpen.errors import EgressError, ModelUnavailable
from bullpen.llm import failures, streaming
from bullpen.llm.elsewhere import RemoteModel
from bullpen.llm.models import USE
from bullpen.llm.offers import Offer
from bullpen.llm.types import Model
from bullpen.net import urls
from bullpen.net.types import Limits

MOST: Final = 1000
LONGEST: Final = 200
BYTES: Final = 4 << 20
SECONDS: Final = 15.0
_SIZES: Final = ("context_length", "max_model_len", "context_window", "max_context_length")


async def ask(model: Model) -> Sequence[Offer]:
    """Raises ModelError."""
    assert isinstance(model, RemoteModel)
    about = replace(model.about(), model=model.spec.provider)
    _, value = model.key()
    word = f"var{secrets.token_hex(12)}" if value is not None else ""
    end = "/v1/models?limit=1000" if model.dialect.path.startswith("/v1/") else "/models"
    headers = {**model.dialect.headers(word), "Accept": "application/json"}
    headers.pop("Content-Type", None)
    try:
        answer = await model.reach.egress().request(
            USE,
            "GET",
            str(urls.parse(model.base().rstrip("/") + end)),
            headers=headers,
            limits=Limits(total=SECONDS, connect=streaming.CONNECT, answer=SECONDS, body_bytes=BYTES, hops=2),
            stand_ins={} if value is None else {word: partial(model.reach.vault.text, value)},
        )
    except EgressError as error:
        raise streaming.of_egress(error, about) from None
    if answer.status != 200:
        failed = failures.of_status(answer.status, answer.headers, answer.body, about, now=time())
        failed.reached = True
        raise failed
    try:
        return _read(orjson.loads(answer.body))
    except streaming.NONSENSE:
        wrong = ModelUnavailable(f"{about.server} answers, but with no list of models. Check the address.")
        wrong.reached = True
        raise wrong from None


def _read(said: Any) -> list[Offer]:
    listed = said if isinstance(said, list) else said["data"] if "data" in said else said["models"]
    if not isinstance(listed, list):
        raise TypeError("a list of models is no list")
    found: dict[str, Offer] = {}
    for each in listed:
        name = each.get("id", each.get("name")) if isinstance(each, dict) else each
        if isinstance(name, str) and 0 < len(name) <= LONGEST and name.isprintable():
            found.setdefault(name, Offer(name, _size_of(each)))
        if len(found) == MOST:
            break
    return [found[name] for name in sorted(found, key=str.casefold)]


def _size_of(each: Any) -> int | None:
    sizes = [each[name] for name in _SIZES if isinstance(each.get(name), int)] if isinstance(each, dict) else []
    return next((size for size in sizes if 1000 <= size <= 100_000_000), None)
