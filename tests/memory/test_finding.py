"""Keyword search over passages against an oracle that reads everything, on both databases alike."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence

import pytest

from bullpen.memory import actions, rules, search
from bullpen.memory.rules import Place
from bullpen.memory.search import Asked
from bullpen.memory.types import Origin
from bullpen.storage import Store, Transaction, fragments
from tests.effort import SEED, count

VOCABULARY = [
    "kettle",
    "Kettledrum",
    "Öl",
    "STRASSE",
    "straße",
    "naïve",
    "東京都",
    "お茶を飲む",
    "100%",
    "a_b",
    "ab",
    "猫",
    "it's",
]
AGENTS = ["ada", "bo"]
SPACES = ["dm-ada-pia", "studio"]
WRITER = Origin()


def folded(text: str) -> str:
    """As `ILIKE` would compare, without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c)))


def places() -> list[tuple[Place, str | None]]:
    """All places where something may be kept, and whose it is."""
    found: list[tuple[Place, str | None]] = [(Place(rules.space_scope(id), id, id), None) for id in SPACES]
    for agent in AGENTS:
        found.append((Place(rules.agent_scope(agent), None, None), agent))
        found += [(Place(rules.private_scope(agent, id), id, id), agent) for id in SPACES]
        found += [(Place(rules.group_scope(agent, id), id, id), agent) for id in SPACES]
    return found


async def keep(store: Store, place: Place, agent: str | None, content: str, **more: object) -> str:
    wish = actions.Wish(content, **more)  # type: ignore[arg-type]
    came = await store.transact(lambda tx: actions.store(tx, place, agent, wish, WRITER))
    return came.stored.id


async def find(store: Store, scopes: Sequence[str], query: str, limit: int = 20, **more: object) -> list[actions.Found]:
    async def body(tx: Transaction) -> list[actions.Found]:
        return await actions.find(tx, Asked(scopes, query, limit=limit, **more))  # type: ignore[arg-type]

    return await store.read(body)


@pytest.mark.proves("S0-35", "S0-36", "S2-61")
async def test_a_search_finds_all_of_its_scopes_and_nothing_else(store: Store) -> None:
    chance = random.Random(SEED)
    kept: dict[str, tuple[str, str]] = {}  # id: scope, content
    for _ in range(count(400, sample=120)):
        place, agent = chance.choice(places())
        content = " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 5)))
        kept[await keep(store, place, agent, content)] = (place.scope, content)
    scopes = [place.scope for place, _ in places()]
    for _ in range(count(300, sample=80)):
        chosen = chance.sample(scopes, chance.randint(1, 4))
        word = chance.choice(VOCABULARY)
        start = chance.randrange(len(word))
        query = word[start : start + chance.randint(1, 6)]
        needle = folded(query.strip("'") or query)
        answer = await find(store, chosen, query, limit=500)
        assert {each.stored.scope for each in answer} <= set(chosen)
        ids = [each.stored.id for each in answer]
        whole = [each.stored.id for each in answer if each.score == 1]
        if len(search.parse(query)) == 1:
            expected = [id for id, (scope, said) in kept.items() if scope in chosen and needle in folded(said)]
            assert sorted(whole) == sorted(expected), query
        apart = [{each.stored.id for each in await find(store, [scope], query, limit=500)} for scope in chosen]
        assert set(ids) <= set().union(*apart) or len(search.parse(query)) > 1


PLACE = Place(rules.agent_scope("ada"))
PASSAGES = [
    "Anna keeps the blue kettle on the second shelf",
    "The kettle was a present",
    "Anna likes green tea",
    "東京の天気は雨です",
    "Die Straße ist naß; Größe 42",
    "The price went up by 100% in May",
]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("where is the blue kettle of Anna?", [0, 1, 2, 5]),
        ("Anna kettle", [0, 2, 1]),
        ("ETTL", [1, 0]),
        ('"blue kettle"', [0]),
        ('"kettle blue"', []),
        ("天気", [3]),
        ("東京 天気", [3]),
        ("雨", [3]),
        ("東", [3]),
        ("strasse groesse", [4]),
        ("GRÖSSE", [4]),
        ("100%", [5]),
        ("42", [4]),
        ("ma", [5]),
        ("%", [5]),
        ("kettle' OR 1=1 --", [1, 0]),
        ('" AND NOT * (', []),
        ("NEAR(kettle tea)", [2, 1, 0]),
        ("kettle:* | !tea", [2, 1, 0]),
    ],
)
@pytest.mark.proves("S0-36", "S0-37", "N1", "N4")
async def test_what_is_asked_for_comes_best_first(store: Store, query: str, expected: list[int]) -> None:
    ids = [await keep(store, PLACE, "ada", content) for content in PASSAGES]
    found = [each.stored.id for each in await find(store, [PLACE.scope], query)]
    assert [ids.index(id) for id in found] == expected


async def test_a_rare_word_counts_more_than_a_common_one(store: Store) -> None:
    for number in range(30):
        await keep(store, PLACE, "ada", f"the meeting of week {number}")
    rare = await keep(store, PLACE, "ada", "Ferdinand arrives on Monday")
    first, *_ = await find(store, [PLACE.scope], "the meeting with Ferdinand")
    assert first.stored.id == rare
    assert first.score is not None
    assert 0 < first.score < 1


async def test_long_words_and_long_passages_are_found_by_any_part(store: Store) -> None:
    token = "".join(random.Random(1).choices("abcdefghij0123456789", k=300))
    id = await keep(store, PLACE, "ada", f"the key is {token} {'x ' * 9000}")
    for part in (token, token[100:140], token[290:], token[:3]):
        assert [each.stored.id for each in await find(store, [PLACE.scope], part)] == [id]


async def test_tags_filter_and_are_searched(store: Store) -> None:
    one = await keep(store, PLACE, "ada", "apples", tags=["fruit", "Öl"])
    await keep(store, PLACE, "ada", "pears", tags=["fruit"])
    first, *_ = await find(store, [PLACE.scope], "ol fruit")
    assert first.stored.id == one
    assert [each.stored.id for each in await find(store, [PLACE.scope], "fruit", tags=["Öl"])] == [one]
    assert [each.stored.id for each in await find(store, [PLACE.scope], "", tags=["fruit", "Öl"])] == [one]
    assert await find(store, [PLACE.scope], "", tags=["Ö"]) == []


async def test_scopes_that_share_a_key_show_nothing_of_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are short, so two scopes may share one."""
    monkeypatch.setattr(fragments, "key", lambda scope: "shared")
    content = "the key to the attic lies under the third flower pot"
    await keep(store, Place(rules.agent_scope("bo")), "bo", content)
    assert await find(store, [PLACE.scope], "attic") == []
    came = await store.transact(lambda tx: actions.store(tx, PLACE, "ada", actions.Wish(f"{content}!"), WRITER))
    assert came.similar is None
    assert len(await find(store, [PLACE.scope], "attic")) == 1
