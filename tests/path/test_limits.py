"""Limits of a run, kept in its row and checked in one place; a stop names its reason. design.md §6.8."""

from __future__ import annotations

import pytest

from bullpen.errors import ModelRefused, ModelUnavailable
from bullpen.llm.types import CallWish, Reply, TokenUsage
from bullpen.settings import EngineSettings, LimitSettings
from tests.driver import Driver, Offices
from tests.path.puppets import puppet
from tests.path.scripts import SILENT, call, say, step


@pytest.mark.proves("S1-12", "S1-15", "L1")
async def test_a_runs_sixth_message_is_refused_with_the_counts(office: Driver) -> None:
    steps = [
        step(*(call("send_message", text=f"number {n}") for n in range(1, 4))),
        step(*(call("send_message", text=f"number {n}") for n in range(4, 8))),
    ]
    await office.agent("ada", steps=steps)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "count")
    run = await office.run_finished("ada")
    assert (await office.texts("general"))[1:] == [f"number {n}" for n in range(1, 6)]
    results = await office.results(run["id"])
    assert ["status" in result for result in results] == [True] * 5 + [False] * 2
    for refused in results[5:]:
        assert refused["error"].startswith("You have sent 5 of 5 messages of this run, so this one was not sent.")
    assert (run["outcome"], run["stopReason"], len(run["messageIds"])) == ("spoke", "done", 5)
    # The next run has its own five.
    await office.post("general", "count")
    again = await office.run_finished("ada", nth=2)
    assert len(again["messageIds"]) == 5


@pytest.mark.one_database
async def test_the_message_limit_is_per_agent_and_may_be_zero(office: Driver) -> None:
    await office.agent("ada", steps=[say("a"), say("b"), step(call("do_nothing"))], limits={"maxMessages": 1})
    await office.agent("bo", steps=[say("a"), step(call("do_nothing"))], limits={"maxMessages": 0})
    for id in ("ada", "bo"):
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "hello")
    await office.idle()
    assert await office.texts("to-ada") == ["hello", "a"]
    assert await office.texts("to-bo") == ["hello"]
    (run,) = await office.runs(agentId="bo")
    assert run["outcome"] == "silent"
    assert "0 of 0 messages" in (await office.results(run["id"]))[0]["error"]


@pytest.mark.proves("L6", "C17")
async def test_a_model_that_never_ends_is_stopped_after_its_steps(office: Driver) -> None:
    endless = [step(call("read_messages"))] * 30
    await office.agent("ada", steps=endless)
    await office.agent("bo", steps=[say("one"), *endless], limits={"maxSteps": 3})
    for id in ("ada", "bo"):
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "hello")
    await office.idle()
    for id, steps, outcome in (("ada", 20, None), ("bo", 3, "spoke")):
        (run,) = await office.runs(agentId=id)
        assert (run["status"], run["stopReason"], run.get("outcome")) == ("completed", "max_steps", outcome)
        assert len(await office.results(run["id"])) == steps
        assert run.get("silenceReason") is None
    # A limit ends the run, not the agent.
    await office.post("to-bo", "hello again")
    assert (await office.run_finished("bo", nth=2))["stopReason"] == "max_steps"


@pytest.mark.proves("L6", "C17")
@pytest.mark.one_database
async def test_of_200_calls_in_one_step_only_32_are_executed(
    office: Driver,
) -> None:
    calls = [CallWish(f"c{n}", "store_memory", f'{{"content": "fact {n}"}}') for n in range(200)]
    ada = await puppet(
        office, "ada", answers=[Reply("", calls)], steps=[step(), *SILENT], tools=["messaging", "memory"]
    )
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("completed", "done")
    kept = await office.items("/agents/ada/passages", limit=200)
    assert [passage["content"] for passage in kept[::-1]] == [f"fact {n}" for n in range(32)]
    first = await office.get(f"/runs/{run['id']}/messages", params={"limit": 200})
    second = await office.get(f"/runs/{run['id']}/messages", params={"limit": 200, "cursor": first["next"]})
    third = await office.get(f"/runs/{run['id']}/messages", params={"limit": 200, "cursor": second["next"]})
    returns = [e for e in first["items"] + second["items"] + third["items"] if e["type"] == "tool_return_message"]
    assert [entry["isError"] for entry in returns] == [False] * 32 + [True] * 168 + [False]
    assert "at most 32 calls are carried out in one step" in returns[32]["result"]["error"]
    # The model sees a result for each of its calls, in order.
    results = ada.shown[1].results
    assert len(results) == 200
    assert [list(result) for result in results[31:33]] == [["passageId"], ["error"]]


@pytest.mark.one_database
async def test_how_many_calls_a_step_has_is_a_setting(offices: Offices) -> None:
    office = await offices.open(limits=LimitSettings(calls_per_step=2))
    steps = [step(*(call("send_message", text=text) for text in "abc")), step(call("send_message", text="d"))]
    await office.agent("ada", steps=steps)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    assert await office.texts("general") == ["hello", "a", "b", "d"]


@pytest.mark.proves("L6")
@pytest.mark.one_database
async def test_a_model_that_thinks_too_long_is_stopped(office: Driver) -> None:
    slow = [{**step(call("read_messages")), "delayMs": 60}] * 20
    await office.agent("ada", steps=slow, limits={"maxSeconds": 0.1})
    await office.agent("bo", steps=[{"delayMs": 60_000}], limits={"maxSeconds": 0.1})
    for id in ("ada", "bo"):
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "hello")
    for id in ("ada", "bo"):
        run = await office.run_finished(id)
        assert (run["status"], run["stopReason"], run.get("outcome")) == ("completed", "max_seconds", None)


@pytest.mark.one_database
async def test_waiting_for_an_unavailable_provider_does_not_count_as_thinking(
    office: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullpen.runs.loop.random.uniform", lambda low, high: 0.2)
    away = ModelUnavailable("The provider is away.")
    await puppet(office, "ada", answers=[away, away], steps=[say("back")], limits={"maxSeconds": 0.5})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "spoke", "done")


@pytest.mark.one_database
async def test_a_run_fails_with_its_unavailable_or_refusing_providers_message(
    offices: Offices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullpen.runs.loop.random.uniform", lambda low, high: 0.0)
    office = await offices.open(engine=EngineSettings(lease_seconds=2.0, model_patience_seconds=0.0))
    ada = await puppet(office, "ada", answers=[ModelUnavailable("The provider is away.")] * 9)
    bo = await puppet(office, "bo", answers=[ModelRefused("That key is not valid.")])
    for id in ("ada", "bo"):
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "hello")
    for id, puppet_, reason, words, asked in (
        ("ada", ada, "model_unavailable", "The provider is away.", 4),
        ("bo", bo, "model_refused", "That key is not valid.", 1),
    ):
        run = await office.run_finished(id)
        assert (run["status"], run["stopReason"], run["error"]) == ("failed", reason, words)
        assert "outcome" not in run
        assert len(puppet_.shown) == asked
    # The thread goes on with what comes next.
    await office.post("to-bo", "and now?")
    assert (await office.run_finished("bo", nth=2))["status"] == "completed"


async def test_usage_is_added_up_over_the_steps_of_a_run(office: Driver) -> None:
    usage = TokenUsage(input_tokens=10, output_tokens=3, cached_tokens=7, cost=0.25)
    replies = [Reply("", [CallWish("c", "do_nothing", "{}")], usage), Reply("", [], usage)]
    await puppet(office, "ada", answers=replies)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert run["usage"] == {"inputTokens": 20, "outputTokens": 6, "cachedTokens": 14, "cost": 0.5}


async def test_an_agent_over_its_daily_budget_pauses_before_asking_again(office: Driver) -> None:
    usage = TokenUsage(cost=0.3)
    replies = [Reply("", [CallWish("c", "do_nothing", "{}")], usage)] * 3
    ada = await puppet(office, "ada", answers=replies, limits={"maxCostPerDay": 0.5})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")

    async def is_paused() -> bool:
        found = await office.get("/agents/ada")
        return bool(found["state"] == "paused")

    await office.until(is_paused)
    assert (await office.runs())[0]["pausedReason"] == "The budget of Ada for today is used up."
    assert len(ada.shown) == 2
