"""What an agent remembers is its own: blocks it rewrites, passages it stores and finds again by keyword."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.path.scripts import Json, call, step


async def remembering(office: Driver, id: str, calls: list[Json], **fields: Any) -> list[Any]:
    """What the calls of one run of a new agent came to."""
    await office.agent(id, steps=[step(*calls)], tools=["messaging", "memory"], **fields)
    await office.space(f"{id}-home", [id], wake={"people": "all"})
    await office.post(f"{id}-home", "go")
    run = await office.run_finished(id)
    return await office.results(run["id"])


@pytest.mark.proves("S0-30", "S0-31", "S0-32", "G12")
async def test_update_memory_writes_blocks_of_the_calling_agent_only(office: Driver) -> None:
    await office.agent("bo", blocks={"mood": "calm", "ada": "a friend"})
    calls = [
        call("update_memory", label="mood", content="glad"),
        call("update_memory", label="mood", content="gladder"),
        call("update_memory", label="what I think of bo", content="tall"),
        call("update_memory", label="bo/mood", content="furious"),
        call("update_memory", label="empty", content=""),
    ]
    results = await remembering(office, "ada", calls, blocks={"mood": "blank", "persona": "kind"})
    assert results == [{"success": True}] * 5
    blocks = {block["label"]: block["content"] for block in await office.items("/agents/ada/blocks")}
    assert blocks == {
        "mood": "gladder",
        "persona": "kind",
        "what I think of bo": "tall",
        "bo/mood": "furious",
        "empty": "",
    }
    others = {block["label"]: block["content"] for block in await office.items("/agents/bo/blocks")}
    assert others == {"mood": "calm", "ada": "a friend"}


@pytest.mark.proves("S0-35", "S0-38", "S0-40", "S0-41", "S0-42")
async def test_passages_are_stored_and_found_for_the_calling_agent_only(office: Driver) -> None:
    await office.agent("bo")
    await office.create("/agents/bo/passages", {"content": "the kettle belongs to bo"})
    calls = [
        call("store_memory", content="the kettle is blue", tags=["kitchen", "colour"]),
        call("store_memory", content="the cup is red"),
        call("search_memory", query="kettle"),
        call("search_memory", query="cup"),
        call("search_memory", query="bo"),
    ]
    first, second, kettle, cup, bo = await remembering(office, "ada", calls)
    assert [list(result) for result in (first, second)] == [["passageId"], ["passageId"]]
    (found,) = kettle["passages"]
    assert list(found) == ["id", "content", "tags", "createdAt"]
    assert (found["id"], found["content"], found["tags"]) == (
        first["passageId"],
        "the kettle is blue",
        ["kitchen", "colour"],
    )
    assert found["createdAt"].endswith("Z")
    assert [(passage["id"], passage["tags"]) for passage in cup["passages"]] == [(second["passageId"], [])]
    assert bo == {"passages": []}
    mine = await office.items("/agents/ada/passages")
    assert [passage["content"] for passage in mine] == ["the cup is red", "the kettle is blue"]
    assert len(await office.items("/agents/bo/passages")) == 1


STORED = [
    "Straße nach ÄGYPTEN",
    "Ёлка и ΌΔΥΣΣΕΥΣ",
    "100% sure",
    "100 percent sure",
    "snake_case",
    "snakeXcase",
    r"a back\slash",
    "it's 'quoted' \"twice\"",
    "plain words in a row",
]
SEARCHES: dict[str, list[str]] = {
    "STRASSE": ["Straße nach ÄGYPTEN"],
    "straße ägypten": ["Straße nach ÄGYPTEN"],
    "ЁЛКА": ["Ёлка и ΌΔΥΣΣΕΥΣ"],
    "όδυσσευσ": ["Ёлка и ΌΔΥΣΣΕΥΣ"],
    "%": ["100% sure"],
    "100%": ["100% sure"],
    "_": ["snake_case"],
    "E_C": ["snake_case"],
    "\\": [r"a back\slash"],
    "\\S": [r"a back\slash"],
    "'quoted'": ["it's 'quoted' \"twice\""],
    "row plain": ["plain words in a row"],
    "plain absent": ["plain words in a row"],
    "words%row": [],
    "*": [],
    "' OR 1=1 --": [],
    "case": ["snakeXcase", "snake_case"],
}


@pytest.mark.proves("S0-36", "S0-37")
async def test_memory_keywords_ignore_case_and_have_no_wildcards(office: Driver) -> None:
    """design.md §6.16: keywords, and meaning only where an embedder is present; there is none here."""
    calls = [call("store_memory", content=content) for content in STORED]
    calls += [call("search_memory", query=query) for query in SEARCHES]
    results = await remembering(office, "ada", calls)
    found = {
        query: [passage["content"] for passage in result["passages"]]
        for query, result in zip(SEARCHES, results[len(STORED) :], strict=True)
    }
    assert found == SEARCHES


async def test_memory_search_includes_tags_and_lists_newest_for_empty_queries(office: Driver) -> None:
    calls = [
        call("store_memory", content="one", tags=["Fruit", "ÖL"]),
        call("store_memory", content="two", tags=["bread"]),
        call("search_memory", query="fruit"),
        call("search_memory", query="öl one"),
        call("search_memory", query=" "),
        call("search_memory", query="bread nul\x00"),
        call("search_memory", query="x" * 1001),
    ]
    results = (await remembering(office, "ada", calls))[2:]
    assert [[passage["content"] for passage in result["passages"]] for result in results[:4]] == [
        *[["one"], ["one"], ["two", "one"], ["two"]]
    ]
    assert "query: String should have at most 1000 characters" in results[4]["error"]


async def test_the_same_passage_twice_is_kept_once_whoever_stores_it(office: Driver) -> None:
    """design.md §6.16: exact duplicates are kept once."""
    calls = [
        call("store_memory", content="tea at four", tags=["a"]),
        call("store_memory", content="tea at four", tags=["b"]),
        call("store_memory", content="Tea at four"),
    ]
    first, second, third = await remembering(office, "ada", calls)
    assert first == second
    assert third != first
    passages = await office.items("/agents/ada/passages", q="tea")
    assert [(passage["content"], passage["tags"]) for passage in passages] == [
        ("Tea at four", []),
        ("tea at four", ["a"]),
    ]
    again = await office.create("/agents/ada/passages", {"content": "tea at four"}, status=200)
    assert again["id"] == first["passageId"]
    (other,) = await remembering(office, "bo", [call("store_memory", content="tea at four")])
    assert other != first


async def test_text_with_nul_is_cleaned_or_refused_in_memory_tools(office: Driver) -> None:
    calls = [
        call("update_memory", label="no\x00te", content="x"),
        call("update_memory", label="note", content="a\x00b"),
        call("store_memory", content="c\x00d", tags=["e\x00f"]),
        call("search_memory", query="cd"),
        call("send_message", text="still here"),
    ]
    results = await remembering(office, "ada", calls)
    assert "NUL" in results[0]["error"]
    assert (await office.get("/agents/ada/blocks/note"))["content"] == "ab"
    assert [passage["content"] for passage in results[3]["passages"]] == ["cd"]
    assert await office.texts("ada-home") == ["go", "still here"]
