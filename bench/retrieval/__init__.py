"""How well memory is searched: a labelled set of our own text, by words, by meaning, and by both together.

Passages and queries stand in passages.jsonl and queries.jsonl beside this file: 368 passages of one office in English,
German, Spanish and Japanese, all in one scope as an agent's memory is, and 156 queries, each with the passage that
answers it. `kind` says how a query was made: with other words (paraphrase), with slips of the keyboard (typo), with
words, names and numbers that stand there (words), or with words from the end of a long note (detail).
The weights of the ranking (meaning/rules.py) were chosen with the queries whose `split` is `dev` alone.

Recall@5: of how many queries the answer is among the first five.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from bench.budgets import Figures
from bench.measure import folder
from bullpen.llm.embedding import Embedder
from bullpen.llm.minilm import MiniLm, find_weights
from bullpen.meaning import rows
from bullpen.meaning.background import Background
from bullpen.meaning.looking import Looking
from bullpen.meaning.types import NOTHING, Looked
from bullpen.memory import actions, search
from bullpen.memory.rules import Place, agent_scope
from bullpen.memory.types import Origin
from bullpen.storage import Store, Transaction
from bullpen.storage.migrations import migrate
from bullpen.storage.sqlite import SqliteStore
from tests.memory import minilm

HERE: Final = Path(__file__).parent
LANGUAGES: Final = {"en": "English", "de": "German", "es": "Spanish", "ja": "Japanese"}
WAYS: Final = ("keyword", "meaning", "fused")
TOP: Final = 5
PLACE: Final = Place(agent_scope("ada"))


@dataclass(frozen=True, slots=True)
class Query:
    query: str
    language: str
    kind: str
    relevant: tuple[str, ...]
    split: str


def read_passages() -> list[dict[str, str]]:
    return [orjson.loads(line) for line in (HERE / "passages.jsonl").read_bytes().splitlines()]


def read_queries() -> list[Query]:
    found = []
    for line in (HERE / "queries.jsonl").read_bytes().splitlines():
        said = orjson.loads(line)
        found.append(Query(**{**said, "relevant": tuple(said["relevant"])}))
    return found


async def measure(*, quick: bool) -> Figures:
    """`quick` makes no difference: it takes ten seconds."""
    embedder = MiniLm(str(find_weights("") or minilm.find_weights()))
    try:
        with folder() as data:
            store = SqliteStore(data / "bullpen.db")
            await store.open()
            try:
                await migrate(store, None)
                found = await judge(store, embedder)
            finally:
                await store.close()
    finally:
        await embedder.aclose()
    print(table(found))
    return figures(found)


# ── searching ───────────────────────────────────────────────────────────────────────────────────────────────────────

# For each query, whether the answer was among the first, by each way.
Judged = Sequence[tuple[Query, Mapping[str, bool]]]


async def judge(store: Store, embedder: Embedder) -> Judged:
    named = await _store_all(store)
    await _embed_all(store, embedder)
    looking = Looking(store, embedder, 1 << 26)
    judged = []
    for query in read_queries():
        looked = await looking.look("passage", [PLACE.scope], query.query)
        relevant = {named[id] for id in query.relevant}
        ranked = {
            "keyword": await _ranked(store, query.query, NOTHING),
            "meaning": [near.id for near in looked.near],
            "fused": await _ranked(store, query.query, looked),
        }
        judged.append((query, {way: bool(relevant.intersection(ids[:TOP])) for way, ids in ranked.items()}))
    return judged


async def _store_all(store: Store) -> dict[str, str]:
    """The id of each passage, by the name that it has in the file."""
    named = {}
    await store.transact(partial(rows.want, model="minilm-l6-v2"))
    for passage in read_passages():
        wish = actions.Wish(passage["text"])
        came = await store.transact(partial(actions.store, place=PLACE, agent_id="ada", wish=wish, origin=Origin()))
        named[passage["id"]] = came.stored.id
    return named


async def _embed_all(store: Store, embedder: Embedder) -> None:
    background = Background(store, embedder, "bench")
    background.start()
    try:
        while any((await store.read(rows.count_waiting)).values()):
            await asyncio.sleep(0.1)
    finally:
        await background.stop()


async def _ranked(store: Store, query: str, looked: Looked) -> list[str]:
    async def body(tx: Transaction) -> list[str]:
        asked = search.Asked([PLACE.scope], query, limit=TOP, looked=looked)
        return [hit.id for hit in await search.search(tx, asked)]

    return await store.read(body)


# ── telling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def recall(judged: Judged, way: str, **wanted: str) -> float:
    """In percent, of the queries that are as wanted."""
    chosen = [hit for query, hit in judged if all(getattr(query, name) == value for name, value in wanted.items())]
    return 100 * sum(hit[way] for hit in chosen) / len(chosen)


def table(judged: Judged) -> str:
    lines = [f"{'recall@5, %':<24}" + "".join(f"{way:>10}" for way in WAYS)]
    for code, name in LANGUAGES.items():
        lines += [_line(judged, f"{name}, {split}", language=code, split=split) for split in ("dev", "test")]
        lines.append(_line(judged, f"{name}, all", language=code))
    lines += [_line(judged, f"all languages, {kind}", kind=kind) for kind in ("paraphrase", "typo", "words", "detail")]
    return "\n".join(lines)


def _line(judged: Judged, name: str, **wanted: str) -> str:
    return f"{name:<24}" + "".join(f"{recall(judged, way, **wanted):>10.1f}" for way in WAYS)


def figures(judged: Judged) -> Figures:
    found: dict[str, Any] = {}
    for code in LANGUAGES:
        for way in WAYS:
            found[f"retrieval.{code}_{way}"] = recall(judged, way, language=code)
            found[f"retrieval.{code}_{way}_test"] = recall(judged, way, language=code, split="test")
    alone = max(found["retrieval.en_keyword_test"], found["retrieval.en_meaning_test"])
    found["retrieval.lead"] = alone - found["retrieval.en_fused_test"]
    found["retrieval.loss"] = max(
        found[f"retrieval.{code}_keyword{split}"] - found[f"retrieval.{code}_fused{split}"]
        for code in LANGUAGES
        for split in ("", "_test")
    )
    return found
