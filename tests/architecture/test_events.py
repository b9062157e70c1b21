"""Rules for events: one class each, documented, recorded or sent somewhere, and never a bare name with loose fields."""

from __future__ import annotations

import ast

from pydantic import BaseModel

from bullpen.wire.events import Detail, Event, RecordedEvent, carried_fields, event_classes, name_event
from tests.architecture import source

TAKES = {"publish": 1, "record": 2}  # what tells of an event, and how many arguments come before the keywords
KEYWORDS = {"audience", "reader_id", "key"}


def leaves(kind: type[BaseModel]) -> set[type[BaseModel]]:
    """The classes under this one that have none under them."""
    return set().union(*map(leaves, kind.__subclasses__())) or {kind}


def takes_an_object(name: str, call: ast.Call) -> bool:
    named = {keyword.arg for keyword in call.keywords}
    return len(call.args) == TAKES[name] and not isinstance(call.args[-1], ast.Constant) and named <= KEYWORDS


def test_events_are_recorded_and_sent_as_objects() -> None:
    calls = [
        (module.at(call), name, call)
        for module in source.modules().values()
        for name, call in source.calls(module)
        if name in TAKES
    ]
    assert len(calls) > 20
    wrong = [f"{where} {ast.unparse(call)}" for where, name, call in calls if not takes_an_object(name, call)]
    assert not wrong, "\n".join(wrong)


def test_every_event_class_is_in_the_union_once() -> None:
    assert leaves(Event) == set(event_classes())
    assert len({name_event(kind) for kind in event_classes()}) == len(event_classes())


def test_every_event_class_and_field_is_documented() -> None:
    undocumented = [kind.__name__ for kind in event_classes() if not vars(kind)["__doc__"]]
    undocumented += [
        f"{kind.__name__}.{name}"
        for kind in [*event_classes(), *leaves(Detail)]
        for name, field in kind.model_fields.items()
        if not field.description and (name != "type" or issubclass(kind, Detail))
    ]
    assert not undocumented


def test_what_an_event_carries_is_always_sent() -> None:
    optional = [
        f"{kind.__name__}.{name}"
        for kind in event_classes()
        for name in carried_fields(kind)
        if not kind.model_fields[name].is_required()
    ]
    assert not optional


def test_every_event_class_is_recorded_or_sent_somewhere() -> None:
    outside = [module for module in source.modules().values() if module.package != "wire"]
    used = set().union(*map(source.used_names, outside))
    used_in_actions = set().union(*(source.used_names(each) for each in outside if each.path.name == "actions.py"))
    unused = [
        kind.__name__
        for kind in event_classes()
        if kind.__name__ not in (used_in_actions if issubclass(kind, RecordedEvent) else used)
    ]
    assert not unused
