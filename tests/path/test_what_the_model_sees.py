"""The model is shown a window of the space, or the mind's own journals; then this run, verbatim. design.md §6.20."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest

from bullpen.llm.types import AssistantTurn, ToolTurn, Transcript, UserTurn
from bullpen.runs.places import HEADER
from bullpen.runs.transcript import OUTSIDE
from tests.driver import Driver
from tests.path.puppets import Puppet, own, puppet, shown_window, told, untimed, window
from tests.path.scripts import SILENT, call, raw, say, step, turn
from tests.path.talk import talk


async def woken_at(office: Driver, ada: Puppet, seq: int) -> Transcript:
    """What Ada sees first when message number `seq` of `general` wakes her."""
    last, asked = (await office.get("/spaces/general"))["lastSeq"], len(ada.shown)
    await talk(office, "general", (f"number {n}" for n in range(last + 1, seq)))
    await office.post("general", f"number {seq}, Ada!")
    return await ada.asked(asked + 1)


async def test_the_window_grows_to_double_before_it_is_cut(office: Driver) -> None:
    ada = await puppet(office, "ada")
    await office.space("general", ["ada"], wake={"people": "trigger", "agents": "none"}, trigger="Ada!")
    shown: dict[int, list[str]] = {}
    texts: dict[int, str] = {}
    for seq in (1, 20, 38, 39, 40, 41):
        seen = await woken_at(office, ada, seq)
        await office.idle()
        shown[seq] = window(seen)
        texts[seq] = shown_window(seen)
    assert {seq: len(lines) for seq, lines in shown.items()} == {1: 0, 20: 19, 38: 37, 39: 38, 40: 19, 41: 20}
    assert shown[39][0] == "Olga: number 1, Ada!"
    assert shown[40][0] == "Olga: number 21"
    assert shown[41][-1] == "Olga: number 40, Ada!", "what woke it is told below"
    # Until it is cut, what was shown before is the beginning of what is shown now: a provider's cache holds.
    for earlier, later in ((20, 38), (38, 39), (40, 41)):
        assert texts[later].startswith(texts[earlier] + "\n")


@pytest.mark.one_database
async def test_a_run_sees_its_own_calls_and_results_verbatim(office: Driver) -> None:
    steps = [
        step(call("search_memory", query="tea"), raw("fly", "{oops"), text="Let me think."),
        step(call("send_message", text="hi"), call("do_nothing")),
    ]
    ada = await puppet(office, "ada", steps=steps, tools=["messaging", "memory"])
    await office.space("general", ["ada"], wake={"people": "all"})
    asked = await office.post("general", "hello")
    run = await office.run_finished("ada")
    journal = await office.journal(run["id"])
    ids = [entry["callId"] for entry in journal if entry["type"] == "tool_call_message"]
    first, second, third = ada.shown
    assert [untimed(text) for text in told(first)] == [
        f"New for you:\n[{asked['id']} in general] Olga (person {office.owner_id}): hello",
    ]
    assert own(first) == []
    # Each step sees exactly what the one before saw, and then what came of it.
    assert list(second.turns[: len(first.turns)]) == list(first.turns)
    assert list(third.turns[: len(second.turns)]) == list(second.turns)
    assert first.system == second.system == third.system

    def result(number: int) -> Any:
        return [{"type": "text", "text": orjson.dumps(returns[number]["result"]).decode()}]

    returns = [entry for entry in journal if entry["type"] == "tool_return_message"]
    thought, found, flown, spoke, sent, quiet = own(third)
    assert isinstance(thought, AssistantTurn)
    assert isinstance(spoke, AssistantTurn)
    assert (thought.text, [(c.id, c.name, c.arguments) for c in thought.calls]) == (
        "Let me think.",
        [(ids[0], "search_memory", '{"query":"tea"}'), (ids[1], "fly", "{oops")],
    )
    assert [c.id for c in spoke.calls] == ids[2:]
    assert [found, flown, sent, quiet] == [
        ToolTurn(ids[0], "search_memory", result(0), False),
        ToolTurn(ids[1], "fly", result(1), True),
        ToolTurn(ids[2], "send_message", result(2), False),
        ToolTurn(ids[3], "do_nothing", result(3), False),
    ]
    assert [list(each) for each in third.results] == [
        ["passages"],
        ["error"],
        ["messageId", "status", "spaceId"],
        ["action"],
    ]
    assert (third.steps, third.trigger.text, third.trigger.message_id) == (2, "hello", asked["id"])


async def test_earlier_runs_in_a_space_are_summarised_without_silent_ones(office: Driver) -> None:
    turns = [
        turn("speak", step(call("send_message", text="one"), call("send_message", text="two"), call("read_messages"))),
        turn("hush", *SILENT),
        turn("mutter", step(text="nobody hears"), step(text="this")),
        turn("react", step(call("react_to_message", messageId="{{trigger.messageId}}", emoji="👍"))),
    ]
    ada = await puppet(office, "ada", turns)
    await office.space("general", ["ada"], wake={"people": "all"})
    for nth, text in enumerate(("speak", "hush", "mutter", "react", "end"), start=1):
        await office.post("general", text)
        await office.run_finished("ada", nth=nth)
    runs = await office.runs()
    assert [run["outcome"] for run in runs] == ["spoke", "silent", "unsent_text", "reacted", "silent"]
    room, before, new = told(ada.shown[-1])
    assert room.startswith("The latest messages in general")
    assert untimed(new).startswith("New for you:")
    assert before == (
        "What you did here before:\n"
        f"{runs[0]['startedAt'][:16]}Z you spoke: send_message ×2, read_messages\n"
        f"{runs[3]['startedAt'][:16]}Z you reacted: react_to_message"
    )
    assert own(ada.shown[-1]) == []


async def test_one_mind_sees_recent_journals_fully_and_older_ones_summarised(office: Driver) -> None:
    turns = [turn("hush", *SILENT), turn("", say("heard: {{trigger.text}}"))]
    ada = await puppet(office, "ada", turns, scope="agent")
    for space in ("red", "blue"):
        await office.space(space, ["ada"], wake={"people": "all"})

    def heard(transcript: Transcript) -> list[str]:
        """What it was told and said in the runs it is shown, in order."""
        calls = [c.arguments for turn in own(transcript) if isinstance(turn, AssistantTurn) for c in turn.calls]
        return [orjson.loads(arguments)["text"] for arguments in calls]

    for n in range(1, 12):
        await office.post("red" if n % 2 else "blue", "hush" if n == 8 else f"number {n}")
        await office.run_finished("ada", nth=n)
    firsts = [shown for shown in ada.shown if shown.steps == 0]
    assert len(firsts) == 11
    # It remembers across spaces, and never sees the room's window.
    assert heard(firsts[2]) == ["heard: number 1", "heard: number 2"]
    assert all(window(shown) == [] for shown in firsts)
    assert [isinstance(turn, UserTurn) for turn in firsts[1].turns] == [True, False, False, False, True]
    # Ten journals at most; then five, and the ones before as a line each. The silent one shows in neither.
    assert heard(firsts[9]) == [f"heard: number {n}" for n in (1, 2, 3, 4, 5, 6, 7, 9)]
    assert heard(firsts[10]) == [f"heard: number {n}" for n in (6, 7, 9, 10)]
    lines = told(firsts[10])[0].splitlines()
    assert lines[0] == "What you did before:"
    assert [line.partition("Z ")[2] for line in lines[1::3]] == ["you spoke: send_message"] * 5
    assert [line.partition(": ")[2] for line in lines[2::3]] == [f"number {n}" for n in range(1, 6)]
    assert [line.partition("] ")[2] for line in lines[3::3]] == [f"You: heard: number {n}" for n in range(1, 6)]
    assert not any("hush" in text for text in told(firsts[10]))


@pytest.mark.proves("S0-30")
async def test_memory_block_changes_show_only_from_the_next_run(office: Driver) -> None:
    steps = [step(call("update_memory", label="mood", content="glad")), *SILENT]
    ada = await puppet(
        office, "ada", steps=steps, tools=["messaging", "memory"], blocks={"mood": "calm"}, instructions="Be kind."
    )
    await office.space("general", ["ada"], wake={"people": "all"})
    for nth in (1, 2):
        await office.post("general", "hello")
        await office.run_finished("ada", nth=nth)
    first, second, third, fourth, *_ = (shown.system for shown in ada.shown)
    assert first == second == third
    assert first.startswith("You are Ada (id ada).\n\nBe kind.\n\nYour memory:\n<mood> (4 / 4,000)\ncalm\n</mood>\n\n")
    assert fourth == first.replace("calm", "glad")


@pytest.mark.one_database
async def test_the_system_prompt_explains_only_the_agents_own_tool_families(office: Driver) -> None:
    lists = {"both": ["messaging", "memory"], "memory": ["memory"], "one": ["send_message", "do_nothing"], "none": []}
    puppets = {id: await puppet(office, id, tools=tools) for id, tools in lists.items()}
    for id in lists:
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "hello")
    await office.idle()
    systems = {id: made.shown[0].system for id, made in puppets.items()}
    speaking = {id: systems[id].count("You act only through tools.") for id in lists}
    remembering = {id: systems[id].count("Your memory blocks are shown above") for id in lists}
    assert speaking == {"both": 1, "memory": 0, "one": 1, "none": 0}
    assert remembering == {"both": 1, "memory": 1, "one": 0, "none": 0}
    parts = {id: system.partition(f"\n\n{OUTSIDE}\n\n{HEADER}\n") for id, system in systems.items()}
    assert parts["none"][0] == "You are None (id none)."
    listed = f'"to-{{0}}" with Olga (person {office.owner_id}). Wakes you: '
    assert all(f"- to-{id}: channel {listed.format(id)}" in spaces for id, (_, _, spaces) in parts.items())


@pytest.mark.one_database
async def test_the_system_text_names_no_tool_the_agent_lacks(office: Driver) -> None:
    known = office.office.registry.names
    chart = {"name": "chart", "description": "Draw", "inputSchema": {}, "executionType": "internal", "visible": True}
    await office.ask("POST", "/tools", json=chart)
    puppets = {}
    for number, name in enumerate(known):  # its id must not name a tool
        puppets[name] = await puppet(office, f"a{number}", tools=[name, "chart"])
        await office.space(f"to-{number}", [f"a{number}"], wake={"people": "all"})
        await office.post(f"to-{number}", "hello")
    await office.idle()
    for name, made in puppets.items():
        taught = made.shown[0].system
        assert "chart" in taught
        assert [other for other in known if other != name and re.search(rf"\b{other}\b", taught)] == []


@pytest.mark.one_database
async def test_arguments_of_tasks_have_the_founding_documents_names(office: Driver) -> None:
    ada = await puppet(office, "ada", tools=["messaging", "tasks"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    shown = {spec.name: set(spec.input_schema["properties"]) for spec in ada.tools[0]}
    timing = {"prompt", "schedule_type", "schedule_value", "context_mode", "target_group"}
    assert shown["schedule_task"] == {*timing, "precheck"}
    assert shown["pause_task"] == shown["resume_task"] == shown["cancel_task"] == {"task_id"}
    assert {"spaceId", "text"} < shown["send_message"]


async def test_the_window_names_speakers_and_omits_deleted_messages(office: Driver) -> None:
    ada = await puppet(office, "ada", [turn("go", say("@bo?"))])
    await office.agent("bo", [turn("", say("@ada?"))], name="Bo the Second")
    await office.space("general", ["ada", "bo"])
    gone = await office.post("general", "a mistake")
    await office.ask("DELETE", f"/messages/{gone['id']}")
    changed = await office.post("general", "first words")
    await office.ask("PATCH", f"/messages/{changed['id']}", json={"text": "better words"})
    await office.post("general", "@ada go")
    await office.run_finished("ada", nth=2)
    assert window(ada.shown[0]) == ["Olga: better words"]
    assert window(ada.shown[2])[-2:] == ["Olga: @ada go", "Ada: @bo?"]
    assert "Bo the Second (agent bo): @ada?" in told(ada.shown[2])[-1]
    assert "note:" not in "".join(window(ada.shown[2]))


@pytest.mark.one_database
async def test_a_note_of_the_system_is_shown_as_a_note(office: Driver) -> None:
    ping = [turn("start", say("ping @bo")), turn("pong", say("ping @bo"))]
    ada = await puppet(office, "ada", ping)
    await office.agent("bo", [turn("ping", say("pong @ada"))])
    await office.space("general", ["ada", "bo"])
    await office.post("general", "@ada start")
    await office.event("chain_stopped")
    await office.idle()
    await office.post("general", "@ada what happened?")
    await office.run_finished("ada", nth=3)
    assert window(ada.shown[-1])[-1].startswith("note: The agents have answered each other 4 times in a row")


@pytest.mark.one_database
async def test_an_agent_that_cannot_speak_is_warned_about(office: Driver) -> None:
    fields = {"id": "mo", "name": "Mo", "model": "script:silent", "tools": ["memory", "skip"]}
    made = await office.create("/agents", fields)
    assert "no tool to speak with" in made["warnings"][0]
    assert (await office.get("/agents/mo"))["warnings"] == made["warnings"]
    for change in ({"tools": ["memory", "send_message"]}, {"tools": ["memory"], "onUnsentText": "deliver"}):
        assert "warnings" not in await office.ask("PATCH", "/agents/mo", json=change)
