"""A plan wakes its agent through the inbox, once at each of its times, for whoever caused the run that set it."""

from __future__ import annotations

from itertools import chain

import pytest

from bullpen.errors import ModelRefused
from bullpen.testing import schedules, snapshot
from tests.driver import Json, Offices
from tests.mind.minds import later, mind, plans, told, woken
from tests.path import puppets
from tests.path.scripts import call, say, step
from tests.tasks.offices import Timed

NOON = {"cron": "0 12 * * *"}


def due(*steps: Json) -> Json:
    return {"kind": "plan", "steps": list(steps)}


async def states(office: Timed) -> list[str]:
    """Of all plans there ever were, oldest first."""
    found = [await office.driver.items("/agents/ada/plans", status=s) for s in ("active", "paused", "completed")]
    return [plan["status"] for plan in sorted(chain(*found), key=lambda plan: plan["createdAt"])]


@pytest.mark.proves("P8", "V9")
async def test_a_plan_wakes_its_agent_once_with_its_instruction(offices: Offices) -> None:
    office, seen = await mind(offices, plans(later("write the report")), turns=[due(say("{{trigger.text}}done"))])
    await office.driver.watch()
    await told(office)
    await office.wait(hours=1)
    assert await woken(office) == []
    await office.wait(hours=1)
    await office.wait(hours=9)
    assert await woken(office) == ["2026-06-01T10:00:00.000000Z"]
    [run] = [run for run in await office.driver.runs() if run["trigger"]["kind"] == "plan"]
    [plan] = await office.driver.items("/agents/ada/plans", status="completed")
    assert (run["trigger"]["planId"], run["spaceId"], run["depth"]) == (plan["id"], "desk", 0)
    waking = puppets.told(seen.shown[-2])[-1]
    assert (
        "Your plan is due, 2026-06-01T10:00:00+00:00. It was set by Ada (agent ada): later. write the report" in waking
    )
    assert (await office.driver.texts("desk"))[-1] == "done", "a plan has no words of a person"
    assert await states(office) == ["completed"]
    fired = await office.driver.event("plan_fired")
    assert (fired["plan"]["id"], fired["plan"]["firing"]["status"]) == (plan["id"], "fired")
    seen_rows = await snapshot.read(office.driver.office.settings.database_url)
    assert list(schedules.firing_faults(seen_rows, at_rest=True)) == []


async def test_a_cron_plan_comes_again_and_catches_up_once(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later(**NOON)), turns=[due(step(call("skip")))])
    await told(office)
    await office.wait(hours=5)
    await office.wait(days=3)
    assert await woken(office) == ["2026-06-01T12:00:00.000000Z", "2026-06-04T12:00:00.000000Z"]
    [plan] = await office.driver.items("/agents/ada/plans")
    assert plan["nextRun"] == "2026-06-05T12:00:00.000000Z"


async def test_a_paused_agent_is_woken_once_when_it_goes_on(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later(**NOON)), turns=[due(step(call("skip")))])
    await told(office)
    await office.driver.create("/agents/ada/pause", {})
    for _ in range(3):
        await office.wait(days=1)
    assert await woken(office) == []
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    assert await woken(office) == ["2026-06-01T12:00:00.000000Z"]


async def test_a_deleted_plan_does_not_begin_though_it_was_fired(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later()), turns=[due(step(call("skip")))])
    [made] = await told(office)
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=2)
    assert len(await office.driver.items("/agents/ada/inbox")) == 1
    await office.driver.ask("DELETE", f"/agents/ada/plans/{made['plans'][0]['id']}", status=204)
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    assert await woken(office) == []


@pytest.mark.one_database
async def test_a_plan_set_anew_keeps_its_id(offices: Offices) -> None:
    office, _ = await mind(
        offices,
        plans({**later(), "id": "call"}),
        plans({**later("call Pia"), "id": "call", "runAfter": "3 days"}),
        step(call("get_plans")),
    )
    results = await told(office)
    [plan] = results[-1]["plans"]
    assert (plan["id"], plan["instruction"], plan["nextRun"]) == ("call", "call Pia", "2026-06-04T08:00:00+00:00")
    await office.wait(hours=3)
    assert await woken(office) == []


@pytest.mark.one_database
async def test_times_are_by_the_clocks_of_the_space(offices: Offices) -> None:
    wishes = [later(scheduledAt="2026-06-01T15:30:00"), later(scheduledAt="2026-06-01T15:30:00+09:00"), later(**NOON)]
    office, _ = await mind(offices, plans(*wishes))
    await office.driver.ask("PATCH", "/spaces/desk", json={"timezone": "America/New_York"})
    [result] = await told(office)
    found = [plan.get("nextRun") for plan in result.get("plans", [])]
    assert found == [], "15:30 in Japan is over"
    assert "is in the past" in result["error"]
    wishes[1] = later(scheduledAt="2026-06-02T01:30:00+09:00")
    turns = [{"steps": [plans(*wishes)]}]
    await office.driver.ask("PATCH", "/agents/ada", json={"model": {"provider": "script", "turns": turns}})
    [result] = await told(office)
    assert [plan["nextRun"] for plan in result["plans"]] == [
        "2026-06-01T15:30:00-04:00",
        "2026-06-01T12:30:00-04:00",
        "2026-06-01T12:00:00-04:00",
    ]


REFUSED = [
    ({}, "exactly one of runAfter, scheduledAt and cron: it has none"),
    ({"runAfter": "1 hour", "cron": "0 9 * * *"}, "it has runAfter and cron"),
    ({"runAfter": "soon"}, "is no time to wait"),
    ({"runAfter": "2 fortnights"}, "is no time to wait"),
    ({"runAfter": "0 seconds"}, "at least 1 s ahead"),
    ({"runAfter": "600 weeks"}, "ten years"),
    ({"runAfter": "999999999999 weeks"}, "ten years"),
    ({"scheduledAt": "tomorrow"}, "is no time. Write it with its zone"),
    ({"scheduledAt": "2026-02-30T10:00:00Z"}, "is no time. Write it with its zone"),
    ({"scheduledAt": "2026-05-01T10:00:00Z"}, "is in the past"),
    ({"scheduledAt": "9999-12-31T23:59:59-12:00"}, "ten years"),
    ({"cron": "* * * * * *"}, "five fields"),
    ({"cron": "0 0 30 2 *"}, "no cron expression"),
]


@pytest.mark.proves("L12")
@pytest.mark.one_database
async def test_times_that_cannot_be_are_refused_with_a_sentence(offices: Offices) -> None:
    steps = [plans({"name": "x", "instruction": "y", **when}) for when, _ in REFUSED]
    office, _ = await mind(offices, *steps)
    results = await told(office)
    for (when, part), result in zip(REFUSED, results, strict=True):
        assert part in result["error"], when
    assert await office.driver.items("/agents/ada/plans") == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    "said", ["90 seconds", "1.5 minutes", "90s", "90 sec", "1.5min", "1 second", "2 Hours", "3 weeks"]
)
async def test_time_to_wait_is_a_number_and_a_unit(offices: Offices, said: str) -> None:
    office, _ = await mind(offices, plans(later(runAfter=said)))
    [result] = await told(office)
    at = {"1 second": "08:00:01", "2 Hours": "10:00:00", "3 weeks": "08:00:00"}.get(said, "08:01:30")
    day = "2026-06-22" if "week" in said else "2026-06-01"
    assert result["plans"][0]["nextRun"] == f"{day}T{at}+00:00"


@pytest.mark.proves("L12")
@pytest.mark.one_database
async def test_an_agent_has_fifty_plans_at_most(offices: Offices) -> None:
    office, _ = await mind(offices, plans(*[later()] * 49), plans(later(), later()), plans(later()))
    first, second, third = await told(office)
    assert len(first["plans"]) == 49
    assert "There would be 51 plans, and 50 is the most" in second["error"]
    assert len(third["plans"]) == 1


@pytest.mark.proves("L4")
@pytest.mark.one_database
async def test_plans_of_plans_wait_a_minute_and_end(offices: Offices) -> None:
    again = due(plans(later(runAfter="59 seconds")), plans(later(runAfter="1 minute")))
    office, _ = await mind(offices, plans(later(runAfter="1 minute")), turns=[again])
    await told(office)
    for _ in range(8):
        await office.wait(seconds=61)
    runs = [run for run in await office.driver.runs() if run["trigger"]["kind"] == "plan"]
    assert [run["depth"] for run in runs] == [1, 2, 3], "a plan within the hour is a link of the chain"
    refused, made = await office.driver.results(runs[0]["id"])
    assert "at least 60 s ahead" in refused["error"]
    assert len(made["plans"]) == 1
    assert (await office.driver.messages("desk"))[-1]["text"].startswith("The agents have answered each other 4 times")


@pytest.mark.one_database
async def test_a_run_of_a_plan_schedules_no_tasks(offices: Offices) -> None:
    yearly = call("schedule_task", prompt="x", schedule_type="cron", schedule_value="0 0 1 1 *")
    office, _ = await mind(offices, plans(later()), tools=["tasks"], turns=[due(step(yearly))])
    await told(office)
    await office.wait(hours=2)
    [result] = await office.driver.results((await office.driver.runs())[-1]["id"])
    assert "no plan schedules tasks" in result["error"]


@pytest.mark.proves("G11")
@pytest.mark.one_database
@pytest.mark.parametrize("lost", ["membership", "account", "agent left"])
async def test_a_plan_without_rights_is_refused_paused_and_reported(offices: Offices, lost: str) -> None:
    office, _ = await mind(offices, plans(later("a secret thing")), turns=[due(say("hm"))])
    id, pia = await office.driver.person("Pia")
    await office.driver.create("/spaces/desk/members", {"memberId": id})
    await pia.create("/spaces/desk/messages", {"text": "hello"})
    await office.driver.idle()
    match lost:
        case "membership":
            await office.driver.ask("DELETE", f"/spaces/desk/members/{id}")
        case "account":
            await office.driver.ask("PATCH", f"/people/{id}", json={"disabled": True})
        case "agent left":
            await office.driver.ask("DELETE", "/spaces/desk/members/ada")
    await office.wait(hours=2)
    assert await woken(office) == []
    [plan] = await office.driver.items("/agents/ada/plans", status="paused")
    assert plan["onBehalfOf"] == id
    [notice] = [m["text"] for m in await office.driver.messages("desk") if m["type"] == "system"]
    assert notice == f"A plan of Ada ({plan['id']}) is paused. {plan['reason']}", "and not what it was"
    assert [row for row in await office.driver.items("/audit") if row["action"] == "plan.paused"]


@pytest.mark.proves("G11")
@pytest.mark.one_database
async def test_a_guests_run_cannot_plan(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later()))
    id, pia = await office.driver.person("Pia")
    await office.driver.create("/spaces/desk/members", {"memberId": id})
    made = await pia.create("/tokens", {"name": "weak", "scopes": ["read", "post"]})
    weak = type(pia)(office.driver.office, made["token"])
    await weak.create("/spaces/desk/messages", {"text": "hello"})
    await office.driver.idle()
    [result] = await office.driver.results((await office.driver.runs())[-1]["id"])
    assert "error" in result
    assert await office.driver.items("/agents/ada/plans") == []


async def test_an_archived_space_has_no_plans_that_fire(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later(), later(**NOON)))
    await told(office)
    await office.driver.ask("PATCH", "/spaces/desk", json={"archived": True})
    await office.wait(days=1)
    assert await woken(office) == []
    assert await states(office) == ["paused", "paused"]


async def test_a_plan_is_paused_after_five_failures(offices: Offices) -> None:
    office, _ = await mind(offices, answers=[ModelRefused("The provider says no.")] * 5)
    hourly = {"plans": [later(cron="0 * * * *")]}
    await office.driver.ask("PUT", "/agents/ada/plans", params={"spaceId": "desk"}, json=hourly, status=200)
    for _ in range(5):
        await office.wait(hours=1)
    [plan] = await office.driver.items("/agents/ada/plans")
    assert (plan["status"], plan["failures"]) == ("paused", 5)
    assert plan["reason"] == "It failed 5 times in a row; the last time: The provider says no."
    await office.wait(hours=5)
    assert len(await woken(office)) == 5


async def test_a_plan_follows_a_clock_that_is_put_back(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later(**NOON)), turns=[due(step(call("skip")))])
    office.clock.advance(40 * 86_400)
    await told(office)
    await office.driver.office.tidy()
    office.clock.advance(-40 * 86_400)
    await office.driver.office.tidy()
    [plan] = await office.driver.items("/agents/ada/plans")
    assert plan["nextRun"] == "2026-06-01T12:00:00.000000Z"
