"""What a model that names a connection may say, and what it comes to. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from bullpen.connections.types import Resolved
from bullpen.errors import EgressDenied, Invalid
from bullpen.llm.models import USUAL_KEYS, name_of
from bullpen.llm.prices import Price
from bullpen.net import rules as net
from bullpen.net import urls
from bullpen.net.types import Origin
from bullpen.wire.nouns import ConnectionModel, ConnectionProvider, ModelConnection, ModelPrice

MOST: Final = 100  # in one office
MOST_MODELS: Final = 300  # that somebody said something about, of one connection
_FIELDS: Final = frozenset({"connection", "name", "settings", "fallback"})
_NAMES: Final[Mapping[ConnectionProvider, str]] = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "openai-chat": "OpenAI",
}


# ── a model that names one ──────────────────────────────────────────────────────────────────────────────────────────


def named(spec: Any) -> Iterator[Mapping[str, Any]]:
    """The parts of a model that name a connection: itself, and those behind it."""
    if isinstance(spec, Mapping):
        if "connection" in spec:
            yield spec
        fallback = spec.get("fallback")
        for each in fallback if isinstance(fallback, list) else ():
            yield from named(each)


def canonical(spec: Any, known: Mapping[str, ModelConnection]) -> Any:
    """The same with ids in place of names. `known` is by what the parts say. Raises Invalid."""
    if not isinstance(spec, Mapping):
        return spec
    said = dict(spec)
    if "connection" in said:
        _check_fields(said)
        connection = known.get(str(said["connection"]))
        if connection is None:
            raise _invalid("connection", f"There is no connection {said['connection']!r}. GET /api/models lists them.")
        name = said.get("name") or connection.default_model
        if not isinstance(name, str) or not 0 < len(name) <= 200:
            raise _invalid("name", f"Say which model of {connection.name} it is: its name is missing.")
        said.update(connection=connection.id, name=name)
    if isinstance(said.get("fallback"), list):
        said["fallback"] = [canonical(each, known) for each in said["fallback"]]
    return said


def _check_fields(said: Mapping[str, Any]) -> None:
    if unknown := sorted(map(str, said.keys() - _FIELDS)):
        raise _invalid(
            unknown[0], f"A model of a connection has a name, settings and a fallback, and no {unknown[0]!r}."
        )


def resolved(spec: Any, known: Mapping[str, ModelConnection]) -> Resolved:
    """What it comes to now. `known` is by id."""
    prices: dict[str, Price] = {}
    sizes: list[int] = []

    def resolve(part: Any) -> Any:
        if not isinstance(part, Mapping):
            return part
        said = dict(part)
        connection = known.get(str(said.get("connection")))
        if connection is not None:
            said = _spelled(connection, said)
            model = next((each for each in connection.models if each.name == said["name"]), None)
            if model is not None and model.price is not None:
                prices.setdefault(name_of(said), price_of(model.price))
            if model is not None and model.context_tokens is not None:
                sizes.append(model.context_tokens)
        if isinstance(said.get("fallback"), list):
            said["fallback"] = [resolve(each) for each in said["fallback"]]
        return said

    return Resolved(resolve(spec), prices, min(sizes, default=None))


def _spelled(connection: ModelConnection, said: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: said[name] for name in ("settings", "fallback") if name in said}
    made = {"provider": connection.provider, "name": said.get("name"), **kept}
    if connection.base_url is not None:
        made["baseUrl"] = connection.base_url
    usual = connection.base_url is None and connection.api_key_variable == USUAL_KEYS[connection.provider]
    if connection.api_key_variable is not None and not usual:
        made["apiKeyVariable"] = connection.api_key_variable
    return made


def price_of(said: ModelPrice) -> Price:
    """Reading from the provider's cache, and writing to it, costs what fresh input costs unless somebody says more."""
    fresh = said.input
    return Price(
        fresh,
        said.output,
        fresh if said.cached is None else said.cached,
        fresh if said.written is None else said.written,
    )


def merged(before: list[ConnectionModel], said: Mapping[str, ConnectionModel | None]) -> list[ConnectionModel]:
    """What is said of each model takes the place of what was. None: nothing is said of it any more."""
    found = {model.name: model for model in before}
    for name, model in said.items():
        if model is None or (model.price is None and model.context_tokens is None):
            found.pop(name, None)
        else:
            found[name] = model
    if len(found) > MOST_MODELS:
        raise _invalid("models", f"At most {MOST_MODELS} models of a connection can have a price or a context size.")
    return [found[name] for name in sorted(found)]


# ── addresses and keys ──────────────────────────────────────────────────────────────────────────────────────────────


def origin(base_url: str) -> Origin:
    """Of an address that is a base URL. Raises Invalid."""
    try:
        parsed = urls.parse(base_url)
    except EgressDenied as error:
        raise _invalid("baseUrl", error.message) from None
    if parsed.query:
        raise _invalid("baseUrl", "An address of models has no query.")
    return parsed.origin


def tidy(provider: ConnectionProvider, base_url: str) -> str:
    """An address as people paste it. Servers that speak like OpenAI do so below /v1; a route at its end is ours."""
    url = base_url.strip().rstrip("/")
    for route in ("/chat/completions", "/responses", "/messages", "/models"):
        url = url.removesuffix(route)
    bare = provider != "anthropic" and url.partition("://")[2].find("/") < 0
    return f"{url}/v1" if bare else url


def check_address(base_url: str) -> Origin:
    """Refuse what can never be reached from here, confirmed or not."""
    found = origin(base_url)
    try:
        net.check_listable(found)
    except EgressDenied as error:
        raise _invalid("baseUrl", error.message) from None
    return found


def confirmed(base_url: str | None, said: str) -> str:
    """The origin that somebody confirms: exactly the one that the address has."""
    if base_url is None:
        raise _invalid("confirm", "Only an address of one's own is confirmed.")
    there = check_address(base_url)
    if origin(said) != there:
        raise _invalid("confirm", f"The address is {there}, so that is what can be confirmed.")
    return str(there)


def needs_confirming(connection: ModelConnection) -> bool:
    """Is it near here, or at an odd port, and has nobody confirmed it? A name that leads near is only seen later."""
    return connection.base_url is not None and connection.confirmed is None and net.is_odd(origin(connection.base_url))


def default_name(provider: ConnectionProvider, base_url: str | None) -> str:
    return _NAMES[provider] if base_url is None else origin(base_url).authority


def key_name(provider: ConnectionProvider, base_url: str | None, taken: Collection[str]) -> str:
    """The variable for a key that was given: the provider's usual name, or one after the host; numbered if taken."""
    if base_url is None:
        name = USUAL_KEYS[provider]
    else:
        host = re.sub(r"[^A-Za-z0-9]+", "_", origin(base_url).authority).strip("_")[:100].upper()
        name = f"{'AT_' if host[:1].isdigit() else ''}{host or 'MODEL'}_API_KEY"
    number = 2
    chosen = name
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, fields={field: message})
