"""What a column of text holds, said where the column is declared.

An erasure derives from this which columns it looks through (upkeep/rows.py), so a column cannot be forgotten: a test
fails for one that says nothing. Whether the words of a column go with its row or are emptied is for the noun to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from sqlalchemy import Column, MetaData, Text, text
from sqlalchemy.dialects import postgresql

# By bytes, whatever the database's locale: both databases then sort alike, and so does Python when it sorts locks.
_TEXT = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


class Holds(Enum):
    ID = "an id, a list of ids, or another word that only points at something"
    FIXED = "one of a few words of ours, or JSON of such"
    TIME = "a time"
    SEALED = "a hash, or a secret that only its key opens"
    NAME = "what somebody or something is called"
    WORDS = "what somebody wrote, or what was made of it"
    COPIES = "JSON that copies words out of other rows, each with the id of its author and its space"
    LINES = "lines that do the same (runs/lines.py)"
    SUMMARY = "the summary of a run, with such lines"


# What has to be looked through when somebody or a space is erased: their words stand among those of others.
SHARED = frozenset({Holds.COPIES, Holds.LINES, Holds.SUMMARY})


def text_column(
    name: str, holds: Holds, *, null: bool = False, primary_key: bool = False, default: str | None = None
) -> Column[Any]:
    given = None if default is None else text(f"'{default}'")
    return Column(name, _TEXT, nullable=null, primary_key=primary_key, server_default=given, info={"holds": holds})


def shared_columns(metadata: MetaData) -> Mapping[str, Mapping[str, Holds]]:
    """By table: the columns in which words of several authors stand, and how."""
    found = {
        table.name: {column.name: column.info["holds"] for column in table.c if column.info.get("holds") in SHARED}
        for table in metadata.tables.values()
    }
    return {table: columns for table, columns in found.items() if columns}
