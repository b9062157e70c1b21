"""What the tools over passages share: their arguments, where a passage comes from, and what reading some means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from bullpen.errors import BadArguments
from bullpen.meaning.types import NOTHING, Looked
from bullpen.memory import actions as memory
from bullpen.memory import expiry
from bullpen.memory.rules import Place
from bullpen.memory.types import Origin
from bullpen.tools import ToolContext
from bullpen.tools.outside import together

Tag = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most.")]
Supersedes = Annotated[
    str | None, Field(max_length=100, description="The id of an earlier passage that this one replaces.")
]
Expires = Annotated[
    str | None, Field(max_length=50, description="When to forget it: '30 days', or a time like 2030-01-31T09:00:00Z.")
]


async def look_for_meaning(
    context: ToolContext, query: str, find_scopes: Callable[[ToolContext], Awaitable[Sequence[str]]]
) -> Looked:
    """Before the transaction of a search: what means something like the query."""
    looking = context.means.meaning
    if looking is None or not query.strip():
        return NOTHING
    return await looking.look("passage", await context.look(find_scopes), query)


def note_shown(context: ToolContext, found: Sequence[memory.Found], place: str) -> None:
    """Whose text the run has seen now: what is for one space alone is that space's."""
    context.effects.seen_in = tuple({each.stored.space_id or place for each in found})
    context.effects.outside = together(*(each.stored.outside for each in found))


async def keep(
    context: ToolContext,
    place: Place,
    agent_id: str | None,
    content: str,
    tags: Sequence[str],
    metadata: dict[str, Any],
    supersedes: str | None,
    expires: str | None,
    id: str | None = None,
) -> memory.Came:
    tx, said = context.tx, content.replace("\x00", "")
    if not said.strip():
        raise BadArguments("content says nothing.")
    words = [tag.replace("\x00", "") for tag in tags]
    outside = context.sources_of(said, " ".join([*words, *metadata, *map(str, metadata.values())]))
    expires_at = None if expires is None else expiry.read(expires, tx.clock.millis())
    wish = memory.Wish(said, words, metadata, outside, supersedes, expires_at, id)
    return await memory.store(tx, place, agent_id, wish, _origin(context), most=context.means.passages_per_scope)


def _origin(context: ToolContext) -> Origin:
    run = context.run
    person_id = run.cause.id if run.cause.kind == "person" else None
    return Origin(run_id=run.id, message_id=run.message_id, person_id=person_id)


def answer(came: memory.Came) -> dict[str, Any]:
    """The id, and a hint if something almost the same is kept already. Both are kept."""
    result: dict[str, Any] = {"passageId": came.stored.id}
    if came.similar is not None:
        result["similarTo"] = came.similar.id
        result["hint"] = (
            "Both are kept. If this one replaces the other, call again with the same content and "
            f"supersedes: {came.similar.id}."
        )
    return result
