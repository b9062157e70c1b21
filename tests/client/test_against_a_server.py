"""The SDK and a real server: each verb does what it says."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bullpen.client import AlreadyExists, Bullpen, Conflict, Event, Follow, Invalid, NotFound, Unauthenticated
from tests.cli.processes import output, serving
from tests.client.relaying import Relay, listening
from tests.waits import BOUND

SCRIPT: dict[str, Any] = {
    "provider": "script",
    "turns": [
        {"when": "slow", "steps": [{"delayMs": 60_000}]},
        {"steps": [{"calls": [{"tool": "send_message", "args": {"text": "Heard."}}]}]},
    ],
}


@pytest.fixture
async def bp(door: tuple[str, str]) -> AsyncIterator[Bullpen]:
    async with asyncio.timeout(BOUND), Bullpen(*door) as connected:
        yield connected


async def room(bp: Bullpen, name: str) -> str:
    """A space of its own for a test, with an agent who answers everything."""
    await bp.agents.create(id=f"echo_{name}", name=f"Echo {name}", model=SCRIPT, tools=["messaging"])
    space = await bp.spaces.create(id=name, name=name, members=[f"echo_{name}"], wake={"people": "all"})
    return space.id


async def until(events: Follow, type: str) -> Event:
    async for event in events:
        if event.type == type:
            return event
    raise AssertionError("the stream ended")


async def test_an_agent_is_made_read_listed_changed_and_deleted(bp: Bullpen) -> None:
    made = await bp.agents.create(id="ada", name="Ada", model=SCRIPT, tools=["messaging"], instructions="Be kind.")
    read = await bp.agents.get("ada")
    assert (read.id, read.instructions, read.created_at) == ("ada", "Be kind.", made.created_at)
    assert "ada" in {agent.id for agent in await bp.agents.list()}
    assert (await bp.agents.update("ada", name="Ada L.", on_unsent_text="deliver")).name == "Ada L."
    with pytest.raises(AlreadyExists):
        await bp.agents.create(id="ada", name="Ada", model=SCRIPT)
    await bp.agents.delete("ada")
    with pytest.raises(NotFound):
        await bp.agents.get("ada")


async def test_a_message_is_answered_and_the_run_can_be_read(bp: Bullpen) -> None:
    space = await room(bp, "answers")
    async with bp.events(space=space) as events:
        sent = await bp.spaces(space).send("hello")
        finished = (await until(events, "run_finished")).run
    assert finished is not None
    assert (finished.outcome, finished.trigger.message_id) == ("spoke", sent.id)
    assert await bp.runs.get(finished.id) == finished
    assert [run.id for run in await bp.runs.list(space=space, status="completed")] == [finished.id]
    journal = await bp.runs.messages(finished.id)
    assert "tool_return_message" in {entry.type for entry in journal}
    assert [message.text for message in await bp.spaces(space).messages()] == ["hello", "Heard."]


async def test_messages_are_read_in_pages_by_their_number(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="pages", name="Pages")).id
    for number in range(1, 6):
        await bp.spaces(space).send(str(number))
    assert [message.text for message in await bp.spaces(space).messages(limit=2)] == ["4", "5"]
    assert [message.text for message in await bp.spaces(space).messages(before=4, limit=2)] == ["2", "3"]
    assert [message.text for message in await bp.spaces(space).messages(after=1, limit=2)] == ["2", "3"]


async def test_an_edit_does_not_overwrite_a_newer_one(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="newer", name="Newer")).id
    sent = await bp.spaces(space).send("first")
    await bp.messages(sent.id).edit("newer", seen=sent)
    with pytest.raises(Conflict):
        await bp.messages(sent.id).edit("older", seen=sent)
    assert (await bp.messages(sent.id).edit("newest")).text == "newest"


async def test_a_message_is_edited_reacted_to_and_deleted(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="edits", name="Edits")).id
    sent = await bp.spaces(space).send("helo")
    handle = bp.messages(sent.id)
    assert (await handle.edit("hello")).text == "hello"
    await handle.react("👋")
    await handle.react("👋")
    (reaction,) = (await handle.get()).reactions
    assert (reaction.emoji, reaction.member_ids) == ("👋", [sent.author_id])
    await handle.unreact("👋")
    assert (await handle.get()).reactions == []
    await handle.delete()
    gone = await handle.get()
    assert (gone.text, gone.seq, gone.deleted_at is not None) == ("", sent.seq, True)


async def test_a_reply_names_what_it_answers(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="replies", name="Replies")).id
    first = await bp.spaces(space).send("one", client_message_id="once")
    assert await bp.spaces(space).send("one", client_message_id="once") == first
    assert (await bp.spaces(space).send("two", reply_to=first.id)).reply_to == first.id


async def test_members_come_and_go(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="door", name="Door")).id
    await bp.agents.create(id="guest", name="Guest", model=SCRIPT)
    await bp.spaces(space).add_member("guest")
    assert "guest" in set((await bp.spaces(space).get()).members)
    await bp.spaces(space).remove_member("guest")
    assert "guest" not in set((await bp.spaces(space).get()).members)
    assert (await bp.spaces(space).update(name="The door")).name == "The door"
    await bp.spaces(space).mark_read(0)


async def test_a_run_is_cancelled(bp: Bullpen) -> None:
    space = await room(bp, "patience")
    async with bp.events(space=space) as events:
        await bp.spaces(space).send("slow")
        started = (await until(events, "run_started")).run
        assert started is not None
        await bp.runs.cancel(started.id)
        finished = (await until(events, "run_finished")).run
    assert finished is not None
    assert (finished.id, finished.status) == (started.id, "cancelled")


async def test_a_token_works_until_it_is_deleted(bp: Bullpen, door: tuple[str, str]) -> None:
    space = await room(bp, "tokens")
    made = await bp.tokens.create("runtime", agent_id="echo_tokens")
    async with Bullpen(door[0], made.token) as agent:
        assert (await agent.spaces(space).send("as myself")).author_kind == "agent"
        assert made.id in {token.id for token in await bp.tokens.list()}
        await bp.tokens.delete(made.id)
        with pytest.raises(Unauthenticated):
            await agent.spaces.list()


async def test_a_wrong_request_is_told_which_field(bp: Bullpen) -> None:
    wrong: dict[str, Any] = {"nmae": "Ada", "model": SCRIPT}
    with pytest.raises(Invalid, match=r"^nmae: there is no such field\.$") as caught:
        await bp.agents.create(**wrong)
    assert {"name", "nmae"} <= set(caught.value.fields)


async def test_a_project_is_applied_once(bp: Bullpen) -> None:
    agent = {"id": "applied", "name": "Applied", "model": SCRIPT}
    first = await bp.apply(agents=[agent], spaces=[{"id": "applied-room", "name": "x", "members": ["applied"]}])
    again = await bp.apply(agents=[agent], spaces=[{"id": "applied-room", "name": "x", "members": ["applied"]}])
    assert [change.change for change in [*first.agents, *first.spaces]] == ["created", "created"]
    assert [change.change for change in [*again.agents, *again.spaces]] == ["unchanged", "unchanged"]


async def test_a_stream_that_is_entered_misses_nothing_that_follows(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="early", name="Early")).id
    async with bp.events(space=space) as events:
        sent = [(await bp.spaces(space).send(str(number))).id for number in range(20)]
        seen = [(await until(events, "message_created"))["message"]["id"] for _ in sent]
        assert seen == sent
        cursor = events.cursor
    last = await bp.spaces(space).send("later")
    async with bp.events(space=space, after=cursor) as events:
        assert (await until(events, "message_created"))["message"]["id"] == last.id


async def test_an_unknown_cursor_brings_a_reset_and_then_new_events(bp: Bullpen) -> None:
    space = (await bp.spaces.create(id="resets", name="Resets")).id
    async with bp.events(space=space, after="ffffffff.1.1") as events:
        assert (await anext(events)).type == "reset"
        sent = await bp.spaces(space).send("after")
        assert (await until(events, "message_created"))["message"]["id"] == sent.id


async def test_a_message_sent_while_the_server_is_away_arrives_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = output(data, "token", "create", "--name", "Ruth", "--owner")
    async with (
        asyncio.timeout(2 * BOUND),
        listening(Relay()) as network,
        Bullpen(network.url, token, patience=BOUND) as bp,
    ):
        with serving(data) as server:
            network.lead_to(server.url)
            space = (await bp.spaces.create(id="hall", name="Hall")).id
            events = bp.events(space=space)
            await events.__aenter__()
            server.stop(signal.SIGKILL)
        sending = asyncio.create_task(bp.spaces(space).send("are you there?"))
        with serving(data) as server:
            network.lead_to(server.url)
            sent = await sending
            assert (await until(events, "message_created"))["message"]["id"] == sent.id
            assert [message.id for message in await bp.spaces(space).messages()] == [sent.id]


async def test_agents_are_paused_and_resumed(bp: Bullpen) -> None:
    await room(bp, "brakes")
    assert (await bp.agents.pause("echo_brakes")).state == "paused"
    assert (await bp.agents.resume("echo_brakes")).paused_at is None
    assert (await bp.agents.pause_all()).paused_at is not None
    assert {agent.state for agent in await bp.agents.list()} == {"paused"}
    assert not (await bp.agents.resume_all()).paused
    assert (await bp.agents.get("echo_brakes")).state == "idle"


async def test_messages_are_found_explained_and_previewed(bp: Bullpen) -> None:
    space = await room(bp, "finding")
    assert await bp.spaces(space).preview("hello") == ["echo_finding"]
    sent = await bp.spaces(space).send("the lost umbrella")
    page = await bp.search('"lost umb"', space=space)
    assert page.items == []
    (found,) = await bp.search("umbrella lost", space=space, author=sent.author_id, after="2020-01-01", limit=5)
    assert (found.id, found.snippet, found.highlights) == (sent.id, "the lost umbrella", [(4, 8), (9, 17)])
    why = await bp.messages.why(sent.id, agent="echo_finding")
    assert (why.policy, [agent.woken for agent in why.agents]) == ("all", [True])
    with pytest.raises(NotFound):
        await bp.messages.why("msg_none")


async def test_budgets_stop_runs_whose_usage_and_trace_are_readable(bp: Bullpen) -> None:
    space = await room(bp, "spending")
    made = await bp.budgets.set("space", space, 1, unit="tokens", period="month")
    async with bp.events(space=space) as events:
        await bp.spaces(space).send("hello")
        paused = (await until(events, "run_paused")).run
        assert paused is not None
        assert paused.paused_reason == f"The budget of #{space} for this month is used up."
        (kept,) = await bp.budgets.list(kind="space", of=space)
        assert (kept.id, kept.reached, kept.spent) == (
            made.id,
            True,
            paused.usage.input_tokens + paused.usage.output_tokens,
        )
        await bp.budgets.delete(made.id)
        assert (await until(events, "run_finished")).run_id == paused.id
    assert made.id not in {budget.id for budget in await bp.budgets.list()}
    used = {row.id: row.steps for row in await bp.usage.list(by="space", days=1)}
    assert used[space] == 2
    spans = (await bp.runs.trace(paused.id)).spans
    assert [span.name for span in spans] == ["invoke_agent", "chat", "execute_tool", "chat"]


async def test_an_agent_is_triggered_and_its_inbox_can_be_read(bp: Bullpen) -> None:
    await bp.agents.create(id="bell", name="Bell", model=SCRIPT, tools=["messaging"])
    await bp.agents.pause("bell")
    woken = await bp.agents.trigger("bell", "doorbell", {"rings": 2})
    (item,) = await bp.agents.inbox("bell")
    assert (item.id, item.kind, item.payload["payload"]) == (woken.item_id, "trigger", {"rings": 2})
    async with bp.events() as events:
        await bp.agents.resume("bell")
        run = await until(events, "run_finished")
    assert run["run"]["trigger"]["kind"] == "trigger"
    assert len(await bp.agents.inbox("bell")) == 0


async def test_what_an_agent_remembers_is_set_read_searched_and_forgotten(bp: Bullpen) -> None:
    await bp.agents.create(id="mnemo", name="Mnemo", model=SCRIPT)
    assert (await bp.blocks.set("mnemo", "mood", "calm")).content == "calm"
    assert (await bp.blocks.get("mnemo", "mood")).updated_at is not None
    assert [block.label for block in await bp.blocks.list("mnemo")] == ["mood"]
    await bp.blocks.delete("mnemo", "mood")
    with pytest.raises(NotFound):
        await bp.blocks.get("mnemo", "mood")
    stored = await bp.passages.store("mnemo", "Bo likes tea", tags=["bo"], metadata={"on": "Monday"})
    assert (await bp.passages.store("mnemo", "Bo likes tea")).id == stored.id
    assert [found.id for found in await bp.passages.search("mnemo", "tea", limit=5)] == [stored.id]
    assert [found.tags for found in await bp.passages.search("mnemo")] == [["bo"]]


async def test_a_token_says_whose_it_is(bp: Bullpen) -> None:
    me = await bp.me()
    assert (me.name, me.kind, me.role) == ("Ruth", "person", "owner")
    assert (await bp.people.get(me.id)).name == "Ruth"
