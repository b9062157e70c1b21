"""What the children of this fork server do: an office that asks a model over the wire, and may die in a question.

The server that plays the provider stands in the same process, checks what it is sent as a provider does, and notes each
question in a file that outlives the process. What it answers depends on the conversation alone.
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson

from bullpen import app
from bullpen.access.rules import SYSTEM
from bullpen.cli.loop import run_on_fast_loop
from bullpen.llm import anthropic
from bullpen.runs import actions
from bullpen.storage import Transaction
from bullpen.testing import invariants, snapshot, telling
from bullpen.testing.crash import Commits, calm, mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.model_server import KEY, Asked, Behaviour, model_server, plays
from bullpen.testing.serving import owner_of
from bullpen.testing.wires import Text, Thought, Wanted

Death = Literal["in the stream", "before the answer is stored", "once a call has begun"]
THOUGHT = Thought("They want two things.", "seal-1")
ANSWERS = (
    (
        THOUGHT,
        Text("I look first."),
        Wanted("c1", "send_message", '{"text": "one"}'),
        Wanted("c2", "read_messages", "{}"),
    ),
    (Wanted("c3", "send_message", '{"text": "two"}'),),
    (Text(""),),
)
AGENTS = [{"id": "ada", "name": "Ada", "model": "anthropic:a-model"}]
SPACES = [{"id": "hall", "members": ["ada"], "wake": {"people": "all"}}]


def strike() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def doomed(death: Death | None, events: int = 4) -> None:
    """From now on, this process dies at that moment of its next question."""
    if death == "in the stream":
        feed, left = anthropic.MessagesAnswer.feed, [events]

        def feed_and_die(self: anthropic.MessagesAnswer, event: Any) -> Any:
            left[0] -= 1
            return feed(self, event) if left[0] else strike()

        anthropic.MessagesAnswer.feed = feed_and_die  # type: ignore[method-assign]
    elif death == "once a call has begun":
        begin = actions.begin_calls

        async def begin_and_die(tx: Transaction, *rest: Any) -> None:
            await begin(tx, *rest)
            tx.after_commit(strike)

        vars(actions)["begin_calls"] = begin_and_die
    elif death is not None:
        vars(actions)["record_answer"] = lambda *_, **__: strike()


def behaviour(questions: Path, pace: float) -> Behaviour:
    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        answered = sum(turn["role"] == "assistant" for turn in asked.json["messages"])
        with questions.open("ab") as file:
            file.write(orjson.dumps(answered) + b"\n")
        await plays(*ANSWERS[answered], pace=pace)(asked, writer)

    return behave


def think(
    report: Report,
    *,
    url: str,
    data: str,
    die_after: int | None = None,
    death: Death | None = None,
    watched: bool = False,
) -> None:
    """`watched`: somebody follows, and the model takes its time."""
    doomed(death)
    run_on_fast_loop(_think(report, url, Path(data), die_after, watched=watched))


async def _think(report: Report, url: str, data: Path, die_after: int | None, *, watched: bool) -> None:
    questions = data / "questions"
    before = len(questions.read_bytes().splitlines()) if questions.exists() else 0
    async with model_server(behaviour(questions, 0.02 if watched else 0.0), thoughts=[THOUGHT]) as server:
        settings = replace(
            settings_for(url, str(data)), variables={"ANTHROPIC_API_KEY": KEY}, anthropic_base_url=server.url
        )
        async with mortal_office(settings, die_after=die_after) as (opened, commits):
            began = commits.count
            if watched:
                await opened.feed.follow(SYSTEM)
            await _ask(opened, commits)
            count = commits.count
    seen = invariants.Seen(await snapshot.read(url), at_rest=True)
    report(
        {
            "began": began,
            "commits": count,
            "told": telling.told(seen.rows),
            "questions": [orjson.loads(line) for line in questions.read_bytes().splitlines()[before:]],
            "problems": server.problems,
            "violations": invariants.violations(seen),
            "begun": [
                (event["type"], event["body"]["call"]["callId"], event["body"]["call"].get("code"))
                for event in seen.rows.events
                if event["type"] in ("tool.started", "tool.done", "tool.error")
            ],
        }
    )


async def _ask(opened: app.Office, commits: Commits) -> None:
    async with owner_of(opened) as bp:
        await bp.apply(agents=AGENTS, spaces=SPACES)
        await bp.spaces("hall").send("go", client_message_id="go")
        await calm(opened, commits)
