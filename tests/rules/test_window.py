"""The window of a space, the lines of a journal, the summary of a run: what the model sees, from rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.llm.types import AssistantTurn, CallWish, ToolTurn, UserTurn
from bullpen.runs import transcript
from bullpen.runs.transcript import WINDOW, window_start
from bullpen.runs.types import Entry, WindowMessage
from tests.rules.a_run import RUN


@pytest.mark.parametrize(
    "last, shown", [(0, 0), (1, 1), (19, 19), (20, 20), (21, 21), (39, 39), (40, 20), (59, 39), (60, 20), (1000, 20)]
)
def test_the_window_holds_everything_then_one_to_two_sizes(last: int, shown: int) -> None:
    assert last - window_start(last) == shown


@given(st.integers(0, 10**9), st.integers(1, 100))
def test_the_window_size_is_bounded_and_never_moves_back(last: int, size: int) -> None:
    start = window_start(last, size)
    assert 0 <= start <= last
    assert last - start < 2 * size
    assert last - start >= min(last, size)
    assert window_start(last + 1, size) in (start, start + size)


@given(st.integers(0, 10**6))
def test_the_window_start_moves_at_most_once_per_window_length(last: int) -> None:
    starts = [window_start(n) for n in range(last, last + WINDOW)]
    assert len(set(starts)) <= 2


def entry(position: int, type: str, **more: object) -> Entry:
    return Entry(f"rmg_{position}", "run_1", position, 1, type, "2026", **more)  # type: ignore[arg-type]


def test_a_journal_becomes_turns_with_calls_beside_their_text() -> None:
    entries = [
        entry(0, "user_message", content="New for you"),
        entry(1, "assistant_message", content="Hm."),
        entry(2, "tool_call_message", call_id="call_1", tool_name="a", args='{"x":1}'),
        entry(3, "tool_call_message", call_id="call_2", tool_name="b", args="oops"),
        entry(4, "tool_return_message", call_id="call_1", tool_name="a", result='{"y":2}', is_error=0),
        entry(5, "tool_return_message", call_id="call_2", tool_name="b", result='{"error":"no"}', is_error=1),
        entry(6, "assistant_message", content="So."),
        entry(7, "user_message", content="Nobody heard that."),
        entry(8, "assistant_message", content=""),
    ]
    assert transcript.journal(entries) == [
        UserTurn("New for you"),
        AssistantTurn("Hm.", (CallWish("call_1", "a", '{"x":1}'), CallWish("call_2", "b", "oops"))),
        ToolTurn("call_1", "a", [{"type": "text", "text": '{"y":2}'}], False),
        ToolTurn("call_2", "b", [{"type": "text", "text": '{"error":"no"}'}], True),
        AssistantTurn("So."),
        UserTurn("Nobody heard that."),
        AssistantTurn(""),
    ]


@pytest.mark.parametrize(
    "outcome, expected",
    [
        ("spoke", "2026-11-15T10:00Z you spoke: look, send ×2"),
        ("acted", "2026-11-15T10:00Z you acted: look, send ×2"),
        ("silent", None),
        ("unsent_text", None),
        (None, None),
    ],
)
def test_a_run_summary_is_one_line_or_none_for_silence(outcome: str | None, expected: str | None) -> None:
    calls = [entry(n, "tool_call_message", tool_name=name) for n, name in enumerate(["look", "send", "send"])]
    assert transcript.summary(replace(RUN, outcome=outcome), calls) == expected  # type: ignore[arg-type]


CHART = {"toolName": "chart", "args": 'title="Q3"', "result": "done"}


def test_the_window_labels_people_tools_and_notes_skipping_deleted_messages() -> None:
    window = [
        WindowMessage(1, "msg_1", "psn_1", "person", "text", "hello", "2026-11-15T10:30:00.000001Z", None),
        WindowMessage(2, "msg_2", "psn_1", "person", "text", "", "2026-11-15T10:31:00.000000Z", "2026"),
        WindowMessage(3, "msg_3", "ada", "agent", "tool", "", "2026-11-15T22:30:00.000001Z", None, metadata=CHART),
        WindowMessage(4, "msg_4", "system", "system", "system", "stop", "2026-11-15T23:30:00.000001Z", None),
        WindowMessage(5, "msg_5", "gone", "agent", "text", "bye", "2026-11-15T23:30:00.000001Z", None),
    ]
    (shown,), _ = transcript.history(window, {"psn_1": "Olga", "ada": "Ada"}, "general", zone="Europe/Berlin")
    assert shown.text == (
        "The latest messages in general, oldest first, times in Europe/Berlin:\n"
        'Sunday 2026-11-15:\n[msg_1 11:30] Olga: hello\n[msg_3 23:30] Ada (card): chart(title="Q3"): done\n'
        "Monday 2026-11-16:\n[msg_4 00:30] note: stop\n[msg_5 00:30] gone: bye"
    )
