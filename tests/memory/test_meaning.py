"""Search by meaning: what is found, for whom, and what is said when not everything could be searched."""

from __future__ import annotations

import pytest

from bullpen.meaning.rules import Worded, fuse
from bullpen.meaning.types import AWAY, BEHIND, Near
from tests.driver import Driver, Offices
from tests.memory.meaning import contents, embedded, open_office, recall, remember, tiny
from tests.path.scripts import call, step


@pytest.fixture
async def office(offices: Offices) -> Driver:
    made = await open_office(offices)
    await made.agent("ada")
    return made


async def test_a_paraphrase_is_found_without_a_common_word(office: Driver) -> None:
    await remember(office, "ada", "Pia sold her automobile in May.", "The cake needs three eggs.")
    await embedded(office)
    first, *_ = await recall(office, "ada", "vehicle car")
    assert first["content"] == "Pia sold her automobile in May."
    assert 0.2 < first["similarity"] <= 1
    assert "score" not in first or first["score"] is None


async def test_words_and_meaning_are_ranked_together(office: Driver) -> None:
    await remember(office, "ada", "The car is red.", "An automobile stands outside.", "Bread is bought on Friday.")
    await embedded(office)
    found = await recall(office, "ada", "car")
    assert [each["content"] for each in found[:2]] == ["The car is red.", "An automobile stands outside."]
    assert found[0]["score"] == 1
    assert found[0]["similarity"] is not None


async def test_in_a_language_it_does_not_know_words_come_first(offices: Offices) -> None:
    embedder = tiny()
    embedder.foreign = True
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await remember(office, "ada", "Der Hof ist nass und kalt.", "automobile automobile", "vehicle automobile")
    await embedded(office)
    found = await contents(office, "ada", "Hof car")
    assert found[0] == "Der Hof ist nass und kalt."
    assert "automobile automobile" in found


async def test_agents_find_by_meaning_and_hear_what_is_missing(offices: Offices) -> None:
    embedder = tiny()
    office = await open_office(offices, embedder)
    asks = [step(call("search_memory", query="vehicle")), step()]
    await office.agent("ada", steps=asks, tools=["search_memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await remember(office, "ada", "Pia sold her automobile.")
    await embedded(office)
    await office.post("general", "What was it?")
    [result, *_] = await office.results((await office.run_finished())["id"])
    assert [passage["content"] for passage in result["passages"]] == ["Pia sold her automobile."]
    assert "note" not in result
    embedder.gate.clear()
    await remember(office, "ada", "The automobile was green.")
    await office.post("general", "And now?")
    [result, *_] = await office.results((await office.run_finished(nth=2))["id"])
    assert result["note"] == BEHIND
    embedder.gate.set()


async def test_a_search_works_while_embedding_is_behind_and_says_so(offices: Offices) -> None:
    embedder = tiny()
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await remember(office, "ada", "An automobile.")
    await embedded(office)
    await contents(office, "ada", "car")  # the question is known from here on
    embedder.gate.clear()
    await remember(office, "ada", "The car is red.")
    page = await office.get("/agents/ada/passages", params={"q": "car"})
    assert page["note"] == BEHIND
    assert {each["content"] for each in page["items"]} == {"An automobile.", "The car is red."}
    embedder.gate.set()
    await embedded(office)
    assert "note" not in await office.get("/agents/ada/passages", params={"q": "car"})


async def test_without_the_model_words_are_searched_and_it_says_so(offices: Offices) -> None:
    embedder = tiny()
    office = await open_office(offices, embedder)
    await office.agent("ada")
    await remember(office, "ada", "An automobile.", "The car is red.")
    await embedded(office)
    embedder.away = True
    page = await office.get("/agents/ada/passages", params={"q": "red"})
    assert page["note"] == AWAY
    assert [each["content"] for each in page["items"]] == ["The car is red."]


async def test_nobody_finds_what_is_not_theirs(office: Driver) -> None:
    """Other agents' passages, and those of a space that the caller may not read, are as near as can be."""
    await office.agent("bo")
    await office.space("secret", ["ada"], private=True)
    _, pia = await office.person("Pia")
    await office.space("open", ["ada", "bo"])
    await office.create("/spaces/open/members", {"memberId": "psn_pia"})
    await remember(office, "ada", "automobile of Ada")
    await remember(office, "ada", "automobile of the secret", spaceId="secret")
    await remember(office, "ada", "automobile of the open", spaceId="open")
    await remember(office, "bo", "automobile of Bo")
    await office.create("/spaces/open/passages", {"content": "automobile of the store"})
    await embedded(office)
    assert await contents(office, "bo", "car") == ["automobile of Bo"]
    assert set(await contents(office, "ada", "car")) == {
        "automobile of Ada",
        "automobile of the secret",
        "automobile of the open",
    }
    assert await contents(pia, "ada", "car") == ["automobile of the open"]
    found = await office.get("/spaces/open/passages", params={"q": "car"})
    assert [each["content"] for each in found["items"]] == ["automobile of the store"]


async def test_superseded_and_expired_passages_are_not_found_by_meaning(office: Driver) -> None:
    [old] = await remember(office, "ada", "an automobile, red")
    await remember(office, "ada", "an automobile, green", supersedes=old)
    await embedded(office)
    assert await contents(office, "ada", "vehicle") == ["an automobile, green"]


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def room(office: Driver) -> Driver:
    await office.space("general")
    for text in ("We bought a vehicle.", "The car is red.", "Lunch is at noon."):
        await office.post("general", text)
    await embedded(office)
    return office


async def search(office: Driver, q: str, **more: str) -> list[str]:
    return [each["text"] for each in await office.items("/search", q=q, **more)]


async def test_messages_are_found_by_meaning_where_that_is_asked_for(room: Driver) -> None:
    assert await search(room, "automobile") == []
    assert set((await search(room, "automobile", mode="fused"))[:2]) == {"We bought a vehicle.", "The car is red."}
    assert (await search(room, "red car", mode="fused"))[0] == "The car is red."
    page = await room.get("/search", params={"q": "automobile", "mode": "meaning"})
    assert page["behind"] is False
    assert page["items"][0]["similarity"] > page["items"][-1]["similarity"]


async def test_without_a_mode_nothing_has_changed(room: Driver) -> None:
    page = await room.get("/search", params={"q": "car", "limit": 1})
    assert [each["text"] for each in page["items"]] == ["The car is red."]
    assert set(page) == {"items", "next"}


async def test_filters_hold_for_what_is_found_by_meaning(room: Driver) -> None:
    await room.space("other")
    await room.post("other", "An automobile in another space.")
    await embedded(room)
    elsewhere = await search(room, "vehicle", mode="meaning", spaceId="other")
    assert elsewhere == ["An automobile in another space."]
    assert await search(room, "vehicle", mode="meaning", authorId="nobody") == []
    assert await search(room, "vehicle", mode="meaning", before="2020-01-01") == []
    await room.get("/search", params={"q": "x", "mode": "fused", "cursor": "msg_1"}, status=422)


async def test_others_do_not_find_messages_that_they_may_not_read(room: Driver) -> None:
    _, pia = await room.person("Pia")
    await room.space("closed", private=True)
    await room.post("closed", "A secret automobile.")
    await embedded(room)
    found = [each["text"] for each in await pia.items("/search", q="car", mode="meaning")]
    assert "A secret automobile." not in found


async def test_a_message_that_is_taken_back_is_not_found(room: Driver) -> None:
    made = await room.post("general", "My automobile.")
    await embedded(room)
    assert "My automobile." in await search(room, "vehicle", mode="meaning")
    await room.ask("DELETE", f"/messages/{made['id']}")
    assert "My automobile." not in await search(room, "vehicle", mode="meaning")


async def test_an_edited_message_is_found_by_what_it_says_now(room: Driver) -> None:
    made = await room.post("general", "My automobile.")
    await embedded(room)
    await room.ask("PATCH", f"/messages/{made['id']}", json={"text": "My feline."})
    await embedded(room)
    assert (await search(room, "cat", mode="meaning"))[0] == "My feline."
    assert (await search(room, "cat", mode="fused", limit="1")) == ["My feline."]


async def test_agents_are_shown_related_messages_beside_the_hits(office: Driver) -> None:
    asks = [step(call("read_messages", query="automobile")), step()]
    await office.agent("bo", steps=asks, tools=["read_messages"])
    await office.space("general", ["bo"], wake={"people": "mention"})
    await office.post("general", "The vehicle is red.")
    await office.post("general", "An automobile stands outside.")
    await embedded(office)
    await office.post("general", "@bo look")
    [result, *_] = await office.results((await office.run_finished())["id"])
    assert [message["text"] for message in result["messages"]] == ["An automobile stands outside."]
    assert [message["text"] for message in result["related"]] == ["The vehicle is red."]


# ── without a model ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_without_a_model_only_words_are_searched(offices: Offices) -> None:
    office = await offices.open()
    await office.space("general")
    await office.post("general", "The car is red.")
    page = await office.get("/search", params={"q": "car", "mode": "fused"})
    assert [each["text"] for each in page["items"]] == ["The car is red."]
    assert "No model" in page["note"]
    refused = await office.get("/search", params={"q": "car", "mode": "meaning"}, status=422)
    assert "BULLPEN_EMBEDDINGS__PROVIDER" in refused["error"]["message"]


# ── the ranking ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
def test_words_lead_only_where_the_language_is_unknown() -> None:
    worded, near = [Worded("a", 0.3)], [Near("b", 0.9), Near("c", 0.8)]
    assert [each.id for each in fuse(worded, near, understood=False, limit=5)] == ["a", "b", "c"]
    assert [each.id for each in fuse(worded, near, understood=True, limit=5)] == ["b", "c", "a"]
