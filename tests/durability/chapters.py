"""The whole story, in the order it is told."""

from __future__ import annotations

from tests.durability import group_story, mind_story, skill_story, spending_story, story, task_story, waiting_story

CHAPTERS: dict[str, list[story.Deed]] = {
    **story.CHAPTERS,
    **waiting_story.CHAPTERS,
    **spending_story.CHAPTERS,
    **task_story.CHAPTERS,
    **mind_story.CHAPTERS,
    **group_story.CHAPTERS,
    **skill_story.CHAPTERS,
}
