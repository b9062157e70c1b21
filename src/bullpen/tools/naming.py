"""Every name that an office is understood by: tools and their families, their arguments, fields of the API, events.

No secret may be one of them, and none is ever masked (observe/names.py). Tools that people define, and ids, are looked
up where a secret is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from bullpen.tools.types import Tool
from bullpen.wire import nouns, requests
from bullpen.wire.events import LIVE_EVENTS, STORED_EVENTS


def reserved_names(families: Mapping[str, Sequence[Tool]]) -> set[str]:
    found = {*families, *STORED_EVENTS, *LIVE_EVENTS}
    for tool in (tool for tools in families.values() for tool in tools):
        found |= {tool.name, *tool.spec.input_schema.get("properties", {})}
    for model in _models():
        for name, each in model.model_fields.items():
            found |= {name, each.alias or each.serialization_alias or name}
    return found


def _models() -> Iterator[type[BaseModel]]:
    for module in (nouns, requests):
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, BaseModel):
                yield each
