"""Erasure: afterwards nothing of what they said can be found, and what is left holds together."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from bullpen.testing import invariants, snapshot
from bullpen.upkeep import erasure, rows
from tests.databases import Database
from tests.driver import Driver
from tests.path.scripts import call, say, step
from tests.path.talk import talk
from tests.upkeep.homes import Home
from tests.upkeep.offices import MEMORY, NAME, WORD, Lived, hits

Json = dict[str, Any]


async def whole(database: Database) -> str:
    return "\n".join(invariants.violations(invariants.Seen(await snapshot.read(database.url), at_rest=True)))


# ── a person ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_erased_persons_words_and_name_remain_nowhere(lived: Lived) -> None:
    office, database = lived.office, lived.database
    # Said now, too: of a file that is only read, the words are in no log.
    await lived.erin.create("/spaces/general/messages", {"text": f"{WORD} again"})
    await office.idle()
    found = set(await hits(database, WORD))
    assert {"messages.text", "events.body", "run_messages.content", "run_messages.result", "runs.payload"} <= found
    assert {"inbox_items.payload", "messages.client_message_id", "message_words.words"} <= found
    assert {"people.name", "tokens.name", "events.body", "prompts.text"} <= set(await hits(database, NAME))
    await office.create(f"/people/{lived.erin_id}/erase", {})
    assert await hits(database, WORD) == []
    assert await hits(database, NAME) == []
    assert await whole(database) == ""


async def test_an_erased_persons_messages_are_blanked_and_others_messages_stay(lived: Lived) -> None:
    office = lived.office
    before = await office.messages("general")
    assert await office.ask("POST", f"/people/{lived.erin_id}/erase") == {"kind": "person", "id": lived.erin_id}
    after = await office.messages("general")
    assert [m["seq"] for m in after] == [m["seq"] for m in before]
    assert {m["text"] for m in after if m["authorId"] == lived.erin_id} == {""}
    assert all("deletedAt" in m for m in after if m["authorId"] == lived.erin_id)
    assert [m["text"] for m in after if m["authorId"] != lived.erin_id] == [
        m["text"] for m in before if m["authorId"] != lived.erin_id
    ]
    assert all(lived.erin_id not in r["memberIds"] for m in after for r in m["reactions"])
    with_owner = "dm-" + "-".join(sorted([lived.erin_id, office.owner_id]))
    assert await office.texts(with_owner) == ["", "Noted."]


@pytest.mark.one_database
async def test_an_erased_person_loses_all_access_at_once(lived: Lived) -> None:
    office = lived.office
    await office.create(f"/people/{lived.erin_id}/erase", {})
    await lived.erin.get("/me", status=401)
    assert lived.erin_id not in (await office.get("/spaces/general"))["members"]
    await office.get(f"/spaces/dm-echo-{lived.erin_id}", status=404)
    audit = await office.items("/audit", action="person.erased")
    assert [(row["objectId"], row["actorId"], row["detail"]) for row in audit] == [(lived.erin_id, office.owner_id, {})]
    await office.create(f"/people/{lived.erin_id}/erase", {}, status=404)


async def test_followers_hear_that_the_words_are_gone(lived: Lived) -> None:
    office = lived.office
    general = await office.messages("general")
    theirs = {m["id"] for m in general if m["authorId"] == lived.erin_id and "deletedAt" not in m}
    assert len(theirs) == 2
    await office.create(f"/people/{lived.erin_id}/erase", {})
    await office.idle()
    deleted = {e["message"]["id"] for e in office.events if e["type"] == "message_deleted"}
    assert theirs <= deleted
    left = [e for e in office.events if e["type"] == "member_left" and e.get("spaceId") == "general"]
    assert [e["member"]["id"] for e in left] == [lived.erin_id]
    assert any(e["type"] == "reaction_removed" for e in office.events)


@pytest.mark.one_database
async def test_the_only_owner_cannot_be_erased(office: Driver) -> None:
    await office.create(f"/people/{office.owner_id}/erase", {}, status=409)
    await office.get("/me")


async def test_a_long_history_is_erased_from_file_and_search_index(lived: Lived) -> None:
    """Longer than one transaction, one page and one piece of the index of words."""
    office, database = lived.office, lived.database
    said = [f"{WORD}{n} among other words, number {n}, so that pages fill up and split" for n in range(700)]
    await talk(office, "attic", said)
    await office.idle()
    second, owner = await office.person("Second")
    await office.ask("PATCH", f"/people/{second}", json={"role": "owner"})
    assert len(await hits(database, WORD)) > 5
    await owner.create(f"/people/{office.owner_id}/erase", {})
    await owner.create(f"/people/{lived.erin_id}/erase", {})
    assert await hits(database, WORD) == []
    assert await whole(database) == ""


async def test_what_an_erased_person_set_in_motion_is_stopped(office: Driver, database: Database) -> None:
    person_id, erin = await office.person("Erin")
    await office.agent("slow", steps=[{"delayMs": 600_000, "calls": []}])
    await office.space("room", [person_id, "slow"], wake={"people": "all"})
    await erin.create("/spaces/room/messages", {"text": f"{WORD}, please"})
    started = await office.event("run_started")
    await office.create(f"/people/{person_id}/erase", {})
    assert (await office.get(f"/runs/{started['runId']}"))["status"] == "cancelled"
    await office.idle()
    assert await hits(database, WORD) == []
    assert await whole(database) == ""


# ── a space ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_erasing_a_space_removes_everything_in_it(lived: Lived) -> None:
    office, database = lived.office, lived.database
    await lived.talk_at_length(300)
    assert await office.ask("DELETE", "/spaces/general") == {"kind": "space", "id": "general"}
    await office.get("/spaces/general", status=404)
    await office.idle()
    seen = await snapshot.read(database.url)
    told_of_it = {run["agent_id"] for run in seen.runs if run["space_id"] == "general"}
    assert told_of_it == {"lea"}, "a mind that spans spaces keeps that it did something, not what"
    for table in ("messages", "members", "threads", "inbox_items", "message_words"):
        assert all(row["space_id"] != "general" for row in seen[table]), table
    assert {e["type"] for e in seen.events if e["space_id"] == "general"} == {"member_left", "space_erased"}
    assert await hits(database, "Good morning") == []
    assert "line 299 of a long story" in await office.texts("attic")
    assert await whole(database) == ""


async def test_members_of_an_erased_space_get_a_member_left_event(lived: Lived) -> None:
    office = lived.office
    await office.ask("DELETE", "/spaces/general")
    left = await office.event("member_left", lambda e: e["member"]["id"] == office.owner_id)
    assert left["spaceId"] == "general"
    assert "general" not in [space["id"] for space in await lived.erin.items("/spaces")]
    # An id that was erased may be used again, by a space that knows nothing.
    await office.space("general", ["mona"])
    assert await office.messages("general") == []


async def test_a_run_in_an_erased_space_is_stopped(office: Driver, database: Database) -> None:
    await office.agent("slow", steps=[{"delayMs": 600_000, "calls": []}])
    await office.space("room", ["slow"], wake={"people": "all"})
    await office.post("room", f"{WORD}, please")
    await office.event("run_started")
    await office.ask("DELETE", "/spaces/room")
    await office.idle()
    assert await office.runs() == []
    assert await hits(database, WORD) == []
    # The agent is not stuck: its next run, elsewhere, begins.
    await office.space("other", ["slow"], wake={"people": "all"})
    await office.post("other", "and now?")
    await office.event("run_started", nth=2)


async def test_one_mind_continues_without_what_an_erased_space_told_it(office: Driver, database: Database) -> None:
    await office.agent("lea", steps=[say("heard")], scope="agent")
    for space in ("one", "two"):
        await office.space(space, ["lea"], wake={"people": "all"})
        await office.post(space, f"{WORD} in {space}")
        await office.idle()
    await office.ask("DELETE", "/spaces/one")
    assert f"{WORD} in two" in await office.texts("two")
    assert await hits(database, f"{WORD} in one") == []
    await office.post("two", "go on")
    await office.idle()
    assert (await office.texts("two"))[-2:] == ["go on", "heard"]
    assert await whole(database) == ""


async def test_an_erased_spaces_name_remains_in_no_prompt_or_listing(office: Driver, database: Database) -> None:
    await office.agent("lea", steps=[step(call("list_spaces")), say("heard"), {}], scope="agent")
    await office.space("one", ["lea"], name=f"The {WORD} room")
    await office.space("two", ["lea"], wake={"people": "all"})
    await office.post("two", "hello")
    await office.idle()
    assert {"prompts.text", "run_messages.result"} <= set(await hits(database, WORD))
    await office.ask("DELETE", "/spaces/one")
    assert await hits(database, WORD) == []
    await office.post("two", "go on")
    await office.idle()
    assert await whole(database) == ""


# ── an agent ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_erased_agents_memory_and_words_remain_nowhere(lived: Lived) -> None:
    office, database = lived.office, lived.database
    await office.create("/agents/mona/passages", {"content": f"another {MEMORY} passage"})
    assert {"agents.definition", "blocks.content", "passages.content", "prompts.text", "events.body"} <= set(
        await hits(database, MEMORY)
    )
    before = [m["seq"] for m in await office.messages("attic")]
    for id in ("mona", "lea"):
        await office.create(f"/agents/{id}/erase", {})
        await office.get(f"/agents/{id}", status=404)
    assert await hits(database, MEMORY) == []
    assert await hits(database, '"heard"') == []
    attic = await office.messages("attic")
    assert [m["seq"] for m in attic] == before
    assert {m["text"] for m in attic if m["authorId"] == "lea"} == {""}
    assert await whole(database) == ""
    await office.create("/agents", {"id": "mona", "name": "Mona", "model": "script:echo"}, status=409)


# ── stopped half-way ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_unfinished_erasure_is_completed_by_the_next_process(home: Home) -> None:
    database = home.database
    async with AsyncExitStack() as stack:
        first = (await home.enter(stack, drive=False)).office  # it does not finish by itself
        owner = await first.office.local_owner()
        await first.office.store.transact(lambda tx: erasure.begin(tx, owner, "person", home.erin_id))
        assert await hits(database, WORD)
    async with AsyncExitStack() as stack:
        second = (await home.enter(stack)).office

        async def finished() -> bool:
            return not await second.office.store.read(rows.select_begun)

        await second.until(finished)
    assert await hits(database, WORD) == []
    assert await whole(database) == ""


@pytest.mark.one_database
async def test_a_death_before_the_log_is_emptied_leaves_the_mark(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def die() -> None:
        raise OSError("killed here")

    async with AsyncExitStack() as stack:
        office = (await home.enter(stack, drive=False)).office
        owner, store = await office.office.local_owner(), office.office.store
        target = await store.transact(lambda tx: erasure.begin(tx, owner, "person", home.erin_id))
        with monkeypatch.context() as patch:
            patch.setattr(store, "shred", die)
            with pytest.raises(OSError, match="killed here"):
                await erasure.finish(store, target, lambda run_id: None)
        assert await hits(home.database, WORD), "the log still has it"
        assert target in await store.read(rows.select_begun)
        await erasure.finish_all(store, lambda run_id: None)
        assert await hits(home.database, WORD) == [], "and nobody has closed the database, which would empty it"
