"""What people see in a terminal: every event has a line or is left out on purpose, and no text has power over it."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from bullpen.cli import show
from bullpen.cli.lines import RENDER, Lines
from bullpen.cli.listings import model_name
from bullpen.cli.run import ENTRIES
from bullpen.client import Event
from bullpen.wire import LIVE_EVENTS, STORED_EVENTS, Member, Space, Wake
from bullpen.wire.events import RESET
from bullpen.wire.nouns import RunMessageType

AT = "2026-11-15T12:00:00Z"


def line(lines: Lines, type: str, **fields: Any) -> str | None:
    shown = lines.render(Event(type, {"type": type, "spaceId": "general", "at": AT, **fields}))
    return None if shown is None else shown.split("  ", 1)[1]


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "spaceId": "general",
        "seq": 1,
        "authorId": "ada",
        "authorKind": "agent",
        "text": text,
        "createdAt": AT,
        **fields,
    }


def finished(**fields: Any) -> dict[str, Any]:
    run = {"id": "run_1", "agentId": "ada", "threadId": "thr_1", "trigger": {"kind": "message"}, "startedAt": AT}
    return {**run, "status": "completed", **fields}


def test_every_event_is_shown_or_left_out_on_purpose() -> None:
    assert set(RENDER) == STORED_EVENTS | LIVE_EVENTS | {RESET}


def test_every_kind_of_journal_entry_can_be_shown() -> None:
    assert set(ENTRIES) == set(get_args(RunMessageType))


def test_a_conversation_reads_like_one() -> None:
    lines = Lines()
    ada = Member(id="ada", kind="agent", name="Ada", joined_at=AT)
    wake = Wake(people="all", agents="all")
    lines.learn(Space(id="general", kind="channel", name="General", member_details=[ada], wake=wake, created_at=AT))
    assert (
        line(lines, "message_created", message=message("Hello.\nTwo lines."))
        == "general  Ada: Hello.\n          Two lines."
    )
    reaction = {"messageId": "msg_1", "memberId": "psn_1", "emoji": "👋"}
    assert line(lines, "reaction_added", reaction=reaction) == "general  psn_1 reacted 👋 to “Hello. Two lines.”"
    assert line(lines, "run_finished", run=finished(outcome="spoke")) is None
    silent = finished(outcome="silent", silenceReason="Nothing to add.")
    assert line(lines, "run_finished", run=silent) == "general  Ada stayed silent: Nothing to add."
    failed = finished(status="failed", error="No model.")
    assert line(lines, "run_finished", run=failed) == "general  Ada failed: No model."
    stopped = message("Enough.", authorId="system", authorKind="system")
    assert line(lines, "message_created", message=stopped) == "general  — Enough."


def test_whoever_joins_is_known_by_name_from_then_on() -> None:
    lines = Lines()
    assert line(lines, "member_joined", member={"id": "psn_1", "name": "Ruth"}) == "general  Ruth joined"
    assert line(lines, "member_left", member={"id": "psn_1"}) == "general  Ruth left"


def test_an_event_from_a_newer_server_is_named() -> None:
    assert line(Lines(), "kettle.boiled") == "general  kettle.boiled"


@pytest.mark.parametrize("type", sorted(STORED_EVENTS | LIVE_EVENTS | {RESET}))
def test_an_event_that_lacks_its_noun_is_no_crash(type: str) -> None:
    Lines().render(Event(type, {"type": type}))


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x1b]0;owned\x07", "\x9b31m", "a\rb", "\u202egnp.exe", "\u2028", "\x00", "\x7f", "\u2066x\u2069"]
)
def test_no_text_has_power_over_the_terminal(text: str) -> None:
    lines = Lines()
    shown = [
        line(lines, "message_created", message=message(text)),
        line(lines, "reaction_added", reaction={"messageId": "msg_1", "memberId": text, "emoji": text}),
        line(lines, "run_finished", run=finished(outcome="silent", silenceReason=text)),
        line(lines, text),
        show.table(["A"], [[text]]),
        show.as_json({"text": text}),
    ]
    harmful = {character for character in text if not character.isprintable()}
    assert harmful
    assert not any(harmful & set(str(one)) for one in shown)


def test_a_table_lines_up() -> None:
    assert show.table(["ID", "NAME"], [["a", "Ada"], ["benjamin", "Ben"]]).splitlines() == [
        "ID        NAME",
        "a         Ada",
        "benjamin  Ben",
    ]


@pytest.mark.parametrize(
    "model, name",
    [
        ("openai:x", "openai:x"),
        ({"provider": "script", "turns": []}, "script"),
        ({"provider": "openai", "name": "x"}, "openai:x"),
    ],
)
def test_a_model_is_named_however_it_was_written(model: Any, name: str) -> None:
    assert model_name(model) == name


def test_a_card_reads_as_call_and_result() -> None:
    lines = Lines()
    lines.names["psn_1"] = "Husam"
    asked = {"toolName": "confirmAction", "callId": "call_1", "args": {"title": "Delete it?"}}
    card = message("", type="tool", status="requires_action", metadata=asked)
    assert line(lines, "message_created", message=card) == (
        'general  ada: confirmAction(title="Delete it?") waits for an answer'
    )
    came = {**asked, "result": {"confirmed": True}, "answeredBy": "psn_1"}
    done = message("", type="tool", status="complete", metadata=came)
    assert line(lines, "message_updated", message=done) == (
        'general  ada: confirmAction(title="Delete it?"), answered by Husam: {"confirmed":true}'
    )
    call = {"callId": "call_1", "toolName": "confirmAction", "status": "resolved", "answeredBy": "psn_1"}
    assert line(lines, "pending_resolved", call=call) == "general  Husam answered confirmAction"
    hostile = {**asked, "error": "\x1b[2J" + "x" * 5000}
    failed = line(lines, "message_updated", message=message("", type="tool", status="error", metadata=hostile))
    assert failed is not None
    assert "\x1b" not in failed
    assert len(failed) < 400
