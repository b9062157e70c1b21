"""Benchmarks that write rows by themselves write rows that the tables take."""

from __future__ import annotations

import pytest

from bench import instructions, memory, search
from bullpen.storage import tables

FILLED = {
    "messages": search.MESSAGE,
    "spaces": search.SPACE,
    "members": search.MEMBER,
    "passages": memory.PASSAGE,
    "passage_scopes": memory.SCOPE,
}


@pytest.mark.parametrize("name", FILLED)
def test_the_search_benchmark_fills_every_column_that_needs_it(name: str) -> None:
    columns = FILLED[name]
    known = tables.metadata.tables[name].columns
    needed = {column.name for column in known if not column.nullable and column.server_default is None}
    assert needed <= set(columns) <= {column.name for column in known}


def test_the_search_benchmark_writes_a_value_for_each_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "VOCABULARY", 100)
    office = search.Office(3)
    ((messages, words),) = office.pages()
    written = [
        (messages, search.MESSAGE),
        (words, search.WORDS),
        (office.spaces(), search.SPACE),
        (office.members(), search.MEMBER),
    ]
    monkeypatch.setattr(memory, "VOCABULARY", 100)
    remembered = memory.Memory(3)
    ((passages, fragments),) = remembered.pages()
    written += [(passages, memory.PASSAGE), (fragments, memory.WORDS), (remembered.scopes(), memory.SCOPE)]
    assert [{len(row) for row in rows} for rows, _ in written] == [{len(columns)} for _, columns in written]


async def test_without_valgrind_nothing_is_counted_and_the_reason_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert await instructions.measure(quick=True) == {}
    assert "valgrind" in capsys.readouterr().out
