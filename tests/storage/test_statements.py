"""Statements and values: the same text, the same rows and the same refusals on both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import and_, bindparam, func, insert, not_, select, update

from bullpen.errors import Invalid
from bullpen.storage import Statement, Store, Transaction, any_of
from bullpen.storage.statements import POSTGRES, SQLITE, contains, current_xid, horizon, now_millis
from bullpen.storage.tables import events, leases, meta, runs
from tests.databases import Database
from tests.storage.scratch import DELETE, INSERT, SELECT, SELECT_ONE, UPDATE, keys, put

INSERT_LEASE = Statement(insert(leases))


def fetching(statement: Statement, **params: Any) -> Callable[[Transaction], Awaitable[list[tuple[Any, ...]]]]:
    async def body(tx: Transaction) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await tx.all(statement, **params)]

    return body


async def fill(store: Store, *names: str) -> None:
    for name in names:
        await store.transact(put(name, name))


# ── parameters ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
def test_a_missing_or_unknown_parameter_is_an_error_at_once(dialect: Any) -> None:
    compiled = INSERT.on(dialect)
    assert compiled.values({"key": "a", "value": "b"}) == ["a", "b"]
    with pytest.raises(KeyError, match="missing parameters: value"):
        compiled.values({"key": "a"})
    with pytest.raises(KeyError, match="unknown parameters: colour"):
        compiled.values({"key": "a", "value": "b", "colour": "c"})


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
def test_a_statement_keeps_its_own_constants_including_null(dialect: Any) -> None:
    release = Statement(update(leases).where(leases.c.thread_id == bindparam("id")).values(owner=None, until=0))
    assert release.on(dialect).values({"id": "t"}) == [None, 0, "t"]


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
def test_a_list_inside_a_statement_is_refused_on_compilation(dialect: Any) -> None:
    with pytest.raises(TypeError, match="any_of"):
        Statement(select(meta.c.key).where(meta.c.key.in_(["a", "b"]))).on(dialect)


def test_a_statement_is_compiled_once_per_dialect() -> None:
    assert INSERT.on(SQLITE) is INSERT.on(SQLITE)
    assert INSERT.on(POSTGRES) is INSERT.on(POSTGRES)
    assert INSERT.on(SQLITE) is not INSERT.on(POSTGRES)


# ── effects ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_run_says_how_many_rows_it_touched(store: Store) -> None:
    async def body(tx: Transaction) -> list[int]:
        return [
            await tx.run(INSERT, key="a", value="1"),
            await tx.run(UPDATE, key_="a", value_="2"),
            await tx.run(UPDATE, key_="b", value_="2"),
            await tx.run(DELETE, key_="a"),
            await tx.run(DELETE, key_="a"),
        ]

    assert await store.transact(body) == [1, 1, 0, 1, 0]


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c"]], ids=["none", "one", "three"])
async def test_many_inserts_every_given_row(store: Store, names: list[str]) -> None:
    async def body(tx: Transaction) -> None:
        await tx.many(INSERT, [{"key": name, "value": ""} for name in names])

    await store.transact(body)
    assert await keys(store) == names


async def test_rows_are_sequences_that_unpack_and_compare_as_tuples(store: Store) -> None:
    await fill(store, "a", "b")

    async def body(tx: Transaction) -> None:
        rows = await tx.all(SELECT)
        (first_key, first_value), second = rows
        assert (first_key, first_value) == ("a", "a")
        assert second == ("b", "b")
        assert len(rows) == 2

    await store.read(body)


# ── predicates ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "wanted, found",
    [([], []), (["b"], ["b"]), (["c", "a", "c", "z"], ["a", "c"]), (['"', "'", "]", "\\"], [])],
    ids=["none", "one", "repeated", "quotes"],
)
async def test_any_of_takes_a_list_of_any_length(store: Store, wanted: list[str], found: list[str]) -> None:
    await fill(store, "a", "b", "c")
    statement = Statement(select(meta.c.key).where(any_of(meta.c.key, "keys")).order_by(meta.c.key))
    assert await store.read(fetching(statement, keys=wanted)) == [(name,) for name in found]


async def test_any_of_can_be_negated_and_joined_with_other_conditions(store: Store) -> None:
    await fill(store, "a", "b", "c")
    others = Statement(select(meta.c.key).where(not_(any_of(meta.c.key, "keys"))).order_by(meta.c.key))
    both = Statement(select(meta.c.key).where(and_(any_of(meta.c.key, "keys"), meta.c.value != bindparam("value"))))
    assert await store.read(fetching(others, keys=["b"])) == [("a",), ("c",)]
    assert await store.read(fetching(both, keys=["a", "b"], value="a")) == [("b",)]


async def test_any_of_takes_numbers_for_a_column_of_numbers(store: Store) -> None:
    async def body(tx: Transaction) -> None:
        for name, token in (("a", 1), ("b", 2**53 + 1), ("c", 3)):
            await tx.run(INSERT_LEASE, thread_id=name, owner=None, epoch=0, token=token, until=0, since=0)

    await store.transact(body)
    statement = Statement(select(leases.c.thread_id).where(any_of(leases.c.token, "tokens")).order_by("thread_id"))
    assert await store.read(fetching(statement, tokens=[2**53 + 1, 3, 4])) == [("b",), ("c",)]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_any_of_uses_the_index_on_sqlite(store: Store, database: Database) -> None:
    statement = Statement(select(meta.c.value).where(any_of(meta.c.key, "keys")))
    plan = Statement(select(1))
    plan._compiled["sqlite"] = statement.on(SQLITE).__class__(
        "EXPLAIN QUERY PLAN " + statement.on(SQLITE).sql, ("keys",), frozenset({"keys"}), {}, (0,)
    )
    steps = await store.read(fetching(plan, keys=["a"]))
    assert any("USING INDEX" in step[3] and step[3].startswith("SEARCH") for step in steps), steps


@pytest.mark.parametrize(
    "needle, found",
    [("%", ["50%"]), ("_", ["a_b"]), ("b", ["a_b", "abc"]), ("B", []), ("", ["50%", "a_b", "abc"]), ("\\", [])],
)
async def test_contains_looks_for_letters_and_knows_no_wildcards(store: Store, needle: str, found: list[str]) -> None:
    await fill(store, "50%", "a_b", "abc")
    statement = Statement(select(meta.c.key).where(contains(meta.c.value, "needle")).order_by(meta.c.key))
    assert await store.read(fetching(statement, needle=needle)) == [(name,) for name in found]


async def test_text_is_ordered_by_its_bytes_on_both(store: Store) -> None:
    names = ["B", "_", "a", "a-b", "a_b", "ab", "b", "é", "-"]
    await fill(store, *names)
    assert await keys(store) == sorted(names)


# ── values ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = {
    "empty": "",
    "emoji": "👩‍🚀 🏳️‍🌈 \U0010ffff",
    "right to left": "שלום \u202eevil\u202c مرحبا",
    "combining": "e\u0301 not \u00e9",
    "controls": "\x01\x1b[31m\x7f\u0085\u2028",
    "quotes": '\'; DROP TABLE meta; -- "$1" ? :x %s \\',
    "lines": "a\r\nb\n\n\tc ",
    "ten megabytes": "ä" * 5_000_000,
}
UNSTORABLE = {"NUL": "a\x00b", "high half": "\ud83d", "low half": "x\udc00y", "halves apart": "\ude00\ud83d"}


@pytest.mark.proves("N4")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_any_text_comes_back_as_it_was(store: Store, text: str) -> None:
    await store.transact(put("a", text))
    assert await store.read(fetching(SELECT_ONE, key="a")) == [(text,)]


@pytest.mark.proves("N4")
@pytest.mark.parametrize("text", UNSTORABLE.values(), ids=UNSTORABLE.keys())
async def test_unstorable_text_is_refused_by_both_and_the_transaction_continues(store: Store, text: str) -> None:
    among = Statement(select(meta.c.key).where(any_of(meta.c.key, "keys")))

    async def body(tx: Transaction) -> None:
        with pytest.raises(Invalid):
            await tx.run(INSERT, key="a", value=text)
        with pytest.raises(Invalid):
            await tx.many(INSERT, [{"key": "a", "value": "x"}, {"key": text, "value": "x"}])
        with pytest.raises(Invalid):
            await tx.all(among, keys=["a", text])
        await tx.run(INSERT, key="good", value="")

    await store.transact(body)
    assert await keys(store) == ["good"]


@pytest.mark.parametrize("number", [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)])
async def test_whole_numbers_keep_every_digit(store: Store, number: int) -> None:
    async def body(tx: Transaction) -> None:
        await tx.run(INSERT_LEASE, thread_id="t", owner=None, epoch=number, token=0, until=0, since=0)

    await store.transact(body)
    assert await store.read(fetching(Statement(select(leases.c.epoch, leases.c.owner)))) == [(number, None)]


async def test_a_cost_keeps_the_precision_of_a_python_float(store: Store) -> None:
    cost = 0.1 + 0.2
    texts = {column.name: "" for column in runs.c if column.type.python_type is str}

    async def body(tx: Transaction) -> None:
        numbers = {column.name: 0 for column in runs.c if column.name not in texts}
        await tx.run(Statement(insert(runs)), **{**texts, **numbers, "cost": cost})

    await store.transact(body)
    assert await store.read(fetching(Statement(select(func.sum(runs.c.cost))))) == [(cost,)]


# ── what only the database knows ────────────────────────────────────────────────────────────────────────────────────


async def test_the_database_clock_agrees_with_ours(store: Store) -> None:
    before = store.clock.millis()
    [(now,)] = await store.read(fetching(Statement(select(now_millis()))))
    assert isinstance(now, int)
    assert before - 1 <= now <= store.clock.millis() + 1


async def test_an_event_is_below_the_horizon_once_its_transaction_ends(store: Store) -> None:
    record = Statement(
        insert(events).values(xid=current_xid(), type="t", audience="space", at="", body=bindparam("text"))
    )
    complete = Statement(select(events.c.body).where(events.c.xid < horizon()).order_by(events.c.xid, events.c.id))

    async def body(tx: Transaction) -> None:
        await tx.run(record, text="one")
        await tx.run(record, text="two")

    await store.transact(body)
    assert await store.read(fetching(complete)) == [("one",), ("two",)]
