"""A card is found by its tool, its arguments and its result, by those who may see it, until it is gone."""

from __future__ import annotations

from tests.databases import Database
from tests.driver import Api, Driver, Json, Offices
from tests.upkeep.offices import hits
from tests.waiting.calls import ASK, with_tool

WORD = "quokka"


async def found(api: Api, q: str) -> list[Json]:
    return await api.items("/search", q=q)


async def a_card(office: Driver) -> tuple[Json, Json]:
    call = await with_tool(office, ASK, what=f"Adopt the {WORD}?")
    await office.run_finished()
    (card,) = [message for message in await office.messages("lab") if message["type"] == "tool"]
    return call, card


async def test_a_card_is_found_by_its_call_and_result(office: Driver) -> None:
    call, card = await a_card(office)
    for words in ("confirmAction", WORD, f'"adopt the {WORD}"'):
        (hit,) = await found(office, words)
        assert hit["id"] == card["id"], words
        start, end = hit["highlights"][0]
        assert hit["snippet"][start:end].lower() in words.lower()
    assert await found(office, "marsupials") == []
    await office.create(
        f"/pending/{call['callId']}/resolve", {"result": {"because": "marsupials are fine"}}, status=200
    )
    (hit,) = await found(office, "marsupials")
    assert (hit["id"], hit["status"]) == (card["id"], "complete")
    assert hit["snippet"] == f'confirmAction(what="Adopt the {WORD}?"): {{"because":"marsupials are fine"}}'


async def test_a_card_is_found_by_members_alone(office: Driver) -> None:
    await a_card(office)
    _, stranger = await office.person("Husam")
    await office.ask("PATCH", "/spaces/lab", json={"private": True})
    assert await found(stranger, WORD) == []
    assert len(await found(office, WORD)) == 1


async def test_a_secret_in_a_card_is_not_found(office: Driver) -> None:
    secret = "9f8e7d6c5b4a39281706f5e4"
    scope = {"kind": "agent", "id": "ada"}
    call, _ = await a_card(office)
    await office.ask("PUT", "/variables/CODE", json={"value": secret, "type": "secret", "scope": scope})
    await office.create(f"/pending/{call['callId']}/resolve", {"result": f"the code is {secret}"}, status=200)
    assert await found(office, secret) == []
    (hit,) = await found(office, '"the code is"')
    assert hit["snippet"].endswith(": the code is ***CODE***")


async def test_an_erased_persons_answer_is_found_no_more(office: Driver, database: Database) -> None:
    call, card = await a_card(office)
    id, husam = await office.person("Husam")
    await office.create("/spaces/lab/members", {"memberId": id})
    await husam.create(f"/pending/{call['callId']}/resolve", {"result": "marsupials everywhere"}, status=200)
    await office.run_finished(nth=2)
    assert [hit["id"] for hit in await found(office, "marsupials")] == [card["id"]]
    await office.create(f"/people/{id}/erase", {})
    assert await found(office, "marsupials") == []
    assert [hit["id"] for hit in await found(office, WORD)] == [card["id"]], "what the agent asked is its own"
    left = await hits(database, "marsupials")
    assert not {"messages.metadata", "messages.card", "messages.folded", "message_words.words"} & set(left)
    assert not {"events.body", "inbox_items.payload", "run_messages.content", "pending_calls.result"} & set(left)


async def test_an_erased_agents_cards_are_forgotten(office: Driver, database: Database) -> None:
    await a_card(office)
    await office.create("/agents/ada/erase", {})
    assert await found(office, WORD) == []
    assert await hits(database, WORD) == []


async def test_a_tools_text_with_nul_is_kept(offices: Offices) -> None:
    office = await offices.open()
    call, card = await a_card(office)
    await office.create(f"/pending/{call['callId']}/resolve", {"result": "a\x00b marsupials"}, status=200)
    assert [hit["id"] for hit in await found(office, "marsupials")] == [card["id"]]
