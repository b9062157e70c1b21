"""The index of messages: it holds what they say now, on both databases alike, whatever becomes of them."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam, delete, insert, select, text, update

from bullpen.ids import message as new_id
from bullpen.spaces import finding
from bullpen.spaces.finding import Search
from bullpen.storage import Statement, Store, Transaction, words
from bullpen.storage.migrations import known, migrate
from bullpen.storage.tables import message_words, messages
from bullpen.wire import Message
from tests.databases import Database

# Few rows are read without the index, so that a small history needs it; SQLite's index may lag by 255 rows.
WINDOW = 256
_INSERT = Statement(insert(messages))
# As messages were before the migration that is tested.
_INSERT_BEFORE = Statement(
    insert(messages).values({c.name: bindparam(c.name) for c in messages.columns if c.name not in ("files", "card")})
)
_DELETE = Statement(delete(messages).where(messages.c.id == bindparam("id_")))
_EMPTY = Statement(update(messages).where(messages.c.id == bindparam("id_")).values(text=""))
_SELECT_INDEXED = Statement(select(message_words.c.message_id).order_by(message_words.c.number))
_CHECK = Statement(text("INSERT INTO message_fts (message_fts, rank) VALUES ('integrity-check', 0)"))
CAST = ["ada", "bo", "cy"]
SPACES = ["hall", "attic", "dm-ada-bo"]
VOCABULARY = ["the", "then", "theory", "cat", "cats", "catalogue", "Zoë", "東京", "東京都", "naïve", "a", "b", "🎉"]


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "WINDOWS", (WINDOW,))
    monkeypatch.setattr(finding, "WINDOWS_ON_POSTGRES", (WINDOW,))


def said(text: str, number: int = 1, **more: Any) -> Message:
    at = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z"
    fields = {"space_id": "hall", "author_id": "ada", "author_kind": "agent", **more}
    return Message(id=new_id(), seq=number, text=text, created_at=at, **fields)


async def keep(tx: Transaction, message: Message) -> None:
    row = message.model_dump(exclude={"attachments", "reactions", "metadata"})
    await tx.run(_INSERT, **row, metadata="{}", folded=None, card=None, chain_id=message.id, wake=None, files=0)
    await finding.add(tx, message)


def talk(count: int) -> list[Message]:
    chance = random.Random(7)
    return [
        said(
            " ".join(VOCABULARY if number % 50 == 0 else chance.choices(VOCABULARY, k=chance.randint(1, 6))),
            number,
            space_id=chance.choice(SPACES),
            author_id=chance.choice(CAST),
        )
        for number in range(1, count + 1)
    ]


def expected(history: list[Message], asked: Search) -> list[str]:
    """What a search must find, said without any index."""
    found = []
    for message in reversed(history):
        kept = words.indexed(message.text, space_id=message.space_id, author_id=message.author_id, type=message.type)
        fits = kept is not None and all(phrase.needle in kept for phrase in asked.phrases)
        mine = message.space_id in asked.spaces and asked.author_id in (None, message.author_id)
        if fits and mine and asked.since < message.created_at < asked.until:
            found.append(message.id)
    return found


async def all_pages(store: Store, asked: Search) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        page = await store.read(lambda tx, c=cursor: finding.search(tx, _from(asked, c)))  # type: ignore[misc]
        found += page.ids
        if page.next is None:
            return found
        cursor = page.next


def _from(asked: Search, cursor: str | None) -> Search:
    return Search(
        asked.phrases, asked.spaces, asked.author_id, asked.type, asked.since, asked.until, cursor, asked.limit
    )


# More words than a statement has places for; some messages have them all.
MANY = "a b the then cat cats zoe naive theory catalogue 東京"
QUERIES = [
    "the",
    "the cat",
    '"the cat"',
    "cat",
    '"cat"',
    "zoe",
    "naive",
    "東京",
    "京",
    '"a b" the',
    "🎉",
    "cat-a",
    "b",
    "x",
    MANY,
    MANY + " never",
]


async def test_both_databases_find_what_a_full_scan_finds(store: Store) -> None:
    history = talk(1_200)

    async def fill(tx: Transaction) -> None:
        for message in history:
            await keep(tx, message)

    await store.transact(fill)
    readers: list[dict[str, Any]] = [
        {"spaces": SPACES},
        {"spaces": ["attic"]},
        {"spaces": ["dm-ada-bo", "hall"], "author_id": "bo"},
        {"spaces": [*SPACES, *(f"other-{n}" for n in range(40))], "since": history[300].created_at},
        {"spaces": SPACES, "until": history[500].created_at},
        {"spaces": ["elsewhere"]},
    ]
    found = 0
    for query in QUERIES:
        for reader in readers:
            asked = Search(words.parse(query), limit=60, **reader)
            ids = await all_pages(store, asked)
            assert ids == expected(history, asked), (query, reader)
            found += len(ids)
    assert found > 5_000


async def test_a_search_with_too_many_hits_continues_at_its_cursor(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have the words, and few the phrase: SQLite gives a page up after so many, PostgreSQL looks at all of them."""
    monkeypatch.setattr(finding, "LOOKED_AT", (20, 40))
    history = [said("the cat then" if n % 31 == 0 else "then the cat", n) for n in range(1, 1_001)]

    async def fill(tx: Transaction) -> None:
        for message in history:
            await keep(tx, message)

    await store.transact(fill)
    for limit in (3, 50):
        asked = Search(words.parse('"the cat then"'), SPACES, limit=limit)
        assert await all_pages(store, asked) == expected(history, asked)
    first = await store.read(lambda tx: finding.search(tx, Search(words.parse('"the cat then"'), SPACES)))
    assert (first.next is not None) == (not store.shared)


@pytest.mark.parametrize("count", [1, 300, 600])
async def test_the_index_follows_edited_emptied_and_deleted_messages(store: Store, count: int) -> None:
    """With little, some and much said since: SQLite's index has none, a part or all of the first messages by then."""
    edited, emptied, removed, kept = (said(f"unusual {word}", n) for n, word in enumerate(("one", "two", "three", "4")))

    async def fill(tx: Transaction) -> None:
        for message in (edited, emptied, removed, kept, *(said("noise", n) for n in range(10, 10 + count))):
            await keep(tx, message)

    async def change(tx: Transaction) -> None:
        await finding.change(tx, edited, "something else")
        await tx.run(_EMPTY, id_=emptied.id)
        await tx.run(_DELETE, id_=removed.id)

    await store.transact(fill)
    assert len(await all_pages(store, Search(words.parse("unusual"), SPACES))) == 4
    await store.transact(change)
    assert await all_pages(store, Search(words.parse("unusual"), SPACES)) == [kept.id]
    assert await all_pages(store, Search(words.parse("something"), SPACES)) == [edited.id]
    if not store.shared:
        await store.transact(lambda tx: tx.run(_CHECK))


async def test_a_message_is_indexed_only_while_it_has_words(
    store: Store,
) -> None:
    message = said("?!")
    await store.transact(lambda tx: keep(tx, message))
    assert await store.read(lambda tx: tx.all(_SELECT_INDEXED)) == []
    await store.transact(lambda tx: finding.change(tx, message, "words!"))
    assert await all_pages(store, Search(words.parse("words"), SPACES)) == [message.id]
    await store.transact(lambda tx: finding.change(tx, message, "…"))
    assert await store.read(lambda tx: tx.all(_SELECT_INDEXED)) == []


async def test_reusing_a_deleted_messages_number_finds_no_stale_words(store: Store) -> None:
    """SQLite does so; what the index knew under that number must be gone."""
    history = [said(f"word{n}", n) for n in range(1, 513)]

    async def fill(tx: Transaction) -> None:
        for message in history:
            await keep(tx, message)

    async def replace_the_last(tx: Transaction) -> None:
        await tx.run(_DELETE, id_=history[-1].id)
        await keep(tx, said("another", 513))

    await store.transact(fill)
    await store.transact(replace_the_last)
    assert await all_pages(store, Search(words.parse('"word512"'), SPACES)) == []
    assert len(await all_pages(store, Search(words.parse("another"), SPACES))) == 1
    if not store.shared:
        await store.transact(lambda tx: tx.run(_CHECK))


async def test_messages_from_before_are_indexed_by_the_migration(empty_database: Database, tmp_path: Path) -> None:
    older = [migration for migration in known() if migration.number < 3]
    history = talk(700)
    store = empty_database.store()
    await store.open()
    await migrate(store, None, older)

    async def fill(tx: Transaction) -> None:
        for message in history:
            row = message.model_dump(exclude={"attachments", "reactions", "metadata"})
            await tx.run(_INSERT_BEFORE, **row, metadata="{}", folded=None, chain_id=message.id, wake=None)

    await store.transact(fill)
    await migrate(store, tmp_path / "backups")
    try:
        for query in ("cat", "東京", '"the cat"'):
            asked = Search(words.parse(query), SPACES)
            assert await all_pages(store, asked) == expected(history, asked)
    finally:
        await store.close()


async def test_a_vacuum_leaves_the_index_right(database: Database) -> None:
    """It may give rows other places."""
    history = talk(600)
    store = database.store()
    await store.open()

    async def fill(tx: Transaction) -> None:
        for message in history:
            await keep(tx, message)
        for message in history[::3]:
            await tx.run(_DELETE, id_=message.id)

    await store.transact(fill)
    await store.close()
    await vacuum(database)
    await store.open()
    try:
        left = [message for number, message in enumerate(history) if number % 3]
        asked = Search(words.parse("cat"), SPACES)
        assert await all_pages(store, asked) == expected(left, asked)
    finally:
        await store.close()


async def vacuum(database: Database) -> None:
    if database.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(database.path)) as connection:
            connection.execute("VACUUM")
        return
    import asyncpg

    other = await asyncpg.connect(database.url)
    await other.execute("VACUUM FULL")
    await other.close()
