"""An office that searches by meaning, with a model that takes no time."""

from __future__ import annotations

from typing import Any

from bullpen.meaning import rows
from bullpen.testing.embedding import TinyEmbedder
from tests.driver import Api, Driver, Json, Offices

# Words that mean another word, for the tiny model.
MEANINGS = {"automobile": "car", "vehicle": "car", "feline": "cat", "purchase": "buy"}


def tiny(**more: Any) -> TinyEmbedder:
    return TinyEmbedder(MEANINGS, **more)


async def open_office(offices: Offices, embedder: TinyEmbedder | None = None, **more: Any) -> Driver:
    return await offices.open(embedder=embedder or tiny(), **more)


async def embedded(office: Driver) -> None:
    """Wait until everything that was written has its vector."""

    async def holds() -> bool:
        model = office.office.meaning
        assert model is not None
        complete = await office.office.store.read(lambda tx: rows.is_complete(tx, model.model))
        waiting = await office.office.store.read(rows.count_waiting)
        return complete and not any(waiting.values())

    await office.until(holds)


async def remember(api: Api, agent_id: str, *texts: str, **more: Any) -> list[str]:
    return [(await api.create(f"/agents/{agent_id}/passages", {"content": text, **more}))["id"] for text in texts]


async def recall(api: Api, agent_id: str, query: str) -> list[Json]:
    found: list[Json] = (await api.get(f"/agents/{agent_id}/passages", params={"q": query}))["items"]
    return found


async def contents(api: Api, agent_id: str, query: str) -> list[str]:
    return [passage["content"] for passage in await recall(api, agent_id, query)]


async def vectors_of(office: Driver) -> list[Json]:
    from bullpen.testing import snapshot

    seen = await snapshot.read(office.office.settings.database_url)
    return seen["vectors"]
