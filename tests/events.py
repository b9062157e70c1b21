"""Events as followers get them: each has the fields of its class, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from bullpen.events.actions import body
from bullpen.wire.events import parse_event


def check_events(events: Iterable[dict[str, Any]]) -> None:
    """Read as its class and written again, an event is what it was."""
    for sent in events:
        event = parse_event(sent)
        assert event is not None, f"no class for {sent['type']!r}"
        written = orjson.loads(body(event, event.at))
        assert written == sent, f"{type(event).__name__} has other fields:\n  sent    {sent}\n  written {written}"
        assert list(written) == list(sent), "the order of fields is part of the promise"
