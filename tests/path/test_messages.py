"""Messages: numbered without a gap, kept once however often they are sent, and their author's own to change."""

from __future__ import annotations

import asyncio

import pytest

from tests.driver import Api, Driver
from tests.path.scripts import SILENT, call, step


async def peter_in(office: Driver, space: str) -> Api:
    peter, api = await office.person("Peter")
    await office.create(f"/spaces/{space}/members", {"memberId": peter})
    return api


@pytest.mark.proves("P1")
async def test_message_numbers_have_no_gaps_despite_concurrent_and_failed_posts(office: Driver) -> None:
    await office.agent("ada", steps=[step(*(call("send_message", text=t) for t in ("a", "b")))])
    await office.space("general", ["ada"])
    peter = await peter_in(office, "general")
    posted = await asyncio.gather(
        *(office.post("general", f"owner {n}") for n in range(8)),
        *(peter.create("/spaces/general/messages", {"text": f"@ada {n}"}) for n in range(4)),
        *(office.create("/spaces/general/messages", {"text": ""}, status=422) for _ in range(3)),
        *(office.create("/spaces/general/messages", {"text": "x", "replyTo": "msg_no"}, status=422) for _ in range(3)),
    )
    await office.idle()
    messages = await office.messages("general")
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
    ids = {message["id"] for message in messages}
    assert {made["id"] for made in posted if "id" in made} <= ids
    assert len(ids) == len(messages) >= 14
    assert (await office.get("/spaces/general"))["lastSeq"] == len(messages)


@pytest.mark.proves("P2")
async def test_a_resent_client_id_returns_the_original_and_wakes_nobody(office: Driver) -> None:
    await office.agent("ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.space("other")
    peter = await peter_in(office, "general")
    first = await office.post("general", "hello", clientMessageId="c-1")
    await office.run_finished("ada")
    again = await asyncio.gather(*(office.post("general", "hello", clientMessageId="c-1") for _ in range(5)))
    assert again == [first] * 5
    for body, path in (({"text": "goodbye"}, "general"), ({"text": "hello"}, "other")):
        answer = await office.create(f"/spaces/{path}/messages", {**body, "clientMessageId": "c-1"}, status=409)
        assert answer["error"]["fields"] == {"clientMessageId": "was used for another message"}
    # Unique per author: another's id is another's.
    theirs = await peter.create("/spaces/general/messages", {"text": "mine", "clientMessageId": "c-1"})
    assert theirs["id"] != first["id"]
    await office.idle()
    assert await office.texts("general") == ["hello", "mine"]
    assert len(await office.runs()) == 2
    # What was edited meanwhile is still the same message.
    await office.ask("PATCH", f"/messages/{first['id']}", json={"text": "hello!"})
    assert (await office.post("general", "hello", clientMessageId="c-1"))["text"] == "hello!"


async def test_five_concurrent_posts_with_one_client_id_make_one_message(office: Driver) -> None:
    await office.space("general")
    posted = await asyncio.gather(*(office.post("general", "hello", clientMessageId="c-1") for _ in range(5)))
    assert len({made["id"] for made in posted}) == 1
    assert await office.texts("general") == ["hello"]


async def test_only_authors_change_messages_and_deleted_ones_keep_their_seq(office: Driver) -> None:
    await office.agent("ada", steps=[step(call("send_message", text="an answer"))])
    await office.space("general", ["ada"])
    peter = await peter_in(office, "general")
    mine = await office.post("general", "@ada a question")
    await office.run_finished("ada")
    answer = (await office.messages("general"))[1]
    for api, message in ((peter, mine), (office, answer), (await office.as_agent("ada"), mine)):
        await api.ask("PATCH", f"/messages/{message['id']}", json={"text": "forged"}, status=403)
        await api.ask("DELETE", f"/messages/{message['id']}", status=403)
    edited = await office.ask("PATCH", f"/messages/{mine['id']}", json={"text": "a better question"})
    assert (edited["text"], edited["seq"], edited["id"]) == ("a better question", 1, mine["id"])
    assert edited["editedAt"] > edited["createdAt"] == mine["createdAt"]
    await peter.create(f"/messages/{mine['id']}/reactions", {"emoji": "👍"})
    deleted = await office.ask("DELETE", f"/messages/{mine['id']}")
    assert (deleted["text"], deleted["seq"], deleted["reactions"]) == ("", 1, [])
    assert deleted["deletedAt"]
    assert (await office.messages("general"))[0] == deleted
    assert [message["seq"] for message in await office.messages("general")] == [1, 2]
    for method in ("PATCH", "DELETE"):
        body = {"json": {"text": "x"}} if method == "PATCH" else {}
        await office.ask(method, f"/messages/{mine['id']}", status=409, **body)
    await office.create(f"/messages/{mine['id']}/reactions", {"emoji": "👍"}, status=409)
    await office.event("message_deleted")
    told = [event["type"] for event in office.events if event.get("message", {}).get("id") == mine["id"]]
    assert told == ["message_created", "message_updated", "message_deleted"]
    _, stranger = await office.person("Zoe")
    await office.ask("PATCH", "/spaces/general", json={"private": True})
    for method in ("GET", "DELETE"):
        await stranger.ask(method, f"/messages/{mine['id']}", status=404)


async def test_a_reply_names_a_message_of_the_same_space(office: Driver) -> None:
    await office.space("general")
    await office.space("other")
    first = await office.post("general", "one")
    reply = await office.post("general", "two", replyTo=first["id"])
    assert reply["replyTo"] == first["id"]
    for space, to in (("other", first["id"]), ("general", "msg_unknown")):
        answer = await office.create(f"/spaces/{space}/messages", {"text": "x", "replyTo": to}, status=422)
        assert answer["error"]["fields"] == {"replyTo": "unknown here"}


async def test_unread_counts_what_others_said_after_what_one_has_read(office: Driver) -> None:
    """design.md §6.22: others' messages, not system, not deleted, with seq > readSeq; posting reads up to one's own."""
    await office.agent("ada", [{"steps": [step(call("send_message", text="@bo?"))]}])
    await office.agent("bo", [{"steps": [step(call("send_message", text="@ada?"))]}])
    await office.space("general", ["ada", "bo"])
    peter = await peter_in(office, "general")

    async def unread(api: Api) -> tuple[int, int, int]:
        space = await api.get("/spaces/general")
        return space["lastSeq"], space["readSeq"], space["unread"]

    assert await unread(office) == (0, 0, 0)
    one = await peter.create("/spaces/general/messages", {"text": "one"})
    await peter.create("/spaces/general/messages", {"text": "two"})
    assert await unread(office) == (2, 0, 2)
    assert await unread(peter) == (2, 2, 0)
    await peter.ask("DELETE", f"/messages/{one['id']}")
    assert await unread(office) == (2, 0, 1)
    await office.create("/spaces/general/read", {"seq": 1})
    assert await unread(office) == (2, 1, 1)
    await office.create("/spaces/general/read", {"seq": 99})
    assert await unread(office) == (2, 2, 0)
    await office.create("/spaces/general/read", {"seq": 1})  # somebody wants to come back to it
    assert await unread(office) == (2, 1, 1)
    await office.post("general", "three")
    assert await unread(office) == (3, 3, 0)
    assert await unread(peter) == (3, 2, 1)
    # Four agents' messages and one of the system's, which does not count; speaking reads it all.
    await office.post("general", "@ada go")
    await office.event("chain_stopped")
    await office.idle()
    assert await unread(peter) == (9, 2, 6)
    assert await unread(office) == (9, 4, 4)
    listed = {space["id"]: space["unread"] for space in await office.items("/spaces")}
    assert listed == {"general": 4}
    await office.post("general", "enough")
    assert await unread(office) == (10, 10, 0)
