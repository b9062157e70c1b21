"""Finding passages by keywords, the best first. SQL, and the plan of a search.

Who may read what is said by the scopes: nothing outside of them is looked at. A search asks the index for the passages
that hold all that is looked for, newest first. If those are few, it asks for each word alone, and ranks what it finds
by how many of the words it holds, a rare word counting more than a common one. Every hit is then looked at, letter for
letter, so both databases give the same answer. What no index finds (a word of two letters, a sign) is looked for in
the newest passages of the scope, one by one. How many hits one search looks at is bounded at each step.

`search` gives ids with scores. A list that is ranked by something else, like meaning, is fused with it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any, Final

import orjson
from sqlalchemy import BigInteger, ColumnElement, and_, bindparam, case, func, literal_column, or_, select, text

from bullpen.meaning.rules import Worded, fuse
from bullpen.meaning.types import NOTHING, Looked, Near
from bullpen.replacing import replace
from bullpen.storage import Statement, Transaction, any_of, fragments, words
from bullpen.storage.statements import contains, contains_all
from bullpen.storage.tables import passage_words, passages

# Words of a query that are looked for: the longest, since those are rarest. Each is one more question to the index.
NEEDLES: Final = 8
# Hits of the index that are looked at: of all words together, and of each of the longest alone.
TOGETHER: Final = 300
ALONE: Final = 100
ASKED_ALONE: Final = 5
# The newest passages of a scope that are read one by one.
SCANNED: Final = 20_000
SCOPES_SCANNED: Final = 8
# How much of what the best one holds the others must hold. A word that stands everywhere is no answer.
LEAST: Final = 0.1
LAST: Final = "\U0010ffff"
# Hits by words of which a ranking is made together with what means the same.
WORDED: Final = 50
_QUOTED = re.compile(r'"([^"]*)"')
# Marks around a word belong to none. Others do: "100%" and "C++" are looked for as they stand.
_AROUND: Final = ".,;:!?…¿¡*&'`´‘’。、，！？"
_BETWEEN: Final = str.maketrans(dict.fromkeys("()[]{}<>|“”„«»「」『』（）", " "))
_FILLER: Final = "\ue000"  # stands in no text


@dataclass(frozen=True, slots=True)
class Needle:
    """A part of a text, folded, and the fragments that an index is asked for. Without any it is scanned for."""

    text: str
    fragments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Readers:
    """For people: the spaces they may read, and whether they may look into the agent. None of both: for runs."""

    spaces: tuple[str, ...]
    inside: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What to look for, and where. `before`: in a list without a query, only what is older."""

    scopes: Sequence[str]
    query: str = ""
    tags: Sequence[str] = ()  # all of them
    limit: int = 20
    readers: Readers | None = None
    before: str = LAST
    looked: Looked = NOTHING  # what means something like the query, looked for before the transaction


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    score: float | None = (
        None  # 1: all that was asked for is there. None: nothing was asked for, or only its meaning is
    )
    similarity: float | None = None  # how near it is in meaning, up to 1. None: nobody compared it


async def search(tx: Transaction, asked: Asked) -> list[Hit]:
    """The best first; without a word in the query, the newest."""
    if not asked.scopes:
        return []
    near = await _still_near(tx, asked)
    if not near:
        return await _search_words(tx, asked)
    worded = await _search_words(tx, replace(asked, limit=max(asked.limit, WORDED)))
    scores = {hit.id: hit.score for hit in worded}
    found = [Worded(hit.id, hit.score or 0.0) for hit in worded]
    ranked = fuse(found, near, understood=asked.looked.understood, limit=asked.limit)
    return [Hit(each.id, scores.get(each.id), each.similarity) for each in ranked]


async def _still_near(tx: Transaction, asked: Asked) -> list[Near]:
    """What was found by its meaning, as far as it is there, in these scopes and for these readers."""
    if not asked.looked.near:
        return []
    ids = [near.id for near in asked.looked.near]
    statement, values = _select_near(asked.readers is not None), _values(tx, asked)
    there = set(await tx.values(statement, ids=ids, scopes=list(asked.scopes), **values))
    return [near for near in asked.looked.near if near.id in there]


@cache
def _select_near(restricted: bool) -> Statement:
    # Not the column itself: SQLite would walk through all of the scope instead of looking these few up.
    scope = func.coalesce(passages.c.scope, "", type_=passages.c.scope.type)
    of_scopes = any_of(passages.c.id, "ids"), any_of(scope, "scopes")
    return Statement(select(passages.c.id).where(*of_scopes, *_allowed(restricted)))


async def _search_words(tx: Transaction, asked: Asked) -> list[Hit]:
    needles = parse(asked.query)
    if not needles:
        return [Hit(id) for id in await _newest(tx, asked)]
    if not any(needle.fragments for needle in needles):
        return [Hit(id, 1.0) for id in await _scan(tx, asked, needles)]
    return await _ranked(tx, asked, needles)


# ── what is asked for ───────────────────────────────────────────────────────────────────────────────────────────────


def parse(query: str) -> list[Needle]:
    """Nothing in a query is an operator, except a pair of quotes: what stands in them is found as it stands."""
    found: dict[str, None] = {}
    at = 0
    for quoted in _QUOTED.finditer(query):
        found |= dict.fromkeys(_chunks(query[at : quoted.start()]))
        found[words.fold_text(quoted[1])] = None
        at = quoted.end()
    found |= dict.fromkeys(_chunks(query[at:]))
    found.pop("", None)
    longest = sorted(found, key=len, reverse=True)[:NEEDLES]
    return [Needle(chunk, tuple(fragments.asked(chunk))) for chunk in longest]


def _chunks(query: str) -> Iterable[str]:
    for chunk in query.translate(_BETWEEN).split():
        folded = words.fold_text(chunk)
        bare = folded.strip(_AROUND) or folded
        pieces = list(words.pieces(bare))
        if not any(is_run for _, is_run in pieces):
            yield bare
            continue
        # Words of a script without spaces cannot be told apart: each pair of characters is one.
        for piece, is_run in pieces:
            yield from _pairs(piece) if is_run else [piece]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


# ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _allowed(restricted: bool) -> list[ColumnElement[bool]]:
    """What every answer must be: in force, with these tags, and for these readers."""
    wanted: list[ColumnElement[bool]] = [
        passages.c.superseded_by.is_(None),
        or_(passages.c.expires_at.is_(None), passages.c.expires_at > bindparam("now")),
        contains_all(passages.c.tags, "tags"),
    ]
    if restricted:
        read_in = func.coalesce(passages.c.space_id, passages.c.learned_in, type_=passages.c.space_id.type)
        inside = bindparam("inside", type_=BigInteger()) == literal_column("1")
        wanted.append(or_(any_of(read_in, "spaces"), and_(read_in.is_(None), inside)))
    return wanted


def _values(tx: Transaction, asked: Asked) -> dict[str, Any]:
    tags = [orjson.dumps(tag).decode() for tag in asked.tags]  # as they stand in the list that is kept
    values: dict[str, Any] = {"now": tx.clock.millis(), "tags": tags}
    if asked.readers is not None:
        values |= {"spaces": list(asked.readers.spaces), "inside": int(asked.readers.inside)}
    return values


@cache
def _select_newest(restricted: bool) -> Statement:
    return Statement(
        select(passages.c.id)
        .where(passages.c.scope == bindparam("scope"), passages.c.id < bindparam("before"), *_allowed(restricted))
        .order_by(passages.c.id.desc())
        .limit(bindparam("limit"))
    )


async def _newest(tx: Transaction, asked: Asked) -> list[str]:
    """One scope after the other, so that each is read from its end."""
    statement, values = _select_newest(asked.readers is not None), _values(tx, asked)
    found: list[str] = []
    for scope in asked.scopes:
        found += await tx.values(statement, scope=scope, before=asked.before, limit=asked.limit, **values)
    return sorted(found, reverse=True)[: asked.limit]


@cache
def _select_scanned(restricted: bool) -> Statement:
    newest = (
        select(passages.c.id, passages.c.folded)
        .where(passages.c.scope == bindparam("scope"), *_allowed(restricted))
        .order_by(passages.c.id.desc())
        .limit(literal_column(str(SCANNED)))
        .subquery("newest")
    )
    holding = select(newest.c.id).where(contains_all(newest.c.folded, "needles"))
    return Statement(holding.order_by(newest.c.id.desc()).limit(bindparam("limit")))


async def _scan(tx: Transaction, asked: Asked, needles: Sequence[Needle]) -> list[str]:
    """Those of the newest that hold all of these."""
    statement, values = _select_scanned(asked.readers is not None), _values(tx, asked)
    texts = [needle.text for needle in needles]
    found: list[str] = []
    for scope in asked.scopes[:SCOPES_SCANNED]:
        found += await tx.values(statement, scope=scope, needles=texts, limit=asked.limit, **values)
    return sorted(found, reverse=True)[: asked.limit]


# ── by the index ────────────────────────────────────────────────────────────────────────────────────────────────────

# OFFSET keeps PostgreSQL's planner to the index over fragments, which knows no order.
_HITS = Statement(
    text("SELECT rowid FROM passage_fts WHERE passage_fts MATCH :terms ORDER BY rowid DESC LIMIT :limit"),
    postgresql=text(
        "SELECT number FROM (SELECT number FROM passage_words "
        "WHERE array_to_tsvector(string_to_array(words, ' ')) @@ CAST(:terms AS tsquery) OFFSET 0) "
        "AS hits ORDER BY number DESC LIMIT :limit"
    ),
)


# For each of several questions. On SQLite a statement costs too little to be worth that.
_HITS_OF_EACH = Statement(
    text(
        "SELECT hits.number FROM unnest(CAST(:several AS text[])) AS asked (terms) CROSS JOIN LATERAL "
        "(SELECT number FROM (SELECT number FROM passage_words "
        "WHERE array_to_tsvector(string_to_array(words, ' ')) @@ CAST(asked.terms AS tsquery) OFFSET 0) AS all_hits "
        "ORDER BY number DESC LIMIT :limit) AS hits"
    )
)


async def find_numbers(tx: Transaction, scopes: Sequence[str], needles: Sequence[Needle], limit: int) -> list[int]:
    """Numbers of passages that hold all of the fragments, newest first."""
    return await tx.values(_HITS, terms=_terms(tx, scopes, needles), limit=limit)


async def _find_alone(tx: Transaction, scopes: Sequence[str], needles: Sequence[Needle]) -> set[int]:
    """Of those that hold one of the needles, the newest of each."""
    several = [_terms(tx, scopes, [needle]) for needle in needles]
    if tx.store.shared:
        return set(await tx.values(_HITS_OF_EACH, several=several, limit=ALONE))
    return {number for terms in several for number in await tx.values(_HITS, terms=terms, limit=ALONE)}


def _terms(tx: Transaction, scopes: Sequence[str], needles: Sequence[Needle]) -> str:
    """What the index is asked: all of the fragments, in one of the scopes."""
    wanted = [fragment for needle in needles for fragment in needle.fragments]
    write, both, either = (_tsquery, " & ", " | ") if tx.store.shared else (_fts5, " AND ", " OR ")
    keys = dict.fromkeys(map(fragments.key, scopes))
    return either.join(f"({both.join(write(key + fragment, fragment) for fragment in wanted)})" for key in keys)


async def find_marked(tx: Transaction, marks: Sequence[str], limit: int) -> list[int]:
    """Numbers of passages that have one of these marks, newest first: see storage/fragments.py."""
    write, either = (_tsquery, " | ") if tx.store.shared else (_fts5, " OR ")
    return await tx.values(_HITS, terms=either.join(write(mark, mark) for mark in marks), limit=limit)


def _fts5(term: str, fragment: str) -> str:
    """In quotes, and no fragment can hold one: nothing in it is an operator. A single character is a beginning."""
    return f'"{term}"' + ("*" if len(fragment) == 1 else "")


def _tsquery(term: str, fragment: str) -> str:
    return f"'{term}'" + (":*" if len(fragment) == 1 else "")


@cache
def _select_looked_at(restricted: bool) -> Statement:
    """Which of the needles each one holds, as the sum of their bits."""
    held: ColumnElement[int] = literal_column("0")
    for number in range(NEEDLES):
        bit: ColumnElement[int] = literal_column(str(1 << number))
        held = held + case((contains(passages.c.folded, f"needle{number}"), bit), else_=literal_column("0"))
    return Statement(
        select(passage_words.c.number, passages.c.id, held)
        .select_from(passage_words.join(passages, passages.c.id == passage_words.c.passage_id))
        .where(
            any_of(passage_words.c.number, "numbers"),
            # An expression, so that SQLite begins with the numbers, and not with all passages of the scopes.
            any_of(passages.c.scope.concat(""), "scopes"),
            *_allowed(restricted),
        )
    )


async def _look_at(
    tx: Transaction, asked: Asked, needles: Sequence[Needle], numbers: Iterable[int]
) -> list[tuple[int, str, int]]:
    texts = [needle.text for needle in needles] + [_FILLER] * (NEEDLES - len(needles))
    return [
        (number, id, held)
        for number, id, held in await tx.all(
            _select_looked_at(asked.readers is not None),
            numbers=list(numbers),
            scopes=list(asked.scopes),
            **_values(tx, asked),
            **{f"needle{number}": said for number, said in enumerate(texts)},
        )
    ]


async def _ranked(tx: Transaction, asked: Asked, needles: Sequence[Needle]) -> list[Hit]:
    indexed = [needle for needle in needles if needle.fragments]
    together = await find_numbers(tx, asked.scopes, indexed, TOGETHER)
    found = await _look_at(tx, asked, needles, together)
    every = (1 << len(needles)) - 1
    whole = sorted((number, id) for number, id, held in found if held == every)
    if len(whole) >= asked.limit or len(needles) == 1:
        return [Hit(id, 1.0) for _, id in reversed(whole)][: asked.limit]
    seen = set(together)
    alone = await _find_alone(tx, asked.scopes, indexed[:ASKED_ALONE]) if len(indexed) > 1 else set()
    if alone - seen:
        found += await _look_at(tx, asked, needles, sorted(alone - seen))
    return _rank(found, len(needles), asked.limit)


def _rank(found: Sequence[tuple[int, str, int]], needles: int, limit: int) -> list[Hit]:
    """By how much of what is asked for is there, a rare word counting more; then the newest."""
    weights = []
    for number in range(needles):
        holding = sum(held >> number & 1 for _, _, held in found)
        weights.append(log((len(found) + 1) / (max(holding, 1) + 0.5)) + 0.1)
    whole, scored = sum(weights), []
    for number, id, held in found:
        score = round(sum(weight for n, weight in enumerate(weights) if held >> n & 1) / whole, 4)
        scored.append((score, number, id))
    scored.sort(reverse=True)
    least = scored[0][0] * LEAST if scored else 0
    return [Hit(id, score) for score, _, id in scored[:limit] if score and score >= least]
