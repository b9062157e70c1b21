"""Models that a test plays itself: it sees all that each is shown, decides what it answers, and when."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from typing import Any

from bullpen.llm.script import Script, ScriptModel
from bullpen.llm.types import AssistantTurn, OnDelta, Reply, ToolSpec, ToolTurn, Transcript, UserTurn
from tests.driver import Driver
from tests.path.scripts import Json
from tests.waits import BOUND

DAY = re.compile(r"\w+day \d{4}-\d\d-\d\d:")  # stands above the messages of a day


TIMES = [
    (re.compile(r"^Now it is .*\n"), ""),
    (re.compile(rf"^{DAY.pattern}\n", re.MULTILINE), ""),
    (re.compile(r"(?<=oldest first), times in \S+:"), ":"),
    (re.compile(r"^(\[msg_\w+) \d\d:\d\d(?=\] )", re.MULTILINE), r"\1"),
    (re.compile(r"^(\[\w+) at \d\d:\d\d(?=\] | in )", re.MULTILINE), r"\1"),
]


class Puppet:
    """Gives `answers` first, one for each time it is asked, and then plays its script. `hold` makes it think on."""

    def __init__(self, turns: Sequence[Json], answers: Sequence[Reply | Exception]) -> None:
        self._script = ScriptModel(Script.model_validate({"turns": list(turns)}))
        self._answers = deque(answers)
        self._asked = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()
        self.shown: list[Transcript] = []
        self.tools: list[Sequence[ToolSpec]] = []

    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        self.shown.append(transcript)
        self.tools.append(tools)
        self._asked.set()
        await self._free.wait()
        if self._answers:
            answer = self._answers.popleft()
            if isinstance(answer, Exception):
                raise answer
            return answer
        return await self._script.ask(transcript, tools, on_delta)

    def hold(self) -> None:
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    async def asked(self, times: int) -> Transcript:
        """What it was shown when it was asked for the n-th time, waited for with a bound."""
        async with asyncio.timeout(BOUND):
            while len(self.shown) < times:
                self._asked.clear()
                await self._asked.wait()
        return self.shown[times - 1]


async def puppet(
    office: Driver,
    id: str,
    turns: Sequence[Json] = (),
    *,
    steps: Sequence[Json] | None = None,
    answers: Sequence[Reply | Exception] = (),
    held: bool = False,
    **fields: Any,
) -> Puppet:
    """An agent that the test plays."""
    made = Puppet([{"steps": list(steps)}] if steps is not None else turns, answers)
    if held:
        made.hold()
    office.office.models.add(f"puppet-{id}", lambda spec: made)
    await office.agent(id, model=f"puppet-{id}:{id}", **fields)
    return made


# ── reading a transcript ────────────────────────────────────────────────────────────────────────────────


def told(transcript: Transcript) -> list[str]:
    """What it was told, apart from its own words and results."""
    return [turn.text for turn in transcript.turns if isinstance(turn, UserTurn)]


def untimed(text: str) -> str:
    """A text that a model was told, without what time it was and where the agent was, for tests of all the rest."""
    for pattern, rest in TIMES:
        text = pattern.sub(rest, text)
    return text


def window(transcript: Transcript) -> list[str]:
    """The lines of the space's latest messages, without their ids; empty when it was shown none."""
    lines = shown_window(transcript).splitlines()[1:]
    return [line.partition("] ")[2] for line in lines if not DAY.match(line)]


def shown_window(transcript: Transcript) -> str:
    """The space's latest messages as they are shown: several pieces that follow each other."""
    texts = told(transcript)
    for number, text in enumerate(texts):
        if text.startswith("The latest messages in "):
            pieces = [text, *(each for each in texts[number + 1 :] if DAY.match(each))]
            return "\n".join(pieces)
    return ""


def own(transcript: Transcript) -> list[AssistantTurn | ToolTurn]:
    """Its own words, calls and results."""
    return [turn for turn in transcript.turns if not isinstance(turn, UserTurn)]
