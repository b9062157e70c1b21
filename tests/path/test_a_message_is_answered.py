"""The path, once through: a message wakes an agent, it acts through a tool, and everyone sees it."""

from __future__ import annotations

from tests.driver import Driver


async def test_a_message_wakes_an_agent_that_answers_with_a_tool(office: Driver) -> None:
    await office.agent("ada", steps=[{"calls": [{"tool": "send_message", "args": {"text": "Hi, {{trigger.text}}"}}]}])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["outcome"], run["stopReason"]) == ("spoke", "done")
    assert await office.texts("general") == ["hello", "Hi, hello"]
    told = [event["message"]["text"] for event in office.events if event["type"] == "message_created"]
    assert told == ["hello", "Hi, hello"]
