"""Rows and classes are matched by field name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, func

from bullpen.storage.mapped import FLAG, JSON, TUPLE, WORDS, Mapped
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
)


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    open: bool
    detail: dict[str, int] | None
    acts: tuple[str, ...]
    outside: tuple[str, ...]
    name: str = ""


class Named(Wire):
    id: str
    open: bool
    total: int = 0


THINGS = Mapped(Thing, TABLE, open=FLAG, detail=JSON, acts=WORDS, outside=TUPLE)
THING = Thing("t1", True, {"n": 1}, ("send", "react"), ("web",), "one")


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


def test_a_column_without_a_value_gives_none() -> None:
    found = THINGS.read(["t1", 0, None, "", "[]", ""])
    assert found == Thing("t1", False, None, (), ())
    assert THINGS.write(found)["detail"] is None
    assert THINGS.read_one(None) is None


def test_a_field_may_come_from_another_column() -> None:
    named = Mapped(Named, TABLE, others={"total": func.count().label("total")}, open=FLAG)
    assert named.read(("t1", 1, 7)) == Named(id="t1", open=True, total=7)
    assert named.write(Named(id="t1", open=False, total=7)) == {"id": "t1", "open": 0}


@pytest.mark.parametrize("wrong", [lambda: Mapped(Named, TABLE), lambda: Mapped(Thing, TABLE, closed=FLAG)])
def test_a_field_that_nothing_matches_fails_at_import(wrong: Callable[[], object]) -> None:
    with pytest.raises((KeyError, TypeError), match=r"total|closed"):
        wrong()
