"""Whole copies of a database, as files: every row as a line of JSON, or SQLite's own format.

A copy is one consistent view, taken while others write. Lines begin with a header (format, schema, how many rows of
what) and end with a trailer (how many, SHA-256), so that a file that was cut or changed is noticed before it is
used. They hold rows as they stand, for either database; what a database derives from rows by itself (search
indexes) and the queue, which holds hints, stay out. Who may write one, where, and what is done with it afterwards
is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gzip
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias
from urllib.parse import quote

import orjson

from bullpen.errors import CannotStart

FORMAT = 1
PAGE = 500  # rows that are in memory at once
PAGES = 1024  # pages of a SQLite file between two reports of progress
GZIP_LEVEL = 3
SQLITE_MAGIC = b"SQLite format 3\x00"
GZIP_MAGIC = b"\x1f\x8b"

# What reading a file that is no backup, or only half of one, may raise.
DAMAGED = (orjson.JSONDecodeError, KeyError, TypeError, ValueError, OSError, EOFError, zlib.error)

# How much is done, of how much: rows, or pages of a file.
Progress: TypeAlias = Callable[[int, int], None]
Rows: TypeAlias = tuple[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that a copy holds of each table, and how many rows there are."""

    columns: Mapping[str, Sequence[str]]
    counts: Mapping[str, int]
    of_bytes: Mapping[str, Sequence[str]]  # by table, those that hold bytes: lines have them as PostgreSQL writes them


@dataclass(frozen=True, slots=True)
class Header:
    schema: int
    dialect: str
    created_at: str
    counts: Mapping[str, int]


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Where to write a file that gets its name only when all of it is on the disk. Only its owner may read it."""
    partial = path.with_name(path.name + ".partial")
    file = _claim(partial)
    try:
        yield partial
        os.fsync(file)
        partial.rename(path)
        sync_folder(path.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)


def _claim(partial: Path) -> int:
    """Two that write the same file must not mix; what a killed one left behind is nobody's."""
    while True:
        file = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise CannotStart(f"Somebody else is writing {partial} just now. Choose another name.") from None
        if partial.exists() and os.fstat(file).st_ino == partial.stat().st_ino:
            os.ftruncate(file, 0)
            os.fchmod(file, 0o600)  # it may be what somebody else left there
            return file
        os.close(file)  # the other one has just finished, and renamed it


def sync_folder(folder: Path) -> None:
    """Make new names durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


# ── a SQLite file from a SQLite file ────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def looking_at(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees one committed state of the file, whoever writes to it meanwhile. It writes nothing."""
    uri = f"file:{_quoted(path)}?mode=rw"  # not ro: a log without its shared memory could not be read then
    with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)) as connection:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from here on the view is fixed
        yield connection


def _quoted(path: Path) -> str:
    return quote(str(path.absolute()))


def copy_sqlite(source: sqlite3.Connection, target: Path, progress: Progress | None = None) -> None:
    """The whole file, as `source` sees it. Give it `looking_at`: the view is held, so no writer makes it start anew."""
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode=OFF")  # it has no name yet: nobody needs half of it
        copy.execute("PRAGMA synchronous=OFF")
        told = None if progress is None else lambda _, left, total: progress(total - left, total)
        source.backup(copy, pages=PAGES, progress=told)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file that needs no others beside it


def sqlite_faults(path: Path) -> list[str]:
    """What is wrong with a file that should be a whole database."""
    with contextlib.closing(sqlite3.connect(f"file:{_quoted(path)}?immutable=1", uri=True)) as connection:
        try:
            (size,) = connection.execute("PRAGMA page_size").fetchone()
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            if path.stat().st_size < size * pages:
                return ["the file was cut off"]
            return [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        except sqlite3.Error as error:
            return [str(error)]


# ── rows to lines ───────────────────────────────────────────────────────────────────────────────────────────────────


def _opened(path: Path, mode: Literal["rb", "wb"], *, packed: bool) -> IO[bytes]:
    file: Any = gzip.open(path, mode, GZIP_LEVEL) if packed else path.open(mode)  # noqa: SIM115  closed by who asked
    opened: IO[bytes] = file
    return opened


class LineWriter:
    """Lines into a file, counted and summed. A name that ends with .gz is packed."""

    def __init__(self, path: Path, *, packed: bool) -> None:
        self._file = _opened(path, "wb", packed=packed)
        self._sum = sha256()
        self.rows = 0

    def begin(self, header: Header) -> None:
        said = {
            "bullpen": FORMAT,
            "schema": header.schema,
            "dialect": header.dialect,
            "createdAt": header.created_at,
            "holdsKey": False,
            "counts": dict(header.counts),
        }
        self._put(orjson.dumps(said) + b"\n")

    def add(self, lines: Iterable[bytes]) -> int:
        before = self.rows
        self._put(b"".join(self._counted(lines)))
        return self.rows - before

    def _counted(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.rows += 1
            yield line
            yield b"\n"

    def _put(self, data: bytes) -> None:
        self._sum.update(data)
        self._file.write(data)

    def end(self) -> None:
        trailer = {"end": True, "rows": self.rows, "sha256": self._sum.hexdigest()}
        self._file.write(orjson.dumps(trailer) + b"\n")
        self._file.close()

    def close(self) -> None:
        self._file.close()


# Events in the order of the stream: their numbers are given anew where they are read in.
_ORDER = {"events": "ORDER BY xid, id"}


def sqlite_shape(connection: sqlite3.Connection) -> Shape:
    tables = [row[0] for row in connection.execute(_SQLITE_TABLES)]
    columns = {
        table: [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{table}")') if row[6] == 0]
        for table in tables
    }
    counts = {table: connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}
    of_bytes = {
        table: [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{table}")') if row[2] == "BLOB"]
        for table in tables
    }
    return Shape(columns, counts, of_bytes)


def _hex(value: bytes) -> str:
    return f"\\x{value.hex()}"


def _with_bytes(page: list[dict[str, Any]], columns: Sequence[str]) -> None:
    """Turn what `_hex` wrote into bytes again."""
    try:
        for row in page:
            for name in columns:
                row[name] = bytes.fromhex(row[name].removeprefix("\\x"))
    except (ValueError, KeyError, AttributeError):
        raise CannotStart(f"The backup holds something else in {', '.join(columns)} than bytes.") from None


# Neither SQLite's own, nor virtual ones, nor those in which a virtual one keeps what it knows.
_SQLITE_TABLES = """
    SELECT name FROM sqlite_master AS t WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    AND sql NOT LIKE 'CREATE VIRTUAL%' AND NOT EXISTS (
        SELECT 1 FROM sqlite_master AS v WHERE v.sql LIKE 'CREATE VIRTUAL%'
        AND substr(t.name, 1, length(v.name) + 1) = v.name || '_'
    ) ORDER BY name
"""


def dump_sqlite(connection: sqlite3.Connection, out: LineWriter, now: str, progress: Progress | None = None) -> Header:
    shape = sqlite_shape(connection)
    (schema,) = connection.execute("SELECT max(number) FROM schema_migrations").fetchone()
    header = Header(schema, "sqlite", now, shape.counts)
    out.begin(header)
    total = sum(shape.counts.values())
    for table, names in shape.columns.items():
        columns = ", ".join(f'"{name}"' for name in names)
        found = connection.execute(f'SELECT {columns} FROM "{table}" {_ORDER.get(table, "")}')
        while page := found.fetchmany(PAGE):
            out.add(
                orjson.dumps({"table": table, "row": dict(zip(names, row, strict=True))}, default=_hex) for row in page
            )
            if progress is not None:
                progress(out.rows, total)
    out.end()
    return header


async def postgres_shape(connection: Any) -> Shape:
    columns: dict[str, list[str]] = {}
    of_bytes: dict[str, list[str]] = {}
    for table, column, type in await connection.fetch(_POSTGRES_COLUMNS):
        columns.setdefault(table, []).append(column)
        if type == "bytea":
            of_bytes.setdefault(table, []).append(column)
    counts = {table: await connection.fetchval(f'SELECT count(*) FROM "{table}"') for table in columns}
    return Shape(columns, counts, of_bytes)


_POSTGRES_COLUMNS = """
    SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE 'pgqueuer%'
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.atttypid <> 'tsvector'::regtype
    ORDER BY c.relname, a.attnum
"""


async def dump_postgres(connection: Any, out: LineWriter, now: str, progress: Progress | None = None) -> Header:
    """All in one snapshot. The file is written by a thread: packing it would stop the loop."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        # A slow disk is no reason to lose the snapshot.
        await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await connection.execute("SET LOCAL bytea_output = hex")
        shape = await postgres_shape(connection)
        header = Header(
            await connection.fetchval("SELECT max(number) FROM schema_migrations"), "postgres", now, shape.counts
        )
        out.begin(header)
        total = sum(shape.counts.values())
        for table, names in shape.columns.items():
            columns = ", ".join(f'"{name}"' for name in names)
            line = "SELECT json_build_object('table', $1::text, 'row', row_to_json(t))::text"
            rows = f'{line} FROM (SELECT {columns} FROM "{table}" {_ORDER.get(table, "")}) t'
            found = await connection.cursor(rows, table)
            while page := await found.fetch(PAGE):
                await asyncio.to_thread(out.add, [row[0].encode() for row in page])
                if progress is not None:
                    progress(out.rows, total)
    await asyncio.to_thread(out.end)
    return header


# ── lines to rows ───────────────────────────────────────────────────────────────────────────────────────────────────


class LineReader:
    """A file of lines. Rows come as they stand in it; whether the file is whole is known only at its end."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP_MAGIC
        self._path = path
        self._file = _opened(path, "rb", packed=packed)
        self._sum = sha256()
        self._last_event = 0
        self.rows = 0
        try:
            self.header = self._begin()
        except CannotStart:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def _broken(self, why: str) -> CannotStart:
        return CannotStart(f"{self._path} is no whole backup: {why}. Use another one.")

    def _begin(self) -> Header:
        try:
            line = self._file.readline(10_000_000)
            said = orjson.loads(line)
            version = said["bullpen"]
            if version != FORMAT:
                raise CannotStart(
                    f"{self._path} has format {version}, but this Bullpen reads {FORMAT}. Install a newer one."
                )
            header = Header(int(said["schema"]), said["dialect"], said["createdAt"], dict(said["counts"]))
        except DAMAGED as error:
            raise CannotStart(f"{self._path} is no backup of Bullpen.") from error
        self._sum.update(line)
        return header

    def pages(self) -> Iterator[Rows]:
        """Rows of one table at a time, and at most PAGE of them. Raises at the end if the file was cut or changed."""
        table, page = "", list[dict[str, Any]]()
        for name, row in self._rows():
            if name != table or len(page) >= PAGE:
                if page:
                    yield table, page
                table, page = name, []
            page.append(self._numbered(row) if name == "events" else row)
        if page:
            yield table, page

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        try:
            for line in self._file:
                said = orjson.loads(line)
                if "end" in said:
                    self._check(said)
                    return
                self._sum.update(line)
                self.rows += 1
                yield said["table"], said["row"]
        except DAMAGED as error:
            raise self._broken(f"it breaks off or is damaged after {self.rows} rows") from error
        raise self._broken(f"it breaks off after {self.rows} rows")

    def _check(self, said: Mapping[str, Any]) -> None:
        if said.get("rows") != self.rows or said.get("sha256") != self._sum.hexdigest():
            raise self._broken("its checksum does not fit")
        if self._file.read(1):
            raise self._broken("something stands after its end")

    def _numbered(self, row: dict[str, Any]) -> dict[str, Any]:
        """Numbers of transactions mean nothing in another database; the order they make is that of the lines."""
        self._last_event = max(self._last_event + 1, int(row["id"]))
        return {**row, "id": self._last_event, "xid": 0}


def _known(shape: Shape, table: str, row: Mapping[str, Any]) -> list[str]:
    """The names go into SQL, and a file may hold anything: only those that are there already may pass."""
    columns = shape.columns.get(table)
    if columns is None or not set(row) <= set(columns):
        raise CannotStart(f"The backup holds a table or column that its schema does not have: {table!r}.")
    return [name for name in columns if name in row]


def load_sqlite(connection: sqlite3.Connection, lines: LineReader, progress: Progress | None = None) -> None:
    """Into a database of the schema that the header names, with no rows in it, in the transaction that is open."""
    shape, total = sqlite_shape(connection), sum(lines.header.counts.values())
    connection.execute("DELETE FROM schema_migrations")  # the file has its own
    for table, page in lines.pages():
        names = _known(shape, table, page[0])
        _with_bytes(page, shape.of_bytes.get(table, ()))
        columns, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
        values = [[row[name] for name in names] for row in page]
        connection.executemany(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', values)
        if progress is not None:
            progress(lines.rows, total)


async def load_postgres(connection: Any, lines: LineReader, progress: Progress | None = None) -> None:
    """The same, on PostgreSQL."""
    shape, total = await postgres_shape(connection), sum(lines.header.counts.values())
    await connection.execute("DELETE FROM schema_migrations")
    for table, page in lines.pages():
        names = _known(shape, table, page[0])
        _with_bytes(page, shape.of_bytes.get(table, ()))
        values = [[row[name] for name in names] for row in page]
        await connection.copy_records_to_table(table, records=values, columns=names)
        if progress is not None:
            progress(lines.rows, total)
    for table, column, sequence in await connection.fetch(_POSTGRES_SEQUENCES):
        highest = await connection.fetchval(f'SELECT coalesce(max("{column}"), 0) FROM "{table}"')
        await connection.execute("SELECT setval($1::regclass, $2, false)", sequence, highest + 1)


# Numbers that the database gives: they go on above the highest there is.
_POSTGRES_SEQUENCES = """
    SELECT * FROM (
        SELECT c.relname, a.attname, pg_get_serial_sequence(quote_ident(c.relname), a.attname) AS sequence
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE 'pgqueuer%'
        AND a.attnum > 0 AND NOT a.attisdropped
    ) found WHERE sequence IS NOT NULL
"""


async def clear_postgres(connection: Any) -> None:
    """Take away everything that migrations have made, so that they can make it again. The queue's own tables stay."""
    for (table,) in await connection.fetch(_POSTGRES_TABLES):
        await connection.execute(f'DROP TABLE "{table}" CASCADE')
    for (function,) in await connection.fetch(_POSTGRES_FUNCTIONS):
        await connection.execute(f"DROP FUNCTION IF EXISTS {function} CASCADE")


_POSTGRES_TABLES = """
    SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'pgqueuer%'
"""
# Those of extensions belong to them.
_POSTGRES_FUNCTIONS = """
    SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.proname NOT LIKE '%pgqueuer%'
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""
