"""write_file: a text, as a file in the agent's folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from pydantic import Field

from bullpen.errors import BadArguments
from bullpen.files.sources import Wrote
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import together

SECONDS: Final = 60
MOST_CHARACTERS: Final = 200_000  # more than models write in one go; every owner who watches is sent it


@tool(effect="idempotent", local=True, timeout_ms=SECONDS * 1000, camel=False)
async def write_file(
    context: ToolContext,
    path: Annotated[
        str, Field(description="Where in your folder: /workspace/report.csv. Folders on the way are made.")
    ],
    content: Annotated[str, Field(description="All of the text that the file is to hold.")],
) -> dict[str, Any]:
    """Write a text file into your folder, in the place of the one that is there. Nobody sees it until you send it."""
    if len(content) > MOST_CHARACTERS:
        raise BadArguments(
            f"content has {len(content):,} characters; a file may have {MOST_CHARACTERS:,}. Write several."
        )
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise BadArguments("content holds half a character, which no file can hold as text.") from None
    # Whole or not at all, and the same however often: a call that a crash interrupts is simply made again.
    written = await context.means.folders.write(context.run.folder_id, path, _once(data))
    context.effects.wrote = Wrote(written.path, written.sha256, together(context.run.outside))
    return {"path": written.path, "size": written.size}


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
