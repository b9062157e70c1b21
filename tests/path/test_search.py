"""Finding what was said: words in any order, any case, in the spaces one may read, newest first."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from tests.driver import Driver, Json
from tests.path.scripts import SILENT, call, say, step

SAID = [
    "The quick brown fox jumps over Zoë's lazy dog",
    "A brown dog, quick to bark",
    "東京都に行きました",
    "Don't mention the war-time e-mail to ada@office.example",
    "quarterly REPORT: 3.5 % up, see q3_report.pdf",
]


async def fill(office: Driver) -> list[Json]:
    await office.space("hall")
    return [await office.post("hall", text) for text in SAID]


async def texts(office: Driver, q: str, **params: Any) -> list[str]:
    return [item["text"] for item in await office.items("/search", q=q, **params)]


# A query, and which of SAID it finds, newest first.
FINDS: list[tuple[str, list[int]]] = [
    ("brown", [1, 0]),
    ("dog QUICK", [1, 0]),
    ('"quick brown"', [0]),
    ('"brown dog"', [1]),
    ('"dog brown"', []),
    ("zoe", [0]),
    ("ZOË", [0]),
    ("qui", [1, 0]),
    ("qui dog", []),  # only the last word may be a beginning
    ("dog qui", [1, 0]),
    ("東京", [2]),
    ("京都", [2]),
    ("都", [2]),
    ("東都", []),
    ("don't", [3]),
    ("e-mail", [3]),
    ("mail-e", []),
    ("ada@office.example", [3]),
    ("3.5", [4]),
    ("q3_report", [4]),
    ("report.pdf", [4]),
    ("brown fox cow", []),
    ("", []),
    ('"', []),
    ("* ** ***", []),
]


async def test_search_matches_words_in_any_order_and_phrases_exactly(office: Driver) -> None:
    await fill(office)
    for query, found in FINDS:
        assert await texts(office, query) == [SAID[number] for number in found], query


HOSTILE = [
    " ".join(f"{n:03}" for n in range(250)),
    '"brown" OR "fox"',
    "brown AND NOT fox",
    "NEAR(brown fox)",
    "words:brown",
    "^brown",
    "brown:*",
    "'; DROP TABLE messages; --",
    "a & b | !c",
    "\\",
    "brown\x00fox",
    "%_",
    "\u202e\U0010ffff\ud7ff",
    "\ue000hall",
    '"' * 999,
    "a* " * 333,
    "(" * 1000,
    "x" * 1000,
    "ab " * 333,
    "東" * 1000,
]


@pytest.mark.proves("L11")
async def test_any_search_query_is_safe_and_cheap(office: Driver) -> None:
    await fill(office)
    await texts(office, "warm up")
    for query in HOSTILE:
        costs = []
        for _ in range(5):  # the least of them: other work of this process is counted, too
            began = process_time()
            page = await office.get("/search", params={"q": query})
            costs.append(process_time() - began)
            assert set(page) <= {"items", "next"}
        assert min(costs) < 0.05, query
    await office.get("/search", params={"q": "x" * 1001}, status=422)
    await office.get("/search", status=422)
    assert await office.texts("hall") == SAID


async def test_search_finds_edited_and_deleted_messages_by_their_current_text(office: Driver) -> None:
    first, second, *_ = await fill(office)
    await office.ask("PATCH", f"/messages/{first['id']}", json={"text": "A slow red fox"})
    await office.ask("DELETE", f"/messages/{second['id']}")
    assert await texts(office, "brown") == []
    assert await texts(office, "fox red") == ["A slow red fox"]


async def test_a_search_hit_has_a_snippet_and_highlight_positions(office: Driver) -> None:
    await office.space("hall")
    await office.post("hall", "x" * 300 + "\nhere is the Needle, and a needle more " + "y " * 200)
    (found,) = await office.items("/search", q="needle")
    snippet = found["snippet"]
    assert len(snippet) <= 200
    assert "\n" not in snippet
    assert [snippet[start:end] for start, end in found["highlights"]] == ["Needle", "needle"]
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert {"id", "spaceId", "seq", "authorId", "text", "createdAt", "reactions"} <= set(found)


async def test_filters_narrow_and_pages_go_on_without_holes_or_repeats(office: Driver) -> None:
    await office.agent("ada", steps=[say("word from ada")])
    await office.space("hall", ["ada"], wake={"people": "all"})
    await office.space("attic")
    made = [await office.post("attic", f"word {n}") for n in range(7)]
    await office.post("hall", "word to ada")
    await office.run_finished("ada")
    assert len(await texts(office, "word")) == 9
    assert await texts(office, "word", spaceId="hall") == ["word from ada", "word to ada"]
    assert await texts(office, "word", authorId="ada") == ["word from ada"]
    assert await texts(office, "word", authorId="nobody") == []
    assert await texts(office, "word", type="system") == []
    middle = made[3]["createdAt"]
    assert await texts(office, "word", before=middle, spaceId="attic") == ["word 2", "word 1", "word 0"]
    assert await texts(office, "word", after=middle, spaceId="attic") == ["word 6", "word 5", "word 4"]
    await office.get("/search", params={"q": "word", "before": "yesterday"}, status=422)
    await office.get("/search", params={"q": "word", "after": "2026-01-01T00:00:00"}, status=422)
    assert await texts(office, "word", before="2020-01-31") == []

    paged: list[str] = []
    cursor: Json = {}
    while True:
        page = await office.get("/search", params={"q": "word", "limit": 4, **cursor})
        paged += [item["text"] for item in page["items"]]
        if "next" not in page:
            break
        cursor = {"cursor": page["next"]}
    assert paged == await texts(office, "word")
    assert await texts(office, "word", cursor="a") == []  # ids rise, and none is lower


async def test_search_finds_messages_but_not_tool_arguments(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("update_memory", label="secretlabel", content="hidden")), say("spoken")])
    await office.space("hall", ["ada"], wake={"people": "all"})
    await office.post("hall", "go")
    await office.run_finished("ada")
    assert await texts(office, "spoken") == ["spoken"]
    assert await texts(office, "secretlabel") == []


async def test_only_members_find_what_is_said_in_a_space(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.agent("bo", steps=SILENT)
    pat, as_pat = await office.person("Pat")
    await office.space("hall", [pat])
    await office.space("cellar", private=True)
    await office.dm("ada", "bo")
    await office.post("hall", "common word")
    await office.post("cellar", "common secret")
    ada = await office.as_agent("ada")
    await ada.create("/spaces/dm-ada-bo/messages", {"text": "common whisper"})

    assert await texts(office, "common") == ["common whisper", "common secret", "common word"]
    assert [item["text"] for item in await as_pat.items("/search", q="common")] == ["common word"]
    assert [item["text"] for item in await ada.items("/search", q="common")] == ["common whisper"]
    await office.ask("DELETE", f"/spaces/hall/members/{pat}")
    assert await as_pat.items("/search", q="common") == []
