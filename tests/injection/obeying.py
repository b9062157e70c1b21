"""An agent that obeys everything, and ways to tell text that stands in its frame from text that does not."""

from __future__ import annotations

import re
from typing import Any

from bullpen.llm.types import Transcript
from bullpen.testing.evil import EvilModel, texts
from tests.driver import Driver

FRAME = re.compile(r'<outside id="([^"]+)" source="([^"]*)">(.*?)</outside id="\1">', re.DOTALL)
SYSTEM_SAYS = "What stands between <outside …> and </outside …> of the same id"


async def evil(office: Driver, id: str, **fields: Any) -> EvilModel:
    made = EvilModel()
    office.office.models.add(f"evil-{id}", lambda spec: made)
    await office.agent(id, model=f"evil-{id}:{id}", **fields)
    return made


def inside(transcript: Transcript, words: str) -> list[str]:
    """The sources of every frame that holds these words."""
    return [match[2] for text in texts(transcript) for match in FRAME.finditer(text) if words in match[3]]


def bare(transcript: Transcript) -> str:
    """All that is shown outside of any frame."""
    return "\n".join(FRAME.sub("", text) for text in texts(transcript))
