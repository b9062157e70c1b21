"""What a migration has to compute in Python, after its script and in the same transaction.

Search is filled from the messages that are there: which words a text has is said in storage/words.py, not in SQL, and
what a card says in wire/cards.py. Passages are filled in the same
way, with fragments (storage/fragments.py). Read and written in pages, so that a long history fits into memory.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from bullpen.storage import fragments, words
from bullpen.wire import cards

PAGE = 5_000

_MESSAGES = """
    SELECT id, space_id, author_id, type, created_at, text FROM messages
    WHERE text <> '' AND deleted_at IS NULL ORDER BY created_at, id
"""


def _indexed(rows: Sequence[Sequence[Any]]) -> list[tuple[str, str, str, str]]:
    found = []
    for id, space_id, author_id, type, created_at, text in rows:
        kept = words.indexed(text, space_id=space_id, author_id=author_id, type=type)
        if kept is not None:
            found.append((id, space_id, created_at, kept))
    return found


def _fill_search_sqlite(connection: sqlite3.Connection) -> None:
    found = connection.execute(_MESSAGES)
    while rows := found.fetchmany(PAGE):
        connection.executemany(
            "INSERT INTO message_words (message_id, space_id, created_at, words) VALUES (?, ?, ?, ?)", _indexed(rows)
        )


async def _fill_search_postgres(connection: Any) -> None:
    # A cursor with a name, so that it can be closed: a later migration of the same transaction may change the table.
    await connection.execute(f"DECLARE messages_to_fill CURSOR FOR {_MESSAGES}")
    columns = ["message_id", "space_id", "created_at", "words"]
    while rows := await connection.fetch(f"FETCH {PAGE} FROM messages_to_fill"):
        await connection.copy_records_to_table("message_words", records=_indexed(rows), columns=columns)
    await connection.execute("CLOSE messages_to_fill")


# ── cards ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_CARDS = "SELECT id, metadata FROM messages WHERE type = 'tool' AND deleted_at IS NULL AND card IS NULL"
# What is found stands in the order of time (spaces/finding.py), so everything since the first card is put in anew.
_SINCE = "SELECT min(created_at) FROM messages WHERE type = 'tool' AND deleted_at IS NULL"
_FOUND = """
    SELECT id, space_id, author_id, type, created_at, text, card FROM messages
    WHERE (text <> '' OR card IS NOT NULL) AND deleted_at IS NULL AND created_at >= {} ORDER BY created_at, id
"""


def _read(rows: Sequence[Sequence[Any]]) -> list[tuple[str, str, str]]:
    found = [(id, cards.keep(json.loads(metadata))) for id, metadata in rows]
    return [(json.dumps(card), cards.words(card).casefold(), id) for id, card in found]


def _with_cards(rows: Sequence[Sequence[Any]]) -> list[tuple[str, str, str, str]]:
    return _indexed(
        [(*about, text if card is None else f"{cards.words(json.loads(card))} {text}") for *about, text, card in rows]
    )


def _fill_cards_sqlite(connection: sqlite3.Connection) -> None:
    while rows := connection.execute(f"{_CARDS} LIMIT {PAGE}").fetchall():
        connection.executemany("UPDATE messages SET card = ?, folded = ? WHERE id = ?", _read(rows))
    (since,) = connection.execute(_SINCE).fetchone()
    if since is None:
        return
    connection.execute("DELETE FROM message_words WHERE created_at >= ?", (since,))
    found = connection.execute(_FOUND.format("?"), (since,))
    while rows := found.fetchmany(PAGE):
        connection.executemany(
            "INSERT INTO message_words (message_id, space_id, created_at, words) VALUES (?, ?, ?, ?)", _with_cards(rows)
        )


async def _fill_cards_postgres(connection: Any) -> None:
    while rows := await connection.fetch(f"{_CARDS} LIMIT {PAGE}"):
        await connection.executemany("UPDATE messages SET card = $1, folded = $2 WHERE id = $3", _read(rows))
    if (since := await connection.fetchval(_SINCE)) is None:
        return
    await connection.execute("DELETE FROM message_words WHERE created_at >= $1", since)
    columns = ["message_id", "space_id", "created_at", "words"]
    await connection.execute(f"DECLARE cards_to_fill CURSOR FOR {_FOUND.format(_quoted(since))}")
    while rows := await connection.fetch(f"FETCH {PAGE} FROM cards_to_fill"):
        await connection.copy_records_to_table("message_words", records=_with_cards(rows), columns=columns)
    await connection.execute("CLOSE cards_to_fill")


def _quoted(time: str) -> str:
    return "'" + time.replace("'", "''") + "'"


# ── passages ────────────────────────────────────────────────────────────────────────────────────────────────────────

_PASSAGES = "SELECT id, scope, content, tags FROM passages WHERE id > {} ORDER BY id LIMIT {}"


def _folded(rows: Sequence[Sequence[Any]]) -> list[tuple[str, str]]:
    return [(fragments.folded(content, json.loads(tags)), id) for id, _, content, tags in rows]


def _fragments(rows: Sequence[Sequence[Any]]) -> list[tuple[str, str]]:
    found = [(id, scope, fragments.folded(content, json.loads(tags))) for id, scope, content, tags in rows]
    return [(id, words) for id, scope, folded in found if (words := fragments.indexed(scope, folded))]


def _fill_passages_sqlite(connection: sqlite3.Connection) -> None:
    after = ""
    while rows := connection.execute(_PASSAGES.format("?", PAGE), (after,)).fetchall():
        connection.executemany("UPDATE passages SET folded = ? WHERE id = ?", _folded(rows))
        connection.executemany("INSERT INTO passage_words (passage_id, words) VALUES (?, ?)", _fragments(rows))
        after = rows[-1][0]


async def _fill_passages_postgres(connection: Any) -> None:
    after = ""
    while rows := await connection.fetch(_PASSAGES.format("$1", PAGE), after):
        await connection.executemany("UPDATE passages SET folded = $1 WHERE id = $2", _folded(rows))
        columns = ["passage_id", "words"]
        await connection.copy_records_to_table("passage_words", records=_fragments(rows), columns=columns)
        after = rows[-1][0]


SQLITE: Final[Mapping[str, Callable[[sqlite3.Connection], None]]] = {
    "0003_search": _fill_search_sqlite,
    "0023_cards": _fill_cards_sqlite,
    "0028_passages": _fill_passages_sqlite,
}
POSTGRES: Final[Mapping[str, Callable[[Any], Awaitable[None]]]] = {
    "0003_search": _fill_search_postgres,
    "0023_cards": _fill_cards_postgres,
    "0028_passages": _fill_passages_postgres,
}
