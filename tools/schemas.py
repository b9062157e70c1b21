"""Freeze the schema and some rows of this version, so that later versions can be tested to upgrade from it.

`python -m tools.schemas` at every release: it opens an office, lets its demo work, leaves some of the work undone, and
writes what the database then holds to tests/storage/schemas/. Files of earlier releases are never written again.
With a path, the rows come from that SQLite file instead.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from bullpen.app import Office, office
from bullpen.client import Bullpen
from bullpen.settings import Settings
from bullpen.storage import copies
from bullpen.storage.migrations import known
from bullpen.testing.serving import owner_of

FOLDER = Path(__file__).parents[1] / "tests" / "storage" / "schemas"


async def live(data: Path) -> None:
    """Some work done, some only asked for."""
    async with office(Settings(data=data)) as opened, owner_of(opened) as bp:
        await opened.load_demo("office")
        await bp.spaces("general").send("Hello, everyone")
        await _rest(opened, bp)
        first = (await bp.spaces("general").messages()).items[0]
        await bp.messages(first.id).react("👋")
    async with office(Settings(data=data), drive=False) as opened, owner_of(opened) as bp:
        await bp.spaces("general").send("Is anybody still here?")


async def _rest(opened: Office, bp: Bullpen) -> None:
    async with asyncio.timeout(60):
        while any(agent.state != "idle" for agent in await bp.agents.list(limit=200)):  # noqa: ASYNC110  it is short
            await asyncio.sleep(0.05)


def rows_of(path: Path) -> Iterator[str]:
    """INSERT statements that both databases understand."""
    with copies.looking_at(path) as connection:
        for table, columns in copies.sqlite_shape(connection).columns.items():
            names = ", ".join(f'"{column}"' for column in columns)
            quoted = ", ".join(f'quote("{column}")' for column in columns)
            for row in connection.execute(f'SELECT {quoted} FROM "{table}" ORDER BY 1'):
                yield f'INSERT INTO "{table}" ({names}) VALUES ({", ".join(row)});\n'


def freeze(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute("SELECT max(number) FROM schema_migrations").fetchone()
    files = {f"{number:04}.rows.sql": "".join(rows_of(path))}
    for dialect in ("sqlite", "postgres"):
        scripts = [migration.script(dialect) for migration in known() if migration.number <= number]
        files[f"{number:04}.{dialect}.sql"] = "\n".join(scripts)
    FOLDER.mkdir(exist_ok=True)
    if there := [name for name in files if (FOLDER / name).exists()]:
        print(f"{there[0]} is frozen already.", file=sys.stderr)
        return 1
    for name, text in files.items():
        (FOLDER / name).write_text(text)
        print(f"wrote {name}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.schemas", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("path", type=Path, nargs="?", help="a SQLite file of the version to be frozen")
    args = parser.parse_args()
    if args.path is not None:
        return freeze(args.path)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder)))
        return freeze(Path(folder) / "bullpen.db")


if __name__ == "__main__":
    sys.exit(main())
