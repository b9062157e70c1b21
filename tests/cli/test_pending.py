"""bullpen tools, pending and resolve, as people type them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import bullpen, following, output, serving

PROJECT = """
tools:
  - name: confirmAction
    description: Ask somebody to confirm
    inputSchema: {type: object, properties: {what: {type: string}}}
    executionType: space
    isAsync: true
  - name: lookUp
    description: Look something up
    inputSchema: {type: object}
    executionType: external
    visible: false
    timeout: 600000
  - name: weather
    description: Ask for the weather
    inputSchema: {type: object}
    executionType: gateway
    timeout: 600000
    execution: {url: "https://weather.invalid/now", method: GET, headers: {Authorization: "Bearer {{var:W_KEY}}"}}
agents:
  - id: wren
    name: Wren
    tools: [messaging, weather]
    model:
      provider: script
      turns: [{steps: [{calls: [{tool: weather}]}, {calls: [{tool: send_message, args: {text: Done.}}]}]}]
  - id: ada
    name: Ada
    tools: [messaging, confirmAction, lookUp]
    model:
      provider: script
      turns:
        - {kind: tool_result, steps: [{calls: [{tool: send_message, args: {text: Thank you.}}]}]}
        - when: look
          steps: [{calls: [{tool: lookUp}]}, {calls: [{tool: send_message, args: {text: "{{results[0]}}"}}]}]
        - steps: [{calls: [{tool: confirmAction, args: {what: "Book\\u202e it?"}}]}]
spaces:
  - {id: hall, members: [ada], wake: {people: all}}
  - {id: roof, members: [wren], wake: {people: all}}
"""


@pytest.fixture(scope="module")
def served_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("pending") / "data"
    project = folder.with_name("project.yaml")
    project.write_text(PROJECT)
    with serving(folder):
        said = output(folder, "apply", str(project))
        assert said.splitlines()[:2] == ["created    tool  confirmAction", "created    tool  lookUp"]
        again = json.loads(output(folder, "apply", str(project), "--json"))
        assert {change["change"] for kind in again.values() for change in kind} == {"unchanged"}
        yield folder


def pending(data: Path, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(output(data, "pending", "--json", *args))["items"]
    return found


def asked(data: Path, text: str) -> dict[str, Any]:
    """Say this, and give back the call that then waits for somebody."""
    with following(data, "hall") as follower:
        output(data, "send", "hall", text)
        follower.wait_for("waits for an answer to")
    call: dict[str, Any] = pending(data)[0]
    return call


def test_tools_are_listed_with_those_that_come_with_bullpen(served_data: Path) -> None:
    shown = {line.split()[0]: line for line in output(served_data, "tools", "--limit", "200").splitlines()}
    assert shown["confirmAction"].split()[1:4] == ["space,", "async", "shown"]
    assert "600 s" in shown["lookUp"]
    assert "built in" in shown["send_message"]
    listed = {
        tool["name"]: tool for tool in json.loads(output(served_data, "tools", "--limit", "200", "--json"))["items"]
    }
    assert listed["lookUp"]["executionType"] == "external"


@pytest.mark.proves("S4-26")
def test_a_card_is_listed_answered_once_and_gone(served_data: Path) -> None:
    call = asked(served_data, "book")
    shown = output(served_data, "pending")
    assert call["callId"] in shown
    assert "\u202e" not in shown, "what an agent asks has no power over the terminal"
    with following(served_data, "hall") as follower:
        assert output(served_data, "resolve", call["callId"], '{"confirmed": true}') == "accepted"
        follower.wait_for("Thank you.")
    assert output(served_data, "resolve", call["callId"], "-", stdin='{"confirmed": true}') == "accepted before"
    other = bullpen(served_data, "resolve", call["callId"], "false")
    assert other.returncode == 1
    assert "answered this call already" in other.stderr
    assert pending(served_data, "--kind", "space") == []
    assert [c["result"] for c in pending(served_data, "--status", "resolved", "--kind", "space")] == [
        {"confirmed": True}
    ]


def test_an_answer_that_is_not_json_is_refused(served_data: Path) -> None:
    for written in ("yes", "{confirmed: true}", "NaN", ""):
        refused = bullpen(served_data, "resolve", "call_x", written)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "is no JSON" in refused.stderr
    for args in (("call_x",), ("call_x", "true", "--cancel")):
        refused = bullpen(served_data, "resolve", *args)
        assert "Give the answer as JSON, or --cancel" in refused.stderr
    missing = bullpen(served_data, "resolve", "call_x", "true")
    assert missing.returncode == 1
    assert "There is no call" in missing.stderr


def test_a_call_is_cancelled_and_its_agent_hears_of_it(served_data: Path) -> None:
    call = asked(served_data, "look it up")
    with following(served_data, "hall") as follower:
        assert output(served_data, "resolve", call["callId"], "--cancel") == "cancelled"
        follower.wait_for("cancelled this call")
    assert [c["callId"] for c in pending(served_data, "--status", "cancelled")] == [call["callId"]]


def test_missing_values_come_from_stdin_and_never_from_arguments(served_data: Path) -> None:
    secret = "weather-key-0123456789"
    with following(served_data, "roof") as follower:
        output(served_data, "send", "roof", "go")
        follower.wait_for("weather")
        (call,) = pending(served_data, "--kind", "variables")
        assert "W_KEY" in output(served_data, "pending", "--kind", "variables")
        refused = bullpen(served_data, "resolve", call["callId"], json.dumps({"env": {"W_KEY": secret}}))
        assert refused.returncode != 0
        assert "Others can list what stands in a command" in refused.stderr
        given = bullpen(served_data, "resolve", call["callId"], stdin=f"{secret}\n")
        assert given.stdout.strip() == "accepted"
        assert re.fullmatch(r"W_KEY: sent to https?://[^/]+\n", given.stderr)
        follower.wait_for("Done.")
    listed = json.loads(output(served_data, "variables", "--json"))["items"]
    assert [(each["name"], each["type"], each["scope"]["kind"]) for each in listed] == [("W_KEY", "secret", "person")]
    assert secret not in output(served_data, "pending", "--status", "resolved", "--json")
    (run,) = [run for run in json.loads(output(served_data, "runs", "--json"))["items"] if run["agentId"] == "wren"]
    again = json.loads(output(served_data, "retry", run["id"], "--json"))
    assert (again["retryOf"], again["status"]) == (run["id"], "queued")
