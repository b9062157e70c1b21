"""Nothing is forgotten for good: what lies far outside the window is found with a tool. design.md §6.20."""

from __future__ import annotations

from tests.driver import Driver
from tests.path.puppets import puppet, window
from tests.path.scripts import Json, call, step, turn
from tests.path.talk import talk


def say_first(what: str) -> Json:
    """A call that tells what the call before it found first."""
    return call("send_message", text="found: {{results[0]." + what + "}}")


async def test_a_fact_500_messages_back_is_found_in_three_ways(office: Driver) -> None:
    turns = [
        turn("^remember", step(call("store_memory", content="{{trigger.text}}"))),
        turn("by query", step(call("read_messages", query="VAULT code")), step(say_first("messages[0].text"))),
        turn("by offset", step(call("read_messages", offset=503, limit=1)), step(say_first("messages[0].text"))),
        turn("by memory", step(call("search_memory", query="SAFE word")), step(say_first("passages[0].content"))),
    ]
    ada = await puppet(office, "ada", turns, tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "trigger", "agents": "none"}, trigger="Ada")
    await office.post("general", "remember, Ada: the safe word is heron")
    await office.run_finished("ada")
    await talk(office, "general", ["the vault code is 7319"])
    await talk(office, "general", (f"small talk, part {n}" for n in range(500)))
    for nth, (how, fact) in enumerate(
        (
            ("by query", "the vault code is 7319"),
            ("by offset", "the vault code is 7319"),
            ("by memory", "remember, Ada: the safe word is heron"),
        ),
        start=2,
    ):
        await office.post("general", f"Ada, look {how}")
        await office.run_finished("ada", nth=nth)
        (answer,) = (await office.messages("general"))[-1:]
        assert (answer["authorId"], answer["text"]) == ("ada", f"found: {fact}")
    shown = [line for transcript in ada.shown[2:] for line in window(transcript)]
    assert shown
    assert not any("7319" in line and not line.startswith("Ada: found") for line in shown)
