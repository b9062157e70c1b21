"""Finding messages by their words, newest first. SQL, and the plan of a search.

Which words a text has, and what a query asks for, is said in storage/words.py. Who may read what is the caller's to
say: nothing outside the given spaces is ever looked at, nor counted.

A search has two parts. First it reads the newest rows, one by one: a word that is common is found there. Only for the
rest is the index asked, which is good at what is rare: to sort a million hits by age would take a second. How many hits
one search looks at is bounded, so a page may be short while there is still more; its cursor goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, bindparam, func, literal_column, select, text, update
from sqlalchemy import delete as delete_from
from sqlalchemy import insert as insert_into

from bullpen.storage import Row, Statement, Transaction, any_of, words
from bullpen.storage.statements import contains, contains_all
from bullpen.storage.tables import message_words
from bullpen.wire import Message, cards

# Rows that are read without the index, at first, and then as long as it is promising. The first must be more than the
# rows that SQLite's index lags behind (migration 0003). PostgreSQL's cannot begin with the newest: it is asked later.
WINDOWS: Final = (4_000,)
WINDOWS_ON_POSTGRES: Final = (4_000, 8_000, 16_000)
# What PostgreSQL's index is over, to the letter.
_INDEXED: Final = "array_to_tsvector(string_to_array(btrim(words), ' '))"
# Hits of the index that are looked at, first few and then many, until there are enough.
LOOKED_AT: Final = (500, 15_000)
# Needles that have a place of their own in a statement; there may be hundreds more.
NEEDLES: Final = 8
# In more spaces than this, each hit is checked instead of asking the index for the spaces, too.
PLACES: Final = 32
# Times and numbers rise together, but for changes that were made at the same moment.
SLACK: Final = 1_000
LAST_NUMBER: Final = 2**62
LAST_TIME: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for, and where. `since` and `until` are times as they are stored; both exclude themselves."""

    phrases: Sequence[words.Phrase]
    spaces: Sequence[str]
    author_id: str | None = None
    type: str | None = None
    since: str = ""
    until: str = LAST_TIME
    cursor: str | None = None
    limit: int = 50

    @property
    def marks(self) -> list[str]:
        """Words that stand for who said it and as what."""
        named = ((words.AUTHOR, self.author_id), (words.TYPE, self.type))
        return [words.marked(mark, name) for mark, name in named if name is not None]


# ── keeping it ──────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT = Statement(
    insert_into(message_words).values(
        message_id=bindparam("message_id"),
        space_id=bindparam("space_id"),
        created_at=bindparam("created_at"),
        words=bindparam("words"),
    )
)
_UPDATE = Statement(
    update(message_words).where(message_words.c.message_id == bindparam("id_")).values(words=bindparam("words_"))
)
_DELETE = Statement(delete_from(message_words).where(message_words.c.message_id == bindparam("id")))


def _indexed(message: Message, said: str) -> str | None:
    return words.indexed(said, space_id=message.space_id, author_id=message.author_id, type=message.type)


def words_of(message: Message) -> str:
    """What a message is found by. A card is found by its tool, its arguments and what came of it."""
    if message.type != "tool" or message.deleted_at is not None:
        return message.text
    return f"{cards.words(cards.keep(message.metadata))} {message.text}".rstrip()


async def add(tx: Transaction, message: Message) -> None:
    await _add(tx, message, _indexed(message, words_of(message)))


async def _add(tx: Transaction, message: Message, kept: str | None) -> None:
    if kept is not None:
        await tx.run(
            _INSERT, message_id=message.id, space_id=message.space_id, created_at=message.created_at, words=kept
        )


async def change(tx: Transaction, message: Message, said: str) -> None:
    """The message says this now. (One that is deleted is taken out by a trigger, whoever deletes it.)"""
    kept = _indexed(message, said)
    if kept is None:
        await tx.run(_DELETE, id=message.id)
    elif not await tx.run(_UPDATE, id_=message.id, words_=kept):
        await _add(tx, message, kept)


# ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_NEWEST = Statement(select(func.max(message_words.c.number)))
_SELECT_PLACE = Statement(
    select(message_words.c.number, message_words.c.message_id)
    .where(message_words.c.message_id <= bindparam("id"))
    .order_by(message_words.c.message_id.desc())
    .limit(1)
)
_SELECT_TIME = Statement(
    select(message_words.c.created_at)
    .where(message_words.c.number <= bindparam("number"))
    .order_by(message_words.c.number.desc())
    .limit(1)
)
_SELECT_READABLE_FROM = Statement(
    select(message_words.c.message_id)
    .where(message_words.c.number >= bindparam("number"), any_of(message_words.c.space_id, "spaces"))
    .order_by(message_words.c.number)
    .limit(1)
)
_SELECT_NTH = Statement(
    select(message_words.c.number)
    .where(message_words.c.space_id == bindparam("space"), message_words.c.number < bindparam("before"))
    .order_by(message_words.c.number.desc())
    .limit(1)
    .offset(bindparam("count"))
)
_HITS_ON_SQLITE = Statement(
    text(
        "SELECT rowid FROM message_fts WHERE message_fts MATCH :terms AND rowid < :before AND rowid > :low "
        "ORDER BY rowid DESC LIMIT :limit"
    )
)


def _wanted(needles: int, *, of: FromClause = message_words, one_space: bool = False) -> list[ColumnElement[bool]]:
    return [
        of.c.space_id == bindparam("spaces") if one_space else any_of(of.c.space_id, "spaces"),
        of.c.created_at > bindparam("since"),
        of.c.created_at < bindparam("until"),
        *(contains(of.c.words, f"needle{number}") for number in range(min(needles, NEEDLES))),
        *([contains_all(of.c.words, "more_needles")] if needles > NEEDLES else []),
    ]


def _page(found: Select[Any]) -> Select[Any]:
    return found.order_by(message_words.c.number.desc()).limit(bindparam("limit"))


_FOUND = (message_words.c.number, message_words.c.message_id)


@cache
def _select_between(needles: int, *, one_space: bool) -> Statement:
    return Statement(
        _page(
            select(*_FOUND).where(
                message_words.c.number < bindparam("before"),
                message_words.c.number >= bindparam("floor"),
                *_wanted(needles, one_space=one_space),
            )
        )
    )


@cache
def _select_among(needles: int) -> Statement:
    return Statement(_page(select(*_FOUND).where(any_of(message_words.c.number, "numbers"), *_wanted(needles))))


@cache
def _select_indexed(needles: int) -> Statement:
    """PostgreSQL's index knows no order: all that it finds, then sorted. OFFSET keeps the planner to that index."""
    hits = (
        select(message_words)
        .where(text(f"{_INDEXED} @@ CAST(:terms AS tsquery)"))
        .offset(literal_column("0"))
        .subquery("hits")
    )
    bounds = hits.c.number < bindparam("before"), hits.c.number > bindparam("low")
    found = select(hits.c.number, hits.c.message_id).where(*bounds, *_wanted(needles, of=hits))
    return Statement(found.order_by(hits.c.number.desc()).limit(bindparam("limit")))


@dataclass(slots=True)
class Found:
    ids: list[str]
    next: str | None = None


async def search(tx: Transaction, asked: Search) -> Found:
    """Ids of messages, newest first, and where to go on if there may be more."""
    if not asked.phrases or not asked.spaces:
        return Found([])
    before, low = await _bounds(tx, asked)
    ids, before = await _newest(tx, asked, before=before, low=low)
    stopped = None
    if len(ids) < asked.limit and before > low + 1:
        look = _indexed_on_postgres if tx.store.shared else _indexed_on_sqlite
        more, stopped = await look(tx, asked, before=before, low=low, limit=asked.limit - len(ids))
        ids += more
    found = Found(ids)
    if len(ids) == asked.limit:
        found.next = found.ids[-1]
    elif stopped is not None:
        found.next = await _readable_from(tx, asked, stopped)
    return found


async def _newest(tx: Transaction, asked: Search, *, before: int, low: int) -> tuple[list[str], int]:
    """Row by row, from the newest on. The number says how far down that went."""
    ids: list[str] = []
    walked = 0
    for size in WINDOWS_ON_POSTGRES if tx.store.shared else WINDOWS:
        if walked and (asked.limit - len(ids)) * walked > len(ids) * size:
            break  # as rare as it is, there would not be enough of it in the next window either
        floor = await _floor(tx, asked, before=before, low=low, size=size)
        ids += await _between(tx, asked, before=before, floor=floor, limit=asked.limit - len(ids))
        walked += size
        before = floor
        if len(ids) == asked.limit or before == low + 1:
            break
    return ids, before


def _is_alone(tx: Transaction, asked: Search) -> bool:
    """One space can be read by itself, where there is an index for that."""
    return tx.store.shared and len(asked.spaces) == 1


async def _floor(tx: Transaction, asked: Search, *, before: int, low: int, size: int) -> int:
    """Where so many rows end: of the one space, or of all."""
    if not _is_alone(tx, asked):
        return max(before - size, low + 1)
    number: int | None = await tx.value(_SELECT_NTH, space=asked.spaces[0], before=before, count=size)
    return low + 1 if number is None else max(number, low + 1)


async def _bounds(tx: Transaction, asked: Search) -> tuple[int, int]:
    """Numbers below the first and above the second are those to look at."""
    newest = int(await tx.value(_SELECT_NEWEST) or 0)
    before, low = newest + 1, 0
    if asked.cursor is not None:
        number, id = await tx.one(_SELECT_PLACE, id=asked.cursor) or (0, asked.cursor)
        # The message of the cursor may have been deleted since; ids rise with time, so its neighbour will do.
        before = number if id == asked.cursor else number + 1
    if asked.until != LAST_TIME:
        before = min(before, await _number_at(tx, asked.until, newest) + SLACK)
    if asked.since:
        low = max(low, await _number_at(tx, asked.since, newest) - SLACK)
    return before, low


async def _number_at(tx: Transaction, time: str, newest: int) -> int:
    """About how many messages there were then."""
    low, high = 0, newest
    while low < high:
        middle = (low + high + 1) // 2
        found = await tx.value(_SELECT_TIME, number=middle)
        if found is None or found < time:
            low = middle
        else:
            high = middle - 1
    return low


def _filters(asked: Search) -> tuple[int, dict[str, Any]]:
    """How many needles there are, and the values of what is wanted. Few numbers, so that few statements are made."""
    needles = [*(phrase.needle for phrase in asked.phrases), *(f" {mark} " for mark in asked.marks)]
    needles.sort(key=len, reverse=True)  # the rarest first: most rows are done with after one
    wanted: dict[str, Any] = {"spaces": list(asked.spaces), "since": asked.since, "until": asked.until}
    count = min(1 << (len(needles) - 1).bit_length(), 2 * NEEDLES)
    if count > NEEDLES:
        wanted["more_needles"] = needles[NEEDLES:]
    else:
        needles += [" "] * (count - len(needles))  # which every row contains
    return count, {**wanted, **{f"needle{n}": needle for n, needle in enumerate(needles[:NEEDLES])}}


def _ids(found: Sequence[Row]) -> list[str]:
    return [message_id for _, message_id in found]


async def _between(tx: Transaction, asked: Search, *, before: int, floor: int, limit: int) -> list[str]:
    count, wanted = _filters(asked)
    one_space = _is_alone(tx, asked)
    if one_space:
        wanted["spaces"] = asked.spaces[0]
    statement = _select_between(count, one_space=one_space)
    return _ids(await tx.all(statement, before=before, floor=floor, limit=limit, **wanted))


async def _indexed_on_sqlite(
    tx: Transaction, asked: Search, *, before: int, low: int, limit: int
) -> tuple[list[str], int | None]:
    """FTS5 gives its hits newest first. The last number says where it was given up, if it was."""
    count, wanted = _filters(asked)
    found: list[str] = []
    for size in LOOKED_AT:
        hits = await tx.values(_HITS_ON_SQLITE, terms=_fts5(asked), before=before, low=low, limit=size)
        found += _ids(await tx.all(_select_among(count), numbers=hits, limit=limit - len(found), **wanted))
        if len(found) == limit or len(hits) < size:
            return found, None
        before = hits[-1]
    return found, before


async def _indexed_on_postgres(
    tx: Transaction, asked: Search, *, before: int, low: int, limit: int
) -> tuple[list[str], int | None]:
    count, wanted = _filters(asked)
    terms = _tsquery(asked)
    found = await tx.all(_select_indexed(count), terms=terms, before=before, low=low, limit=limit, **wanted)
    return _ids(found), None


def _places(asked: Search) -> list[str]:
    return [] if len(asked.spaces) > PLACES else [words.marked(words.SPACE, id) for id in asked.spaces]


def _fts5(asked: Search) -> str:
    """Every word in quotes, and no word can hold one: nothing in it is an operator."""
    terms = [f'"{word}"' + ("*" if prefix else "") for word, prefix in words.asked(asked.phrases)]
    terms += [f'"{mark}"' for mark in asked.marks]
    if places := _places(asked):
        terms.append("(" + " OR ".join(f'"{place}"' for place in places) + ")")
    return " AND ".join(terms)


def _tsquery(asked: Search) -> str:
    terms = [f"'{word}'" + (":*" if prefix else "") for word, prefix in words.asked(asked.phrases)]
    terms += [f"'{mark}'" for mark in asked.marks]
    if places := _places(asked):
        terms.append("(" + " | ".join(f"'{place}'" for place in places) + ")")
    return " & ".join(terms)


async def _readable_from(tx: Transaction, asked: Search, number: int) -> str | None:
    """A cursor names a message, and must not name one that the caller may not know of."""
    message_id: str | None = await tx.value(_SELECT_READABLE_FROM, number=number, spaces=list(asked.spaces))
    return message_id


# ── showing it ──────────────────────────────────────────────────────────────────────────────────────────────────────

SNIPPET: Final = 200
LEAD: Final = 60  # of which before the first hit
HIGHLIGHTS: Final = 50
_BREAKS = str.maketrans("\n\r\t\v\f\u2028\u2029", "       ")


def snippet(said: str, phrases: Sequence[words.Phrase]) -> tuple[str, list[tuple[int, int]]]:
    """A part of the text around the first hit, on one line, and where in it the hits are."""
    spans = words.matches(said, phrases)
    first = spans[0][0] if spans else 0
    start = 0 if len(said) <= SNIPPET or first <= LEAD else min(first - LEAD, len(said) - SNIPPET + 1)
    head = "…" if start > 0 else ""
    room = SNIPPET - len(head)
    cut = len(said) - start > room
    part = said[start : start + room - (1 if cut else 0)]
    shift = len(head) - start
    shown = [
        (max(begin, start) + shift, min(end, start + len(part)) + shift)
        for begin, end in spans
        if end > start and begin < start + len(part)
    ]
    return head + part.translate(_BREAKS) + ("…" if cut else ""), shown[:HIGHLIGHTS]
