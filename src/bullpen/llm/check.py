"""One question to a model, to see whether it can be used: was it reached, was the key accepted, did it answer?

For whoever sets an agent up. A real round trip through the same door as every other, without tools, and bounded.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bullpen.errors import ModelDeclined, ModelError
from bullpen.llm.types import Model, Transcript, TriggerView, UserTurn
from bullpen.wire.nouns import ModelProblem

SECONDS = 30.0
_QUESTION = Transcript(
    "You are being tried out. Answer in one word.", [UserTurn("Are you there? Answer: yes")], TriggerView("check")
)


@dataclass(frozen=True, slots=True)
class Checked:
    """Each of the three implies the one before. `message` says what is wrong and what to do, or that all is well."""

    reached: bool
    accepted: bool
    answered: bool
    message: str
    problem: ModelProblem | None = None


async def check(model: Model, name: str, seconds: float = SECONDS) -> Checked:
    try:
        async with asyncio.timeout(seconds):
            reply = await model.ask(_QUESTION, [])
    except TimeoutError:
        return Checked(False, False, False, f"{name} has not answered within {seconds:.0f} seconds.", "address")
    except ModelDeclined as error:
        return Checked(True, True, False, error.message, "answer")
    except ModelError as error:
        return Checked(error.reached, error.accepted, False, error.message, problem_of(error))
    if not reply.text.strip() and not reply.calls:
        return Checked(
            True, True, False, f"{name} answered with nothing. Raise settings.maxTokens, or ask another.", "answer"
        )
    return Checked(True, True, True, f"{reply.model or name} answered.")


def problem_of(error: ModelError) -> ModelProblem:
    """What failed: the first of these that did."""
    if error.problem is not None:
        return error.problem
    return "answer" if error.reached else "address"
