"""Supermemory's wire: our fake accepts what its own client sends, and our client sends what the fake accepts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from supermemory import AsyncSupermemory, AuthenticationError

from bullpen.memory import supermemory
from bullpen.memory.supermemory import Supermemory, SupermemoryFailed
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.testing.supermemory import KEY, Failure, SupermemoryServer, supermemory_server
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys
from bullpen.variables.types import SETTINGS, SecretRef

pytestmark = pytest.mark.one_database
TAG = "nanoclaw_garden"


@pytest.fixture
async def server() -> AsyncIterator[SupermemoryServer]:
    async with supermemory_server() as server:
        yield server


@pytest.fixture
async def client(server: SupermemoryServer, tmp_path: Path) -> AsyncIterator[Supermemory]:
    vault = Vault(Keys(tmp_path / "keys.json"), {"SUPERMEMORY_API_KEY": KEY})
    allowance = Allowance({supermemory.USE: [server.url]})
    async with Egress(allowance) as egress:
        yield Supermemory(lambda: egress, vault, "auto", server.url)


OUR_KEY = SecretRef("SUPERMEMORY_API_KEY", SETTINGS)


async def test_the_fake_serves_its_own_client(server: SupermemoryServer) -> None:
    async with AsyncSupermemory(api_key=KEY, base_url=server.url, max_retries=0) as official:
        added = await official.add(content="Roses like clay", container_tag=TAG, custom_id="psg_1")
        assert added.status == "queued"
        found = await official.search.memories(q="roses", container_tag=TAG, search_mode="hybrid")
        assert [(each.memory, each.similarity) for each in found.results] == [("Roses like clay", 1.0)]
        await official.documents.delete("psg_1")
    assert server.documents == {}


async def test_the_fake_refuses_a_wrong_key(server: SupermemoryServer) -> None:
    async with AsyncSupermemory(api_key="sm_wrong", base_url=server.url, max_retries=0) as official:
        with pytest.raises(AuthenticationError):
            await official.add(content="Roses like clay", container_tag=TAG)


async def test_keeping_twice_keeps_one(client: Supermemory, server: SupermemoryServer) -> None:
    await client.keep(OUR_KEY, TAG, "psg_1", "Roses like clay", {"by": "ada"})
    await client.keep(OUR_KEY, TAG, "psg_1", "Roses like loam", {})
    assert server.contents(TAG) == ["Roses like loam"]
    [hit] = await client.find(OUR_KEY, TAG, "roses", 10)
    assert (hit.content, hit.similarity) == ("Roses like loam", 1.0)
    assert server.problems == []


async def test_dropping_what_is_gone_is_fine(client: Supermemory, server: SupermemoryServer) -> None:
    await client.keep(OUR_KEY, TAG, "psg_1", "Roses like clay", {})
    for _ in range(2):
        await client.drop(OUR_KEY, "psg_1")
    assert server.documents == {}


@pytest.mark.parametrize(
    "failure, final, retry_after",
    [
        (Failure(500), False, None),
        (Failure(429, {"Retry-After": "7"}), False, 7.0),
        (Failure(503, {"Retry-After-Ms": "1500"}), False, 1.5),
        (Failure(401), False, None),
        (Failure(400), True, None),
        (Failure(302, {"Location": "http://127.0.0.1:1/"}), False, None),
        (Failure(0), False, None),
    ],
)
async def test_failures_say_whether_trying_again_helps(
    client: Supermemory, server: SupermemoryServer, failure: Failure, final: bool, retry_after: float | None
) -> None:
    server.answers = [failure]
    with pytest.raises(SupermemoryFailed) as caught:
        await client.keep(OUR_KEY, TAG, "psg_1", "Roses like clay", {})
    assert (caught.value.is_final, caught.value.retry_after) == (final, retry_after)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [b"not json", b"[]", b'{"results": 7}', b'{"results": [' + b'{"memory": "x"},' * 300_000 + b"{}]}"],
    ids=["no json", "a list", "a number", "too much"],
)
async def test_strange_answers_to_a_search_are_failures(
    client: Supermemory, server: SupermemoryServer, body: bytes
) -> None:
    server.answers = [Failure(200, body=body)]
    with pytest.raises(SupermemoryFailed):
        await client.find(OUR_KEY, TAG, "roses", 10)


async def test_results_are_bounded_and_checked(client: Supermemory, server: SupermemoryServer) -> None:
    wrong = b'{"memory": 7}, 7, {"chunk": "ok", "similarity": true, "metadata": []}'
    server.answers = [Failure(200, body=b'{"results": [' + wrong + b', {"memory": "a\\u0000b", "similarity": 9}]}')]
    found = await client.find(OUR_KEY, TAG, "roses", 10)
    assert [(each.content, each.similarity) for each in found] == [("ok", 0.0), ("ab", 1.0)]
    assert [dict(each.metadata) for each in found] == [{}, {}]


def test_containers_are_those_of_the_founding_paper() -> None:
    assert supermemory.container_of("family") == "nanoclaw_family"
    strange = supermemory.container_of("Ümläut & co")
    assert strange != supermemory.container_of("Umlaut & co")
    assert strange.removeprefix("nanoclaw_").isalnum()
