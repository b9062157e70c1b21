"""How soon the next thing may be sent: checked against all that was sent before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bullpen.bridges.pacing import Pacing
from bullpen.bridges.types import Pace


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 2)), max_size=60))
def test_no_window_ever_holds_more_than_its_pace(sends: list[tuple[str, float]]) -> None:
    everywhere, chat_pace = Pace(5, 1.0), Pace(2, 1.0)
    pacing = Pacing((everywhere,), (chat_pace,))
    now, made = 0.0, []
    for chat, pause in sends:
        now += pause
        now = pacing.reserve(pacing.chat_free_at(chat, now))
        pacing.count_sent(chat, now)
        made.append((chat, now))
    for pace, chosen in ((everywhere, "abc"), (chat_pace, "a"), (chat_pace, "b"), (chat_pace, "c")):
        times = [at for chat, at in made if chat in chosen]
        for first, last in zip(times, times[pace.count :], strict=False):
            assert last - first >= pace.seconds - 1e-9


def test_without_a_pace_nobody_waits() -> None:
    pacing = Pacing((), ())
    assert [pacing.reserve(pacing.chat_free_at("a", 3.0)) for _ in range(100)] == [3.0] * 100
