"""Every waking says what time it is, and the window when things were said. What was shown once stays as it was."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from bullpen.llm.types import Transcript, UserTurn
from bullpen.testing.clock import FakeClock
from tests.driver import Driver, Offices
from tests.path.puppets import puppet, shown_window, told
from tests.path.scripts import SILENT, call, say, step

START = "2026-03-28T22:50:00Z"  # ten to twelve in Berlin, in the night in which its clocks go forward
NOW = re.compile(r"Now it is \w+, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d in Europe/Berlin \(UTC\+0[12]:00\)\. You are in ")
LATER = {"name": "ask_bank", "description": "d", "inputSchema": {"type": "object"}, "executionType": "external"}


def waking(transcript: Transcript) -> str:
    return told(transcript)[-1]


async def berlin(offices: Offices, clock: FakeClock) -> Driver:
    return await offices.open(clock=clock, timezone="Europe/Berlin")


@pytest.mark.parametrize("scope", ["space", "agent"])
async def test_every_kind_of_waking_says_what_time_it_is(offices: Offices, scope: str) -> None:
    office = await berlin(offices, FakeClock(START))
    await office.create("/tools", {**LATER, "isAsync": True})
    steps = [step(call("ask_bank")), *SILENT]
    ada = await puppet(office, "ada", [{"when": "bank", "steps": steps}], tools=["messaging", "ask_bank"], scope=scope)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.ask("PUT", "/spaces/general/skills/greet", json={"description": "d", "instructions": "Say hello."})
    task = {"spaceId": "general", "agentId": "ada", "prompt": "look", "scheduleType": "cron"}
    made = await office.create("/tasks", {**task, "scheduleValue": "0 9 * * *"})
    await office.post("general", "ask the bank")
    await office.run_finished("ada")
    await office.post("general", "/greet")
    await office.run_finished("ada", nth=2)
    await office.create(f"/tasks/{made['id']}/run", {})
    await office.run_finished("ada", nth=3)
    await office.create("/agents/ada/trigger", {"serviceName": "ci"}, status=202)
    await office.run_finished("ada", nth=4)
    (pending,) = await office.items("/pending")
    await office.create(f"/pending/{pending['callId']}/resolve", {"result": "paid"}, status=200)
    last = await office.run_finished("ada", nth=5)
    kinds = [run["trigger"]["kind"] for run in await office.runs()]
    assert (kinds, last["trigger"]["kind"]) == (["message", "skill", "task", "trigger", "tool_result"], "tool_result")
    firsts = [waking(shown) for shown in ada.shown if shown.steps == 0]
    assert len(firsts) == 5
    assert [bool(NOW.match(text)) for text in firsts] == [True] * 5
    assert re.search(r"\n\[call_\w+ at 23:50 in general\] ", firsts[4])
    assert firsts[3].splitlines()[0].endswith("You are in no space.")


async def test_each_message_has_its_hour_below_its_day(offices: Offices) -> None:
    clock = FakeClock(START)
    office = await berlin(offices, clock)
    ada = await puppet(office, "ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "all"})
    seen = []
    # Over midnight, into the summer, and then the machine's clock is put back by two days.
    for nth, (text, after) in enumerate(
        [("one", 900), ("two", 7200), ("three", -172_800), ("four", 0), ("five", 0)], start=1
    ):
        await office.post("general", text)
        await office.run_finished("ada", nth=nth)
        clock.advance(after)
        seen.append(shown_window([s for s in ada.shown if s.steps == 0][-1]))
    assert re.sub(r"msg_\w+", "msg", seen[-1]) == (
        "The latest messages in general, oldest first, times in Europe/Berlin:\n"
        "Saturday 2026-03-28:\n[msg 23:50] Olga: one\n"
        "Sunday 2026-03-29:\n[msg 00:05] Olga: two\n[msg 03:05] Olga: three\n"
        "Friday 2026-03-27:\n[msg 02:05] Olga: four"
    )
    assert all(later.startswith(f"{earlier}\n") for earlier, later in pairwise(seen[1:]))
    assert waking(ada.shown[-1]).startswith("Now it is Friday, 2026-03-27T02:05:00 in Europe/Berlin (UTC+01:00). ")


async def test_whole_pieces_of_the_window_stay_the_same_bytes(offices: Offices) -> None:
    clock = FakeClock(START)
    office = await berlin(offices, clock)
    ada = await puppet(office, "ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "trigger"}, trigger="Ada!")
    stable: list[set[str]] = []
    for nth, count in enumerate((24, 7, 8), start=1):
        for n in range(count):
            await office.post("general", f"number {n}" + (" Ada!" if n == count - 1 else ""))
            clock.advance(5000)
        await office.run_finished("ada", nth=nth)
        turns = [s for s in ada.shown if s.steps == 0][-1].turns
        stable.append({turn.text for turn in turns if isinstance(turn, UserTurn) and turn.stable})
    assert [len(pieces) for pieces in stable] == [2, 3, 3]
    assert stable[0] < stable[1] == stable[2]


async def test_a_resumed_run_keeps_the_time_it_was_woken_at(offices: Offices) -> None:
    clock = FakeClock(START)
    office = await berlin(offices, clock)
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    first = await ada.asked(1)
    await office.create("/agents/ada/pause", {}, status=200)
    await office.until(lambda: paused(office))
    clock.advance(86_400)
    ada.release()
    await office.create("/agents/ada/resume", {}, status=200)
    again = await ada.asked(2)
    assert (again.system, list(again.turns)) == (first.system, list(first.turns))
    await office.run_finished("ada")


async def paused(office: Driver) -> bool:
    return bool((await office.get("/agents/ada"))["state"] == "paused")


async def test_what_waited_over_night_says_its_date(offices: Offices) -> None:
    clock = FakeClock(START)
    office = await berlin(offices, clock)
    ada = await puppet(office, "ada", steps=SILENT)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.create("/agents/ada/pause", {}, status=200)
    await office.post("general", "good night")
    clock.advance(36_000)
    await office.create("/agents/ada/resume", {}, status=200)
    await office.run_finished("ada")
    assert re.search(r"\[msg_\w+ at 2026-03-28 23:50 in general\] Olga", waking(ada.shown[0]))


async def test_entering_a_space_tells_its_local_time(offices: Offices) -> None:
    office = await berlin(offices, FakeClock(START))
    await office.agent("ada", steps=[step(call("enter_space", spaceId="far")), say("hi"), {}], scope="agent")
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.space("far", ["ada"], timezone="Asia/Tokyo")
    await office.post("general", "go")
    run = await office.run_finished("ada")
    entered = (await office.results(run["id"]))[0]
    assert (entered["timezone"], entered["localTime"]) == ("Asia/Tokyo", "2026-03-29T07:50:00+09:00")
