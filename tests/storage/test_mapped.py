"""Rows and classes are matched by field name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, func

from bullpen.storage.mapped import FLAG, JSON, MILLIS, TUPLE, TUPLE_OR_NULL, WORDS, Mapped, noun
from bullpen.wire import Wire

TABLE = Table(
    "things",
    MetaData(),
    Column("name", Text),
    Column("detail", Text),
    Column("open", BigInteger),
    Column("acts", Text),
    Column("outside", Text),
    Column("id", Text),
    Column("at", BigInteger),
)
OWNERS = Table("owners", MetaData(), Column("id", Text), Column("name", Text))


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    open: bool
    detail: dict[str, int] | None
    acts: tuple[str, ...]
    outside: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True)
class Note:
    """Without slots, like the classes of which a run makes most."""

    id: str
    open: bool
    title: str


class Named(Wire):
    id: str
    open: bool
    total: int = 0


@dataclass(frozen=True, slots=True)
class Titled:
    id: str
    title: str
    owner: str
    at: str | None = None


THINGS = Mapped(Thing, TABLE, open=FLAG, detail=JSON, acts=WORDS, outside=TUPLE)
THING = Thing("t1", True, {"n": 1}, ("send", "react"), ("web",), "one")
TITLED = Titled("t1", "one", "Ann", "1970-01-01T00:00:01.000000Z")


def test_columns_stand_in_the_order_of_the_fields() -> None:
    assert [column.name for column in THINGS.columns] == ["id", "open", "detail", "acts", "outside", "name"]


def test_what_is_written_is_read_again() -> None:
    kept = THINGS.write(THING)
    assert kept == {
        "id": "t1",
        "open": 1,
        "detail": '{"n":1}',
        "acts": "send react",
        "outside": '["web"]',
        "name": "one",
    }
    assert THINGS.read([kept[column.name] for column in THINGS.columns]) == THING


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    open: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    id: str
    label: Label
    outside: tuple[str, ...]


LABELS = Mapped(Label, TABLE, open=FLAG)
LABELLED = Mapped(Labelled, TABLE, label=LABELS, outside=TUPLE_OR_NULL)


def test_a_field_may_be_a_class_over_several_columns() -> None:
    assert [column.name for column in LABELLED.columns] == ["id", "name", "open", "outside"]
    found = LABELLED.read(("t1", "one", 1, '["web"]'))
    assert found == Labelled("t1", Label("one", True), ("web",))
    assert LABELLED.write(found) == {"id": "t1", "name": "one", "open": 1, "outside": '["web"]'}


def test_an_empty_tuple_may_be_kept_as_null() -> None:
    found = LABELLED.read(("t1", "one", 0, None))
    assert found.outside == ()
    assert LABELLED.write(found)["outside"] is None


def test_a_writer_writes_the_chosen_fields_only() -> None:
    assert THINGS.writer(["open", "acts"])(THING) == {"open": 1, "acts": "send react"}
    found = Labelled("t1", Label("one", True), ())
    assert LABELLED.writer(["label"])(found) == {"name": "one", "open": 1}


def test_a_column_without_a_value_gives_none() -> None:
    found = THINGS.read(["t1", 0, None, "", "[]", ""])
    assert found == Thing("t1", False, None, (), ())
    assert THINGS.write(found)["detail"] is None
    assert THINGS.read_one(None) is None


def test_a_field_may_come_from_another_column() -> None:
    named = Mapped(Named, TABLE, others={"total": func.count().label("total")}, open=FLAG)
    assert named.read(("t1", 1, 7)) == Named(id="t1", open=True, total=7)
    assert named.write(Named(id="t1", open=False, total=7)) == {"id": "t1", "open": 0}


def test_only_columns_of_the_table_are_written() -> None:
    titled = Mapped(Titled, TABLE, others={"title": TABLE.c.name, "owner": OWNERS.c.name}, at=MILLIS)
    assert titled.read(("t1", "one", "Ann", 1_000)) == TITLED
    assert titled.write(TITLED) == {"id": "t1", "name": "one", "at": 1_000}


def test_fields_that_are_given_need_no_column() -> None:
    given = Mapped(Titled, TABLE, given=("title", "owner"), at=MILLIS)
    assert given.read(("t1", 1_000), owner="Ann", title="one") == TITLED
    assert given.write(TITLED) == {"id": "t1", "at": 1_000}
    named = Mapped(Named, TABLE, given=("total",), open=FLAG)
    assert named.read(("t1", 1), total=7) == Named(id="t1", open=True, total=7)


def test_a_class_without_slots_is_read_and_written_alike() -> None:
    notes = Mapped(Note, TABLE, given=("title",), open=FLAG)
    assert notes.read(("t1", 1), title="one") == Note("t1", True, "one")
    assert notes.write(Note("t1", True, "one")) == {"id": "t1", "open": 1}


def test_a_noun_of_the_wire_is_kept_as_json() -> None:
    codec = noun(Named)
    assert codec.encode(Named(id="t1", open=True)) == '{"id":"t1","open":true,"total":0}'
    assert codec.decode('{"id":"t1","open":true}') == Named(id="t1", open=True)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Mapped(Named, TABLE),
        lambda: Mapped(Thing, TABLE, closed=FLAG),
        lambda: Mapped(Thing, TABLE, given=("closed",)),
        lambda: Mapped(Thing, TABLE, others={"closed": TABLE.c.open}),
    ],
)
def test_a_field_that_nothing_matches_fails_at_import(wrong: Callable[[], object]) -> None:
    with pytest.raises((KeyError, TypeError), match=r"total|closed"):
        wrong()
