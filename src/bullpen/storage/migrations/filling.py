"""What a migration has to compute in Python, after its script and in the same transaction.

Search is filled from the messages that are there: which words a text has is said in storage/words.py, not in SQL. Read
and written in pages, so that an old office with a long history fits into memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from bullpen.storage import words

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


SQLITE: Final[Mapping[str, Callable[[sqlite3.Connection], None]]] = {"0003_search": _fill_search_sqlite}
POSTGRES: Final[Mapping[str, Callable[[Any], Awaitable[None]]]] = {"0003_search": _fill_search_postgres}
