"""Which value a name has in a place, which names are missing, and how a text refers to one. Pure.

Thread, then agent, space, person, workspace, and last the settings. A thread has what the threads above it have, except
names that are scoped: whoever declares one as scoped takes it from its own thread or from no thread, and a value that
is scoped outside of threads is for root threads alone. What a thread was given flows down to the threads below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bullpen.errors import Invalid, VariablesRequired
from bullpen.observe.names import is_name
from bullpen.variables.types import SETTINGS, WORKSPACE, Found, Place, Scope, SecretRef, Value
from bullpen.wire.nouns import VariableDefinition, VariableType

MOST = 1000  # in one scope
# What is shorter, or made of fewer characters, cannot be hidden: it stands in too many innocent words.
SHORTEST_SECRET = 8
FEWEST_CHARACTERS = 5
# What is longer costs too much to look for: in bytes, one secret and all of one scope.
LONGEST_SECRET = 8 * 1024
MOST_SECRET = 128 * 1024
NAMED = (
    "This secret is the name of a tool, a field or an event, or an id. Those are never hidden.",
    "choose another value, or the type text",
)
_WORD = re.compile(r"[A-Za-z]{1,11}")
NAME = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_NAME = re.compile(NAME)
_SECRET_NAME = re.compile(r"(key|token|secret|password|passwd|credentials?|dsn)$")
_REFERENCE = re.compile(r"\{\{\s*var:(" + NAME + r")\s*\}\}")


def check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        message = f"{name[:60]!r} cannot be a variable's name."
        raise Invalid(message, fields={"name": "letters, digits and _, not starting with a digit, at most 128"})


def check_value(type: VariableType, value: str) -> None:
    if type == "secret" and (why := refusal(value)) is not None:
        raise Invalid(why[0], fields={"value": why[1]})


def refusal(value: str) -> tuple[str, str] | None:
    """Why this cannot be a secret, and what to do; None: it can. Values from the environment are not refused."""
    if len(value.strip()) < SHORTEST_SECRET:
        said = f"A secret has at least {SHORTEST_SECRET} characters, or it could not be hidden where it shows up."
        return said, f"give at least {SHORTEST_SECRET} characters, or the type text"
    if len(value.encode("utf-8", "surrogatepass")) > LONGEST_SECRET:
        said = f"A secret has at most {LONGEST_SECRET // 1024} KiB: looking for a longer one would slow everybody down."
        return said, "store a shorter one, or give a tool the file instead"
    if len(set(value)) < FEWEST_CHARACTERS:
        said = (
            f"A secret has at least {FEWEST_CHARACTERS} different characters, or it would be hidden in other texts too."
        )
        return said, f"give one with at least {FEWEST_CHARACTERS} different characters, or the type text"
    if _WORD.fullmatch(value):
        said = "This secret is an ordinary word: hidden wherever it stands, it would tear holes into texts."
        return said, "choose one that is no word, or the type text"
    return NAMED if is_name(value) else None


# ── which value ─────────────────────────────────────────────────────────────────────────────────────────────────────


def scopes_of(place: Place, found: Found, name: str, *, scoped: bool) -> Iterator[Scope]:
    """Where a name is looked for, in order. `scoped`: whoever asks declares it so."""
    for number, link in enumerate(found.line):
        yield Scope("thread", link.thread_id)
        if name in link.scoped or (scoped and number == 0):
            break  # not from above
    yield Scope("agent", place.agent_id)
    if place.space_id is not None:
        yield Scope("space", place.space_id)
    if place.person_id is not None:
        yield Scope("person", place.person_id)
    yield WORKSPACE


def find(definition: VariableDefinition, place: Place, found: Found, settings: Mapping[str, str]) -> Value | None:
    name = definition.name
    child = len(found.line) > 1
    for scope in scopes_of(place, found, name, scoped=definition.scoped):
        stored = found.stored.get((scope, name))
        if stored is None or (stored.scoped and child and scope.kind != "thread"):
            continue
        if stored.key_id is None:
            return stored.value
        return SecretRef(name, scope, stored.key_id, stored.value)
    if name in settings and (definition.type == "secret" or sounds_secret(name)):
        return SecretRef(name, SETTINGS)
    return settings.get(name)


def sounds_secret(name: str) -> bool:
    """Settings have no types, so a name must do: what is called a key is not shown."""
    return _SECRET_NAME.search(name.lower()) is not None


def resolved(
    needed: Iterable[VariableDefinition], place: Place, found: Found, settings: Mapping[str, str]
) -> dict[str, Value]:
    """A value for every name that has one; VariablesRequired if one has none and nothing can go on without."""
    needed = list(needed)
    values: dict[str, Value] = {}
    for definition in needed:
        value = find(definition, place, found, settings)
        if value is not None:
            values[definition.name] = value
    missing = [definition for definition in needed if definition.required and definition.name not in values]
    if missing:
        raise VariablesRequired([d.model_dump(mode="json", by_alias=True) for d in missing])
    return values


# ── references ──────────────────────────────────────────────────────────────────────────────────────────────────────


def references(value: object) -> list[str]:
    """The names that a text refers to as {{var:NAME}}, or any text in a JSON value; each once."""
    names: dict[str, None] = {}
    waiting: list[object] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            names.update(dict.fromkeys(_REFERENCE.findall(inner)))
        elif isinstance(inner, Mapping):
            waiting += [*inner.keys(), *inner.values()]
        elif isinstance(inner, Sequence) and not isinstance(inner, bytes | bytearray):
            waiting += inner
    return list(names)


def replaced(text: str, by: Callable[[str], str]) -> str:
    """The text with each reference replaced by what `by` says of its name."""
    return _REFERENCE.sub(lambda match: by(match[1]), text)
