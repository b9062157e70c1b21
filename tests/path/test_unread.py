"""What is unread: others' messages since the last that somebody read, and how many of them are for them. §6.22."""

from __future__ import annotations

from typing import Any

from bullpen.spaces import rows
from bullpen.tools import ToolContext, tool
from tests.driver import Api, Driver, Json, Offices
from tests.feed.streams import following
from tests.path.scripts import SILENT, call, say, step


async def standing(caller: Api, space_id: str = "hall") -> tuple[int, int, int, int]:
    """lastSeq, readSeq, unread, mentions: the space by itself and in the list say the same."""
    space: Json = await caller.get(f"/spaces/{space_id}")
    listed = next(item for item in await caller.items("/spaces", limit=200) if item["id"] == space_id)
    assert listed == space
    return space["lastSeq"], space["readSeq"], space["unread"], space["mentions"]


async def hall(office: Driver) -> tuple[str, Api]:
    pat, as_pat = await office.person("Pat Doe")
    await office.space("hall", [pat], wake={"people": "none"})
    return pat, as_pat


async def test_others_messages_are_unread_until_they_are_read(office: Driver) -> None:
    _, pat = await hall(office)
    assert await standing(pat) == (0, 0, 0, 0)
    for n in range(3):
        await office.post("hall", f"message {n}")
    assert await standing(office) == (3, 3, 0, 0)
    assert await standing(pat) == (3, 0, 3, 0)
    read = await pat.create("/spaces/hall/read", {"seq": 2}, status=200)
    assert (read["readSeq"], read["unread"]) == (2, 1)
    assert await standing(pat) == (3, 2, 1, 0)


async def test_reading_goes_back_but_never_beyond_the_last_message(office: Driver) -> None:
    _, pat = await hall(office)
    for n in range(3):
        await office.post("hall", f"message {n}")
    for seq, read in ((2, 2), (1, 1), (0, 0), (2, 2), (2**62, 3), (1, 1), (3, 3)):
        found = await pat.create("/spaces/hall/read", {"seq": seq}, status=200)
        assert found["readSeq"] == read
    await office.post("hall", "one more")
    assert await standing(pat) == (4, 3, 1, 0)
    for bad in (-1, 2**62 + 1, "x", None, 1.5):
        await pat.create("/spaces/hall/read", {"seq": bad}, status=422)


async def test_posting_reads_up_to_ones_own_message(office: Driver) -> None:
    _, pat = await hall(office)
    await office.post("hall", "one")
    await pat.create("/spaces/hall/messages", {"text": "two"})
    await office.post("hall", "three")
    assert await standing(pat) == (3, 2, 1, 0)
    assert await standing(office) == (3, 3, 0, 0)


async def test_ones_own_messages_count_as_read_even_after_rejoining(office: Driver) -> None:
    await office.agent("ada", steps=[say("hello"), say("again")])
    pat, as_pat = await office.person("Pat")
    await office.space("hall", ["ada", pat], wake={"people": "all"})
    await office.post("hall", "hi")
    await office.run_finished("ada")
    await office.post("hall", "bye")
    await office.run_finished("ada", nth=2)
    ada = await office.as_agent("ada")
    last = (await office.get("/spaces/hall"))["lastSeq"]
    assert await standing(ada) == (last, last, 0, 0)
    await as_pat.create("/spaces/hall/messages", {"text": "me too"})
    await office.ask("DELETE", f"/spaces/hall/members/{pat}")
    await office.post("hall", "while they were away")
    await office.create("/spaces/hall/members", {"memberId": pat})
    await office.idle()
    now, read, unread, _ = await standing(as_pat)
    assert (read, unread) == (last + 1, now - last - 1)


@tool(effect="tx", visible=True)
async def show_chart(context: ToolContext) -> dict[str, Any]:
    """Show a chart to everyone in the space."""
    return {}


async def test_unread_counts_include_tool_cards_not_deleted_or_system_messages(offices: Offices) -> None:
    office = await offices.open(families={"gallery": [show_chart]})
    await office.agent("ada", steps=[step(call("show_chart")), say("@bo")], tools=["messaging", "gallery"])
    await office.agent("bo", steps=[say("@ada")])
    pat, as_pat = await office.person("Pat")
    await office.space("hall", ["ada", "bo", pat])
    gone = await office.post("hall", "@ada")
    await office.event("chain_stopped")
    await office.idle()
    await office.ask("DELETE", f"/messages/{gone['id']}")
    types = [message["type"] for message in await office.messages("hall")]
    assert types.count("system") == 1
    assert types.count("tool") == 2
    assert (await standing(as_pat))[2] == len(types) - 2


async def test_mentions_are_counted_by_id_by_name_and_by_reply(office: Driver) -> None:
    pat, as_pat = await hall(office)
    mine = await as_pat.create("/spaces/hall/messages", {"text": "first"})
    other = await office.post("hall", "not for you, @patricia or pat@doe.example")
    assert await standing(as_pat) == (2, 1, 1, 0)
    await office.post("hall", f"@{pat} by id")
    await office.post("hall", "by name, @PAT doe!")
    await office.post("hall", "by reply", replyTo=mine["id"])
    await office.post("hall", "a reply to somebody else", replyTo=other["id"])
    await office.post("hall", f"both, @{pat}", replyTo=mine["id"])
    gone = await office.post("hall", f"@{pat} taken back")
    await office.ask("DELETE", f"/messages/{gone['id']}")
    assert await standing(as_pat) == (8, 1, 6, 4)
    assert await standing(office) == (8, 8, 0, 0)
    await as_pat.create("/spaces/hall/read", {"seq": 4}, status=200)
    assert await standing(as_pat) == (8, 4, 3, 2)


async def test_names_in_other_scripts_are_found_in_mentions_too(office: Driver) -> None:
    _, zoe = await office.person("Zoë Öz")
    await office.space("hall", ["psn_zoë öz"])
    await office.post("hall", "hello @ZOË ÖZ")
    assert (await standing(zoe))[2:] == (1, 1)


async def test_mention_counts_are_capped_but_unread_counts_are_not(office: Driver) -> None:
    pat, as_pat = await hall(office)
    for n in range(rows.MENTIONS + 5):
        await office.post("hall", f"@{pat} number {n}")
    assert (await standing(as_pat))[2:] == (rows.MENTIONS + 5, rows.MENTIONS)


async def test_read_markers_reach_only_the_readers_own_devices(office: Driver) -> None:
    pat, as_pat = await hall(office)
    await office.post("hall", f"@{pat}")
    await office.post("hall", "two")
    async with following(as_pat) as device, following(office) as somebody:
        await as_pat.create("/spaces/hall/read", {"seq": 1}, status=200)
        await as_pat.create("/spaces/hall/read", {"seq": 1}, status=200)
        await as_pat.create("/spaces/hall/read", {"seq": 2}, status=200)
        await office.post("hall", "three")
        await device.until_type("message_created")
        await somebody.until_type("message_created")
    heard = [event for event in device.events if event["type"] == "space_read"]
    assert [event["read"] for event in heard] == [
        {"seq": 1, "unread": 1, "mentions": 0},
        {"seq": 2, "unread": 0, "mentions": 0},
    ]
    assert {event["spaceId"] for event in heard} == {"hall"}
    assert not [event for event in somebody.events if event["type"] == "space_read"]


async def test_a_fresh_agent_has_everything_to_read(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.space("hall", wake={"people": "none"})
    await office.post("hall", "@ada")
    await office.create("/spaces/hall/members", {"memberId": "ada"})
    assert await standing(await office.as_agent("ada")) == (1, 0, 1, 1)
