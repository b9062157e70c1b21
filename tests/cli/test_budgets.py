"""bullpen budgets, bullpen usage and bullpen run, as people type them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import Process, bullpen, output, running, serving

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:echo", limits: {maxCostPerDay: 2.5}}
spaces:
  - {id: general, members: [ada], wake: {people: all}}
"""


def test_budgets_are_set_and_taken_back(office_data: Path) -> None:
    office = output(office_data, "budgets", "set", "office", "20").strip()
    assert output(office_data, "budgets", "set", "office", "30", "--per", "day").strip() == office
    items = {item["id"]: item for item in json.loads(output(office_data, "budgets", "--json"))["items"]}
    assert {id: (item["amount"], item["period"], item["unit"]) for id, item in items.items()} == {
        office: (30, "day", "USD"),
        "lim_ada_usd": (2.5, "day", "USD"),
    }
    output(office_data, "budgets", "delete", office)
    assert "30.00 USD" not in output(office_data, "budgets")


def test_budgets_are_shown_with_their_subjects(office_data: Path) -> None:
    output(office_data, "budgets", "set", "space", "general", "0.25", "--per", "month")
    output(office_data, "budgets", "set", "agent", "ada", "5000", "--tokens")
    shown = output(office_data, "budgets")
    for part in ("space general", "month", "0.25 USD", "agent ada", "5000 tokens", "2.50 USD", "0 %"):
        assert part in shown


@pytest.mark.parametrize(
    "args, part",
    [
        (("set", "agent", "5"), "Say whose"),
        (("set", "office", "ada", "5"), "Say whose"),
        (("set", "agent", "nobody", "5"), "There is no agent 'nobody'"),
        (("delete", "lim_ada_usd"), "PATCH /api/agents/ada"),
        (("delete", "bud_none"), "There is no budget"),
    ],
)
def test_an_invalid_budget_command_fails_with_a_clear_message(
    office_data: Path, args: tuple[str, ...], part: str
) -> None:
    refused = bullpen(office_data, "budgets", *args)
    assert refused.returncode == 1
    assert part in refused.stderr


@pytest.mark.parametrize("amount", ["-1", "much", "inf", "nan"])
def test_an_amount_is_a_number(office_data: Path, amount: str) -> None:
    assert bullpen(office_data, "budgets", "set", "office", amount).returncode == 2


SPENDING = """
agents:
  - id: ada
    name: Ada
    limits: {maxCostPerDay: 1}
    model:
      provider: script
      turns:
        - steps:
            - calls: [{tool: read_messages, args: {}}]
              usage: {cost: 1.25, inputTokens: 1200, cachedTokens: 800, outputTokens: 30}
            - {calls: [{tool: send_message, args: {text: "here"}}, {tool: read_messages, args: {limit: many}}]}
spaces:
  - {id: general, members: [ada], wake: {people: all}}
"""


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[tuple[Path, Process]]:
    """An office that is served, and whose agent has used up its budget in the middle of a run."""
    data = tmp_path / "data"
    (tmp_path / "office.yaml").write_text(SPENDING)
    output(data, "token", "create", "--name", "Ruth", "--owner")
    output(data, "apply", str(tmp_path / "office.yaml"))
    with serving(data), running(data, "follow") as following:
        following.err.wait_for("Following")
        output(data, "send", "general", "go")
        following.wait_for("the budget of agent ada for the day is used up")
        following.wait_for("Ada is paused: The budget of Ada for today is used up.")
        yield data, following


def test_a_budget_paused_run_shows_its_steps_until_it_continues(
    stopped: tuple[Path, Process],
) -> None:
    spent, following = stopped
    listed = output(spent, "budgets")
    for part in ("lim_ada_usd", "agent ada", "1.25 USD", "1.00 USD", "125 %", "used up"):
        assert part in listed
    assert " paused " in output(spent, "agents")
    assert " paused " in output(spent, "runs")
    (run,) = json.loads(output(spent, "runs", "--json"))["items"]
    shown = output(spent, "run", run["id"])
    for part in (
        "ada in general paused",
        "The budget of Ada for today is used up.",
        "1200 in, 800 of them cached, 30 out",
        "└─ step 1",
        "1200 in (800 cached), 30 out, 1.25 USD",
        "└─ read_messages",
    ):
        assert part in shown, shown
    heads, row = output(spent, "usage").splitlines()
    assert heads.split() == ["AGENT", "RUNS", "STEPS", "IN", "CACHED", "OUT", "COST", "TODAY", "A", "DAY"]
    assert row.split() == ["ada", "1", "1", "1200", "800", "30", "1.25", "USD", "1.25", "USD", "1.00", "USD"]
    assert output(spent, "resume", "ada") == "ada goes on."
    following.wait_for("Ada goes on")
    following.wait_for("Ada: here")
    trace = json.loads(output(spent, "run", run["id"], "--json"))
    assert [span["name"] for span in trace["spans"]][:3] == ["invoke_agent", "chat", "execute_tool"]
    assert trace["run"]["usage"]["cost"] == 1.25
    (by_model,) = json.loads(output(spent, "usage", "--by", "model", "--json"))["items"]
    assert (by_model["id"], by_model["cost"], by_model["cachedTokens"]) == ("script", 1.25, 800)


def test_usage_of_an_office_that_has_done_nothing_says_so(office_data: Path) -> None:
    assert "Nothing was used yet." in bullpen(office_data, "usage", "--by", "model", "--days", "7").stderr
    assert json.loads(output(office_data, "usage", "--json")) == {"items": []}
