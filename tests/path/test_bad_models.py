"""Whatever a model sends wrong becomes a stored tool error, calls run in order, and the run goes on."""

from __future__ import annotations

import pytest

from bullpen.llm.types import AssistantTurn, CallWish, Reply
from tests.driver import Driver
from tests.path.puppets import own, puppet
from tests.path.scripts import Json, say

pytestmark = pytest.mark.one_database

BAD: list[tuple[str, str, str]] = [
    # tool, what the model wrote as arguments, what it is told
    ("send_message", '{"text": "half', "The arguments are not valid JSON"),
    ("send_message", "text=hello", "The arguments are not valid JSON"),
    ("send_message", '{"text": "a"} {"text": "b"}', "The arguments are not valid JSON"),
    ("send_message", '{"text": NaN}', "The arguments are not valid JSON"),
    ("send_message", '{"text": "\\ud800"}', "The arguments are not valid JSON"),
    ("send_message", '{"a":' * 5000, "The arguments are not valid JSON"),
    ("send_message", "null", "must be a JSON object"),
    ("send_message", "[]", "must be a JSON object"),
    ("send_message", '{"text": {"nested": true}}', "text: Input should be a valid string"),
    ("read_messages", '{"limit": 1e30}', "limit: Input should be a valid integer"),
    ("read_messages", '{"limit": 99999999999999999999999}', "limit: Input should be"),
    ("read_messages", '{"query": "x", "offset": 18446744073709551615}', "offset: Input should be less than"),
    ("react_to_message", '{"messageId": "\\u0000", "emoji": "x"}', "NUL"),
    ("react_to_message", '{"messageId": "m", "emoji": ""}', "emoji must have 1 to 64 characters"),
    ("enter_space", '{"spaceId": "\\u0000"}', "NUL"),
    ("enter_space", '{"spaceId": "dm-"}', "You are not a member of a space 'dm-'"),
    ("fly", '{"to": "the moon"}', "There is no tool named 'fly' among yours."),
    ("", "{}", "There is no tool named '' among yours."),
    ("send_message ", '{"text": "x"}', "There is no tool named 'send_message ' among yours."),
    ("Send_Message", '{"text": "x"}', "There is no tool named 'Send_Message' among yours."),
    ("x" * 5000, "{}", "There is no tool named 'xxx"),
    ("fl\x00y\ud800", '"\x00\ud800"', "There is no tool named 'fl\ufffdy"),
]


@pytest.mark.proves("C17", "P4", "S3-41")
async def test_bad_calls_are_stored_as_errors_and_the_run_continues(office: Driver) -> None:
    calls = [CallWish(f"c{n}", tool, arguments) for n, (tool, arguments, _) in enumerate(BAD)]
    calls.append(CallWish("last", "send_message", '{"text": "still here"}'))
    ada = await puppet(office, "ada", answers=[Reply("odd \x00 words \ud800", calls), Reply("")], steps=[])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "spoke", "done")
    assert await office.texts("general") == ["hello", "still here"]
    journal = await office.journal(run["id"])
    returns = [entry for entry in journal if entry["type"] == "tool_return_message"]
    assert [entry["isError"] for entry in returns] == [True] * len(BAD) + [False]
    for (tool, arguments, why), entry in zip(BAD, returns, strict=False):
        assert why in entry["result"]["error"], (tool[:40], arguments[:40], entry["result"])
    asked = [entry["callId"] for entry in journal if entry["type"] == "tool_call_message"]
    assert [entry["callId"] for entry in returns] == asked
    assert journal[1]["content"] == "odd \ufffd words ?"
    # The model is shown its calls and what came of them, and could mend its ways.
    thought, *results = own(ada.shown[1])
    assert isinstance(thought, AssistantTurn)
    assert [call.id for call in thought.calls] == asked
    assert len(results) == len(calls)


@pytest.mark.proves("C17")
async def test_calls_that_share_an_id_are_kept_apart(office: Driver) -> None:
    calls = [CallWish("same", "send_message", f'{{"text": "{text}"}}') for text in ("one", "two")]
    calls += [CallWish("", "do_nothing", "{}"), CallWish("", "do_nothing", "")]
    await puppet(office, "ada", answers=[Reply("", calls), Reply("", calls), Reply("")])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert await office.texts("general") == ["hello", "one", "two", "one", "two"]
    ids = [e["callId"] for e in await office.journal(run["id"]) if e["type"] == "tool_call_message"]
    assert len(set(ids)) == 8
    assert [result.get("action", result.get("status")) for result in await office.results(run["id"])] == [
        *["sent", "sent", "none", "none"] * 2
    ]


@pytest.mark.proves("C17")
async def test_an_empty_answer_ends_the_run_in_silence(office: Driver) -> None:
    await puppet(office, "ada", answers=[Reply("")])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["outcome"], run["stopReason"]) == ("completed", "silent", "done")
    assert run["silenceReason"] == "agent_chose_silence"


async def test_a_provider_bug_fails_one_run_and_not_the_thread(office: Driver) -> None:
    await puppet(office, "ada", answers=[RuntimeError("no such header")], steps=[say("better now")])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"], run["error"]) == ("failed", "broken", "RuntimeError: no such header")
    assert "outcome" not in run
    await office.post("general", "hello again")
    again = await office.run_finished("ada", nth=2)
    assert (again["outcome"], again["threadId"]) == ("spoke", run["threadId"])


async def test_a_run_whose_model_is_gone_fails_with_an_explanation(office: Driver) -> None:
    await puppet(office, "ada")
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.agent("bo")
    for spec in ("telepathy:fast", "fast", {"name": "x"}, 7, "script:nobody", {"provider": "script", "turns": 1}):
        answer = await office.ask("PATCH", "/agents/bo", json={"model": spec}, status=422)
        assert any(field.startswith("model") for field in answer["error"]["fields"]), spec
    office.office.models = office.office.world.models = type(office.office.models)()
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("failed", "model_refused")
    assert run["error"].startswith("There is no model provider 'puppet-ada'.")


@pytest.mark.proves("L11")
async def test_a_scripts_pattern_takes_no_longer_for_a_hostile_message(office: Driver) -> None:
    script: list[Json] = [{"when": "^(a+)+$", "steps": [say("matched")]}, {"steps": [say("went on")]}]
    await office.agent("ada", script)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "a" * 5000 + "!")
    await office.run_finished("ada")
    assert (await office.texts("general"))[1:] == ["went on"]
    refused = await office.create(
        "/agents",
        {"name": "Bo", "model": {"provider": "script", "turns": [{"when": "(?<=a)b"}]}},
        status=422,
    )
    assert "linear time" in str(refused["error"]["fields"])
