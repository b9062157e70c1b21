"""bullpen policies, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.processes import bullpen, output

PROJECT = """
agents:
  - {id: ada, name: Ada, model: "script:echo", policy: {store_memory: deny}}
"""


def test_policies_are_set_listed_and_taken_back(office_data: Path) -> None:
    when = '{"path": "text", "op": "contains", "value": "bank"}'
    plain = output(office_data, "policies", "set", "ada", "send_message", "allow").strip()
    some = output(office_data, "policies", "set", "ada", "send_message", "ask", "--when", when).strip()
    assert output(office_data, "policies", "set", "ada", "send_message", "deny").strip() == plain
    items = json.loads(output(office_data, "policies", "--json", "--agent", "ada"))["items"]
    assert [(p["id"], p["decision"], p["when"]) for p in items] == [
        (some, "ask", json.loads(when)),
        (plain, "deny", None),
    ]
    shown = output(office_data, "policies")
    assert "bank" in shown
    assert "always" in shown
    output(office_data, "policies", "delete", some)
    output(office_data, "policies", "delete", plain)
    assert json.loads(output(office_data, "policies", "--json"))["items"] == []


def test_a_policy_for_a_source_is_set_and_listed(office_data: Path) -> None:
    output(office_data, "policies", "set", "ada", "send_message", "allow", "--source", "example.com")
    shown = output(office_data, "policies")
    assert "SOURCE" in shown
    assert "example.com" in shown
    [item] = json.loads(output(office_data, "policies", "--json"))["items"]
    assert (item["source"], item["decision"]) == ("example.com", "allow")
    refused = bullpen(office_data, "policies", "set", "ada", "send_message", "allow", "--source", "a b")
    assert (refused.returncode, "'a_b'?" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    "args, part",
    [
        (("ada", "fly", "ask"), "There is no tool 'fly'"),
        (("nobody", "send_message", "ask"), "There is no agent 'nobody'"),
        (("ada", "send_message", "ask", "--when", "amount > 5"), "is no JSON"),
        (("ada", "send_message", "ask", "--when", '{"path": "a", "op": "like", "value": 1}'), "does not know the op"),
    ],
)
def test_an_invalid_policy_is_refused_with_a_clear_message(office_data: Path, args: tuple[str, ...], part: str) -> None:
    refused = bullpen(office_data, "policies", "set", *args)
    assert refused.returncode == 1
    assert part in refused.stderr
