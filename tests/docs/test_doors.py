"""Every door that was promised is open, or the reference says that it is not yet."""

from __future__ import annotations

import pytest

from tests.docs.documents import ROOT
from tools import doors

PROMISED = [
    (kind, state, name) for kind, states in doors.load().items() for state, names in states.items() for name in names
]


@pytest.mark.parametrize("kind", doors.KINDS)
def test_each_promised_door_is_as_the_list_says(kind: str) -> None:
    wrong = [
        f"{name} is listed as {state}"
        for of, state, name in PROMISED
        if of == kind and doors.is_open(kind, name) != (state == "open")
    ]
    assert not wrong, "\n".join(["move these in tools/doors.toml and run `make reference`:", *wrong])


def test_every_kind_of_door_is_looked_up() -> None:
    assert set(doors.load()) == set(doors.KINDS)


def test_no_door_is_listed_twice() -> None:
    names = [(kind, name) for kind, _, name in PROMISED]
    assert len(names) == len(set(names))


def test_the_reference_names_what_is_not_there_yet() -> None:
    page = (ROOT / "docs" / "reference" / "not-yet.md").read_text()
    assert [name for _, state, name in PROMISED if state == "not_yet" and f"`{name}`" not in page] == []


def test_the_reference_promises_nothing_between_brackets() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    assert [path.name for path in pages if "to come)" in path.read_text().lower()] == []
