"""send_message: the only way an agent speaks, in its own name, where it is a member."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.path.scripts import call, say, step


@pytest.mark.proves("S0-12", "S0-13", "S0-17", "S1-02", "S1-05", "S1-06", "S1-09", "S2-15")
async def test_sent_messages_are_stored_streamed_and_named_in_the_result(office: Driver) -> None:
    """design.md §6.1: text and content mean the same, the active space is the default. §4: a run has message ids."""
    await office.agent("ada", steps=[step(call("send_message", content="hi"), call("send_message", text="again"))])
    made = await office.space("general", ["ada"], wake={"people": "all"})
    asked = await office.post("general", "hello")
    run = await office.run_finished("ada")
    _, first, second = await office.messages("general")
    assert await office.results(run["id"]) == [
        {"messageId": first["id"], "status": "sent", "spaceId": "general"},
        {"messageId": second["id"], "status": "sent", "spaceId": "general"},
    ]
    assert run["messageIds"] == [first["id"], second["id"]]
    for message, text in ((first, "hi"), (second, "again")):
        assert message["authorId"] == "ada"
        assert message["authorKind"] == "agent"
        assert (message["spaceId"], message["text"], message["type"]) == (made["id"], text, "text")
        assert (message["status"], message["runId"], message["depth"]) == ("complete", run["id"], 0)
    created = [event["message"] for event in office.events if event["type"] == "message_created"]
    assert created == [asked, first, second]


@pytest.mark.proves("S0-11", "S0-16")
@pytest.mark.one_database
async def test_an_agent_can_send_only_to_spaces_it_belongs_to(office: Driver) -> None:
    """design.md §6.1 and §6.3: membership is needed, and outside DMs the space's policy decides who wakes."""
    spaces = ["public", "private", "dm-ada-bo", "dm-bo-ada", "others", "nowhere", "dm-bo-cy"]
    steps = [
        step(*(call("send_message", text=f"to {space}", channelId=space) for space in spaces)),
    ]
    await office.agent("ada", steps=steps)
    for id in ("bo", "cy"):
        await office.agent(id)
    await office.space("home", ["ada"], wake={"people": "all"})
    await office.space("public", ["ada", "bo"])
    await office.space("private", ["ada", "bo"], private=True)
    await office.space("others", ["bo"], wake={"agents": "all"})
    await office.dm("ada", "bo")
    await office.dm("bo", "cy")
    await office.post("home", "go")
    run = await office.run_finished("ada")
    await office.idle()
    mine = "Your spaces: home (channel), public (channel), private (channel), dm-ada-bo (dm)."
    results = await office.results(run["id"])
    assert [result.get("spaceId") for result in results] == ["public", "private", "dm-ada-bo", "dm-ada-bo", *[None] * 3]
    for space, result in zip(spaces[4:], results[4:], strict=True):
        assert result == {
            "error": f"You are not a member of a space {space!r}, or those you work for now are not. {mine}"
        }
    assert await office.texts("dm-ada-bo") == ["to dm-ada-bo", "to dm-bo-ada"]
    assert await office.texts("others") == []
    # The DM woke bo (both messages, in one run or two); nothing said in a channel did.
    assert {run["spaceId"] for run in await office.runs(agentId="bo")} == {"dm-ada-bo"}
    assert await office.runs(agentId="cy") == []


async def test_a_message_may_answer_another_one_of_the_same_space(office: Driver) -> None:
    steps = [
        step(
            call("send_message", text="to you", replyTo="{{trigger.messageId}}"),
            call("send_message", text="to nobody", replyTo="msg_unknown"),
            call("send_message", text="elsewhere", spaceId="other", replyTo="{{trigger.messageId}}"),
        )
    ]
    await office.agent("ada", steps=steps)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.space("other", ["ada"])
    asked = await office.post("general", "hello")
    run = await office.run_finished("ada")
    _, *sent = await office.messages("general")
    assert [(message["text"], message["replyTo"]) for message in sent] == [("to you", asked["id"])]
    assert (await office.results(run["id"]))[1:] == [
        {"error": "There is no message 'msg_unknown' in this space."},
        {"error": f"There is no message '{asked['id']}' in this space."},
    ]
    assert await office.texts("other") == []


async def test_unusual_message_text_is_stored_verbatim_and_invalid_text_refused(office: Driver) -> None:
    odd = [
        "line\nbreak\ttab",
        "👩‍👩‍👧 e\u0301 \u202ertl",
        "'; DROP TABLE messages; --",
        "<script>alert(1)</script>",
        "x" * 32_768,
    ]
    calls = [call("send_message", text=text) for text in odd]
    calls += [call("send_message", text="nul \x00 inside"), call("send_message", text="  \n ")]
    await office.agent("ada", steps=[step(*calls)], limits={"maxMessages": 20})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (await office.texts("general"))[1:] == odd
    for result in (await office.results(run["id"]))[len(odd) :]:
        assert "text must have 1 to 32768 characters and say something" in result["error"]


@pytest.mark.proves("S0-20", "S0-21")
async def test_a_reaction_is_stored_once_and_told_to_followers(office: Driver) -> None:
    react = call("react_to_message", messageId="{{trigger.messageId}}", emoji="🎉")
    await office.agent("ada", steps=[step(react, react, call("react_to_message", messageId="msg_x", emoji="🎉"))])
    await office.space("general", ["ada"], wake={"people": "all"})
    asked = await office.post("general", "it works")
    run = await office.run_finished("ada")
    assert (run["outcome"], run["messageIds"]) == ("reacted", [])
    assert await office.results(run["id"]) == [
        {"success": True},
        {"success": True},
        {"error": "There is no message 'msg_x' in your spaces."},
    ]
    assert (await office.get(f"/messages/{asked['id']}"))["reactions"] == [{"emoji": "🎉", "memberIds": ["ada"]}]
    (event,) = [event for event in office.events if event["type"] == "reaction_added"]
    assert event["reaction"] == {"messageId": asked["id"], "memberId": "ada", "emoji": "🎉"}
    assert (event["spaceId"], event["runId"]) == ("general", run["id"])


@pytest.mark.one_database
async def test_an_agent_cannot_react_to_messages_outside_its_spaces(office: Driver) -> None:
    await office.space("secret")
    hidden = await office.post("secret", "not for agents")
    await office.agent("ada", steps=[step(call("react_to_message", messageId=hidden["id"], emoji="👀"))])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert await office.results(run["id"]) == [{"error": f"There is no message '{hidden['id']}' in your spaces."}]
    assert (await office.get(f"/messages/{hidden['id']}"))["reactions"] == []


@pytest.mark.proves("S1-01", "S1-08", "S1-11", "S1-13", "S1-14", "S1-15")
@pytest.mark.one_database
async def test_a_run_may_send_any_number_of_messages(office: Driver) -> None:
    """Seed 001's acceptance: whatever the count, the run completes, in the agent's name, and the count can be seen."""
    stories = {
        "never": [step(call("do_nothing"))],
        "nothing": [],
        "once": [say("one")],
        "often": [step(*(call("send_message", text=text) for text in ("one", "two", "three")))],
        "thinking": [
            {"text": "I shall look first.", "calls": [call("read_messages")]},
            {"text": "Half of it is clear.", **say("a first result")},
            {"text": "Now the rest.", "calls": [call("search_memory", query="rest")]},
            say("the rest"),
        ],
    }
    turns = [{"when": f"^{name}$", "steps": steps} for name, steps in stories.items()]
    await office.agent("ada", turns, tools=["messaging", "memory"])
    expected = {"never": 0, "nothing": 0, "once": 1, "often": 3, "thinking": 2}
    for name in stories:
        await office.space(name, ["ada"], wake={"people": "all"})
        await office.post(name, name)
    await office.run_finished("ada", nth=len(stories))
    runs = {run["spaceId"]: run for run in await office.runs(agentId="ada")}
    for name, count in expected.items():
        run, sent = runs[name], (await office.messages(name))[1:]
        assert (run["status"], run["stopReason"]) == ("completed", "done")
        assert run["outcome"] == ("spoke" if count else "silent")
        assert run["messageIds"] == [message["id"] for message in sent]
        assert [(message["authorId"], message["authorKind"]) for message in sent] == [("ada", "agent")] * count
    assert "error" not in runs["never"]
    assert (await office.texts("thinking"))[1:] == ["a first result", "the rest"]
    finished = {event["run"]["spaceId"]: event["run"] for event in office.events if event["type"] == "run_finished"}
    assert finished == runs
