"""Whatever is spent, however it is looked at: sums are the sums of the answers, and a trace shows each."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bullpen.testing import money, snapshot
from bullpen.testing.model_server import KEY, ModelServer, fails, model_server, plays
from bullpen.testing.wires import Text
from tests import effort
from tests.budgets.spending import costing, looking, saying, url_of
from tests.driver import Driver, Offices
from tests.path.scripts import call, step


@pytest.mark.parametrize("seed", effort.pick(range(20), sample=2))
async def test_usage_is_the_sum_of_the_journal_whatever_was_done(office: Driver, seed: int) -> None:
    """Agents in rooms, people who speak, answers of random costs: each sum by each key is the journal's."""
    dice = random.Random(seed)
    people = [(office.owner_id, office), await office.person("Pia")]
    rooms = [f"room-{n}" for n in range(3)]
    for n in range(3):
        steps = [
            looking(dice.randrange(1, 10**6) / 10**9, inputTokens=dice.randrange(1000), outputTokens=dice.randrange(90))
            for _ in range(dice.randrange(1, 4))
        ]
        await office.agent(f"agent-{n}", steps=[*steps, saying("done", dice.random() / 7)])
    for n, room in enumerate(rooms):
        await office.space(room, [f"agent-{n}", f"agent-{(n + 1) % 3}", people[1][0]], wake={"people": "mention"})
    for _ in range(8):
        _, api = dice.choice(people)
        n = dice.randrange(3)
        await api.create(f"/spaces/room-{n}/messages", {"text": f"@agent-{dice.choice((n, (n + 1) % 3))} go"})
    await office.idle()
    rows = await snapshot.read(url_of(office))
    assert list(money.spending_faults(rows)) == []
    runs = await office.runs()
    for by in ("agent", "space", "person", "day", "model"):
        found = await office.items("/usage", by=by)
        assert sum(row["runs"] for row in found) == len(runs), by
        for count in ("inputTokens", "outputTokens", "cachedTokens"):
            assert sum(row[count] for row in found) == sum(run["usage"][count] for run in runs), (by, count)
        assert round(sum(row["cost"] for row in found), 9) == round(sum(run["usage"]["cost"] for run in runs), 9)
    for agent in await office.items("/agents"):
        mine = [run["usage"]["cost"] for run in runs if run["agentId"] == agent["id"]]
        assert agent["costToday"] == round(sum(mine), 9)


async def test_usage_shows_budgets_and_what_was_spent_today(office: Driver) -> None:
    await office.agent("ada", steps=[saying("here", 0.25)], limits={"maxCostPerDay": 2.5})
    await office.space("general", ["ada"], wake={"people": "all"})
    for kind, subject in (("space", "general"), ("person", office.owner_id), ("office", None), ("agent", "ada")):
        body = {"kind": kind, "amount": 2, **({"subjectId": subject} if subject else {})}
        await office.ask("PUT", "/budgets", json=body)
    await office.post("general", "go")
    await office.run_finished("ada")
    await office.idle()
    for by in ("agent", "space", "person", "day"):
        (row,) = await office.items("/usage", by=by)
        assert (row["cost"], row["costToday"], row["budget"], row["runs"], row["steps"]) == (0.25, 0.25, 2, 1, 2), by
    (row,) = await office.items("/usage", by="model")
    assert (row["id"], row["cost"], row["unpriced"]) == ("script", 0.25, 0)


@pytest.fixture
async def server() -> Any:
    async with model_server() as serving:
        yield serving


@pytest.mark.one_database
async def test_a_fallback_models_price_counts_and_the_trace_names_it(offices: Offices, server: ModelServer) -> None:
    """The first model is away, the second answers: its price counts, and both are named."""
    office = await offices.open(
        variables={"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY},
        anthropic_base_url=server.url,
        openai_base_url=f"{server.url}/v1",
    )
    server.gives(fails(503), plays(Text("")))
    model = {"provider": "openai", "name": "gpt-5", "fallback": ["anthropic:claude-haiku-4-5"]}
    await office.agent("ada", model=model)
    await office.space("general", ["ada"], wake={"people": "mention"})
    await office.post("general", "@ada go")
    run = await office.run_finished("ada")
    usage = run["usage"]
    fresh = usage["inputTokens"] - usage["cachedTokens"]
    assert usage["outputTokens"] > 0
    spans = (await office.get(f"/runs/{run['id']}/trace"))["spans"]
    about = spans[1]["attributes"]
    written = about["gen_ai.usage.cache_creation.input_tokens"]
    expected = (fresh - written) * 1 + written * 1.25 + usage["cachedTokens"] * 0.1 + usage["outputTokens"] * 5
    assert usage["cost"] == pytest.approx(expected / 1e6, abs=1e-9)
    assert about["gen_ai.request.model"] == "openai:gpt-5"
    assert about["gen_ai.response.model"] == "anthropic:claude-haiku-4-5"
    assert (about["bullpen.fallback"], about["bullpen.priced"], about["bullpen.cost"]) == (True, True, usage["cost"])
    (row,) = await office.items("/usage", by="model")
    assert (row["id"], row["cost"]) == ("anthropic:claude-haiku-4-5", usage["cost"])


@pytest.mark.one_database
async def test_a_model_without_a_price_is_not_taken_for_free(offices: Offices, server: ModelServer) -> None:
    office = await offices.open(variables={"OPENAI_API_KEY": KEY}, openai_base_url=f"{server.url}/v1")
    server.gives(plays(Text("")))
    await office.agent("ada", model="openai:some-new-model")
    await office.space("general", ["ada"], wake={"people": "mention"})
    await office.post("general", "@ada go")
    run = await office.run_finished("ada")
    assert run["usage"]["cost"] == 0
    (row,) = await office.items("/usage", by="model")
    assert (row["id"], row["steps"], row["unpriced"]) == ("openai:some-new-model", 1, 1)
    spans = (await office.get(f"/runs/{run['id']}/trace"))["spans"]
    assert spans[1]["attributes"]["bullpen.priced"] is False


@pytest.mark.one_database
async def test_data_folder_prices_apply_and_never_change_past_costs(offices: Offices) -> None:
    (offices.database.data / "prices.yaml").write_text("script: {in: 1000, out: 2000}\n")
    office = await offices.open()
    steps = [{**step(call("do_nothing")), "usage": {"inputTokens": 10, "outputTokens": 5}}]
    await office.agent("ada", steps=[*steps, costing(step(), 0)])
    await office.space("general", ["ada"], wake={"people": "mention"})
    await office.post("general", "@ada go")
    run = await office.run_finished("ada")
    assert run["usage"]["cost"] == 0.02
    office.office.world.prices = type(office.office.world.prices)({})
    assert (await office.get(f"/runs/{run['id']}"))["usage"]["cost"] == 0.02
    await office.post("general", "@ada go")
    assert (await office.run_finished("ada", nth=2))["usage"]["cost"] == 0
    assert (await office.items("/usage", by="agent"))[0]["cost"] == 0.02


@pytest.mark.one_database
async def test_a_trace_times_each_step_and_each_call(office: Driver) -> None:
    steps = [{**looking(0.25, inputTokens=100, outputTokens=7, cachedTokens=60), "delayMs": 40}]
    await office.agent("ada", steps=steps)
    await office.space("general", ["ada"], wake={"people": "mention"})
    await office.post("general", "@ada go")
    run = await office.run_finished("ada")
    root, first, tool, second = (await office.get(f"/runs/{run['id']}/trace"))["spans"]
    about = first["attributes"]
    assert about["bullpen.model_ms"] >= 40
    assert (about["bullpen.cost"], about["gen_ai.usage.cache_read.input_tokens"]) == (0.25, 60)
    assert (about["bullpen.tries"], about["bullpen.fallback"]) == (1, False)
    assert root["attributes"]["bullpen.cost"] == 0.25
    times = [root["startedAt"], first["startedAt"], tool["startedAt"], tool["finishedAt"], second["finishedAt"]]
    assert times == sorted(times)
    assert tool["parentId"] == first["spanId"]


async def test_costs_of_an_erased_space_stay_counted_without_its_name(office: Driver) -> None:
    await office.agent("ada", steps=[saying("here", 0.25)])
    for room in ("one", "two"):
        await office.space(room, ["ada"], wake={"people": "all"})
        await office.ask("PUT", "/budgets", json={"kind": "space", "subjectId": room, "amount": 9})
        await office.post(room, "go")
    for nth in (1, 2):
        await office.run_finished("ada", nth=nth)
    await office.idle()
    for erased, left in (("one", {"": 0.25, "two": 0.25}), ("two", {"": 0.5})):
        await office.ask("DELETE", f"/spaces/{erased}")
        assert {row["id"]: row["cost"] for row in await office.items("/usage", by="space")} == left
    assert await office.items("/budgets") == []
    assert (await office.items("/usage", by="agent"))[0]["cost"] == 0.5
