"""The script model: which turn plays, which step of it, and what its placeholders become."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Invalid
from bullpen.llm.models import Models
from bullpen.llm.script import Script, ScriptModel, fill
from bullpen.llm.types import CallDelta, Delta, Reply, TextDelta, Transcript, TriggerView

KNOWN: dict[str, Any] = {
    "trigger": {"text": "hello {{trigger.kind}}", "messageId": "msg_1", "kind": "message"},
    "results": [{"messageId": "msg_2", "list": [1, {"deep": "down"}]}, "bare", None, {"n": 1.5, "yes": True}],
}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("plain", "plain"),
        ("{{trigger.messageId}}", "msg_1"),
        ("<{{ trigger.messageId }}>", "<msg_1>"),
        ("{{trigger.messageId}}{{results[0].messageId}}", "msg_1msg_2"),
        ("{{trigger.text}}", "hello {{trigger.kind}}"),
        ("{{results[1]}}", "bare"),
        ("{{results[0].list[1].deep}}", "down"),
        ("{{results[0].list}}", '[1,{"deep":"down"}]'),
        ("{{results[3].n}} {{results[3].yes}} {{results[2]}}", "1.5 true null"),
        ("{{results[9].x}}", ""),
        ("{{trigger.nothing}}", ""),
        ("{{trigger.text.more}}", ""),
        ("{{nobody}}", ""),
        ("{{results.messageId}}", ""),
        ("{{trigger[0]}}", ""),
        ("{{ not a path }}", "{{ not a path }}"),
        ("{trigger.text}", "{trigger.text}"),
        ("{{}}", "{{}}"),
        ("{{trigger.__class__}}", ""),
    ],
)
def test_placeholders_become_what_they_name_and_unknown_paths_nothing(text: str, expected: str) -> None:
    assert fill(text, KNOWN) == expected


@given(st.text())
def test_text_without_placeholders_stays_as_it_is(text: str) -> None:
    assert fill(text.replace("{{", "{"), KNOWN) == text.replace("{{", "{")


def play(script: dict[str, Any], text: str = "", *, kind: str = "message", steps: int = 0, results: Any = ()) -> Reply:
    seen = Transcript("system", [], TriggerView(kind, text, "msg_1", "general"), steps, results)
    return asyncio.run(ScriptModel(Script.model_validate(script)).ask(seen, []))


SCRIPT: dict[str, Any] = {
    "turns": [
        {"when": "^tea$", "steps": [{"text": "one"}, {"text": "two"}]},
        {"kind": "trigger", "steps": [{"text": "woken"}]},
        {
            "when": "tea",
            "steps": [{"calls": [{"tool": "send_message", "args": {"text": "{{trigger.text}}", "n": [1]}}]}],
        },
    ]
}


@pytest.mark.parametrize(
    "text, kind, steps, expected",
    [
        ("tea", "message", 0, "one"),
        ("tea", "message", 1, "two"),
        ("tea", "message", 2, ""),
        ("", "trigger", 0, "woken"),
        ("coffee", "message", 0, ""),
        ("Tea", "message", 0, ""),
    ],
)
def test_the_first_matching_turn_plays_one_step_per_model_call(text: str, kind: str, steps: int, expected: str) -> None:
    reply = play(SCRIPT, text, kind=kind, steps=steps)
    assert (reply.text, list(reply.calls)) == (expected, [])


def test_script_arguments_are_filled_and_strings_are_sent_as_written() -> None:
    (wish,) = play(SCRIPT, "green tea").calls
    assert (wish.name, wish.arguments) == ("send_message", '{"text":"green tea","n":[1]}')
    raw = {"turns": [{"steps": [{"calls": [{"tool": "x", "args": '{"half": "{{results[0].id}}'}]}]}]}
    (wish,) = play(raw, results=[{"id": "7"}]).calls
    assert wish.arguments == '{"half": "7'


def test_text_and_arguments_grow_in_pieces_to_the_whole() -> None:
    seen: list[tuple[type[Delta], str]] = []  # a delta goes on growing, so what it is now is kept
    script = {"turns": [{"steps": [{"text": "t" * 100, "calls": [{"tool": "x", "args": {"a": "b" * 100}}]}]}]}
    transcript = Transcript("system", [], TriggerView("message"))
    model = ScriptModel(Script.model_validate(script))
    reply = asyncio.run(model.ask(transcript, [], lambda delta: seen.append((type(delta), delta.so_far))))
    texts = [text for kind, text in seen if kind is TextDelta]
    arguments = [text for kind, text in seen if kind is CallDelta]
    assert (texts[-1], arguments[-1]) == (reply.text, reply.calls[0].arguments)
    for growing in (texts, arguments):
        assert len(growing) > 2
        assert all(later.startswith(earlier) for earlier, later in pairwise(growing))
    assert reply.usage.output_tokens == (100 + len(arguments[-1]) + 3) // 4


@pytest.mark.parametrize(
    "spec",
    [
        "echo",
        "script:",
        ":echo",
        "telepathy:fast",
        "script:nobody",
        "script:../secrets",
        None,
        7,
        {},
        {"provider": 7},
        {"provider": ["script"]},
        {"provider": "script", "turns": "x"},
        {"provider": "script", "turns": [{"when": "("}]},
        {"provider": "script", "turns": [{"when": "^(?=tea)"}]},
        {"provider": "script", "turns": [{"when": "[^a]{9999}"}]},
        {"provider": "script", "turns": [{"when": f"[^a]{{900}}{n}"} for n in range(6)]},
        {"provider": "script", "turns": [{"steps": [{"cals": []}]}]},
        {"provider": "script", "turns": [{"steps": [{"delayMs": -1}]}]},
    ],
)
def test_an_invalid_model_spec_is_refused_when_it_is_named(spec: Any) -> None:
    with pytest.raises(Invalid) as caught:
        Models().resolve(spec)
    assert all(field.startswith("model") for field in caught.value.fields)


def test_named_scripts_play_and_a_spec_is_built_once() -> None:
    models = Models()
    transcript = Transcript("", [], TriggerView("message", "hi"))
    (wish,) = asyncio.run(models.resolve("script:echo").ask(transcript, [])).calls
    assert wish.arguments == '{"text":"hi"}'
    assert models.resolve("script:echo") is models.resolve("script:echo")
    assert models.resolve({"provider": "script", "name": "silent"}) is not models.resolve("script:echo")


def test_scripts_play_from_the_data_folder_and_nowhere_else(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (tmp_path / "secret.yaml").write_text("turns: []")
    (scripts / "tea-time_2.yaml").write_text('turns: [{steps: [{text: "tea"}]}]')
    (scripts / "bare.yaml").write_text('[{steps: [{text: "bare"}]}]')
    models = Models(scripts)
    transcript = Transcript("", [], TriggerView("message"))
    assert asyncio.run(models.resolve("script:tea-time_2").ask(transcript, [])).text == "tea"
    assert asyncio.run(models.resolve("script:bare").ask(transcript, [])).text == "bare"
    with pytest.raises(Invalid, match=r"There is no script named '\.\./secret'"):
        models.resolve("script:../secret")
