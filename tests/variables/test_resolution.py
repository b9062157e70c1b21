"""Which value a name has in a place: compared with a plain oracle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bullpen.errors import VariablesRequired
from bullpen.storage import Transaction
from bullpen.threads import rows as thread_rows
from bullpen.threads.types import Thread
from bullpen.variables import rows, rules
from bullpen.variables.types import SETTINGS, Found, Link, Place, Scope, SecretRef, Stored, Value
from bullpen.wire.nouns import VariableDefinition
from tests import effort
from tests.driver import Driver

NAMES = ("A", "B")
KINDS = ("agent", "space", "person", "workspace")


@dataclass(frozen=True)
class World:
    """Threads from the one that asks up to the root, and what is set where: {(scope, name): scoped}."""

    declared: tuple[frozenset[str], ...]
    values: Mapping[tuple[str, str, str], bool]
    in_space: bool
    for_person: bool
    in_settings: frozenset[str]


def oracle(world: World, name: str, scoped: bool) -> str | None:
    """The founding document, word by word: where the value comes from, as `kind id`."""
    inheriting = True
    for depth, declared in enumerate(world.declared):
        if inheriting and ("thread", f"t{depth}", name) in world.values:
            return f"thread t{depth}"
        blocked = name in declared or (depth == 0 and scoped)
        inheriting = inheriting and not blocked
    is_child = len(world.declared) > 1
    for kind, there in (("agent", True), ("space", world.in_space), ("person", world.for_person), ("workspace", True)):
        id = "" if kind == "workspace" else kind
        held = world.values.get((kind, id, name))
        if there and held is not None and not (held and is_child):
            return f"{kind} {id}".rstrip()
    return "settings" if name in world.in_settings else None


def found(world: World) -> Found:
    line = tuple(Link(f"t{depth}", declared) for depth, declared in enumerate(world.declared))
    stored = {
        (Scope(kind, id), name): Stored(Scope(kind, id), name, "text", f"{kind} {id}".rstrip(), None, scoped)  # type: ignore[arg-type]
        for (kind, id, name), scoped in world.values.items()
    }
    return Found(line, stored)


def place(world: World) -> Place:
    return Place("t0", "agent", "space" if world.in_space else None, "person" if world.for_person else None)


def told(value: Value | None) -> str | None:
    return "settings" if isinstance(value, SecretRef) and value.scope == SETTINGS else value  # type: ignore[return-value]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    depth = draw(st.integers(1, 4))
    names = st.frozensets(st.sampled_from(NAMES))
    homes = [("thread", f"t{n}") for n in range(depth)] + [("workspace", "")] + [(k, k) for k in KINDS[:3]]
    keys = st.tuples(st.sampled_from(homes), st.sampled_from(NAMES)).map(lambda pair: (*pair[0], pair[1]))
    values = draw(st.dictionaries(keys, st.booleans(), max_size=10))
    declared = tuple(draw(names) for _ in range(depth))
    return World(declared, values, draw(st.booleans()), draw(st.booleans()), draw(names))


@pytest.mark.proves("F2", "F3")
@settings(max_examples=effort.count(2000, sample=100))
@given(worlds(), st.sampled_from(NAMES), st.booleans())
def test_a_variable_resolves_everywhere_as_the_founding_document_says(world: World, name: str, scoped: bool) -> None:
    definition = VariableDefinition(name=name, scoped=scoped, type="secret")
    provided = dict.fromkeys(world.in_settings, "from the settings")
    assert told(rules.find(definition, place(world), found(world), provided)) == oracle(world, name, scoped)


@pytest.mark.proves("F3")
async def test_a_threads_value_reaches_its_descendants_but_no_sibling(office: Driver) -> None:
    """root → child → grandchild, and a sibling of the child; on the rows themselves, in one query."""

    async def body(tx: Transaction) -> list[str | None]:
        for id, parent, declared in (
            ("root", None, None),
            ("child", "root", ("TOKEN",)),
            ("grandchild", "child", None),
            ("sibling", "root", ("TOKEN",)),
        ):
            thread = Thread(id, "ada", "child", id, None, None, tx.clock.now(), parent_id=parent, scoped_names=declared)
            await thread_rows.insert_thread(tx, thread)
        for id, value in (("root", "of the root"), ("child", "of the child")):
            await rows.upsert_variable(tx, Stored(Scope("thread", id), "TOKEN", "text", value), "somebody")
        seen: list[str | None] = []
        for id in ("root", "child", "grandchild", "sibling"):
            asked = Place(id, "ada")
            there = await rows.select_place(tx, asked, ["TOKEN"])
            seen.append(rules.find(VariableDefinition(name="TOKEN"), asked, there, {}))  # type: ignore[arg-type]
        return seen

    assert await office.office.store.transact(body) == ["of the root", "of the child", "of the child", None]


@pytest.mark.proves("S3-06", "F2")
def test_a_missing_required_variable_is_reported_with_its_full_definition() -> None:
    needed = [
        VariableDefinition(name="TOKEN", type="secret", scoped=True, description="the key of the shop"),
        VariableDefinition(name="REGION", required=False),
    ]
    parent = Scope("thread", "parent")
    there = Found(
        (Link("child"), Link("parent")), {(parent, "TOKEN"): Stored(parent, "TOKEN", "secret", "sealed", "key")}
    )
    with pytest.raises(VariablesRequired) as raised:
        rules.resolved(needed, Place("child", "ada"), there, {})
    assert "TOKEN" in raised.value.message
    assert "REGION" not in raised.value.message
    assert raised.value.missing == [
        {"name": "TOKEN", "type": "secret", "required": True, "scoped": True, "description": "the key of the shop"}
    ]


def test_variable_references_are_found_anywhere_and_listed_once() -> None:
    config = {"url": "https://x/{{var:ID}}", "headers": {"{{ var:NAME }}": "Bearer {{var:KEY}}{{var:ID}}"}, "n": 1}
    assert sorted(rules.references(config)) == ["ID", "KEY", "NAME"]
    assert rules.references("{{var:1X}} {var:Y} {{var: Z }}") == []


@pytest.mark.proves("S3-07")
def test_a_reference_to_a_secret_prints_its_name_only() -> None:
    ref = SecretRef("KEY", Scope("space", "lab"), "k1", "sealed-bytes")
    assert f"{ref} {ref!r} {[ref]}" == "***KEY*** ***KEY*** [***KEY***]"
