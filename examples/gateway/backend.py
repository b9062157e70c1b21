"""The other side of fetchExternalData: a program of yours, in its own process, that answers the agents' calls.

It knows nothing of agents, rooms or models. With a token that is limited to this one tool it can do nothing else:

    export BULLPEN_TOKEN=$(bullpen token create --name backend --tools fetchExternalData)
    python examples/gateway/backend.py

Stop it, restart it, cut its network: calls made meanwhile wait, and are answered when it is back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import Any

from bullpen.client import Bullpen, tool

PROJECTS = ["Lighthouse", "Paper Moon", "Third Door"]
ARCHIVE_SECONDS = 6.0  # longer than the tool's timeout, so this one always comes late


@tool(name="fetchExternalData", visible=False, timeout=3_000)
async def fetch_external_data(query: str) -> dict[str, Any]:
    """Look something up in the project database."""
    if "archive" in query:
        await asyncio.sleep(ARCHIVE_SECONDS)
        return {"source": "archive", "total": 1_204}
    return {"source": "projects", "total": len(PROJECTS), "names": ", ".join(PROJECTS)}


async def main() -> None:
    url = os.environ.get("BULLPEN_URL", "http://127.0.0.1:8420")
    async with Bullpen(url, os.environ["BULLPEN_TOKEN"]) as bp:
        await bp.serve_tools(fetch_external_data)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
