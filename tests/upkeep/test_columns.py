"""Columns of text: each says what it holds, and words stand in no column that says otherwise."""

from __future__ import annotations

import pytest
from sqlalchemy import Text

from bullpen.storage.columns import SHARED, Holds, shared_columns
from bullpen.storage.tables import metadata
from bullpen.upkeep import rows
from tests.upkeep.offices import MEMORY, NAME, WORD, Lived, hits

SPOKEN = {Holds.NAME, Holds.WORDS, *SHARED}


def text_columns() -> dict[str, Holds | None]:
    return {
        f"{table.name}.{column.name}": column.info.get("holds")
        for table in metadata.tables.values()
        for column in table.c
        if isinstance(column.type, Text)
    }


def test_every_text_column_says_what_it_holds() -> None:
    assert len(text_columns()) > 300
    unsaid = [column for column, holds in text_columns().items() if holds is None]
    assert not unsaid, f"declare these with _id, _words, … in storage/tables.py: {', '.join(unsaid)}"


def test_erasure_looks_through_every_column_with_words_of_several() -> None:
    shared = {column for column, holds in text_columns().items() if holds in SHARED}
    assert {f"{table}.{column}" for table, columns in rows.SHARED.items() for column in columns} == shared
    assert len(shared) >= 7


@pytest.mark.parametrize("table", shared_columns(metadata))
def test_tables_with_shared_words_are_found_by_id(table: str) -> None:
    assert [column.name for column in metadata.tables[table].primary_key] == ["id"]


async def test_words_stand_only_in_columns_that_say_so(lived: Lived) -> None:
    office, erin = lived.office, lived.erin
    task = {"spaceId": "general", "agentId": "mona", "scheduleType": "cron", "scheduleValue": "0 * * * *"}
    await erin.create("/tasks", {"prompt": f"say {WORD}", **task})
    await erin.ask("PUT", "/spaces/general/skills/greet", json={"description": WORD, "instructions": f"Say {WORD}"})
    await office.ask("PUT", "/variables/MOTTO", json={"type": "text", "value": WORD, "description": WORD})
    await office.create("/hooks", {"agentId": "mona", "name": WORD})
    await erin.create("/spaces/general/messages", {"text": f"/greet {WORD}"})
    await office.idle()
    found = {place for word in (WORD, NAME, MEMORY) for place in await hits(lived.database, word)}
    held = {place: text_columns()[place] for place in found if not place.startswith("bytes of ")}
    assert {"tasks.prompt", "skills.active", "variables.value", "hooks.name"} <= set(held)
    assert not {place: holds for place, holds in held.items() if holds not in SPOKEN}
